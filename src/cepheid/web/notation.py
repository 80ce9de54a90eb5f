"""The functions of the language: what they take and give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Type(StrEnum):
    """Kinds of values; a variable, and what a function takes as it is, may have any."""

    NODES = "nodes"
    TEXT = "string"
    NUMBER = "number"
    TRUTH = "boolean"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Function:
    """Its result, the types of its arguments, and how many of them are needed."""

    gives: Type
    takes: tuple[Type, ...] = ()
    least: int = 0
    is_open: bool = False  # any number of the last argument
    says: str = ""

    @property
    def most(self) -> int | None:
        return None if self.is_open else len(self.takes)


_N, _S, _D, _B, _A = Type.NODES, Type.TEXT, Type.NUMBER, Type.TRUTH, Type.ANY

FUNCTIONS: Final[Mapping[str, Function]] = {
    # Of nodes
    "last": Function(_D),
    "position": Function(_D),
    "count": Function(_D, (_N,), 1),
    "id": Function(_N, (_A,), 1),
    "local-name": Function(_S, (_N,)),
    "name": Function(_S, (_N,)),
    "namespace-uri": Function(_S, (_N,)),
    # Of texts
    "string": Function(_S, (_A,)),
    "concat": Function(_S, (_S, _S), 2, is_open=True),
    "starts-with": Function(_B, (_S, _S), 2),
    "contains": Function(_B, (_S, _S), 2),
    "substring-before": Function(_S, (_S, _S), 2),
    "substring-after": Function(_S, (_S, _S), 2),
    "substring": Function(_S, (_S, _D, _D), 2),
    "string-length": Function(_D, (_S,)),
    "normalize-space": Function(_S, (_S,)),
    "translate": Function(_S, (_S, _S, _S), 3),
    # Of truth
    "boolean": Function(_B, (_A,), 1),
    "not": Function(_B, (_B,), 1),
    "true": Function(_B),
    "false": Function(_B),
    "lang": Function(_B, (_S,), 1),
    # Of numbers
    "number": Function(_D, (_A,)),
    "sum": Function(_D, (_N,), 1),
    "floor": Function(_D, (_D,), 1),
    "ceiling": Function(_D, (_D,), 1),
    "round": Function(_D, (_D,), 1),
    # Not of XPath
    "trim": Function(_S, (_S,), says="the text without blanks at its ends"),
    "toUnixTime": Function(
        _D,
        (_S, _S, _S),
        1,
        says="the seconds since 1970 of a time in ISO 8601, or in a format and a zone",
    ),
}
KEYS: Final = {
    key.lower(): key
    for key in [
        "Enter",
        "Tab",
        "Escape",
        "Space",
        "Backspace",
        "Delete",
        "Home",
        "End",
        "PageUp",
        "PageDown",
        "ArrowUp",
        "ArrowDown",
        "ArrowLeft",
        "ArrowRight",
    ]
}
