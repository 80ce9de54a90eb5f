"""Comparisons with null in statements, which nothing satisfies: `x = null` is unknown whatever x is.

What is seen: comparisons with the word null, and null in the list of an `in`. What is not seen:
attributes that happen to be null.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.errors import Diagnostic, warning
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Binary, Cast, Expr, InList, Literal, walk
from cepheid.program.graph import Graph

_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


def find(graph: Graph) -> Iterator[Diagnostic]:
    for statement in graph.statements:
        for _, whole in statement.expressions:
            for expr in walk(whole):
                yield from _compared(expr)


def _compared(expr: Expr) -> Iterator[Diagnostic]:
    if isinstance(expr, Binary) and is_null_comparison(expr):
        value = expr.right if _is_null(expr.left) else expr.left
        test = "is not null" if expr.operator == "!=" else "is null"
        fact = f"`{print_expr(expr)}` is never true: nothing compares with null"
        yield warning("null-comparison", fact, expr.span, f"write `{print_expr(value)} {test}`")
    elif isinstance(expr, InList) and any(map(_is_null, expr.items)):
        what = "makes `not in` never true" if expr.negated else "is in the list in vain"
        also = "" if expr.negated else f", and add `or {print_expr(expr.operand)} is null`"
        hint = f"leave it out of the list{also}"
        yield warning("null-comparison", f"null {what}", expr.span, hint)


def is_null_comparison(expr: Expr) -> bool:
    """Whether it compares with the word null, which gives neither true nor false."""
    if not isinstance(expr, Binary) or expr.operator not in _COMPARISONS:
        return False
    return _is_null(expr.left) or _is_null(expr.right)


def _is_null(expr: Expr) -> bool:
    expr = expr.operand if isinstance(expr, Cast) else expr
    return isinstance(expr, Literal) and expr.value is None
