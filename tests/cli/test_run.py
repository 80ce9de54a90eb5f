"""`cepheid run`: what it prints, where, and in which form."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import EVENTS, EXAMPLES, Run

PAIR = {"@type": "Pair", "@time": "1970-01-01T00:00:02Z", "id": "k", "first": 1, "second": 2}
BIG = {"@type": "Big", "@time": "1970-01-01T00:00:03Z", "id": "l", "x": 300}
Write = Callable[[str, str], Path]

pytestmark = pytest.mark.usefixtures("folder")


def test_a_pipe_gets_json_lines_of_all_derived_types(cepheid: Run) -> None:
    outcome = cepheid("run", "p.epl", "--events", "e.jsonl")
    assert (outcome.code, outcome.rows, outcome.err) == (0, [PAIR, BIG], "")
    assert list(outcome.rows[0]) == list(PAIR)


def test_types_can_be_chosen(cepheid: Run) -> None:
    assert cepheid("run", "p.epl", "--events", "e.jsonl", "--type", "Big").rows == [BIG]
    both = cepheid("run", "p.epl", "--events", "e.jsonl", "--type", "Big", "Pair")
    assert both.rows == [PAIR, BIG]


def test_an_unknown_type_is_wrong_use_and_the_derived_ones_are_listed(cepheid: Run) -> None:
    outcome = cepheid("run", "p.epl", "--events", "e.jsonl", "--type", "A")
    assert outcome.code == 2
    assert "nothing derives 'A'" in outcome.err
    assert "derived types: Pair, Big" in outcome.err


@pytest.mark.parametrize("engine", ["auto", "local", "reference", "petri"])
def test_every_engine_gives_the_rows(cepheid: Run, engine: str) -> None:
    assert cepheid("run", "p.epl", "-e", "e.jsonl", "--engine", engine).rows == [PAIR, BIG]


def test_auto_says_what_it_takes(cepheid: Run) -> None:
    outcome = cepheid("run", "p.epl", "-e", "e.jsonl", "--engine", "auto")
    assert outcome.err == "engine: local\n"


def test_an_unknown_engine_is_wrong_use(cepheid: Run) -> None:
    outcome = cepheid("run", "p.epl", "-e", "e.jsonl", "--engine", "warp")
    assert outcome.code == 2
    assert "hint: choose from auto, local, reference, automaton, petri, maude, spark" in outcome.err


def test_what_a_net_does_not_have_is_shown_at_its_place(cepheid: Run, write: Write) -> None:
    schemas = "create schema A (id string, x int); create schema B (id string, x int);"
    pattern = "every a=A(x > 1) -> timer:interval(1 sec) -> b=A where timer:within(2 sec)"
    statement = f"@Name('own') insert into A select a.id as id, 1 as x from pattern [{pattern}];"
    write("own.epl", f"{schemas}\n{statement}")
    outcome = cepheid("run", "own.epl", "-e", "e.jsonl", "--engine", "petri")
    assert (outcome.code, outcome.rows) == (1, [])
    assert "own.epl:2:" in outcome.err
    assert "error[not-in-net]: 'own' has a timer and takes events" in outcome.err


@pytest.mark.parametrize(
    ("option", "able"),
    [
        ("--why", "local, reference or automaton"),
        ("--timed-out", "local, reference, automaton or spark"),
    ],
)
def test_a_net_refuses_what_it_does_not_keep(cepheid: Run, option: str, able: str) -> None:
    outcome = cepheid("run", "p.epl", "-e", "e.jsonl", "--engine", "petri", option)
    assert outcome.code == 2
    assert f"hint: choose the engine {able}" in outcome.err


def test_events_may_be_several_files_in_one_option(cepheid: Run, write: Write) -> None:
    first, *rest = EVENTS.splitlines(keepends=True)
    write("d/1.jsonl", first)
    write("d/2.jsonl", "".join(rest))
    for events in (
        ["d/1.jsonl", "d/2.jsonl"],
        ["d"],
        ["d/*.jsonl"],
        ["d/1.jsonl", "-e", "d/2.jsonl"],
    ):
        assert cepheid("run", "p.epl", "-e", *events).rows == [PAIR, BIG]


def test_the_program_may_follow_the_events(cepheid: Run) -> None:
    assert cepheid("run", "--events", "e.jsonl", "p.epl", "--type", "Big").rows == [BIG]


def test_several_files_form_one_program(cepheid: Run, write: Write) -> None:
    write("more.epl", "@Name('Last') insert into Last select id from Big;")
    rows = cepheid("run", "p.epl", "more.epl", "-e", "e.jsonl", "--type", "Last").rows
    assert rows == [{"@type": "Last", "@time": BIG["@time"], "id": "l"}]


def test_the_order_of_rows_is_that_of_time(cepheid: Run, write: Write) -> None:
    write("mixed.jsonl", "".join(reversed(EVENTS.splitlines(keepends=True))))
    outcome = cepheid("run", "p.epl", "-e", "mixed.jsonl")
    assert outcome.rows == [PAIR, BIG]
    assert "2 events were out of order" in outcome.err


def test_the_suffix_of_the_output_decides_its_form(cepheid: Run, folder: Path) -> None:
    for name in ("o.jsonl", "o.csv", "o.parquet"):
        assert cepheid("run", "p.epl", "-e", "e.jsonl", "--out", name).out == ""
    assert [json.loads(line) for line in Path("o.jsonl").read_text().splitlines()] == [PAIR, BIG]
    rows = list(csv.DictReader(Path("o.csv").read_text().splitlines()))
    assert [(row["@type"], row["id"]) for row in rows] == [("Pair", "k"), ("Big", "l")]
    assert pq.read_table("o.parquet").column("@type").to_pylist() == ["Pair", "Big"]


def test_a_folder_gets_one_file_per_type(cepheid: Run, write: Write) -> None:
    write("only_b.jsonl", EVENTS.splitlines()[1])
    for events, lines in (("e.jsonl", 1), ("only_b.jsonl", 0)):
        assert cepheid("run", "p.epl", "-e", events, "--out", "rows/").code == 0
        for type in ("Pair", "Big"):
            assert len(Path(f"rows/{type}.jsonl").read_text().splitlines()) == lines


def test_the_output_of_one_program_is_the_input_of_another(cepheid: Run, write: Write) -> None:
    write(
        "next.epl", "create schema Big (id string, x int); @Name('N') select x + 1 as y from Big;"
    )
    write("pipe.epl", "@Name('P') select x from Big;")
    for name in ("o.jsonl", "o.csv", "o.parquet"):
        cepheid("run", "p.epl", "-e", "e.jsonl", "--type", "Big", "--out", name)
        assert [row["y"] for row in cepheid("run", "next.epl", "-e", name).rows] == [301]
        assert [row["x"] for row in cepheid("run", "pipe.epl", "-e", name).rows] == [300]


@pytest.mark.parametrize(
    "options",
    [
        ["--format", "parquet"],
        ["--format", "table", "--out", "x.txt"],
        ["--format", "csv", "--why"],
        ["--out", "x.parquet", "--why"],
        ["--format", "xml"],
        ["--late", "perhaps"],
        ["--on-error", "perhaps"],
        ["--start", "yesterday"],
        ["--start", "1e999"],
        ["--start", "9" * 30],
        ["--nonsense"],
    ],
)
def test_options_that_make_no_sense_are_wrong_use(cepheid: Run, options: list[str]) -> None:
    outcome = cepheid("run", "p.epl", "-e", "e.jsonl", *options)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err


@pytest.mark.parametrize("name", ["o.xml", "o.json", "o", ".csv"])
def test_the_name_of_an_output_must_say_its_form(cepheid: Run, name: str) -> None:
    outcome = cepheid("run", "p.epl", "-e", "e.jsonl", "--out", name)
    assert (outcome.code, Path(name).exists()) == (2, False)
    assert "known suffixes: .jsonl, .ndjson, .csv, .parquet" in outcome.err
    assert cepheid("run", "p.epl", "-e", "e.jsonl", "--out", name, "--format", "csv").code == 0
    assert Path(name).read_text().startswith("@type,@time")


def test_a_wrong_value_of_an_option_is_told_in_a_sentence(cepheid: Run) -> None:
    assert cepheid("run", "p.epl", "-e", "e.jsonl", "-f", "xml").err.splitlines() == [
        "error[usage]: 'xml' is no value of --format",
        "    hint: choose from jsonl, csv, parquet, table",
    ]


@pytest.mark.parametrize(
    ("out", "victim"),
    [
        ("e.jsonl", "e.jsonl"),
        ("./d/../e.jsonl", "e.jsonl"),
        ("soft.jsonl", "e.jsonl"),
        ("hard.jsonl", "e.jsonl"),
        ("p.epl", "p.epl"),
        ("d/", "d/Pair.jsonl"),
        ("d", "d/Pair.jsonl"),
    ],
)
def test_no_input_is_overwritten(cepheid: Run, write: Write, out: str, victim: str) -> None:
    write("d/Pair.jsonl", "")
    Path("soft.jsonl").symlink_to("e.jsonl")
    Path("hard.jsonl").hardlink_to("e.jsonl")
    before = Path(victim).read_text()
    outcome = cepheid("run", "p.epl", "-e", "e.jsonl", "d", "--out", out, "--format", "jsonl")
    assert (outcome.code, outcome.out, Path(victim).read_text()) == (2, "", before)
    assert f"--out would overwrite '{victim}', which is read" in outcome.err
    assert not Path("d/Big.jsonl").exists()


def test_a_folder_of_inputs_may_take_the_outputs_beside_them(cepheid: Run, write: Write) -> None:
    write("d/e.jsonl", EVENTS)
    assert cepheid("run", "p.epl", "-e", "d/e.jsonl", "--out", "d").code == 0
    assert len(Path("d/Pair.jsonl").read_text().splitlines()) == 1


def test_an_output_that_cannot_be_written_fails_the_run(cepheid: Run) -> None:
    outcome = cepheid("run", "p.epl", "-e", "e.jsonl", "--out", "no/such/folder.csv")
    assert outcome.code == 1
    assert "cannot write" in outcome.err
    assert cepheid("run", "p.epl", "-e", "e.jsonl", "--out", "e.jsonl/x/").code == 1


def test_a_start_may_be_seconds_or_iso(cepheid: Run, write: Write) -> None:
    timer = write(
        "t.epl", "@Name('T') select 1 as one from pattern [timer:interval(5 seconds)];"
    ).name
    for start in ("0", "0.0", "1970-01-01T00:00:00Z"):
        rows = cepheid("run", timer, "-e", "-", "--start", start, stdin='{"@time": 20}').rows
        assert [row["@time"] for row in rows] == ["1970-01-01T00:00:05Z"]


def test_a_start_after_the_first_event_fails_the_run(cepheid: Run) -> None:
    outcome = cepheid("run", "p.epl", "-e", "e.jsonl", "--start", "2")
    assert outcome.code == 1
    assert "late-event" in outcome.err


# Tables.


def test_a_table_per_type_has_times_and_attributes(cepheid: Run) -> None:
    out = cepheid("run", "p.epl", "-e", "e.jsonl", "--format", "table").out
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["Pair", "(1", "row)"]
    assert lines[1] == ["time", "id", "first", "second"]
    assert lines[3] == ["1970-01-01T00:00:02Z", "k", "1", "2"]
    assert ["1970-01-01T00:00:03Z", "l", "300"] in lines


def test_what_looks_like_markup_or_a_control_sequence_is_shown_as_text(
    cepheid: Run, write: Write
) -> None:
    write("odd.jsonl", '{"@type": "A", "@time": 1, "id": "[red]x\\u001b[1m :smile:", "x": 101}')
    out = cepheid("run", "p.epl", "-e", "odd.jsonl", "--format", "table").out
    assert "[red]x\\x1b[1m :smile:" in out


def test_the_motorbikes_fit_into_100_columns(cepheid: Run) -> None:
    program, events = (
        str(EXAMPLES / "motorbike" / name) for name in ("motorbike_partitioned.epl", "events.jsonl")
    )
    out = cepheid("run", program, "-e", events, "--format", "table").out
    assert max(map(len, out.splitlines())) <= 100
    assert "Crash (104 rows)" in out


def test_a_table_is_followed_by_what_each_type_has(cepheid: Run) -> None:
    counts = "derived 1 Pair, 1 Big from 3 events\n"
    for events in (["e.jsonl"], ["-"]):
        run = ("run", "p.epl", "-e", *events, "-t", "Big")
        assert cepheid(*run, "-f", "table", stdin=EVENTS).err == counts
        assert cepheid(*run, "-f", "jsonl", stdin=EVENTS).err == ""
        assert cepheid(*run, "-f", "table", "--why", stdin=EVENTS).err == ""


def test_one_type_needs_no_counts(cepheid: Run, write: Write) -> None:
    write("b.jsonl", EVENTS.splitlines()[2])
    said = cepheid("run", "p.epl", "-e", "b.jsonl", "-f", "table").err
    assert [line for line in said.splitlines() if "derived" in line] == []
    assert "warning[unfed-type]: no input has events of B, which 'Pair' takes" in said


WIDE = """\
create schema A (id string, theNumberOfThings int, remark string);
insert into Observation select id, theNumberOfThings, remark from A;
"""
THING = (
    '{"@type": "A", "@time": 1, "id": "DangerousLocation", "theNumberOfThings": 7, "remark": "a b"}'
)


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (
            80,
            [
                "Observation (1 row)",
                "time                   id                  theNumberOfThings   remark",
                "─" * 69,
                "1970-01-01T00:00:01Z   DangerousLocation                   7   a b",
            ],
        ),
        (
            60,
            [
                "Observation (1 row)",
                "                                                the",
                "                                           NumberOf",
                "time                   id                    Things   remark",
                "─" * 60,
                "1970-01-01T00:00:01Z   DangerousLocation          7   a b",
            ],
        ),
        (
            40,
            [
                "Observation (1 row)",
                "time               1970-01-01T00:00:01Z",
                "id                 DangerousLocation",
                "theNumberOfThings  7",
                "remark             a b",
            ],
        ),
    ],
)
def test_a_narrow_table_wraps_and_a_narrower_one_becomes_a_listing(
    cepheid: Run, write: Write, monkeypatch: pytest.MonkeyPatch, columns: int, lines: list[str]
) -> None:
    write("w.epl", WIDE)
    write("w.jsonl", THING)
    monkeypatch.setenv("COLUMNS", str(columns))
    out = cepheid("run", "w.epl", "-e", "w.jsonl", "-f", "table").out
    assert [line.rstrip() for line in out.splitlines()][: len(lines)] == lines


@pytest.mark.parametrize("columns", [30, 60, 80, 100])
def test_no_width_cuts_a_value(cepheid: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    program, events = (
        str(EXAMPLES / "motorbike" / name) for name in ("motorbike_partitioned.epl", "events.jsonl")
    )
    out = cepheid("run", program, "-e", events, "--format", "table").out
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= columns


# Why.

CHAIN = """\
create schema A (x int);
insert into B select x from A;
insert into C select b.x as x, a.x as y from pattern [every b=B -> a=A];
"""


def test_why_nests_the_causes_of_causes(cepheid: Run, write: Write) -> None:
    write("c.epl", CHAIN)
    write("a.jsonl", '{"@type": "A", "@time": 1, "x": 1}\n{"@type": "A", "@time": 2, "x": 2}\n')
    rows = cepheid("run", "c.epl", "-e", "a.jsonl", "--type", "C", "--why").rows
    first, second = ({"@type": "A", "@time": f"1970-01-01T00:00:0{x}Z", "x": x} for x in (1, 2))
    assert [row["@why"] for row in rows] == [
        [{"@type": "B", "@time": first["@time"], "x": 1, "@why": [first]}, second]
    ]


def test_rows_that_are_explained_can_be_read_again(cepheid: Run, write: Write) -> None:
    cepheid("run", "p.epl", "-e", "e.jsonl", "--type", "Big", "--why", "--out", "big.jsonl")
    write("next.epl", "@Name('N') select x from Big;")
    assert [row["x"] for row in cepheid("run", "next.epl", "-e", "big.jsonl").rows] == [300]


def test_why_draws_a_tree_for_people(cepheid: Run, write: Write) -> None:
    write("c.epl", CHAIN)
    write("a.jsonl", '{"@type": "A", "@time": 1, "x": 1}\n{"@type": "A", "@time": 2, "x": 2}\n')
    out = cepheid("run", "c.epl", "-e", "a.jsonl", "--type", "C", "--why", "-f", "table").out
    assert out.splitlines() == [
        "C 1970-01-01T00:00:02Z x=1 y=2",
        "├── B 1970-01-01T00:00:01Z x=1",
        "│   └── A 1970-01-01T00:00:01Z x=1",
        "└── A 1970-01-01T00:00:02Z x=2",
    ]


def test_a_program_that_feeds_itself_explains_its_rows_up_to_a_depth(
    cepheid: Run, write: Write
) -> None:
    write("loop.epl", "create schema A (x int); insert into A select x + 1 as x from A(x < 1200);")
    write("a.jsonl", '{"@type": "A", "@time": 1, "x": 1}')
    last = cepheid("run", "loop.epl", "-e", "a.jsonl", "--why").rows[-1]
    depth = 0
    while "@why" in last:
        last = last["@why"][0]
        depth += 1
    assert depth == 100
    assert last["x"] == 1100


# Nothing found, timeouts, old rows.


def test_a_run_that_finds_nothing_says_how_far_it_got(cepheid: Run, write: Write) -> None:
    write("few.jsonl", EVENTS.splitlines()[0])
    outcome = cepheid("run", "p.epl", "-e", "few.jsonl")
    assert (outcome.code, outcome.out) == (0, "")
    assert "nothing found in 1 event\n" in outcome.err
    counts = [line.split() for line in outcome.err.splitlines()]
    assert ["Pair", "a=A", "1"] in counts
    assert ["b=B(b.id", "=", "a.id)", "0"] in counts


def test_an_empty_file_is_no_mistake(cepheid: Run, write: Write) -> None:
    for name in ("empty.jsonl", "empty.csv", "empty.json", "empty.events", "empty.parquet"):
        write(name, "")
        outcome = cepheid("run", "p.epl", "-e", name)
        assert (outcome.code, outcome.out) == (0, "")
        assert "nothing found in 0 events" in outcome.err


def test_timeouts_are_marked_in_every_form(cepheid: Run) -> None:
    run = ("run", "p.epl", "-e", "e.jsonl", "--type", "Pair", "--timed-out")
    marked = [(row["id"], row.get("@timeout")) for row in cepheid(*run).rows]
    assert marked == [("k", None), ("l", True)]
    cells = list(csv.DictReader(io.StringIO(cepheid(*run, "-f", "csv").out)))
    assert [(cell["id"], cell["@timeout"]) for cell in cells] == [("k", ""), ("l", "true")]
    assert "timeout" in cepheid(*run, "-f", "table").out
    cepheid(*run, "--out", "o.parquet")
    assert pq.read_table("o.parquet").column("@timeout").to_pylist() == [False, True]


@pytest.mark.parametrize("name", ["o.jsonl", "o.csv", "o.parquet"])
def test_timeouts_and_old_rows_only_let_time_pass_in_a_later_program(
    cepheid: Run, write: Write, name: str
) -> None:
    write(
        "old.epl",
        "create schema A (id string, x int); @Name('Big') select irstream id from A#length(1);",
    )
    write("next.epl", "@Name('N') select id from Pair; @Name('M') select id from Big;")
    cepheid("run", "p.epl", "-e", "e.jsonl", "--type", "Pair", "--timed-out", "--out", name)
    assert [row["id"] for row in cepheid("run", "next.epl", "-e", name).rows] == ["k"]
    write("two.jsonl", "".join(EVENTS.splitlines(keepends=True)[::2]))
    cepheid("run", "old.epl", "-e", "two.jsonl", "--out", name)
    assert [row["id"] for row in cepheid("run", "next.epl", "-e", name).rows] == ["k", "l"]


# Standard input.


def test_standard_input_is_taken_as_it_comes(cepheid: Run) -> None:
    outcome = cepheid("run", "p.epl", "-e", "-", stdin=EVENTS)
    assert (outcome.code, outcome.rows, outcome.err) == (0, [PAIR, BIG], "")


def test_standard_input_beside_files_is_read_as_a_whole(cepheid: Run, write: Write) -> None:
    first, *rest = EVENTS.splitlines(keepends=True)
    write("rest.jsonl", "".join(rest))
    assert cepheid("run", "p.epl", "-e", "rest.jsonl", "-", stdin=first).rows == [PAIR, BIG]


def test_a_late_event_ends_a_stream_unless_it_is_dropped(cepheid: Run) -> None:
    late = EVENTS + EVENTS
    outcome = cepheid("run", "p.epl", "-e", "-", stdin=late)
    assert (outcome.code, outcome.rows) == (1, [PAIR, BIG])
    assert "<stdin>:5:1: error[late-event]" in outcome.err
    outcome = cepheid("run", "p.epl", "-e", "-", "--late", "drop", stdin=late)
    assert (outcome.code, outcome.rows) == (0, [PAIR, BIG])
    assert "dropped 3 late events" in outcome.err


def test_a_stream_can_be_printed_as_a_table_when_it_ends(cepheid: Run) -> None:
    outcome = cepheid("run", "p.epl", "-e", "-", "-f", "table", stdin=EVENTS)
    assert "Pair (1 row)" in outcome.out


def test_a_stream_that_finds_nothing_says_how_far_it_got(cepheid: Run) -> None:
    outcome = cepheid("run", "p.epl", "-e", "-", stdin=EVENTS.splitlines()[0])
    assert "nothing found in 1 event\n" in outcome.err
    assert "how often each step was reached" in outcome.err
