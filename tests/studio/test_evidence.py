"""Simulations, properties and searches as pages ask for them; what they find is played."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cepheid as cep
from cepheid.io.toml import parse_toml
from cepheid.studio.evidence import playable
from cepheid.studio.folder import Folder
from cepheid.studio.handlers.search import search
from cepheid.studio.lane import Lane
from cepheid.studio.limits import Limits
from cepheid.studio.room import Given, Room
from cepheid.studio.worker import Task
from tests.studio.conftest import Page, Refused, Studio, running, texts

BOILERS = """\
create schema Reading (boiler int, degrees double);

@Name('Hot')
insert into Hot select r.boiler as boiler, r.degrees as degrees
from pattern [every r=Reading(degrees > 90)];

@Property(kind='never')
@Name('Overheated')
insert into Overheated select a.boiler as boiler
from pattern [every a=Hot -> b=Hot(b.boiler = a.boiler) where timer:within(15 seconds)];

@Property(kind='eventually')
@Name('Warm')
select r.boiler as boiler from pattern [every r=Reading(degrees > 60)];
"""
SCENARIO = """\
until = "20 minutes"

[[factory]]
type = "Reading"
count = 2
every = {distribution = "exponential", mean = 10}

[factory.attributes]
boiler = {index = true}
degrees = {previous = 0.9, distribution = "normal", mean = 7, sd = 4, start = 70}
"""
ENVIRONMENT = """\
[[input]]
type = "Reading"
gaps = ["5 seconds", "20 seconds"]
values.boiler = [1, 2]
values.degrees = [60, 91.5]
"""
# B may be counted before or after the A that was derived from the same event.
RACE = """\
create schema X (x int);
@Name('a') insert into A select x from X;
@Name('b') insert into B select x from X(x > 1);
@Name('pair') insert into Pair select a.x as x from pattern [every a=A -> b=B(x = a.x)];
"""
RACE_ENVIRONMENT = '[[input]]\ntype = "X"\ngaps = [1]\nvalues.x = [1, 2]\n'


def toml(text: str = SCENARIO, file: str = "s.toml") -> dict[str, str]:
    return {"file": file, "text": text}


def simulate(page: Page, runs: int = 40, **more: object) -> dict[str, Any]:
    asked = {"texts": texts(BOILERS), "scenario": toml(), "runs": runs, "seed": 0, **more}
    found: dict[str, Any] = page.ask("simulate", **asked)
    return found


def verify(page: Page, property: str, **more: object) -> dict[str, Any]:
    asked = {"precision": 0.15, "bound": 0, "sequential": False, "seed": 0, **more}
    found: dict[str, Any] = page.ask(
        "verify", texts=texts(BOILERS), scenario=toml(), property=property, **asked
    )
    return found


def look(page: Page, text: str, environment: str, **more: object) -> dict[str, Any]:
    asked = {"within": "30 seconds", "traces": 3, "seconds": 60, **more}
    found: dict[str, Any] = page.ask(
        "search", texts=texts(text), environment=toml(environment), **asked
    )
    return found


# -- files ---------------------------------------------------------------------------------------


def test_toml_files_are_listed_as_what_they_say(page: Page, studio: Studio) -> None:
    files = {
        "day.toml": SCENARIO,
        "broken.toml": f"{SCENARIO}\nx = [",
        "road.toml": ENVIRONMENT,
        "settings.toml": '[sources.factory]\nkind = "file"\n# [[factory]]\n',
        "short.toml": "factory = []",
    }
    (studio.folder / "kinds").mkdir()
    for name, text in files.items():
        (studio.folder / "kinds" / name).write_text(text)
    listed = {f["name"]: f["kind"] for f in page.ask("files")["files"]}
    assert {name: listed.get(f"kinds/{name}") for name in files} == {
        "day.toml": "scenario",
        "broken.toml": "scenario",
        "road.toml": "environment",
        "settings.toml": None,
        "short.toml": "scenario",
    }


def test_a_link_to_a_scenario_outside_of_the_folder_is_not_even_read(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret.toml").write_text(SCENARIO)
    (tmp_path / "inside" / "link.toml").symlink_to(tmp_path / "secret.toml")
    folder = Folder.at(tmp_path / "inside")
    assert list(folder.files()) == []
    with pytest.raises(cep.UsageError, match="is no file in this folder"):
        folder.read("link.toml")


def test_only_toml_of_the_kinds_that_are_known_is_written(tmp_path: Path) -> None:
    folder = Folder.at(tmp_path)
    (tmp_path / "settings.toml").write_text("[executors.mail]\n")
    (tmp_path / "link.epl").symlink_to("settings.toml")
    folder.write("new/day.toml", SCENARIO)
    assert (tmp_path / "new" / "day.toml").read_text() == SCENARIO
    for name, text in (
        ("settings.toml", SCENARIO),
        ("link.epl", SCENARIO),
        ("other.toml", "[executors.mail]\n"),
        ("new/day.toml", ""),
        ("../day.toml", SCENARIO),
    ):
        with pytest.raises(cep.UsageError, match=r"is no scenario and no env|no file in this fold"):
            folder.write(name, text)
    assert (tmp_path / "settings.toml").read_text() == "[executors.mail]\n"


# -- simulations ---------------------------------------------------------------------------------


def test_a_simulation_is_that_of_the_verb(page: Page) -> None:
    found = simulate(page, seed=7)
    scenario = parse_toml(SCENARIO, "s.toml", "bad-scenario")
    known = cep.simulate(cep.parse(BOILERS), scenario, runs=40, seed=7)
    types = {each["name"]: each for each in found["types"]}
    assert list(types) == list(known.types)
    for name, summary in known.events.items():
        told = types[name]
        assert {key: told[key] for key in summary.to_json()} == summary.to_json()
        assert told["ratio"] == known.ratios.get(name)
        assert told["derived"] is (name != "Reading")
        assert sum(told["bars"]["heights"]) == found["runs"] == 40
        means = told["means"]
        assert means["runs"][-1] == 40
        assert means["mean"][-1] == pytest.approx(summary.mean)
        assert all(
            low <= mean <= high
            for low, mean, high in zip(means["low"], means["mean"], means["high"], strict=True)
        )
        counts = known.counts[:, known.types.index(name)].tolist()
        assert (counts[told["fewest"]], counts[told["most"]]) == (min(counts), max(counts))
        bars = told["bars"]
        first = sum(bars["first"] <= count < bars["first"] + bars["step"] for count in counts)
        assert bars["heights"][0] == first


def test_a_single_run_is_played(page: Page) -> None:
    found = simulate(page)
    hot = next(each for each in found["types"] if each["name"] == "Hot")
    asked = {"simulation": found["simulation"], "number": hot["most"]}
    lines = page.ask("simulated-run", **asked)["lines"]
    run = page.ask("run", texts=texts(BOILERS), lines=lines)
    counts = {lane["type"]: lane["count"] for lane in run["lanes"]}
    assert counts["Hot"] == hot["max"]
    with pytest.raises(Refused, match="there is no run 40"):
        page.ask("simulated-run", simulation=found["simulation"], number=40)
    with pytest.raises(Refused, match="let go of this simulation"):
        page.ask("simulated-run", simulation=999, number=0)


def test_progress_counts_runs(page: Page) -> None:
    heard: list[dict[str, int]] = []
    id = page.send(
        "simulate", texts=texts(BOILERS), scenario=toml(), runs=600, seed=0, until="4 hours"
    )
    while True:
        message = json.loads(page.socket.recv(60))
        if "progress" not in message:
            break
        heard.append(message["progress"])
    assert message["id"] == id
    assert message["answer"]["runs"] == 600
    assert heard
    assert {each["total"] for each in heard} == {600}
    done = [each["done"] for each in heard]
    assert done == sorted(done)


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("nonsense", "this is not TOML"),
        ("", r"a scenario needs a \[\[factory\]\]"),
        (SCENARIO.replace("Reading", "Reding"), "Reding"),
        (SCENARIO.replace('until = "20 minutes"', ""), "nothing says when a run ends"),
        ("[" * 5_000, "this is not TOML|nests its values too deep"),
    ],
)
def test_what_is_wrong_with_a_scenario_is_said(page: Page, scenario: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        simulate(page, scenario=toml(scenario))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scenario": "s.toml"}, "'scenario' must be an object"),
        ({"runs": 0}, "runs is a whole number from 1"),
        ({"runs": -1}, "'runs' must be a whole number"),
        ({"seed": 1.5}, "'seed' must be a whole number"),
        ({"until": "soon"}, "soon"),
        ({"until": 7}, "'until' must be a text"),
    ],
)
def test_odd_values_of_a_simulation_are_refused(
    page: Page, given: dict[str, object], said: str
) -> None:
    with pytest.raises(Refused, match=said):
        simulate(page, **given)  # type: ignore[arg-type]


def test_events_that_are_too_many_for_a_page_are_refused() -> None:
    with pytest.raises(cep.RunError, match="6 events are too many to be opened here"):
        playable(["x" * 2**20] * 6, "hint")


@pytest.fixture
def impatient(tmp_path: Path, compiled: None) -> Iterator[Page]:
    with running(tmp_path, Limits(run=3.0)) as opened, opened.page() as page:
        yield page


def test_a_simulation_that_never_ends_is_stopped_and_others_go_on(page: Page) -> None:
    id = page.send(
        "simulate", texts=texts(BOILERS), scenario=toml(), runs=2**40, seed=0, until="1 day"
    )
    assert json.loads(page.socket.recv(60))["progress"]["total"] == 2**40
    page.ask("cancel", id=id)
    assert page.said(id)["stopped"]
    assert simulate(page)["runs"] == 40


def test_a_simulation_that_never_ends_is_ended_by_the_limit(impatient: Page) -> None:
    with pytest.raises(Refused, match="it took more than 3 seconds"):
        simulate(impatient, runs=2**40, until="1 day")
    assert impatient.ask("files")["files"] == []


# -- properties ----------------------------------------------------------------------------------


def test_the_properties_of_a_program_are_drawn_with_it(page: Page) -> None:
    drawn = page.ask("draw", texts=texts(BOILERS))
    told = [(each["name"], each["kind"], each["place"]["line"]) for each in drawn["properties"]]
    assert told == [("Overheated", "never", 7), ("Warm", "eventually", 12)]
    assert drawn["derived"][:2] == ["Hot", "Overheated"]


def test_a_verdict_is_that_of_the_verb_and_its_trace_breaks_the_property(page: Page) -> None:
    found = verify(page, "Overheated")
    scenario = parse_toml(SCENARIO, "s.toml", "bad-scenario")
    known = cep.verify(cep.parse(BOILERS), scenario, "Overheated", precision=0.15)
    assert (found["verdict"], found["estimate"]) == (known.word, known.estimate) != ("holds", 0)
    assert (found["low"], found["high"]) == (known.interval.low, known.interval.high)
    trace = found["trace"]
    assert trace["lines"] == known.trace.lines()  # type: ignore[union-attr]
    assert [event["type"] for event in trace["events"]] == ["Reading", "Reading"]
    run = page.ask("run", texts=texts(BOILERS), lines=trace["lines"])
    assert {lane["type"]: lane["count"] for lane in run["lanes"]}["Overheated"] == 1


def test_a_property_that_holds_has_no_trace(page: Page) -> None:
    found = verify(page, "Warm")
    assert (found["verdict"], found["trace"]) == ("holds", None)
    assert "it happened in every run, as it should" in found["said"]


def test_a_bound_is_tested_as_long_as_it_takes(page: Page) -> None:
    found = verify(page, "Overheated", bound=0.2, sequential=True, precision=0.1)
    assert found["verdict"] == "broken"
    assert any("made it clear" in reason for reason in found["reasons"])


@pytest.mark.parametrize(
    ("property", "given", "said"),
    [
        ("Hot", {}, "'Hot' is a pattern without @Property"),
        ("<b>no</b>", {}, "no property '<b>no</b>'"),
        ("Overheated", {"precision": 0}, "precision lies between 0 and 1"),
        ("Overheated", {"precision": 1e-300}, "more runs than can be counted"),
        ("Overheated", {"precision": "much"}, "'precision' must be a number"),
        ("Overheated", {"bound": 7}, "the bound lies between 0 and 1"),
        ("Overheated", {"bound": 0.01, "sequential": True}, "no precision of 0.15 around"),
    ],
)
def test_odd_questions_about_properties_are_refused(
    page: Page, property: str, given: dict[str, object], said: str
) -> None:
    with pytest.raises(Refused, match=said):
        verify(page, property, **given)


# -- searches ------------------------------------------------------------------------------------


@pytest.mark.maude
def test_the_shortest_inputs_are_played(page: Page) -> None:
    pytest.importorskip("maude")
    found = look(page, BOILERS, ENVIRONMENT, event="Overheated")
    assert 1 <= len(found["traces"]) <= 3
    for trace in found["traces"]:
        assert [event["type"] for event in trace["events"]] == ["Reading", "Reading"]
        [results] = trace["results"]
        assert [row["type"] for row in results] == ["Overheated"]
        run = page.ask("run", texts=texts(BOILERS), lines=trace["lines"])
        assert {lane["type"]: lane["count"] for lane in run["lanes"]}["Overheated"] == 1
    nothing = look(page, BOILERS, ENVIRONMENT, event="Overheated", within="4 seconds")
    assert (nothing["traces"], nothing["states"] > 0) == ([], True)


@pytest.mark.maude
def test_a_race_comes_with_both_of_its_results(page: Page) -> None:
    pytest.importorskip("maude")
    [trace] = look(page, RACE, RACE_ENVIRONMENT, within="3 seconds")["traces"]
    assert [dict(event["values"])["x"] for event in trace["events"]] == ["2"]
    assert {len(results) for results in trace["results"]} == {2, 3}
    fixed = RACE.replace("@Name('a')", "@Priority(2) @Name('a')")
    assert look(page, fixed, RACE_ENVIRONMENT, within="3 seconds")["traces"] == []


@pytest.mark.parametrize(
    ("environment", "given", "said"),
    [
        (ENVIRONMENT, {"event": "Nothing"}, "no statement derives 'Nothing'"),
        (ENVIRONMENT, {"event": "Hot", "within": "soon"}, "'soon' is not a time period"),
        (ENVIRONMENT, {"event": "Hot", "traces": 0}, "traces is a whole number from 1"),
        ("", {"event": "Hot"}, r"needs an \[\[input\]\]"),
        ("x = [", {"event": "Hot"}, "this is not TOML"),
        (ENVIRONMENT.replace("Reading", "Reding"), {"event": "Hot"}, "no input type 'Reding'"),
    ],
)
def test_odd_searches_are_refused(
    page: Page, environment: str, given: dict[str, object], said: str
) -> None:
    with pytest.raises(Refused, match=said):
        look(page, BOILERS, environment, **given)


def test_without_maude_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "maude.py").write_text("raise ImportError('there is none')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    asked = {"event": "Hot", "within": "30 seconds", "traces": 1, "seconds": 60}
    given = Given({"texts": texts(BOILERS), "environment": toml(ENVIRONMENT), **asked})
    with pytest.raises(cep.UsageError) as raised:
        search(Room(Folder.at(tmp_path)), given)
    [problem] = raised.value.diagnostics
    assert (problem.code, problem.hint) == ("no-maude", "pip install 'cepheid[maude]'")


# Thirty events lead to it, with a state for each of their values.
LONG = f"""\
create schema X (x int);
@Name('Far') insert into Far select e1.x as x
from pattern [every e1=X {" ".join(f"-> e{n}=X(x != e{n - 1}.x)" for n in range(2, 30))}];
"""
LONG_ENVIRONMENT = RACE_ENVIRONMENT.replace("[1, 2]", str([*range(40)]))


@pytest.mark.maude
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_search_that_is_stopped_leaves_no_maude_behind(tmp_path: Path) -> None:
    pytest.importorskip("maude")
    asyncio.run(_search_and_stop(Lane("evidence", Folder.at(tmp_path), is_trusted=False)))


async def _search_and_stop(lane: Lane) -> None:
    heard = asyncio.Event()
    asked = {"event": "Far", "within": "1 hour", "traces": 1, "seconds": 600}
    given = {"texts": texts(LONG), "environment": toml(LONG_ENVIRONMENT), **asked}
    work = asyncio.create_task(lane.do(Task("search", given), 600, lambda _: heard.set()))
    await asyncio.wait_for(heard.wait(), 120)
    assert lane._working is not None
    group = lane._working.process.pid
    assert group is not None
    assert len(of_group(group)) == 2
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    async with asyncio.timeout(60):
        while of_group(group):
            await asyncio.sleep(0.01)


def of_group(group: int) -> list[int]:
    """The processes of a group, but for those that only wait to be taken note of."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, own = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it has ended meanwhile
            continue
        if int(own) == group and state != "Z":
            found.append(int(stat.parent.name))
    return found
