"""`cepheid graph`: what is checked, shown, run, simulated and measured, and how commands end."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import EXAMPLES, Run

GRAPH = """\
[suppliers.s]
period = "10ms"
validity = "10s"
payload = "float64[2]"
trace = "s.jsonl"

[operators.mean]
kind = "average"
inputs = ["s"]
window = 2

[operators.again]
kind = "average"
inputs = ["s"]
window = 2

[operators.spectrum]
kind = "fft"
inputs = ["again"]

[consumers.fast]
input = "mean"
priority = "high"
deadline = "8ms"

[consumers.slow]
input = "spectrum"
priority = "low"
late = "shed"

[bench]
loads = [0.5, 0.9]
without = ["priorities", "sharing"]
seconds = 0.5
"""
EVENTS = "".join(
    json.dumps({"@type": "s", "@time": n / 100, "values": [n, n + 1]}) + "\n" for n in range(1, 5)
)
MICROSECOND = 1_000


def times(operators: dict[str, int], scheduling: int = 10 * MICROSECOND) -> str:
    """A file of times, all of them the same at worst and on average."""
    cost = {"worst": scheduling, "mean": scheduling}
    own = {name: {"worst": each, "mean": each} for name, each in operators.items()}
    return json.dumps({"format": 1, "operators": own, "take": cost, "move": cost, "overhead": cost})


@pytest.fixture(autouse=True)
def given(folder: Path) -> None:
    (folder / "g.toml").write_text(GRAPH)
    (folder / "s.jsonl").write_text(EVENTS)
    some = {"mean": 1_000 * MICROSECOND, "again": 1_000 * MICROSECOND}
    (folder / "t.json").write_text(times({**some, "spectrum": 500 * MICROSECOND}))


Write = Callable[[str, str], Path]
COMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("--no-times",),
    "explain": (),
    "run": (),
    "simulate": ("--times", "t.json"),
    "bench": ("--simulate", "--times", "t.json", "--repetitions", "1"),
}


def strict(text: str) -> Any:
    """JSON as others read it, in which there is no infinity."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


# -- check --


def test_a_prediction_says_when_consumers_are_served(cepheid: Run) -> None:
    done = cepheid("graph", "check", "g.toml", "--times", "t.json")
    assert (done.code, done.err) == (0, "")
    note, *_ = done.out.splitlines()
    assert note.startswith("g.toml:12:1: note[shared-work]: 'mean' does the work of 'again'")
    rows = {line.split()[0]: line for line in done.out.splitlines() if " times " in line}
    assert {name: row.split()[-2:] for name, row in rows.items() if name in ("fast", "slow")} == {
        "fast": ["in", "time"],
        "slow": ["in", "time"],
    }
    assert "saturated at" in done.out


def test_a_prediction_can_be_read_by_programs(cepheid: Run, write: Write) -> None:
    found = strict(cepheid("graph", "check", "g.toml", "--times", "t.json", "--json").out)
    assert [each["code"] for each in found["findings"]] == ["shared-work"]
    fast, slow = found["consumers"]["fast"], found["consumers"]["slow"]
    assert 0 < found["load"] < 1 < found["saturation"]
    assert fast["deadline"] == 8_000 * MICROSECOND
    assert fast["bound"] < slow["bound"]
    assert (fast["holds"], fast["expires"], fast["losing"]) == (True, False, [])
    write("t.json", times({"mean": 0, "spectrum": 0}, scheduling=0))
    nothing = strict(cepheid("graph", "check", "g.toml", "--times", "t.json", "--json").out)
    assert (nothing["load"], nothing["saturation"]) == (0, None)


@pytest.mark.parametrize(
    ("taken", "codes", "words"),
    [
        (7_900, ["missed-deadline"], "'fast' may miss its deadline of 8 ms: responses can take"),
        (9_000, ["missed-deadline"], "hint: at no rate is it kept: single runs can take too long"),
        (11_000, ["missed-deadline", "missed-deadline", "saturated"], "responses have no bound"),
    ],
)
def test_what_may_be_late_is_a_warning(
    cepheid: Run, write: Write, taken: int, codes: list[str], words: str
) -> None:
    write("t.json", times({"mean": taken * MICROSECOND, "spectrum": 100 * MICROSECOND}))
    done = cepheid("graph", "check", "g.toml", "--times", "t.json")
    assert done.code == 1
    assert words in done.out
    data = cepheid("graph", "check", "g.toml", "--times", "t.json", "--json").data
    warnings = [each["code"] for each in data["findings"] if each["severity"] == "warning"]
    assert sorted(warnings) == codes


def test_more_processors_and_operators_of_its_own_change_a_prediction(cepheid: Run) -> None:
    def load(*options: str) -> float:
        done = cepheid("graph", "check", "g.toml", "--times", "t.json", "--json", *options)
        return float(done.data["load"])

    assert load("--processors", "2") == load() / 2
    assert load("--no-sharing") > load()


def test_operators_are_measured_where_no_file_has_their_times(cepheid: Run, folder: Path) -> None:
    measured = cepheid("graph", "check", "g.toml", "--save-times", "here.json")
    assert measured.code in (0, 1)  # as this machine is busy
    saved = json.loads((folder / "here.json").read_text())
    assert saved["operators"].keys() == {"mean", "spectrum"}
    again = cepheid("graph", "check", "g.toml", "--times", "here.json")
    assert again.out == measured.out


def test_a_graph_is_drawn(cepheid: Run, folder: Path) -> None:
    done = cepheid("graph", "check", "g.toml", "--no-times", "--draw", "new/g.svg")
    assert (done.code, done.out.splitlines()[-1]) == (0, "1 note")
    picture = ElementTree.parse(folder / "new" / "g.svg")
    texts = {each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"s", "mean", "spectrum", "fast", "slow"} <= texts
    assert "again" not in texts  # 'mean' does its work
    cepheid("graph", "check", "g.toml", "--no-times", "--no-sharing", "--draw", "g.svg")
    assert "again@slow" in (folder / "g.svg").read_text()


# -- explain --


def test_priorities_rings_and_what_is_shared_are_explained(cepheid: Run) -> None:
    done = cepheid("graph", "explain", "g.toml")
    assert (done.code, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines()[2:-1]]
    assert rows == [
        ["1", "s", "supplier", "float64[2]", "1000"],
        ["1", "mean", "average", "s", "float64[2]", "1000", "released", "kept"],
        ["3", "spectrum", "fft", "mean", "complex128[2]", "1000", "released"],
    ]
    assert done.out.splitlines()[-1] == "mean does the work of again"


def test_a_graph_without_features_is_explained(cepheid: Run) -> None:
    apart = cepheid("graph", "explain", "g.toml", "--no-sharing").out
    assert "mean@fast" in apart
    assert "again@slow" in apart
    assert "does the work of" not in apart
    equal = cepheid("graph", "explain", "g.toml", "--no-priorities").out
    assert {line.split()[0] for line in equal.splitlines()[2:-1]} == {"1"}


# -- run --


def test_a_run_tells_what_was_delivered_and_writes_it(cepheid: Run, folder: Path) -> None:
    done = cepheid("graph", "run", "g.toml", "--out", "new/out.jsonl")
    assert (done.code, done.out) == (0, "")
    delivered = {line.split()[0]: line.split()[2:4] for line in done.err.splitlines()}
    assert (delivered["fast"][0], delivered["slow"][0]) == ("4", "4")
    assert "Mbit/s in time; nothing lost" in done.err
    rows = [json.loads(line) for line in (folder / "new" / "out.jsonl").read_text().splitlines()]
    assert [row["number"] for row in rows if row["consumer"] == "slow"] == [1, 2, 3, 4]
    fast = [row for row in rows if row["consumer"] == "fast"]
    assert [row["payload"]["values"] for row in fast][:2] == [[1.0, 1.5], [2.0, 2.5]]
    assert {row["@type"] for row in fast} == {"mean"}
    assert [*fast[0]] == ["@type", "@time", "consumer", "begin", "end", "number", "late", "payload"]


def test_deliveries_go_to_standard_output_and_nothing_else_does(cepheid: Run) -> None:
    done = cepheid("graph", "run", "g.toml", "--out", "-")
    assert len(done.rows) == 8
    assert done.err.startswith("consumer")


def test_a_trace_is_in_the_format_of_chrome(cepheid: Run, folder: Path) -> None:
    assert cepheid("graph", "run", "g.toml", "--trace", "new/run.json").code == 0
    trace = strict((folder / "new" / "run.json").read_text())
    events = trace["traceEvents"]
    assert {each["ph"] for each in events} == {"M", "X", "C"}
    jobs = [each for each in events if each["ph"] == "X"]
    assert {each["name"] for each in jobs} == {"take s", "mean", "move to spectrum", "spectrum"}
    assert len(jobs) == 4 * 4
    assert all(each["ts"] >= 0 and each["dur"] >= 0 and each["tid"] == 0 for each in jobs)
    assert {each["args"]["priority"] for each in jobs} == {1, 3}
    counters = [each["args"].keys() for each in events if each["ph"] == "C"]
    assert counters == [{"priority 1", "priority 3"}] * len(jobs)


def test_options_of_a_run_change_the_graph(cepheid: Run, folder: Path) -> None:
    options = ("--no-sharing", "--no-priorities", "--late", "mark", "--processors", "2")
    done = cepheid("graph", "run", "g.toml", *options, "--trace", "run.json", "--times", "t.json")
    assert done.code == 0
    jobs = [e for e in json.loads((folder / "run.json").read_text())["traceEvents"] if "dur" in e]
    assert {each["args"]["priority"] for each in jobs} == {1}
    assert {"mean@fast", "again@slow"} <= {each["name"] for each in jobs}


def test_an_operator_that_fails_is_told_and_ends_nothing(cepheid: Run, write: Write) -> None:
    write("f.py", "def broken(x):\n    raise ValueError('no such range')\n")
    write("g.toml", _with_function("broken"))
    done = cepheid("graph", "run", "g.toml")
    assert done.code == 1  # since a consumer got nothing at all
    assert "mean: ValueError: no such range (4 times)" in done.err
    assert "; 4 failed" in done.err


def test_one_failure_of_many_runs_is_told_and_ends_well(cepheid: Run, write: Write) -> None:
    write("f.py", "def broken(x):\n    assert x[0] != 2, x[0]\n    return x\n")
    write("g.toml", _with_function("broken"))
    done = cepheid("graph", "run", "g.toml")
    assert done.code == 0
    assert "mean: AssertionError: 2.0" in done.err


def test_many_reasons_of_failures_are_counted(cepheid: Run, write: Write) -> None:
    events = ({"@type": "s", "@time": n / 100, "values": [n % 7, 0]} for n in range(12))
    write("s.jsonl", "".join(json.dumps(each) + "\n" for each in events))
    write("f.py", "def broken(x):\n    raise ValueError(x[0])\n")
    write("g.toml", _with_function("broken"))
    told = [line for line in cepheid("graph", "run", "g.toml").err.splitlines() if "mean:" in line]
    assert told == [
        *(f"mean: ValueError: {n}.0 (2 times)" for n in range(3)),
        "mean: 6 more for 4 other reasons",
    ]


def test_deliveries_with_texts_are_written(cepheid: Run, write: Write, folder: Path) -> None:
    """And numbers that are none."""
    given = (
        "insert into Told select 'so' as words, values[0] as first, cast(null, int) as none from s;"
    )
    write("p.epl", given)
    write("g.toml", 'programs = ["p.epl"]\n' + GRAPH.replace('input = "mean"', 'input = "Told"'))
    assert cepheid("graph", "run", "g.toml", "--out", "out.jsonl").code == 0
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    told = [row["payload"] for row in rows if row["@type"] == "Told"]
    assert told[0] == {"words": "so", "first": 1.0, "none": None}


def test_a_check_finds_what_is_wrong_with_events_of_files(cepheid: Run, write: Write) -> None:
    write("s.jsonl", EVENTS + '{"@type": "s", "@time": 9, "values": [1]}\n')
    done = cepheid("graph", "check", "g.toml", "--no-times")
    assert done.code == 1
    assert "s.jsonl:5" in done.out


def test_a_graph_is_no_program(cepheid: Run) -> None:
    assert "`cepheid graph` takes graphs" in cepheid("check", "g.toml").err


def test_a_run_of_files_without_events_says_so(cepheid: Run, write: Write) -> None:
    write("s.jsonl", "")
    done = cepheid("graph", "run", "g.toml")
    assert "nothing says how long the run is, as its files have no events" in done.err


def test_what_a_function_prints_is_no_delivery(cepheid: Run, write: Write) -> None:
    write("f.py", "def chat(x):\n    print('so', x)\n    return x\n")
    write("g.toml", _with_function("chat"))
    done = cepheid("graph", "run", "g.toml", "--out", "-")
    assert len(done.rows) == 8
    assert done.err.count("so [") == 4


def _with_function(name: str) -> str:
    """The graph, with a function in the place of its first operator."""
    given = f'kind = "python"\nfunction = "f.py:{name}"\n'
    return GRAPH.replace('kind = "average"\n', given, 1).replace("window = 2\n", "", 1)


def test_a_run_that_is_interrupted_tells_what_was_measured(cepheid: Run, write: Write) -> None:
    write(
        "f.py",
        "import signal\n"
        "def count():\n    return 0\n"
        "def interrupt(seen, x):\n"
        "    if seen == 3:\n        signal.raise_signal(signal.SIGINT)\n"
        "    return seen + 1, x\n",
    )
    endless = GRAPH.replace('trace = "s.jsonl"\n', "")
    function = 'kind = "python"\nfunction = "f.py:interrupt"\nstate = "f.py:count"\n'
    write(
        "g.toml", endless.replace('kind = "average"\n', function, 1).replace("window = 2\n", "", 1)
    )
    before = signal.getsignal(signal.SIGINT)
    done = cepheid("graph", "run", "g.toml", "--for", "1 hour")
    assert done.code == 0
    assert "fast              1           4" in done.err
    assert signal.getsignal(signal.SIGINT) is before


def test_scheduling_that_is_not_allowed_is_told(
    cepheid: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse, raising=False)
    done = cepheid("graph", "run", "g.toml", "--fifo")
    assert done.code == 0
    assert "SCHED_FIFO is not allowed here" in done.err


# -- simulate --


def test_the_same_times_and_chance_give_the_same_simulation(cepheid: Run) -> None:
    def simulate(*options: str) -> str:
        done = cepheid("graph", "simulate", "g.toml", "--times", "t.json", *options)
        assert (done.code, done.err) == (0, "")
        return done.out

    assert simulate() == simulate()
    assert simulate("--seed", "1") != simulate()
    assert simulate("--no-sharing") != simulate()
    lines = simulate("--processors", "2").splitlines()
    assert [line.split()[:4] for line in lines[2:4]] == [
        ["fast", "1", "4", "0"],
        ["slow", "3", "4", "0"],
    ]


def test_what_is_late_is_marked_or_shed(cepheid: Run, write: Write) -> None:
    write("g.toml", GRAPH.replace('"10s"', '"2ms"'))
    write("t.json", times({"mean": 3_000 * MICROSECOND, "spectrum": 1_000 * MICROSECOND}))
    marked = cepheid("graph", "simulate", "g.toml", "--times", "t.json", "--late", "mark").out
    shed = cepheid("graph", "simulate", "g.toml", "--times", "t.json", "--late", "shed").out
    assert "fast              1           4      4" in marked
    assert "fast              1           0      0" in shed
    assert "4 hopeless" in shed


# -- bench --


def test_every_load_is_measured_with_features_and_without(cepheid: Run) -> None:
    done = cepheid("graph", *("bench", "g.toml"), *COMMANDS["bench"])
    assert done.code == 0
    rows = done.out.splitlines()[2:]
    for load in ("50%", "90%"):
        assert sum(row.lstrip().startswith(load) for row in rows) == 4
    names = (
        "as it is",
        "no priorities   ",
        "  no sharing",
        "no priorities, no sharing",
    )
    for name in names:
        assert sum(name in row for row in rows) == 2
    for consumer in ("fast", "slow"):
        assert sum(f" {consumer} " in row for row in rows) == 8


def test_real_runs_are_measured_as_well(cepheid: Run, write: Write) -> None:
    write("g.toml", GRAPH.replace("[0.5, 0.9]", "[0.2]").replace('["priorities", "sharing"]', "[]"))
    done = cepheid(
        "graph", "bench", "g.toml", "--times", "t.json", "--for", "50ms", "--repetitions", "1"
    )
    assert done.code == 0
    assert [line.split()[2:5] for line in done.out.splitlines()[2:3]] == [["as", "it", "is"]]


def test_a_bench_is_drawn(cepheid: Run, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    done = cepheid("graph", *("bench", "g.toml"), *COMMANDS["bench"], "--plots", "new")
    assert done.code == 0
    pictures = sorted((folder / "new").iterdir())
    assert [each.name for each in pictures] == ["latency.png", "throughput.png"]
    assert all(each.read_bytes().startswith(b"\x89PNG") for each in pictures)


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("g.toml", GRAPH.partition("[bench]")[0], "'g.toml' does not say what to measure"),
        ("t.json", times({"mean": 0, "spectrum": 0}, 0), "no number of copies brings a load"),
    ],
)
def test_what_cannot_be_measured_is_told(
    cepheid: Run, write: Write, file: str, text: str, words: str
) -> None:
    write(file, text)
    done = cepheid("graph", *("bench", "g.toml"), *COMMANDS["bench"])
    assert (done.code, done.out) == (2, "")
    assert words in done.err


# -- what is wrong --

DAMAGES = {
    "no TOML": ("kind =", "kind", "g.toml:8:6: error[bad-graph]: this is not TOML"),
    "a kind that is not there": ('"fft"', '"ftf"', "g.toml:18:1: error[bad-graph]: spectrum: "),
    "a source that is not there": ('input = "mean"', 'input = "men"', "did you mean 'mean'?"),
    "a circle": ('inputs = ["again"]', 'inputs = ["spectrum"]', "its events come back to it"),
    "no validity": ('validity = "10s"\n', "", "nothing says how long its events are valid"),
    "a time without a unit": ('"8ms"', "8", "g.toml:24:1: error[bad-graph]: consumers.fast"),
    "an unknown setting": ("priority", "prio", "consumers.fast.prio: no such setting"),
    "an unknown parameter": ("window", "widow", "'average' has no parameter 'widow'"),
    "a program that is not there": (
        "[suppliers",
        'programs = ["p9.epl"]\n[suppliers',
        "g.toml:1:13: error[missing-file]",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_damaged_graph_is_a_finding(
    cepheid: Run, write: Write, command: str, damage: str
) -> None:
    before, after, words = DAMAGES[damage]
    write("g.toml", GRAPH.replace(before, after, 1))
    done = cepheid("graph", command, "g.toml", *COMMANDS[command])
    assert done.code in (1, 2)
    assert words in done.out + done.err
    assert not (done.out and done.err)


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        ('{"@type": "t", "@time": 1, "values": [1, 2]}', "s.jsonl:1:1: error[unknown-type]", 1),
        ('{"@type": "s", "@time": 1, "values": [1, 2, 3]}', "'values' has 3 elements, not 2", 1),
        ('{"@type": "s", "@time": 1, "values": ["a", 2]}', "s.jsonl:1:1: error[bad-value]", 1),
        ("{", "s.jsonl:1:2: error[bad-line]", 1),
        (None, "'s.jsonl'", 1),
    ],
)
@pytest.mark.parametrize("command", ["run", "simulate"])
def test_damaged_events_are_findings(
    cepheid: Run, folder: Path, command: str, text: str | None, words: str, code: int
) -> None:
    file = folder / "s.jsonl"
    if text is None:
        file.unlink()
    else:
        file.write_text(text + "\n")
    done = cepheid("graph", command, "g.toml", *COMMANDS[command])
    assert (done.code, done.out) == (code, "")
    assert words in done.err


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        (None, "error[missing-file]: cannot read 't.json'", 2),
        ("{", "'t.json' is not JSON", 1),
        ("[]", "the file has 'format', 'operators', 'take', 'move', 'overhead'", 1),
        (times({"mean": -1}), "'operators.mean.worst' is a number of nanoseconds, not -1", 1),
        (times({"mean": 1}), "nothing says how long 'spectrum' takes", 2),
    ],
)
@pytest.mark.parametrize("command", ["check", "simulate", "bench", "run"])
def test_damaged_times_are_findings(
    cepheid: Run, folder: Path, command: str, text: str | None, words: str, code: int
) -> None:
    if text is None:
        (folder / "t.json").unlink()
    else:
        (folder / "t.json").write_text(text)
    done = cepheid("graph", command, "g.toml", "--times", "t.json")
    assert (done.code, done.out) == (code, "")
    assert words in done.err


ENDLESS = "error[usage]: nothing says how long the run is"
WRONG_USES = [
    (("check", "none.toml"), "cannot read 'none.toml'"),
    (("check", "g.toml", "--draw", "g.png"), "no graph can be drawn as 'g.png'"),
    (("check", "g.toml", "--no-times", "--times", "t.json"), "--no-times leaves nothing"),
    (("check", "g.toml", "--no-times", "--save-times", "t.json"), "--no-times leaves nothing"),
    (
        ("check", "g.toml", "--times", "t.json", "--save-times", "t.json"),
        "--save-times would overwrite 't.json', which is read",
    ),
    (("check", "g.toml", "--processors", "0"), "--processors"),
    (("run", "g.toml", "--out", "./g.toml"), "--out would overwrite 'g.toml', which is read"),
    (("run", "g.toml", "--trace", "g.toml"), "--trace would overwrite 'g.toml', which is read"),
    (("run", "g.toml", "--late", "never"), "'never' is no value of --late"),
    (("run", "g.toml", "--for", "soon"), "'soon' is not a time period"),
    (("run", "g.toml", "--for", "0s"), "a run takes more than no time"),
    (("simulate", "g.toml", "--times", "t.json", "--for", "0s"), "a run takes more than no time"),
    (("bench", "g.toml", *COMMANDS["bench"], "--for", "0s"), "a run takes more than no time"),
    (("bench", "g.toml", *COMMANDS["bench"], "--repetitions", "0"), "--repetitions"),
    (("simulate", "endless.toml", "--times", "t.json"), ENDLESS),
    (("run", "endless.toml"), ENDLESS),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG_USES)
def test_what_makes_no_sense_is_wrong_use(
    cepheid: Run, write: Write, arguments: tuple[str, ...], words: str
) -> None:
    write("endless.toml", GRAPH.replace('trace = "s.jsonl"\n', ""))
    done = cepheid("graph", *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


@pytest.mark.parametrize("option", ["--out", "--trace"])
def test_a_file_that_cannot_be_written_is_told(cepheid: Run, folder: Path, option: str) -> None:
    (folder / "file").write_text("")
    done = cepheid("graph", "run", "g.toml", option, "file/out.json")
    assert done.code == 1
    assert "error[bad-file]: cannot write 'file/out.json'" in done.err


@pytest.mark.parametrize("example", ["driving/driving", "fusion/priorities", "fusion/sharing"])
def test_examples_are_explained_from_anywhere(cepheid: Run, example: str) -> None:
    done = cepheid("graph", "explain", str(EXAMPLES / f"{example}.toml"))
    assert (done.code, done.err) == (0, "")
