"""Formatting graph queries keeps the meaning and the comments, and changes nothing the second time."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import ProgramError
from cepheid.lang.queries.formatter import format_text
from cepheid.lang.queries.parser import parse, tokens_of
from cepheid.lang.queries.printer import print_queries
from cepheid.query.tree import QueryTree
from tests.effort import examples
from tests.lang.test_queries_round_trip import TEXT, queries
from tests.live.worlds import metamodel, query_tree

UGLY = """// the file

// of hosts
@Constraint(severity="warning", key={ host,b }, message = "$host.id$ is full") // which
pattern full(host:Host /* its host */, n) { // head
 Host.cpu ( host , n ) /* its load */; check( n == 90 and -n<- 3 and not (n in[1:5)) and abs (n)-3>1 )
 // last
} /* or */ or // else
{
  find next+ (host,_); ; // near
  m==count find q(a)  ;
  neg find   q(a); m!=-3 // three
  /* own */ }; // end
private pattern b( ) {}
// the end

// really
"""
PRETTY = """// the file

// of hosts
@Constraint(severity = "warning", key = {host, b}, message = "$host.id$ is full")  // which
/* its host */
pattern full(host : Host, n) {  // head
    Host.cpu(host, n);  /* its load */
    check(n == 90 and -n < -3 and not (n in [1:5)) and abs(n) - 3 > 1);
    // last
    /* or */
    // else
} or {
    find next+(host, _);  // near
    m == count find q(a);
    neg find q(a);
    m != -3;  // three
    /* own */
}  // end

private pattern b() {
}

// the end

// really
"""


def comments_of(text: str) -> Counter[str]:
    return Counter(comment.text for comment in tokens_of(text).comments)


def test_comments_stay_where_they_were_meant() -> None:
    assert format_text(UGLY) == PRETTY
    assert format_text(PRETTY) == PRETTY


def test_what_is_printed_is_in_canonical_form() -> None:
    assert format_text(TEXT) == TEXT


def test_comments_without_queries_stay() -> None:
    assert format_text("") == ""
    assert format_text("\n// a\n\n\n/* b */ // c\n") == "// a\n\n/* b */\n// c\n"


def test_a_text_with_errors_is_refused_with_their_places() -> None:
    with pytest.raises(ProgramError, match=r"a\.vql:1:27"):
        format_text("pattern a(x) { Host(x); x = 3; }", "a.vql")


@st.composite
def strewn(draw: st.DrawFn, trees: st.SearchStrategy[QueryTree]) -> tuple[QueryTree, str]:
    """Queries, and their text with comments between its tokens."""
    tree = draw(trees)
    words = ["", *(token.text for token in tokens_of(print_queries(tree)).tokens)]
    number = iter(range(len(words) * 2))
    pieces = []
    for word in words:
        pieces.append(word)
        for _ in range(draw(st.sampled_from([0] * 12 + [1, 2]))):
            shape = draw(
                st.sampled_from([" // {}\n", "\n// {}\n", " /* {} */ ", "\n\n/* {}\n*/\n\n"])
            )
            pieces.append(shape.format(next(number)))
    return tree, draw(st.sampled_from([" ", "\n"])).join(pieces)


def over_a_metamodel(rng: Random) -> QueryTree:
    return query_tree(rng, metamodel(rng))


WRITTEN = st.lists(queries(), max_size=3, unique_by=lambda q: q.name).map(tuple).map(QueryTree)
GENERATED = st.integers(0, 10**9).map(Random).map(over_a_metamodel)


@examples(200)
@given(strewn(WRITTEN | GENERATED))
def test_formatting_loses_nothing_and_is_stable(made: tuple[QueryTree, str]) -> None:
    tree, text = made
    formatted = format_text(text)
    assert parse(formatted).tree == tree
    assert comments_of(formatted) == comments_of(text)
    assert format_text(formatted) == formatted


@examples(100)
@given(GENERATED)
def test_the_printer_writes_the_canonical_form(tree: QueryTree) -> None:
    assert format_text(print_queries(tree)) == print_queries(tree)
