"""How the actions of a class are delivered: by whom, how often they are tried, and how fast."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from cepheid.actions.action import Action

HIDDEN = "***"
_LONGEST = 500  # letters of a reason


class DeliveryFailed(Exception):
    """A deed that was not done. What is permanent is not tried again.

    `after` is how many seconds the receiver asks us to wait at least.
    """

    def __init__(self, reason: str, *, permanent: bool = False, after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.permanent = permanent
        self.after = after


class Executor(Protocol):
    """What does the deed of an action; the only thing that touches the world."""

    def deliver(self, action: Action, now: float) -> None:
        """Does it; DeliveryFailed or OSError where that fails, and what else it raises is a failure, too."""

    def describe(self, action: Action) -> str:
        """What would be done, in one line."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often an action is tried, and how long the waits in between are: twice as long each time."""

    tries: int = 5
    wait: float = 1.0  # seconds after the first failure
    longest: float = 300.0

    def wait_after(self, tries: int, chance: float) -> float:
        """Half of the wait is left to chance, so that many who fail together do not return together."""
        doubled = min(self.longest, self.wait * 2.0 ** min(tries - 1, 60))
        return doubled * (1 - chance / 2)


@dataclass(frozen=True, slots=True)
class Rate:
    """At most so many tries in any such period; counted from the start of a process."""

    count: int
    period: float  # seconds


@dataclass(frozen=True, slots=True)
class Delivery:
    """An executor, and how it is used."""

    executor: Executor
    retry: Retry = Retry()
    rate: Rate | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)  # never to be shown

    def hide(self, text: str) -> str:
        for secret in sorted(self.secrets, key=len, reverse=True):  # one may be a part of another
            text = text.replace(secret, HIDDEN)
        return text

    def told(self, failure: DeliveryFailed) -> str:
        """Why, in one line: what is hidden is hidden as a whole, before the line is cut."""
        line = " ".join(self.hide(str(failure.reason)).split())
        if len(line) <= _LONGEST:
            return line
        return f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"
