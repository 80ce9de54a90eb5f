"""SQLite with the meaning of ANSI mode: what values make fail is said, and nothing is lost."""

from __future__ import annotations

import gc
import math
import sqlite3
from pathlib import Path
from weakref import ref

import pytest

from cepheid.errors import RunError
from cepheid.sql import sqlite
from tests.sql.cases import TABLE
from tests.sql.engines import columns_of, database, run

ROW: dict[str, object] = {
    "k": 1, "s": "12x", "r": "a\\b", "i": 2**63 - 1, "j": -(2**63), "d": 1e19, "e": 0.0, "b": True,
    "t": 0, "occ": 0, "det": 0,
}  # fmt: skip

FACTS: dict[str, str] = {
    "v.i + 1": "9223372036854775807 + 1 does not fit into 64 bits",
    "v.j - 1": "-9223372036854775808 - 1 does not fit into 64 bits",
    "v.i * 2": "9223372036854775807 * 2 does not fit into 64 bits",
    "-v.j": "-(-9223372036854775808) does not fit into 64 bits",
    "abs(v.j)": "an integer does not fit into 64 bits",
    "v.d / v.e": "1e+19 is divided by zero",
    "v.i % v.k % 0": "0 is divided by zero",
    "CAST(v.s AS INTEGER)": "'12x' is no whole number",
    "CAST(v.s AS NUMBER)": "'12x' is no number",
    "CAST(v.s AS BOOLEAN)": "'12x' is neither true nor false",
    "CAST(v.d AS INTEGER)": "1e+19 does not fit into 64 bits",
    "floor(v.d)": "floor(1e+19) does not fit into 64 bits",
    "v.s LIKE v.r": "a backslash stands before no sign of the pattern 'a\\\\b'",
    "substring(v.s, v.i)": "place 9223372036854775807 of a text does not fit into 32 bits",
}


@pytest.mark.parametrize("text", FACTS)
def test_what_values_make_fail_is_said(text: str) -> None:
    with pytest.raises(RunError) as caught:
        run(database([(TABLE, [ROW])]), columns_of([text], TABLE))
    assert str(caught.value) == f"error[sql-failed]: {FACTS[text]}"


def test_sums_are_exact_on_the_way_and_have_to_fit_at_the_end() -> None:
    tree = columns_of(["sum(v.i)", "avg(v.i)"], TABLE, "", "max(v)")

    def of(*values: int) -> tuple[object, ...]:
        return run(database([(TABLE, [{**ROW, "i": v} for v in values])]), tree)[0][1:3]

    assert of(2**63 - 1, 5, -5) == (2**63 - 1, (2**63 - 1) / 3)
    with pytest.raises(RunError, match="a sum does not fit into 64 bits"):
        of(2**63 - 1, 5)


def test_numbers_are_added_in_ascending_order() -> None:
    tree = columns_of(["sum(v.d)"], TABLE, "", "max(v)")
    values = [1e16, 1.0, -1e16, 1.0]
    rows = [{**ROW, "d": value} for value in values]
    expected = ((-1e16 + 1.0) + 1.0) + 1e16
    assert run(database([(TABLE, rows)]), tree)[0][1] == expected
    assert expected != math.fsum(values)


def test_an_error_in_the_middle_of_the_rows_is_said_when_they_are_asked_for() -> None:
    connection = sqlite.connect()
    values = ", ".join(f"({n})" for n in (1, 2, 0))
    rows = connection.execute(f"SELECT cepheid_divide(6, column1) FROM (VALUES {values})")
    assert next(rows) == (6.0,)
    with pytest.raises(RunError, match="6 is divided by zero"):
        list(rows)


def test_mistakes_in_the_sql_itself_are_not_those_of_values() -> None:
    with pytest.raises(sqlite3.OperationalError):
        sqlite.connect().execute("SELECT nothing")


def test_a_file_may_be_read_by_several_connections(tmp_path: Path) -> None:
    path = tmp_path / "a ?b.db"
    writer = sqlite.connect(path)
    writer.execute("CREATE TABLE t (x)")
    writer.execute("INSERT INTO t VALUES (1)")
    reader = sqlite.connect(path, read_only=True)
    assert reader.execute("SELECT x FROM t").fetchall() == [(1,)]
    with pytest.raises(sqlite3.OperationalError):
        reader.execute("INSERT INTO t VALUES (2)")
    reader.close()
    writer.close()


def test_a_connection_that_nobody_needs_goes() -> None:
    """With all that is in its memory; SQLite keeps the functions, of which Python cannot know."""
    connection = sqlite.connect()
    with pytest.raises(RunError):
        connection.execute("SELECT cepheid_divide(1, 0)").fetchall()
    left = ref(connection)
    del connection
    gc.collect()
    assert left() is None
