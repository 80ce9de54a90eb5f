"""The builder itself: nothing changes in place, mistakes are found at once and explained."""

from __future__ import annotations

import doctest
import pkgutil
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from datetime import timedelta
from functools import reduce
from importlib import import_module
from typing import Any

import pytest

import cepheid as cep
from cepheid import build
from cepheid.lang.epl.parser import parse
from cepheid.lang.epl.printer import print_declaration
from cepheid.program.tree import PatternSource, SelectExpr, Statement, StreamSource

x = cep.col("x")
a = cep.event("a", "A")
query = cep.stream("A")
# What the type checker would refuse, too.
anything: Any = cep


def refusal(make: Callable[[], object]) -> cep.Diagnostic:
    with pytest.raises(cep.UsageError) as refused:
        make()
    (diagnostic,) = refused.value.diagnostics
    return diagnostic


REFUSED: list[tuple[Callable[[], object], str, str, str]] = [
    # what, code, fact, hint
    (lambda: a.within("3 lightyears"), "bad-period", "'3 lightyears' is not", ""),
    (lambda: a.within(-1), "bad-period", "never negative", ""),
    (lambda: a.within(timedelta(days=-1)), "bad-period", "never negative", ""),
    (lambda: a.within(float("inf")), "bad-period", "inf is not a time period", ""),
    (lambda: a.within(True), "bad-period", "true is not a time period", ""),
    (lambda: a.within("99999999999 days"), "bad-period", "longer than the calendar", ""),
    (lambda: a.within(10**400), "bad-period", "longer than the calendar", ""),
    (lambda: a.within(f"{10**400}.5 days"), "bad-period", "longer than the calendar", ""),
    (lambda: a.within(1, most=-1), "usage", "whole number from 0, not -1", ""),
    (lambda: cep.interval("1.5 months"), "bad-period", "whole number", ""),
    (lambda: a.times(3, 2, until=a), "impossible-repeat", "ends after it begins", ""),
    (lambda: a.times(2, 3), "impossible-repeat", "needs an until", "until=b"),
    (lambda: a.times(0), "impossible-repeat", "ends after it begins", ""),
    (lambda: a.times(-1), "impossible-repeat", "not -1", ""),
    (a.times, "usage", "times takes", "a.times(3)"),
    (lambda: a.times(1, 2, 3, until=a), "usage", "times takes", "a.times(3)"),
    (lambda: cep.every_distinct([], a), "usage", "needs a key", ""),
    (lambda: cep.at(hours=24), "bad-schedule", "hours go from 0 to 23, not 24", ""),
    (lambda: cep.at(minutes=[]), "bad-schedule", "empty", ""),
    (lambda: anything.at(days="monday"), "bad-schedule", "'m'", ""),
    (lambda: anything.every("A"), "usage", "'A' is not a pattern", "cep.event"),
    (lambda: anything.all_of(a, x), "usage", "is not a pattern", "cep.event"),
    (cep.sequence, "usage", "nothing to join", ""),
    (lambda: cep.event("a", ""), "usage", "'' cannot be an event type", "backquotes"),
    (lambda: cep.event("a`b", "A"), "usage", "cannot be a tag", "backquotes"),
    (lambda: anything.event("a", 5), "usage", "an event type is a text, not 5", ""),
    (lambda: cep.event("a", "A", "x > 5"), "usage", "'x > 5' is not a condition", "cep.col"),
    (lambda: cep.col("a..b"), "usage", "'a..b' is not a column", "'a[0].x'"),
    (lambda: cep.col("a."), "usage", "'a.' is not a column", ""),
    (lambda: cep.col("a[-1]"), "usage", "'a[-1]' is not a column", ""),
    (lambda: cep.col("a[9223372036854775808]"), "bad-number", "no index", ""),
    (lambda: anything.col(5), "usage", "5 is not a column", ""),
    (lambda: cep.lit(2**63), "bad-number", "does not fit a long", ""),
    (lambda: -cep.lit(-(2**31)), "bad-number", "does not fit an int", ""),
    (lambda: cep.lit(float("nan")), "bad-number", "nan cannot be written", ""),
    (lambda: cep.lit(1.5, "int"), "bad-number", "1.5 is not an int", ""),
    (lambda: cep.lit("\ud800"), "usage", "surrogate", ""),
    (lambda: cep.lit([1]), "usage", "is no literal", "int, long"),
    (lambda: cep.lit(1, "number"), "usage", "no literals of type 'number'", "int, long"),
    (lambda: x + x.desc(), "usage", "'desc' comes last", ""),  # type: ignore[operator]
    (x.isin, "usage", "no items", ""),
    (lambda: x.like("a", "!!"), "usage", "one character, not '!!'", ""),
    (lambda: x.between(1, 2, "all"), "usage", "no ends 'all'", "both, left"),  # type: ignore[arg-type]
    (lambda: x.cast("int["), "usage", "'int[' is not a type", "string, boolean"),
    (lambda: cep.fn.uper(x), "unknown-function", "no function 'uper'", "'upper'"),
    (lambda: cep.agg.total(x), "unknown-function", "no aggregate 'total'", "avg, count"),
    (lambda: cep.call("uper", x), "unknown-function", "no function 'uper'", "'upper'"),
    (lambda: cep.call("sum", x), "unknown-function", "no function 'sum'", "cep.agg.sum"),
    (lambda: cep.fn.abs(x, x), "wrong-arguments", "does not take 2", "abs(number)"),
    (lambda: cep.fn.min(x), "wrong-arguments", "does not take 1", "cep.agg.min"),
    (cep.agg.sum, "wrong-arguments", "one argument, not 0", "cep.agg.sum('x')"),
    (lambda: cep.agg.count(distinct=True), "wrong-arguments", "one argument", ""),
    (lambda: cep.case(x, x), "usage", "one operand", ""),
    (lambda: cep.window.time(0), "bad-window", "needs a period", ""),
    (lambda: cep.window.time_batch(0), "bad-window", "needs a period", ""),
    (lambda: cep.window.time_batch(1, reference=2**63), "bad-window", "does not fit", ""),
    (lambda: cep.window.length(0), "bad-window", "whole number from 1, not 0", ""),
    (lambda: cep.window.length_batch(True), "bad-window", "not true", ""),
    (lambda: anything.window.lenght(5), "unknown-window", "no data window 'lenght'", "'length'"),
    (lambda: query.window("5"), "usage", "'5' is not a data window", "cep.window"),  # type: ignore[arg-type]
    (query.select, "usage", "needs an item", ".select('*')"),
    (query.where, "usage", "no condition", ""),
    (lambda: query.where("x"), "usage", "'x' is not a condition", ""),
    (lambda: query.insert_into("B", "old"), "usage", "no stream 'old'", "irstream"),  # type: ignore[arg-type]
    (query.output, "bad-output", "needs 'every'", ""),
    (lambda: query.output("last"), "bad-output", "needs 'every'", ""),
    (lambda: query.output("latest", every=3), "bad-output", "no output mode", "'last'"),
    (lambda: query.output(every=0), "bad-output", "amount", ""),
    (lambda: query.output(every="0 seconds"), "bad-output", "amount", ""),
    (lambda: query.output(every=3, when=x), "bad-output", "`when` stands alone", ""),
    (lambda: query.output(after=3, when=x), "unsupported", "'when' goes with nothing else", ""),
    (lambda: query.limit(-1), "usage", "not -1", ""),
    (lambda: query.limit(2**63), "usage", "not 9223372036854775808", ""),
    (lambda: query.output(every=2**63), "bad-output", "not 9223372036854775808", ""),
    (lambda: query.priority(1.5), "usage", "not 1.5", ""),  # type: ignore[arg-type]
    (lambda: query.annotated("two words"), "bad-annotation", "'two words'", ""),
    (lambda: query.annotated("A", object), "bad-annotation", "argument", "lists"),
    (lambda: query.annotated("A", float("nan")), "bad-annotation", "nan", ""),
    (lambda: query.annotated("A", 10**500), "bad-number", "501 digits", ""),
    (lambda: query.annotated("A", [2**63]), "bad-number", "does not fit a long", ""),
    (lambda: query.annotated("A", b=-(2**63) - 1), "bad-number", "does not fit a long", ""),
    (lambda: query.annotated("A", "\ud800"), "usage", "surrogate", ""),
    (lambda: cep.schema("A", p={"x": "int"}), "usage", "'p' has no name", "schema"),
    (lambda: cep.schema("A", event_time=("t", "minute")), "usage", "'minute'", "'minutes'"),
    (lambda: cep.context("K"), "usage", "at least one", ""),
    (lambda: cep.context("K", A=()), "usage", "no attributes", ""),
    (lambda: cep.compose(a), "usage", "is no part of a program", "cep.match"),  # type: ignore[arg-type]
    (lambda: cep.parse("", types={"A": 5}), "usage", "does not describe", "dict"),  # type: ignore[dict-item]
]


@pytest.mark.parametrize(("make", "code", "fact", "hint"), REFUSED)
def test_a_mistake_is_refused_with_a_fact_and_a_hint(
    make: Callable[[], object], code: str, fact: str, hint: str
) -> None:
    diagnostic = refusal(make)
    assert diagnostic.code == code
    assert fact in diagnostic.message
    assert hint in (diagnostic.hint or "")


def test_an_expression_that_no_parser_would_take_is_refused() -> None:
    column = cep.col("x")
    high = reduce(lambda left, _: left + column, range(300), column)
    for make in (
        lambda: query.where(high > 0),
        lambda: query.select(high.alias("y")),
        lambda: query.order_by(high.desc()),
        lambda: cep.event("a", "A", high > 0),
        lambda: cep.match(reduce(lambda p, _: cep.every(p), range(300), a)),
    ):
        assert refusal(make).code == "too-deep"


def test_shared_parts_do_not_blow_up_the_check() -> None:
    shared = reduce(lambda e, _: e + e, range(90), x)
    cep.event("a", "A", shared > 0)


DEEP: dict[str, Callable[[cep.Expression], cep.Expression]] = {
    "sums": lambda e: 1 - e,
    "logic": lambda e: x & (x | e),
    "calls": cep.fn.abs,
    "likes": x.like,
    "ranges": lambda e: x.between(0, e),
    "lists": lambda e: x.isin(1, e),
    "cases": lambda e: cep.case().when(x > 1, e).otherwise(0),
    "casts": lambda e: e.cast("int"),
}


@pytest.mark.parametrize("what", DEEP)
def test_the_builder_takes_expressions_as_deep_as_a_text_may_be(what: str) -> None:
    built, codes = x, list[str]()
    while not codes:
        before, built = built, DEEP[what](built)
        codes = codes_of(built)
    assert codes == ["too-deep"]
    assert refusal(lambda: query.select(y=built)).code == "too-deep"
    assert parse(str(query.select(y=before))).problems == ()


def codes_of(expression: cep.Expression) -> list[str]:
    """What a parser finds in the text of the expression."""
    statement = Statement(select=(SelectExpr(expression.tree),), source=StreamSource("A"))
    return [problem.code for problem in parse(print_declaration(statement)).problems]


def test_the_builder_takes_patterns_as_deep_as_a_text_may_be() -> None:
    condition = reduce(lambda e, _: 1 - e, range(51), x) > 0
    inner = cep.event("a", "A", condition)
    fits = reduce(lambda p, _: cep.every(p), range(51), inner)
    assert parse(str(cep.match(fits))).problems == ()
    assert refusal(lambda: cep.match(cep.every(fits))).code == "too-deep"
    statement = replace(cep.match(fits).tree, source=PatternSource(cep.every(fits).tree))
    assert [p.code for p in parse(print_declaration(statement)).problems] == ["too-deep"]


def test_conditions_that_fit_may_be_too_deep_together() -> None:
    deep = (reduce(lambda e, _: 1 - e, range(101), x) > 0) | x
    query.where(deep)
    assert refusal(lambda: query.where(deep, x)).code == "too-deep"
    assert refusal(lambda: query.where(deep).where(x)).code == "too-deep"


def test_a_literal_takes_every_word_for_its_type() -> None:
    assert cep.lit(True, "bool").tree == cep.lit(True, "boolean").tree == cep.lit(True).tree


@pytest.mark.parametrize(
    "think",
    [
        lambda: bool(x > 1),
        lambda: x > 1 and x < 5,
        lambda: x > 1 or x < 5,
        lambda: not x,
        lambda: 1 < x < 5,
    ],
)
def test_an_expression_has_no_truth_value(think: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=r"write & \| ~ instead of"):
        think()


def test_a_pattern_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match=r"write \.and_\(\), \.or_\(\)"):
        bool(a)


def test_nothing_changes_in_place() -> None:
    for thing in (x, a, query, cep.schema("A"), x.alias("b"), x.desc()):
        with pytest.raises(FrozenInstanceError):
            thing.tree = None  # type: ignore[assignment, misc]


def test_every_method_gives_a_new_object() -> None:
    before = str(query), str(a), str(x)
    query.select("x").where(x > 1).named("Q").window(cep.window.keepall()).distinct()
    a.then(a).within(3)
    _ = x & x
    assert (str(query), str(a), str(x)) == before


def test_patterns_and_statements_are_equal_by_what_they_say() -> None:
    assert cep.event("a", "A") == a
    assert cep.event("b", "A") != a
    assert cep.stream("A") == query
    assert hash(cep.stream("A")) == hash(query)


def test_expressions_compare_by_their_trees_and_cannot_be_keys() -> None:
    assert isinstance(x == cep.col("x"), cep.Expression)
    assert x.tree == cep.col("x").tree
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_a_representation_shows_the_text() -> None:
    assert repr(x > 1) == "<Expression: x > 1>"
    assert repr(a.times(2)) == "<Pattern: [2] a=A>"
    assert repr(cep.schema("A", x="int")) == "<Declaration: create schema A (x int);>"


def test_namespaces_list_what_they_have() -> None:
    assert {"abs", "upper", "coalesce"} <= set(dir(cep.fn))
    assert dir(cep.agg) == sorted(dir(cep.agg))
    assert cep.fn.abs.__doc__ == "absolute value"
    assert not hasattr(cep.fn, "nothing")
    assert not hasattr(cep.window, "nothing")


MODULES = [module.name for module in pkgutil.iter_modules(build.__path__, "cepheid.build.")]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_in_the_docstrings_hold(module: str) -> None:
    assert doctest.testmod(import_module(module), extraglobs={"cep": cep}).failed == 0


def test_no_public_name_is_hidden_by_a_subpackage() -> None:
    submodules = {module.name for module in pkgutil.iter_modules(cep.__path__)}
    assert submodules & set(cep.__all__) == {
        "actions",
        "jobs",
        "live",
        "realtime",
        "spark",
        "web",
    }  # which are these very modules
