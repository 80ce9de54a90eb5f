"""One running statement: a source feeds a window, its deltas feed the selection and the rate."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, cast

from cepheid.core.event import Event, SortKey, Value
from cepheid.core.time import Instant
from cepheid.core.types import EventType
from cepheid.expr.evaluate import Evaluator, Frame, compile_condition, compile_expr
from cepheid.expr.values import group_key, sort_key
from cepheid.pattern.algebra import Occurrence
from cepheid.program.resolved import ResolvedStatement, Shape
from cepheid.semantics.contexts import Follow, OccurrencePlan, PartialMatches, plan_occurrence
from cepheid.semantics.output import OutputPlan
from cepheid.semantics.pattern import Atom, Binding, Node, Root, compile_pattern
from cepheid.semantics.policies import offer_of
from cepheid.semantics.residuals import Residuals
from cepheid.semantics.selection import Key, Output, Outputs, Select, Selection
from cepheid.semantics.timers import Timer, TimerStage
from cepheid.semantics.windows import Delta, Row, make_window


class CompiledStatement:
    """Everything about a statement that never changes."""

    def __init__(
        self,
        statement: ResolvedStatement,
        rank: int,
        types: Mapping[str, EventType],
        follow: Follow = Residuals,
    ) -> None:
        self.statement = statement
        self.name = statement.name
        self.target = statement.target
        self.rank = rank
        self.node: Node | None = None
        self.occurrence: OccurrencePlan | None = None
        if isinstance(statement.pattern, Occurrence):
            heirs = {name: _heirs(name, types) for name in statement.inputs}
            self.occurrence = plan_occurrence(statement.pattern, statement.policy, heirs, follow)
        elif statement.pattern is not None:
            self.node = compile_pattern(statement.pattern)
            self.offer = offer_of(statement.policy)
        self.condition: Callable[[Frame], bool] = compile_condition(statement.condition)
        self.window = statement.tree.window
        self.select = Select(statement)
        self.output = OutputPlan(statement)
        self.columns = tuple(c.name for c in statement.columns)
        self.descending = tuple(item.descending for item in statement.order_by)
        # Whether results come in the order of the rows that they stand for.
        self.follows_rows = self.output.is_direct and not statement.order_by
        self.timeout_columns = self._timeout_columns()
        # For each type that may arrive: the declared types it counts as.
        self.lineage = {
            name: tuple(t for t in statement.inputs if t == name or t in type.ancestors)
            for name, type in types.items()
        }

    def _timeout_columns(self) -> tuple[Evaluator, ...] | None:
        """How a timed-out partial match is shown; only plain pattern statements can."""
        statement = self.statement
        if statement.pattern is None or statement.shape is not Shape.ROW:
            return None
        if statement.tree.window is not None or statement.tree.output is not None:
            return None
        return tuple(compile_expr(c.expr) for c in statement.columns)

    def arrange(self, outputs: tuple[Output, ...]) -> tuple[Output, ...]:
        """distinct, then order by, then limit."""
        statement = self.statement.tree
        if statement.distinct:
            first_of: dict[Key, Output] = {}
            for output in outputs:
                first_of.setdefault(tuple(map(group_key, output.values)), output)
            outputs = tuple(first_of.values())
        # Sorting is stable, so the last criterion is applied first.
        for place in reversed(range(len(self.descending))):
            outputs = tuple(
                sorted(
                    outputs,
                    key=lambda o: sort_key(o.order[place]),
                    reverse=self.descending[place],
                )
            )
        if statement.limit is not None:
            first = statement.limit.offset
            outputs = outputs[first : first + statement.limit.count]
        return outputs

    def consumes(self, event_type: str) -> bool:
        return bool(self.lineage.get(event_type))

    def key(self, event: Event) -> Key:
        """The key of the context partition that an event belongs to."""
        for name in self.lineage[event.type]:
            attributes = self.statement.key_of(name)
            if attributes is not None:
                return tuple(group_key(event.values_.get(a)) for a in attributes)
        return ()


def _heirs(name: str, types: Mapping[str, EventType]) -> frozenset[str]:
    """A type and all that inherit from it."""
    return frozenset(n for n, type in types.items() if n == name or name in type.ancestors)


def _size(part: object) -> int:
    """How many things it holds in lists and tables of its own."""
    names = (name for kind in type(part).__mro__ for name in getattr(kind, "__slots__", ()))
    held = (getattr(part, name, None) for name in names)
    return sum(len(each) for each in held if isinstance(each, list | tuple | dict | deque | set))


class StatementHost(Protocol):
    """What a running statement needs from the machine."""

    clock: Instant
    key: SortKey  # of what happens now
    firing: Timer | None

    def origin(self, rank: int) -> SortKey: ...
    def arm(self, timer: Timer, due: Instant, rank: int, origin: SortKey) -> None: ...
    def disarm(self, timer: Timer) -> None: ...
    def emit(
        self, plan: CompiledStatement, new: Iterable[Output], old: Iterable[Output]
    ) -> None: ...
    def emit_timeout(self, plan: CompiledStatement, values: Iterable[Value], row: Row) -> None: ...
    def reached(self, node: Node) -> None: ...


class Running:
    """The state of a statement, or of one partition of it."""

    __slots__ = (
        "engine",
        "listened",
        "listeners",
        "origin",
        "plan",
        "rate",
        "root",
        "selection",
        "window",
    )

    def __init__(self, plan: CompiledStatement, engine: StatementHost) -> None:
        self.plan = plan
        self.engine = engine
        self.origin = engine.key
        self.listeners: dict[str, dict[Atom, None]] = {}
        self.listened = 0  # how many atoms have ever listened: their order
        self.window = make_window(plan.window, self)
        self.selection = Selection(plan.select, keep_groups=plan.output.keeps_groups)
        self.rate = plan.output.start(self)
        self.root = self._root()

    def _root(self) -> Root | PartialMatches | None:
        if self.plan.occurrence is not None:
            return PartialMatches(self.plan.occurrence, self)
        return Root(self.plan.node, self) if self.plan.node is not None else None

    @property
    def now(self) -> Instant:
        return self.engine.clock

    @property
    def is_timer_firing(self) -> bool:
        return self.engine.firing is not None

    @property
    def size(self) -> int:
        """About how much it keeps: rows of its window, groups, outputs that wait, partial matches."""
        kept = (self.window, self.selection, self.rate, self.root)
        waiting = sum(map(len, self.listeners.values()))
        return 1 + waiting + sum(_size(part) for part in kept)

    def start(self) -> None:
        self.window.start()
        if self.root is not None:
            self.root.start()

    # The source.

    def take(self, event: Event) -> None:
        frame = Frame(event, now=self.now)
        if self.root is None:
            if self.plan.condition(frame):
                self.window.push(Row(event=event, entered=self.engine.key))
            return
        if isinstance(self.root, PartialMatches):
            self.root.take(event)
        else:
            self.plan.offer(self, event, frame)

    def listening(self, event_type: str) -> list[Atom]:
        """The atoms that wait for such an event, in the order in which they hear it."""
        names = self.plan.lineage[event_type]
        atoms = [atom for name in names for atom in self.listeners.get(name, ())]
        return sorted(atoms, key=lambda atom: atom.turn)

    def listen(self, atom: Atom) -> None:
        self.listened += 1
        atom.order = self.listened
        self.listeners.setdefault(atom.event_type, {})[atom] = None

    def unlisten(self, atom: Atom) -> None:
        del self.listeners[atom.event_type][atom]

    def arm(self, timer: Timer, due: Instant) -> None:
        """A timer of the pattern is placed by what armed it, others belong to the whole statement."""
        rank = self.plan.rank
        is_own = timer.stage is TimerStage.PATTERN
        self.engine.arm(timer, due, rank, self.engine.origin(rank) if is_own else self.origin)

    def disarm(self, timer: Timer) -> None:
        self.engine.disarm(timer)

    def reached(self, node: Node) -> None:
        self.engine.reached(node)

    def matched(self, binding: Binding) -> None:
        self.window.push(Row(tags=binding, entered=self.engine.key))

    def occurred(self, parameters: Mapping[str, Value], events: tuple[Event, ...]) -> None:
        values = cast("Binding", parameters)  # an expression reads them like tags
        self.window.push(Row(tags=values, used=events, entered=self.engine.key))

    def timed_out(self, binding: Binding) -> None:
        if self.plan.timeout_columns is not None:
            row = Row(tags=binding)
            frame = Frame(tags=binding, now=self.now)
            values = [evaluate(frame) for evaluate in self.plan.timeout_columns]
            self.engine.emit_timeout(self.plan, values, row)

    # From the window to the result.

    def changed(self, delta: Delta) -> None:
        passed = self.selection.filter(delta, self.now)
        if passed is not None:
            self.rate.take(passed)

    def deliver(self, outputs: Outputs) -> None:
        if outputs:
            arrange = self.plan.arrange
            self.engine.emit(self.plan, arrange(outputs.new), arrange(outputs.old))
