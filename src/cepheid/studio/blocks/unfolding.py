"""A line of text taken apart into the blocks that say the same: what has no block stays a line."""

from __future__ import annotations

from functools import reduce

from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Aggregate, And, Binary, Expr, Literal, Not, Or, Ref
from cepheid.studio.blocks import lines
from cepheid.studio.blocks.block import Block, block, depth, refuse, take_places
from cepheid.studio.blocks.drawing import expression
from cepheid.studio.blocks.expressions import AGGREGATES, ARITHMETIC, COMPARISONS
from cepheid.studio.blocks.shapes import ANY_VALUE, SHAPES

_DEEPEST = 60  # levels of the data of a block, which stands inside of others
_GIVES = {shape.type: shape.gives for shape in SHAPES}


def unfold(text: str) -> Block:
    """UsageError where it is no expression, or is too much of one."""
    expr: Expr = lines.clause("where", f"where {text}", "a line")
    drawn = _block(expr)
    if depth(drawn) > _DEEPEST:
        refuse("this is too much to be taken apart")
    list(take_places(drawn))
    return drawn


def _block(expr: Expr) -> Block:
    match expr:
        case And(operands=operands):
            return _joined("and", And, operands)
        case Or(operands=operands):
            return _joined("or", Or, operands)
        case Not(operand=operand):
            return block("negation", A=_in(("truth",), operand))
        case Binary(operator=operator, left=left, right=right) if operator in COMPARISONS:
            return _between("compare", operator, ANY_VALUE, left, right)
        case Binary(operator=operator, left=left, right=right) if operator in ARITHMETIC:
            return _between("arithmetic", operator, ("number",), left, right)
        case Aggregate() if expr == Aggregate(expr.function, expr.argument):
            return _aggregate(expr)
        case Ref():
            return block("property", {"TEXT": print_expr(expr)})
        case Literal():
            return block("value", {"TEXT": print_expr(expr)})
    return expression(expr)


def _in(kinds: tuple[str, ...], expr: Expr) -> Block:
    """What stands in a slot for values of some kinds; a line fits everywhere."""
    found = _block(expr)
    return found if _GIVES[found["type"]] in ("any", *kinds) else expression(expr)


def _joined(word: str, kind: type[Expr], operands: tuple[Expr, ...]) -> Block:
    """Blocks of one kind in one another are one chain: what has parentheses in it stays a line."""
    parts = (expression(o) if isinstance(o, kind) else _in(("truth",), o) for o in operands)
    return reduce(lambda one, other: block("logic", {"OP": word}, A=one, B=other), parts)


def _between(type: str, operator: str, kinds: tuple[str, ...], left: Expr, right: Expr) -> Block:
    return block(type, {"OP": operator}, A=_in(kinds, left), B=_in(kinds, right))


def _aggregate(expr: Aggregate) -> Block:
    if expr.function not in AGGREGATES:
        return expression(expr)
    inner = expression(None) if expr.argument is None else _in(ANY_VALUE, expr.argument)
    return block("aggregate", {"FUNCTION": expr.function}, A=inner)
