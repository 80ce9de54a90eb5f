"""Expressions as text."""

from cepheid.expr.tree import Expr


def print_expr(expr: Expr) -> str:
    return repr(expr)
