"""What stands somewhere in a text."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.errors import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The root of all trees; places never take part in equality."""

    span: Span | None = field(default=None, compare=False, repr=False)
