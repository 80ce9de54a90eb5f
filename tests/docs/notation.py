"""The notation of the examples in the EPL reference: a program with its events and its rows.

    select * from pattern [every (a=A -> b=B)];
    // in:  A1@1 B1@2 B2@4{v=7} @9
    // out: 2 a=A1 b=B1

An event is named after its type, which its letters give, and happens at a second; `@9` only lets
time pass. The types A to E need no schema: they have id (the event's name), k, v and x. A row has its
second, `old` if it is one, its type where the program derives several, and its columns; an event in a
column is shown by its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import cepheid as cep
from cepheid.core.types import DOUBLE, INT, STRING, Attribute, EventType
from cepheid.io.encode import written

_ATTRIBUTES = {"id": STRING, "k": STRING, "v": INT, "x": DOUBLE}
TYPES = {
    letter: EventType(letter, tuple(Attribute(n, t) for n, t in _ATTRIBUTES.items()))
    for letter in "ABCDE"
}
_IN = re.compile(r"^// in: +(.*)\n", re.MULTILINE)
_OUT = re.compile(r"^// out: .*\n", re.MULTILINE)
_EVENT = re.compile(r"([A-Za-z]\w*?)?(\d*)@([\d.]+)(?:\{(.*?)\}(?= |$))?")
_PAIR = re.compile(r'(\w+)=("[^"]*"|\[[^\]]*\]|\{[^}]*\}|[^,}]+)')
_NOTHING = "nothing"


def has_events(body: str) -> bool:
    return _IN.search(body) is not None


def expected_rows(body: str) -> list[str]:
    rows = [line.removeprefix("// out: ").strip() for line in _OUT.findall(body)]
    return [] if rows == [_NOTHING] else rows


def with_rows(body: str, rows: list[str]) -> str:
    """The block with other rows."""
    lines = "".join(f"// out: {row}\n" for row in rows or [_NOTHING])
    return _OUT.sub("", body) + lines


def program_of(body: str, language: str = "epl") -> cep.Program:
    """The program of a block.

    In VEPL the events A to D have an id and a key, if it declares none; in BiCEPL there are the
    subscribed classes A and B, likewise.
    """
    if language == "epl":
        return cep.parse(body, types=TYPES)
    if language == "bicepl":
        classes = "".join(
            f"CREATE MUTABLE SUBSCRIBED EVENT CLASS {letter}(k TEXT, x NUMBER, t TIMESTAMP)"
            f" ID (k) FREEZING TIME (2d);\n"
            for letter in "AB"
        )
        return cep.parse(body if "SUBSCRIBED" in body else classes + body, language)
    events = "".join(f"atomicEvent {letter}(id: string, k: int)\n" for letter in "ABCD")
    return cep.parse(body if "atomicEvent" in body else events + body, language=language)


def rows_of(body: str, language: str = "epl") -> list[str]:
    """What the program of a block makes of its events."""
    program = program_of(body, language)
    events = [event for line in _IN.findall(body) for event in _events(line)]
    # Pages write those attributes of an event that matter.
    types = program.resolve().types.values()
    optional = {attribute.name for type in types for attribute in type.attributes}
    result = cep.run(program, events, start=0, optional=optional)
    is_one = len({s.insert_into or n for n, s in enumerate(program.tree.statements)}) == 1
    return [_row(row, is_one=is_one) for row in result]


def _events(line: str) -> Iterator[dict[str, object]]:
    position = 0
    while position < len(line):
        match = _EVENT.match(line, position)
        assert match, f"no event: {line[position:]}"
        type, number, time, rest = match.groups()
        position = match.end() + 1
        event: dict[str, object] = {"@time": float(time)}
        if type is not None:
            event |= {"@type": type} | ({"id": type + number} if type in TYPES else {})
        yield event | {name: json.loads(value) for name, value in _PAIR.findall(rest or "")}


def _row(row: cep.Event, *, is_one: bool) -> str:
    parts = [f"{row.instant / 1_000_000:g}"]
    parts += ["old"] if row.is_old else []
    parts += [] if is_one else [f"{row.type}:"]
    return " ".join(parts + [f"{name}={_shown(value)}" for name, value in row.items()])


def _shown(value: object) -> str:
    if isinstance(value, cep.Event):
        return str(value.get("id") or value.type)
    if isinstance(value, list):
        return "[" + ",".join(map(_shown, value)) + "]"
    return json.dumps(written(value))
