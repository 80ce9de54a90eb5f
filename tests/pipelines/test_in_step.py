"""Splitting a program over several processes changes no action when they run in step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cepheid as cep
from cepheid import pipelines
from cepheid.core.time import Period
from cepheid.errors import CepheidError
from cepheid.io import encode
from cepheid.program.classes import AnyClass, SubscribedClass
from cepheid.program.tree import ProgramTree
from tests.bitemporal.generator import Case, case
from tests.effort import examples

EXAMPLES = Path(__file__).parents[2] / "examples"
LONG = Period(400 * 86_400_000_000)  # nothing that another program tells is refused
Rows = dict[str, list[dict[str, Any]]]  # by the classes that want them done


@dataclass(frozen=True, slots=True)
class Part:
    """Some classes of a program, and what they read besides of the parts before."""

    classes: Sequence[AnyClass]
    told: Sequence[str]  # subscribed classes, from the source
    others: Sequence[tuple[int, str]]  # complex classes, with the parts that derive them


def parts_of(program: cep.Program, cuts: Sequence[int]) -> list[Part]:
    """The classes in their order, cut at some places; each statement is in one part only."""
    classes = program.tree.classes
    reads = {each.declared.name: each.reads for each in program.resolve().classes}
    named = {each.name: each for each in classes}
    homes: dict[str, int] = {}
    parts = []
    for place, (begin, end) in enumerate(zip((0, *cuts), (*cuts, len(classes)), strict=True)):
        own = classes[begin:end]
        homes |= {each.name: place for each in own}
        read = {name for each in own for name in reads[each.name]} - {each.name for each in own}
        others = [as_told(named[name]) for name in sorted(read)]
        kept = [*own, *others]
        told = [c.name for c in kept if isinstance(named[c.name], SubscribedClass)]
        derived = [(homes[c.name], c.name) for c in others if c.name not in told]
        parts.append(Part(kept, told, derived))
    return parts


def as_told(declared: AnyClass) -> SubscribedClass:
    """A class of another part: its statements stay there."""
    if isinstance(declared, SubscribedClass):
        return replace(declared, reactions=())
    return SubscribedClass(
        name=declared.name, attributes=declared.attributes, key=declared.key, freezing=LONG
    )


def lines(records: Iterable[object]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def write_pipeline(folder: Path, case: Case, parts: Sequence[Part]) -> Path:
    (folder / "history.jsonl").write_text(lines(case.records))
    outages = ({"from": begin, "to": end} for begin, end in case.outages)
    (folder / "outages.jsonl").write_text(lines(outages))
    names = sorted({name for part in parts for name in part.told})
    text = f'chronon = "{case.chronon}"\noutages = "outages.jsonl"\n'
    text += f'[sources.told]\nevents = "history.jsonl"\nclasses = {json.dumps(names)}\n'
    for place in reversed(range(len(parts))):  # they run in another order than they stand in
        part = parts[place]
        program = cep.Program(ProgramTree(tuple(part.classes)))
        (folder / f"p{place}.bicepl").write_text(program.to_text("bicepl"))
        reads = [*(["told"] if part.told else []), *(f"p{n}.{name}" for n, name in part.others)]
        text += f'[programs.p{place}]\nfiles = "p{place}.bicepl"\nreads = {json.dumps(reads)}\n'
    file = folder / "cepheid.toml"
    file.write_text(text)
    return file


def whole(case: Case, engine: str) -> Rows | None:
    """The actions of the program in one piece; None where something ends the run."""
    options = {"chronon": case.chronon, "outages": case.outages}
    try:
        result = cep.run(cep.parse(case.text, "bicepl"), case.records, engine=engine, **options)  # type: ignore[arg-type]
    except CepheidError:
        return None
    return by_class(result)


def by_class(rows: Iterable[cep.Event]) -> Rows:
    """Actions in their order; programs that do not read each other have none between them."""
    found: Rows = {}
    for row in rows:
        found.setdefault(cast("dict[str, str]", row["@cause"])["@type"], []).append(encode(row))
    return found


def split(case: Case, cuts: Sequence[int], engine: str) -> Rows | None:
    with TemporaryDirectory() as folder:
        parts = parts_of(cep.parse(case.text, "bicepl"), cuts)
        pipeline = pipelines.load(write_pipeline(Path(folder), case, parts))
        try:
            result = pipelines.run(pipeline, engine=engine)
        except CepheidError:
            return None
        return by_class(row for _, row in result.rows())


def cuttings(case: Case, count: int) -> list[tuple[int, ...]]:
    """The ways to cut a case into parts, the first of which has all subscribed classes."""
    first = case.text.count("SUBSCRIBED")
    complex = range(first, first + case.text.count("COMPLEX"))
    pairs: list[tuple[int, ...]] = [(a, b) for a in complex for b in complex if a < b]
    return [(n,) for n in complex] if count == 2 else pairs


CASES = st.integers(0, 10**9).map(lambda seed: case(Random(seed)))


@examples(20)
@given(CASES, st.sampled_from(("local", "local", "reference")), st.data())
def test_two_programs_do_what_one_does(case: Case, engine: str, data: st.DataObject) -> None:
    ways = cuttings(case, 2)
    assume(ways)
    assert split(case, data.draw(st.sampled_from(ways)), engine) == whole(case, engine)


@examples(8)
@given(CASES, st.sampled_from(("local", "local", "reference")), st.data())
def test_three_programs_in_a_chain_do_what_one_does(
    case: Case, engine: str, data: st.DataObject
) -> None:
    ways = cuttings(case, 3)
    assume(ways)
    assert split(case, data.draw(st.sampled_from(ways)), engine) == whole(case, engine)


def test_cases_that_are_cut_have_actions_and_outages_on_both_sides() -> None:
    """Else the two tests above would say little."""
    acting = down = 0
    for found in (case(Random(seed)) for seed in range(15)):
        for (cut,) in cuttings(found, 2)[:1]:
            names = [c.name for c in cep.parse(found.text, "bicepl").tree.classes]
            causes = {*(whole(found, "local") or ())}
            acting += bool(causes & {*names[:cut]} and causes & {*names[cut:]})
            down += bool(found.outages)
    assert acting > 1
    assert down > 1


# --- business travel, example 5.1 -------------------------------------------------------------------


def test_business_travel_on_two_processors_has_the_actions_of_one() -> None:
    folder = EXAMPLES / "travel"
    result = pipelines.run(pipelines.load(folder / "cepheid.toml"))
    found = [json.dumps(encode(row), ensure_ascii=False) for _, row in result.rows()]
    expected = (folder / "expected.jsonl").read_text().splitlines()
    assert sorted(found) == sorted(expected)
    assert [json.loads(each)["@time"] for each in found] == [
        json.loads(each)["@time"] for each in expected
    ]
    assert {name for name, _ in result.rows()} == {"connections", "arrivals"}


# --- statements before and after classes ------------------------------------------------------------

TELL = """
create schema Sensor (id string, t double, seen long);
@Name('tell') insert into Hot select id, t, seen from Sensor(t > 30);
@Name('calm') insert into Calm
select a.id as id from pattern [every a=Sensor(t > 50) -> timer:interval(3 minutes)];
"""
CLASSES = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS Hot(id TEXT, t NUMBER, seen TIMESTAMP) ID (id)
FREEZING TIME (1h) ON CHANGE DO changed(NEW.id, NEW.t, NEW.seen);
CREATE MUTABLE SUBSCRIBED EVENT CLASS Calm(id TEXT) ID (id) FREEZING TIME (1h)
ON ANNOUNCEMENT DO calm(NEW.id);
CREATE COMPLEX EVENT CLASS Alarm(id TEXT, seen TIMESTAMP) ID (id) OBSERVATION SPAN (1h)
AS SELECT h.id, h.seen FROM Hot h WHERE h.t > 40 OCCURRING AT h + 2m
ON ONTIME DO ring(NEW.id), ON CANCELLATION DO hush(OLD.id);
"""
HEAR = """
@Name('moves') @Action('note') insert into Moves
select a.id as id, b.kind as kind, b.occ - a.det as ahead, b.seen as seen
from pattern [every a=Hot -> b=Alarm(id = a.id)];
@Name('quiet') insert into Quiet
select a.id as id from pattern [every a=Alarm -> timer:interval(2 minutes)];
"""
MIXED = """
chronon = "1m"
[sources.sensors]
events = "events.jsonl"
[programs.tell]
files = "tell.epl"
reads = "sensors"
[programs.classes]
files = "classes.bicepl"
reads = ["tell.Calm", "tell.Hot"]
[programs.hear]
files = "hear.epl"
reads = ["classes.Alarm", "classes.Hot"]
"""


def sensors(rng: Random) -> list[dict[str, object]]:
    events: list[dict[str, object]] = [
        {
            "@type": "Sensor",
            "@time": rng.randrange(0, 900, 20),
            "id": rng.choice("ab"),
            "t": rng.choice((20.0, 35.0, 45.0, 60.0)),
            "seen": rng.choice((None, 1_000, 1_767_225_600_000)),
        }
        for _ in range(rng.randint(1, 12))
    ]
    return [*events, {"@time": rng.choice((900, 1_200))}]


def write_mixed(folder: Path, events: Iterable[object]) -> Path:
    (folder / "events.jsonl").write_text(lines(events))
    for name, text in (("tell.epl", TELL), ("classes.bicepl", CLASSES), ("hear.epl", HEAR)):
        (folder / name).write_text(text)
    file = folder / "cepheid.toml"
    file.write_text(MIXED)
    return file


@examples(8)
@given(st.integers(0, 10**9), st.sampled_from(("local", "reference")))
def test_statements_before_and_after_classes_may_be_programs_of_their_own(
    seed: int, engine: str
) -> None:
    events = sensors(Random(seed))
    with TemporaryDirectory() as name:
        folder = Path(name)
        file = write_mixed(folder, events)
        one = cep.load(*(folder / each for each in ("tell.epl", "classes.bicepl", "hear.epl")))
        expected = cep.run(one, folder / "events.jsonl", chronon="1m", engine=engine)
        result = pipelines.run(pipelines.load(file), engine=engine)
    kinds = ("changed", "calm", "ring", "hush", "Moves", "Quiet")
    found = [row for _, row in result.rows()]
    for kind in kinds:
        own = [encode(row) for row in found if row.type == kind]
        assert own == [encode(row) for row in expected if row.type == kind]


def test_a_mixed_program_alone_in_a_pipeline_does_what_it_does_by_itself(tmp_path: Path) -> None:
    write_mixed(tmp_path, sensors(Random(3)))
    files = ["tell.epl", "classes.bicepl", "hear.epl"]
    file = tmp_path / "one.toml"
    file.write_text(
        f'chronon = "1m"\n[sources.s]\nevents = "events.jsonl"\n'
        f'[programs.all]\nfiles = {json.dumps(files)}\nreads = "s"\n'
    )
    program = cep.load(*(tmp_path / name for name in files))
    expected = cep.run(program, tmp_path / "events.jsonl", chronon="1m")
    assert list(expected)
    result = pipelines.run(pipelines.load(file))["all"]
    assert [encode(row) for row in result] == [encode(row) for row in expected]


def test_actions_are_told_apart_by_the_programs_that_want_them(tmp_path: Path) -> None:
    events = [{"@type": "Sensor", "@time": 0, "id": "a", "t": 60.0, "seen": None}, {"@time": 600}]
    result = pipelines.run(pipelines.load(write_mixed(tmp_path, events)))
    found = [(action.name, action.key.split("/")[0]) for action in result.actions()]
    assert found == [("note", "hear"), ("ring", "classes"), ("calm", "classes")]
    assert len({action.key for action in result.actions()}) == 3


# --- other things that run --------------------------------------------------------------------------

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


CLASS = "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER) ID (k) FREEZING TIME (1h)"


def test_a_subscribed_class_can_be_passed_on(write: Write) -> None:
    write("first.bicepl", f"{CLASS};")
    write("second.bicepl", f"{CLASS} ON ANNOUNCEMENT DO seen(NEW.k), ON CANCELLATION DO gone();")
    history = [{"@type": "A", "@time": 60, "k": 1}, {"@type": "A", "@detected": 150, "k": 1}]
    write("h.jsonl", lines([history[0], {**history[1], "@retracted": True}]))
    file = write(
        "cepheid.toml",
        'chronon = "1m"\n[sources.s]\nevents = "h.jsonl"\n[programs.first]\nfiles = "first.bicepl"\n'
        'reads = "s"\n[programs.second]\nfiles = "second.bicepl"\nreads = "first.A"\n',
    )
    rows = [(name, row.type) for name, row in pipelines.run(pipelines.load(file)).rows()]
    assert rows == [("second", "seen"), ("second", "gone")]


def test_what_cannot_be_read_is_skipped_and_listed_once(write: Write) -> None:
    write("first.bicepl", f"{CLASS} ON ANNOUNCEMENT DO seen(NEW.k);")
    write("next.epl", "create schema B (x int); @Name('C') select x from B;")
    write(
        "h.jsonl", lines([{"@type": "A", "@time": 60, "k": 1}, {"@type": "A", "k": 1}]) + "what\n"
    )
    write(
        "b.jsonl",
        lines([{"@type": "B", "@time": 1, "x": "one"}, {"@type": "B", "@time": 2, "x": 1}]),
    )
    file = write(
        "cepheid.toml",
        'chronon = "1m"\n[sources.a]\nevents = "h.jsonl"\n[sources.b]\nevents = "b.jsonl"\n'
        '[programs.first]\nfiles = "first.bicepl"\nreads = "a"\n'
        '[programs.next]\nfiles = "next.epl"\nreads = "b"\n',
    )
    pipeline = pipelines.load(file)
    with pytest.raises(CepheidError):
        pipelines.run(pipeline)
    result = pipelines.run(pipeline, on_error="skip")
    assert [row.type for _, row in result.rows()] == ["C", "seen"]
    skipped = [p.code for p in (*result.skipped, *result["next"].skipped)]
    assert sorted(skipped) == ["bad-line", "bad-value", "missing-time"]


def test_files_are_looked_for_beside_the_pipeline(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write("p.bicepl", f"{CLASS} ON ANNOUNCEMENT DO seen(NEW.k);")
    write("h.jsonl", lines([{"@type": "A", "@time": 60, "k": 1}]))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    write(
        "x.toml",
        'chronon = "1m"\noutbox = "box"\n[sources.s]\nevents = "h.jsonl"\n'
        '[programs.p]\nfiles = "p.bicepl"\nreads = "s"\n',
    )
    pipeline = pipelines.load("../x.toml")
    assert [row.type for _, row in pipelines.run(pipeline).rows()] == ["seen"]
    assert pipeline.outbox == "../box"
