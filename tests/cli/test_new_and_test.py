"""`cepheid new` and `cepheid test`: a start, and cases of one's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import EVENTS, PROGRAM, Run

Write = Callable[[str, str], Path]

PAIR = '{"@type": "Pair", "@time": "1970-01-01T00:00:02Z", "id": "k", "first": 1, "second": 2}'
BIG = '{"@type": "Big", "@time": "1970-01-01T00:00:03Z", "id": "l", "x": 300}'

pytestmark = pytest.mark.usefixtures("folder")


def test_a_new_program_works_at_once(cepheid: Run) -> None:
    outcome = cepheid("new", "demo")
    assert outcome.code == 0
    assert "cepheid test demo" in outcome.out
    assert cepheid("test", "demo").code == 0
    assert cepheid("check", "demo/demo.epl").out.endswith("1 note in 4 statements\n")
    assert cepheid("format", "--check", "demo/demo.epl").code == 0
    run = cepheid("run", "demo/demo.epl", "--events", "demo/events.jsonl")
    assert run.out == Path("demo/expected.jsonl").read_text()
    assert {row["@type"] for row in run.rows} == {"Hot", "Rising", "Fire", "Silence"}
    assert "$" not in Path("demo/README.md").read_text()


def test_a_new_program_can_be_made_elsewhere(cepheid: Run) -> None:
    assert cepheid("new", "demo", "--dir", "a/b").code == 0
    assert cepheid("test", "a").code == 0


def test_nothing_is_overwritten(cepheid: Run, write: Write) -> None:
    own = write("demo/events.jsonl", "mine")
    outcome = cepheid("new", "demo")
    assert outcome.code == 2
    assert "'demo' exists" in outcome.err
    assert own.read_text() == "mine"
    assert [path.name for path in own.parent.iterdir()] == ["events.jsonl"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a", "a b", "a\nb"])
def test_a_name_must_be_one(cepheid: Run, name: str) -> None:
    before = sorted(Path().rglob("*"))
    assert cepheid("new", name).code == 2
    assert sorted(Path().rglob("*")) == before


# Cases.


@pytest.fixture
def case(write: Write) -> Callable[[str, str], Path]:
    """A case of that name and with these expectations."""

    def make(name: str, expected: str) -> Path:
        write(f"{name}/p.epl", PROGRAM)
        write(f"{name}/events.jsonl", EVENTS)
        return write(f"{name}/expected.jsonl", expected)

    return make


def test_cases_pass_and_fail(cepheid: Run, case: Write) -> None:
    case("cases/good", f"{PAIR}\n{BIG}\n")
    case("cases/deep/down/bad", f"{PAIR}\n{BIG.replace('300', '301')}\n")
    outcome = cepheid("test", "cases")
    assert outcome.code == 1
    table = [line.split() for line in outcome.out.splitlines()]
    assert ["cases/deep/down/bad", "failed", "2"] in table
    assert ["cases/good", "passed", "2"] in table
    assert outcome.out.endswith("1 passed, 1 failed\n")


def test_a_failure_shows_the_difference(cepheid: Run, case: Write) -> None:
    case("c", f"{BIG}\n{BIG}\n")
    lines = cepheid("test", "c").out.splitlines()
    assert lines[:7] == [
        "c",
        "--- expected.jsonl",
        "+++ what the program gives",
        "@@ -1,2 +1,2 @@",
        f"+{PAIR}",
        f" {BIG}",
        f"-{BIG}",
    ]


def test_rows_are_compared_by_what_they_say(cepheid: Run, case: Write) -> None:
    case("c", '\n{"x":300.0,"id":"l","@time":3,"@type":"Big"}\n'.join([PAIR, ""]))
    assert cepheid("test", "c").code == 0


@pytest.mark.parametrize(
    "other",
    [
        BIG.replace("300", "true"),
        BIG.replace("300", '"300"'),
        BIG.replace("300", "null"),
        BIG.replace(', "x": 300', ""),
        BIG.replace("}", ', "y": null}'),
        "",
        "?",
        f"{BIG}\n{BIG}",
    ],
)
def test_any_other_row_is_a_difference(cepheid: Run, case: Write, other: str) -> None:
    case("c", f"{PAIR}\n{other}\n")
    assert cepheid("test", "c").code == 1


def test_the_order_of_rows_matters(cepheid: Run, case: Write) -> None:
    case("c", f"{BIG}\n{PAIR}\n")
    assert cepheid("test", "c").code == 1


def test_expectations_can_be_rewritten(cepheid: Run, case: Write) -> None:
    expected = case("c", "")
    outcome = cepheid("test", "c", "--rewrite")
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "1 written")
    assert expected.read_text() == f"{PAIR}\n{BIG}\n"
    assert cepheid("test", "c", "--rewrite").out.splitlines()[-1] == "1 passed"


def test_a_missing_expectation_fails_until_it_is_written(cepheid: Run, case: Write) -> None:
    case("c", "").unlink()
    outcome = cepheid("test", "c")
    assert outcome.code == 1
    assert "hint: --rewrite" in outcome.out
    assert cepheid("test", "c", "--rewrite").code == 0
    assert cepheid("test", "c").code == 0


def test_a_broken_case_does_not_hide_the_others(cepheid: Run, case: Write, write: Write) -> None:
    case("c/1", f"{PAIR}\n{BIG}\n")
    case("c/2", "")
    write("c/2/more.epl", "selec x;")
    case("c/3", "")
    Path("c/3/events.jsonl").unlink()
    outcome = cepheid("test", "c", "--json")
    assert outcome.code == 1
    assert [(v["case"], v["outcome"]) for v in outcome.data] == [
        ("c/1", "passed"),
        ("c/2", "broken"),
        ("c/3", "broken"),
    ]
    codes = [[problem["code"] for problem in v["problems"]] for v in outcome.data]
    assert codes == [[], ["syntax"], ["missing-file"]]


def test_the_files_of_a_case_are_one_program_and_one_input(
    cepheid: Run, case: Write, write: Write
) -> None:
    case("c", f"{PAIR}\n{BIG}\n")
    parts = PROGRAM.partition("@Name('Big')")
    write("c/p.epl", parts[0])
    write("c/q.epl", parts[1] + parts[2])
    first, *rest = EVENTS.splitlines(keepends=True)
    write("c/events.jsonl", first)
    write("c/events.json", "".join(rest))
    assert cepheid("test", "c").code == 0


def test_a_row_may_hold_any_line_separator(cepheid: Run, case: Write, write: Write) -> None:
    case("c", "")
    write("c/events.jsonl", '{"@type": "A", "@time": 1, "id": "a\\u2028\\u0085b", "x": 101}')
    assert cepheid("test", "c", "--rewrite").code == 0
    assert cepheid("test", "c").code == 0


@pytest.mark.parametrize("name", ["nowhere", "p.epl", "empty", "x" * 300])
def test_where_no_case_is_the_command_was_wrong(cepheid: Run, folder: Path, name: str) -> None:
    (folder / "empty").mkdir()
    outcome = cepheid("test", name)
    assert (outcome.code, outcome.out) == (2, "")
    assert name[:20] in outcome.err
