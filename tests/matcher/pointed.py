"""Random programs of two kinds that are hard for a compiled machine.

*Asking* programs have expressions that only Python can evaluate, wherever an expression may stand, so
that the machine stops in the middle of everything that it does. *Crowded* programs have patterns in
which many instances hear the same event, and statements behind them that see in which order they did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from cepheid.core.time import Period
from cepheid.expr.tree import (
    Aggregate,
    And,
    Binary,
    BinaryOperator,
    Call,
    Expr,
    Like,
    Not,
    Or,
    Regexp,
)
from cepheid.pattern import tree
from cepheid.pattern.schedule import Schedule
from cepheid.program.tree import (
    Annotation,
    LengthBatch,
    LengthWindow,
    OrderItem,
    OutputRate,
    PatternSource,
    ProgramTree,
    SelectAll,
    SelectExpr,
    Source,
    Statement,
    Stream,
    StreamSource,
)
from tests.semantics.generators import (
    ALL,
    PER_KEY,
    PERIODS,
    SCHEMAS,
    PatternMaker,
    Scope,
    attribute,
    happens,
    number,
    one_of,
    output_rate,
    text,
    window,
)

Columns = Callable[[str], Expr]  # an attribute by its name

# -- questions -------------------------------------------------------------------------------------

ORDERS: tuple[BinaryOperator, ...] = ("<=", "<", ">=", ">")


def word(draw: DrawFn, *owners: Columns) -> Expr:
    """A text, mostly one that Python has to find."""
    column = one_of(draw, *owners)(one_of(draw, "k", "id"))
    other = one_of(draw, *owners)(one_of(draw, "k", "id"))
    return one_of(
        draw,
        column,
        Call("upper", (column,)),
        Call("concat", (column, other)),
        Call("replace", (column, other, text("x"))),
        text("x"),
    )


def many_words(owner: Columns) -> Expr:
    """A text of so many columns that its answers are not kept."""
    return Call("concat", tuple(owner(name) for name in ("k", "id", "v", "ts")))


def question(draw: DrawFn, *owners: Columns) -> Expr:
    """A condition that Python has to decide, at least in part."""
    left, right = word(draw, *owners), word(draw, *owners)
    operator = one_of(draw, *ORDERS)
    asked: Expr = one_of(
        draw,
        Binary(operator, left, right),
        Binary(operator, left, right),
        Binary(operator, many_words(one_of(draw, *owners)), right),
        Like(left, text("%x%")),
        Regexp(left, text("[xyA].*")),
        Binary(operator, Call("length", (left,)), number(2)),
    )
    plain = Binary(operator, one_of(draw, *owners)("v"), number(1))
    return one_of(draw, asked, asked, asked, Not(asked), Or((plain, asked)), And((plain, asked)))


def of_tag(scope: Scope, tag: str) -> Columns:
    return lambda name: scope.column(tag, name)


def constants(name: str) -> Expr:
    """Where nothing is bound."""
    return number(1) if name in ("v", "ts") else text(name)


@dataclass(frozen=True)
class AskingMaker(PatternMaker):
    """Patterns whose conditions and keys ask; mostly short chains, since others rarely match."""

    def draw(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        if depth > 0 and scope.everies and one_of(draw, True, False):
            started = self.every(draw, scope, 0)
            return tree.FollowedBy((started, *(self.atom(draw, scope) for _ in range(depth))))
        return super().draw(draw, scope, depth)

    def atom(self, draw: DrawFn, scope: Scope) -> tree.Pattern:
        type, owners = one_of(draw, *self.types), [of_tag(scope, tag) for tag in scope.tags]
        asked: Expr | None = None
        if not happens(draw, 4):
            asked = question(draw, attribute, *owners, *owners)
        if owners and happens(draw, 4):
            own, other = word(draw, attribute), word(draw, one_of(draw, *owners))
            key = Binary("=", own, other)
            asked = key if asked is None else And((key, asked))
        if happens(draw, 6):
            return tree.Atom(type, None, asked)
        tag = f"t{next(scope.fresh)}"
        scope.tags[tag] = False
        return tree.Atom(type, tag, asked)

    def guarded(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        child = self.draw(draw, scope, depth)
        owners = [of_tag(scope, tag) for tag in scope.tags] or [constants]
        return tree.While(child, question(draw, *owners))

    def distinct(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        child = self.every(draw, scope, depth)
        assert isinstance(child, tree.Every)
        owners = [of_tag(scope, tag) for tag in scope.tags] or [constants]
        keys = tuple(word(draw, *owners) for _ in range(one_of(draw, 1, 2)))
        return tree.EveryDistinct(keys, child.child, one_of(draw, None, *PERIODS))


def asking_source(draw: DrawFn, types: tuple[str, ...]) -> tuple[Source, Columns]:
    if one_of(draw, True, True, False):
        scope = Scope()
        maker = AskingMaker(types, ALL)
        pattern = maker.draw(draw, scope, one_of(draw, 1, 1, 2))
        tags = [of_tag(scope, tag) for tag in scope.tags]
        return PatternSource(pattern), one_of(draw, *tags, *([] if tags else [constants]))
    asked = None if happens(draw, 3) else question(draw, attribute)
    return StreamSource(one_of(draw, *types), asked), attribute


def asking_statement(draw: DrawFn, place: int, types: tuple[str, ...]) -> Statement:
    """A statement whose every clause may ask."""
    source, column = asking_source(draw, types)
    aggregated = happens(draw, 3)
    id: Expr = Call("lower", (word(draw, column),))
    v: Expr = Call("length", (many_words(column),))
    if aggregated:
        argument = word(draw, column)
        id = one_of(draw, Aggregate("last", argument), Aggregate("first", argument))
        v = one_of(
            draw,
            Aggregate("count", argument, distinct=True),
            Aggregate("sum", v),
            Aggregate("max", v),
            Call("length", (Call("concat", (id, Aggregate("count", None))),)),
        )
    annotations = [Annotation("Name", ((None, f"s{place}"),))]
    statement = Statement(
        select=(SelectExpr(id, "id"), SelectExpr(column("k"), "k"), SelectExpr(v, "v")),
        source=source,
        context="PerKey" if happens(draw, 5) else None,
        annotations=tuple(annotations),
    )
    if one_of(draw, True, False) and not aggregated:
        return statement
    streams: tuple[Stream, ...] = ("istream", "istream", "irstream", "rstream")
    kept, rate = window(draw, ALL), None
    if happens(draw, 3):
        rate = output_rate(draw)
        if rate.when is not None:
            counted = Call("concat", (attribute("count_insert"), text("")))
            rate = OutputRate(when=Binary(">=", counted, text("2")))
    having: Expr = question(draw, column)
    if aggregated:
        having = Binary(one_of(draw, *ORDERS), Aggregate("first", column("k")), text("x"))
    return replace(
        statement,
        stream=one_of(draw, *streams) if kept else "istream",
        distinct=happens(draw, 6),
        window=kept,
        where=question(draw, column) if happens(draw, 2) else None,
        group_by=(word(draw, column),) if aggregated and happens(draw, 2) else (),
        having=having if happens(draw, 3) else None,
        output=rate,
        order_by=(OrderItem(v, one_of(draw, True, False)),) if happens(draw, 4) else (),
    )


@st.composite
def asking_programs(draw: DrawFn) -> ProgramTree:
    """Several statements on the same types, and some on what others derive."""
    found: list[Statement] = []
    for place in range(one_of(draw, 1, 2, 3)):
        statement = asking_statement(draw, place, ("A", "B"))
        if not happens(draw, 3):
            is_both = statement.stream == "irstream"
            stream: Stream = "istream" if is_both else statement.stream
            statement = replace(statement, insert_into="S", insert_stream=stream)
        found.append(statement)
    for place in range(one_of(draw, 0, 1)):
        found.append(asking_statement(draw, len(found) + place, ("S", "A")))
    return ProgramTree((*SCHEMAS, PER_KEY, *found))


# -- order -----------------------------------------------------------------------------------------

MINUTES = Schedule(seconds=frozenset({0, 5, 7}))


@dataclass(frozen=True)
class CrowdedMaker(PatternMaker):
    """Patterns in which many instances wait for the same two types, with and without tags."""

    def draw(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        if depth == 0 or happens(draw, 5):
            return self.leaf(draw, scope)
        makers = [self.chain, self.chain, self.chain, self.either, self.either, self.both]
        makers += [self.absent, self.exact, self.ended, self.within, self.paused]
        makers += [self.every] * 4 + [self.distinct] if scope.everies else []
        return one_of(draw, *makers)(draw, scope, depth - 1)

    def leaf(self, draw: DrawFn, scope: Scope) -> tree.Pattern:
        kind = one_of(draw, *range(12))
        if kind == 10:
            return tree.Interval(one_of(draw, *SHORT))
        if kind == 11:
            return tree.At(MINUTES)
        return self.atom(draw, scope)

    def atom(self, draw: DrawFn, scope: Scope) -> tree.Pattern:
        type = one_of(draw, *self.types)
        others = [scope.column(tag, "k") for tag in scope.tags]
        asked = Binary("=", attribute("k"), one_of(draw, *others, text("x")))
        condition = asked if happens(draw, 5) else None
        if happens(draw, 2):
            return tree.Atom(type, None, condition)
        tag = f"t{next(scope.fresh)}"
        scope.tags[tag] = False
        return tree.Atom(type, tag, condition)

    def paused(self, draw: DrawFn, scope: Scope, depth: int) -> tree.Pattern:
        """`P and not Q`, and its like."""
        absent = self.absent(draw, scope, 0)
        present = self.draw(draw, scope, depth)
        return tree.AllOf(one_of(draw, (present, absent), (absent, present)))


SHORT = (Period(1_000_000), Period(2_000_000), Period(500_000), Period())


def counted(statement: Statement, draw: DrawFn) -> Statement:
    """What it shows depends on the order of what comes."""
    kind = one_of(draw, *range(4))
    if kind == 0:
        return replace(statement, output=OutputRate(mode="first", every=one_of(draw, 2, 3)))
    if kind == 1:
        return replace(statement, output=OutputRate(mode="last", every=one_of(draw, 2, 3)))
    if kind == 2:
        return replace(statement, window=LengthBatch(one_of(draw, 2, 3)), stream="irstream")
    return replace(statement, window=LengthWindow(2), stream="irstream")


@st.composite
def crowded_programs(draw: DrawFn) -> ProgramTree:
    """A pattern, or two, that derive a type, and statements that see the order of its events."""
    found: list[Statement] = []
    for place in range(one_of(draw, 1, 1, 2)):
        scope = Scope(everies=3)
        maker = CrowdedMaker(("A", "B"), ALL)
        make = maker.every if happens(draw, 3) else maker.draw
        pattern = make(draw, scope, one_of(draw, 2, 3, 4))
        columns = [SelectExpr(scope.column(tag, "id"), tag) for tag in scope.tags]
        columns += [SelectExpr(text(f"s{place}"), "by"), SelectExpr(number(place), "n")]
        found.append(
            Statement(
                select=tuple(columns),
                source=PatternSource(pattern),
                context="PerKey" if happens(draw, 8) else None,
                insert_into=f"O{place}",
                insert_stream="istream",
            )
        )
        follower = Statement(select=(SelectAll(),), source=StreamSource(f"O{place}", None))
        found.append(counted(follower, draw))
    return ProgramTree((*SCHEMAS, PER_KEY, *found))
