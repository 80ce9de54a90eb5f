"""SQL as a program holds it."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.core.located import Located


@dataclass(frozen=True, slots=True)
class Sql(Located):
    """A query, a condition or a value in its normal spelling, by which it is equal to others.

    `written` is how the file spells it from the start of `span` on, so that places in it are known.
    """

    text: str
    written: str | None = field(default=None, compare=False, repr=False)
