"""Expressions: what binds to what, and what the words mean."""

from __future__ import annotations

import pytest

from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    STRING,
    ArrayType,
    EventRef,
)
from cepheid.expr.tree import (
    Aggregate,
    And,
    Binary,
    BinaryOperator,
    Call,
    Case,
    Cast,
    Expr,
    InList,
    InRange,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    Part,
    Ref,
    Regexp,
    walk,
)
from cepheid.lang.epl.parser import parse
from cepheid.lang.epl.printer import print_expr
from cepheid.program.tree import SelectExpr


def expr_of(text: str) -> Expr:
    parsed = parse(f"select {text} as it from A")
    assert parsed.problems == ()
    item = parsed.tree.statements[0].select[0]
    assert isinstance(item, SelectExpr)
    return item.expr


def ref(path: str) -> Ref:
    return Ref(tuple(map(Part, path.split("."))))


def num(value: int) -> Literal:
    return Literal(value, type=INT)


def text_of(value: str) -> Literal:
    return Literal(value, type=STRING)


def op(left: Expr, operator: BinaryOperator, right: Expr) -> Binary:
    return Binary(operator, left, right)


A, B, C, D = map(ref, "abcd")
TRUE = Literal(True, type=BOOLEAN)

TREES: dict[str, Expr] = {
    # literals
    "2147483647": num(2147483647),
    "-2147483648": num(-2147483648),
    "2147483648": Literal(2147483648, type=LONG),
    "1L": Literal(1, type=LONG),
    "-9223372036854775808": Literal(-(2**63), type=LONG),
    "1.0": Literal(1.0, type=DOUBLE),
    "1e3": Literal(1000.0, type=DOUBLE),
    "5d": Literal(5.0, type=DOUBLE),
    ".5": Literal(0.5, type=DOUBLE),
    "1.5f": Literal(1.5, type=FLOAT),
    "0.1f": Literal(0.10000000149011612, type=FLOAT),
    "TRUE": TRUE,
    "null": Literal(None, type=NULL),
    "'it\\'s'": text_of("it's"),
    '"it\'s"': text_of("it's"),
    "'\\\\\\n\\t\\u00e4\\ud83d\\ude00'": text_of("\\\n\tä😀"),
    # names
    "a[0].x.y": Ref((Part("a", 0), Part("x"), Part("y"))),
    "`select`.from": ref("select.from"),
    "count": ref("count"),
    "last + min": op(ref("last"), "+", ref("min")),
    # precedence, loosest first
    "a or b and c": Or((A, And((B, C)))),
    "(a or b) and c": And((Or((A, B)), C)),
    "a or b or c": Or((A, B, C)),
    "a or (b or c)": Or((A, Or((B, C)))),
    "a and b and c and d": And((A, B, C, D)),
    "(a and b) and c": And((And((A, B)), C)),
    "not a and b": And((Not(A), B)),
    "not a = b": Not(op(A, "=", B)),
    "not (a and b)": Not(And((A, B))),
    "not not a": Not(Not(A)),
    "a = (not b)": op(A, "=", Not(B)),
    "a || b = c": op(op(A, "||", B), "=", C),
    "a || b + c": op(A, "||", op(B, "+", C)),
    "a - b - c": op(op(A, "-", B), "-", C),
    "a - (b - c)": op(A, "-", op(B, "-", C)),
    "a + b * c": op(A, "+", op(B, "*", C)),
    "(a + b) * c": op(op(A, "+", B), "*", C),
    "a / b % c": op(op(A, "/", B), "%", C),
    "-a * b": op(Negate(A), "*", B),
    "-(a * b)": Negate(op(A, "*", B)),
    "-(-a)": Negate(Negate(A)),
    "- -5": num(5),
    "-(5)": num(-5),
    "a-5": op(A, "-", num(5)),
    "a - -5": op(A, "-", num(-5)),
    "(a < b) = c": op(op(A, "<", B), "=", C),
    "a <> b": op(A, "!=", B),
    "a is null": op(A, "is", Literal(None, type=NULL)),
    "a is not b and c": And((op(A, "is not", B), C)),
    # predicates
    "a in (1, 2)": InList(A, (num(1), num(2))),
    "a + b not in (c)": InList(op(A, "+", B), (C,), negated=True),
    "a in [1:2]": InRange(A, num(1), num(2)),
    "a between 1 and 2 and b": And((InRange(A, num(1), num(2)), B)),
    "a not between b + 1 and c": InRange(A, op(B, "+", num(1)), C, negated=True),
    "a in (1:2]": InRange(A, num(1), num(2), include_low=False),
    "a in [b:c)": InRange(A, B, C, include_high=False),
    "a not in (b:c)": InRange(A, B, C, include_low=False, include_high=False, negated=True),
    "not a in (b)": Not(InList(A, (B,))),
    "a like 'x%'": Like(A, text_of("x%")),
    "a not like b || c escape '!'": Like(A, op(B, "||", C), "!", negated=True),
    "a regexp 'x+' or b": Or((Regexp(A, text_of("x+")), B)),
    # calls
    "COALESCE(a, 1)": Call("coalesce", (A, num(1))),
    "current_timestamp": Call("current_timestamp", ()),
    "current_timestamp()": Call("current_timestamp", ()),
    "count(*)": Aggregate("count", None),
    "count(distinct a)": Aggregate("count", A, distinct=True),
    "Sum(a.b + 1)": Aggregate("sum", op(ref("a.b"), "+", num(1))),
    "first(a)": Aggregate("first", A),
    "max(a)": Aggregate("max", A),
    "max(a, b, c)": Call("max", (A, B, C)),
    "istream()": Call("istream", ()),
    "cast(a, Integer)": Cast(A, INT),
    "cast(a as bool)": Cast(A, BOOLEAN),
    "cast(a, T[])": Cast(A, ArrayType(EventRef("T"))),
    "case when a then b else c end": Case(None, ((A, B),), C),
    "case a when 1 then b when 2 then c end": Case(A, ((num(1), B), (num(2), C)), None),
    "case when end then end end + 1": op(
        Case(None, ((ref("end"), ref("end")),), None), "+", num(1)
    ),
}

CANONICAL = {
    "((a + b)) * (c)": "(a + b) * c",
    "(a * b) + c": "a * b + c",
    "a <> 3000000000": "a != 3000000000L",
    "not (a) and (b or c)": "not a and (b or c)",
    "(a and b) or (c and d)": "a and b or c and d",
    "a IN [1:2]": "a between 1 and 2",
    'NOT a Like "x"': "not a like 'x'",
    "0.1f": "0.1f",
    "1E2": "100.0",
    "Max(DISTINCT a)": "max(distinct a)",
    "`plain`.`not plain`": "plain.`not plain`",
    "`current_timestamp`": "`current_timestamp`",
    "'a\"b\\u0007'": "'a\"b\\u0007'",
}


@pytest.mark.parametrize("text", TREES)
def test_text_makes_the_tree(text: str) -> None:
    assert expr_of(text) == TREES[text]


@pytest.mark.parametrize("text", TREES)
def test_the_printed_tree_reads_back(text: str) -> None:
    assert expr_of(print_expr(TREES[text])) == TREES[text]


@pytest.mark.parametrize("text", CANONICAL)
def test_printing_is_canonical(text: str) -> None:
    assert print_expr(expr_of(text)) == CANONICAL[text]


def test_every_node_knows_its_place() -> None:
    for text in TREES:
        for node in walk(expr_of(text)):
            assert node.span is not None
            assert node.span.column >= len("select ") + 1


def test_a_place_covers_the_node_and_its_parentheses() -> None:
    product = expr_of("(a + b) * c")
    assert isinstance(product, Binary)
    assert product.left.span is not None
    assert (product.left.span.column, product.left.span.end_column) == (8, 15)


def test_a_flat_chain_may_be_long() -> None:
    chain = expr_of(" and ".join(["a"] * 5_000))
    assert isinstance(chain, And)
    assert len(chain.operands) == 5_000
