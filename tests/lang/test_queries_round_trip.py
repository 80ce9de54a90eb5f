"""Graph queries: what the printer writes, the parser reads back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from cepheid.core.types import NULL
from cepheid.errors import Severity
from cepheid.lang.queries.parser import parse
from cepheid.lang.queries.printer import print_queries, print_query
from cepheid.query.tree import (
    Body,
    Check,
    Constraint,
    Count,
    Edge,
    Equality,
    Eval,
    Find,
    IsA,
    Negation,
    Parameter,
    Query,
    QueryTree,
    Rule,
    Term,
    Variable,
)
from tests.effort import examples
from tests.strategies import NAMES, TEXTS, expressions, literals, optional, several

WORDS = NAMES | st.sampled_from(["_", "_x", "find", "neg", "check", "count", "eval", "private"])


def terms() -> SearchStrategy[Term]:
    return WORDS.map(Variable) | literals().filter(lambda literal: literal.type != NULL)


def finds() -> SearchStrategy[Find]:
    return st.builds(Find, WORDS, several(terms(), 0), st.booleans())


def constraints() -> SearchStrategy[Constraint]:
    return st.one_of(
        st.builds(IsA, WORDS, terms()),
        st.builds(Edge, WORDS, several(WORDS), terms(), terms()),
        st.builds(Equality, terms(), terms(), st.booleans()),
        finds(),
        finds().map(Negation),
        st.builds(Count, terms(), finds()),
        st.builds(Check, expressions()),
        st.builds(Eval, terms(), expressions()),
    )


def rules() -> SearchStrategy[Rule]:
    return st.builds(Rule, several(WORDS), TEXTS, st.sampled_from(Severity))


def queries() -> SearchStrategy[Query]:
    parameters = st.lists(
        st.builds(Parameter, WORDS, optional(WORDS)), max_size=3, unique_by=lambda p: p.name
    ).map(tuple)
    bodies = several(st.builds(Body, several(constraints(), 0)))
    return st.builds(Query, WORDS, parameters, bodies, st.booleans(), optional(rules()))


@examples(400)
@given(queries())
def test_a_query_reads_back_as_printed(query: Query) -> None:
    parsed = parse(print_query(query))
    assert parsed.problems == ()
    assert parsed.tree == QueryTree((query,))


@examples(50)
@given(st.lists(queries(), max_size=3, unique_by=lambda q: q.name).map(tuple).map(QueryTree))
def test_queries_read_back_as_printed(tree: QueryTree) -> None:
    assert parse(print_queries(tree)).tree == tree


TEXT = """\
@Constraint(key = {host}, message = '$host.id$ is full', severity = 'warning')
pattern full(host : Host) {
    Host.cpu(host, n);
    check(n > 90 and not host.id like 'x%');
} or {
    Host(host);
    0 == count find free+(host, _);
    m == eval(1 + 2);
    m != -3;
    neg find free(host, 'a');
}
"""


def test_a_printed_query_is_laid_out_line_by_line() -> None:
    assert print_queries(parse(TEXT).tree) == TEXT


def test_comments_and_other_spellings_are_read() -> None:
    text = """
    // of hosts
    @Constraint(severity = "warning", key = "host", message = "$host.id$ is full")
    pattern full(host: Host) { Host.cpu(host, n) /* its load */; check(n == 90) }
    """
    parsed = parse(text)
    assert parsed.problems == ()
    assert len(parsed.comments) == 2
    assert "check(n = 90);" in print_queries(parsed.tree)
