"""Conditions over the relation of old and new versions, for a chronon.

The relation has a row for each key. Its columns are `new_<attribute>`, `old_<attribute>`, `new_occ`,
`new_det`, `old_occ`, `old_det`, the truth values `has_new`, `has_old`, `differs` and `fired`, and the
number of the round, `now`.

Times compare as numbers of chronons, by floor. A round begins at `now * chronon`, so that a
comparison with NOW is one with that instant or with the next one, and needs no division.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from cepheid.core.types import BOOLEAN, LONG, TIMESTAMP
from cepheid.sql.nodes import (
    Now,
    Operator,
    Primitive,
    all_of,
    any_of,
    both,
    column,
    is_time,
    name,
    not_,
    shifted,
    typed,
    whole,
    wrapped,
)
from cepheid.sql.tables import Table
from cepheid.sql.typer import COMPARISONS

# The same comparison with its sides exchanged.
FLIPPED: dict[Operator, Operator] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
# "Up to now" ends before the next round begins.
_NEXT_ROUND: dict[Operator, Operator] = {exp.LTE: exp.LT, exp.GT: exp.GTE}


class Rounds:
    def __init__(self, chronon: int) -> None:
        self.chronon = chronon

    def say(self, tree: exp.Expr) -> exp.Expr:
        """A resolved condition or argument over the relation."""
        return tree.copy().transform(self._say)

    def _say(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, Primitive):
            return _within(node.parent, self.primitive(node))
        if isinstance(node, exp.Column) and node.table:
            found = exp.Column(this=name(f"{node.table}_{node.name}"))
            found.type = node.type
            return found
        if isinstance(node, Now):
            return wrapped(self.instant())
        if isinstance(node, COMPARISONS) and (is_time(node.this) or is_time(node.expression)):
            return _within(node.parent, self._comparison(node))
        return node

    def _comparison(self, node: exp.Expr) -> exp.Expr:
        operator = type(node)
        if isinstance(node.this, Now) and not isinstance(node, (exp.NullSafeEQ, exp.NullSafeNEQ)):
            time = self.say(node.expression)
            return self.against_now(FLIPPED.get(operator, operator), time)
        left, right = (self.floor(self.say(side)) for side in (node.this, node.expression))
        return both(left, right, operator, BOOLEAN)

    # Times

    def instant(self, later: int = 0) -> exp.Expr:
        """When the round begins, or the one that much later."""
        now: exp.Expr = column("now", LONG)
        if later:
            now = wrapped(typed(exp.Add(this=now, expression=whole(later, TIMESTAMP)), TIMESTAMP))
        return typed(exp.Mul(this=now, expression=whole(self.chronon, TIMESTAMP)), TIMESTAMP)

    def against_now(self, operator: Operator, time: exp.Expr) -> exp.Expr:
        """`time operator NOW`, in numbers of chronons."""
        if operator is exp.EQ:
            return all_of(self.against_now(exp.GTE, time), self.against_now(exp.LTE, time))
        if operator is exp.NEQ:
            return any_of(self.against_now(exp.LT, time), self.against_now(exp.GT, time))
        if operator in _NEXT_ROUND:
            return both(time.copy(), self.instant(later=1), _NEXT_ROUND[operator], BOOLEAN)
        return both(time.copy(), self.instant(), operator, BOOLEAN)

    def floor(self, time: exp.Expr) -> exp.Expr:
        """When the chronon of a time begins. `%` has the sign of the time, which may be before 1970."""
        if self.chronon == 1 or not is_time(time):
            return time
        rest = shifted(self._rest(time), self.chronon)
        return both(time.copy(), self._rest(rest), exp.Sub, TIMESTAMP)

    def _rest(self, time: exp.Expr) -> exp.Expr:
        return both(time.copy(), whole(self.chronon, TIMESTAMP), exp.Mod, TIMESTAMP)

    # Primitives

    def primitive(self, atom: Primitive, *, may_repeat: bool = False) -> exp.Expr:
        """A primitive; it has two values, as it asks first for the sides that it needs.

        `may_repeat` leaves out that LATE holds only as long as nothing has fired.
        """
        has_new, has_old = column("has_new", BOOLEAN), column("has_old", BOOLEAN)
        new, old = column("new_occ", TIMESTAMP), column("old_occ", TIMESTAMP)
        differs, fired = column("differs", BOOLEAN), column("fired", BOOLEAN)
        match atom.name:
            case "ANNOUNCEMENT":
                return all_of(has_new, not_(has_old))
            case "CANCELLATION":
                return all_of(has_old, not_(has_new))
            case "CHANGE":
                return all_of(has_new, has_old, differs)
            case "ONTIME":
                return all_of(has_new, *self._on_time(new))
            case "LATE":
                late = [has_new, *self._late(atom, new)]
                return all_of(*late) if may_repeat else all_of(*late, not_(fired))
            case "FUTURE":
                moved = all_of(has_old, differs, self.against_now(exp.GT, old))
                known = any_of(not_(has_old), moved)
                return all_of(has_new, self.against_now(exp.GT, new), known)
            case "FUTURECANCEL":
                return all_of(has_old, not_(has_new), self.against_now(exp.GT, old))
            case "REVOCATION":
                return all_of(has_old, not_(has_new), self.against_now(exp.LT, old))
            case "RETROACTIVECHANGE":
                past = [self.against_now(exp.LT, time) for time in (old, new)]
                return all_of(has_new, has_old, differs, *past, fired)
            case "POSTPONE":
                past_and_future = self.against_now(exp.LT, old), self.against_now(exp.GT, new)
                return all_of(has_new, has_old, *past_and_future)
        raise AssertionError(atom.name)

    def _on_time(self, time: exp.Expr) -> Iterator[exp.Expr]:
        yield self.against_now(exp.GTE, time)
        yield self.against_now(exp.LTE, time)

    def _late(self, atom: Primitive, time: exp.Expr) -> Iterator[exp.Expr]:
        low, high = atom.args.get("low"), atom.args.get("high")
        yield self.against_now(exp.LT, shifted(time, low or 0))
        if high is not None:
            yield self.against_now(exp.GTE, shifted(time, high))

    def differs(self, table: Table) -> exp.Expr:
        """Whether two versions that are both there differ; nulls are equal."""
        new, old = (self.floor(column(f"{side}_occ", TIMESTAMP)) for side in ("new", "old"))
        parts = [both(new, old, exp.NEQ, BOOLEAN)]
        for attribute, type_ in table.attributes.items():
            one, other = (column(f"{side}_{attribute}", type_) for side in ("new", "old"))
            parts.append(both(one, other, exp.NullSafeNEQ, BOOLEAN))
        return any_of(*parts)


def _within(parent: exp.Expr | None, node: exp.Expr) -> exp.Expr:
    """In parentheses where another operator than one of the same kind is around it."""
    is_safe = parent is None or isinstance(parent, (exp.Paren, type(node)))
    is_part = isinstance(parent, exp.Connector) and not isinstance(node, exp.Connector)
    return node if is_safe or is_part else wrapped(node)
