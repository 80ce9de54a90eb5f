"""What the statements of a class say of an event in every situation that they can tell apart.

A situation is what was known of an event and what is known now, where its times lie beside NOW, whether it changed, its
toggle, and the values of attributes that conditions compare with constants or with their old value. Of each time and
each value there are as many as conditions can tell apart, with two of a kind, so that they may differ. What a condition
makes of anything else (functions, sums, patterns of texts) is left open.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Final

from sqlglot import exp

from cepheid.core.types import BOOLEAN, DOUBLE, STRING, TIMESTAMP
from cepheid.sql.conditions import (
    Crossing,
    ResolvedCondition,
    condition_tree,
    sets_toggle_tree,
)
from cepheid.sql.tables import Table

Situation = dict[str, object]  # a row of the relation that conditions are asked over
Reader = Callable[[Mapping[str, object]], object]  # true, false, null, or OPEN

ROUND: Final = 1_000_000  # the number of the round in which situations are
_MOST = 20_000  # ways to choose the values of attributes that are tried


class _Open:
    """A value that is not known here."""

    def __repr__(self) -> str:
        return "OPEN"


OPEN: Final = _Open()


def may_hold(value: object) -> bool:
    return value is True or value is OPEN


class Constellations:
    """The situations of a class for a chronon, and its conditions over them."""

    def __init__(
        self,
        table: Table,
        conditions: Sequence[ResolvedCondition],
        asked: Sequence[ResolvedCondition] | None = None,
        *,
        chronon: int = 1,
        thresholds: Iterable[int] = (),
    ) -> None:
        """The conditions of all statements of a class; others may be asked in their place."""
        self.chronon = chronon
        self._table = table
        self._trees = [condition_tree(c, chronon) for c in (conditions if asked is None else asked)]
        self.conditions = [reader(tree) for tree in self._trees]
        sets = sets_toggle_tree(conditions, chronon)
        self.sets: Reader = (lambda _: False) if sets is None else reader(sets)
        self._toggles = (False,) if sets is None else (False, True)
        self._crossings = [
            *(crossing for condition in conditions for crossing in condition.crossings),
            *(Crossing("new", "occ", offset) for offset in (0, *thresholds)),
        ]

    def situations(self, places: Sequence[int], *, is_steady: bool = False) -> Iterator[Situation]:
        """Those in which all of some conditions may hold; steady: nothing was learnt in the round."""
        asked = [self.conditions[place] for place in places]
        trees = [self._trees[place] for place in places]
        names = sorted({name for tree in trees for name in self._attributes(tree)})
        pools = {name: self._pool(name, trees) for name in names}
        for known in self._known(is_steady=is_steady):
            unknown = {f"{side}_{n}": OPEN for n in names for side in ("new", "old")}
            if all(may_hold(condition({**known, **unknown})) for condition in asked):
                for values in self._values(pools, known):
                    found = {**known, **values}
                    if all(may_hold(condition(found)) for condition in asked):
                        yield found

    def instants(self, attribute: str = "occ") -> list[int]:
        """Times at, before and after all that NOW is compared with."""
        now, step = ROUND * self.chronon, self.chronon
        around = sorted({-2 * step, -step, -1, 0, 1, step - 1, step, 2 * step})
        offsets = {c.offset for c in self._crossings if c.attribute == attribute}
        return sorted({now - offset + more for offset in offsets for more in around})

    def _known(self, *, is_steady: bool) -> Iterator[Situation]:
        times = self.instants()
        for fired in self._toggles:
            base: Situation = {"now": ROUND, "fired": fired, "new_det": OPEN, "old_det": OPEN}
            for time in times:
                same = {**base, "has_new": True, "has_old": True, "differs": False}
                yield {**same, "new_occ": time, "old_occ": time}
            if is_steady:
                continue
            for time in times:
                gone: Situation = {"has_new": False, "new_occ": None, "old_occ": time}
                yield {**base, **gone, "has_old": True, "differs": False}
                come: Situation = {"has_new": True, "new_occ": time, "old_occ": None}
                yield {**base, **come, "has_old": False, "differs": False}
            for new, old in product(times, times):
                both = {"has_new": True, "has_old": True, "new_occ": new, "old_occ": old}
                yield {**base, **both, "differs": True}

    # Attributes

    def _attributes(self, tree: exp.Expr) -> Iterator[str]:
        for column in tree.find_all(exp.Column):
            side, _, name = column.name.partition("_")
            if side in ("new", "old") and name in self._table.attributes:
                yield name

    def _values(
        self, pools: Mapping[str, Sequence[object]], known: Situation
    ) -> Iterator[Situation]:
        """The ways to choose values of attributes; those of a side that is missing are null."""
        columns = [f"{side}_{name}" for name in pools for side in ("new", "old")]
        choices = [
            pool if known[f"has_{side}"] else [None]
            for pool in pools.values()
            for side in ("new", "old")
        ]
        is_same = known["has_new"] and known["has_old"] and not known["differs"]
        if prod(map(len, choices)) > _MOST:
            yield {
                column: OPEN if len(choice) > 1 else None
                for column, choice in zip(columns, choices, strict=True)
            }
            return
        for values in product(*choices):
            found = dict(zip(columns, values, strict=True))
            if not is_same or all(found[f"new_{n}"] == found[f"old_{n}"] for n in pools):
                yield found

    def _pool(self, name: str, trees: Sequence[exp.Expr]) -> list[object]:
        type_ = self._table.attributes[name]
        if type_ == TIMESTAMP:
            return [None, *self.instants(name)] if self.instants(name) else [OPEN]
        if type_ == BOOLEAN:
            return [None, False, True]
        constants = set(_constants(name, trees))
        if type_ == STRING:
            return [None, *sorted(map(str, constants)), "\x00", "\x01"]
        step = 1e-3 if type_ == DOUBLE else 1
        around = {0, 1, *(c + n * step for c in constants for n in (-2, -1, 0, 1, 2))}  # type: ignore[operator]
        return [None, *sorted(around)]


def _constants(name: str, trees: Sequence[exp.Expr]) -> Iterator[object]:
    """What an attribute is compared with."""
    for tree in trees:
        for test in tree.find_all(*_OPERATORS, exp.In):
            columns = {column.name.partition("_")[2] for column in test.find_all(exp.Column)}
            if name in columns:
                yield from (constant(literal) for literal in test.find_all(exp.Literal))


def constant(node: exp.Literal) -> object:
    if node.is_string:
        return node.name
    return float(node.name) if any(c in node.name for c in ".eE") else int(node.name)


# Reading trees


_OPERATORS: Mapping[type[exp.Expr], Callable[[Any, Any], object]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_SUMS: Mapping[type[exp.Expr], Callable[[int, int], int]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}
# What gives null for null, besides comparisons.
_STRICT = (
    exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Cast, exp.DataType, exp.Binary, exp.Neg,
    exp.Like, exp.Upper, exp.Lower, exp.Length, exp.Abs, exp.Round, exp.Floor, exp.Ceil,
    exp.Substring, exp.Trim, exp.In,
)  # fmt: skip
_NOT_STRICT = (exp.Connector, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is)


def reader(node: exp.Expr) -> Reader:
    """Reads a condition over the relation in a situation."""
    match node:
        case exp.Paren():
            return reader(node.this)
        case exp.And() | exp.Or():
            return _connected(reader(node.this), reader(node.expression), isinstance(node, exp.And))
        case exp.Not():
            return _negated(reader(node.this))
        case exp.Boolean():
            value = bool(node.this)
            return lambda _: value
        case exp.Null():
            return lambda _: None
        case exp.Column():
            return _column(node)
        case exp.Is() if isinstance(node.expression, exp.Null):
            return _is_null(node.this)
        case exp.In() if not node.args.get("query") and _is_plain(node.this):
            return _member(node)
    if type(node) in _OPERATORS and _is_decided(node):
        return _compared(node)
    return _left_open(node)


def _connected(left: Reader, right: Reader, is_and: bool) -> Reader:
    decisive = not is_and

    def read(situation: Mapping[str, object]) -> object:
        a = left(situation)
        if a is decisive:
            return a
        b = right(situation)
        if b is decisive:
            return b
        if a is OPEN or b is OPEN:
            return OPEN
        return None if a is None or b is None else not decisive

    return read


def _negated(inner: Reader) -> Reader:
    def read(situation: Mapping[str, object]) -> object:
        value = inner(situation)
        return value if value is OPEN or value is None else not value

    return read


def _column(node: exp.Column) -> Reader:
    name = node.name
    return lambda situation: situation.get(name, OPEN)


def _is_null(node: exp.Expr) -> Reader:
    if not _is_plain(node):
        return lambda _: OPEN
    value = _plain(node)

    def read(situation: Mapping[str, object]) -> object:
        found = value(situation)
        return OPEN if found is OPEN else found is None

    return read


def _member(node: exp.In) -> Reader:
    value = _plain(node.this)
    if not all(isinstance(each, exp.Literal) for each in node.expressions):
        return _left_open(node)
    members = [constant(each) for each in node.expressions]

    def read(situation: Mapping[str, object]) -> object:
        found = value(situation)
        return found if found is OPEN or found is None else found in members

    return read


def _compared(node: exp.Expr) -> Reader:
    left, right, test = _plain(node.this), _plain(node.expression), _OPERATORS[type(node)]

    def read(situation: Mapping[str, object]) -> object:
        a, b = left(situation), right(situation)
        if a is None or b is None:
            return None
        return OPEN if a is OPEN or b is OPEN else test(a, b)

    return read


def _left_open(node: exp.Expr) -> Reader:
    """Open, but for null where a side that it asks is missing."""
    is_strict = all(isinstance(n, _STRICT) and not isinstance(n, _NOT_STRICT) for n in node.walk())
    sides = {column.name.partition("_")[0] for column in node.find_all(exp.Column)}
    needed = [f"has_{side}" for side in sides if side in ("new", "old")] if is_strict else []

    def read(situation: Mapping[str, object]) -> object:
        return OPEN if all(situation[side] for side in needed) else None

    return read


# Values


def _is_plain(node: exp.Expr) -> bool:
    return isinstance(_bare(node), exp.Column)


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    return node


def _is_decided(node: exp.Expr) -> bool:
    """Whether the values that situations have are enough to tell what a comparison says."""
    sides = [_bare(side) for side in (node.this, node.expression)]
    columns = {column.name for side in sides for column in side.find_all(exp.Column)}
    if any(isinstance(side, exp.Null) for side in sides):
        return True
    if "now" in columns:
        return len(columns) == 2 and all(map(_is_sum, sides))
    if columns == {"new_occ", "old_occ"}:
        return all(isinstance(side, exp.Column) for side in sides)
    names = {column.partition("_")[2] for column in columns}
    is_simple = all(isinstance(side, exp.Column | exp.Literal) for side in sides)
    is_order = not isinstance(node, exp.EQ | exp.NEQ)
    is_text = any(side.is_type(exp.DataType.Type.TEXT) for side in sides)
    return is_simple and len(names) <= 1 and names != {"det"} and not (is_order and is_text)


def _is_sum(node: exp.Expr) -> bool:
    leaves = (exp.Column, exp.Identifier, exp.Literal, exp.Paren)
    return all(isinstance(part, leaves) or type(part) in _SUMS for part in node.walk())


def _plain(node: exp.Expr) -> Reader:
    bare = _bare(node)
    if isinstance(bare, exp.Null):
        return lambda _: None
    if isinstance(bare, exp.Literal):
        value = constant(bare)
        return lambda _: value
    if isinstance(bare, exp.Column):
        return _column(bare)
    left, right, combine = _plain(bare.this), _plain(bare.expression), _SUMS[type(bare)]

    def read(situation: Mapping[str, object]) -> object:
        a, b = left(situation), right(situation)
        if isinstance(a, int) and isinstance(b, int):
            return combine(a, b)
        return OPEN if a is OPEN or b is OPEN else None

    return read


# Words


@dataclass(frozen=True, slots=True)
class Described:
    """A situation in words."""

    situation: Situation
    chronon: int

    def __str__(self) -> str:
        old, new = self._place("old"), self._place("new")
        if old is None:
            return f"an event is announced {new}"
        if new is None:
            return f"an event is cancelled {old}"
        if old == new:
            return f"an event changes {new}"
        past = {"before its time": "future", "at its time": "present", "after its time": "past"}
        return f"an event moves from the {past[old]} to the {past[new]}"

    def _place(self, side: str) -> str | None:
        occ = self.situation[f"{side}_occ"]
        if not isinstance(occ, int):
            return None
        number = occ // self.chronon
        if number == ROUND:
            return "at its time"
        return "before its time" if number > ROUND else "after its time"
