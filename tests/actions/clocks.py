"""A clock that is set by hand, and actions to deliver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cepheid import actions
from cepheid.actions import Action, Delivery, DeliveryFailed, Drained

START = 1_000_000.0


class Hand:
    """Sleeping moves it on, and is remembered; chance is what was given, again and again."""

    def __init__(self, chance: float = 0.0, patience: int = 1_000) -> None:
        self.time = START
        self.slept: list[float] = []
        self._chance = chance
        self._patience = patience

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        if len(self.slept) == self._patience:
            raise KeyboardInterrupt
        self.slept.append(seconds)
        self.time += seconds

    def random(self) -> float:
        return self._chance


class Flaky:
    """Fails as it is told to, then does its deed."""

    def __init__(self, *failures: DeliveryFailed | Exception | None) -> None:
        self.done: list[Action] = []
        self.tried: list[str] = []
        self._failures = list(failures)

    def deliver(self, action: Action, now: float) -> None:
        self.tried.append(action.key)
        failure = self._failures.pop(0) if self._failures else None
        if failure is not None:
            raise failure
        self.done.append(action)

    def describe(self, action: Action) -> str:
        return f"do {action.arguments['p1']}"


def some(*names: str) -> Iterator[Action]:
    """Actions of classes, each with its number as key and argument."""
    for number, name in enumerate(names):
        yield Action(name, number, f"k{number}", {"@type": "C"}, {"p1": number})


def drained(outbox: Path, clock: Hand, once: bool = False, **executors: Delivery) -> Drained:
    return actions.drain(outbox, executors, clock=clock, once=once)
