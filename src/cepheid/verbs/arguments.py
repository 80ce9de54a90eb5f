"""What verbs ask of their arguments."""

from __future__ import annotations

from collections.abc import Collection
from types import UnionType

from cepheid.errors import UsageError, error, suggest

MAKE_ONE = "cep.load(path) or cep.parse(text) makes one"


def expect(value: object, kind: type | UnionType, what: str, hint: str | None = None) -> None:
    if not isinstance(value, kind):
        fact = f"{what} is needed, not {type(value).__name__}"
        raise UsageError(error("usage", fact, hint=hint))


def choose(name: str, known: Collection[str], what: str, option: str | None = None) -> None:
    """One of the names that there are; an option of the command line that takes several is repeated."""
    if name not in known:
        parts = [part.strip() for part in str(name).split(",")]
        if option is not None and len(parts) > 1:
            hint: str | None = f"one each: {' '.join(f'{option} {part}' for part in parts)}"
        else:
            hint = suggest(str(name), known, "choices")
        raise UsageError(error("usage", f"no {what} {name!r}", hint=hint))


def count(value: object, what: str, least: int = 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(error("usage", f"{what} is a whole number from {least}, not {value!r}"))
    return value


def share(value: object, what: str) -> None:
    if not isinstance(value, int | float) or not 0 < value < 1:
        raise UsageError(error("usage", f"the {what} lies between 0 and 1, not at {value!r}"))
