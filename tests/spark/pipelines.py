"""Programs whose statements have keys of their own and take what others derive, and their streams."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from cepheid.core.event import Event
from cepheid.expr.tree import Binary, Call, Expr
from cepheid.pattern import tree as pattern_tree
from cepheid.program.tree import (
    Annotation,
    Context,
    ContextKey,
    Declaration,
    PatternSource,
    ProgramTree,
    SelectExpr,
    SelectItem,
    Statement,
    Stream,
    StreamSource,
    TimeBatch,
    TimeWindow,
)
from tests.matcher.test_operator import tied
from tests.semantics.generators import (
    ALL,
    DERIVED,
    INPUTS,
    PER_KEY,
    PERIODS,
    SCHEMAS,
    Clauses,
    PatternMaker,
    Scope,
    attribute,
    happens,
    number,
    one_of,
    output_rate,
    statements,
    streams,
    tag_columns,
)

PER_NUMBER = Context(
    name="PerNumber", keys=tuple(ContextKey(name, ("v",)) for name in (*INPUTS, *DERIVED))
)
CONTEXTS = {"k": "PerKey", "v": "PerNumber"}
# Many events and timers of one instant, and of few keys.
CROWDED = tuple(itertools.product("AB", (0, 0, 0, 500, 500, 1000)))
FEW = tuple(itertools.product(("x", "y", "x", "y", None), (1, 2, 1, 2, None), (0.5,)))


def crowded() -> st.SearchStrategy[list[Event]]:
    return streams(CROWDED, FEW, least=15, most=30)


def items(draw: DrawFn, clauses: Clauses, *, aggregated: bool) -> tuple[SelectItem, ...]:
    """Columns that may be keys of other statements, unchanged or not."""
    v, exprs = clauses.column("v"), clauses.aggregates() if aggregated else {}
    numbers: list[Expr] = [v, v, Binary("+", v, number(1)), *exprs.get("v", [])]
    texts: list[Expr] = [*[clauses.column("k")] * 4, Call("upper", (clauses.column("k"),))]
    chosen = {
        "id": one_of(draw, clauses.column("id"), *exprs.get("id", [])),
        "k": one_of(draw, *texts),
        "v": one_of(draw, *numbers),
    }
    return tuple(SelectExpr(expr, name) for name, expr in chosen.items())


def follow_up(draw: DrawFn, scope: Scope, types: tuple[str, ...]) -> pattern_tree.Pattern:
    """What comes after the event that starts a run; mostly something that happens."""
    maker = PatternMaker(types, ALL)
    kind = one_of(draw, *range(6))
    if kind == 5:
        return maker.draw(draw, scope, one_of(draw, 1, 2))
    if kind < 2:
        scope.tags["b"] = False
        return pattern_tree.Atom(one_of(draw, *types), "b")
    period = one_of(draw, *PERIODS)
    if kind == 2:
        scope.tags["b"] = False
        return pattern_tree.Within(pattern_tree.Atom(one_of(draw, *types), "b"), period)
    absent = pattern_tree.Absent(pattern_tree.Atom(one_of(draw, *types)))
    return pattern_tree.AllOf((pattern_tree.Interval(period), absent))


def tied_by(draw: DrawFn, by: str, types: tuple[str, ...]) -> Statement:
    """`every a=A -> ...`, tied by an attribute."""
    scope = Scope(tags={"a": False}, everies=1)
    rest = follow_up(draw, scope, types)
    start = pattern_tree.Every(pattern_tree.Atom(one_of(draw, *types), "a"))
    pattern = pattern_tree.FollowedBy((start, tied(rest, "a", by)))
    clauses = Clauses(tag_columns(draw, scope), ALL)
    window = TimeWindow(one_of(draw, *PERIODS)) if happens(draw, 4) else None
    return Statement(
        select=items(draw, clauses, aggregated=False), source=PatternSource(pattern), window=window
    )


def grouped_by(draw: DrawFn, by: str, types: tuple[str, ...]) -> Statement:
    """Aggregates group by group, over all time or the last."""
    period = one_of(draw, *PERIODS)
    clauses = Clauses(attribute, ALL)
    return Statement(
        select=items(draw, clauses, aggregated=True),
        source=StreamSource(one_of(draw, *types)),
        window=one_of(draw, None, TimeWindow(period), TimeBatch(period, reference=0)),
        group_by=(attribute(by),),
        having=clauses.having(draw) if happens(draw, 6) else None,
    )


def in_context(draw: DrawFn, by: str, types: tuple[str, ...]) -> Statement:
    """An instance per key, with timers of every kind."""
    period = one_of(draw, *PERIODS)
    has_rate = happens(draw, 3)
    return replace(
        grouped_by(draw, by, types),
        context=CONTEXTS[by],
        window=one_of(draw, None, TimeWindow(period), TimeBatch(period)),
        group_by=one_of(draw, (), (attribute("k"),), (attribute("v"),)),
        output=output_rate(draw) if has_rate else None,
    )


def plain(draw: DrawFn, by: str, types: tuple[str, ...]) -> Statement:
    """Each event stands for itself, so that any split suits."""
    del by
    clauses = Clauses(attribute, ALL)
    return Statement(
        select=items(draw, clauses, aggregated=False), source=StreamSource(one_of(draw, *types))
    )


def whatever(draw: DrawFn, by: str, types: tuple[str, ...]) -> Statement:
    """Often without any key."""
    del by
    return draw(statements(0, types, ALL))


_MAKERS = (
    tied_by,
    tied_by,
    tied_by,
    grouped_by,
    grouped_by,
    in_context,
    in_context,
    plain,
    whatever,
)


def statement(draw: DrawFn, name: str, types: tuple[str, ...], target: str | None) -> Statement:
    """Mostly on a key that the first one does not have."""
    by = "k" if name == "s0" else one_of(draw, "v", "v", "k")
    found = one_of(draw, *_MAKERS)(draw, by, types)
    annotations = [Annotation("Name", ((None, name),))]
    annotations += [Annotation("Priority", ((None, 1),))] if happens(draw, 5) else []
    streams_: tuple[Stream, ...] = ("istream", "istream", "irstream", "rstream")
    stream = one_of(draw, *streams_) if found.window is not None else "istream"
    inserted: tuple[Stream, ...] = ("istream", "rstream", "irstream")
    return replace(
        found,
        annotations=tuple(annotations),
        insert_into=target,
        stream=stream,
        insert_stream=(
            "istream" if target is None else one_of(draw, *inserted) if happens(draw, 4) else stream
        ),
    )


def program_of(draw: DrawFn, found: list[Statement]) -> ProgramTree:
    """The statements in any order: which of two comes first decides where they meet."""
    shuffled = draw(st.permutations(found))
    declarations: tuple[Declaration, ...] = (*SCHEMAS, PER_KEY, PER_NUMBER, *shuffled)
    return ProgramTree(declarations)


@st.composite
def pipeline_programs(draw: DrawFn) -> ProgramTree:
    """Two to five statements, of which later ones take what earlier ones derive."""
    found: list[Statement] = []
    targets: tuple[str, ...] = ()
    for place in range(one_of(draw, 1, 1, 2, 2, 3)):
        target = one_of(draw, *(t for t in DERIVED if t not in targets))
        types = one_of(draw, INPUTS[:2], (*INPUTS[:2], *targets * 3))
        found.append(statement(draw, f"s{place}", types, target))
        targets = (*targets, target)
    last = one_of(draw, targets, (*INPUTS[:2], *targets * 3))
    found += [statement(draw, f"r{place}", last, None) for place in range(one_of(draw, 1, 1, 2))]
    return program_of(draw, found)


def carrying_v(statement: Statement) -> Statement:
    """A statement whose rows have the v of their events."""
    tags = Scope(tags={"a": False})
    is_pattern = isinstance(statement.source, PatternSource)
    v = tags.column("a", "v") if is_pattern else attribute("v")
    return replace(statement, select=(*statement.select[:2], SelectExpr(v, "v")))


@st.composite
def meeting_programs(draw: DrawFn) -> ProgramTree:
    """A statement that takes what one on its own key and one on another derive at one instant."""
    makers = tied_by, tied_by, grouped_by, plain
    found = []
    for name, by, target in (("s0", "k", "S"), ("s1", "v", "T")):
        made = carrying_v(one_of(draw, *makers)(draw, by, INPUTS[:2]))
        found.append(with_name(replace(made, insert_into=target), name))
    meets = one_of(draw, tied_by, tied_by, in_context)(draw, "v", ("S", "T"))
    found.append(with_name(replace(meets, insert_into="U"), "s2"))
    found.append(statement(draw, "r", ("A", "S", "T", "U"), None))
    return program_of(draw, found)


def with_name(statement: Statement, name: str) -> Statement:
    return replace(statement, annotations=(Annotation("Name", ((None, name),)),))
