"""Drains an outbox: every class of actions has an executor, which does them in order, one at a time.

All executors take turns in one loop. One that has to wait, for its next try or its rate, holds up no
other. A deed counts as done when the cursor of its queue has moved: at least once, never out of order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeAlias

from cepheid.actions.action import Action
from cepheid.actions.clock import Clock, SystemClock
from cepheid.actions.delivery import Delivery, DeliveryFailed
from cepheid.actions.outbox import expect_outbox, lock_for_delivering, queue_names, unusable
from cepheid.actions.queue import Queue, Waiting
from cepheid.core.templates import UnknownPlace
from cepheid.errors import CepheidError, Diagnostic, reason_of, suggest, warning

_LOOK = 1.0  # seconds between two looks for new actions


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a try."""

    action: Action
    what: Literal["delivered", "retried", "dead"]
    reason: str | None = None
    tries: int = 0
    wait: float = 0.0  # seconds until the next try


@dataclass(slots=True)
class Tally:
    """What became of the actions of a class."""

    delivered: int = 0
    retried: int = 0  # tries that failed and were made again, or will be
    dead: int = 0
    waiting: int = 0


@dataclass(slots=True)
class Drained:
    tallies: dict[str, Tally] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)  # classes that nothing executes


Listener: TypeAlias = Callable[[Outcome], None]


class _Lane:
    """A queue with its executor."""

    def __init__(self, queue: Queue, delivery: Delivery, tally: Tally, clock: Clock) -> None:
        self.queue = queue
        self.due = clock.now()
        self.is_stopped = False
        self._delivery = delivery
        self._tally = tally
        self._clock = clock
        self._recent: deque[float] = deque(maxlen=delivery.rate.count if delivery.rate else 0)

    def has_next(self) -> bool:
        return not self.is_stopped and self.queue.next() is not None

    def try_next(self) -> Outcome:
        action = self.queue.next()
        assert action is not None
        now = self._clock.now()
        self._recent.append(now)
        failure = _failure(self._delivery, action, now)
        if failure is None:
            self.queue.done()
            self._tally.delivered += 1
            outcome = Outcome(action, "delivered")
        else:
            outcome = self._failed(action, failure)
        self.due = max(self._clock.now() + outcome.wait, self._by_rate())
        return outcome

    def _failed(self, action: Action, failure: DeliveryFailed) -> Outcome:
        tries = self.queue.failed()
        reason = self._delivery.told(failure)
        retry = self._delivery.retry
        if failure.permanent or tries >= retry.tries:
            self.queue.dead(reason, self._clock.now())
            self._tally.dead += 1
            return Outcome(action, "dead", reason, tries)
        self._tally.retried += 1
        wait = max(retry.wait_after(tries, self._clock.random()), failure.after or 0.0)
        return Outcome(action, "retried", reason, tries, wait)

    def _by_rate(self) -> float:
        rate = self._delivery.rate
        if rate is None or len(self._recent) < rate.count:
            return 0.0
        return self._recent[0] + rate.period


def _failure(delivery: Delivery, action: Action, now: float) -> DeliveryFailed | None:
    try:
        delivery.executor.deliver(action, now)
    except DeliveryFailed as failure:
        return failure
    except UnknownPlace as problem:  # no other try gives it another argument
        return DeliveryFailed(str(problem), permanent=True)
    except OSError as problem:
        return DeliveryFailed(reason_of(problem))
    except Exception as problem:  # whatever it is, the others go on
        return DeliveryFailed(f"{type(problem).__name__}: {problem}")
    return None


def drain(
    outbox: str | Path,
    deliveries: Mapping[str, Delivery],
    *,
    clock: Clock | None = None,
    once: bool = False,
    follow: bool = False,
    on_outcome: Listener | None = None,
) -> Drained:
    """Does what waits in an outbox, until nothing is left that an executor could do.

    With `once` no try waits for another one: what fails stays where it is, with all behind it, for the
    next time. With `follow` it goes on with what comes later, until it is interrupted.
    """
    found = Drained()
    with Drainer(outbox, deliveries, found, clock=clock, on_outcome=on_outcome) as drainer:
        drainer.run(once=once, follow=follow)
    return found


class Drainer:
    """Drains an outbox; what became of its actions is in `found`, however this ends."""

    def __init__(
        self,
        outbox: str | Path,
        deliveries: Mapping[str, Delivery],
        found: Drained,
        *,
        clock: Clock | None = None,
        on_outcome: Listener | None = None,
    ) -> None:
        self._folder = Path(outbox)
        self._deliveries = deliveries
        self._found = found
        self._clock = clock or SystemClock()
        self._on_outcome = on_outcome
        self._lanes: dict[str, _Lane] = {}
        expect_outbox(self._folder)
        self._lock = lock_for_delivering(self._folder)

    def __enter__(self) -> Drainer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for lane in self._lanes.values():
            lane.queue.close()
        self._lock.close()
        if not isinstance(failure, CepheidError):  # what is damaged cannot be counted
            self._count_waiting()

    def run(self, *, once: bool = False, follow: bool = False) -> None:
        try:
            while self._step(once=once, follow=follow):
                pass
        except OSError as problem:
            raise unusable(self._folder, problem) from None

    def _step(self, *, once: bool, follow: bool) -> bool:
        """One try, or one wait; whether there is more to do."""
        self._open_lanes()
        ready = [lane for lane in self._lanes.values() if lane.has_next()]
        lane = min(ready, key=lambda lane: lane.due, default=None)
        if lane is None:
            if follow:
                self._clock.sleep(_LOOK)
            return follow
        wait = lane.due - self._clock.now()
        if wait > 0:
            self._clock.sleep(min(wait, _LOOK) if follow else wait)
            return True
        outcome = lane.try_next()
        lane.is_stopped = once and outcome.what == "retried"
        if self._on_outcome is not None:
            self._on_outcome(outcome)
        return True

    def _open_lanes(self) -> None:
        for name in queue_names(self._folder):
            if name in self._deliveries and name not in self._lanes:
                tally = self._found.tallies.setdefault(name, Tally())
                queue = Queue(self._folder, name)
                self._lanes[name] = _Lane(queue, self._deliveries[name], tally, self._clock)

    def _count_waiting(self) -> None:
        for name in queue_names(self._folder):
            waiting = Waiting(self._folder, name).count()
            self._found.tallies.setdefault(name, Tally()).waiting = waiting
            if waiting and name not in self._deliveries:
                self._found.problems.append(_nobody(name, waiting, self._deliveries))


def _nobody(name: str, waiting: int, deliveries: Mapping[str, Delivery]) -> Diagnostic:
    noun = "action" if waiting == 1 else "actions"
    fact = f"{waiting} {noun} of '{name}' wait: no executor has this name"
    return warning("no-executor", fact, hint=suggest(name, deliveries, "executors"))


def rehearse(
    outbox: str | Path, deliveries: Mapping[str, Delivery]
) -> tuple[list[tuple[Action, str]], list[Diagnostic]]:
    """What draining would do, action by action, and which it would leave; nothing is done."""
    folder = Path(outbox)
    expect_outbox(folder)
    planned = []
    problems = []
    for name in queue_names(folder):
        queue = Waiting(folder, name)
        if name in deliveries:
            planned += [(action, _said(deliveries[name], action)) for action in queue.actions()]
        elif waiting := queue.count():
            problems.append(_nobody(name, waiting, deliveries))
    return planned, problems


def _said(delivery: Delivery, action: Action) -> str:
    try:
        return delivery.hide(delivery.executor.describe(action))
    except Exception as problem:  # as delivering would fail
        return f"cannot be done: {delivery.hide(str(problem))}"
