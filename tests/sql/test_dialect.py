"""Reading and printing: what is printed means the same and is printed the same again."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import ProgramError
from cepheid.sql.dialect import Kind, TimeLiteral, normal_text, parse_condition, parse_value
from cepheid.sql.text import Sql
from tests.sql.cases import AGGREGATES, EXPRESSIONS, FAILING
from tests.sql.shapes import SHAPES

CONDITIONS: dict[str, str] = {
    "announcement and (new - 1d) < now": "ANNOUNCEMENT AND (NEW - 1d) < NOW",
    "ONTIME OR LATE(0S, 1H)": "ONTIME OR LATE(0s, 1h)",
    "future cancel": "FUTURECANCEL",
    "FUTURE\n  CANCEL or FutureCancel": "FUTURECANCEL OR FUTURECANCEL",
    "CHANGE AND OLD.location != New.location": "CHANGE AND OLD.location <> NEW.location",
    "NOT (RETROACTIVECHANGE) -- not yet": "NOT (RETROACTIVECHANGE)",
    'new.`order` like "it\'s %" /* why */ or old.b // done': "NEW.`order` LIKE 'it''s %' OR OLD.b",
    "NEW.x NOT IN (1, 2.50) AND NEW.y IS NOT NULL": "NOT NEW.x IN (1, 2.50) AND NOT NEW.y IS NULL",
    "007m + NEW > OLD": "7m + NEW > OLD",
}


@pytest.mark.parametrize("written", CONDITIONS)
def test_conditions_have_one_normal_spelling(written: str) -> None:
    assert normal_text("condition", written) == CONDITIONS[written]


ALL: list[tuple[Kind, str]] = [
    *(("select", select) for select, _ in SHAPES.values()),
    *(("time", time) for _, time in SHAPES.values()),
    *(("value", text) for text in (*EXPRESSIONS, *AGGREGATES, *FAILING)),
    *(("condition", text) for text in CONDITIONS),
    ("value", 'format("Have arrived in %s at %t!", NEW.location, NEW.occ)'),
    ("time", "MAX(fa, fd) - 1h"),
    ("time", "MIN(fa, MAX(fd + 30m, fb)) - 1d"),
]


@pytest.mark.parametrize(("kind", "written"), ALL)
def test_what_is_printed_is_printed_the_same_again(kind: Kind, written: str) -> None:
    printed = normal_text(kind, written)
    assert normal_text(kind, printed) == printed


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_every_text_can_be_written(text: str) -> None:
    def read(written: str) -> str:
        return parse_value(Sql(written)).name

    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    assert read(f'"{escaped}"') == text
    printed = normal_text("value", f'"{escaped}"')
    assert read(printed) == text


def test_a_time_literal_is_a_whole_number_with_its_unit() -> None:
    lengths = {"10s": 10_000_000, "30m": 1_800_000_000, "2h": 7_200_000_000, "1d": 86_400_000_000}
    for written, microseconds in lengths.items():
        found = parse_value(Sql(written))
        assert isinstance(found, TimeLiteral)
        assert found.microseconds == microseconds


def test_one_quote_in_texts_of_the_other_kind_is_itself() -> None:
    assert parse_value(Sql('"it\'s"')).name == "it's"
    assert parse_value(Sql("'say \"hi\"'")).name == 'say "hi"'
    assert parse_value(Sql("'it''s'")).name == "it's"
    assert parse_value(Sql("\"a''b\"")).name == "a''b"


BROKEN: dict[tuple[Kind, str], str] = {
    ("select", "SELECT a FRO b WHERE"): "1:14: error[syntax]: 'b' is not expected here",
    ("select", "SELECT a FROM b WHERE x ="): "1:26: error[syntax]: the SQL ends too early",
    ("select", "SELECT a,, b FROM c"): "1:9: error[syntax]: ',' is not expected here",
    ("select", "SELECT a,\nFROM c"): "1:9: error[syntax]: ',' is not expected here",
    ("select", "SELECT 'abc FROM b"): "1:8: error[syntax]: this text is not closed",
    ("select", "SELECT 'a' || `b FROM c"): "1:15: error[syntax]: this name is not closed",
    ("select", "SELECT a /* b"): "1:10: error[syntax]: this comment is not closed",
    ("select", "SELECT a\nFROM b\nWHERE (a = 1"): "3:13: error[syntax]: the SQL ends too early",
    ("select", "DELETE FROM a"): "1:1: error[syntax]: a query starts with SELECT",
    ("select", "SELECT a FROM b; SELECT c"): "1:1: error[syntax]: ';' ends a query too early",
    ("select", ""): "1:1: error[syntax]: nothing is written here",
    ("condition", "a AND AND b"): "1:7: error[syntax]: 'AND' is not expected here",
    ("condition", "a b"): "1:3: error[syntax]: 'b' is not expected here",
    ("condition", "LATE(0s 1h)"): "1:9: error[syntax]: '1h' is not expected here (')' is missing)",
    ("time", "MAX(fa,"): "1:7: error[syntax]: ',' is not expected here",
    ("value", "("): "1:2: error[syntax]: the SQL ends too early",
}


@pytest.mark.parametrize(("kind", "written"), BROKEN)
def test_what_cannot_be_read_is_reported_at_its_place(kind: Kind, written: str) -> None:
    with pytest.raises(ProgramError) as caught:
        normal_text(kind, written)
    assert str(caught.value) == f"<text>:{BROKEN[kind, written]}"


def test_sql_that_is_nested_without_end_is_refused() -> None:
    with pytest.raises(ProgramError, match="too-deep"):
        parse_condition(Sql("(" * 2000 + "a" + ")" * 2000))


@given(st.text("SELECT FROM abx01mh.,()'\"`<>=+-*/%;:@\\\n", max_size=30))
def test_whatever_is_written_is_read_or_reported(written: str) -> None:
    for kind in ("select", "condition"):
        with suppress(ProgramError):
            normal_text(kind, written)
