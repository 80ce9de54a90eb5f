"""Values and events as terms of Maude, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from cepheid.core.event import Event, Value

Term: TypeAlias = "str | tuple[str, list[Term]]"

_PLAIN = re.compile(r'[^ -~]|["\\]')


def text_term(text: str) -> str:
    """A string literal; Maude's strings are bytes, so other characters are their UTF-8."""
    return '"' + _PLAIN.sub(_escaped, text) + '"'


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character in '"\\':
        return "\\" + character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogatepass"))


def number_term(value: float) -> str:
    return repr(value) if math.isfinite(value) else "Infinity" if value > 0 else "- Infinity"


def value_term(value: Value) -> str:
    """A scalar or a list of them."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"int({value})"
    if isinstance(value, float):
        return "nan" if math.isnan(value) else f"real({number_term(value)})"
    if isinstance(value, str):
        return f"text({text_term(value)})"
    assert isinstance(value, list), "records are not translated"
    return f"list({' ; '.join(map(value_term, value)) or 'nil'})"


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[(),;]|[^\s(),;"]+')
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"r": b"\r", b"v": b"\v"}


def text_of(literal: str) -> str:
    """The text that a string literal stands for."""
    data = _ESCAPE.sub(_unescaped, literal[1:-1].encode("utf-8", "surrogatepass"))
    return data.decode("utf-8", "surrogatepass")


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8)]) if len(code) == 3 else _LETTERS.get(code, code)


@dataclass
class Reader:
    """Reads terms of results: names with arguments, literals, and lists of values."""

    text: str
    _tokens: list[str] = field(init=False)
    _place: int = 0

    def __post_init__(self) -> None:
        self._tokens = _TOKEN.findall(self.text)

    def terms(self) -> Iterator[Term]:
        """Terms that stand one after the other."""
        while self._place < len(self._tokens):
            yield self._term()

    def _term(self) -> Term:
        name = self._next()
        if name == "-":
            name += self._next()
        if self._peek() != "(":
            return name
        self._next()
        arguments: list[Term] = []
        while True:
            arguments.append(self._term())
            if self._next() == ")":
                return name, arguments

    def _peek(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._tokens[self._place]
        self._place += 1
        return token


@dataclass(frozen=True, slots=True)
class Layout:
    """How the events of a type stand in a specification."""

    type: str
    attributes: tuple[str, ...]


def value_of(term: Term, layouts: dict[str, Layout]) -> Value:
    """The value that a term stands for; layouts by the names of their constructors."""
    if isinstance(term, str):
        return _CONSTANTS[term]
    name, arguments = term
    first = arguments[0]
    if name == "int":
        return int(first)  # type: ignore[arg-type]
    if name == "real":
        return _float(first)  # type: ignore[arg-type]
    if name == "text":
        return text_of(first)  # type: ignore[arg-type]
    if name == "list":
        return [value_of(item, layouts) for item in arguments if item != "nil"]
    return event_of(term, layouts)


_CONSTANTS: dict[str, Value] = {
    "null": None,
    "yes": True,
    "no": False,
    "nan": math.nan,
}


def _float(text: str) -> float:
    return float(text.replace("Infinity", "inf"))


def event_of(term: Term, layouts: dict[str, Layout]) -> Event:
    """The event that a term stands for."""
    name, (instant, *values) = term  # type: ignore[misc]
    layout = layouts[name]
    # What was evaluated beforehand stands after the attributes.
    named = {
        attribute: value_of(value, layouts)
        for attribute, value in zip(layout.attributes, values, strict=False)
    }
    return Event(layout.type, int(instant), named)  # type: ignore[arg-type]
