"""Conditions and arguments of statements, over the old and the new version of an event.

A condition is resolved once. For a chronon it becomes an expression over a relation with a row for
each key, whose columns are `new_<attribute>`, `old_<attribute>`, `new_occ`, `new_det`, `old_occ`,
`old_det`, the truth values `has_new`, `has_old`, `differs` and `fired`, and the round `now`.

Times compare as numbers of chronons, by floor. A round begins at `now * chronon`, so that a comparison
with NOW is one with that instant or with the next one, and needs no division.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from cepheid.core.types import ANY, BOOLEAN, DOUBLE, LONG, STRING, TIMESTAMP, DataType, is_open
from cepheid.errors import Diagnostic, ProgramError, suggest
from cepheid.sql.dialect import (
    PRIMITIVES,
    SIDES,
    TimeLiteral,
    parse_condition,
    parse_value,
    too_deep,
)
from cepheid.sql.nodes import (
    PERIOD,
    SECOND,
    Message,
    Now,
    Primitive,
    all_of,
    any_of,
    both,
    column,
    is_time,
    name,
    not_,
    typed,
    whole,
    wrapped,
)
from cepheid.sql.places import Places
from cepheid.sql.tables import Table
from cepheid.sql.text import Sql
from cepheid.sql.typer import COMPARISONS, Typed, Typer, microseconds, seconds

Side = Literal["new", "old"]


@dataclass(frozen=True, slots=True)
class Crossing:
    """An instant of an event at which a condition may change by itself: when NOW passes it."""

    side: Side
    attribute: str
    offset: int  # microseconds


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedCondition:
    """A condition over columns of `new` and `old`, with primitives and comparisons of times as leaves.

    `primitives` are the names of its atoms; LATE with delays is `LATE()`.
    """

    tree: exp.Expr
    primitives: frozenset[str]
    crossings: tuple[Crossing, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedArgument:
    """An argument of an action, over the same columns; `argument_tree` makes it one over the relation."""

    tree: exp.Expr
    type: DataType


def resolve_condition(
    condition: Sql, table: Table
) -> tuple[ResolvedCondition | None, list[Diagnostic]]:
    scope = _Versions(table, is_condition=True)
    problems: list[Diagnostic] = []
    try:
        tree = Typer(Places(condition), scope, problems).condition(parse_condition(condition))
    except ProgramError as problem:
        return None, list(problem.diagnostics)
    except RecursionError:
        return None, [too_deep(Places(condition))]
    if problems:
        return None, list(dict.fromkeys(problems))
    atoms = frozenset(_label(atom) for atom in tree.find_all(Primitive))
    crossings = dict.fromkeys(c for atom in tree.find_all(Primitive) for c in _crossed(atom))
    return ResolvedCondition(tree, atoms, tuple({**crossings, **scope.crossings})), []


def resolve_argument(
    argument: Sql, table: Table
) -> tuple[ResolvedArgument | None, list[Diagnostic]]:
    problems: list[Diagnostic] = []
    try:
        typer = Typer(Places(argument), _Versions(table, is_condition=False), problems)
        tree, type_ = typer.read(parse_value(argument))
    except ProgramError as problem:
        return None, list(problem.diagnostics)
    except RecursionError:
        return None, [too_deep(Places(argument))]
    if type_ == PERIOD:
        tree, type_ = seconds(tree), DOUBLE
    if problems:
        return None, list(dict.fromkeys(problems))
    return ResolvedArgument(tree, type_), []


# Names


class _Versions:
    """What names stand for in a condition or an argument."""

    def __init__(self, table: Table, *, is_condition: bool) -> None:
        self.table = table
        self.is_condition = is_condition
        self.crossings: dict[Crossing, None] = {}

    def column(self, typer: Typer, node: exp.Column) -> Typed:
        side = node.args.get("table")
        if side is None:
            return self._word(typer, node)
        if side.name.upper() not in SIDES:
            hint = "conditions and actions know NEW and OLD"
            return typer.report("unknown-name", f"nothing here is called '{side.name}'", side, hint)
        found = self.table.find(node.name)
        if found is None:
            fact = f"'{self.table.name}' has no attribute '{node.name}'"
            hint = suggest(node.name, self.table.columns)
            return typer.report("unknown-attribute", fact, node.this, hint)
        return column(found[0], found[1], side.name.lower()), found[1]

    def _word(self, typer: Typer, node: exp.Column) -> Typed:
        word = node.name.upper()
        if word in SIDES:
            return column("occ", TIMESTAMP, word.lower()), TIMESTAMP
        if word in PRIMITIVES:
            return self._primitive(typer, node, Primitive(this=word))
        if word == "NOW" and not self.is_condition:
            return Now(), TIMESTAMP
        if word == "NOW":
            return self._misplaced(typer, node)
        if found := self.table.find(node.name):
            hint = f"write NEW.{found[0]} or OLD.{found[0]}"
            return typer.report("unknown-name", f"it is not said whose '{node.name}'", node, hint)
        hint = suggest(node.name, (*PRIMITIVES, *SIDES, "NOW"))
        return typer.report("unknown-name", f"nothing here is called '{node.name}'", node, hint)

    def _primitive(self, typer: Typer, node: exp.Expr, found: Primitive) -> Typed:
        if not self.is_condition:
            fact = f"{found.name} can stand only in a condition"
            return typer.report("misplaced-primitive", fact, node)
        return found, BOOLEAN

    def _misplaced(self, typer: Typer, node: exp.Expr) -> Typed:
        hint = "compare it with a time of the event, as in NOW > NEW.occ + 1h"
        fact = "NOW can stand only in a comparison of two times"
        return typer.report("misplaced-now", fact, node, hint)

    def call(self, typer: Typer, node: exp.Anonymous) -> Typed | None:
        word = node.name.upper()
        if word != "LATE":
            if word in PRIMITIVES:
                return typer.report("wrong-arguments", f"{word} has no arguments", node)
            return None
        delays = [_delay(part) for part in node.expressions]
        if len(delays) != 2 or None in delays:
            hint = "for example LATE(0s, 1h)"
            return typer.report("wrong-arguments", "LATE takes two lengths of time", node, hint)
        return self._primitive(typer, node, Primitive(this="LATE", low=delays[0], high=delays[1]))

    def format(self, typer: Typer, node: exp.Expr) -> Typed:
        return read_message(typer, node)

    def subquery(self, typer: Typer, node: exp.Expr) -> Typed:
        return typer.refuse("a subquery here", node, "derive a class with it")

    def aggregate(self, typer: Typer, node: exp.Expr) -> bool:
        what = typer.places.word(node)
        typer.report("misplaced-aggregate", f"'{what}' needs rows; here is one event", node)
        return False

    # NOW

    def compare(self, typer: Typer, node: exp.Expr) -> Typed | None:
        """A comparison with NOW; all others mean what they mean in SQL."""
        if not self.is_condition or not any(map(_is_now, node.walk())):
            return None
        sides = [_linear(part) for part in (node.this, node.expression)]
        if None in sides or isinstance(node, (exp.NullSafeEQ, exp.NullSafeNEQ)):
            return self._misplaced(typer, next(filter(_is_now, node.walk())))
        left, right = (side for side in sides if side is not None)
        whole_ = left.minus(right)
        if abs(whole_.now) != 1 or len(whole_.times) != 1 or whole_.times[0][0] != -whole_.now:
            return self._misplaced(typer, next(filter(_is_now, node.walk())))
        if not _is_sensible(left, right):
            return self._misplaced(typer, next(filter(_is_now, node.walk())))
        return self._with_now(typer, type(node), whole_)

    def _with_now(self, typer: Typer, operator: type[exp.Expr], found: _Linear) -> Typed:
        """NOW less a time, plus an offset, compared with zero."""
        time_node = found.times[0][1]
        time, type_ = typer.read(time_node)
        if not typer.expect(type_, (TIMESTAMP,), time_node):
            return exp.Null(), ANY
        offset = -found.now * found.offset
        operator = operator if found.now == 1 else _FLIPPED.get(operator, operator)
        shifted = _shifted(time, offset)
        crossings = list(_instants(shifted))
        if not crossings:
            return typer.refuse("a comparison of NOW with a fixed time", time_node)
        self.crossings.update(dict.fromkeys(crossings))
        return both(Now(), shifted, operator, BOOLEAN), BOOLEAN


_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}


def _is_now(node: exp.Expr) -> bool:
    is_bare = isinstance(node, exp.Column) and not node.args.get("table")
    return is_bare and node.name.upper() == "NOW"


@dataclass(frozen=True, slots=True)
class _Linear:
    """A sum: how often NOW is in it, other times with their signs, a length of time.

    `is_number` says that the length was written as a number of seconds.
    """

    now: int = 0
    times: tuple[tuple[int, exp.Expr], ...] = ()
    offset: int = 0
    is_number: bool = False

    @property
    def count(self) -> int:
        return sum(sign for sign, _ in self.times)

    def minus(self, other: _Linear) -> _Linear:
        return self.plus(other.times_(-1))

    def plus(self, other: _Linear) -> _Linear:
        return _Linear(
            self.now + other.now,
            self.times + other.times,
            self.offset + other.offset,
            self.is_number or other.is_number,
        )

    def times_(self, factor: int) -> _Linear:
        times = tuple((factor * sign, node) for sign, node in self.times)
        return _Linear(factor * self.now, times, factor * self.offset, self.is_number)


def _linear(node: exp.Expr) -> _Linear | None:
    """None where NOW stands in something else than a sum of times."""
    node = node.unnest()
    if _is_now(node):
        return _Linear(now=1)
    if isinstance(node, TimeLiteral):
        return _Linear(offset=node.microseconds)
    if isinstance(node, exp.Neg) and isinstance(inner := _linear(node.this), _Linear):
        return inner.times_(-1)
    if isinstance(node, exp.Literal) and not node.is_string:
        return _Linear(offset=round(float(node.name) * SECOND), is_number=True)
    if not any(map(_is_now, node.walk())) and not isinstance(node, (exp.Add, exp.Sub)):
        return _Linear(times=((1, node),))
    if isinstance(node, (exp.Add, exp.Sub)):
        left, right = _linear(node.this), _linear(node.expression)
        if left and right:
            return left.plus(right) if isinstance(node, exp.Add) else left.minus(right)
    return None


def _is_sensible(left: _Linear, right: _Linear) -> bool:
    """Whether two times are compared, or a difference of times with a length of time."""
    dimensions = (left.now + left.count, right.now + right.count)
    if dimensions == (1, 1):
        return not (left.is_number or right.is_number)
    is_bare = any(s.is_number and not s.times and not s.now for s in (left, right))
    return dimensions == (0, 0) and (is_bare or not (left.is_number or right.is_number))


def _shifted(time: exp.Expr, offset: int) -> exp.Expr:
    if offset == 0:
        return time
    operator: type[exp.Expr] = exp.Add if offset > 0 else exp.Sub
    return both(time, whole(abs(offset), TIMESTAMP), operator, TIMESTAMP)


def _instants(node: exp.Expr, offset: int = 0) -> Iterator[Crossing]:
    """The instants that a time may be."""
    if isinstance(node, exp.Column):
        side: Side = "new" if node.table == "new" else "old"
        yield Crossing(side, node.name, offset)
    elif isinstance(node, (exp.Add, exp.Sub)):
        for part, other in ((node.this, node.expression), (node.expression, node.this)):
            if isinstance(other.unnest(), exp.Literal):
                sign = 1 if isinstance(node, exp.Add) else -1
                yield from _instants(part, offset + sign * microseconds(other))
                return
    elif isinstance(node, exp.Case):
        for branch in node.args["ifs"]:
            yield from _instants(branch.args["true"], offset)
        if node.args.get("default"):
            yield from _instants(node.args["default"], offset)
    elif isinstance(node, (exp.Paren, exp.Greatest, exp.Least, exp.Coalesce)):
        for part in (node.this, *node.expressions):
            yield from _instants(part, offset)
    elif isinstance(node, exp.Nullif):
        yield from _instants(node.this, offset)


def _delay(node: exp.Expr) -> int | None:
    return node.microseconds if isinstance(node, TimeLiteral) else None


# Primitives


def _label(atom: Primitive) -> str:
    return f"{atom.name}()" if "low" in atom.args else atom.name


_NEEDS: dict[str, tuple[Side, ...]] = {
    "ONTIME": ("new",),
    "LATE": ("new",),
    "FUTURE": ("new", "old"),
    "FUTURECANCEL": ("old",),
    "REVOCATION": ("old",),
    "RETROACTIVECHANGE": ("new", "old"),
    "POSTPONE": ("new", "old"),
}


def _crossed(atom: Primitive) -> Iterator[Crossing]:
    offsets = (atom.args["low"], atom.args["high"]) if "low" in atom.args else (0,)
    for side in _NEEDS.get(atom.name, ()):
        for offset in offsets:
            yield Crossing(side, "occ", offset)


class _Rounds:
    """Says conditions over the relation, for a chronon."""

    def __init__(self, chronon: int) -> None:
        self.chronon = chronon

    def instant(self, later: int = 0) -> exp.Expr:
        """When the round begins, or the one that much later."""
        now: exp.Expr = column("now", LONG)
        if later:
            now = wrapped(typed(exp.Add(this=now, expression=whole(later, TIMESTAMP)), TIMESTAMP))
        return typed(exp.Mul(this=now, expression=whole(self.chronon, TIMESTAMP)), TIMESTAMP)

    def against_now(self, operator: type[exp.Expr], time: exp.Expr) -> exp.Expr:
        """`time operator NOW`, in numbers of chronons."""
        if operator is exp.EQ:
            return all_of(self.against_now(exp.GTE, time), self.against_now(exp.LTE, time))
        if operator is exp.NEQ:
            return any_of(self.against_now(exp.LT, time), self.against_now(exp.GT, time))
        later = operator in (exp.LTE, exp.GT)
        plain = {exp.LTE: exp.LT, exp.GT: exp.GTE}.get(operator, operator)
        return both(time.copy(), self.instant(int(later)), plain, BOOLEAN)

    def floor(self, time: exp.Expr) -> exp.Expr:
        """The beginning of the chronon of a time; division rounds to zero, times may lie before it."""
        if self.chronon == 1:
            return time
        rest = self._rest(
            both(self._rest(time), whole(self.chronon, TIMESTAMP), exp.Add, TIMESTAMP)
        )
        return both(time.copy(), rest, exp.Sub, TIMESTAMP)

    def _rest(self, time: exp.Expr) -> exp.Expr:
        return both(time.copy(), whole(self.chronon, TIMESTAMP), exp.Mod, TIMESTAMP)

    def say(self, tree: exp.Expr) -> exp.Expr:
        """The tree over the relation."""
        return tree.copy().transform(self._say)

    def _say(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, Primitive):
            return wrapped(self.primitive(node))
        if isinstance(node, exp.Column) and node.table:
            found = exp.Column(this=name(f"{node.table}_{node.name}"))
            found.type = node.type
            return found
        if isinstance(node, Now):
            return wrapped(self.instant())
        if isinstance(node, COMPARISONS) and any(is_time(p) for p in (node.this, node.expression)):
            return wrapped(self._comparison(node))
        return node

    def _comparison(self, node: exp.Expr) -> exp.Expr:
        operator = type(node)
        if isinstance(node.this, Now) and operator in _AGAINST:
            return self.against_now(_FLIPPED.get(operator, operator), self.say(node.expression))
        sides = (self.say(node.this), self.say(node.expression))
        return both(*(self.floor(s) if is_time(s) else s for s in sides), operator, BOOLEAN)

    def primitive(self, atom: Primitive, *, may_repeat: bool = False) -> exp.Expr:
        """A primitive; two-valued, as it asks first for the sides that it needs.

        `may_repeat` leaves out that LATE holds only as long as nothing has fired.
        """
        has_new, has_old = column("has_new", BOOLEAN), column("has_old", BOOLEAN)
        new, old = column("new_occ", TIMESTAMP), column("old_occ", TIMESTAMP)
        differs, fired = column("differs", BOOLEAN), column("fired", BOOLEAN)
        change = all_of(has_new, has_old, differs)
        match atom.name:
            case "ANNOUNCEMENT":
                return all_of(has_new, not_(has_old))
            case "CANCELLATION":
                return all_of(has_old, not_(has_new))
            case "CHANGE":
                return change
            case "ONTIME":
                return all_of(has_new, self.against_now(exp.EQ, new))
            case "LATE":
                late = all_of(has_new, *self._late(atom, new))
                return late if may_repeat else all_of(late, not_(fired))
            case "FUTURE":
                still = all_of(has_old, differs, self.against_now(exp.GT, old))
                return all_of(has_new, self.against_now(exp.GT, new), any_of(not_(has_old), still))
            case "FUTURECANCEL":
                return all_of(has_old, not_(has_new), self.against_now(exp.GT, old))
            case "REVOCATION":
                return all_of(has_old, not_(has_new), self.against_now(exp.LT, old))
            case "RETROACTIVECHANGE":
                past = (self.against_now(exp.LT, old), self.against_now(exp.LT, new))
                return all_of(change, *past, fired)
            case "POSTPONE":
                moved = (self.against_now(exp.LT, old), self.against_now(exp.GT, new))
                return all_of(has_new, has_old, *moved)
        raise AssertionError(atom.name)

    def _late(self, atom: Primitive, time: exp.Expr) -> Iterator[exp.Expr]:
        if "low" not in atom.args:
            yield self.against_now(exp.LT, time)
            return
        yield self.against_now(exp.LT, _shifted(time.copy(), atom.args["low"]))
        yield self.against_now(exp.GTE, _shifted(time.copy(), atom.args["high"]))


_AGAINST = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def condition_tree(condition: ResolvedCondition, chronon: int) -> exp.Expr:
    """The condition over the relation, for a chronon in microseconds."""
    return _Rounds(chronon).say(condition.tree)


def argument_tree(argument: ResolvedArgument, chronon: int) -> exp.Expr:
    """The argument over the relation; NOW is the instant of the round."""
    return _Rounds(chronon).say(argument.tree)


def sets_toggle_tree(conditions: Iterable[ResolvedCondition], chronon: int) -> exp.Expr | None:
    """Whether an ONTIME or LATE of any of them holds, fired or not; None where there is none."""
    return _any_atom(conditions, chronon, ("ONTIME", "LATE"))


def clears_toggle_tree(conditions: Iterable[ResolvedCondition], chronon: int) -> exp.Expr | None:
    """Whether a CANCELLATION or POSTPONE of any of them holds; None where there is none."""
    return _any_atom(conditions, chronon, ("CANCELLATION", "POSTPONE"))


def _any_atom(
    conditions: Iterable[ResolvedCondition], chronon: int, names: tuple[str, ...]
) -> exp.Expr | None:
    rounds = _Rounds(chronon)
    atoms = dict.fromkeys(
        atom for c in conditions for atom in c.tree.find_all(Primitive) if atom.name in names
    )
    found = [rounds.primitive(atom, may_repeat=True) for atom in atoms]
    return any_of(*found) if found else None


def differs_tree(table: Table, chronon: int) -> exp.Expr:
    """Whether two versions differ, where both are there; their detection times do not matter."""
    rounds = _Rounds(chronon)
    times = [rounds.floor(column(f"{side}_occ", TIMESTAMP)) for side in ("new", "old")]
    parts = [both(*times, exp.NEQ, BOOLEAN)]
    for attribute, type_ in table.attributes.items():
        sides = (column(f"{side}_{attribute}", type_) for side in ("new", "old"))
        parts.append(both(*sides, exp.NullSafeNEQ, BOOLEAN))
    return any_of(*parts)


# format(...)

_MARK = re.compile(r"%(.?)", re.DOTALL)
_FITTING: dict[str, tuple[DataType, ...]] = {
    "s": (STRING, BOOLEAN, LONG, DOUBLE, TIMESTAMP),
    "n": (LONG, DOUBLE),
    "t": (TIMESTAMP,),
}


def read_message(typer: Typer, node: exp.Expr) -> Typed:
    """`format('...', value, ...)`: %s text, %n number, %t time, %% percent."""
    template = node.this
    if not (isinstance(template, exp.Literal) and template.is_string):
        return typer.refuse("a format that is not written out", node)
    marks = [m for m in _MARK.findall(template.name) if m != "%"]
    if unknown := next((m for m in marks if m not in _FITTING), None):
        hint = "marks: %s text, %n number, %t time, %% percent"
        return typer.report("bad-format", f"'%{unknown}' is no mark of a format", template, hint)
    if len(marks) != len(node.expressions):
        fact = f"the format has {len(marks)} marks for {len(node.expressions)} values"
        return typer.report("wrong-arguments", fact, node)
    values = []
    for mark, part in zip(marks, node.expressions, strict=True):
        found, type_ = typer.value(part, *_FITTING[mark])
        values.append((found, _letter(mark, type_)))
    kinds = "".join(letter for _, letter in values)
    return Message(this=template.name, kinds=kinds, expressions=[v for v, _ in values]), STRING


def _letter(mark: str, type_: DataType) -> str:
    """How a value is written: as text, boolean, whole number, double, time."""
    letters = {STRING: "s", BOOLEAN: "b", LONG: "i", DOUBLE: "d", TIMESTAMP: "t"}
    return "s" if is_open(type_) else letters[type_]
