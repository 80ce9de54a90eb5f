"""Names that Maude accepts for the names of a program."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_OPERATORS = re.compile(r"^ *ops? (.+?) : ", re.MULTILINE)
_SORTS = re.compile(r"^ *sorts? ([^.]+) \.", re.MULTILINE)
_ODD = re.compile(r"[^A-Za-z0-9]+")  # three dashes in a row would start a comment
# The variables of a program's own equations, and what Maude itself takes a word for.
_TAKEN = frozenset(
    {"event", "tags", "now", "isNew", "aggregates", "machine", "agenda", "later", "origins"}
    | {"inputs", "s"}
)


@cache
def prelude() -> str:
    """The part of a specification that is the same for every program."""
    return (files(__package__) / "cepheid.maude").read_text(encoding="utf-8")


@cache
def _reserved() -> frozenset[str]:
    words = {word for ops in _OPERATORS.findall(prelude()) for word in ops.split()}
    # `t .Value` is a term of that sort, no attribute.
    sorts = {f".{sort}" for listed in _SORTS.findall(prelude()) for sort in listed.split()}
    return _TAKEN | words | sorts


class Names:
    """Gives each thing of a program one name, and no two of a kind the same."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}
        self._used: set[str] = set(_reserved())

    def of(self, kind: str, name: str) -> str:
        """The name of a thing; a kind is the sign before its names, or empty."""
        found = self._given.get((kind, name))
        if found is None:
            plain = kind + (_ODD.sub("-", name) or "-")
            found, number = plain, 1
            while found in self._used:
                number += 1
                found = f"{plain}-{number}"
            self._used.add(found)
            self._given[kind, name] = found
        return found
