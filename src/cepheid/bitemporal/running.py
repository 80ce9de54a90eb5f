"""A program with classes over bounded input: from sources to actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from cepheid.bitemporal import engines, mixed
from cepheid.bitemporal.detections import History, take_in
from cepheid.bitemporal.outcome import Outcome
from cepheid.bitemporal.repository import AfterFreeze
from cepheid.bitemporal.request import RoundsRequest, Window
from cepheid.bitemporal.rounds import Rounds, outage_numbers
from cepheid.core.event import Event
from cepheid.core.time import FIRST_INSTANT, LAST_INSTANT, Instant, to_datetime
from cepheid.engines.common.intake import OnProblem, runnable
from cepheid.engines.common.judging import STRICT, Rules, missing_in_classes
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.engines.common.request import RunRequest
from cepheid.engines.registry import engine_named
from cepheid.errors import InputError
from cepheid.io import Record, fail, records_of
from cepheid.io.source import NOWHERE, Placement
from cepheid.program.classes import SubscribedClass
from cepheid.program.resolved import ResolvedProgram

Outage = tuple[Instant, Instant]


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How rounds go: how long a chronon is, from when to when, and when there are none."""

    chronon: int  # microseconds
    start: Instant | None = None  # else when the first version is known
    end: Instant | None = None  # else the last time of the input
    outages: Sequence[Outage] = ()
    window: Window = "buffering"
    after_freeze: AfterFreeze = "refuse"

    def endless(self) -> Rounds:
        """Rounds without an end, for what is told as it comes."""
        first = self.start if self.start is not None else FIRST_INSTANT
        outages = outage_numbers(self.outages, self.chronon)
        numbers = (first // self.chronon, LAST_INSTANT // self.chronon)
        return Rounds(self.chronon, *numbers, outages)

    def rounds(self, history: History) -> Rounds:
        first = self.start if self.start is not None else history.first
        last = self.end if self.end is not None else history.last
        if first is None or last is None:  # nothing happens
            first, last = self.chronon, 0
        outages = outage_numbers(self.outages, self.chronon)
        return Rounds(self.chronon, first // self.chronon, last // self.chronon, outages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run gave: the outcome of its rounds, and what statements derived before and after."""

    program: ResolvedProgram
    history: History
    outcome: Outcome
    derived: Sequence[Event] = field(default=())


def run_program(
    program: ResolvedProgram,
    sources: Sequence[object],
    course: Course,
    *,
    engine: str = "local",
    on_problem: OnProblem = fail,
    progress: Progress = no_progress,
    placement: Placement = NOWHERE,
    rules: Rules = STRICT,
) -> Ran:
    program = runnable(program)
    history = read_history(program, sources, on_problem, progress, placement=placement, rules=rules)
    tell_classes(program, history, engine)
    return run_history(program, history, course, engine)


def tell_classes(program: ResolvedProgram, history: History, engine: str = "local") -> None:
    """Adds what a program's own statements tell its classes."""
    declared = {each.declared.name: each.declared for each in program.classes}
    early = _run(mixed.before_classes(program), history.others, history.last, engine)
    history.add(mixed.detected(early, declared, history.following))


def run_history(
    program: ResolvedProgram, history: History, course: Course, engine: str = "local"
) -> Ran:
    """A program over all that its classes are told, and its other statements beside them."""
    declared = {each.declared.name: each.declared for each in program.classes}
    request = RoundsRequest(
        classes=program.classes,
        names=[each.name for each in program.tree.classes],
        history=history,
        rounds=course.rounds(history),
        window=course.window,
        after_freeze=course.after_freeze,
    )
    outcome = engines.run(engine, request)
    beside = mixed.beside_classes(program)
    stream = mixed.stream_of(outcome, declared) if beside.statements else []
    derived = _run(beside, [*history.others, *stream], history.last, engine)
    return Ran(program=program, history=history, outcome=outcome, derived=derived)


def read_history(
    program: ResolvedProgram,
    sources: Sequence[object],
    on_problem: OnProblem = fail,
    progress: Progress = no_progress,
    *,
    placement: Placement = NOWHERE,
    rules: Rules = STRICT,
) -> History:
    """Detections of the subscribed classes of a program, and the events that its statements take.

    InputError where no event of a class has an attribute that the program uses.
    """
    subscribed = {
        each.declared.name: each.declared
        for each in program.classes
        if isinstance(each.declared, SubscribedClass)
    }
    classes = {each.declared.name for each in program.classes}
    others = [name for name in program.consumed_types if name not in classes]
    found = (records_of(s, on_problem=on_problem, placement=placement) for s in sources)
    counted = _counted(chain.from_iterable(found), progress)
    history = take_in(subscribed, counted, on_problem, others, rules.extra)
    if problems := missing_in_classes(program, history.seen, rules.optional):
        raise InputError(*problems)
    return history


def _counted(records: Iterable[Record], progress: Progress) -> Iterator[Record]:
    for count, record in enumerate(records, start=1):
        progress(count, None)
        yield record


def _run(
    program: ResolvedProgram,
    sources: Sequence[Record | Event],
    last: Instant | None,
    engine: str,
) -> list[Event]:
    """The rows of a part of the program, in their order; what is wrong with its input is told.

    Its clock goes on to the last time of the history, for timers.
    """
    if not program.statements or not sources:
        return []
    end = [] if last is None else [Record(None, to_datetime(last), {}, None)]
    request = RunRequest(program=program, sources=[sources, end])
    return list(engine_named(engine).run(request).rows)
