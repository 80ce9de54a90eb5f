"""Queries of classes: what they read, which rows they give, and when the latest of these was detected."""

from __future__ import annotations

import pytest

from cepheid.core.types import DOUBLE, LONG, STRING
from cepheid.errors import Span
from cepheid.sql.queries import resolve_query, with_latest
from cepheid.sql.text import Sql
from cepheid.sql.transpile import to_sql
from tests.sql.engines import Row, database, declare, resolved, run
from tests.sql.shapes import ROWS_A, ROWS_B, SHAPES, TARGET, A, B


def latest(shape: str) -> list[Row]:
    """`id`, `name`, `value`, occurrence in minutes, `det`."""
    tree = with_latest(resolved(*SHAPES[shape], [A, B], TARGET), ["det"])
    rows = run(database([(A, ROWS_A), (B, ROWS_B)]), tree)
    return [(*row[:3], row[3] / 60_000_000, row[4]) for row in rows if isinstance(row[3], int)]


LATEST: dict[str, list[Row]] = {
    "a comma": [(1, "p", 0.1, 12, 7), (2, "p", 0.2, 20, 9), (3, "q", None, 31, 8), (4, None, 0.3, 40, 6)],
    "a join": [
        (1, "p", 120.0, 10, 7), (1, "p", 300.0, 10, 5), (2, "p", -480.0, 12, 9), (2, "p", -300.0, 15, 9),
        (3, "q", 60.0, 30, 8),
    ],
    "an outer join": [
        (1, "p", 0.1, 10, 7), (2, "p", 0.2, 20, 9), (3, "q", None, 30, 8), (4, None, 0.3, -5, 6),
        (5, None, None, 50, 2),
    ],
    "exists": [(1, "p", 1.0, 10, 1), (3, "q", 1.0, 30, 3)],
    "not exists": [(5, "r", 0.5, 50, 2)],
    "not in": [(5, "r", 1.0, 50, 2)],
    "not in with null": [],
    "equal to null": [],
    "in of another type": [(1, "p", 1.0, 10, 1)],
    "a group": [(1, "p", 5.0, 20, 9), (3, "q", 7.0, 30, 3), (4, None, 7.0, -5, 4), (5, "r", 0.0, 50, 2)],
    "a group of a join": [(2, "p", (0.1 + 0.1 + 0.2 + 0.2) / 4, 20, 9), (3, "q", None, 31, 8)],
    "having": [(1, None, 7.0, -5, 4), (1, "q", 7.0, 30, 3), (2, "p", 5.0, 20, 9)],
    "all rows": [(5, "p", 4.75, 50, 9)],
    "distinct": [(1, "p", 2.0, 29_453_760, 9), (1, "q", 2.0, 29_453_760, 8)],
    "distinct groups": [(1, "x", 2.0, 29_453_760, 4), (2, "x", 2.0, 29_453_760, 9)],
    "union": [
        (1, None, 1.0, 29_453_760, 6), (1, "p", 1.0, 29_453_760, 9), (1, "q", 1.0, 29_453_760, 8),
        (1, "r", 1.0, 29_453_760, 2), (1, "s", 1.0, 29_453_760, 10),
    ],
    "a derived group": [
        (1, "p", 2.0, 10, 7), (2, "p", 2.0, 20, 9), (3, "q", 1.0, 30, 8), (4, None, None, -5, 4),
        (5, None, None, 50, 2),
    ],
    "a derived distinct": [(20, "s", 0.0, 50, 10)],
}  # fmt: skip


@pytest.mark.parametrize("shape", LATEST)
def test_rows_have_the_latest_detection_time_of_the_rows_behind_them(shape: str) -> None:
    assert latest(shape) == LATEST[shape]


def test_hidden_columns_change_nothing_else() -> None:
    connection = database([(A, ROWS_A), (B, ROWS_B)])
    for shape, written in SHAPES.items():
        query = resolved(*written, [A, B], TARGET)
        plain = run(connection, query.tree)
        hidden = run(connection, with_latest(query, ["det"]))
        assert {row[:4] for row in hidden} == set(plain), shape
        assert len(hidden) == len(plain), shape


def test_several_hidden_columns_are_added_in_their_order() -> None:
    tree = with_latest(resolved(*SHAPES["a derived union"], [A, B], TARGET), ["det", "expires"])
    assert [p.alias for p in tree.selects] == ["id", "name", "value", "occ", "det", "expires"]


def test_what_a_query_reads_is_listed_in_the_order_of_the_text() -> None:
    assert resolved(*SHAPES["exists"], [B, A], TARGET).reads == ("A", "B")
    assert resolved(*SHAPES["three unions"], [A, B], TARGET).reads == ("A", "B")


def test_all_names_are_quoted_and_have_their_declared_spelling() -> None:
    query = resolved(*SHAPES["other case"], [A, B], TARGET)
    assert to_sql(query.tree, "sqlite") == (
        'SELECT "A"."k" AS "id", "A"."g" AS "name", CAST("A"."x" AS REAL) AS "value", "A"."occ" AS "occ"'
        ' FROM "A" AS "A"'
    )


def test_joins_on_times_are_served_by_indexes() -> None:
    connection = database([(A, ROWS_A), (B, ROWS_B)])
    connection.execute('CREATE INDEX "by_g" ON "B" ("g", "occ")')
    tree = with_latest(resolved(*SHAPES["a join"], [A, B], TARGET), ["det"])
    plan = connection.execute(f"EXPLAIN QUERY PLAN {to_sql(tree, 'sqlite')}").fetchall()
    assert any("by_g (g=? AND occ<?)" in row[3] for row in plan), plan


# The travel program: flights, what they connect, and who is on them.

ARRIVAL = declare("FlightArrival", flightDay=STRING, flightNo=STRING, fromLoc=STRING, toLoc=STRING)
DEPARTURE = declare(
    "FlightDeparture", flightDay=STRING, flightNo=STRING, fromLoc=STRING, toLoc=STRING
)
MEETING = declare("BusinessMeeting", meetingId=STRING)
FLIGHT = declare(
    "Flight", bookingId=STRING, flightDay=STRING, flightNo=STRING, connFlgtDay=STRING, connFlgtNo=STRING
)  # fmt: skip
BOOKING = declare("FlightBooking", bookingId=STRING, meetingId=STRING)
MISSED = declare(
    "MissedConnectingFlight", flightDay=STRING, flightNo=STRING, fromLoc=STRING, toLoc=STRING,
    bookingId=STRING, meetingId=STRING, timeToChange=DOUBLE,
)  # fmt: skip
ARRIVED = declare(
    "ArrivedAtDestination", flightDay=STRING, flightNo=STRING, bookingId=STRING, meetingId=STRING,
    location=STRING,
)  # fmt: skip
TRAVEL = [ARRIVAL, DEPARTURE, MEETING, FLIGHT, BOOKING, MISSED]

MISSED_SELECT = """
    SELECT fd.flightDay, fd.flightNo, fd.fromLoc, fd.toLoc, fb.bookingId, bm.meetingId,
           (fd - fa) AS timeToChange
    FROM FlightArrival fa, FlightDeparture fd, BusinessMeeting bm, Flight f, FlightBooking fb
    WHERE fa.flightNo = f.flightNo AND fa.flightDay = f.flightDay AND bm.meetingId = fb.meetingId
      AND f.bookingId = fb.bookingId AND f.connFlgtNo = fd.flightNo AND f.connFlgtDay = fd.flightDay
      AND (fa + 30m) > fd
"""
ARRIVED_SELECT = """
    SELECT fa.flightDay, fa.flightNo, fb.bookingId, bm.meetingId, fa.toLoc AS location
    FROM FlightArrival fa, BusinessMeeting bm, Flight f, FlightBooking fb
    WHERE f.connFlgtNo {is_null} AND fa.flightNo = f.flightNo AND fa.flightDay = f.flightDay
      AND bm.meetingId = fb.meetingId AND f.bookingId = fb.bookingId
      AND NOT EXISTS (SELECT * FROM MissedConnectingFlight mcf WHERE mcf.bookingId = f.bookingId)
"""
_M = 60_000_000


def travel(delay: int) -> dict[str, list[dict[str, object]]]:
    """A booking of two flights, of which the first is late by some minutes."""
    day = {"flightDay": "mon"}
    return {
        "FlightArrival": [
            {**day, "flightNo": "F1", "fromLoc": "VIE", "toLoc": "LHR", "occ": (60 + delay) * _M, "det": 5},
            {**day, "flightNo": "F2", "fromLoc": "LHR", "toLoc": "JFK", "occ": 600 * _M, "det": 6},
        ],
        "FlightDeparture": [
            {**day, "flightNo": "F2", "fromLoc": "LHR", "toLoc": "JFK", "occ": 120 * _M, "det": 4},
        ],
        "BusinessMeeting": [{"meetingId": "m", "occ": 900 * _M, "det": 1}],
        "Flight": [
            {"bookingId": "b", **day, "flightNo": "F1", "connFlgtDay": "mon", "connFlgtNo": "F2", "occ": 0, "det": 2},
            {"bookingId": "b", **day, "flightNo": "F2", "occ": 0, "det": 2},
        ],
        "FlightBooking": [{"bookingId": "b", "meetingId": "m", "occ": 0, "det": 3}],
        "MissedConnectingFlight": [],
    }  # fmt: skip


def missed(delay: int) -> list[Row]:
    query = resolved(MISSED_SELECT, "fd", TRAVEL, MISSED)
    given = travel(delay)
    connection = database([(t, given[t.name]) for t in TRAVEL])
    return run(connection, with_latest(query, ["det"]))


def test_a_connection_is_missed_with_less_than_half_an_hour_to_change() -> None:
    assert missed(30) == []
    assert missed(31) == [("mon", "F2", "LHR", "JFK", "b", "m", 1740.0, 120 * _M, 5)]
    assert missed(70)[0][6] == -600.0


def arrived(is_null: str, *, is_missed: bool) -> list[Row]:
    given = travel(0)
    if is_missed:
        given["MissedConnectingFlight"] = [{"bookingId": "b", "occ": 0, "det": 99}]
    connection = database([(t, given[t.name]) for t in TRAVEL])
    query = resolved(ARRIVED_SELECT.format(is_null=is_null), "fa", TRAVEL, ARRIVED)
    return run(connection, with_latest(query, ["det"]))


def test_a_traveller_arrives_if_no_connection_was_missed() -> None:
    assert arrived("IS NULL", is_missed=False) == [("mon", "F2", "b", "m", "JFK", 600 * _M, 6)]
    assert arrived("IS NULL", is_missed=True) == []


def test_a_comparison_with_null_by_equality_is_never_true() -> None:
    assert arrived("= NULL", is_missed=False) == []


# What is wrong

PLACE = Span(10, 5, 99, 1, "trip.bicepl")


def problems(select: str, occurring: str = "a") -> list[str]:
    """As they are told of a file whose line 10 has the query from column 5, and line 50 its time."""
    time = Span(50, 17, 50, 18, "trip.bicepl")
    query = Sql("", written=select, span=PLACE)
    found, diagnostics = resolve_query(
        query, Sql("", written=occurring, span=time), {"A": A, "B": B}, TARGET
    )
    assert (found is None) == bool(diagnostics)
    return [str(d).removeprefix("trip.bicepl:").replace(" error", "", 1) for d in diagnostics]


def where(text: str) -> str:
    return f"SELECT a.k AS id, a.g AS name, a.x AS value\nFROM A a\nWHERE {text}"


WHERE: dict[str, str] = {
    "a.zz > 1": "12:9:[unknown-attribute]: 'a' has no attribute 'zz' (known names: det, g, k, occ, x)",
    "c.k = 1": "12:7:[unknown-name]: nothing in FROM is called 'c' (known names: a)",
    "c = 1": "12:7:[unknown-name]: nothing in FROM has 'c' (known names: a, det, g, k, occ, x)",
    "a": "12:7:[type-mismatch]: a truth value is expected here, not a time",
    "a.k = 1 AND\n  a.g = 1": "13:9:[type-mismatch]: a text and a whole number do not go together",
    "a + 1 > a": "12:7:[type-mismatch]: a time + a whole number makes no sense"
    " (lengths of time are written 30s, 5m, 2h, 1d)",
    "a = '2026-01-01'": "12:11:[type-mismatch]: a time and a text do not go together"
    " (write a time as TIMESTAMP '2026-01-31T12:00:00Z')",
    "a < TIMESTAMP 'soon'": "12:21:[bad-time]: 'soon' is not an ISO 8601 time",
    "a.k IN (1, 'x')": "12:18:[type-mismatch]: a whole number and a text do not go together",
    "a.k IN (SELECT b.g FROM B b)": "12:7:[type-mismatch]: a whole number cannot be among values that are each a text",
    "a.k IN (SELECT * FROM B b)": "12:22:[wrong-arguments]: this subquery needs exactly one column",
    "a.k = (SELECT b.k FROM B b)": "12:21:[unsupported-sql]: a value from a subquery of several rows is not supported"
    " (select one aggregate without GROUP BY, such as max(...))",
    "EXISTS (SELECT * FROM C)": "12:29:[unknown-class]: no class is called 'C' (known names: A, B)",
    "EXISTS (SELECT count(*) FROM B)": "12:22:[unsupported-sql]: an aggregate, or groups, in EXISTS is not supported",
    "a.k IN (SELECT b.k + a.k FROM B b)": "12:28:[unsupported-sql]: a column of the query around this one is not"
    " supported (a subquery names columns of the query directly around it, in its WHERE)",
    "NOW > a": "12:7:[misplaced-now]: NOW cannot stand in the query of a class"
    " (conditions of statements may compare with NOW)",
    "count(*) > 1": "12:7:[misplaced-aggregate]: 'count' needs a group of rows; WHERE has single ones"
    " (use HAVING, or a subquery)",
    "row_number() OVER (ORDER BY a.k) = 1": "12:7:[unsupported-sql]: a window function is not supported",
    "a.g ILIKE 'x'": "12:7:[unsupported-sql]: 'ILIKE' is not supported",
    "a.g LIKE 'x' ESCAPE '!'": "12:7:[unsupported-sql]: 'ESCAPE' is not supported",
    "a.k DIV 2 = 1": "12:7:[unsupported-sql]: 'DIV' is not supported",
    "a > INTERVAL '1' DAY": "12:20:[unsupported-sql]: INTERVAL is not supported"
    " (write a length of time as 30s, 5m, 2h or 1d)",
    "CAST(a.g AS DATE) = 1": "12:7:[unsupported-sql]: CAST to DATE is not supported (types: TEXT, NUMBER, INTEGER, BOOLEAN)",
    "CAST(a.x / 2 AS TEXT) = '1'": "12:7:[unsupported-sql]: CAST of a number to a text is not supported"
    " (format(...) writes numbers and times)",
    "a.k > 9223372036854775808": "12:13:[bad-number]: 9223372036854775808 does not fit into 64 bits",
    "a - 99999999d < a": "12:11:[bad-period]: 99999999d is longer than ten thousand years",
    "round(a.x / 3, a.k) = 1": "12:22:[unsupported-sql]: a number of digits that is not 0 to 15 is not supported",
    "a.k = ?": "12:13:[unsupported-sql]: a parameter is not supported",
    "length(a.k) = 1": "12:14:[type-mismatch]: a text is expected here, not a whole number",
    "format('x') = a.g": "12:7:[unsupported-sql]: format in a query is not supported (arguments of actions may use it)",
    "a.k = 1 ORDER BY a.k": "12:24:[unsupported-sql]: ORDER BY is not supported (the events of a class have no order)",
    "a.k = 1 LIMIT 5": "12:21:[unsupported-sql]: LIMIT is not supported (the events of a class have no order)",
    "a.k = 1 GROUP BY a.k": "10:23:[not-grouped]: 'a.g' may have several values in a group"
    " (add it to GROUP BY, or use an aggregate such as max(...))",
    "a.k = 1 GROUP BY 1": "12:24:[unsupported-sql]: a constant in GROUP BY is not supported (name the column)",
}  # fmt: skip


@pytest.mark.parametrize("text", WHERE)
def test_what_is_wrong_in_a_query_is_told_with_its_place(text: str) -> None:
    assert problems(where(text))[0] == WHERE[text]


@pytest.mark.parametrize(
    "function", ["rand()", "current_timestamp", "uuid()", "first(a.k)", "foo(1)", "hash(a.k)"]
)
def test_functions_that_engines_do_not_share_are_refused_by_name(function: str) -> None:
    (problem,) = problems(where(f"{function} = a.k"))
    assert problem.startswith(
        f"12:7:[unsupported-sql]: '{function.partition('(')[0]}' is not supported (functions: abs, "
    )


SELECTS: dict[tuple[str, str], str] = {
    ("SELECT a.k AS id, a.g AS name FROM A a", "a"):
        "10:12:[missing-column]: the query does not select 'value' of 'T' (it selects id, name)",
    ("SELECT a.k AS id, a.g AS name, a.x AS value, a.x FROM A a", "a"):
        "10:50:[unknown-attribute]: 'T' has no attribute 'x' (known names: id, name, value)",
    ("SELECT a.g AS id, a.g AS name, a.x AS value FROM A a", "a"): "10:12:[type-mismatch]: 'id' is a whole number in 'T', not a text",
    ("SELECT a.k / 2 AS id, a.g AS name, a.x AS value FROM A a", "a"):
        "10:12:[type-mismatch]: 'id' is a whole number in 'T', not a number (write CAST(... AS INTEGER), or floor(...))",
    ("SELECT a.k AS id, 'x' || a.g, a.x AS value FROM A a", "a"): "10:23:[syntax]: this column needs a name (write ... AS name)",
    ("SELECT a.k AS id, a.g AS name, a.x AS value, 1 AS ID FROM A a", "a"):
        "10:50:[duplicate-name]: 'ID' is selected twice (rename one with AS)",
    ("SELECT k AS id, a.g AS name, a.x AS value FROM A a, B b", "a"): "10:12:[ambiguous-name]: 'k' may be a.k or b.k",
    ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a, B a", "a"):
        "10:59:[duplicate-name]: 'a' stands twice in FROM (give each its own name with AS)",
    ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a FULL JOIN B b ON a.k = b.k", "a"):
        "10:68:[unsupported-sql]: FULL JOIN is not supported (joins: JOIN, LEFT JOIN, CROSS JOIN)",
    ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a JOIN B b USING (k)", "a"): "10:63:[unsupported-sql]: USING is not supported",
    ("SELECT a.k AS id, a.g AS name, a.x AS value FROM (SELECT * FROM A)", "a"):
        "10:62:[syntax]: a derived table needs a name (write (SELECT ...) AS name)",
    ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a(k, g, x)", "a"):
        "10:54:[unsupported-sql]: a list of columns after a name is not supported",
    ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a INTERSECT SELECT 1, 'x', 2 FROM A a", "a"):
        "10:12:[unsupported-sql]: 'INTERSECT' is not supported",
    ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a UNION SELECT a.k, a.g FROM A a", "a"):
        "10:71:[wrong-arguments]: one side of UNION has 3 columns, the other 2",
    ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a UNION SELECT a.g, a.g, a.k FROM A a", "a"):
        "10:71:[type-mismatch]: 'id' is a whole number on one side of UNION, on the other a text",
    ("SELECT sum(sum(a.x)) AS id, 'x' AS name, 1 AS value FROM A a", "max(a)"): "10:12:[nested-aggregate]: 'sum' has an aggregate inside",
    ("SELECT count() AS id, 'x' AS name, 1 AS value FROM A a", "max(a)"): "10:12:[wrong-arguments]: 'count' needs a value (count(*) counts rows)",
    ("SELECT count(DISTINCT) AS id, 'x' AS name, 1 AS value FROM A a", "max(a)"):
        "10:12:[wrong-arguments]: 'count' needs a value (count(*) counts rows)",
    ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a", "b"):
        "50:17:[unknown-name]: nothing in FROM has 'b' (known names: a, det, g, k, occ, x)",
    ("SELECT q.k AS id, 'x' AS name, 1 AS value FROM (SELECT a.k FROM A a) q", "q"):
        "50:17:[unknown-name]: 'q' is a query, which has no time of its own"
        " (select a time in it, and write q and a dot before its name)",
    ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a", "a - a"): "50:17:[type-mismatch]: a time is expected here, not a number",
    ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a", "max(a, a.kk)"):
        "50:26:[unknown-attribute]: 'a' has no attribute 'kk' (did you mean 'k'?)",
    ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a", "NOW"):
        "50:17:[misplaced-now]: NOW cannot stand in the query of a class (conditions of statements may compare with NOW)",
    ("SELECT count(*) AS id, 'x' AS name, 1 AS value FROM A a", "a"): "50:17:[not-grouped]: 'a.occ' may have several values in a group"
        " (add it to GROUP BY, or use an aggregate such as max(...))",
    ("SELECT count(*) AS id, a.g AS name, (SELECT count(*) FROM B b WHERE b.g = a.g) AS value FROM A a GROUP BY a.g", "max(a)"):
        "10:49:[unsupported-sql]: a subquery that names columns of a group is not supported"
        " (group in a derived table, and select from that)",
    ("SELECT a.k AS id, a.g AS name, a.x AS value FROM A a JOIN A c ON c.k = (SELECT max(b.k) FROM B b)", "a"):
        "10:84:[unsupported-sql]: a subquery in ON is not supported (write it in WHERE)",
    ("WITH RECURSIVE c AS (SELECT 1 AS x FROM A) SELECT a.k AS id, a.g AS name, a.x AS value FROM A a", "a"):
        "10:20:[unsupported-sql]: WITH RECURSIVE is not supported",
}  # fmt: skip


@pytest.mark.parametrize(("select", "occurring"), SELECTS)
def test_queries_that_do_not_fit_their_class_are_told(select: str, occurring: str) -> None:
    assert problems(select, occurring)[0] == SELECTS[select, occurring]


@pytest.mark.parametrize(
    "text",
    [
        "a" + " IN (a, a)" * 60,
        "a.k" + " BETWEEN 1 AND 2" * 60,
    ],
    ids=["in", "between"],
)
def test_values_in_values_are_read_once(text: str) -> None:
    """Twice for each level would be for ever."""
    problems(where(text))


def test_all_problems_of_a_query_are_told() -> None:
    assert len(problems(where("a.zz > 1 AND a.yy = 2 OR rand() = a.g"))) == 3


def test_places_are_those_of_the_text_where_no_file_is_known() -> None:
    _, found = resolve_query(Sql("SELECT a.k AS id\nFROM C a"), Sql("a"), {"A": A}, TARGET)
    assert str(found[0].span) == "<text>:2:6"


def test_sql_without_its_spelling_has_the_place_of_the_whole() -> None:
    _, found = resolve_query(Sql("SELECT 1 FROM C", span=PLACE), Sql("a"), {"A": A}, TARGET)
    assert found[0].span == PLACE


def test_a_thousand_conditions_are_no_depth() -> None:
    text = " AND ".join(["a.k <> 5"] * 1000)
    query = resolved(
        f"SELECT a.k AS id, a.g AS name, a.x AS value FROM A a WHERE {text}", "a", [A], TARGET
    )
    assert to_sql(query.tree, "spark").count("5L") == 1000


def test_whole_numbers_become_numbers_where_a_class_has_these() -> None:
    query = resolved("SELECT 1 AS n, 2 AS m FROM A a", "a", [A], declare("N", n=LONG, m=DOUBLE))
    assert run(database([(A, ROWS_A[:1])]), query.tree) == [(1, 2.0, 600_000_000)]
