"""`where`, `group by`, aggregates and `having` as functions of lists, for results that go out at once.

A row of a source is a binding; the event of a stream is bound to nothing. A *held* row also has
whether it passes `where`, its group, and what it adds to the aggregates: (binding, passes, key,
arguments), as found when it entered. A group is (key, number of rows, states of the aggregates).

The functions of a statement are terms; the general ones below put them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from cepheid.core.types import BOOLEAN, DOUBLE, INT, LONG, STRING
from cepheid.expr.tree import Aggregate, Call, Expr, Literal, walk
from cepheid.expr.values import same
from cepheid.formal.petri.functions.lists import (
    INTEGER,
    ITEM,
    OF_COUNT,
    OF_SUM,
    OF_VALUES,
    TO_COUNT,
    TO_SUM,
    TO_VALUES,
    Binding,
    Key,
)
from cepheid.formal.petri.nets.multiset import Colour
from cepheid.formal.petri.nets.terms import (
    Applied,
    Const,
    Defined,
    Function,
    Items,
    Term,
    Var,
    call,
    define,
)
from cepheid.formal.petri.translation.inscriptions import (
    SUM,
    Columns,
    Evaluations,
    Holds,
    Moved,
    Row,
    Told,
    aggregates_of,
    empty_state,
    is_count,
    state_colours,
)
from cepheid.program.resolved import ResolvedStatement, Shape
from cepheid.program.tree import KeepAll

Held: TypeAlias = tuple[Binding, bool, Key, Key]
States: TypeAlias = tuple[Colour, ...]
Group: TypeAlias = tuple[Key, int, States]
Groups: TypeAlias = tuple[Group, ...]
Attributes: TypeAlias = tuple[tuple[str, object], ...]
Outputs: TypeAlias = tuple[tuple[bool, Attributes], ...]
_PLAIN = (INT, LONG, DOUBLE, STRING, BOOLEAN)
_AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last")
_R, _T, _S, _A, _X = map(Var, ("r", "t", "s", "a", "x"))


def is_listed(statement: ResolvedStatement) -> bool:
    """Whether the clauses of a statement can be written so."""
    tree = statement.tree
    if tree.output or tree.limit or tree.distinct or statement.order_by:
        return False
    if "irstream" in (tree.stream, tree.insert_stream) or tree.stream != tree.insert_stream:
        return False
    found = list(_expressions(statement))
    parts = [part for expr in found for part in walk(expr)]
    if any(isinstance(part, Call) and part.function == "istream" for part in parts):
        return False
    used = aggregates_of(statement)
    supported = all(a.function in _AGGREGATES and not a.distinct for a in used)
    arguments = [a.argument for a in used if a.argument is not None]
    return supported and all(e.type in _PLAIN for e in (*found, *arguments))


def _expressions(statement: ResolvedStatement) -> Iterator[Expr]:
    yield from (column.expr for column in statement.columns)
    yield from statement.group_by
    for clause in (statement.where, statement.having):
        if clause is not None:
            yield clause


class Grouping:
    """The functions of one statement; their names end in its number."""

    def __init__(self, statement: ResolvedStatement) -> None:
        self.statement = statement
        self.number = statement.rank + 1
        self.aggregates = aggregates_of(statement)
        self.rows_leave = not isinstance(statement.tree.window, KeepAll | None)
        row = Row(_T, None, binding=_R)
        values = tuple((a, call(ITEM, _A, Const(n))) for n, a in enumerate(self.aggregates))
        told = Row(_T, None, (), values, _R)
        arguments = tuple(a.argument or _TRUE for a in self.aggregates)
        where = self.define("where", (_R, _T), self.holds(statement.where, row))
        key = self.define("key", (_R, _T), Evaluations(statement.group_by, row))
        args = self.define("args", (_R, _T), Evaluations(arguments, row))
        self.examining = (where, key, args)
        columns = self.define("columns", (_R, _T, _A), Columns(statement.columns, told))
        having = self.define("having", (_R, _T, _A), self.holds(statement.having, told))
        tell = self.define("tell", (_S,), Items(tuple(self.told())))
        self.telling = (columns, having, tell)
        enter = self.define("enter", (_S, _A), Items(tuple(self.moved(enters=True))))
        leave = self.define("leave", (_S, _A), Items(tuple(self.moved(enters=False))))
        none = self.define("none", (_X,), Items(tuple(self.empty())))
        self.moving = (enter, leave, none)

    def define(self, name: str, parameters: tuple[Var, ...], body: Term) -> Defined:
        return define(f"{name}_{self.number}", parameters, body)

    def holds(self, condition: Expr | None, row: Row) -> Term:
        return Const(value=True) if condition is None else Holds(condition, row)

    def applied(self, general: str, *functions: Function) -> Applied:
        compute = GENERAL[general](*(function.compute for function in functions))
        return Applied(f"{general}_{self.number}", compute, general, functions)

    # Aggregates.

    def state(self, place: int) -> Term:
        _, extract = _union(self.aggregates[place])
        return call(extract, call(ITEM, _S, Const(place)))

    def told(self) -> Iterator[Term]:
        for place, aggregate in enumerate(self.aggregates):
            state = self.state(place)
            if is_count(aggregate):
                yield call(INTEGER, state)
            else:
                yield Told(aggregate, state, self.rows_leave)

    def moved(self, *, enters: bool) -> Iterator[Term]:
        for place, aggregate in enumerate(self.aggregates):
            construct, _ = _union(aggregate)
            value = call(ITEM, _A, Const(place))
            is_used = enters or self.rows_leave
            moved = Moved(aggregate, self.state(place), value, enters, self.rows_leave)
            yield call(construct, moved if is_used else self.state(place))

    def empty(self) -> Iterator[Term]:
        for aggregate in self.aggregates:
            construct, _ = _union(aggregate)
            start = empty_state(aggregate, rows_leave=self.rows_leave)
            if isinstance(start, tuple) and state_colours(aggregate) is SUM:
                yield call(construct, Empty(start))
            else:
                yield call(construct, Const(start))

    # What the net calls.

    def examine(self) -> Function:
        return self.applied("examine", *self.examining)

    def examine_all(self) -> Function:
        return self.applied("examineAll", *self.examining)

    def groups_after(self) -> Function:
        return self.applied("groupsAfter", *self.moving)

    def outputs(self) -> Function:
        kinds = {Shape.TOTAL: "Totals", Shape.GROUP: "Groups"}
        kind = kinds.get(self.statement.shape, "Rows")
        side = "old" if self.statement.tree.stream == "rstream" else "new"
        return self.applied(f"{side}{kind}", *self.telling, *self.moving)


class Empty(Const):
    """Count and total of no values: a pair, not a list."""

    __slots__ = ()


_TRUE = Literal(value=True, type=BOOLEAN)


def _union(aggregate: Aggregate) -> tuple[Function, Function]:
    """What makes a state of an aggregate's own kind, and what takes it out again."""
    if is_count(aggregate):
        return OF_COUNT, TO_COUNT
    return (OF_SUM, TO_SUM) if state_colours(aggregate) is SUM else (OF_VALUES, TO_VALUES)


# The general functions: given those of a statement, they give one that the net calls.


def _examine(
    where: Callable[..., bool], key: Callable[..., Key], args: Callable[..., Key]
) -> Callable[..., Held]:
    return lambda r, t: (r, where(r, t), key(r, t), args(r, t))


def _examine_all(*functions: Callable[..., object]) -> Callable[..., tuple[Held, ...]]:
    examine = _examine(*functions)  # type: ignore[arg-type]
    return lambda rows, t: tuple(examine(r, t) for r in rows)


def _passing(rows: Iterable[Held]) -> list[Held]:
    return [row for row in rows if row[1]]


def _alike(one: Key, other: Key) -> bool:
    return same(list(one), list(other))


def _states(groups: Groups, key: Key, none: Callable[..., States]) -> States:
    return next((states for k, _, states in groups if _alike(k, key)), none(0))


def _moved(
    groups: Groups,
    rows: Iterable[Held],
    move: Callable[..., States],
    step: int,
    none: Callable[..., States],
) -> Groups:
    for _, _, key, args in rows:
        size = next((n for k, n, _ in groups if _alike(k, key)), 0)
        group = (key, size + step, move(_states(groups, key, none), args))
        others = [g for g in groups if not _alike(g[0], key)]
        place = next((n for n, g in enumerate(groups) if _alike(g[0], key)), len(groups))
        groups = (*others[:place], group, *others[place:])
    return groups


def _applied(
    enter: Callable[..., States], leave: Callable[..., States], none: Callable[..., States]
) -> Callable[..., Groups]:
    def apply(groups: Groups, new: Iterable[Held], old: Iterable[Held]) -> Groups:
        entered = _moved(groups, _passing(new), enter, 1, none)
        return _moved(entered, _passing(old), leave, -1, none)

    return apply


def _groups_after(*moving: Callable[..., States]) -> Callable[..., Groups]:
    """The groups after rows have entered and left; one without rows is forgotten."""
    apply = _applied(*moving)
    return lambda groups, new, old: tuple(g for g in apply(groups, new, old) if g[1] > 0)


def _firsts(rows: Iterable[Held]) -> list[Held]:
    """One row of each group: the first."""
    found: list[Held] = []
    for row in rows:
        if not any(_alike(row[2], other[2]) for other in found):
            found.append(row)
    return found


def _outputs(kind: str, is_old: bool) -> Callable[..., Callable[..., Outputs]]:
    def given(
        columns: Callable[..., Attributes],
        having: Callable[..., bool],
        tell: Callable[..., Key],
        enter: Callable[..., States],
        leave: Callable[..., States],
        none: Callable[..., States],
    ) -> Callable[..., Outputs]:
        apply = _applied(enter, leave, none)

        def outputs(
            groups: Groups, new: tuple[Held, ...], old: tuple[Held, ...], t: int
        ) -> Outputs:
            entering, leaving = _passing(new), _passing(old)
            if (new or old) and not (entering or leaving):
                return ()
            after = apply(groups, new, old)
            if kind == "Rows":
                rows, known = (leaving if is_old else entering), after
            else:
                touched = [*entering, *leaving]
                whole: list[Held] = [((), True, (), ())]
                rows = _firsts(touched) if kind == "Groups" else (touched or whole)[:1]
                known = groups if is_old else after
            found = []
            for r, _, key, _ in rows:
                values = tell(_states(known, key, none))
                if having(r, t, values):
                    found.append((is_old, columns(r, t, values)))
            return tuple(found)

        return outputs

    return given


GENERAL: dict[str, Callable[..., Callable[..., object]]] = {
    "examine": _examine,
    "examineAll": _examine_all,
    "groupsAfter": _groups_after,
    **{
        f"{side}{kind}": _outputs(kind, side == "old")
        for side in ("new", "old")
        for kind in ("Rows", "Totals", "Groups")
    },
}
