"""Every tree that a parser can make, the builder can make; and what it makes reads back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import singledispatch
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.located import Located
from cepheid.core.types import Attribute
from cepheid.expr.functions import FUNCTIONS
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Call, Expr
from cepheid.lang.epl.parser import parse
from cepheid.lang.epl.printer import print_pattern, print_program
from cepheid.pattern.tree import Pattern
from cepheid.program.tree import Annotation, Context, ProgramTree, Schema, SelectExpr
from tests.build.rebuild import declaration, expression, pattern_of
from tests.effort import examples
from tests.strategies import expressions, patterns, program_trees

# What the grammar allows and the builder refuses, or cannot say, is mended first: calls with the
# wrong arguments, two arguments, attributes or keys of one name.


@singledispatch
def mended(value: Any) -> Any:
    return value


@mended.register(tuple)
def _(value: tuple[Any, ...]) -> Any:
    return tuple(map(mended, value))


@mended.register(Expr)
@mended.register(Pattern)
@mended.register(Located)
@mended.register(ProgramTree)
def _(value: Any) -> Any:
    changes = {f.name: mended(getattr(value, f.name)) for f in fields(value)}
    return _sound(replace(value, **changes))


@singledispatch
def _sound(node: Any) -> Any:
    return node


@_sound.register
def _(node: Call) -> Any:
    function = FUNCTIONS.get(node.function)
    if function and function.accepts_count(len(node.arguments)):
        return node
    return Call("coalesce", node.arguments) if node.arguments else Call("pi", ())


@_sound.register
def _(node: Annotation) -> Any:
    unnamed = [argument for argument in node.arguments if argument[0] is None]
    named = {name: value for name, value in node.arguments if name is not None}
    return replace(node, arguments=(*unnamed, *named.items()))


@_sound.register
def _(node: Schema) -> Any:
    types = {attribute.name: attribute.type for attribute in node.attributes}
    return replace(node, attributes=tuple(Attribute(*item) for item in types.items()))


@_sound.register
def _(node: Context) -> Any:
    return replace(node, keys=tuple({key.event_type: key for key in node.keys}.values()))


def read(text: str) -> Expr:
    (statement,) = parse(f"select {text} as x from A").tree.statements
    (item,) = statement.select
    assert isinstance(item, SelectExpr)
    return item.expr


@examples(150)
@given(expressions().map(mended))
def test_any_expression_can_be_built(tree: Expr) -> None:
    built = expression(tree)
    assert built.tree == tree
    assert str(built) == print_expr(tree)


@examples(100)
@given(patterns().map(mended))
def test_any_pattern_can_be_built(tree: Pattern) -> None:
    built = pattern_of(tree)
    assert built.tree == tree
    assert str(built) == print_pattern(tree)


@examples(100)
@given(program_trees().map(mended))
def test_any_program_can_be_built(tree: ProgramTree) -> None:
    built = cep.compose(*map(declaration, tree.declarations))
    assert built == cep.Program(tree)
    assert str(built) == print_program(tree)


OPERATORS: dict[str, Callable[[cep.Expression, cep.Expression], cep.Expression]] = {
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "not": lambda x, y: ~x & y,
    "minus": lambda x, y: -(x - y),
    "times": lambda x, y: x * y / 2,
    "equal": lambda x, y: x == y,
    "less": lambda x, y: x < y,
    "joined": lambda x, y: x.concat(y, "!"),
    "between": lambda x, y: x.between(y, 5),
    "in": lambda x, y: x.isin(y, "z"),
}


@pytest.mark.parametrize("operator", OPERATORS)
@examples(30)
@given(data=st.data())
def test_what_an_operator_makes_reads_back_as_printed(operator: str, data: st.DataObject) -> None:
    left, right = (expression(data.draw(expressions().map(mended))) for _ in range(2))
    built = OPERATORS[operator](left, right)
    assert read(str(built)) == built.tree


@examples(60)
@given(patterns().map(mended), patterns().map(mended))
def test_what_a_pattern_method_makes_reads_back_as_printed(left: Pattern, right: Pattern) -> None:
    x, y = pattern_of(left), pattern_of(right)
    for built in (x.then(y), x.and_(y), x.or_(y), x.until(y), x.within(3).then(y).times(2)):
        (statement,) = parse(f"select * from pattern [{built}]").tree.statements
        assert statement.source == cep.match(built).tree.source
