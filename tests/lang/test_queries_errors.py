"""What is wrong with the text of a graph query: every finding with its place, its fact and a hint."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.lang.queries.parser import parse
from cepheid.lang.queries.printer import print_queries
from tests.effort import examples


def problems_of(text: str) -> list[str]:
    """`line:column code: message (hint)`."""
    return [
        str(problem)
        .removeprefix("<text>:")
        .replace(": error[", " ")
        .replace(": warning[", " ")
        .replace("]:", ":", 1)
        for problem in parse(text).problems
    ]


def in_body(text: str) -> list[str]:
    return problems_of(f"pattern p(x : A) {{\n{text}\n}}")


QUERIES = {
    "patern a(h : Host) { Host(h); }": "1:1 syntax: expected 'pattern' at the start of a query, found"
    " 'patern' (did you mean 'pattern' instead of 'patern'?)",
    "private patern a() {}": "1:9 syntax: expected 'pattern' at the start of a query, found 'patern'"
    " (did you mean 'pattern' instead of 'patern'?)",
    "pattern (h) {}": "1:9 syntax: expected the name of the pattern, found '('",
    "pattern a {}": "1:11 syntax: expected '(' and the parameters of the pattern, found '{'",
    "pattern a(h : Host { Host(h); }": "1:20 syntax: expected ')' to close the list of parameters that"
    " starts at line 1, found '{'",
    "pattern a(h) Host(h);": "1:14 syntax: expected '{' and the constraints of the pattern, found"
    " 'Host'",
    "pattern a(h) { Host(h);": "1:24 syntax: expected '}' to close the body that starts at line 1,"
    " found the end of the text",
    "pattern a(h) { Host(h);\npattern b(h) { Host(h); }": "2:1 syntax: expected '}' to close the body"
    " that starts at line 1, found 'pattern'",
    "pattern a(h) { } or Host(h);": "1:21 syntax: expected '{' and the constraints of the pattern,"
    " found 'Host'",
    "pattern a(h, h) { A(h); }": "1:14 duplicate-name: parameter 'h' is declared twice"
    " (the first is at <text>:1:11)",
    "pattern a() {}\npattern a() {}": "2:1 duplicate-name: pattern 'a' is declared twice"
    " (the first is at <text>:1:1)",
    "@Constraint(key = {h}) pattern a(h) { A(h); }": "1:1 bad-annotation: @Constraint needs a message"
    ' (@Constraint(key = {x}, message = "$x.name$ is wrong", severity = "error"))',
    "@Constraint(key = {h}, mesage = 'a', message = 'b') pattern a(h) { A(h); }": "1:24"
    " bad-annotation: @Constraint has no 'mesage' (did you mean 'message'?)",
    "@Constraint(key = {h}, message = {'a', 'b'}) pattern a(h) { A(h); }": "1:34 bad-annotation: a"
    " message is one string",
    "@Constraint(key = {h}, message = 'b', severity = 'bad') pattern a(h) { A(h); }": "1:50"
    " bad-annotation: no severity 'bad' (severities: error, info, warning)",
    "@Constraint(key = h, message = 'b') @Constraint(key = h, message = 'c') pattern a(h) { A(h); }": (
        "1:37 duplicate-name: @Constraint is declared twice (the first is at <text>:1:1)"
    ),
    "@Constrant(x) pattern a(h) { A(h); }": "1:1 bad-annotation: no annotation '@Constrant'"
    " (did you mean '@Constraint'?)",
}

CONSTRAINTS = {
    "A(x, y)": "2:1 wrong-arguments: 'A' takes 1 argument, not 2 (usage: A(object))",
    "A.b(x)": "2:1 wrong-arguments: 'A.b' takes 2 arguments, not 1 (usage: A.b(source, target))",
    "A.(x, y)": "2:3 syntax: expected the name of a feature, found '('",
    "find (x)": "2:6 syntax: expected the name of a pattern after 'find', found '('",
    "find q x": "2:8 syntax: expected '(' and the arguments of the pattern, found 'x'",
    "find q(x y)": "2:10 syntax: expected ')' to close the list of arguments that starts at line 2,"
    " found 'y'",
    "neg fnd q(x)": "2:5 syntax: expected 'find', found 'fnd' (did you mean 'find' instead of 'fnd'?)",
    "check(x.a >)": "2:12 syntax: expected an expression, found ')'",
    "check(x.a > 1": "3:1 syntax: expected ')' to close the check that starts at line 2, found '}'",
    "x = 3": "2:3 syntax: expected '==' or '!=', found '=' (write '==' to compare)",
    "x == count q(x)": "2:12 syntax: expected 'find', found 'q'",
    "x == eval x": "2:11 syntax: expected '(', found 'x'",
    "x": "3:1 syntax: expected '==' or '!=', found '}'",
    "A(x) A(y)": "2:6 syntax: expected ';' after a constraint, found 'A'",
    "A(select)": "2:3 syntax: expected a variable or a constant, found 'select'"
    " ('select' is a reserved word; write `select`)",
    "check(x.a > 'b)": "2:13 syntax: this string is not closed on its line (close it with ')",
    "A(x) ?": "2:6 syntax: unexpected character '?'",
    "x == 99999999999999999999": "2:6 bad-number: 99999999999999999999 does not fit long",
}


@pytest.mark.parametrize("text", QUERIES)
def test_a_mistake_in_a_query_is_reported_with_its_place(text: str) -> None:
    assert QUERIES[text] in problems_of(text)
    assert len(problems_of(text)) <= 2


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_a_mistake_in_a_constraint_is_reported_with_its_place(text: str) -> None:
    assert in_body(text)[0] == CONSTRAINTS[text]


def test_one_mistake_hides_no_other() -> None:
    text = """
pattern a(x : A) { A(x, y); B(x); find (x); }
patern b(x : A) { A(x); }
pattern c(x : A) { check(x.a >); x = 1 }
"""
    assert [p.split(":", 2)[0] for p in problems_of(text)] == ["2", "2", "3", "4", "4"]
    parsed = parse(text)
    assert [q.name for q in parsed.tree.queries] == ["a", "c"]
    assert parsed.broken == {"a", "c"}


@examples(300)
@given(st.text("pattern findor{}();.=,+\"'@x1 \n", max_size=60))
def test_no_text_breaks_the_parser(text: str) -> None:
    parsed = parse(text)
    assert all(p.span is not None for p in parsed.problems)
    print_queries(parsed.tree)


@examples(200)
@given(st.data())
def test_a_text_that_is_cut_anywhere_is_reported(data: st.DataObject) -> None:
    whole = (
        "@Constraint(key = {x}, message = 'm') pattern p(x : A) { A.b(x, 3); neg find q+(x, _); }"
    )
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
    assert parse(cut).problems
