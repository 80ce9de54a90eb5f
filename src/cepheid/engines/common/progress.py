"""How a run tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

# Called with how many events are done, and of how many where that is known.
Progress: TypeAlias = Callable[[int, int | None], None]


def no_progress(done: int, total: int | None) -> None:
    """For those who need not know."""
