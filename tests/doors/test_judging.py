"""What is said about input as a whole, asked for directly: facts in, findings out."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

import pandas as pd
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.core.event import Event
from cepheid.engines.common.judging import (
    IgnoredColumns,
    ignored_columns,
    missing_attributes,
    null_derived_keys,
    only_input,
    rules_for,
    unfed_types,
)
from cepheid.engines.common.notes import emit
from cepheid.errors import CepheidWarning, Severity, note, warning
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.uses import keys_of, uses_of

FAMILY = """create schema A (k string, x int);
create schema B inherits A;
create schema C (k string);
"""
KEYED = """create schema A (k string, x int);
insert into D select k as k, x from A;
create context ByKey partition by k from D;
@Name('S') context ByKey select count(*) as n from D;
"""


def program(text: str) -> ResolvedProgram:
    return cep.parse(text).resolve()


def test_where_a_type_has_no_schema_any_attribute_may_be_missing() -> None:
    assert rules_for(program("select x from Unknown"), ["y"]).optional == {"y"}
    with pytest.raises(cep.UsageError, match="no attribute 'y'"):
        rules_for(program(FAMILY + "select x from A"), ["y"])


@pytest.mark.parametrize("there", ["cards", "@card"])
def test_a_column_that_is_known_is_not_taken_for_another(there: str) -> None:
    text = "create schema P (card string, cards string); select card from P"
    [finding] = missing_attributes(program(text), {"P": {there}})
    assert finding.hint is not None
    assert finding.hint.startswith("optional=")


def test_a_key_that_is_missing_says_what_it_is_for() -> None:
    text = FAMILY + "create context C partition by k from A; @Name('S') context C select x from A;"
    [finding] = missing_attributes(program(text), {"A": {"x"}})
    assert finding.message == (
        "no event of A has the attribute 'k', by which 'S' keeps events apart"
    )


def test_one_note_for_each_type_with_ignored_columns(caplog: pytest.LogCaptureFixture) -> None:
    ignored = {"A": ["y"], "B": ["z"], "C": []}
    columns = IgnoredColumns(ignored)
    with caplog.at_level(logging.INFO, "cepheid"):
        for type in "AABCBA":
            columns.see(type)
    assert [finding.code for finding in columns.notes] == ["unknown-attribute"] * 2
    assert len(caplog.records) == 2


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        ("@retract", "did you mean '@retracted'?"),
        ("@tme", "did you mean '@time'?"),
        (
            "Order_No",
            "did you mean 'Order_No'? columns={'Order_No': 'orderNo'}, or --map Order_No=orderNo",
        ),
    ],
)
def test_a_slip_in_a_name_is_more_than_a_note(column: str, hint: str) -> None:
    found = ignored_columns("A", ["x", column], ["orderNo"])
    assert (found.severity, found.hint) == (Severity.WARNING, hint)


@pytest.mark.parametrize("column", ["@kind", "@cause", "@row", "orderNr", "x"])
def test_other_columns_are_only_noted(column: str) -> None:
    assert ignored_columns("A", [column], ["orderNo"]).severity is Severity.NOTE


def test_a_type_that_nothing_feeds_is_told_once() -> None:
    both = program(FAMILY + "@Name('R') select x from A; @Name('S') select k from A;")
    assert [f.code for f in unfed_types(both, [])] == ["unfed-type"]
    assert not list(unfed_types(both, ["B"]))  # events of B are events of A
    fed = program(FAMILY + "insert into B select k, 1 as x from C; @Name('R') select x from A;")
    assert not list(unfed_types(fed, ["C"]))  # so are those that are derived


def test_the_only_input_is_the_only_type_that_statements_take() -> None:
    assert only_input(program(FAMILY + "select k from C")) == "C"
    both = "@Name('R') select k from C; @Name('S') select k from A;"
    assert only_input(program(FAMILY + both)) is None


@pytest.mark.parametrize(
    ("is_old", "is_timeout", "count"), [(False, False, 1), (True, False, 0), (False, True, 0)]
)
def test_a_null_key_counts_in_rows_that_are_derived_events(
    is_old: bool, is_timeout: bool, count: int
) -> None:
    rows = [Event("D", 0, {"k": None, "x": 1}, 0, is_old=is_old, is_timeout=is_timeout)]
    assert len(list(null_derived_keys(program(KEYED), rows))) == count


def test_derived_events_without_a_key_are_told_of_rows_in_columns_as_well() -> None:
    frame = pd.DataFrame({"@time": [1, 2], "k": ["a", None], "x": [1, 2]})
    with pytest.warns(CepheidWarning, match="derived events of D have no key: 'k' is null"):
        result = cep.run(cep.parse(KEYED), {"A": frame})
    assert [note.code for note in result.notes] == ["null-key"]


def test_warnings_are_those_of_whoever_calls_and_notes_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.warns(CepheidWarning, match="late") as told, caplog.at_level(logging.INFO):
        emit([warning("null-key", "late"), note("retention", "short")])
    assert [each.filename for each in told] == [__file__]
    assert [each.levelname for each in caplog.records] == ["INFO"]


SLIP = {"@type": "A", "@time": 1, "k": "a", "x": 1, "@tyme": 2}  # a warning, not only a note
PROGRAM = cep.parse(FAMILY + "@Name('R') select x, k from A;")
DOORS: dict[str, Callable[[], object]] = {
    "run": lambda: cep.run(PROGRAM, [SLIP]),
    "debug": lambda: cep.debug(PROGRAM, [SLIP]),
    "send": lambda: cep.open(PROGRAM).send(SLIP),
    "send of a type": lambda: cep.open(PROGRAM).send("A", {"k": "a", "@tyme": 2}, 1),
    "send_table": lambda: cep.open(PROGRAM).send_table({"A": pd.DataFrame([SLIP])}),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_warning_shows_the_line_that_called(door: str) -> None:
    with pytest.warns(CepheidWarning, match="@tyme") as told:
        DOORS[door]()
    assert {(each.filename, each.lineno) for each in told} == {
        (__file__, DOORS[door].__code__.co_firstlineno)
    }


USES = {
    "what a type inherits": (FAMILY + "select x from A", "B", ["x"]),
    "not the time": (
        "@EventTime(attribute='x', unit='seconds') create schema A (k string, x long); select k, x from A",
        "A",
        ["k"],
    ),
    "through a derived type that is another one, too": (
        "create schema A (k string); create schema D (k string); create schema E inherits D;"
        "insert into E select * from A; select k from D",
        "A",
        ["k"],
    ),
    "through a wider type": (
        "create schema A (x int); create schema D (x long);"
        "insert into D select * from A; select x from D",
        "A",
        ["x"],
    ),
    "through an event in another": (
        "create schema A (k string, x int); insert into D select a from pattern [every a=A];"
        "select a.k as k from D",
        "A",
        ["k"],
    ),
}


@pytest.mark.parametrize("case", USES)
def test_attributes_that_are_used(case: str) -> None:
    text, type, expected = USES[case]
    assert list(uses_of(program(text))[type]) == expected


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize(
    "option",
    [{"time": "at"}, {"type": "kind"}, {"sequence": "n"}],
    ids=lambda each: next(iter(each)),
)
def test_a_table_without_rows_needs_no_columns(engine: str, option: dict[str, str]) -> None:
    one = cep.parse("create schema A (k string); select k from A")
    for nothing in (
        pd.DataFrame(),
        pd.DataFrame({"k": []}),
        pa.table({"k": pa.array([], "string")}),
    ):
        assert not cep.run(one, {"A": nothing}, engine=engine, **option)  # type: ignore[arg-type]


def test_a_refused_event_is_one_exception_and_not_two() -> None:
    one = cep.parse("create schema A (x int); select x from A")
    with pytest.raises(cep.InputError) as refused:
        cep.run(one, [{"@type": "A", "@time": 0, "x": "a"}])
    told = "".join(traceback.format_exception(refused.value))
    assert told.count("Traceback") == 1
    assert told.endswith("attribute 'x' of A: 'a' is not an int\n")


def test_a_key_is_one_of_its_own_type_only() -> None:
    text = (
        "create schema A (k string, x int); create schema C (j string, k string);"
        "create context Both partition by k from A, j from C;"
        "@Name('S') context Both select a.x as x from pattern [every a=A -> c=C];"
    )
    keys = keys_of(program(text))
    assert {type: list(keys[type]) for type in ("A", "C")} == {"A": ["k"], "C": ["j"]}
    assert all(use.is_key for uses in keys.values() for use in uses.values())
