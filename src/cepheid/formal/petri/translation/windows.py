"""From the matches of a statement to its results: where, windows, aggregates, the place of results.

The rows of a window lie in `DW_Ev`. `enter` brings a row into it; `clear_DW_Ev` takes those out whose
time is over, as soon as a `tick` has said so, and `slide` the one that a new row drives out. Each
aggregate has a place with its state: for `count` a number, for others what they keep of the rows. Results are numbered by `out_seqn`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheid.expr.tree import Aggregate
from cepheid.expr.typing import aggregates_in
from cepheid.formal.petri.nets.net import BOOL, INT, Arc, Priority, ProductOf, Transition
from cepheid.formal.petri.nets.terms import Apply, Const, If, Term, Var, product
from cepheid.formal.petri.translation.inscriptions import (
    BINDING,
    EVENT,
    Derived,
    Folded,
    Holds,
    IsNull,
    Row,
    Told,
    aggregates_of,
    empty_state,
    is_count,
    state_colours,
)
from cepheid.formal.petri.translation.net_builder import Effect, NetBuilder, succ
from cepheid.program.resolved import ResolvedStatement, Shape
from cepheid.program.tree import KeepAll, LengthWindow, TimeWindow

_I, _T, _K, _Q, _D = map(Var, ("i", "t", "k", "q", "d"))
_ENTERED = Var("entered")
_YES, _NO = Const(value=True), Const(value=False)


def is_simple(statement: ResolvedStatement) -> bool:
    """Whether each row can be taken by itself: no groups, no batches, nothing held back."""
    tree = statement.tree
    clauses = (tree.output, tree.limit, statement.having, statement.context, tree.distinct)
    if any(clauses) or statement.shape.is_grouped:
        return False
    if {tree.stream, tree.insert_stream} != {"istream"}:
        return False
    if any(any(aggregates_in(item.expr)) for item in statement.order_by):
        return False
    window = tree.window
    if isinstance(window, LengthWindow):
        return statement.where is None
    if isinstance(window, TimeWindow):
        return not window.period.months
    return window is None or isinstance(window, KeepAll)


def results_of(builder: NetBuilder, statement: ResolvedStatement, row: Row) -> Effect:
    """Draws what becomes of a row, and gives what the transition does that finds it."""
    drawing = _Drawing(builder, statement, row)
    window = statement.tree.window
    is_plain = statement.shape is Shape.ROW and not isinstance(window, TimeWindow | LengthWindow)
    if is_plain and statement.where is None:
        return drawing.emit(row) + Effect(title=f"pattern_{statement.name}")
    return drawing.draw()


@dataclass(slots=True)
class _Drawing:
    builder: NetBuilder
    statement: ResolvedStatement
    row: Row

    def own(self, name: str) -> str:
        return f"{self.statement.name}.{name}"

    @property
    def bound(self) -> tuple[Var, ...]:
        """The variables of the events of a row."""
        if isinstance(self.row.binding, Var):
            return (self.row.binding,)
        tags = tuple(variable for _, variable in self.row.tags)
        return tags if self.row.event is None else (self.row.event,)

    @property
    def colours(self) -> ProductOf:
        """Of the tokens that stand for rows."""
        of_row = BINDING if self.row.binding is not None else EVENT
        return ProductOf((INT, INT, *(of_row for _ in self.bound)))

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        return aggregates_of(self.statement)

    def draw(self) -> Effect:
        """Rows wait in `match` for the transition that lets them enter, and for no other."""
        match = Arc(
            self.builder.place(self.own("match"), self.colours), product(_I, _T, *self.bound)
        )
        where = self.statement.where
        if where is not None:
            rejected = Holds(where, self.row, negated=True)
            self.add("reject", Effect((match,)), guard=rejected)
        guard = None if where is None else Holds(where, self.row)
        window = self.statement.tree.window
        if isinstance(window, TimeWindow):
            self.draw_time_window(match, guard, window.period.microseconds)
        elif isinstance(window, LengthWindow):
            self.draw_length_window(match, window.size)
        else:
            effect = Effect((match,)) + self.count(+1) + self.result(+1)
            self.add(f"pattern_{self.statement.name}", effect, guard=guard)
        return Effect(outputs=(match,))

    def add(
        self, name: str, effect: Effect, *, guard: Term | None = None, level: int = Priority.P_HIGH
    ) -> None:
        name = self.builder.unused(name if name.startswith("pattern_") else self.own(name))
        self.builder.add(Transition(name, effect.inputs, effect.outputs, guard, level))

    # Windows.

    def held(self, key: Term, entered: Term) -> Arc:
        """A row in the window: what it leaves by, when it entered, its events."""
        place = self.builder.place(self.own("DW_Ev"), self.colours)
        return Arc(place, product(key, entered, *self.bound))

    def enter(self, match: Arc, key: Term) -> Effect:
        return Effect((match,), (self.held(key, _T),))

    def draw_time_window(self, match: Arc, guard: Term | None, period: int) -> None:
        entering = self.enter(match, Apply("+", _T, Const(period)))
        self.add("enter", entering + self.count(+1) + self.result(+1), guard=guard)
        now, leaving = Arc("time", _T), self.held(_T, _ENTERED)
        if self.statement.shape is not Shape.TOTAL:
            self.add("clear_DW_Ev", Effect((leaving, now), (now,)) + self.count(-1))
            return
        changed = self.builder.place(self.own("changed"), BOOL, start=False)
        noted = Effect((Arc(changed, Var("was")),), (Arc(changed, _YES),))
        cleared = Effect((leaving, now), (now,)) + noted + self.count(-1)
        self.add("clear_DW_Ev", cleared)
        taken = Arc("Ev", product(_I, Var("type"), Var("since"), Var("e")))
        told = Effect((Arc(changed, _YES), now, taken), (Arc(changed, _NO), now, taken))
        level = self.builder.timer_level(self.statement)
        self.add("return", told + self.count(0) + self.result(0), level=level)

    def draw_length_window(self, match: Arc, size: int) -> None:
        entered = self.builder.place(self.own("entered"), INT, start=0)
        number = Effect((Arc(entered, _D),), (Arc(entered, succ(_D)),))
        entering = self.enter(match, succ(_D)) + number
        filling = Apply("<", _D, Const(size))
        self.add("enter", entering + self.count(+1) + self.result(+1), guard=filling)
        others = tuple(Var(f"old_{variable.name}") for variable in self.bound)
        oldest = product(Apply("-", succ(_D), Const(size)), _ENTERED, *others)
        sliding = entering + Effect((Arc(self.own("DW_Ev"), oldest),))
        full = Apply(">=", _D, Const(size))
        old = self.renamed(others)
        self.add("slide", sliding + self.count(+1, old) + self.result(+1, old), guard=full)

    def renamed(self, variables: tuple[Var, ...]) -> Row:
        """The row with other variables, as it was when it entered."""
        if self.row.event is not None:
            return replace(self.row, now=_ENTERED, event=variables[0])
        if self.row.binding is not None:
            return replace(self.row, now=_ENTERED, binding=variables[0])
        tags = zip((tag for tag, _ in self.row.tags), variables, strict=True)
        return replace(self.row, now=_ENTERED, tags=tuple(tags))

    # Aggregates and results.

    @property
    def rows_leave(self) -> bool:
        return isinstance(self.statement.tree.window, TimeWindow | LengthWindow)

    def states(self) -> list[Var]:
        """The variables for the states of the aggregates."""
        return [Var(f"c{number or ''}") for number, _ in enumerate(self.aggregates)]

    def afterwards(self, change: int, old: Row | None = None) -> list[Term]:
        """The states after a row has entered or left, and after another one was driven out."""
        row = self.row if change > 0 else replace(self.row, now=_ENTERED)
        after = []
        for state, aggregate in zip(self.states(), self.aggregates, strict=True):
            term = self.moved(state, aggregate, row, change)
            after.append(term if old is None else self.moved(term, aggregate, old, -1))
        return after

    def moved(self, state: Term, aggregate: Aggregate, row: Row, change: int) -> Term:
        if change == 0:
            return state
        if not is_count(aggregate):
            return Folded(aggregate, state, row, change > 0, self.rows_leave)
        after = Apply("+" if change > 0 else "-", state, Const(1))
        if aggregate.argument is None:
            return after
        return If(IsNull(aggregate.argument, row), state, after)

    def count(self, change: int, old: Row | None = None) -> Effect:
        """The aggregates take a row in, or let one go."""
        effect = Effect()
        for number, after in enumerate(self.afterwards(change, old)):
            place = self.aggregate_place(number)
            effect += Effect((Arc(place, self.states()[number]),), (Arc(place, after),))
        return effect

    def aggregate_place(self, number: int) -> str:
        aggregate = self.aggregates[number]
        name = self.own(f"{aggregate.function}{f'_{number + 1}' if number else ''}")
        if is_count(aggregate):
            return self.builder.place(name, INT, start=0)
        start = empty_state(aggregate, rows_leave=self.rows_leave)
        return self.builder.place(name, state_colours(aggregate), start=start)

    def result(self, change: int, old: Row | None = None) -> Effect:
        """The result for the row that enters, or for all rows together."""
        if self.statement.shape is Shape.ROW:
            return self.emit(self.row)
        values = tuple(
            (a, state if is_count(a) else Told(a, state, self.rows_leave))
            for a, state in zip(self.aggregates, self.afterwards(change, old), strict=True)
        )
        is_total = self.statement.shape is Shape.TOTAL
        return self.emit(replace(Row(_T) if is_total else self.row, aggregates=values))

    def emit(self, row: Row) -> Effect:
        """One more token in the place of the results; and in the queue, if statements take it."""
        target, number = self.statement.target, succ(_K)
        seqn = self.builder.place(f"{target}.out_seqn", INT, start=0)
        place = self.builder.place(self.builder.result_place(target), INT, INT, EVENT)
        event = Derived(self.statement, row, _I, number)
        effect = Effect(
            (Arc(seqn, _K),), (Arc(seqn, number), Arc(place, product(number, _T, event)))
        )
        if not self.builder.is_consumed(target):
            return effect
        waiting = product(succ(_Q), Const(target), _T, event)
        return effect + Effect(
            (Arc("queued", _Q),), (Arc("queued", succ(_Q)), Arc("queue", waiting))
        )
