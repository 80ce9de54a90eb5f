"""A history replayed: what was known, what was done and what was still to come, at any time of it.

The history has been run as a whole; going back is as good as going on. Nothing here waits or reads a
clock: whoever replays says how far to go.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from cepheid.bitemporal.detections import Detection, Key
from cepheid.bitemporal.outcome import Change
from cepheid.bitemporal.repository import Row
from cepheid.bitemporal.rounds import Number, Rounds
from cepheid.bitemporal.rows import change_values
from cepheid.bitemporal.running import Ran, run_program
from cepheid.core.event import Event
from cepheid.core.time import Instant, format_instant
from cepheid.engines.common.clock import Length, Time, instant_of, length_of
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.errors import UsageError, error, suggest
from cepheid.io.encode import encode, encode_value
from cepheid.program.classes import EventClass
from cepheid.verbs.arguments import MAKE_ONE, expect
from cepheid.verbs.program import Program
from cepheid.verbs.rounds import Outages, RoundsResult, course_of


@dataclass(slots=True)
class Moment:
    """A round in which something became known, or was to be done."""

    round: Number
    instant: Instant
    changes: list[Change] = field(default_factory=list)
    rows: list[Event] = field(default_factory=list)  # actions, and what statements derived

    @property
    def names(self) -> set[str]:
        return {change.cls for change in self.changes} | {row.type for row in self.rows}


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """What is known of an event, since which round, and whether it has fired."""

    cls: str
    key: Key
    row: Row
    since: Number
    fired: bool


class Replay:
    """A place in a history, which moves.

    It begins just before `start`. A step goes `step` microseconds on, or without one to the next round
    in which something happens.
    """

    def __init__(self, ran: Ran, *, start: Instant | None = None, step: int | None = None) -> None:
        result = RoundsResult(ran, ())
        self.classes: Mapping[str, EventClass] = result.classes
        self.rounds = ran.outcome.rounds
        self.refused = result.refused
        self._names = {*result.classes, *result.derived}
        self._step = step
        self._outcome = ran.outcome
        self._moments = self._moments_of(result)
        self._numbers = [moment.round for moment in self._moments]
        self._detections = ran.history.detections
        self._counting = [self._round_of(each) for each in self._detections]
        self._versions_from = [version.known_from for version in ran.outcome.versions]
        first = self.rounds.instant(self.rounds.first)
        self._first: Instant = first - 1
        self.begin: Instant = first if start is None else max(start, first)
        self.end: Instant = max(self.rounds.instant(self.rounds.last), self.begin)
        self.time: Instant = self.begin - 1

    def _moments_of(self, result: RoundsResult) -> list[Moment]:
        rounds, found = self.rounds, dict[Number, Moment]()

        def at(number: Number) -> Moment:
            return found.setdefault(number, Moment(number, rounds.instant(number)))

        for change in self._outcome.changes:
            at(change.round).changes.append(change)
        for row in result:
            number = rounds.at_or_after(rounds.number(row.instant))
            at(rounds.last if number is None else number).rows.append(row)
        return [found[number] for number in sorted(found)]

    def _round_of(self, detection: Detection) -> Number:
        number = self.rounds.at_or_after(self.rounds.number(detection.known))
        return self.rounds.last + 1 if number is None else number

    # -- moving --

    @property
    def now(self) -> Number:
        return self.rounds.number(self.time)

    @property
    def is_over(self) -> bool:
        return self.time >= self.end

    def to(self, time: Time, stop: Collection[str] = ()) -> list[Moment]:
        """Goes to a time, forward or back; gives what happened on the way there.

        An action, a class or a type in `stop` ends it in the round in which it fires or changes.
        """
        return self.move(instant_of(time), stop)

    def move(self, instant: Instant, stop: Collection[str] = ()) -> list[Moment]:
        """The same with an instant, which is a number of microseconds."""
        before, target = self.now, min(instant, self.end)
        passed = self._between(before, self.rounds.number(target))
        for place, moment in enumerate(passed):
            if not moment.names.isdisjoint(stop):
                self.time = moment.instant
                return passed[: place + 1]
        self.time = max(target, self._first)
        return passed

    def enter(self, stop: Collection[str] = ()) -> list[Moment]:
        """Goes to where it begins, the round of that time included."""
        return self.move(self.begin, stop)

    def until(self, *names: str) -> list[Moment]:
        """Goes on until one of these fires or changes, or to the end."""
        for name in names:
            self.expect(name)
        return self.move(self.end, names)

    def step(self, stop: Collection[str] = ()) -> list[Moment]:
        """One step on."""
        if self._step is not None:
            return self.move(self.time + self._step, stop)
        return self.to_next(stop)

    def to_next(self, stop: Collection[str] = ()) -> list[Moment]:
        """To the next round in which something happens, or to the end."""
        place = bisect_right(self._numbers, self.now)
        is_last = place == len(self._moments)
        return self.move(self.end if is_last else self._moments[place].instant, stop)

    def back(self) -> None:
        """One step back; before the beginning there is nothing."""
        if self._step is not None:
            self.move(self.time - self._step)
            return
        place = bisect_left(self._numbers, self.now) - 1
        self.move(self._moments[place].instant if place >= 0 else self._first)

    def expect(self, name: str) -> None:
        """UsageError where nothing has this name."""
        if name not in self._names:
            hint = suggest(name, self._names, "actions and classes")
            raise UsageError(error("usage", f"nothing is called '{name}'", hint=hint))

    # -- looking --

    def known(self) -> list[KnownEvent]:
        """What is known now, as of the last round."""
        now = self.now
        fired = {
            (toggle.cls, toggle.key)
            for toggle in self._outcome.toggles
            if toggle.set_in <= now and (toggle.cleared_in is None or now < toggle.cleared_in)
        }
        versions = self._outcome.versions[: bisect_right(self._versions_from, now)]
        return [
            KnownEvent(v.cls, v.key, v.row, v.known_from, (v.cls, v.key) in fired)
            for v in versions
            if v.known_to is None or now < v.known_to
        ]

    def waiting(self) -> Sequence[Detection]:
        """What will be detected later, the next first."""
        return self._detections[bisect_right(self._counting, self.now) :]

    def moment(self) -> Moment | None:
        """What happened last, up to now."""
        place = bisect_right(self._numbers, self.now)
        return self._moments[place - 1] if place else None

    def rows(self) -> list[Event]:
        """All that was done, up to now."""
        place = bisect_right(self._numbers, self.now)
        return [row for moment in self._moments[:place] for row in moment.rows]

    def _between(self, after: Number, last: Number) -> list[Moment]:
        return self._moments[bisect_right(self._numbers, after) : bisect_right(self._numbers, last)]

    def to_json(self, moment: Moment) -> dict[str, object]:
        """A moment for other programs: what became known, what is done, how much is still to come."""
        waiting = len(self._counting) - bisect_right(self._counting, moment.round)
        return {
            "@time": format_instant(moment.instant),
            "changes": [self._change(change) for change in moment.changes],
            "actions": [_timeless(row) for row in moment.rows],
            "waiting": waiting,
        }

    def _change(self, change: Change) -> dict[str, object]:
        values = change_values(change, self.classes[change.cls])
        return {"@type": change.cls, **{name: encode_value(v) for name, v in values.items()}}


def _expect_rounds(rounds: Rounds, begin: Instant | None) -> None:
    """UsageError where there is nothing to be replayed."""
    if rounds.first > rounds.last:
        raise UsageError(error("usage", "there are no rounds: nothing was detected up to the end"))
    if begin is not None and rounds.number(begin) > rounds.last:
        last = format_instant(rounds.instant(rounds.last))
        fact = f"it would begin at {format_instant(begin)}, after the last round"
        raise UsageError(error("usage", fact, hint=f"the last round is at {last}"))


def _timeless(row: Event) -> dict[str, object]:
    found = encode(row)
    found.pop("@time")
    return found


def replay(
    program: Program,
    *history: object,
    chronon: Length,
    start: Time | None = None,
    end: Time | None = None,
    step: Length | None = None,
    outages: Outages = (),
    window: str = "buffering",
    after_freeze: str = "refuse",
    progress: Progress = no_progress,
) -> Replay:
    """Runs a program over a history, to be looked at from `start` on; events before it count."""
    expect(program, Program, "a program", MAKE_ONE)
    if not program.tree.classes:
        raise UsageError(
            error("usage", "the program has no classes, whose history could be replayed")
        )
    course = course_of(
        chronon=chronon, end=end, outages=outages, window=window, after_freeze=after_freeze
    )
    ran = run_program(program.resolve(), history, course, progress=progress)
    begin = None if start is None else instant_of(start)
    _expect_rounds(ran.outcome.rounds, begin)
    return Replay(ran, start=begin, step=None if step is None else length_of(step, "a step"))
