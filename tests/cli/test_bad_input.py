"""Whatever people feed it, the command ends with a clear message and an exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import EVENTS, Run

Write = Callable[[str, str], Path]

GOOD = '{"@type": "A", "@time": 4, "id": "k", "x": 500}'
# A line that cannot be taken, where it is wrong, and the code and fact of the message.
BROKEN = {
    "no JSON": ('{"@type": "A" "x"}', 15, "bad-line", "not JSON"),
    "no object": ("[1, 2]", 1, "bad-line", "an event is an object"),
    "unknown type": ('{"@type": "Z", "@time": 4}', 1, "unknown-type", "no event type 'Z'"),
    "wrong type": ('{"@type": "A", "@time": 4, "x": "one"}', 1, "bad-value", "'x' of A"),
    "huge number": (
        '{"@type": "A", "@time": 4, "x": 1' + "0" * 400 + "}",
        1,
        "bad-line",
        "401 digits",
    ),
    "huge exponent": ('{"@type": "A", "@time": 4, "x": 1e999}', 1, "bad-line", "1e999"),
    "no time": ('{"@type": "A", "x": 1}', 1, "missing-time", "without a time"),
    "no type": ('{"@time": 4, "x": 1}', 1, "missing-type", "without a type"),
    "huge time": ('{"@type": "A", "@time": 1e300}', 1, "bad-time", "outside the years"),
    "true as time": ('{"@type": "A", "@time": true}', 1, "bad-time", "true is not a time"),
    "null": ("null", 1, "bad-line", "an event is an object, not null"),
    "bad time": ('{"@type": "A", "@time": "noon"}', 1, "bad-time", "'noon'"),
    "deep": ('{"@type": "A", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", 1, "bad-line", "nested"),
}


@pytest.fixture(params=BROKEN.values(), ids=list(BROKEN))
def broken(request: pytest.FixtureRequest, folder: Path) -> tuple[str, int, str, str]:
    found: tuple[str, int, str, str] = request.param
    (folder / "bad.jsonl").write_text(f"{EVENTS}{found[0]}\n{GOOD}\n")
    return found


def test_a_broken_line_fails_the_run_and_is_shown(
    cepheid: Run, broken: tuple[str, int, str, str]
) -> None:
    line, column, code, fact = broken
    outcome = cepheid("run", "p.epl", "-e", "bad.jsonl")
    assert (outcome.code, outcome.out) == (1, "")
    first, excerpt, caret, *_ = outcome.err.splitlines()
    assert first.startswith(f"bad.jsonl:5:{column}: error[{code}]: ")
    assert fact in first
    assert excerpt.strip().rstrip("…") == line[: len(excerpt.strip().rstrip("…"))]
    assert caret.index("^") == 3 + column
    assert max(map(len, (excerpt, caret))) <= 102


def test_a_broken_line_can_be_skipped_and_is_counted(
    cepheid: Run, broken: tuple[str, int, str, str]
) -> None:
    outcome = cepheid("run", "p.epl", "-e", "bad.jsonl", "--type", "Big", "--on-error", "skip")
    assert outcome.code == 0
    assert [row["x"] for row in outcome.rows] == [300, 500]
    assert f"error[{broken[2]}]" in outcome.err
    assert "skipped 1 record that cannot be read" in outcome.err


def test_a_broken_line_on_standard_input_comes_after_the_rows_before_it(
    cepheid: Run, broken: tuple[str, int, str, str]
) -> None:
    text = Path("bad.jsonl").read_text().replace('"@time": 4', '"@time": 40')
    outcome = cepheid("run", "p.epl", "-e", "-", "--type", "Big", stdin=text)
    assert (outcome.code, [row["x"] for row in outcome.rows]) == (1, [300])
    assert f"<stdin>:5:{broken[1]}: error[{broken[2]}]" in outcome.err
    outcome = cepheid("run", "p.epl", "-e", "-", "--on-error", "skip", "-t", "Big", stdin=text)
    assert (outcome.code, [row["x"] for row in outcome.rows]) == (0, [300, 500])
    assert "skipped 1 record" in outcome.err


def test_only_the_first_of_many_problems_are_shown(cepheid: Run, write: Write) -> None:
    write("bad.jsonl", "?\n" * 20)
    for events, text in (("bad.jsonl", ""), ("-", "?\n" * 20)):
        outcome = cepheid("run", "p.epl", "-e", events, "--on-error", "skip", stdin=text)
        assert outcome.err.count("error[bad-line]") == 5
        assert "skipped 20 records that cannot be read; the first 5 are above" in outcome.err


def test_bytes_that_are_no_text_spoil_one_line_only(cepheid: Run, folder: Path) -> None:
    data = EVENTS.encode() + b'{"@type": "A", "@time": 20, "id": "\xff"}\n'
    (folder / "bytes.jsonl").write_bytes(data)
    outcome = cepheid("run", "p.epl", "-e", "bytes.jsonl")
    assert outcome.code == 1
    assert "bytes.jsonl:5:36: error[bad-line]: byte 0xff is not UTF-8" in outcome.err
    outcome = cepheid("run", "p.epl", "-e", "-", "--on-error", "skip", stdin=data)
    assert (outcome.code, len(outcome.rows)) == (0, 2)
    assert "<stdin>:5:36: error[bad-line]" in outcome.err


def test_a_caret_stands_under_wide_characters_too(cepheid: Run, write: Write) -> None:
    write("wide.jsonl", '\t{"@type": "A", "id": "温度" ?}\n')
    _, excerpt, caret = cepheid("run", "p.epl", "-e", "wide.jsonl").err.splitlines()
    # Each of the two characters fills two cells of the terminal.
    assert caret.index("^") == excerpt.index("?") + 2


@pytest.mark.parametrize("command", [["check"], ["run", "-e", "e.jsonl"], ["format"], ["explain"]])
@pytest.mark.usefixtures("folder")
def test_a_missing_program_is_wrong_use(cepheid: Run, command: list[str]) -> None:
    name, *rest = command
    outcome = cepheid(name, "q.epl", *rest)
    assert (outcome.code, outcome.out) == (2, "")
    assert "error[missing-file]: cannot read 'q.epl'" in outcome.err


@pytest.mark.usefixtures("folder")
def test_missing_events_are_wrong_use(cepheid: Run) -> None:
    outcome = cepheid("run", "p.epl", "-e", "f.jsonl")
    assert outcome.code == 2
    assert "no file 'f.jsonl'" in outcome.err
    assert "did you mean 'e.jsonl'?" in outcome.err
    assert cepheid("run", "p.epl").code == 2
    assert cepheid("run", "-e", "e.jsonl").code == 2


@pytest.mark.usefixtures("folder")
def test_a_folder_is_no_program(cepheid: Run, folder: Path) -> None:
    (folder / "d").mkdir()
    assert cepheid("check", "d").code == 2


@pytest.mark.parametrize("command", [["check"], ["run", "-e", "e.jsonl"], ["format"], ["explain"]])
@pytest.mark.parametrize("opened", ["(", "-", "not ", "case when x = 1 then "])
def test_a_program_of_10000_levels_is_refused(
    cepheid: Run, write: Write, command: list[str], opened: str
) -> None:
    closed = ")" if opened == "(" else ""
    nested = opened * 10_000 + "x" + closed * 10_000
    write("deep.epl", f"create schema A (x int);\nselect {nested} as y from A;")
    name, *rest = command
    outcome = cepheid(name, "deep.epl", *rest)
    assert outcome.code == 1
    assert "deep.epl:2:" in outcome.out + outcome.err
    assert "error[too-deep]" in outcome.out + outcome.err
    assert max(map(len, (outcome.out + outcome.err).splitlines())) < 200


@pytest.mark.parametrize("command", [["check"], ["run", "-e", "e.jsonl"], ["format"], ["explain"]])
def test_a_program_that_is_no_text_is_refused(
    cepheid: Run, folder: Path, command: list[str]
) -> None:
    (folder / "bytes.epl").write_bytes(b"create schema A (x int);\nselect \xff from A;")
    name, *rest = command
    outcome = cepheid(name, "bytes.epl", *rest)
    assert outcome.code == 1
    assert "'bytes.epl' is not UTF-8 on line 2" in outcome.out + outcome.err


def test_a_runaway_program_ends(cepheid: Run, write: Write) -> None:
    write("loop.epl", "create schema A (x int);\ninsert into A select x from A;")
    write("a.jsonl", '{"@type": "A", "@time": 1, "x": 1}')
    outcome = cepheid("run", "loop.epl", "-e", "a.jsonl")
    assert (outcome.code, outcome.out) == (1, "")
    assert "loop.epl:2:1: error[runaway]" in outcome.err


def test_values_that_are_nested_too_deep_to_write_fail_the_run(cepheid: Run, write: Write) -> None:
    write(
        "nest.epl",
        "create schema A (a A, x int);\n"
        "insert into A select a, a.x + 1 as x from pattern [every a=A(x < 2000)];",
    )
    write("a.jsonl", '{"@type": "A", "@time": 1, "x": 1}')
    outcome = cepheid("run", "nest.epl", "-e", "a.jsonl", "--out", "o.jsonl")
    assert outcome.code == 1
    assert "error[too-deep]" in outcome.err
