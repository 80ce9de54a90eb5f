"""Texts with places for values: `gate {p1} of {cause.flightNo}`; `{{` and `}}` are braces."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.errors import suggest

_PART = re.compile(r"(?P<brace>\{\{|\}\})|\{(?P<place>[^{}]+)\}|(?P<lone>[{}])")


@dataclass(frozen=True, slots=True)
class Place:
    """`{cause.flightNo}` leads from a name to a member."""

    path: tuple[str, ...]

    def __str__(self) -> str:
        return "{" + ".".join(self.path) + "}"


class UnknownPlace(ValueError):
    """A place for which there is no value."""


Names: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Template:
    parts: tuple[str | Place, ...]

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(part for part in self.parts if isinstance(part, Place))

    def text(self, names: Names) -> str:
        """With all values in their places; UnknownPlace where there is none."""
        return "".join(p if isinstance(p, str) else shown(found(p, names)) for p in self.parts)

    def value(self, names: Names) -> object:
        """A place that stands alone is its value, whatever it is; all else is a text."""
        match self.parts:
            case (Place() as alone,):
                return found(alone, names)
        return self.text(names)


def template(text: str) -> Template:
    """The template of a text; ValueError with a fact."""
    parts: list[str | Place] = []
    end = 0
    for match in _PART.finditer(text):
        parts.append(text[end : match.start()])
        end = match.end()
        if match["lone"]:
            raise ValueError(f"a '{match['lone']}' stands alone in {text!r}; write it twice")
        parts.append(match["brace"][0] if match["brace"] else Place(_path(match["place"], text)))
    parts.append(text[end:])
    return Template(tuple(_joined(parts)))


def _path(place: str, text: str) -> tuple[str, ...]:
    path = tuple(part.strip() for part in place.split("."))
    if not all(path):
        raise ValueError(f"{{{place}}} in {text!r} names nothing")
    return path


def _joined(parts: list[str | Place]) -> list[str | Place]:
    """Texts beside each other are one, and empty ones none."""
    joined: list[str | Place] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part:
            joined.append(part)
    return joined


def found(place: Place, names: Names) -> object:
    """The value of a place, null where it leads through null; UnknownPlace where there is none."""
    value: object = names
    for part in place.path:
        if value is None:
            return None
        if not isinstance(value, Mapping) or part not in value:
            known = value if isinstance(value, Mapping) else ()
            hint = suggest(part, map(str, known), "there are")
            raise UnknownPlace(f"nothing for {place}" + (f"; {hint}" if hint else ""))
        value = value[part]
    return value


def shown(value: object) -> str:
    """A value in a text: null is `null`, lists and records are JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
