"""Texts and bytes that are almost right: copies of good ones with a few mistakes in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeAlias

Mutation: TypeAlias = Callable[[bytes, Random, Sequence[bytes]], bytes]

_TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_DEEP = 3000  # levels of brackets
_LONG = 20_000  # copies of one token
_NUMBERS = (
    *(
        b"0",
        b"-1",
        b"1",
        b"2147483647",
        b"2147483648",
        b"9223372036854775807",
        b"-9223372036854775808",
    ),
    *(b"1e308", b"1e999", b"-0.0", b"0.1", b"nan", b"1" + b"0" * 400, b"99999999999999999999"),
)
_ODD = (
    *(
        b"",
        b"\0",
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\r",
        b"\n",
        b"\t",
        b"\x1b[31m",
    ),
    *(
        b"null",
        b"true",
        b"[]",
        b"{}",
        b'""',
        b"''",
        b'"',
        b"'",
        b"`",
        b"\\",
        b"\\u0000",
        b"\\ud800",
    ),
    *(
        b"(",
        b")",
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b";",
        b":",
        b"@",
        b"#",
        b"$",
        b"*",
        b"/*",
        b"//",
        b"->",
    ),
    *("é".encode(), "\u2028".encode(), "\U0001f600".encode(), b" not ", b" and ", b" every "),
)
_BRACKETS = (b"()", b"[]", b"{}")


def mutated(seed: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """A copy with one to four mistakes; parts of other seeds may get into it."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        seed = random.choice(_MUTATIONS)(seed, random, others)
    return seed


def _flip(seed: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    if not seed:
        return seed
    place = random.randrange(len(seed))
    return seed[:place] + bytes([seed[place] ^ 1 << random.randrange(8)]) + seed[place + 1 :]


def _insert(seed: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    place = random.randint(0, len(seed))
    return seed[:place] + random.choice(_ODD) + seed[place:]


def _delete(seed: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    begin = random.randint(0, len(seed))
    return seed[:begin] + seed[begin + random.randint(1, 1 + min(len(seed), 40)) :]


def _cut(seed: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    return seed[: random.randint(0, len(seed))]


def _double(seed: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    begin = random.randint(0, len(seed))
    part = seed[begin : begin + random.randint(1, 60)]
    return seed[:begin] + part * random.choice((2, 2, 3, 50)) + seed[begin + len(part) :]


def _splice(seed: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    other = random.choice(others)
    begin, place = random.randint(0, len(other)), random.randint(0, len(seed))
    return seed[:place] + other[begin : begin + random.randint(1, 200)] + seed[place:]


def _by_tokens(change: Callable[[list[bytes], Random], None]) -> Mutation:
    def mutation(seed: bytes, random: Random, others: Sequence[bytes]) -> bytes:
        tokens = _TOKEN.findall(seed)
        if tokens:
            change(tokens, random)
        return b"".join(tokens)

    return mutation


def _swap(tokens: list[bytes], random: Random) -> None:
    a, b = random.randrange(len(tokens)), random.randrange(len(tokens))
    tokens[a], tokens[b] = tokens[b], tokens[a]


def _replace(tokens: list[bytes], random: Random) -> None:
    tokens[random.randrange(len(tokens))] = random.choice((*_ODD, random.choice(tokens)))


def _drop(tokens: list[bytes], random: Random) -> None:
    del tokens[random.randrange(len(tokens))]


def _nest(tokens: list[bytes], random: Random) -> None:
    bracket, place = random.choice(_BRACKETS), random.randrange(len(tokens))
    depth = random.choice((1, 5, 100, _DEEP))
    tokens[place] = bracket[:1] * depth + tokens[place] + bracket[1:] * depth


def _repeat(tokens: list[bytes], random: Random) -> None:
    place = random.randrange(len(tokens))
    copies = random.choice((3, 100, _LONG // max(1, len(tokens[place]))))
    tokens[place] *= copies


def _number(seed: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(seed))
    if not found:
        return seed
    one = random.choice(found)
    return seed[: one.start()] + random.choice(_NUMBERS) + seed[one.end() :]


_MUTATIONS: tuple[Mutation, ...] = (
    _flip,
    _insert,
    _delete,
    _cut,
    _double,
    _splice,
    _number,
    _number,
    *map(_by_tokens, (_swap, _swap, _replace, _replace, _drop, _nest, _repeat)),
)
