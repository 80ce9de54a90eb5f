"""The machine that runs a program: clock, timers, queue, partitions.

Order, exactly: at one instant all due timers fire (by statement rank, then by arming order), then
what they derived is taken, first in first out; then input events, each followed by what it derives.
Every event is taken by all statements, in the order of their ranks: `@Priority`, then the text.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant, format_instant
from cepheid.errors import Diagnostic, LateEvent, RunError, UsageError, error
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.pattern import Node, Timer
from cepheid.semantics.selection import Key, Output
from cepheid.semantics.statement import Plan, Running
from cepheid.semantics.windows import Row

RUNAWAY = 100_000  # events derived from one cause


class Cause:
    """An input event or a timer, and how many events that statements take came from it so far."""

    __slots__ = ("derived",)

    def __init__(self) -> None:
        self.derived = 0


class Machine:
    """Runs a resolved program. Time moves only as told, and never back.

    `order` replaces the order of the text, by statement names. `timed_out` asks for rows of partial
    matches that `timer:within` ends; `trace` keeps the causes of causes, down to the input.
    """

    def __init__(
        self,
        program: ResolvedProgram,
        *,
        order: Sequence[str] | None = None,
        timed_out: bool = False,
        trace: bool = False,
    ) -> None:
        self.program = program
        self.plans = _plans(program, order)
        self.reports_timeouts = timed_out
        self.trace = trace
        self.consumers = {
            name: tuple(plan for plan in self.plans if plan.consumes(name))
            for name in program.types
        }
        self.clock: Instant = 0
        self.started = False
        self.running: dict[tuple[int, Key], Running] = {}
        self.timers: dict[int, tuple[Instant, int, Timer]] = {}  # by arming order
        self.due: list[tuple[Instant, int, int]] = []  # a heap of (due, rank, arming order)
        self.armed = 0
        self.queue: deque[tuple[Event, Cause]] = deque()
        self.rows: list[Event] = []
        self.steps: Counter[Node] = Counter()  # how often each pattern step was reached
        self.cause = Cause()
        self.ended: Diagnostic | None = None  # why the run cannot go on

    # Time.

    def start(self, instant: Instant) -> None:
        """The program begins: statements outside contexts start, in the order of their ranks."""
        self.clock = instant
        self.started = True
        for plan in self.plans:
            if plan.statement.context is None:
                self.partition(plan, ())

    def advance(self, instant: Instant) -> list[Event]:
        """Lets time pass, up to and including an instant; gives the rows that time brings."""
        self.check_running()
        if not self.started:
            self.start(instant)
        if instant < self.clock:
            fact = f"{format_instant(instant)} is before the clock, {format_instant(self.clock)}"
            raise LateEvent(error("late-event", fact))
        while self.due and self.due[0][0] <= instant:
            self.tick(self.due[0][0])
        self.clock = instant
        return self.take_rows()

    def check_running(self) -> None:
        """A run that had to end stays ended: what it left half done means nothing."""
        if self.ended is not None:
            raise RunError(self.ended)

    def tick(self, instant: Instant) -> None:
        """All timers of an instant fire, then what they derived is taken."""
        self.clock = instant
        while self.due and self.due[0][0] == instant:
            _, _, order = heappop(self.due)
            armed = self.timers.pop(order, None)
            if armed is not None:
                self.cause = Cause()
                armed[2].fire()
        self.drain()

    def arm(self, timer: Timer, due: Instant, rank: int) -> None:
        self.armed += 1
        timer.order = self.armed
        self.timers[timer.order] = (due, rank, timer)
        heappush(self.due, (due, rank, timer.order))

    def disarm(self, timer: Timer) -> None:
        self.timers.pop(timer.order, None)
        if len(self.due) > 2 * len(self.timers) + 64:  # mostly disarmed ones: sweep them out
            self.due = [(due, rank, order) for order, (due, rank, _) in self.timers.items()]
            heapify(self.due)

    # Events.

    def take(self, event: Event) -> list[Event]:
        """Time passes to the event's instant, then the event happens; gives all rows."""
        rows = self.advance(event.instant)
        self.cause = Cause()
        self.dispatch(event)
        self.drain()
        return rows + self.take_rows()

    def dispatch(self, event: Event) -> None:
        for plan in self.consumers.get(event.type, ()):
            key = plan.key(event) if plan.statement.context is not None else ()
            self.partition(plan, key).take(event)

    def partition(self, plan: Plan, key: Key) -> Running:
        """The running statement for a key; a key's first event starts it."""
        found = self.running.get((plan.rank, key))
        if found is None:
            found = self.running[plan.rank, key] = Running(plan, self)
            found.start()
        return found

    def drain(self) -> None:
        while self.queue:
            event, self.cause = self.queue.popleft()
            self.dispatch(event)

    def take_rows(self) -> list[Event]:
        rows, self.rows = self.rows, []
        return rows

    # Results.

    def emit(self, plan: Plan, new: Iterable[Output], old: Iterable[Output]) -> None:
        """Reports and inserts the rows of one delivery, each stream as the statement says."""
        statement = plan.statement.tree
        for outputs, stream in ((new, "istream"), (old, "rstream")):
            is_reported = statement.stream in (stream, "irstream")
            is_inserted = statement.insert_stream in (stream, "irstream")
            is_old = stream == "rstream" and statement.stream == "irstream"
            for output in outputs:
                named = dict(zip(plan.columns, output.values, strict=True))
                event = Event(
                    plan.target, self.clock, named, 0, plan.name, output.causes, is_old=is_old
                )
                if is_reported:
                    self.rows.append(event)
                if is_inserted:
                    self.insert(plan, event)

    def insert(self, plan: Plan, event: Event) -> None:
        if not self.consumers.get(event.type):
            return
        self.cause.derived += 1
        if self.cause.derived > RUNAWAY:
            fact = f"more than {RUNAWAY:,} events were derived from one cause"
            hint = f"the last came from '{plan.name}' at {format_instant(self.clock)}"
            self.ended = error("runaway", fact, plan.statement.tree.span, hint)
            self.check_running()
        # Without a trace, an event in the state must not keep its whole past alive.
        causes = event.causes if self.trace else ()
        queued = Event(event.type, event.instant, event.values_, 0, event.statement, causes)
        self.queue.append((queued, self.cause))

    def emit_timeout(self, plan: Plan, values: Iterable[Value], row: Row) -> None:
        if self.reports_timeouts:
            named = dict(zip(plan.columns, values, strict=True))
            self.rows.append(
                Event(plan.target, self.clock, named, 0, plan.name, row.causes, is_timeout=True)
            )

    def reached(self, node: Node) -> None:
        self.steps[node] += 1


def _plans(program: ResolvedProgram, order: Sequence[str] | None) -> tuple[Plan, ...]:
    """The statements in the order in which they take an event."""
    statements = program.statements
    names = [s.name for s in statements]
    if order is not None and sorted(order) != sorted(names):
        fact = "the order must name every statement once"
        raise UsageError(error("usage", fact, hint=f"statements: {', '.join(names)}"))
    position = {name: place for place, name in enumerate(order or names)}
    ranked = sorted(statements, key=lambda s: (-s.tree.priority, position[s.name]))
    return tuple(Plan(s, rank, program.types) for rank, s in enumerate(ranked))
