"""`cepheid run` and `as-of` over programs with classes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bitemporal.test_replay import HISTORY, PROGRAM
from tests.cli.conftest import Run
from tests.pipelines.test_in_step import lines

Write = Callable[[str, str], Path]
RUN = ("run", "a.bicepl", "--events", "h.jsonl", "--chronon", "1m")
AS_OF = ("a.bicepl", "--events", "h.jsonl", "--chronon", "1m")


@pytest.fixture(autouse=True)
def given(write: Write) -> None:
    write("a.bicepl", PROGRAM)
    write("h.jsonl", lines(HISTORY))


def seen(cepheid: Run, *options: str) -> list[tuple[str, str]]:
    outcome = cepheid(*RUN, *options)
    assert outcome.code == 0, outcome.err
    return [(row["@type"], row["@time"][14:16]) for row in outcome.rows]


ACTIONS = [("seen", "01"), ("changed", "02"), ("seen", "05"), ("now", "10"), ("gone", "11")]


def test_actions_are_printed_at_their_rounds(cepheid: Run) -> None:
    assert seen(cepheid) == ACTIONS
    assert seen(cepheid, "--engine", "reference") == ACTIONS


def test_a_type_is_an_action_or_a_class(cepheid: Run) -> None:
    assert seen(cepheid, "--type", "now") == [("now", "10")]
    assert seen(cepheid, "--type", "D", "gone") == [("D", "02"), ("gone", "11")]
    outcome = cepheid(*RUN, "--type", "E")
    assert outcome.code == 2
    assert "derived types: seen, changed, gone, now; classes: A, D" in outcome.err


def test_in_outages_there_are_no_rounds(cepheid: Run, write: Write) -> None:
    write("o.jsonl", '{"from": 100, "to": 170}\n{"from": "1970-01-01T00:10:00Z", "to": 700}\n')
    late = [("seen", "01"), ("changed", "03"), ("seen", "05"), ("gone", "12")]
    assert seen(cepheid, "--outages", "o.jsonl") == late
    write("o.csv", "from,to\n100,170\n600,700\n")
    assert seen(cepheid, "--outages", "o.csv") == late


def test_rounds_begin_and_end_where_they_are_told_to(cepheid: Run) -> None:
    assert seen(cepheid, "--start", "240") == [("seen", "04"), *ACTIONS[2:]]
    assert seen(cepheid, "--end", "1970-01-01T00:10:00Z") == ACTIONS[:4]


def test_classes_without_statements_say_where_to_look(cepheid: Run, write: Write) -> None:
    write(
        "b.bicepl", "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER) ID (k) FREEZING TIME (1h);"
    )
    write("b.jsonl", '{"@type": "A", "k": 1, "@time": 60}\n')
    command = ("run", "b.bicepl", "--events", "b.jsonl", "--chronon", "1m")
    assert "no class has statements; --type shows" in cepheid(*command).err
    assert "statements" not in cepheid(*command, "--type", "A").err
    assert "statements" not in cepheid(*RUN).err


def test_that_there_were_no_rounds_is_said(cepheid: Run) -> None:
    outcome = cepheid(*RUN, "--end", "0")
    assert (outcome.code, outcome.out) == (0, "")
    assert "there were no rounds: look at the start" in outcome.err
    assert "no rounds" not in cepheid(*RUN).err


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--outages", "none.jsonl"], 2, "no file 'none.jsonl'"),
        (["--outages", "bad.jsonl"], 1, "bad.jsonl:1:1: error[bad-line]: an outage has a 'from'"),
        (["--window", "slide"], 2, "did you mean 'sliding'?"),
        (["--after-freeze", "keep"], 2, "choices: refuse, take"),
        (["--chronon", "soon"], 2, "a chronon: 'soon' is not a time period"),
        (["--chronon", "0s"], 2, "a chronon: '0s' is no time at all"),
        (["--end", "soon"], 2, "--end: 'soon' is not an ISO 8601 time"),
        (["--why"], 2, "rounds have no why"),
        (["--timed-out"], 2, "rounds have no timed_out"),
        (["--record", "h.jsonl"], 2, "--record would overwrite 'h.jsonl'"),
    ],
)
def test_what_makes_no_sense_is_told(
    cepheid: Run, write: Write, options: list[str], code: int, words: str
) -> None:
    write("bad.jsonl", '{"from": 1}\n')
    outcome = cepheid(*RUN, *options)
    assert (outcome.code, outcome.out) == (code, "")
    assert words in outcome.err


def test_classes_need_a_chronon_and_statements_have_none(cepheid: Run) -> None:
    outcome = cepheid(*RUN[:4])
    assert outcome.code == 2
    assert "classes are processed in rounds, and nothing says how often" in outcome.err
    assert "--chronon 1m" in outcome.err
    outcome = cepheid("run", "p.epl", "-e", "e.jsonl", "--chronon", "1m")
    assert (outcome.code, "the program has no classes" in outcome.err) == (2, True)


def test_windows_forget_what_is_over(cepheid: Run, write: Write) -> None:
    again = {"@type": "A", "@time": 600, "@detected": 90_000, "k": 1, "x": 2.0}
    write("h.jsonl", lines([*HISTORY[:2], again]))
    buffered = cepheid(*RUN, "--type", "A")
    sliding = cepheid(*RUN, "--type", "A", "--window", "sliding")
    assert [row["kind"] for row in buffered.rows] == ["announcement", "change"]
    assert buffered.err == ""  # it says what was known
    assert [row["kind"] for row in sliding.rows] == ["announcement", "change"]
    assert "refused 1 detection of A: after the event had expired" in sliding.err


def test_versions_after_the_freeze_are_refused_or_taken(cepheid: Run, write: Write) -> None:
    write("h.jsonl", lines([*HISTORY, {**HISTORY[0], "@detected": 9_000, "x": 5.0}]))
    outcome = cepheid(*RUN)
    assert len(outcome.rows) == len(ACTIONS)
    assert "refused 1 detection of A: after the freeze" in outcome.err
    taken = cepheid(*RUN, "--after-freeze", "take")
    assert (taken.rows[-1]["@type"], taken.rows[-1]["p1"], taken.err) == ("changed", 5.0, "")


def test_what_cannot_be_read_fails_the_run_or_is_skipped(cepheid: Run, write: Write) -> None:
    bad = '{"@type": "A", "@time": 60}\n{"@type": "B", "@time": 60}\n{"@type": "A", "@time": 1, "k": "x"}\n'
    write("h.jsonl", bad + lines(HISTORY))
    outcome = cepheid(*RUN)
    assert (outcome.code, outcome.out) == (1, "")
    assert "h.jsonl:1:1: error[missing-key]" in outcome.err
    skipped = cepheid(*RUN, "--on-error", "skip")
    assert [row["@type"] for row in skipped.rows] == [name for name, _ in ACTIONS]
    for code in ("missing-key", "unknown-type", "bad-value"):
        assert f"error[{code}]" in skipped.err
    assert "skipped 3 records that cannot be read" in skipped.err


def test_a_record_is_a_history_for_another_program(cepheid: Run) -> None:
    assert cepheid(*RUN, "--record", "d.jsonl").code == 0
    told = [json.loads(line) for line in Path("d.jsonl").read_text().splitlines()]
    assert [line.get("@type") for line in told] == ["D", None]
    assert cepheid(*RUN, "--type", "A", "--record", "a.jsonl").code == 0
    assert Path("a.jsonl").read_text().count('"@retracted": true') == 1


# --- as of ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("60", [("A", 1, 1.0)]),
        ("1970-01-01T00:02:30Z", [("A", 1, 2.0), ("D", 1, None)]),
        ("1970-01-01T01:05:00+01:00", [("A", 1, 2.0), ("A", 2, 0.0), ("D", 1, None)]),
        ("100000", [("A", 1, 2.0), ("D", 1, None)]),
    ],
)
def test_what_was_known_at_a_time(
    cepheid: Run, time: str, expected: list[tuple[str, int, float | None]]
) -> None:
    outcome = cepheid("as-of", time, *AS_OF)
    assert (outcome.code, outcome.err) == (0, "")
    assert sorted((r["@type"], r["k"], r.get("x")) for r in outcome.rows) == expected


def test_before_the_first_detection_nothing_was_known(cepheid: Run) -> None:
    outcome = cepheid("as-of", "0", *AS_OF)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "nothing was known then\n")


def test_classes_can_be_chosen(cepheid: Run) -> None:
    rows = cepheid("as-of", "180", *AS_OF, "--type", "D").rows
    assert [(row["@type"], row["@time"]) for row in rows] == [("D", "1970-01-01T00:02:00Z")]
    assert "choose from A, D" in cepheid("as-of", "180", *AS_OF, "--type", "E").err


@pytest.mark.parametrize("time", ["soon", "", "2026-13-01", "1e999", "nan", "9" * 30])
def test_what_is_no_time_is_wrong_use(cepheid: Run, time: str) -> None:
    outcome = cepheid("as-of", time, *AS_OF)
    assert (outcome.code, outcome.out) == (2, "")
    assert "error[usage]: TIME: " in outcome.err
    assert "write ISO 8601" in outcome.err


def test_as_of_needs_classes_and_a_chronon(cepheid: Run) -> None:
    outcome = cepheid("as-of", "60", "p.epl", "-e", "e.jsonl", "--chronon", "1m")
    assert (outcome.code, "the program has no classes" in outcome.err) == (2, True)
    outcome = cepheid("as-of", "60", *AS_OF[:3])
    assert (outcome.code, "--chronon" in outcome.err) == (2, True)
