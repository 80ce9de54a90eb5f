"""What `output` means: when the results of a statement are let out, and which of them.

A rate listens to deltas. A *condition* says when it is time: after so many rows, at the ends of
equal periods that start with the first delta, at the instants of a schedule, or when an expression holds. A *mode* says what goes
out then.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import takewhile
from typing import ClassVar, Protocol

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant, Period
from cepheid.expr.evaluate import Frame, compile_condition
from cepheid.pattern.schedule import Schedule
from cepheid.program.resolved import ResolvedStatement, Shape
from cepheid.semantics.selection import Key, Output, Outputs, Selection
from cepheid.semantics.timers import Timer, TimerStage
from cepheid.semantics.windows import Delta, Window, next_boundary


class Owner(Protocol):
    """What a rate needs from its statement."""

    selection: Selection
    window: Window

    @property
    def now(self) -> Instant: ...
    @property
    def is_timer_firing(self) -> bool: ...
    def arm(self, timer: Timer, due: Instant) -> None: ...
    def deliver(self, outputs: Outputs) -> None: ...


class OutputPlan:
    """The output clause of a statement, compiled; it never changes."""

    __slots__ = ("after", "every", "has_window", "mode", "shape", "when")

    def __init__(self, statement: ResolvedStatement) -> None:
        clause = statement.tree.output
        self.mode = clause.mode if clause else None
        self.every = clause.every if clause else None
        self.after = clause.after if clause else None
        self.has_window = statement.tree.window is not None
        self.when: Callable[[Frame], bool] | None = None
        if statement.output_when is not None:
            self.when = compile_condition(statement.output_when)
        self.shape = statement.shape

    @property
    def is_direct(self) -> bool:
        return self.every is None and self.when is None

    @property
    def keeps_groups(self) -> bool:
        """Whether the last row of every group is needed: to speak of groups that stand still."""
        return self.speaks_of_all_groups or self.is_snapshot_of_groups

    @property
    def speaks_of_all_groups(self) -> bool:
        return self.mode == "all" and self.shape.is_grouped

    @property
    def is_snapshot_of_groups(self) -> bool:
        """Without a window no row is kept, but the groups are there."""
        return self.mode == "snapshot" and self.shape is Shape.GROUP and not self.has_window

    def start(self, owner: Owner) -> Rate:
        if self.is_direct:
            return Direct(self, owner)
        if self.mode == "first" and self.shape.is_grouped:
            return FirstPerGroup(self, owner)
        return MODES[self.mode, self.speaks_of_all_groups](self, owner)


class Rate(ABC):
    """The root of the rates."""

    __slots__ = ("owner", "plan", "satisfied", "started")

    def __init__(self, plan: OutputPlan, owner: Owner) -> None:
        self.plan = plan
        self.owner = owner
        self.started = owner.now
        self.satisfied = 0  # rows counted towards `after`

    @abstractmethod
    def take(self, delta: Delta) -> None:
        """A delta that has passed `where`."""

    def process(self, delta: Delta) -> Outputs:
        return self.owner.selection.process(delta, self.owner.now)

    def is_past_after(self, new_rows: int) -> bool:
        after = self.plan.after
        if isinstance(after, Period):
            return self.owner.now >= after.after(self.started)
        if after is not None:
            self.satisfied = min(self.satisfied + new_rows, after + 1)
            return self.satisfied > after
        return True


class Direct(Rate):
    """No rate: the results of each delta go out at once; `output after n events` counts results."""

    __slots__ = ()

    def take(self, delta: Delta) -> None:
        outputs = self.process(delta)
        if self.is_past_after(len(outputs.new)):
            self.owner.deliver(outputs)


class Limited(Rate):
    """What comes is added; a condition says when it is time to let out."""

    __slots__ = ("anchor", "counters", "is_armed", "order")
    stage: ClassVar[TimerStage] = TimerStage.RATE

    def __init__(self, plan: OutputPlan, owner: Owner) -> None:
        super().__init__(plan, owner)
        self.order = 0
        self.anchor: Instant | None = None  # since when the periods of `every` follow each other
        self.is_armed = False
        self.counters = Counters()

    def take(self, delta: Delta) -> None:
        if not self.is_past_after(len(delta.new)):
            self.add_early(delta)
        elif self.add(delta):
            self.count(delta)

    @abstractmethod
    def add(self, delta: Delta) -> bool:
        """Takes a delta into account; gives whether it counts."""

    def add_early(self, delta: Delta) -> None:
        """Before `after` is over, aggregates see what comes, and nobody else."""
        self.process(delta)

    @abstractmethod
    def let_out(self) -> None:
        """It is time."""

    @property
    def speaks_unasked(self) -> bool:
        """Whether there is something to say at the end of a period in which nothing came."""
        return False

    def count(self, delta: Delta) -> None:
        """Lets the delta count, and lets out if it is time."""
        every = self.plan.every
        self.counters.add(len(delta.new), len(delta.old))
        if isinstance(every, Period | Schedule):
            self.arm_next(every, is_due=self.owner.is_timer_firing)
        elif every is not None:
            if max(self.counters.new, self.counters.old) >= every:
                self.let_out()
        elif self.plan.when is not None and self.plan.when(self.counters.frame(self.owner.now)):
            self.let_out()

    def arm_next(self, every: Period | Schedule, *, is_due: bool = False) -> None:
        """Arms for the end of the running period, if that is not done and it ends.

        `is_due` says that a period that ends just now has not ended yet: timers of the pattern and of
        the window fire before the rate does.
        """
        now = self.owner.now
        if self.anchor is None:
            self.anchor = now
            is_due = False
        if self.is_armed:
            return
        since = now - 1 if is_due else now
        if isinstance(every, Schedule):
            due = every.after(since)
        else:
            due = next_boundary(self.anchor, every, since)
        if due is not None:
            self.is_armed = True
            self.owner.arm(self, due)

    def fire(self) -> None:
        assert isinstance(self.plan.every, Period | Schedule)
        self.is_armed = False
        if self.speaks_unasked:
            self.arm_next(self.plan.every)
        self.let_out()


class Counters:
    """How many rows have come since the last output, and in all."""

    __slots__ = ("last_output", "new", "new_total", "old", "old_total")

    def __init__(self) -> None:
        self.new = self.old = self.new_total = self.old_total = 0
        self.last_output: Instant | None = None

    def add(self, new: int, old: int) -> None:
        self.new += new
        self.old += old
        self.new_total += new
        self.old_total += old

    def reset(self, now: Instant) -> None:
        self.new = self.old = 0
        self.last_output = now

    def frame(self, now: Instant) -> Frame:
        """The names that `output when` may use."""
        values: dict[str, Value] = {
            "count_insert": self.new,
            "count_insert_total": self.new_total,
            "count_remove": self.old,
            "count_remove_total": self.old_total,
            "last_output_timestamp": None if self.last_output is None else self.last_output // 1000,
        }
        return Frame(event=Event("output", now, values), now=now)


class Gathering(Limited):
    """Results wait until they are released."""

    __slots__ = ()

    @abstractmethod
    def release(self) -> Outputs:
        """What goes out now."""

    def add_early(self, delta: Delta) -> None:
        # Rows that stand for single rows are dropped; aggregates wait with the rest.
        if self.plan.shape is not Shape.ROW:
            self.add(delta)

    @property
    def speaks_unasked(self) -> bool:
        return self.plan.shape is Shape.TOTAL

    def let_out(self) -> None:
        self.counters.reset(self.owner.now)
        self.owner.deliver(self.release())


class Buffered(Gathering):
    """Plain `output every`: all results since the last time.

    Where a row stands for all rows together it is let out at each tick, even if nothing came.
    """

    __slots__ = ("waiting_new", "waiting_old")

    def __init__(self, plan: OutputPlan, owner: Owner) -> None:
        super().__init__(plan, owner)
        self.waiting_new: list[Output] = []
        self.waiting_old: list[Output] = []

    def add(self, delta: Delta) -> bool:
        outputs = self.process(delta)
        self.waiting_new += outputs.new
        self.waiting_old += outputs.old
        return True

    def release(self) -> Outputs:
        outputs = Outputs(tuple(self.waiting_new), tuple(self.waiting_old))
        self.waiting_new, self.waiting_old = [], []
        if not outputs and self.plan.shape is Shape.TOTAL:
            return repeat_total(self.owner)
        return outputs


def repeat_total(owner: Owner) -> Outputs:
    """The unchanged aggregates once more, as the new and, where asked for, as the old row."""
    total = owner.selection.total(owner.now)
    return Outputs(total, total if owner.selection.select.needs_old else ())


class Last(Gathering):
    """`output last every`: the last result since the last time, for each group if there are groups.

    Its old counterpart is what held before: for aggregates the first old value, else the last.
    """

    __slots__ = ("new", "old")

    def __init__(self, plan: OutputPlan, owner: Owner) -> None:
        super().__init__(plan, owner)
        self.new: dict[Key, Output] = {}
        self.old: dict[Key, Output] = {}

    def add(self, delta: Delta) -> bool:
        outputs = self.process(delta)
        for output in outputs.new:
            self.new[output.key] = output
        for output in outputs.old:
            if self.plan.shape in (Shape.TOTAL, Shape.GROUP):
                self.old.setdefault(output.key, output)
            else:
                self.old[output.key] = output
        return True

    def release(self) -> Outputs:
        outputs = Outputs(tuple(self.new.values()), tuple(self.old.values()))
        self.new, self.old = {}, {}
        if not outputs and self.plan.shape is Shape.TOTAL:
            return repeat_total(self.owner)
        return outputs


class AllGroups(Gathering):
    """`output all every` with groups: the present row of every group ever seen.

    Where rows stand for single rows, those since the last time come first, each row that leaves
    shows its group once more, and groups that stood still follow with their last row.
    """

    __slots__ = ("old", "seen", "waiting_new", "waiting_old")

    def __init__(self, plan: OutputPlan, owner: Owner) -> None:
        super().__init__(plan, owner)
        self.waiting_new: list[Output] = []
        self.waiting_old: list[Output] = []
        self.old: dict[Key, Output] = {}
        self.seen: dict[Key, None] = {}

    def add(self, delta: Delta) -> bool:
        outputs = self.process(delta)
        if self.plan.shape is Shape.GROUP:
            for output in outputs.old:
                self.old.setdefault(output.key, output)
            return True
        self.waiting_new += outputs.new
        self.waiting_old += outputs.old
        leaving = dict.fromkeys(row.key for row in delta.old)
        self.waiting_new += self.present(leaving)
        self.seen.update(dict.fromkeys(row.key for row in delta.new + delta.old))
        return True

    @property
    def speaks_unasked(self) -> bool:
        return True

    def present(self, keys: dict[Key, None]) -> tuple[Output, ...]:
        """The rows that the groups have now, by the last row that entered each."""
        selection = self.owner.selection
        rows = {key: selection.last_rows[key] for key in keys}
        return selection.rows_of_groups(rows, self.owner.now, is_new=True)

    def release(self) -> Outputs:
        still = {key: None for key in self.owner.selection.last_rows if key not in self.seen}
        new = tuple(self.waiting_new) + self.present(still)
        old = tuple(self.waiting_old) + tuple(self.old.values())
        self.waiting_new, self.waiting_old, self.old, self.seen = [], [], {}, {}
        return Outputs(new, old)


class First(Limited):
    """`output first every`: the first results, then silence until it is time again.

    A silence begins with results; what comes before does not count.
    """

    __slots__ = ("is_silent",)

    def __init__(self, plan: OutputPlan, owner: Owner) -> None:
        super().__init__(plan, owner)
        self.is_silent = False

    def add(self, delta: Delta) -> bool:
        outputs = self.process(delta)
        if outputs and not self.is_silent:
            self.is_silent = True
            self.owner.deliver(outputs)
        return self.is_silent

    def let_out(self) -> None:
        self.counters.reset(self.owner.now)
        self.is_silent = False


class FirstPerGroup(Rate):
    """`output first every` with groups: each group has a silence of its own.

    New and leaving rows count towards the end of a silence apart; there are no old results.
    """

    __slots__ = ("silences",)

    def __init__(self, plan: OutputPlan, owner: Owner) -> None:
        super().__init__(plan, owner)
        self.silences: dict[Key, Silence] = {}

    def take(self, delta: Delta) -> None:
        self.process(delta)
        if self.is_past_after(len(delta.new)):
            self.speak(delta)

    def speak(self, delta: Delta) -> None:
        selection, now = self.owner.selection, self.owner.now
        speaking: dict[Key, Output] = {}
        for rows, is_new in ((delta.new, True), (delta.old, False)):
            for row in rows:
                output = selection.output(row, now, row.key, is_new=True)
                if output is not None and self.ends_silence(row.key, is_new=is_new):
                    speaking[row.key] = output
        self.owner.deliver(Outputs(tuple(speaking.values())))

    def ends_silence(self, key: Key, *, is_new: bool) -> bool:
        silence = self.silences.get(key) or Silence()
        if not silence.ends(self.plan.every, self.owner.now, is_new=is_new):
            return False
        self.silences.pop(key, None)
        self.silences[key] = silence  # the latest come last
        self.forget_passed()
        return True

    def forget_passed(self) -> None:
        """A silence whose period has passed is as good as none."""
        every, now = self.plan.every, self.owner.now
        if isinstance(every, Period | Schedule):
            for key in tuple(
                takewhile(lambda k: self.silences[k].is_past(every, now), self.silences)
            ):
                del self.silences[key]


class Silence:
    """Since when a group has been silent, and what has come since."""

    __slots__ = ("new", "old", "since")

    def __init__(self) -> None:
        self.new = self.old = 0
        self.since: Instant | None = None

    def ends(self, every: int | Period | Schedule | None, now: Instant, *, is_new: bool) -> bool:
        self.new += is_new
        self.old += not is_new
        if self.since is None:
            is_over = True
        elif isinstance(every, Period | Schedule):
            is_over = self.is_past(every, now)
        else:
            assert every is not None
            is_over = max(self.new, self.old) >= every
        if is_over:
            self.since, self.new, self.old = now, 0, 0
        return is_over

    def is_past(self, every: Period | Schedule, now: Instant) -> bool:
        end = None if self.since is None else every.after(self.since)
        return self.since is None or (end is not None and now >= end)


class Snapshot(Gathering):
    """`output snapshot every`: the results for all rows that count at that time."""

    __slots__ = ()

    def add(self, delta: Delta) -> bool:
        self.process(delta)
        return True

    @property
    def speaks_unasked(self) -> bool:
        return True

    def release(self) -> Outputs:
        selection = self.owner.selection
        rows = self.owner.window.contents()
        if self.plan.is_snapshot_of_groups:
            rows = tuple(selection.last_rows.values())
        return Outputs(selection.snapshot(rows, self.owner.now))


MODES: dict[tuple[str | None, bool], type[Rate]] = {
    (None, False): Buffered,
    ("all", False): Buffered,
    ("all", True): AllGroups,
    ("last", False): Last,
    ("first", False): First,
    ("snapshot", False): Snapshot,
}
