"""Tables are joined along equations."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from cepheid.bitemporal.spark.join_order import tied_in_order
from cepheid.bitemporal.spark.parts import sources_of
from cepheid.sql.selects import conjuncts


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("a.t > b.t AND a.x = c.x AND c.y = b.y", "a c b d"),
        ("d.x = a.x AND c.x = d.y AND b.x = c.x", "a d c b"),
        ("a.t > d.t", "a b c d"),
        ("a.x + b.x = d.x AND a.x = c.x", "a c b d"),
        ("a.x = 3 AND c.x = d.x", "a b c d"),
        ("a.x = (SELECT MAX(d.x) FROM d)", "a b c d"),
    ],
)
def test_each_table_comes_after_one_that_an_equation_ties_it_to(where: str, expected: str) -> None:
    select = parse_one(f"SELECT 1 FROM a, b, c, d WHERE {where}")
    assert isinstance(select, exp.Select)
    found = tied_in_order(sources_of(select), conjuncts(select.args["where"].this))
    assert " ".join(source.alias_or_name for source in found) == expected
