"""How much a page may ask of the studio."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Times are seconds, sizes are bytes."""

    message: int = 8 * 2**20  # of a message: programs, and events that were typed
    burst: int = 200  # messages at once
    rate: float = 50.0  # messages a second, on the whole
    pending: int = 32  # questions of one page that wait for an answer
    pages: int = 8  # open at once
    quick: float = 15.0  # what is done while one types
    check: float = 120.0
    run: float = 300.0

    def of_lane(self, lane: str) -> float:
        """How long one piece of work of a lane may take."""
        return {"quick": self.quick, "check": self.check, "jobs": self.check}.get(lane, self.run)


class Bucket:
    """Lets through a burst, and then as many as the rate says; time is passed in."""

    __slots__ = ("_full", "_left", "_rate", "_since")

    def __init__(self, burst: int, rate: float, now: float) -> None:
        self._full, self._rate = float(burst), rate
        self._left, self._since = float(burst), now

    def take(self, now: float) -> bool:
        """Whether one more is let through."""
        self._left = min(self._full, self._left + (now - self._since) * self._rate)
        self._since = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
