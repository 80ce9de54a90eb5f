"""Nothing is left out in silence.

Every operator, window, expression, function and aggregate has an example here; all printers,
serializers, analyses and engines take each example, or say what they lack. And what nobody knows, a
kind made up for these tests, is a gap with a message or refused: it never counts as another kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import pytest

import cepheid as cep
from cepheid.analysis import cycles, keys, pushdown, state
from cepheid.analysis.findings import ANALYSES
from cepheid.analysis.plan import StatementPlan, plan_program
from cepheid.analysis.stages import stages
from cepheid.cli.stages.statements import window_of
from cepheid.core.types import INT
from cepheid.engines.registry import ENGINES, Offer
from cepheid.errors import ProgramError
from cepheid.expr.functions import AGGREGATES, FUNCTIONS
from cepheid.expr.tree import Aggregate, Expr
from cepheid.expr.tree import walk as walk_expr
from cepheid.formal.maude import gaps as maude
from cepheid.lang.epl.language import EPL
from cepheid.lang.vepl.language import VEPL
from cepheid.matcher.compiling.lowering import lower
from cepheid.matcher.gaps import gaps, left_to_reference
from cepheid.pattern.algebra import Form
from cepheid.pattern.tree import FollowedBy, Pattern, walk
from cepheid.program.graph import graph_of
from cepheid.program.normal import nodes, normalize_statement
from cepheid.program.resolved import OutputColumn, ResolvedProgram, ResolvedStatement
from cepheid.program.scopes import resolve_pattern
from cepheid.program.serialize import from_json, to_json
from cepheid.program.tree import PatternSource, Window
from cepheid.semantics.machine import Machine

Kind = TypeVar("Kind")
SCHEMA = "create schema A (i int, l long, d double, f float, s string, b boolean);"
EVENTS = [
    {"@type": "A", "@time": n, "i": n, "l": n, "d": 0.5, "f": 0.5, "s": "abc", "b": True}
    for n in (1, 2, 3)
]

PATTERNS = {
    "Atom": "a=A(i > 1)",
    "Every": "every a=A",
    "EveryDistinct": "every-distinct(a.i) a=A",
    "FollowedBy": "a=A -> b=A",
    "AllOf": "a=A and b=A(i > 1)",
    "AnyOf": "a=A or b=A(i > 1)",
    "Absent": "a=A -> (timer:interval(1 sec) and not A(i > 5))",
    "Repeat": "[2] a=A",
    "Within": "a=A where timer:within(3 sec)",
    "While": "(every a=A) while (a.i < 3)",
    "WithinOf": "a=A -> b=A where timer:within(a.i sec)",
    "Interval": "a=A -> timer:interval(1 sec)",
    "IntervalOf": "a=A -> timer:interval(a.i sec)",
    "At": "a=A -> timer:at(*, *, *, *, *)",
}
FORMS = {
    "EventCall": "a(x, _)",
    "Follows": "a -> b",
    "Either": "a OR b",
    "Both": "a AND b",
    "Never": "a -> NOT b -> a",
    "Times": "a{2} -> b",
    "Timed": "(a -> b)[within 2 seconds]",
}
WINDOWS = {
    "TimeWindow": "time(1 sec)",
    "TimeBatch": "time_batch(1 sec)",
    "LengthWindow": "length(2)",
    "LengthBatch": "length_batch(2)",
    "KeepAll": "keepall()",
}
EXPRESSIONS = {
    "Literal": "1",
    "Ref": "i",
    "Column": "i",
    "Negate": "-i",
    "Not": "not b",
    "And": "b and i > 1",
    "Or": "b or i > 1",
    "Binary": "i + 1",
    "InList": "i in (1, 2)",
    "InRange": "i between 1 and 2",
    "Like": "s like 'a%'",
    "Regexp": "s regexp 'a.*'",
    "Case": "case when b then 1 else 2 end",
    "Cast": "cast(i, double)",
    "Call": "abs(i)",
    "Aggregate": "count(*)",
}


def program_of(text: str) -> cep.Program:
    return cep.parse(f"{SCHEMA}\n@Name('S') insert into O {text};")


def occurrence_of(form: str, context: str = "chronicle") -> cep.Program:
    events = "".join(f"atomicEvent {name}(p: int, q: int)\n" for name in "ab")
    return cep.parse(
        f"{events}complexEvent S(x: int) {{ as {form} context {context} }}", language="vepl"
    )


def function_call(name: str) -> str:
    """A call with as few arguments as the function takes, each of a type that suits it."""
    function = FUNCTIONS[name]
    by_kind = {
        "NUMBER": "d",
        "WHOLE": "i",
        "STRING": "s",
        "TEXT": "s",
        "ORDERED": "i",
        "TIME": "cast(s, timestamp)",
        "PART": "'hour'",
        "UNIT": "'day'",
        "PATTERN": "'yyyy'",
    }
    count = max(len(function.parameters) - function.optional, 2 if function.repeats else 0)
    given = [by_kind.get(function.kind(n).name, "i") for n in range(count)]
    return f"{name}({', '.join(given)})"


def aggregate_call(name: str) -> str:
    return "nth(i, 1)" if name == "nth" else f"{name}(i)"


EXAMPLES = {
    **{f"pattern {n}": f"select 1 as x from pattern [{t}]" for n, t in PATTERNS.items()},
    **{f"window {n}": f"select i as x from A#{t}" for n, t in WINDOWS.items()},
    **{f"sum over {n}": f"select sum(i) as x from A#{t}" for n, t in WINDOWS.items()},
    **{f"expression {n}": f"select {t} as x from A" for n, t in EXPRESSIONS.items()},
    **{f"function {n}": f"select {function_call(n)} as x from A" for n in FUNCTIONS},
    **{f"aggregate {n}": f"select {aggregate_call(n)} as x from A" for n in AGGREGATES},
}


def kinds(root: type[Kind]) -> set[str]:
    """All that is not made up here."""
    return {k.__name__ for k in root.__subclasses__() if k.__module__.startswith("cepheid.")}


def test_there_is_an_example_of_every_kind() -> None:
    assert set(PATTERNS) == kinds(Pattern) - {"Form"}
    assert set(FORMS) == kinds(Form) - {"Occurrence", "Taken"}  # the root; and what resolving makes
    assert set(WINDOWS) == kinds(Window)
    assert set(EXPRESSIONS) == kinds(Expr)


def test_examples_show_what_they_are_named_for() -> None:
    for name, text in PATTERNS.items():
        [statement] = program_of(f"select 1 as x from pattern [{text}]").resolve().statements
        assert statement.pattern is not None
        assert name in {type(node).__name__ for node in walk(statement.pattern)}
    for name, text in WINDOWS.items():
        [statement] = program_of(f"select i as x from A#{text}").resolve().statements
        assert type(statement.tree.window).__name__ == name
    for name, text in EXPRESSIONS.items():
        program = program_of(f"select {text} as x from A")
        [written] = (
            item.expr for item in program.tree.statements[0].select if hasattr(item, "expr")
        )
        [statement] = program.resolve().statements
        nodes = (*walk_expr(written), *walk_expr(statement.columns[0].expr))
        assert name in {type(node).__name__ for node in nodes}


@pytest.mark.parametrize("name", EXAMPLES)
def test_printers_and_serializers_take_every_kind(name: str) -> None:
    program = program_of(EXAMPLES[name])
    assert EPL.parse(EPL.print_program(program.tree), None).tree == program.tree
    assert from_json(to_json(program.tree)) == program.tree
    with pytest.raises(cep.UsageError, match="VEPL has no words"):
        VEPL.print_program(program.tree)


@pytest.mark.parametrize("context", ["chronicle", "immediate global", "strict"])
@pytest.mark.parametrize("name", FORMS)
def test_all_take_every_form_or_have_a_gap(name: str, context: str) -> None:
    program = occurrence_of(FORMS[name], context)
    assert VEPL.parse(VEPL.print_program(program.tree), None).tree == program.tree
    assert from_json(to_json(program.tree)) == program.tree
    assert str(cep.Program(program.tree)) == VEPL.print_program(program.tree)
    with pytest.raises(cep.UsageError, match="EPL has no words"):
        EPL.print_program(program.tree)
    resolved = program.resolve()
    assert name in {type(node).__name__ for node in walk(program.tree.statements[0].source.pattern)}  # type: ignore[union-attr]
    for analysis in ANALYSES.values():
        list(analysis(graph_of(resolved)))
    assert [plan.statement.name for plan in plan_program(resolved, "matcher")] == ["S"]
    assert [s.name for stage in stages(resolved) for s in stage.statements] == ["S"]
    assert left_to_reference(resolved)
    events = [{"@type": t, "@time": n, "p": 1, "q": n} for n, t in enumerate("aabab", start=1)]
    expected = [(row.time, dict(row)) for row in cep.run(program, events, engine="reference")]
    assert expected or name in ("Never",)
    assert [(row.time, dict(row)) for row in cep.run(program, events)] == expected
    for engine in ("petri", "maude"):
        assert ENGINES[engine].gaps(resolved)


@pytest.mark.parametrize("name", EXAMPLES)
def test_analyses_take_every_kind(name: str) -> None:
    resolved = program_of(EXAMPLES[name]).resolve()
    assert not resolved.problems
    for analysis in ANALYSES.values():
        list(analysis(graph_of(resolved)))
    assert [plan.statement.name for plan in plan_program(resolved, "matcher")] == ["S"]
    assert [s.name for stage in stages(resolved) for s in stage.statements] == ["S"]
    window = resolved.statements[0].tree.window
    assert bool(window_of(window)) == (window is not None)


@pytest.mark.parametrize("name", EXAMPLES)
def test_engines_take_every_kind_or_have_a_gap(name: str) -> None:
    program = program_of(EXAMPLES[name])
    resolved = program.resolve()
    assert bool(gaps(resolved)) == bool(left_to_reference(resolved))
    if not gaps(resolved):
        lower(resolved)
    expected = [(row.time, dict(row)) for row in cep.run(program, EVENTS, engine="reference")]
    for engine in ("local", "petri"):
        if not ENGINES[engine].gaps(resolved):
            rows = cep.run(program, EVENTS, engine=engine)
            assert [(row.time, dict(row)) for row in rows] == expected, engine
    for gap in ENGINES["maude"].gaps(resolved):
        assert gap.code == "not-in-maude"


def test_maude_names_all_that_it_has_terms_for() -> None:
    assert {kind.__name__ for kind in maude.OPERATORS} <= kinds(Pattern) - {"Form"}
    assert {kind.__name__ for kind in maude.WINDOWS} <= kinds(Window)
    assert set(maude.AGGREGATES) <= set(AGGREGATES)


# What nobody knows ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MadeUpPattern(Pattern):
    child: Pattern
    test: Expr | None = None


@dataclass(frozen=True, slots=True)
class MadeUpWindow(Window):
    size: int


@dataclass(frozen=True, slots=True)
class MadeUpNode(nodes.Node):
    written: Pattern
    parts: tuple[nodes.Node, ...]


@dataclass(frozen=True, slots=True)
class MadeUpExpression(Expr):
    operand: Expr


def statement_of(text: str) -> ResolvedStatement:
    [statement] = program_of(text).resolve().statements
    return statement


def with_pattern(statement: ResolvedStatement) -> ResolvedStatement:
    assert statement.pattern is not None
    return replace(statement, pattern=MadeUpPattern(statement.pattern))


def with_window(statement: ResolvedStatement) -> ResolvedStatement:
    return replace(statement, tree=replace(statement.tree, window=MadeUpWindow(2)))


def with_column(statement: ResolvedStatement, expr: Expr) -> ResolvedStatement:
    return replace(statement, columns=(OutputColumn("x", expr),))


def alone(statement: ResolvedStatement) -> ResolvedProgram:
    return replace(program_of("select i as x from A").resolve(), statements=(statement,))


ROWS, SUM = "select i as x from A", "select sum(i) as x from A"
X = statement_of(ROWS).columns[0].expr
MADE_UP = {
    "operator MadeUpPattern": alone(
        with_pattern(statement_of("select 1 as x from pattern [every a=A(i > 1)]"))
    ),
    "window MadeUpWindow": alone(with_window(statement_of(ROWS))),
    "aggregate made_up": alone(
        with_column(statement_of(SUM), Aggregate("made_up", X, type=INT, span=X.span))
    ),
}
EXPRESSION = alone(with_column(statement_of(ROWS), MadeUpExpression(X, type=INT)))


@pytest.mark.parametrize("what", MADE_UP)
def test_what_the_matcher_does_not_know_is_a_gap_with_a_place(what: str) -> None:
    [gap] = gaps(MADE_UP[what])
    assert gap.code == "not-compiled"
    assert gap.message == f"the {what} in 'S'"
    assert gap.span is not None
    assert gap.hint is not None


def test_what_nets_and_maude_do_not_know_is_a_gap() -> None:
    for what, program in MADE_UP.items():
        name = what.replace("aggregate made_up", "aggregate 'made_up'")
        [in_maude] = ENGINES["maude"].gaps(program)
        assert in_maude.message == f"the {name} of 'S' has no counterpart in Maude"
    for what in ("operator MadeUpPattern", "window MadeUpWindow"):
        [in_net] = ENGINES["petri"].gaps(MADE_UP[what])
        assert in_net.message == f"the {what} of 'S' is not drawn as a net"


def test_the_reference_refuses_what_it_does_not_know() -> None:
    for program in (*MADE_UP.values(), EXPRESSION):
        with pytest.raises((KeyError, TypeError)):
            _take_one(program)


def _take_one(program: ResolvedProgram) -> None:
    machine = Machine(program)
    machine.start(0)
    machine.take(cep.Event("A", 1, {"i": 1}))


def test_printers_and_serializers_refuse_what_they_do_not_know() -> None:
    made_up = MadeUpWindow(2)
    tree = program_of("select i as x from A").tree
    tree = replace(
        tree, declarations=(tree.declarations[0], replace(tree.statements[0], window=made_up))
    )
    with pytest.raises((KeyError, TypeError)):
        EPL.print_program(tree)
    with pytest.raises(ProgramError):
        from_json(to_json(tree))
    with pytest.raises(TypeError):
        window_of(made_up)


def test_of_what_nobody_knows_analyses_expect_the_worst() -> None:
    def plan_of(program: ResolvedProgram) -> StatementPlan:
        [plan] = plan_program(program, "reference")
        return plan

    operator = plan_of(MADE_UP["operator MadeUpPattern"])
    assert operator.split.by is None
    assert operator.retention.spans == {"A": None}
    assert not operator.retention.is_bounded
    assert operator.waits_for_time
    window = plan_of(MADE_UP["window MadeUpWindow"])
    assert window.split.by is None
    assert window.retention.spans == {"A": None}
    assert not window.retention.is_bounded
    assert window.waits_for_time
    assert not plan_of(MADE_UP["aggregate made_up"]).retention.is_bounded


@pytest.mark.parametrize("distinct", [False, True])
def test_an_unknown_aggregate_may_remember_what_has_left_the_window(distinct: bool) -> None:
    made_up = Aggregate("made_up", X, distinct=distinct, type=INT)
    over_time = with_column(statement_of(f"{SUM}#time(1 sec)"), made_up)
    [plan] = plan_program(alone(over_time), "reference")
    assert plan.retention.spans == {"A": None}
    assert "made_up" in plan.retention.for_ever["A"]


TIMED = """
    @EventTime('ts', unit='seconds') create schema T (ts long);
    @Name('S') insert into O select b.ts as x from pattern [every a=T -> b=T(b.ts - a.ts <= 5)];
"""


def test_an_unknown_operator_around_conditions_on_the_time_can_take_any_time() -> None:
    resolved = cep.parse(TIMED).resolve()
    [known] = plan_program(resolved, "reference")
    assert known.retention.spans != {"T": None}
    made_up = replace(resolved, statements=(with_pattern(resolved.statements[0]),))
    for analysis in ANALYSES.values():
        list(analysis(graph_of(made_up)))
    [plan] = plan_program(made_up, "reference")
    assert plan.retention.spans == {"T": None}


def test_nobody_knows_how_long_runs_with_an_unknown_operator_in_them_take() -> None:
    text = TIMED.replace("-> b=T(", "-> c=T -> b=T(")
    resolved = cep.parse(text).resolve()
    [statement] = resolved.statements
    assert isinstance(statement.pattern, FollowedBy)
    first, middle, last = statement.pattern.parts
    parts = (first, MadeUpPattern(middle), last)
    made_up = replace(statement, pattern=FollowedBy(parts))
    [plan] = plan_program(replace(resolved, statements=(made_up,)), "reference")
    assert plan.retention.spans == {"T": None}


def test_of_an_unknown_window_nobody_says_that_a_cycle_through_it_is_endless() -> None:
    resolved = cep.parse("create schema A (i int); insert into A select i from A").resolve()
    made_up = replace(resolved, statements=(with_window(resolved.statements[0]),))
    for program, codes in ((resolved, ["endless-cycle"]), (made_up, ["cycle"])):
        assert [finding.code for finding in cycles.find(graph_of(program))] == codes


def test_findings_about_an_unknown_window_speak_no_python() -> None:
    [finding] = state.find(graph_of(MADE_UP["window MadeUpWindow"]))
    assert finding.code == "unbounded-state"
    assert "MadeUpWindow" not in finding.message
    assert finding.span is not None


def test_what_an_unknown_operator_reads_travels_to_it() -> None:
    statement = statement_of("select a.i as x from pattern [every a=A]")
    [shown] = statement_of("select a.l as x from pattern [every a=A]").columns
    assert statement.pattern is not None
    made_up = replace(statement, pattern=MadeUpPattern(statement.pattern, shown.expr))
    [plan] = plan_program(alone(made_up), "reference")
    assert plan.columns == {"A": ("i", "l")}


@pytest.mark.parametrize("kind", [nodes.Unknown, MadeUpNode])
def test_an_unknown_node_of_the_normal_form_may_compare_all_events(
    kind: type[nodes.Unknown | MadeUpNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(nodes._PARTS, MadeUpNode, ("parts",))
    pattern = "every a=A(i > 1) -> b=A(i = a.i and l > 1)"
    statement = statement_of(f"select a.i as x from pattern [{pattern}]")
    known = normalize_statement(statement)
    assert statement.pattern is not None
    assert isinstance(known.source, nodes.Sequence)
    first, second = known.source.parts
    made_up = kind(statement.pattern, (second,))
    unknown = replace(known, source=nodes.Sequence((first, made_up)))
    types = program_of(ROWS).resolve().types
    for normal, is_known in ((known, True), (unknown, False)):
        for module in (keys, pushdown):
            monkeypatch.setattr(module, "normalize_statement", lambda _, found=normal: found)
        assert (keys.split_of(statement, types).by is not None) == is_known
        assert (pushdown.early_filters(statement, types)["A"] is not None) == is_known
        tags = [event.tag for event in keys.surely_taken(normal.source)]
        assert tags == (["a", "b"] if is_known else ["a"])


def test_nobody_guesses_which_tags_an_unknown_operator_binds() -> None:
    statement = program_of("select a.i as x from pattern [a=A(i > 1)]").tree.statements[0]
    assert isinstance(statement.source, PatternSource)
    types = program_of(ROWS).resolve().types
    with pytest.raises(TypeError, match="operator MadeUpPattern"):
        resolve_pattern(MadeUpPattern(statement.source.pattern), types, [])


def test_every_offer_is_made_by_some_engine() -> None:
    assert {offer for engine in ENGINES.values() for offer in engine.offers} == set(Offer)
