"""`cepheid export` and `cepheid petri step`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import EXAMPLES, Run

pytestmark = pytest.mark.usefixtures("folder")
COMFORT = str(EXAMPLES / "comfort" / "comfort.epl")
ME = str(EXAMPLES / "comfort" / "me.events")


@pytest.mark.parametrize("form", ["cpn", "pnml", "svg", "html"])
def test_a_net_is_written(cepheid: Run, form: str, folder: Path) -> None:
    assert cepheid("export", COMFORT, "--to", form, "-o", f"new/net.{form}").code == 0
    text = (folder / "new" / f"net.{form}").read_text()
    if form != "html":
        ElementTree.fromstring(text)
    assert ("every2.next_a1" in text) == (form != "svg")  # which is folded
    assert ">every2<" in text
    assert cepheid("export", COMFORT, "--to", form).out == text


def test_boxes_of_a_picture_are_unfolded(cepheid: Run) -> None:
    picture = ("export", COMFORT, "--to", "svg")
    assert ">every2.next_a1  (" in cepheid(*picture, "--unfold", "every2").out
    assert ">every1.next_a1  (" not in cepheid(*picture, "--unfold", "every2").out
    assert ">every1.next_a1  (" in cepheid(*picture, "--unfold", "all").out


def test_a_picture_of_a_run_has_what_it_touches(cepheid: Run, folder: Path) -> None:
    (folder / "few.jsonl").write_text('{"@type": "ME", "@time": 1, "id": "A", "k": 1}\n')
    run = ("export", COMFORT, "--to", "svg", "--events", "few.jsonl", "--unfold", "all")
    whole, touched = cepheid(*run).out, cepheid(*run, "--touched").out
    assert ">pattern_every2  (" in whole
    assert ">every2.next_a1  (" in touched
    assert ">pattern_every2  (" not in touched  # there was no B


def test_events_lie_in_the_net(cepheid: Run) -> None:
    text = cepheid("export", COMFORT, "--to", "cpn", "--events", ME).out
    assert '1`(12, 1000000, event("ME", 1000000, [("id", S("B")), ("k", I(4))]))' in text


@pytest.mark.parametrize(
    ("args", "fact", "code"),
    [
        (("p.epl", "--to", "dot"), "'dot' is no value of --to", 2),
        (("p.epl", "--to", "cpn", "--unfold", "all"), "--unfold is for pictures", 2),
        (("p.epl", "--to", "svg", "--unfold", "Fyre"), "no box 'Fyre' in this net", 2),
        (("p.epl", "--to", "svg", "--touched"), "--touched needs events to run", 2),
        (("p.epl", "--to", "svg", "-o", "./p.epl"), "--out would overwrite 'p.epl'", 2),
        (("q.epl", "--to", "svg"), "q.epl", 2),
        (("p.epl", "--to", "svg", "--events", "none.jsonl"), "none.jsonl", 2),
        (("rate.epl", "--to", "cpn", "-o", "net.cpn"), "an output rate", 1),
        (("wrong.epl", "--to", "svg", "-o", "net.cpn"), "y", 1),
    ],
)
def test_what_cannot_be_exported(
    cepheid: Run, folder: Path, args: tuple[str, ...], fact: str, code: int
) -> None:
    schema = "create schema A (x int);"
    (folder / "rate.epl").write_text(f"{schema} select x from A output every 2 events;")
    (folder / "wrong.epl").write_text(f"{schema} select y from A;")
    before = (folder / "p.epl").read_text()
    outcome = cepheid("export", *args)
    assert (outcome.code, outcome.out) == (code, "")
    assert fact in outcome.err
    assert "Traceback" not in outcome.err
    assert not (folder / "net.cpn").exists()
    assert (folder / "p.epl").read_text() == before


def steps(cepheid: Run, *commands: str, options: tuple[str, ...] = ()) -> list[str]:
    outcome = cepheid(
        "petri", "step", COMFORT, "--events", ME, *options, stdin="\n".join([*commands, ""])
    )
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out.splitlines()


def test_steps_back_and_on(cepheid: Run) -> None:
    lines = steps(cepheid, "step 2", "back", "enabled", "step", "", "fired 2", "reset", "step")
    assert [line.split(" (")[0] for line in lines] == [
        "1: incr_seqn_ME",
        "2: every1.next_a1",
        "after 1 firings",
        "1: every1.next_a1",
        "2: every1.next_a1",
        "3: every2.next_a1",
        "2: every1.next_a1",
        "3: every2.next_a1",
        "after 0 firings",
        "1: incr_seqn_ME",
    ]


def test_a_run_stops_at_breakpoints_and_at_the_end(cepheid: Run) -> None:
    lines = steps(
        cepheid,
        "run",
        "marking every2.Ev_a1",
        "clear",
        "run",
        "step",
        "rows",
        options=("--break", "pattern_every2"),
    )
    assert lines[:2] == [
        "5 firings: a transition with a breakpoint is next",
        "next: pattern_every2",
    ]
    assert lines[2:4] == [
        "place         count  tokens",
        "every2.Ev_a1      1  (1, ME(1970-01-01T00:00:01Z, id=A, k=1))",
    ]
    assert lines[4] == "breakpoints: none"
    assert lines[5].endswith("firings: nothing is enabled")
    assert lines[6] == "nothing is enabled"
    assert len(lines[7:]) == 7
    assert lines[-1] == "every2(1970-01-01T00:00:01Z, a1id=A, k1=4, a2id=B, k2=4)"


def test_what_is_enabled_can_be_chosen(cepheid: Run) -> None:
    lines = steps(cepheid, "step", "fire 1", "fire", "# a remark", "quit", "step")
    assert [line.split(" (")[0] for line in lines] == [
        "1: incr_seqn_ME",
        "2: every1.next_a1",
        "3: every2.next_a1",
    ]


def test_the_marking_is_a_table(cepheid: Run) -> None:
    lines = steps(cepheid, "marking")
    heading, *rows = lines
    assert heading.split() == ["place", "count", "tokens"]
    assert any(row.split()[:2] == ["ME", "12"] for row in rows)
    column = heading.index("tokens")
    assert all(row[column - 1] == " " and row[column] != " " for row in rows)


def test_invariants_are_checked_while_it_runs(cepheid: Run) -> None:
    kept = steps(cepheid, "invariants", "run")
    assert "Ev is constant" in kept
    commands = "bound every2.Ev_a1 1\nrun\nrows\n"
    outcome = cepheid("petri", "step", COMFORT, "--events", ME, stdin=commands)
    assert outcome.code == 1
    assert outcome.out.splitlines() == ["every2.Ev_a1 has at most 1 tokens"]
    assert "broken-invariant" in outcome.err
    assert "every2.next_a1" in outcome.err


@pytest.mark.parametrize(
    ("command", "fact"),
    [
        ("walk", "no command 'walk'"),
        ("step many", "'many' is no number of times"),
        ("back 0", "'0' is no number of times"),
        ("break pattern_every3", "no transition 'pattern_every3'"),
        ("clear tick", "no breakpoint at 'tick'"),
        ("marking every3", "no place 'every3'"),
        ("bound every3 2", "no place 'every3'"),
        ("fire 9", "only 1 may fire now"),
    ],
)
def test_a_wrong_command_ends_a_script(cepheid: Run, command: str, fact: str) -> None:
    outcome = cepheid("petri", "step", COMFORT, "--events", ME, stdin=f"{command}\nstep\n")
    assert (outcome.code, outcome.out) == (2, "")
    assert fact in outcome.err


def test_events_come_from_files_and_there_are_some(cepheid: Run, folder: Path) -> None:
    (folder / "none.jsonl").write_text("")
    for events, fact in (("-", "standard input has the commands"), ("none.jsonl", "no events")):
        outcome = cepheid("petri", "step", COMFORT, "--events", events)
        assert outcome.code == 2
        assert fact in outcome.err
