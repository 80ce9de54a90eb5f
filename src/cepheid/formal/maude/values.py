"""Values and events as terms of Maude, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from cepheid.core.event import Event, Value

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
_LETTERS = {
    b"n": b"\n",
    b"t": b"\t",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"r": b"\r",
    b"v": b"\v",
}


def text_of(literal: str) -> str:
    """The text that a string literal stands for."""
    data = _ESCAPE.sub(_unescaped, literal[1:-1].encode("utf-8", "surrogatepass"))
    return data.decode("utf-8", "surrogatepass")


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8)]) if len(code) == 3 else _LETTERS.get(code, code)


@dataclass(frozen=True, slots=True)
class Term:
    """A name with arguments, or a literal."""

    name: str
    arguments: tuple[Term, ...] = ()


@dataclass
class Reader:
    """Reads the terms of results; lists of values become arguments."""

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
        if self._place == len(self._tokens) or self._tokens[self._place] != "(":
            return Term(name)
        arguments: list[Term] = []
        while self._next() != ")":  # it was a bracket or a comma
            arguments.append(self._term())
        return Term(name, tuple(arguments))

    def _next(self) -> str:
        token = self._tokens[self._place]
        self._place += 1
        return token


@dataclass(frozen=True, slots=True)
class Layout:
    """How the events of a type stand in a specification."""

    type: str
    attributes: tuple[str, ...]


def value_of(term: Term, layouts: Mapping[str, Layout]) -> Value:
    """The value that a term stands for; layouts by the names of their constructors."""
    if term.name in _CONSTANTS:
        return _CONSTANTS[term.name]
    if term.name == "list":
        return [value_of(item, layouts) for item in term.arguments if item.name != "nil"]
    read = _LITERALS.get(term.name)
    return event_of(term, layouts) if read is None else read(term.arguments[0].name)


_CONSTANTS: dict[str, Value] = {"null": None, "yes": True, "no": False, "nan": math.nan}
_LITERALS: dict[str, Callable[[str], Value]] = {
    "int": int,
    "real": lambda text: float(text.replace("Infinity", "inf")),
    "text": text_of,
}


def event_of(term: Term, layouts: Mapping[str, Layout]) -> Event:
    """The event that a term stands for."""
    layout = layouts[term.name]
    instant, *values = term.arguments
    # What was evaluated beforehand stands after the attributes.
    named = {
        attribute: value_of(value, layouts)
        for attribute, value in zip(layout.attributes, values, strict=False)
    }
    return Event(layout.type, int(instant.name), named)
