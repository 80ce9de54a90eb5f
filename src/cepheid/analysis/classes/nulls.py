"""Comparisons with NULL, which nothing satisfies: `x = NULL` is unknown whatever x is.

What is seen: comparisons with the word NULL, and NULL in the list of an IN, in queries with their subqueries, in
conditions and in arguments. What is not seen: attributes that happen to be null.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from cepheid.analysis.classes.written import text_of
from cepheid.errors import Diagnostic, warning
from cepheid.program.classes import AnyClass, ComplexClass
from cepheid.program.graph import Graph
from cepheid.sql.dialect import parse_condition, parse_select
from cepheid.sql.places import Places
from cepheid.sql.text import Sql

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def find(graph: Graph) -> Iterator[Diagnostic]:
    for declared in graph.program.tree.classes:
        for sql, tree in _trees(declared):
            yield from _compared(Places(sql), tree)


def _trees(declared: AnyClass) -> Iterator[tuple[Sql, exp.Expr]]:
    if isinstance(declared, ComplexClass):
        yield declared.select, parse_select(declared.select)
        yield declared.occurring, parse_condition(declared.occurring)
    for reaction in declared.reactions:
        for sql in (reaction.condition, *reaction.arguments):
            yield sql, parse_condition(sql)


def _compared(places: Places, tree: exp.Expr) -> Iterator[Diagnostic]:
    for node in tree.find_all(*_COMPARISONS):
        sides = (node.this, node.expression)
        if any(isinstance(side.unnest(), exp.Null) for side in sides):
            value = next((s for s in sides if not isinstance(s.unnest(), exp.Null)), sides[0])
            test = "IS NOT NULL" if isinstance(node, exp.NEQ) else "IS NULL"
            fact = f"'{text_of(places, node)}' is never true: nothing compares with NULL"
            hint = f"write {text_of(places, value)} {test}"
            yield warning("null-comparison", fact, places.of(node), hint)
    for choice in tree.find_all(exp.In):
        if any(isinstance(value.unnest(), exp.Null) for value in choice.expressions):
            is_negated = isinstance(choice.parent, exp.Not)
            what = "makes NOT IN never true" if is_negated else "is in the list in vain"
            subject = text_of(places, choice.this)
            hint = "leave it out of the list" + (
                "" if is_negated else f", and add OR {subject} IS NULL"
            )
            yield warning("null-comparison", f"NULL {what}", places.of(choice), hint)
