"""The time, waiting and chance that delivering needs: passed in, so that tests neither wait nor guess."""

from __future__ import annotations

import random
import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch; never goes back."""

    def sleep(self, seconds: float) -> None:
        """Lets time pass: so much, or less; who waits looks again."""

    def random(self) -> float:
        """A number from 0 up to, without, 1."""


_LONGEST = 3_600.0  # seconds; a receiver may ask for more than the system can sleep


class SystemClock:
    """The clock of the machine as it was at the start, which goes on whatever is done to it."""

    def __init__(self) -> None:
        self._start = time.time() - time.monotonic()

    def now(self) -> float:
        return self._start + time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, _LONGEST))

    def random(self) -> float:
        return random.random()
