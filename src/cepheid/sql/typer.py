"""Reads expressions: resolves their names by a scope, checks their types, makes every cast explicit.

The trees that come out mean the same in every engine once transpile.py has said what differs. All
problems are collected; what is wrong has the type ANY, of which nothing more is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Protocol, TypeAlias

from sqlglot import exp

from cepheid.core.numbers import fits_long
from cepheid.core.time import parse_instant
from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DOUBLE,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    is_open,
)
from cepheid.errors import Diagnostic, error
from cepheid.sql.dialect import LONGEST, TimeLiteral
from cepheid.sql.nodes import (
    PERIOD,
    SECOND,
    Operator,
    Type,
    both,
    cast,
    microseconds,
    number,
    typed,
    whole,
    words,
    wrapped,
)
from cepheid.sql.places import Places

Typed: TypeAlias = tuple[exp.Expr, DataType]
Reader: TypeAlias = Callable[["Typer", exp.Expr], Typed]

FUNCTIONS = (
    "abs, avg, cast, ceil, coalesce, concat, count, floor, greatest, least, length, lower, max, min,"
    " mod, nullif, replace, round, sign, substring, sum, trim, upper"
)

_NUMBERS = (LONG, DOUBLE)
_MOST_DIGITS = 15
# What sqlglot notes of a node besides its parts.
_FLAGS = {"big_int", "typed", "safe", "coalesce", "ignore_nulls", "is_string", "nested", "is_nvl",
          "casts_non_integer_decimals", "is_null", "zero_start"}  # fmt: skip
_CASTS = {Type.BIGINT: LONG, Type.DOUBLE: DOUBLE, Type.TEXT: STRING, Type.BOOLEAN: BOOLEAN,
          Type.VARCHAR: STRING}  # fmt: skip


_UNKNOWN: tuple[tuple[type[exp.Expr], str], ...] = (
    (exp.Window, "a window function"),
    (exp.Tuple, "a list of values here"),
    (exp.Placeholder, "a parameter"),
    (exp.Parameter, "a parameter"),
    (exp.Bracket, "'[...]'"),
    (exp.Filter, "FILTER after an aggregate"),
)
_UNKNOWN_PARTS = {
    "db": "a name of more than two parts",
    "position": "TRIM of one side, or of other characters than spaces,",
    "field": "IN without parentheses",
    "windows": "WINDOW",
    "on": "DISTINCT ON",
}


class Scope(Protocol):
    """What the names in an expression stand for."""

    def column(self, typer: Typer, node: exp.Column) -> Typed: ...
    def call(self, typer: Typer, node: exp.Anonymous) -> Typed | None: ...
    def format(self, typer: Typer, node: exp.Expr) -> Typed: ...
    def subquery(self, typer: Typer, node: exp.Expr) -> Typed: ...
    def compare(self, typer: Typer, node: exp.Expr) -> Typed | None: ...
    def aggregate(self, typer: Typer, node: exp.Expr) -> bool: ...


class Typer:
    """Reads the expressions of one text; `problems` fills up on the way."""

    def __init__(self, places: Places, scope: Scope, problems: list[Diagnostic]) -> None:
        self.places = places
        self.scope = scope
        self.problems = problems

    def within(self, scope: Scope) -> Typer:
        """The same text with other names."""
        return Typer(self.places, scope, self.problems)

    def report(self, code: str, fact: str, node: exp.Expr, hint: str | None = None) -> Typed:
        self.problems.append(error(code, fact, self.places.of(node), hint))
        return exp.Null(), ANY

    def refuse(self, what: str, node: exp.Expr, hint: str | None = None) -> Typed:
        return self.report("unsupported-sql", f"{what} is not supported", node, hint)

    def read(self, node: exp.Expr) -> Typed:
        """An expression with all its names resolved, and its type."""
        reader = READERS.get(type(node))
        if reader is None:
            return self.unknown(node)
        if not self.knows_parts(node, PARTS[type(node)]):
            return exp.Null(), ANY
        found, type_ = reader(self, node)
        return typed(found, type_), type_

    def knows_parts(self, node: exp.Expr, parts: frozenset[str]) -> bool:
        """Whether nothing stands in a node but these parts; reports what does."""
        for part, value in node.args.items():
            if value and part not in parts and part not in _FLAGS:
                place = value if isinstance(value, exp.Expr) else node
                said = part.strip("_").replace("_", " ").upper()
                self.refuse(_UNKNOWN_PARTS.get(part, said), place)
                return False
        return True

    def unknown(self, node: exp.Expr) -> Typed:
        """What this dialect does not have, by the name that it has in the text."""
        if isinstance(node, exp.Anonymous) and (found := self.scope.call(self, node)):
            return typed(*found), found[1]
        if isinstance(node, exp.Star):
            return self.report("syntax", "'*' stands for columns only after SELECT", node)
        if isinstance(node, exp.Interval):
            return self.refuse("INTERVAL", node, "write a length of time as 30s, 5m, 2h or 1d")
        if what := next((said for kind, said in _UNKNOWN if isinstance(node, kind)), None):
            return self.refuse(what, node)
        if isinstance(node, exp.Binary):
            sign = self.places.between(node.this, node.expression) or node.key.upper()
            return self.refuse(f"'{sign}'", node)
        if isinstance(node, exp.Func):
            written = self.places.word(node) or node.sql_name()
            return self.refuse(f"'{written}'", node, f"functions: {FUNCTIONS}")
        return self.refuse(f"'{node.key.upper()}'", node)

    def condition(self, node: exp.Expr) -> exp.Expr:
        """An expression that has to be true or false."""
        found, type_ = self.read(node)
        self.expect(type_, (BOOLEAN,), node)
        return found

    def expect(self, found: DataType, wanted: Sequence[DataType], node: exp.Expr) -> bool:
        if found in wanted or is_open(found):
            return True
        expected = " or ".join(words(t) for t in wanted)
        self.report("type-mismatch", f"{expected} is expected here, not {words(found)}", node)
        return False

    def value(self, node: exp.Expr, *wanted: DataType) -> Typed:
        """A value of one of some types; a length of time is a number where one is wanted."""
        found, type_ = self.read(node)
        if type_ == PERIOD and DOUBLE in wanted:
            found, type_ = seconds(found), DOUBLE
        if not self.expect(type_, wanted, node):
            return exp.Null(), ANY
        return found, type_

    def alike(
        self, nodes: Sequence[exp.Expr], values: Sequence[Typed]
    ) -> tuple[list[exp.Expr], DataType]:
        """Values as one type that holds all of them."""
        common: DataType = NULL
        for node, (_, type_) in zip(nodes, values, strict=True):
            wider = widest(common, type_)
            if wider is None:
                fact = f"{words(common)} and {words(type_)} do not go together"
                self.report("type-mismatch", fact, node, _hint(common, type_))
                return [found for found, _ in values], ANY
            common = wider
        common = DOUBLE if common == PERIOD else common
        return [as_type(found, type_, common) for found, type_ in values], common


def widest(a: DataType, b: DataType) -> DataType | None:
    """The type that holds values of both, None where there is none."""
    if a == b or is_open(b):
        return a
    if is_open(a):
        return b
    if {a, b} <= {LONG, DOUBLE, PERIOD}:
        return DOUBLE
    return None


def as_type(node: exp.Expr, found: DataType, wanted: DataType) -> exp.Expr:
    """A value as a type that holds it."""
    if found == PERIOD and wanted == DOUBLE:
        return seconds(node)
    if found == LONG and wanted == DOUBLE:
        return cast(node, DOUBLE)
    return node


def seconds(node: exp.Expr) -> exp.Expr:
    """A length of time as a number."""
    return number(microseconds(node) / SECOND)


def _hint(a: DataType, b: DataType) -> str | None:
    if {a, b} == {TIMESTAMP, STRING}:
        return "write a time as TIMESTAMP '2026-01-31T12:00:00Z'"
    if TIMESTAMP in (a, b) and {a, b} & {LONG, DOUBLE, PERIOD}:
        return "the difference of two times is a number of seconds; lengths of time are 30m, 1d"
    return None


# Leaves


def _literal(typer: Typer, node: exp.Expr) -> Typed:
    assert isinstance(node, exp.Literal)
    if node.is_string:
        return node.copy(), STRING
    text = node.name
    if text.isdecimal():
        if not fits_long(int(text)):
            return typer.report("bad-number", f"{text} does not fit into 64 bits", node)
        return whole(int(text)), LONG
    value = float(text)
    if value == float("inf"):
        return typer.report("bad-number", f"{text} is beyond all numbers", node)
    return number(value), DOUBLE


def _time_literal(typer: Typer, node: exp.Expr) -> Typed:
    assert isinstance(node, TimeLiteral)
    if node.microseconds > LONGEST:
        return typer.report("bad-period", f"{node.name} is longer than ten thousand years", node)
    return whole(node.microseconds, PERIOD), PERIOD


def _null(_: Typer, node: exp.Expr) -> Typed:
    return node.copy(), NULL


def _boolean(_: Typer, node: exp.Expr) -> Typed:
    return exp.Boolean(this=node.this), BOOLEAN


def _column(typer: Typer, node: exp.Expr) -> Typed:
    assert isinstance(node, exp.Column)
    return typer.scope.column(typer, node)


def _paren(typer: Typer, node: exp.Expr) -> Typed:
    found, type_ = typer.read(node.this)
    return (found if type_ == PERIOD else exp.Paren(this=found)), type_


# Operators


def _negative(typer: Typer, node: exp.Expr) -> Typed:
    inner = node.this.unnest()
    if isinstance(inner, exp.Literal) and inner.name == str(2**63):
        return whole(-(2**63)), LONG  # as a positive number it would not fit
    found, type_ = typer.read(node.this)
    if type_ == PERIOD:
        return whole(-microseconds(found), PERIOD), PERIOD
    if not typer.expect(type_, _NUMBERS, node.this):
        return exp.Null(), ANY
    bare = found.unnest()
    if isinstance(bare, exp.Literal):
        return (
            (number(-float(bare.name)), DOUBLE)
            if type_ == DOUBLE
            else (whole(-int(bare.name)), LONG)
        )
    return exp.Neg(this=wrapped(found)), type_


def _sum(typer: Typer, node: exp.Expr) -> Typed:
    """Addition and subtraction: of numbers, of lengths of time, of times and lengths of time."""
    operator = type(node)
    (left, a), (right, b) = typer.read(node.this), typer.read(node.expression)
    if is_open(a) and is_open(b):
        return operator(this=wrapped(left), expression=wrapped(right)), ANY if ANY in (
            a,
            b,
        ) else NULL
    if TIMESTAMP in (a, b):
        return _time_sum(typer, node, (left, a), (right, b))
    if a == b == PERIOD:
        sign = 1 if operator is exp.Add else -1
        return whole(microseconds(left) + sign * microseconds(right), PERIOD), PERIOD
    return _arithmetic(typer, node, (left, a), (right, b))


def _time_sum(typer: Typer, node: exp.Expr, left: Typed, right: Typed) -> Typed:
    operator, types = type(node), (left[1], right[1])
    if operator is exp.Sub and types == (TIMESTAMP, TIMESTAMP):
        return difference(left[0], right[0]), DOUBLE
    is_shift = types == (TIMESTAMP, PERIOD) or (
        operator is exp.Add and types == (PERIOD, TIMESTAMP)
    )
    if is_shift or any(map(is_open, types)):
        one, other = (_as_shift(found, type_) for found, type_ in (left, right))
        return both(one, other, operator, TIMESTAMP), TIMESTAMP
    sign = "+" if operator is exp.Add else "-"
    fact = f"{words(types[0])} {sign} {words(types[1])} makes no sense"
    hint = "lengths of time are written 30s, 5m, 2h, 1d"
    return typer.report("type-mismatch", fact, node, hint)


def _as_shift(node: exp.Expr, type_: DataType) -> exp.Expr:
    return whole(microseconds(node), TIMESTAMP) if type_ == PERIOD else node


def difference(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """The seconds between two times."""
    exact = typed(exp.Sub(this=wrapped(left), expression=wrapped(right)), LONG)
    return typed(exp.Div(this=wrapped(exact), expression=number(SECOND)), DOUBLE)


def _arithmetic(typer: Typer, node: exp.Expr, left: Typed, right: Typed) -> Typed:
    values = [_as_number(left), _as_number(right)]
    nodes = (node.this, node.expression)
    if not all(typer.expect(v[1], _NUMBERS, n) for v, n in zip(values, nodes, strict=True)):
        return exp.Null(), ANY
    (one, other), common = typer.alike(nodes, values)
    if isinstance(node, exp.Div) and common == LONG:
        one, other, common = cast(one, DOUBLE), cast(other, DOUBLE), DOUBLE
    return both(one, other, type(node), common), common


def _as_number(value: Typed) -> Typed:
    return (seconds(value[0]), DOUBLE) if value[1] == PERIOD else value


def _product(typer: Typer, node: exp.Expr) -> Typed:
    return _arithmetic(typer, node, typer.read(node.this), typer.read(node.expression))


COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)


def _comparison(typer: Typer, node: exp.Expr) -> Typed:
    found = typer.scope.compare(typer, node)
    if found:
        return found
    nodes = (node.this, node.expression)
    (left, right), _ = typer.alike(nodes, [typer.read(part) for part in nodes])
    return both(left, right, type(node), BOOLEAN), BOOLEAN


def _comparisons(
    typer: Typer, one: exp.Expr, others: Sequence[tuple[Operator, exp.Expr]]
) -> list[exp.Expr]:
    """One value beside several, read once: else each in another would take twice as long."""
    found: list[exp.Expr] = []
    value: Typed | None = None
    for operator, other in others:
        asked = operator(this=one.copy(), expression=other.copy())
        if (by_scope := typer.scope.compare(typer, asked)) is not None:
            found.append(typed(*by_scope))
            continue
        value = value or _repeated(typer, one, typer.read(one), len(others))
        found.append(_compared(typer, operator, (one, other), (value, typer.read(other))))
    return found


def _repeated(typer: Typer, node: exp.Expr, value: Typed, times: int) -> Typed:
    """A value that SQL has to say several times: one in another would grow without end."""
    if (
        times > 1
        and sum(1 for _ in islice(value[0].walk(), _LONGEST_REPEATED)) == _LONGEST_REPEATED
    ):
        fact = "this value is too long to be compared with several others"
        return typer.report("too-deep", fact, node, "split it with derived classes")
    return value


_LONGEST_REPEATED = 2000  # nodes


def _compared(
    typer: Typer,
    operator: Operator,
    nodes: tuple[exp.Expr, exp.Expr],
    values: tuple[Typed, Typed],
) -> exp.Expr:
    (left, right), common = typer.alike(nodes, values)
    if common == ANY:  # refused: nothing of it may grow in what is around it
        return typed(exp.Null(), BOOLEAN)
    return both(left.copy(), right, operator, BOOLEAN)


def _connective(typer: Typer, node: exp.Expr) -> Typed:
    """Long chains stay flat here, so that their length is no depth."""
    parts = [typer.condition(part) for part in _chain(node, type(node))]
    found = parts[0]
    for part in parts[1:]:
        found = typed(type(node)(this=found, expression=part), BOOLEAN)
    return found, BOOLEAN


def _chain(node: exp.Expr, operator: type[exp.Expr]) -> list[exp.Expr]:
    parts: list[exp.Expr] = []
    while isinstance(node, operator):
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


def _not(typer: Typer, node: exp.Expr) -> Typed:
    found = typer.condition(node.this)
    return exp.Not(this=wrapped(found)), BOOLEAN


def _is(typer: Typer, node: exp.Expr) -> Typed:
    what = node.expression
    if isinstance(what, exp.Boolean):
        found = typer.condition(node.this)
    elif isinstance(what, exp.Null):
        found, _ = typer.read(node.this)
    else:
        return typer.refuse("IS with anything but NULL, TRUE and FALSE", node)
    return exp.Is(this=wrapped(found), expression=what.copy()), BOOLEAN


def _in(typer: Typer, node: exp.Expr) -> Typed:
    if node.args.get("query"):
        return typer.scope.subquery(typer, node)
    nodes = [node.this, *node.expressions]
    values = [typer.read(part) for part in nodes]
    if any(type_ == TIMESTAMP for _, type_ in values):
        return _any_equal(typer, nodes, values)
    (first, *others), _ = typer.alike(nodes, values)
    return exp.In(this=wrapped(first), expressions=others), BOOLEAN


def _any_equal(typer: Typer, nodes: Sequence[exp.Expr], values: Sequence[Typed]) -> Typed:
    """Times compare by their own rules, one by one."""
    first = _repeated(typer, nodes[0], values[0], len(values) - 1)
    found, *parts = [
        _compared(typer, exp.EQ, (nodes[0], node), (first, value))
        for node, value in zip(nodes[1:], values[1:], strict=True)
    ]
    for part in parts:
        found = both(found, part, exp.Or, BOOLEAN)
    return wrapped(found), BOOLEAN


def _between(typer: Typer, node: exp.Expr) -> Typed:
    ends = [(exp.GTE, node.args["low"]), (exp.LTE, node.args["high"])]
    left, right = _comparisons(typer, node.this, ends)
    return both(left, right, exp.And, BOOLEAN), BOOLEAN


def _like(typer: Typer, node: exp.Expr) -> Typed:
    text, _ = typer.value(node.this, STRING)
    pattern, _ = typer.value(node.expression, STRING)
    found: exp.Expr = typed(exp.Like(this=wrapped(text), expression=wrapped(pattern)), BOOLEAN)
    return (exp.Not(this=found) if node.args.get("negate") else found), BOOLEAN


# Functions


def _case(typer: Typer, node: exp.Expr) -> Typed:
    subject, branches, default = node.this, node.args["ifs"], node.args.get("default")
    tests = (
        _comparisons(typer, subject, [(exp.EQ, b.this) for b in branches])
        if subject
        else [typer.condition(b.this) for b in branches]
    )
    nodes = [b.args["true"] for b in branches] + ([default] if default else [])
    values, common = typer.alike(nodes, [typer.read(n) for n in nodes])
    ifs = [exp.If(this=t, true=v) for t, v in zip(tests, values, strict=False)]
    other = values[-1] if default else None
    return exp.Case(ifs=ifs, default=other), common


def _choice(typer: Typer, node: exp.Expr) -> Typed:
    """COALESCE, GREATEST, LEAST."""
    nodes = [node.this, *node.expressions]
    values, common = typer.alike(nodes, [typer.read(n) for n in nodes])
    if len(values) == 1:
        return values[0], common
    return _variadic(type(node), values), common


def _variadic(operator: type[exp.Expr], values: Sequence[exp.Expr]) -> exp.Expr:
    flags = {} if operator is exp.Coalesce else {"ignore_nulls": True}
    return operator(this=values[0], expressions=list(values[1:]), **flags)


def _nullif(typer: Typer, node: exp.Expr) -> Typed:
    nodes = (node.this, node.expression)
    first = typer.read(node.this)
    values, common = typer.alike(nodes, [first, typer.read(node.expression)])
    return exp.Nullif(this=values[0], expression=values[1]), common


def _abs(typer: Typer, node: exp.Expr) -> Typed:
    found, type_ = typer.value(node.this, *_NUMBERS)
    return exp.Abs(this=found), type_


def _round(typer: Typer, node: exp.Expr) -> Typed:
    found, type_ = typer.value(node.this, *_NUMBERS)
    digits = node.args.get("decimals")
    if digits is None:
        digits = exp.Literal.number(0)
    is_digits = isinstance(digits, exp.Literal) and digits.is_int
    if not is_digits or int(digits.name) > _MOST_DIGITS:
        return typer.refuse(f"a number of digits that is not 0 to {_MOST_DIGITS}", digits)
    if type_ == LONG:
        return found, LONG
    return exp.Round(this=found, decimals=digits.copy()), type_


def _to_whole(typer: Typer, node: exp.Expr) -> Typed:
    """FLOOR and CEIL."""
    found, type_ = typer.value(node.this, *_NUMBERS)
    return (found, LONG) if type_ == LONG else (type(node)(this=found), LONG)


def _sign(typer: Typer, node: exp.Expr) -> Typed:
    found, type_ = typer.value(node.this, *_NUMBERS)
    return exp.Sign(this=as_type(found, type_, DOUBLE)), DOUBLE


def _length(typer: Typer, node: exp.Expr) -> Typed:
    return exp.Length(this=typer.value(node.this, STRING)[0]), LONG


def _text(typer: Typer, node: exp.Expr) -> Typed:
    """LOWER, UPPER, TRIM."""
    return type(node)(this=typer.value(node.this, STRING)[0]), STRING


def _substring(typer: Typer, node: exp.Expr) -> Typed:
    start, length = node.args.get("start"), node.args.get("length")
    if start is None:
        return typer.report("wrong-arguments", "substring needs a text and a start", node)
    parts = {
        "start": typer.value(start, LONG)[0],
        "length": typer.value(length, LONG)[0] if length is not None else None,
    }
    return exp.Substring(this=typer.value(node.this, STRING)[0], **parts), STRING


def _replace(typer: Typer, node: exp.Expr) -> Typed:
    given = [node.this, node.expression, node.args.get("replacement")]
    texts = [typer.value(g, STRING)[0] for g in given if g is not None]
    by = texts[2] if len(texts) == 3 else typed(exp.Literal.string(""), STRING)
    return exp.Replace(this=texts[0], expression=texts[1], replacement=by), STRING


def _concat(typer: Typer, node: exp.Expr) -> Typed:
    """CONCAT and `||`: null if a part is null."""
    nodes = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
    texts = [typer.value(part, STRING)[0] for part in nodes]
    found = texts[0]
    for text in texts[1:]:
        found = typed(exp.DPipe(this=wrapped(found), expression=wrapped(text)), STRING)
    return found, STRING


def _cast(typer: Typer, node: exp.Expr) -> Typed:
    wanted = node.args["to"].this
    if wanted in (Type.TIMESTAMP, Type.TIMESTAMPTZ):
        return _instant(typer, node)
    target = _CASTS.get(wanted)
    if target is None or node.args["to"].expressions:
        hint = "types: TEXT, NUMBER, INTEGER, BOOLEAN"
        return typer.refuse(f"CAST to {node.args['to'].sql().upper()}", node, hint)
    found, type_ = typer.read(node.this)
    if type_ == PERIOD:
        found, type_ = seconds(found), DOUBLE
    if type_ == TIMESTAMP or (type_ == DOUBLE and target == STRING):
        advice = "format(...) writes numbers and times" if target == STRING else None
        return typer.refuse(f"CAST of {words(type_)} to {words(target)}", node, advice)
    if type_ == target:
        return found, target
    return cast(found, target), target


def _instant(typer: Typer, node: exp.Expr) -> Typed:
    """`TIMESTAMP '2026-01-31T12:00:00Z'`, a constant."""
    text = node.this
    if not (isinstance(text, exp.Literal) and text.is_string):
        return typer.refuse("a time that is not written out", node)
    try:
        return whole(parse_instant(text.name), TIMESTAMP), TIMESTAMP
    except ValueError as problem:
        return typer.report("bad-time", str(problem), node)


# Aggregates


def _count(typer: Typer, node: exp.Expr) -> Typed:
    if not typer.scope.aggregate(typer, node):
        return exp.Null(), ANY
    what = node.this
    if isinstance(what, exp.Star):
        return exp.Count(this=exp.Star(), big_int=True), LONG
    if what is None or (isinstance(what, exp.Distinct) and not what.expressions):
        fact, hint = "'count' needs a value", "count(*) counts rows"
        return typer.report("wrong-arguments", fact, node, hint)
    return exp.Count(this=_counted(typer, what), big_int=True), LONG


def _counted(typer: Typer, node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Distinct):
        return typer.read(node)[0]
    if len(node.expressions) != 1 or node.args.get("on"):
        typer.refuse("DISTINCT of several values", node)
        return exp.Null()
    return exp.Distinct(expressions=[typer.read(node.expressions[0])[0]])


def _total(typer: Typer, node: exp.Expr) -> Typed:
    """SUM and AVG."""
    if not typer.scope.aggregate(typer, node):
        return exp.Null(), ANY
    what = node.this
    is_distinct = isinstance(what, exp.Distinct)
    if is_distinct and len(what.expressions) != 1:
        return typer.refuse("DISTINCT of several values", node)
    found, type_ = typer.value(what.expressions[0] if is_distinct else what, *_NUMBERS)
    inner = exp.Distinct(expressions=[found]) if is_distinct else found
    return type(node)(this=inner), DOUBLE if isinstance(node, exp.Avg) else type_


def _extreme(typer: Typer, node: exp.Expr) -> Typed:
    """MAX and MIN: of a group, or of several values of a row."""
    if node.expressions:
        operator = exp.Greatest if isinstance(node, exp.Max) else exp.Least
        return _choice(typer, operator(this=node.this.copy(), expressions=node.expressions))
    if not typer.scope.aggregate(typer, node):
        return exp.Null(), ANY
    what = node.this
    if isinstance(what, exp.Distinct) and len(what.expressions) == 1:
        what = what.expressions[0]
    found, type_ = typer.read(what)
    return type(node)(this=found if type_ != PERIOD else seconds(found)), type_


def _subquery(typer: Typer, node: exp.Expr) -> Typed:
    return typer.scope.subquery(typer, node)


def _format(typer: Typer, node: exp.Expr) -> Typed:
    return typer.scope.format(typer, node)


_THIS = frozenset({"this"})
_PAIR = frozenset({"this", "expression"})
_LIST = frozenset({"this", "expressions"})

_TABLE: tuple[tuple[tuple[type[exp.Expr], ...], Reader, frozenset[str]], ...] = (
    ((exp.Literal,), _literal, _THIS),
    ((TimeLiteral,), _time_literal, _THIS),
    ((exp.Null,), _null, frozenset()),
    ((exp.Boolean,), _boolean, _THIS),
    ((exp.Column,), _column, frozenset({"this", "table"})),
    ((exp.Paren,), _paren, _THIS),
    ((exp.Neg,), _negative, _THIS),
    ((exp.Add, exp.Sub), _sum, _PAIR),
    ((exp.Mul, exp.Div, exp.Mod), _product, _PAIR),
    (COMPARISONS, _comparison, _PAIR),
    ((exp.And, exp.Or), _connective, _PAIR),
    ((exp.Not,), _not, _THIS),
    ((exp.Is,), _is, _PAIR),
    ((exp.In,), _in, _LIST | {"query"}),
    ((exp.Between,), _between, frozenset({"this", "low", "high"})),
    ((exp.Like,), _like, _PAIR | {"negate"}),
    ((exp.Case,), _case, frozenset({"this", "ifs", "default"})),
    ((exp.Coalesce, exp.Greatest, exp.Least), _choice, _LIST),
    ((exp.Nullif,), _nullif, _PAIR),
    ((exp.Abs,), _abs, _THIS),
    ((exp.Round,), _round, _THIS | {"decimals"}),
    ((exp.Floor, exp.Ceil), _to_whole, _THIS),
    ((exp.Sign,), _sign, _THIS),
    ((exp.Length,), _length, _THIS),
    ((exp.Lower, exp.Upper, exp.Trim), _text, _THIS),
    ((exp.Substring,), _substring, frozenset({"this", "start", "length"})),
    ((exp.Replace,), _replace, _PAIR | {"replacement"}),
    ((exp.Concat, exp.DPipe), _concat, _PAIR | {"expressions"}),
    ((exp.Cast,), _cast, frozenset({"this", "to"})),
    ((exp.Count,), _count, _THIS),
    ((exp.Sum, exp.Avg), _total, _THIS),
    ((exp.Max, exp.Min), _extreme, _LIST),
    ((exp.Format,), _format, _LIST),
    ((exp.Subquery, exp.Exists), _subquery, frozenset({"this", "alias"})),
)
READERS: dict[type[exp.Expr], Reader] = {k: reader for kinds, reader, _ in _TABLE for k in kinds}
PARTS: dict[type[exp.Expr], frozenset[str]] = {
    k: parts for kinds, _, parts in _TABLE for k in kinds
}
