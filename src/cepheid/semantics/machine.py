"""The machine that runs a program: clock, timers, queue, partitions.

Order, exactly: at one instant all due timers fire, then what they derived is taken, first in first
out; then input events, each followed by what it derives. Every event is taken by all statements, in
the order of their ranks: `@Priority`, then the text. Timers fire by rank; those of a pattern before
the window's and the output rate's; then by origin, which is the event that was being taken when the
timer was armed, or where a timer of the same statement led to that, the origin of this one; then by
arming order.

The key of an event, of a row and of a firing timer says its place in this order, as numbers to be
compared from left to right. Whatever part of the input a machine sees, its keys are in the order in
which one that sees everything would give them:

    instant, -1, 0, 0                                   the start of the program
    instant, 1, sequence, 0                             an input event
    instant, 0, 0, 0, rank, stage, origin, number       a timer; only a pattern's has a number
    ... depth + 1, ..., rank, number                    derived by a statement from the above
    ... depth + 1, ..., rank, stream, place, number     the same, from a window's timer

A window's timer speaks for rows of many origins, so its results take the places of the rows that
they stand for, new ones first (`Row.place`); unless `order by` or a rate orders them, which no part
of the input alone can do.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import NoReturn

from cepheid.core.event import Event, SortKey, Value
from cepheid.core.memory import is_short
from cepheid.core.time import Instant, format_instant
from cepheid.errors import Diagnostic, LateEvent, RunError, UsageError, error
from cepheid.expr.python import FunctionFailed
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics import limits
from cepheid.semantics.contexts import Follow
from cepheid.semantics.pattern import Node
from cepheid.semantics.residuals import Residuals
from cepheid.semantics.selection import Key, Output
from cepheid.semantics.statement import CompiledStatement, Running
from cepheid.semantics.timers import Armed, Origins, Place, Timer
from cepheid.semantics.windows import Row, Window


def late_event(instant: Instant, clock: Instant) -> Diagnostic:
    fact = f"{format_instant(instant)} is before the clock, {format_instant(clock)}"
    return error("late-event", fact)


class Cause:
    """An input event or a timer, and what came from it so far.

    `origins` has for each pattern whose timers led here the origin of the last of them. Without it,
    the keys in a cycle of statements with timers would grow for ever.
    """

    __slots__ = ("derived", "origins", "rows")

    def __init__(self, origins: Origins) -> None:
        self.origins = origins
        self.derived = 0  # events that statements take
        self.rows = 0


class Machine:
    """Runs a resolved program. Time moves only as told, and never back.

    `order` replaces the order of the text, by statement names. `timed_out` asks for rows of partial
    matches that `timer:within` ends; `trace` keeps the causes of causes, down to the input. `follow`
    says how complex events are followed.
    """

    def __init__(
        self,
        program: ResolvedProgram,
        *,
        order: Sequence[str] | None = None,
        timed_out: bool = False,
        trace: bool = False,
        follow: Follow = Residuals,
    ) -> None:
        self.program = program
        self.plans = _plans(program, order, follow)
        self.reports_timeouts = timed_out
        self.trace = trace
        self.consumers = {
            name: tuple(plan for plan in self.plans if plan.consumes(name))
            for name in program.types
        }
        self.reset()

    def reset(self) -> None:
        """As before the program begins."""
        self.clock: Instant = 0
        self.started = False
        self.running: dict[tuple[int, Key], Running] = {}
        self.timers: dict[int, Armed] = {}  # by arming order
        self.due: list[Place] = []  # a heap of their places
        self.armed = 0
        self.key: SortKey = ()  # of the event that is being taken, or of the timer that fires
        self.firing: Timer | None = None
        self.queue: deque[tuple[Event, Cause]] = deque()
        self.rows: list[Event] = []
        self.steps: Counter[Node] = Counter()  # how often each pattern step was reached
        self.cause = Cause({})
        self.turns = 0  # events and instants, by which the memory is looked at now and then
        self.ended: Diagnostic | None = None  # why the run cannot go on

    # Time.

    def start(self, instant: Instant) -> None:
        """The program begins: statements outside contexts start, in the order of their ranks."""
        self.clock = instant
        self.started = True
        self.key = (instant, -1, 0, 0)
        for plan in self.plans:
            if plan.statement.context is None:
                self.partition(plan, ())

    def advance(self, instant: Instant) -> list[Event]:
        """Lets time pass, up to and including an instant; gives the rows that time brings."""
        self.check_running()
        if not self.started:
            self.start(instant)
        if instant < self.clock:
            raise LateEvent(late_event(instant, self.clock))
        self.drain()
        self.pass_time(instant)
        self.clock = instant
        return self.take_rows()

    def pass_time(self, instant: Instant) -> None:
        """Timers fire, up to and including an instant; whatever they keep is bounded."""
        instants = 0  # that gave rows
        while self.due and self.due[0][0] <= instant:
            known = len(self.rows)
            self.tick(self.due[0][0])
            instants += len(self.rows) > known
            if instants > limits.MOST_INSTANTS:
                self.end_endless(self.rows[-1].statement)

    def end_endless(self, name: str | None) -> NoReturn:
        """Time alone brings rows of a statement again and again."""
        plan = next(plan for plan in self.plans if plan.name == name)
        self.end(limits.endless_output(plan.statement, self.clock))

    def check_running(self) -> None:
        """A run that had to end stays ended: what it left half done means nothing."""
        if self.ended is not None:
            raise RunError(self.ended)

    def end(self, problem: Diagnostic, cause: Exception | None = None) -> NoReturn:
        self.ended = problem
        self.rows = []
        raise RunError(problem) from cause

    def tick(self, instant: Instant) -> None:
        """All timers of an instant fire, then what they derived is taken."""
        self.turn()
        self.fire_due(instant)
        self.drain()

    def fire_due(self, instant: Instant) -> None:
        self.clock = instant
        while (armed := self.take_due(instant)) is not None:
            self.fire(armed)

    def take_due(self, instant: Instant) -> Armed | None:
        """The first timer that is due at an instant, which is armed no more."""
        while self.due and self.due[0][0] == instant:
            armed = self.timers.pop(heappop(self.due)[-1], None)
            if armed is not None:
                return armed
        return None

    def fire(self, armed: Armed) -> None:
        self.cause = Cause(armed.led_to)
        self.key = armed.key
        self.firing = armed.timer
        try:
            armed.timer.fire()
        except (RunError, MemoryError) as failure:
            self.fail(failure, self.plan_of(armed.rank))
        self.firing = None

    def plan_of(self, rank: int) -> CompiledStatement:
        return next(plan for plan in self.plans if plan.rank == rank)

    def arm(self, timer: Timer, due: Instant, rank: int, origin: SortKey) -> None:
        self.armed += 1
        timer.order = self.armed
        armed = self.timers[timer.order] = Armed(timer, due, rank, origin, self.cause.origins)
        heappush(self.due, armed.place)

    def origin(self, rank: int) -> SortKey:
        """The origin of what a statement's pattern arms now."""
        return self.cause.origins.get(rank, self.key)

    def disarm(self, timer: Timer) -> None:
        self.timers.pop(timer.order, None)
        if len(self.due) > 2 * len(self.timers) + 64:  # mostly disarmed ones
            self.sweep()

    def sweep(self) -> None:
        """Lets the heap have the armed timers and no others."""
        self.due = [armed.place for armed in self.timers.values()]
        heapify(self.due)

    def next_due(self) -> Instant | None:
        """When the first armed timer falls due."""
        while self.due and self.due[0][-1] not in self.timers:
            heappop(self.due)
        return self.due[0][0] if self.due else None

    # Events.

    def take(self, event: Event) -> list[Event]:
        """Time passes to the event's instant, then the event happens; gives all rows."""
        rows = self.advance(event.instant)
        self.cause = Cause({})
        self.dispatch(event)
        self.drain()
        return rows + self.take_rows()

    def meet(self, event: Event) -> list[Event]:
        """Takes an event in its place among those that the program derives, as their keys say.

        A part of a program meets events that other parts derive. What it derives itself waits until
        the place of the next event is known, or time goes on.
        """
        rows = self.reach(event.instant)
        self.drain(event.key)
        self.cause = Cause({})
        self.dispatch(event)
        return rows + self.take_rows()

    def reach(self, instant: Instant) -> list[Event]:
        """Lets time pass up to an instant, whose timers fire; what they derive waits."""
        rows: list[Event] = []
        if not self.started:
            self.start(instant)
        elif instant != self.clock:
            rows = self.advance(instant - 1 if instant > self.clock else instant)
        self.check_running()
        self.fire_due(instant)
        return rows + self.take_rows()

    def dispatch(self, event: Event) -> None:
        self.begin(event)
        for plan in self.consumers.get(event.type, ()):
            self.give(plan, event)

    def begin(self, event: Event) -> None:
        """The event happens; no statement has taken it yet."""
        self.turn()
        self.key = event.key

    def give(self, plan: CompiledStatement, event: Event) -> None:
        """A statement takes the event that happens."""
        key = plan.key(event) if plan.statement.context is not None else ()
        try:
            self.partition(plan, key).take(event)
        except (RunError, MemoryError) as failure:
            self.fail(failure, plan, event.type)

    def turn(self) -> None:
        """Now and then, whether there is memory left to go on."""
        self.turns += 1
        if self.turns % limits.TURNS == 0 and is_short():
            self.end(limits.outgrown(self.largest().statement))

    def fail(
        self, failure: RunError | MemoryError, plan: CompiledStatement, type: str | None = None
    ) -> NoReturn:
        """A statement cannot go on, at an event or a timer; what stopped it need not know its name."""
        if self.ended is not None:  # and so ends what led to it
            raise failure
        if isinstance(failure, MemoryError):  # there is none left to look around
            self.end(limits.outgrown(plan.statement))
        if isinstance(failure, FunctionFailed):
            self.end(failure.at(self.clock, type), failure)
        self.end(limits.named(failure, plan.statement))

    def largest(self) -> CompiledStatement:
        """The statement that keeps the most."""
        sizes: Counter[CompiledStatement] = Counter()
        for running in self.running.values():
            sizes[running.plan] += running.size
        return max(self.plans, key=lambda plan: sizes[plan])

    def partition(self, plan: CompiledStatement, key: Key) -> Running:
        """The running statement for a key; a key's first event starts it."""
        found = self.running.get((plan.rank, key))
        if found is None:
            found = self.running[plan.rank, key] = Running(plan, self)
            found.start()
        return found

    def drain(self, before: SortKey | None = None) -> None:
        """Takes what was derived, first in first out; up to a key where one is given."""
        while self.queue and (before is None or self.queue[0][0].key < before):
            event, self.cause = self.queue.popleft()
            self.dispatch(event)

    def take_rows(self) -> list[Event]:
        rows, self.rows = self.rows, []
        return rows

    # Results.

    def emit(self, plan: CompiledStatement, new: Iterable[Output], old: Iterable[Output]) -> None:
        """Reports and inserts the rows of one delivery, each stream as the statement says."""
        statement = plan.statement.tree
        by_row = plan.follows_rows and isinstance(self.firing, Window)
        for number, (outputs, stream) in enumerate(((new, "istream"), (old, "rstream"))):
            is_reported = statement.stream in (stream, "irstream")
            is_inserted = statement.insert_stream in (stream, "irstream")
            is_old = stream == "rstream" and statement.stream == "irstream"
            for output in outputs:
                key = self.next_key(plan, (number, *output.place) if by_row else ())
                event = self.derive(plan, output.values, output.causes, key, is_old=is_old)
                if is_reported:
                    self.rows.append(event)
                if is_inserted:
                    self.insert(plan, event)

    def next_key(self, plan: CompiledStatement, place: SortKey = ()) -> SortKey:
        """The key of the next row that comes from what happens now."""
        self.cause.rows += 1
        instant, phase, sequence, depth, *path = self.key
        if depth < len(self.program.tree.statements):
            path += [plan.rank, *place, self.cause.rows]
        else:
            path[-1] = self.cause.rows  # one part sees a whole cycle: its path need not grow
        return (instant, phase, sequence, depth + 1, *path)

    def derive(
        self,
        plan: CompiledStatement,
        values: Iterable[Value],
        causes: tuple[Event, ...],
        key: SortKey,
        *,
        is_old: bool = False,
        is_timeout: bool = False,
    ) -> Event:
        named = dict(zip(plan.columns, values, strict=True))
        marks = {"is_old": is_old, "is_timeout": is_timeout}
        return Event(plan.target, self.clock, named, 0, plan.name, causes, key=key, **marks)

    def insert(self, plan: CompiledStatement, event: Event) -> None:
        if not self.consumers.get(event.type):
            return
        self.cause.derived += 1
        if self.cause.derived > limits.RUNAWAY:
            self.end(limits.runaway(plan.statement, self.clock))
        # Without a trace, an event in the state must not keep its whole past alive.
        causes = event.causes if self.trace else ()
        queued = Event(
            event.type, event.instant, event.values_, 0, event.statement, causes, key=event.key
        )
        self.queue.append((queued, self.cause))

    def emit_timeout(self, plan: CompiledStatement, values: Iterable[Value], row: Row) -> None:
        if self.reports_timeouts:
            key = self.next_key(plan)
            self.rows.append(self.derive(plan, values, row.causes, key, is_timeout=True))

    @property
    def steps_reached(self) -> dict[str, list[int]]:
        """For each statement with a pattern, how often each of its events and timers was reached."""
        return {
            plan.name: [self.steps[node] for node in plan.node.walk() if not node.children]
            for plan in self.plans
            if plan.node is not None
        }

    def reached(self, node: Node) -> None:
        self.steps[node] += 1


def _plans(
    program: ResolvedProgram, order: Sequence[str] | None, follow: Follow
) -> tuple[CompiledStatement, ...]:
    """The statements in the order in which they take an event."""
    statements = program.statements
    if order is None:
        ranked = sorted(statements, key=lambda s: s.rank)
        return tuple(CompiledStatement(s, s.rank, program.types, follow) for s in ranked)
    names = [s.name for s in statements]
    if sorted(order) != sorted(names):
        fact = "the order must name every statement once"
        raise UsageError(error("usage", fact, hint=f"statements: {', '.join(names)}"))
    ranked = sorted(statements, key=lambda s: (-s.tree.priority, order.index(s.name)))
    return tuple(CompiledStatement(s, rank, program.types, follow) for rank, s in enumerate(ranked))
