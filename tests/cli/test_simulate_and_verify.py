"""`cepheid simulate` and `cepheid verify`: what they print, write and refuse."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run

PROGRAM = """\
create schema A (id string, x int);

@Name('Big')
insert into Big
select a.id as id, a.x as x
from pattern [every a=A(x > 90)];

@Property(kind='never')
@Name('TwoBig')
insert into TwoBig
select b.id as id
from pattern [every a=Big -> b=Big where timer:within(20 seconds)];

@Property(kind='eventually')
@Name('Some')
insert into Some
select a.id as id
from pattern [every a=A];
"""
SCENARIO = """\
[[factory]]
type = "A"
every = {distribution = "exponential", mean = 2}
attributes = {id = "k", x = {distribution = "uniform", min = 0, max = 100}}
"""


@pytest.fixture(autouse=True)
def files(write: Callable[[str, str], Path]) -> None:
    write("p.epl", PROGRAM)
    write("s.toml", SCENARIO)
    write("calm.toml", SCENARIO.replace("max = 100", "max = 80"))


SIMULATE = ("simulate", "p.epl", "--scenario", "s.toml", "--until", "1min", "--runs", "20")
VERIFY = ("verify", "p.epl", "--scenario", "s.toml", "--until", "1min", "--runs", "20")


def test_a_table_for_people_and_files_for_programs(cepheid: Run, folder: Path) -> None:
    table = cepheid(*SIMULATE)
    assert table.code == 0
    head, _, *rows = table.out.splitlines()
    assert head.split() == [
        "event",
        "min",
        "max",
        "median",
        "mean",
        "95",
        "%",
        "interval",
        "sd",
        "ratio",
    ]
    assert [row.split()[0] for row in rows] == ["A", "Big", "TwoBig", "Some"]
    assert table.err.startswith("20 runs, ")
    assert "seed 0" in table.err
    csv = cepheid(*SIMULATE, "--format", "csv")
    assert csv.out.splitlines()[0] == "Event,Min,Max,Median,Mean,Std.Dev,Low,High,Ratio"
    data = cepheid(*SIMULATE, "--json", "--seed", "7").data
    assert (data["runs"], data["seed"]) == (20, 7)
    assert set(data["events"]["Big"]) == {"min", "max", "median", "mean", "sd", "ci"}
    assert cepheid(*SIMULATE, "--json", "--seed", "7").data == data


def test_a_run_is_saved_and_run_again(cepheid: Run, folder: Path) -> None:
    data = cepheid(*SIMULATE, "--json", "--runs", "1", "--save-run", "0", "new/run.jsonl").data
    rows = cepheid("run", "p.epl", "--events", "new/run.jsonl").rows
    counts = Counter(row["@type"] for row in rows)
    for name in ("Big", "TwoBig", "Some"):
        assert data["events"][name]["mean"] == counts[name]


def test_pictures(cepheid: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cepheid(*SIMULATE, "--plots", "pictures").code == 0
    assert sorted(file.name for file in (folder / "pictures").iterdir()) == [
        "convergence.png", "distribution.png", "timeline.png",
    ]  # fmt: skip
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused = cepheid(*SIMULATE, "--plots", "others")
    assert refused.code == 1
    assert "pip install 'cepheid[plots]'" in refused.err
    assert not (folder / "others").exists()


def test_a_property_that_is_broken_comes_with_its_events(cepheid: Run, folder: Path) -> None:
    told = cepheid(*VERIFY, "--property", "TwoBig", "--trace", "trace.jsonl")
    assert told.code == 1
    assert "of 20 runs" in told.out
    assert "it should never happen" in told.out
    assert "Clopper-Pearson" in told.out
    assert "2 events: trace.jsonl" in told.out
    rows = cepheid("run", "p.epl", "--events", "trace.jsonl", "--type", "TwoBig").rows
    assert len(rows) == 1
    shown = cepheid(*VERIFY, "--property", "TwoBig")
    assert (folder / "trace.jsonl").read_text().splitlines()[0] in shown.out


def test_a_property_that_holds(cepheid: Run) -> None:
    good = cepheid("verify", "p.epl", "-s", "calm.toml", "--until", "10s", "-p", "TwoBig")
    assert good.code == 0
    assert "1,068 runs suffice" in good.out
    assert "the exact quantile, rounded up" in good.out
    assert cepheid(*VERIFY, "-p", "Some").code == 0


def test_json_has_what_programs_need(cepheid: Run) -> None:
    data = cepheid(*VERIFY, "-p", "TwoBig", "--json", "--against", "calm.toml").data
    assert {"estimate", "low", "high", "runs", "holds", "trace"} <= data.keys()
    assert data["holds"] is False
    assert len(data["trace"]) == 2
    assert data["low"] <= data["estimate"] <= data["high"]
    assert data["against"]["estimate"] == 0
    assert data["difference"]["low"] > 0


def test_a_plan_says_how_many_runs_are_needed(cepheid: Run) -> None:
    plan = ("verify", "--plan")  # no program, no scenario
    assert cepheid(*plan).out == (
        "1,068 runs for ±0.03 at 95 percent: 1.95996² x 0.5 x 0.5 / 0.03², the exact quantile, "
        "rounded up\n"
    )
    assert cepheid(*plan, "--z", "paper", "--json").data["runs"] == 1067
    assert (
        cepheid(*plan, "--confidence", "0.99", "--expected", "0.05", "--z", "paper", "--json").data[
            "runs"
        ]
        == 351
    )


def test_a_sequential_test_stops_early(cepheid: Run) -> None:
    told = cepheid(
        "verify", "p.epl", "-s", "s.toml", "-p", "TwoBig", "--until", "1min", "--sequential"
    )
    assert told.code == 1
    assert "made it clear; at most 1,068 were planned" in told.out


def test_runs_that_leave_it_open_have_an_exit_code_of_their_own(cepheid: Run) -> None:
    options = ("-p", "TwoBig", "--bound", "0.5", "--runs", "2", "--sequential", "--json")
    told = cepheid(*VERIFY, *options)
    assert told.code == 3
    assert (told.data["holds"], told.data["verdict"]) == (None, "open")
    assert (told.data["bound"], told.data["precision"], told.data["sequential"]) == (
        0.5,
        0.03,
        True,
    )


@pytest.mark.parametrize(
    ("args", "code", "fact"),
    [
        ((*SIMULATE, "--scenario", "none.toml"), 2, "cannot read 'none.toml'"),
        ((*SIMULATE, "--scenario", "p.epl"), 1, "this is not TOML"),
        ((*SIMULATE, "--until", "soon"), 2, "'soon' is not a time period"),
        ((*SIMULATE, "--runs", "0"), 2, "runs is a whole number from 1, not 0"),
        ((*SIMULATE, "--format", "xml"), 2, "'xml' is no value of --format"),
        ((*SIMULATE, "--engine", "flink"), 2, "'flink' is no value of --engine"),
        ((*SIMULATE, "--save-run", "20", "run.jsonl"), 2, "there is no run 20"),
        ((*SIMULATE, "--save-run", "0", "./p.epl"), 2, "--save-run would overwrite 'p.epl'"),
        ((*VERIFY, "-p", "TwoBig", "--trace", "s.toml"), 2, "--trace would overwrite 's.toml'"),
        ((*SIMULATE, "--plots", "p.epl"), 1, "cannot write into 'p.epl'"),
        ((*VERIFY, "--property", "Tiny"), 2, "no property 'Tiny'"),
        ((*VERIFY, "--property", "A"), 2, "'A' is an event type, and no pattern"),
        ((*VERIFY, "--property", "Big"), 2, "'Big' is a pattern without @Property"),
        (("verify",), 2, "a property needs a program"),
        (("verify", "p.epl"), 2, "a property needs a program and a scenario"),
        ((*VERIFY,), 2, "the program has several properties"),
        ((*VERIFY, "-p", "Some", "--confidence", "95"), 2, "the confidence lies between 0 and 1"),
        ((*VERIFY, "-p", "Some", "--z", "rough"), 2, "'rough' is no value of --z"),
        ((*VERIFY, "-p", "Some", "--bound", "0.01", "--sequential"), 2, "no precision of 0.03"),
    ],
)
def test_bad_input_is_said_and_nothing_is_written(
    cepheid: Run, folder: Path, args: tuple[str, ...], code: int, fact: str
) -> None:
    before = sorted(folder.iterdir())
    refused = cepheid(*args)
    assert (refused.code, refused.out) == (code, "")
    assert fact in refused.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("scenario", "fact"),
    [
        (SCENARIO.replace('"A"', '"B"'), "the scenario makes 'B', no event type"),
        (
            SCENARIO.replace("mean = 2", "mean = -2"),
            "factory 1 (A), every: no exponential distribution",
        ),
        (SCENARIO.replace("max = 100", "max = -1"), "factory 1 (A), x: no uniform distribution"),
        (SCENARIO.replace('"uniform"', '"unifrom"'), "did you mean 'uniform'?"),
        (SCENARIO.replace("id =", "di ="), "no attribute 'di' in A"),
    ],
)
def test_a_wrong_scenario_is_said(
    cepheid: Run, write: Callable[[str, str], Path], folder: Path, scenario: str, fact: str
) -> None:
    write("wrong.toml", scenario)
    for args in (SIMULATE, (*VERIFY, "-p", "Some")):
        refused = cepheid(
            *args,
            "--scenario",
            "wrong.toml",
            *(("--save-run", "0", "r") if args is SIMULATE else ("--trace", "r")),
        )
        assert refused.code == 1
        assert fact in refused.err
        assert not (folder / "r").exists()


def test_a_property_is_a_pattern(cepheid: Run, write: Callable[[str, str], Path]) -> None:
    write(
        "q.epl", "create schema A (x int);\n@Property(kind='never') @Name('P') select x from A;\n"
    )
    refused = cepheid("verify", "q.epl", "-s", "s.toml", "-p", "P", "--until", "1s")
    assert refused.code == 1
    assert "a property is a pattern" in refused.err
    assert json.loads(cepheid("check", "q.epl", "--json").out)[0]["code"] == "bad-annotation"
