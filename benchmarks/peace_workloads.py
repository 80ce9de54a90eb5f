"""The three workloads on which PEACE was measured: programs in BiCEPL, and what is detected in each round.

All have a chronon of three seconds, and events live for an hour in sliding windows. A hundred or
five hundred events a round are new, spread evenly over the subscribed classes; each gives a complex
event. W1 and W2 have one and four pairs of classes, whose events all come on time. In W3 a complex
class has seven statements, half of the events come on time, a quarter a chronon late and a quarter
a chronon early, and some change their mind in the rounds after.

From four pairs on, the last complex class joins its events with earlier ones of the class before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

CHRONON = 3_000_000  # microseconds
FIRST = 500_000_000  # the number of the first round that is not preloaded, in 2017
BASE = 10_000_000  # the number of its first event in each class
PRELOADED_A_ROUND = 500
APART = 100  # numbers between the two events of a join: seconds apart, far below the span

FREEZING, OBSERVATION = "19m", "3m"  # a life span of 3 * 19 + 3 minutes: one hour
OF_NEW, OF_OLD = "NEW.id, NEW.amount", "OLD.id, OLD.amount"
ARGUMENTS = {
    "ONTIME": OF_NEW,
    "LATE": OF_NEW,
    "RETROACTIVECHANGE": f"{OF_NEW}, OLD.amount",
    "REVOCATION": OF_OLD,
    "ANNOUNCEMENT": OF_NEW,
    "CANCELLATION": OF_OLD,
    "CHANGE": f"{OF_NEW}, OLD.amount",
}

Action: TypeAlias = tuple[str | float, ...]  # its name, the class and key behind it, its arguments


@dataclass(frozen=True, slots=True)
class Detection:
    """A version of an event, or without an occurrence time its retraction."""

    subscribed: str
    id: str
    link: str
    amount: float
    occ: int | None
    det: int


@dataclass(frozen=True, slots=True)
class Workload:
    name: str
    pairs: int  # of a subscribed and a complex class
    primitives: tuple[str, ...]  # a statement each
    changes: bool = False

    @property
    def subscribed(self) -> tuple[str, ...]:
        return tuple(f"Signal{number}" for number in range(1, self.pairs + 1))

    @property
    def complex(self) -> tuple[str, ...]:
        return tuple(f"Alarm{number}" for number in range(1, self.pairs + 1))

    def query(self, number: int) -> str:
        """The query of a complex class, which is plain SQL but for its times."""
        own = f"FROM Signal{number} s"
        if number < 4:
            return f"SELECT s.id, s.link, s.amount {own}"
        joined = f"{own}, Signal{number - 1} o WHERE o.id = s.link"
        return f"SELECT s.id, s.link, s.amount + o.amount AS amount {joined}"

    @property
    def text(self) -> str:
        attributes = "(id TEXT, link TEXT, amount NUMBER)"
        statements = ",\n".join(
            f"  ON {primitive} DO {primitive.lower()}({ARGUMENTS[primitive]})"
            for primitive in self.primitives
        )
        declared = [
            f"CREATE MUTABLE SUBSCRIBED EVENT CLASS {name}{attributes}\n"
            f"  ID (id)\n  FREEZING TIME ({FREEZING});\n"
            for name in self.subscribed
        ]
        derived = [
            f"CREATE COMPLEX EVENT CLASS {name}{attributes}\n"
            f"  ID (id)\n  OBSERVATION SPAN ({OBSERVATION})\n"
            f"  AS {self.query(number)}\n  OCCURRING AT s\n{statements};\n"
            for number, name in enumerate(self.complex, 1)
        ]
        return "\n".join([*declared, *derived])

    def preloaded(self, events: int) -> Iterator[tuple[int, list[Detection]]]:
        """The rounds before the first one; of these events all came on time."""
        share, slots = events // self.pairs, PRELOADED_A_ROUND // self.pairs
        first = BASE - share
        rounds = -(-share // slots)
        for back in range(rounds, 0, -1):
            number, end = FIRST - back, BASE - (back - 1) * slots
            numbers = range(max(end - slots, first), end)
            yield number, list(self._new(number, numbers, first, changes=False))

    def rounds(self, rates: Iterable[int]) -> Iterator[tuple[int, list[Detection]]]:
        """What is detected from the first round on, however much was preloaded."""
        following: dict[int, list[Detection]] = defaultdict(list)
        begin = BASE
        for number, rate in enumerate(rates, FIRST):
            end = begin + max(rate // self.pairs, 1)
            new = list(self._new(number, range(begin, end), None, changes=self.changes))
            yield number, [*following.pop(number, ()), *new]
            if self.changes:
                for one, event in zip(new, self._numbers(range(begin, end)), strict=True):
                    for later in _changes_of_mind(one, event):
                        following[later.det // CHRONON].append(later)
            begin = end

    def _numbers(self, numbers: range) -> Iterator[int]:
        for _ in self.subscribed:
            yield from numbers

    def _new(
        self, number: int, numbers: range, first: int | None, *, changes: bool
    ) -> Iterator[Detection]:
        for name in self.subscribed:
            for event in numbers:
                linked = event - APART if first is None or event - APART >= first else event
                yield Detection(
                    subscribed=name,
                    id=f"e{event}",
                    link=f"e{linked}",
                    amount=float(event % 1_000),
                    occ=(number + (_shift(event) if changes else 0)) * CHRONON + _within(event),
                    det=number * CHRONON,
                )


def _within(event: int) -> int:
    """Microseconds from the begin of a chronon."""
    return event * 7_919 % CHRONON


def _place(event: int) -> int:
    """One of 400 places: neighbours differ in what becomes of them, and so do events that are joined."""
    return event * 149 % 400


def _shift(event: int) -> int:
    """How many chronons from its detection an event occurs."""
    place = _place(event)
    return 0 if place < 200 else -1 if place < 300 else 1


def _changes_of_mind(one: Detection, event: int) -> Iterator[Detection]:
    """Of those on time 15 percent are postponed or retroactively changed in the next round; of those in
    the future 15 percent are changed, and 15 percent are cancelled, half of them after they occurred."""
    place = _place(event)
    assert one.occ is not None
    soon = replace(one, det=one.det + CHRONON)
    if 170 <= place < 185:
        yield replace(soon, occ=one.occ + 2 * CHRONON)
    elif 185 <= place < 200 or 370 <= place < 385:
        yield replace(soon, amount=one.amount + 1_000)
    elif 385 <= place < 393:
        yield replace(soon, occ=None)
    elif place >= 393:
        yield replace(soon, occ=None, det=one.det + 2 * CHRONON)


ON_TIME = ("ONTIME",)
WORKLOADS = (
    Workload("W1", 1, ON_TIME),
    Workload("W2", 4, ON_TIME),
    Workload("W3", 4, tuple(ARGUMENTS), changes=True),
)
