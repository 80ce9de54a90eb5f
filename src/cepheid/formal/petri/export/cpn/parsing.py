"""CPN ML as far as we print it, read back into terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from cepheid.errors import UsageError, error
from cepheid.formal.petri.export.cpn.prelude import FUNCTIONS
from cepheid.formal.petri.nets.multiset import Colour, Multiset
from cepheid.formal.petri.nets.terms import (
    OPERATORS,
    Applied,
    Apply,
    Call,
    Const,
    Function,
    If,
    Items,
    Names,
    Product,
    Term,
    Var,
    define,
)
from cepheid.formal.petri.translation.grouping import GENERAL

_TOKEN = re.compile(
    r"""\s*(?:(?P<real>~?\d+\.\d+(?:E~?\d+)?)|(?P<int>~?\d+)|(?P<name>[A-Za-z][A-Za-z0-9_']*)
    |(?P<string>"(?:[^"\\]|\\.)*")|(?P<symbol>\+\+|<>|<=|>=|[-+*=<>()\[\],`]))""",
    re.VERBOSE,
)
_LEVELS = (
    ("orelse",),
    ("andalso",),
    ("=", "<>", "<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "div", "mod"),
)
_CONSTANTS: dict[str, Colour] = {"true": True, "false": False, "NULL": None}


def parse_term(text: str, own: Mapping[str, Function] = MappingProxyType({})) -> Term:
    """An inscription, which may call functions that its net brings along.

    UsageError where it is not of the kind that we print.
    """
    parser = _Parser(text, own)
    term = parser.expression()
    parser.expect_end()
    return term


_DEFINED = re.compile(r"fun (\w+) \(([\w, ]*)\) = (.*);", re.DOTALL)
_APPLIED = re.compile(r"fun (\w+) z = (\w+) \(([\w, ]*)\) z;")


def parse_definition(text: str, own: Mapping[str, Function]) -> Function:
    """A function that a net brings along, by those that were defined before it."""
    applied, defined = _APPLIED.fullmatch(text), _DEFINED.fullmatch(text)
    if applied is not None and applied[2] in GENERAL:
        functions = tuple(own[name] for name in applied[3].split(", "))
        compute = GENERAL[applied[2]](*(function.compute for function in functions))
        return Applied(applied[1], compute, applied[2], functions)
    if defined is None:
        raise UsageError(error("bad-file", f"'{text}' is no definition that we write"))
    parameters = tuple(Var(name) for name in defined[2].split(", "))
    return define(defined[1], parameters, parse_term(defined[3], own))


def parse_marking(text: str) -> Multiset:
    """The tokens of a place: 1`(1, "a") ++ 2`(2, "b")."""
    if text.strip() in ("", "empty"):
        return Multiset()
    parser = _Parser(text)
    counts: dict[Colour, int] = {}
    while True:
        count = parser.take("int")
        parser.expect("`")
        token = value_of(parser.expression())
        counts[token] = counts.get(token, 0) + int(count)
        if not parser.accept("++"):
            break
    parser.expect_end()
    return Multiset(counts)


def value_of(term: Term) -> Colour:
    """The value of a term without variables."""
    names = Names()
    source = term.python(names)
    found: Colour = eval(source, dict(names.values))
    return found


class _Parser:
    """By recursive descent."""

    def __init__(self, text: str, own: Mapping[str, Function] = MappingProxyType({})) -> None:
        self.text = text
        self.own = own
        self.tokens = list(_tokens(text))
        self.place = 0

    def fail(self) -> UsageError:
        found = self.tokens[self.place][1] if self.place < len(self.tokens) else "the end"
        fact = f"'{found}' is not understood in the inscription '{self.text}'"
        hint = "files are read as this tool writes them"
        return UsageError(error("bad-file", fact, hint=hint))

    @property
    def next(self) -> tuple[str, str]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")

    def accept(self, symbol: str) -> bool:
        if self.next[0] in ("symbol", "name") and self.next[1] == symbol:
            self.place += 1
            return True
        return False

    def expect(self, symbol: str) -> None:
        if not self.accept(symbol):
            raise self.fail()

    def expect_end(self) -> None:
        if self.next[0] != "end":
            raise self.fail()

    def take(self, kind: str) -> str:
        if self.next[0] != kind:
            raise self.fail()
        text = self.next[1]
        self.place += 1
        return text

    def expression(self, level: int = 0) -> Term:
        if level == len(_LEVELS):
            return self.operand()
        left = self.expression(level + 1)
        while (operator := self.next[1]) in _LEVELS[level] and operator in OPERATORS:
            self.place += 1
            left = Apply(operator, left, self.expression(level + 1))
        return left

    def operand(self) -> Term:
        kind, text = self.next
        if kind in ("int", "real"):
            self.place += 1
            plain = text.replace("~", "-")
            return Const(int(plain) if kind == "int" else float(plain))
        if kind == "string":
            self.place += 1
            return Const(_unescaped(text))
        if self.accept("("):
            return self.parenthesis()
        if self.accept("["):
            return Items(tuple(self.items("]")))
        if self.accept("if"):
            condition = self.expression()
            self.expect("then")
            then = self.expression()
            self.expect("else")
            return If(condition, then, self.expression())
        name = self.take("name")
        if name in _CONSTANTS:
            return Const(_CONSTANTS[name])
        if not self.accept("("):
            return Var(name)
        function = FUNCTIONS.get(name) or self.own.get(name)
        if function is None:
            self.place -= 2
            raise self.fail()
        return Call(function, tuple(self.items(")")))

    def parenthesis(self) -> Term:
        parts = self.items(")")
        return parts[0] if len(parts) == 1 else Product(tuple(parts))

    def items(self, end: str) -> list[Term]:
        found: list[Term] = []
        if self.accept(end):
            return found
        while True:
            found.append(self.expression())
            if self.accept(end):
                return found
            self.expect(",")


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    stripped = text.rstrip()
    while place < len(stripped):
        match = _TOKEN.match(stripped, place)
        if match is None:
            fact = f"'{stripped[place]}' is not understood in the inscription '{text}'"
            raise UsageError(error("bad-file", fact))
        assert match.lastgroup is not None
        yield match.lastgroup, match[match.lastgroup]
        place = match.end()


def _unescaped(text: str) -> str:
    def byte(match: re.Match[str]) -> str:
        return chr(int(match[1])) if match[1].isdigit() else match[1]

    raw = re.sub(r"\\(\d{3}|.)", byte, text[1:-1])
    return raw.encode("latin-1").decode("utf-8")
