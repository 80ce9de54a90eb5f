"""Timers: what wakes, when, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Protocol, TypeAlias

from cepheid.core.event import SortKey
from cepheid.core.time import Instant


class TimerStage(IntEnum):
    """Which of a statement's timers fire first at one instant: those of its source do."""

    PATTERN = 0
    WINDOW = 1
    RATE = 2


class Timer(Protocol):
    """Whatever can be woken at an instant; `order` is when it was armed."""

    stage: ClassVar[TimerStage]
    order: int

    def fire(self) -> None: ...


# Of a statement's rank: where its timers come from.
Origins: TypeAlias = Mapping[int, SortKey]
Place: TypeAlias = tuple[Instant, int, int, SortKey, int]


@dataclass(frozen=True, slots=True)
class Armed:
    """A timer that waits, with the rank of its statement."""

    timer: Timer
    due: Instant
    rank: int
    origin: SortKey
    origins: Origins  # of the timers that led to its arming

    @property
    def place(self) -> Place:
        """Its place in the order of all timers."""
        return self.due, self.rank, int(self.timer.stage), self.origin, self.timer.order

    @property
    def led_to(self) -> Origins:
        """The origins of what comes when it fires."""
        if self.timer.stage is TimerStage.PATTERN:
            return {**self.origins, self.rank: self.origin}
        return self.origins

    @property
    def key(self) -> SortKey:
        """Its key when it fires.

        A window and a rate are one for the whole statement. Each part of the input has its own, and
        they fire as one: arming order would tell them apart.
        """
        number = (self.timer.order,) if self.timer.stage is TimerStage.PATTERN else ()
        return (self.due, 0, 0, 0, self.rank, int(self.timer.stage), *self.origin, *number)
