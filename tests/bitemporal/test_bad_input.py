"""What histories and options cannot be: a clear message each, and nothing lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cepheid as cep
from cepheid.errors import CepheidError

PROGRAM = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x INTEGER, t TIMESTAMP, b BOOLEAN) ID (k)
FREEZING TIME (5m)
ON ONTIME DO act(NEW.k, NEW.t, NEW.b);
CREATE COMPLEX EVENT CLASS D(x INTEGER, k INTEGER) ID (x) OBSERVATION SPAN (1h)
AS SELECT a.x, a.k FROM A a OCCURRING AT a;
"""
GOOD: dict[str, object] = {"@type": "A", "@time": 60, "@detected": 30, "k": 1, "x": 1}


def run(*records: dict[str, object], **options: Any) -> cep.Result:
    given = {"chronon": "1m", "optional": ("t", "b"), **options}
    return cep.run(cep.parse(PROGRAM, "bicepl"), list(records), **given)


BAD: dict[str, tuple[dict[str, object], str]] = {
    "no key": ({**GOOD, "k": None}, "missing-key: a version of A without its key: k is null"),
    "no time": (
        {"@type": "A", "k": 1},
        "missing-time: a version of A without an occurrence time",
    ),
    "no occurrence": (
        {"@type": "A", "k": 1, "@detected": 3},
        "missing-time: a version of A without an occurrence time",
    ),
    "occurrence that is no time": (
        {**GOOD, "@time": "soon"},
        "bad-time: '@time': 'soon' is not an ISO 8601 time",
    ),
    "detection that is no time": (
        {**GOOD, "@detected": "2013-13-01"},
        "bad-time: '@detected': '2013-13-01' is not an ISO 8601 time",
    ),
    "unknown class": ({**GOOD, "@type": "B"}, "unknown-type: no subscribed class 'B'"),
    "complex class": ({**GOOD, "@type": "D"}, "unknown-type: no subscribed class 'D'"),
    "wrong type": ({**GOOD, "x": "many"}, "bad-value: attribute 'x' of A: 'many' is not a long"),
    "wrong timestamp": (
        {**GOOD, "t": "noon"},
        "bad-value: attribute 't' of A: 'noon' is not an ISO 8601 time",
    ),
    "odd retraction": (
        {**GOOD, "@retracted": "yes"},
        "bad-line: '@retracted' is true or false, not 'yes'",
    ),
    "retraction without a time": (
        {"@type": "A", "k": 1, "@retracted": True},
        "missing-time: a retraction of A without a time",
    ),
    "no class": ({"@time": 3, "k": 1}, "missing-type: a version without a class"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_version_that_cannot_be_is_named(name: str) -> None:
    record, expected = BAD[name]
    with pytest.raises(CepheidError) as caught:
        run(GOOD, record)
    [problem] = caught.value.diagnostics
    assert f"{problem.code}: {problem.message}" == expected
    assert problem.span is not None
    assert problem.span.line == 2


def test_a_time_that_is_none_says_how_to_write_one() -> None:
    with pytest.raises(CepheidError) as caught:
        run({**GOOD, "@time": "01.05.2026 10:00"})
    assert "ISO 8601" in (caught.value.diagnostics[0].hint or "")


def test_an_attribute_that_the_class_does_not_have_is_ignored_with_a_note_or_refused() -> None:
    result = run({**GOOD, "y": 1}, {"@time": 120})
    assert [event.type for event in result] == ["act"]
    assert any("'y'" in note.message for note in result.notes)
    with pytest.raises(CepheidError, match="no attribute 'y' in A"):
        run({**GOOD, "y": 1}, extra="error")


def test_a_column_that_is_to_be_an_attribute_and_that_nobody_has_is_told() -> None:
    with pytest.warns(cep.CepheidWarning, match="no source has the column 'k_no'"):
        result = run(GOOD, {"@time": 120}, columns={"k_no": "k"})
    assert [event.type for event in result] == ["act"]
    given = {("k_no" if name == "k" else name): value for name, value in GOOD.items()}
    assert not run(given, {"@time": 120}, columns={"k_no": "k"}).notes


def test_a_time_without_its_mark_is_recognized() -> None:
    with pytest.raises(CepheidError) as caught:
        run({**GOOD, "time": 3}, extra="error")
    assert caught.value.diagnostics[0].hint == "did you mean '@time'?"


@pytest.mark.parametrize("name", BAD)
def test_what_is_skipped_is_told_and_the_rest_counts(name: str) -> None:
    record, expected = BAD[name]
    result = run(record, GOOD, {"@time": 120}, on_error="skip")
    assert [f"{problem.code}: {problem.message}" for problem in result.skipped] == [expected]
    assert [event.type for event in result] == ["act"]


def test_two_events_of_one_key_end_the_run_with_both() -> None:
    with pytest.raises(CepheidError) as caught:
        run(GOOD, {**GOOD, "k": 2})
    [problem] = caught.value.diagnostics
    assert problem.code == "ambiguous-key"
    assert '"k": 1' in problem.message
    assert '"k": 2' in problem.message
    assert "1970-01-01T00:00:00Z" in problem.message


def test_a_derived_event_without_a_key_ends_the_run() -> None:
    with pytest.raises(CepheidError) as caught:
        run({**GOOD, "x": None})
    assert caught.value.diagnostics[0].code == "missing-key"


@pytest.mark.parametrize("engine", ["reference", "local"])
@pytest.mark.parametrize(
    ("part", "whose"), [("ON ONTIME DO f(1 / NEW.x)", "a statement of A"), ("", "the query of D")]
)
def test_sql_that_fails_on_values_names_its_class_and_the_round(
    part: str, whose: str, engine: str
) -> None:
    text = f"""CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x INTEGER) ID (k) FREEZING TIME (5m) {part};
        CREATE COMPLEX EVENT CLASS D(k INTEGER, x NUMBER) ID (k) OBSERVATION SPAN (1h)
        AS SELECT a.k, {"a.x" if part else "1 / a.x AS x"} FROM A a OCCURRING AT a;"""
    records = [{**GOOD, "@time": 60, "@detected": 60, "x": 0}]
    with pytest.raises(CepheidError) as caught:
        cep.run(cep.parse(text, "bicepl"), records, chronon="1m", engine=engine)
    [problem] = caught.value.diagnostics
    assert problem.code == "sql-failed"
    assert problem.message.startswith(f"{whose} in the round of 1970-01-01T00:01:00Z: ")
    assert problem.span is not None


OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "no chronon": ({"chronon": None}, "classes are processed in rounds"),
    "chronon of months": ({"chronon": "1 month"}, "months are not all of one length"),
    "no period": ({"chronon": "often"}, "is not a time period"),
    "no time at all": ({"chronon": "0s"}, "no time at all"),
    "unknown window": ({"window": "tumbling"}, "window"),
    "unknown choice": ({"after_freeze": "ask"}, "after_freeze"),
    "unknown engine": ({"engine": "petri"}, "does not run classes"),
    "outage that ends early": ({"outages": [(60, 0)]}, "ends before it begins"),
    "an outage that is no pair": ({"outages": [{"from": 0, "to": 60}]}, "a pair of times"),
    "why": ({"why": True}, "why"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_make_no_sense_are_refused(name: str) -> None:
    options, fact = OPTIONS[name]
    with pytest.raises(CepheidError) as caught:
        run(GOOD, **options)
    assert fact in str(caught.value)


def test_programs_without_classes_have_no_rounds() -> None:
    program = cep.parse("create schema A (x int); select x from A;")
    with pytest.raises(CepheidError, match="has no classes"):
        cep.run(program, [], chronon="1m")


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ('{"from": "2026-01-01T00:00:00Z"}', "an outage has a 'from' and a 'to'"),
        ('{"from": "x", "to": 5}', "'from': 'x' is not an ISO 8601 time"),
        ('{"from": 5, "to": 1}', "ends before it begins"),
    ],
)
def test_a_file_of_outages_names_the_line(tmp_path: Path, line: str, fact: str) -> None:
    path = tmp_path / "outages.jsonl"
    path.write_text(f'{{"from": 0, "to": 1}}\n{line}\n')
    with pytest.raises(CepheidError) as caught:
        run(GOOD, outages=path)
    assert fact in str(caught.value)
    assert f"{path}:2" in str(caught.value)


def test_nothing_to_do_is_no_error() -> None:
    assert not list(run())


def test_times_before_the_epoch_are_times() -> None:
    result = run({**GOOD, "@time": -90, "@detected": -200}, {"@time": 0})
    assert [(event.instant // 10**6, event["p1"]) for event in result] == [(-120, 1)]


def test_values_arrive_as_they_are() -> None:
    result = run({**GOOD, "t": "2026-01-01T00:00:00.5Z", "b": True}, {"@time": 120})
    assert [dict(event) for event in result] == [
        {
            "@cause": {"@type": "A", "k": 1},
            "p1": 1,
            "p2": "2026-01-01T00:00:00.5Z",
            "p3": True,
        }
    ]


@pytest.mark.parametrize(
    ("statements", "fact"),
    [
        (
            "ON CHANGE DO f(NEW.x), ON ANNOUNCEMENT DO f(NEW.s)",
            "'f' is called with a text as p1 here, and with a number as p1 before",
        ),
        ("ON CHANGE DO A()", "'A' cannot be the name of an action: a class is called so"),
        ("ON CHANGE DO f(NEW.x), ON ANNOUNCEMENT DO f(NEW.k), ON LATE DO f(NEW.x, NEW.s)", None),
        ("ON CHANGE DO f(NEW.s), ON ANNOUNCEMENT DO f(NEW.occ), ON LATE DO f(NULL)", None),
    ],
)
def test_what_actions_tell_has_one_type_each(statements: str, fact: str | None) -> None:
    head = "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x NUMBER, s TEXT) ID (k) FREEZING TIME (1d)"
    problems = cep.parse(f"{head} {statements};", "bicepl").resolve().problems
    assert [each.message for each in problems] == ([fact] if fact else [])


def test_one_action_of_two_classes_tells_keys_of_one_type() -> None:
    text = "".join(
        f"CREATE MUTABLE SUBSCRIBED EVENT CLASS {name}(k {type}) ID (k) FREEZING TIME (1d) ON CHANGE DO f();"
        for name, type in (("A", "TEXT"), ("B", "INTEGER"))
    )
    [problem] = cep.parse(text, "bicepl").resolve().problems
    assert problem.code == "mixed-arguments"
    assert (
        "a whole number as the key k of B here, and with a text as the key k of A"
        in problem.message
    )
