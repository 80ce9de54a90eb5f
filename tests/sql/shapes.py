"""Two small classes, and queries of every shape over them."""

from __future__ import annotations

from cepheid.core.types import DOUBLE, LONG, STRING
from tests.sql.engines import declare

A = declare("A", k=LONG, g=STRING, x=LONG)
B = declare("B", k=LONG, g=STRING, y=DOUBLE)
TARGET = declare("T", id=LONG, name=STRING, value=DOUBLE)

_MINUTE = 60_000_000
ROWS_A: list[dict[str, object]] = [
    {"k": 1, "g": "p", "x": 5, "occ": 10 * _MINUTE, "det": 1},
    {"k": 2, "g": "p", "x": None, "occ": 20 * _MINUTE, "det": 9},
    {"k": 3, "g": "q", "x": 7, "occ": 30 * _MINUTE, "det": 3},
    {"k": 4, "g": None, "x": 7, "occ": -5 * _MINUTE, "det": 4},
    {"k": 5, "g": "r", "x": 0, "occ": 50 * _MINUTE, "det": 2},
]
ROWS_B: list[dict[str, object]] = [
    {"k": 1, "g": "p", "y": 0.1, "occ": 12 * _MINUTE, "det": 7},
    {"k": 2, "g": "p", "y": 0.2, "occ": 15 * _MINUTE, "det": 5},
    {"k": 3, "g": "q", "y": None, "occ": 31 * _MINUTE, "det": 8},
    {"k": 4, "g": None, "y": 0.3, "occ": 40 * _MINUTE, "det": 6},
    {"k": 7, "g": "s", "y": 1e16, "occ": 50 * _MINUTE, "det": 10},
]

# What is selected, and when it occurs.
SHAPES: dict[str, tuple[str, str]] = {
    "a table": ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a", "a"),
    "no alias": ("SELECT k AS id, g AS name, A + 1h - A AS value FROM A", "A - 1m"),
    "other case": ("select a.K as ID, a.G as NAME, a.X as VALUE from a as A", "a"),
    "a comma": ("SELECT a.k AS id, b.g AS name, b.y AS value FROM A a, B b WHERE a.k = b.k", "max(a, b)"),
    "a join": ("SELECT a.k AS id, b.g AS name, b - a AS value FROM A a JOIN B b ON a.g = b.g AND (a + 30m) > b", "min(a, b)"),
    "a cross join": ("SELECT a.k * 10 + b.k AS id, b.g AS name, b.y AS value FROM A a CROSS JOIN B b", "b - 1d"),
    "an outer join": ("SELECT a.k AS id, b.g AS name, b.y AS value FROM A a LEFT JOIN B b ON a.k = b.k", "a"),
    "a comma and an outer join": (
        "SELECT a.k * 10 + c.k AS id, b.g AS name, b.y AS value FROM A a, A c LEFT JOIN B b ON a.k = b.k AND c.x > 5", "a"),
    "exists": ("SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE EXISTS (SELECT * FROM B b WHERE b.g = a.g AND b > a)", "a"),
    "not exists": ("SELECT a.k AS id, a.g AS name, 0.5 AS value FROM A a WHERE NOT EXISTS (SELECT 1 FROM B WHERE B.k = a.k)", "a"),
    "exists or": ("SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE a.x = 0 OR EXISTS (SELECT * FROM B b WHERE b.g = a.g)", "a"),
    "in": ("SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE a.g IN (SELECT b.g FROM B b WHERE b.y < 1)", "a"),
    "not in": ("SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE a.g NOT IN (SELECT b.g FROM B b WHERE b.g IS NOT NULL)", "a"),
    "not in with null": ("SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE a.g NOT IN (SELECT b.g FROM B b)", "a"),
    "in of another type": ("SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE a.x IN (SELECT b.y * 50 FROM B b)", "a"),
    "a scalar subquery": (
        "SELECT a.k AS id, a.g AS name, (SELECT max(b.y) FROM B b WHERE b.g = a.g) AS value FROM A a", "a"),
    "a scalar count": ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a WHERE (SELECT count(*) FROM B b WHERE b.g = a.g) > 1", "a"),
    "a plain scalar": ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a WHERE a.x = (SELECT max(c.x) FROM A c)", "a"),
    "a group": ("SELECT min(a.k) AS id, a.g AS name, sum(a.x) AS value FROM A a GROUP BY a.g", "max(a)"),
    "a group of a join": ("SELECT max(b.k) AS id, a.g AS name, avg(b.y) AS value FROM A a JOIN B b ON a.g = b.g GROUP BY a.g", "max(max(a), max(b))"),
    "a group by its name": ("SELECT count(*) AS id, a.g || '!' AS name, sum(b.y) AS value FROM A a JOIN B b ON a.k = b.k GROUP BY name", "min(b)"),
    "having": ("SELECT count(*) AS id, a.g AS name, sum(a.x) AS value FROM A a GROUP BY a.g HAVING count(*) > 1 OR max(a.x) = 7", "max(a)"),
    "all rows": ("SELECT count(*) AS id, min(a.g) AS name, avg(a.x) AS value FROM A a", "max(a)"),
    "a group by time": ("SELECT count(*) AS id, min(b.g) AS name, max(b.y) AS value FROM B b GROUP BY b", "b"),
    "distinct": ("SELECT DISTINCT 1 AS id, a.g AS name, 2 AS value FROM A a JOIN B b ON a.g = b.g", "TIMESTAMP '2026-01-01T00:00:00Z'"),
    "distinct groups": ("SELECT DISTINCT count(*) AS id, 'x' AS name, 2 AS value FROM A a GROUP BY a.g", "TIMESTAMP '2026-01-01T00:00:00Z'"),
    "union all": ("SELECT v.k AS id, v.g AS name, v.x AS value FROM A v UNION ALL SELECT v.k, v.g, v.y FROM B v", "v"),
    "union": ("SELECT 1 AS id, v.g AS name, 1 AS value FROM A v UNION SELECT 1, v.g, 1.0 FROM B v", "TIMESTAMP '2026-01-01T00:00:00Z'"),
    "three unions": (
        "SELECT 1 AS id, v.g AS name, NULL AS value FROM A v UNION ALL SELECT 2, v.g, v.y FROM B v UNION SELECT 1, v.g, v.x FROM A v", "v"),
    "a derived table": ("SELECT d.k AS id, d.g AS name, d.x AS value FROM (SELECT *, A.occ FROM A WHERE x > 1) AS d", "d + 1s"),
    "a derived union": (
        "SELECT d.k AS id, d.g AS name, count(*) AS value FROM (SELECT k, g, A AS t FROM A UNION SELECT k, g, B FROM B) d GROUP BY d.k, d.g",
        "max(d.t)"),
    "a derived group": (
        "SELECT a.k AS id, d.g AS name, d.n AS value FROM A a LEFT JOIN (SELECT g, count(*) AS n FROM B GROUP BY g) AS d ON d.g = a.g", "a"),
    "a derived distinct": (
        "SELECT count(*) AS id, max(d.g) AS name, 0 AS value FROM (SELECT DISTINCT g FROM B) d CROSS JOIN A a", "max(a)"),
    "with": (
        "WITH c AS (SELECT g, max(y) AS y FROM B GROUP BY g), e AS (SELECT c.* FROM c WHERE y > 0) "
        "SELECT a.k AS id, e.g AS name, e.y AS value FROM A a JOIN e ON e.g = a.g", "a"),
    "det and occ": ("SELECT a.k AS id, a.g AS name, a.det - a.occ AS value FROM A a WHERE a.det > a.occ", "a.det"),
    "a case": ("SELECT a.k AS id, CASE a.g WHEN 'p' THEN 'one' ELSE a.g END AS name, CASE WHEN a.x > 5 THEN 1 ELSE 0.5 END AS value FROM A a", "a"),
    "a scalar of what came before": (
        "SELECT a.k AS id, a.g AS name, (SELECT sum(b.y) FROM B b WHERE b <= a) AS value FROM A a", "a"),
    "a scalar of groups": (
        "SELECT count(*) AS id, a.g AS name, max(a.x) AS value FROM A a GROUP BY a.g"
        " HAVING count(*) >= (SELECT count(*) FROM B b WHERE b.g = a.g)", "max(a)"),
    "exists of groups": (
        "SELECT count(*) AS id, a.g AS name, max(a.x) AS value FROM A a GROUP BY a.g"
        " HAVING EXISTS (SELECT * FROM B b WHERE b.g = a.g)", "max(a)"),
    "in or": ("SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE a.k = 5 OR a.g IN (SELECT b.g FROM B b)", "a"),
    "not in or": ("SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE a.k = 5 OR a.g NOT IN (SELECT b.g FROM B b)", "a"),
    "not in, correlated": (
        "SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE a.k NOT IN (SELECT b.k FROM B b WHERE b.g <> a.g)", "a"),
    "in a union": (
        "SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE a.k IN (SELECT b.k FROM B b UNION SELECT c.x FROM A c)", "a"),
    "exists with a join": (
        "SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE EXISTS"
        " (SELECT * FROM B b JOIN A c ON b.k = c.k WHERE c.g = a.g AND b.y > 0.1)", "a"),
    "exists within exists": (
        "SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE EXISTS"
        " (SELECT * FROM B b WHERE b.g = a.g AND NOT EXISTS (SELECT * FROM A c WHERE c.k > b.k))", "a"),
    "a subquery with a derived table": (
        "SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE EXISTS"
        " (SELECT * FROM (SELECT b.g, count(*) AS n FROM B b GROUP BY b.g) d WHERE d.g = a.g AND d.n > 1)", "a"),
    "a case of subqueries": (
        "SELECT a.k AS id, a.g AS name, CASE WHEN a.x > 5 THEN (SELECT max(b.y) FROM B b WHERE b.g = a.g) ELSE 0 END AS value"
        " FROM A a", "a"),
    "a plain scalar of a group": (
        "SELECT count(*) AS id, a.g AS name, (SELECT max(b.y) FROM B b) AS value FROM A a GROUP BY a.g", "max(a)"),
    "a not of an exists or": (
        "SELECT a.k AS id, a.g AS name, 1 AS value FROM A a WHERE NOT (a.k = 1 OR EXISTS (SELECT * FROM B b WHERE b.g = a.g))", "a"),
    "equal to null": ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a WHERE a.g = NULL", "a"),
}  # fmt: skip
