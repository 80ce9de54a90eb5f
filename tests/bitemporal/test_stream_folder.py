"""What rounds over batches leave in their folder, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import cepheid as cep
from cepheid.bitemporal.stream import manifest as manifests
from cepheid.bitemporal.stream.arrivals import Arrival
from cepheid.bitemporal.stream.sink import RoundsSink
from cepheid.errors import RunError, UsageError
from cepheid.io.sources import records_of
from cepheid.verbs.rounds import course_of
from tests.bitemporal.streams import rows_in

PROGRAM = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS Visit(no INTEGER, at TEXT) ID (no)
FREEZING TIME (1h)
ON ONTIME DO begins(NEW.at),
ON CHANGE DO moved(OLD.at, NEW.at);
"""


def sink(folder: Path, text: str = PROGRAM, **options: Any) -> RoundsSink:
    settings = {"chronon": "1m", **options}
    delay = settings.pop("delay", 0)
    program = cep.parse(text, "bicepl").resolve()
    return RoundsSink(program, folder, course_of(**settings), delay=delay * 1_000_000)


def visit(no: int | None, time: float, detected: float, at: str = "home") -> dict[str, Any]:
    return {"@type": "Visit", "@time": time, "@detected": detected, "no": no, "at": at}


def arrivals(*records: dict[str, Any]) -> list[Arrival]:
    return [Arrival(record) for record in records_of(list(records))]


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return [dict(row) for row in rows_in(folder / name)]


def test_a_round_runs_when_time_has_come_to_the_next_chronon(tmp_path: Path) -> None:
    stream = sink(tmp_path, delay=60)
    stream.take(0, arrivals(visit(1, 120, 0)))
    for batch, (time, begun) in enumerate([(180, 0), (239, 0), (240, 1)], start=1):
        stream.take(batch, arrivals({"@time": time}))
        assert len(rows(tmp_path, "actions")) == begun, time


def test_actions_changes_versions_and_toggles_are_tables(tmp_path: Path) -> None:
    stream = sink(tmp_path)
    stream.take(0, arrivals(visit(1, 120, 0), visit(1, 120, 60, "work"), {"@time": 300}))
    told = rows(tmp_path, "actions")
    assert [(row["@type"], row["p1"], row["p2"], row["@statement"]) for row in told] == [
        ("moved", "home", "work", "Visit[2]"),
        ("begins", "work", None, "Visit[1]"),
    ]
    changes = rows(tmp_path, "changes")
    assert [(row["kind"], row["occ"], row["at"]) for row in changes] == [
        ("announcement", 120_000, "home"),
        ("change", 120_000, "work"),
    ]
    versions = rows(tmp_path, "versions")
    assert [(row["@known"].minute, row["at"], row["@retracted"]) for row in versions] == [
        (0, "home", None),
        (1, "work", None),
    ]
    assert [
        (row["@time"].minute, row["no"], row["fired"]) for row in rows(tmp_path, "toggles")
    ] == [(2, 1, True)]


def test_versions_are_a_history_that_other_rounds_read(tmp_path: Path) -> None:
    first = sink(tmp_path / "first")
    retracted = {"@type": "Visit", "@detected": 120, "no": 1, "@retracted": True}
    records = [visit(1, 600, 0), visit(1, 600, 60, "work"), retracted, {"@time": 900}]
    first.take(0, arrivals(*records))
    second = sink(tmp_path / "second")
    second.take(0, arrivals(*rows(tmp_path / "first", "versions"), {"@time": 900}))
    for name in ("actions", "changes", "toggles"):
        assert rows(tmp_path / "second", name) == rows(tmp_path / "first", name)


def test_what_is_late_is_kept_and_counted_and_changes_nothing(tmp_path: Path) -> None:
    stream = sink(tmp_path)
    stream.take(0, arrivals(visit(1, 600, 0), {"@time": 300}))
    stream.take(1, arrivals(visit(2, 600, 299), visit(3, 600, 300)))
    assert [row["no"] for row in rows(tmp_path, "late")] == [2]
    found = manifests.newest(tmp_path)
    assert found is not None
    assert found.counts == {"taken": 2, "late": 1, "rejected": 0}


def test_what_is_no_detection_is_kept_with_the_reason(tmp_path: Path) -> None:
    bad = [
        visit(None, 60, 0),
        {"@type": "Visitt", "@time": 3},
        {"@type": "Visit", "@time": "soon", "no": 1},
    ]
    sink(tmp_path).take(0, arrivals(*bad, visit(1, 60, 0), {"@time": 300}))
    problems = sorted(row["@problem"] for row in rows(tmp_path, "rejects"))
    assert [problem.partition(":")[0] for problem in problems] == [
        "error[bad-time]",
        "error[missing-key]",
        "error[unknown-type]",
    ]
    assert len(rows(tmp_path, "actions")) == 1


def test_the_order_of_rows_that_nothing_orders_does_not_matter(tmp_path: Path) -> None:
    records = [visit(1, 600, 0, at) for at in ("home", "work", "shop")]
    expected = None
    for seed in range(6):
        Random(seed).shuffle(records)
        folder = tmp_path / str(seed)
        stream = sink(folder)
        for batch, record in enumerate([*records, {"@time": 900}]):
            stream.take(batch, arrivals(record))
        found = rows(folder, "actions"), rows(folder, "versions")
        expected = expected or found
        assert found == expected


def test_old_files_go_when_the_state_is_written_as_a_whole(tmp_path: Path) -> None:
    program = cep.parse(PROGRAM, "bicepl").resolve()
    stream = RoundsSink(program, tmp_path, course_of(chronon="1m"), compact_every=5)
    for batch in range(11):
        stream.take(batch, arrivals(visit(batch, 6000, 60 * batch)))
    assert [path.stem for path in sorted((tmp_path / "manifests").iterdir())] == ["0000000010"]
    assert {path.name[:10] for path in (tmp_path / "state").iterdir()} == {"0000000010"}


@pytest.mark.parametrize(
    "options",
    [
        {"chronon": "2m"},
        {"window": "sliding"},
        {"after_freeze": "take"},
        {"start": 0},
        {"outages": [(0, 100)]},
        {"text": PROGRAM.replace("begins", "starts")},
    ],
    ids=lambda options: next(iter(options)),
)
def test_the_folder_of_another_stream_is_refused(options: dict[str, Any], tmp_path: Path) -> None:
    sink(tmp_path).take(0, arrivals(visit(1, 600, 0), {"@time": 300}))
    with pytest.raises(RunError, match="bad-state"):
        sink(tmp_path, **options).take(1, [])


def test_outages_to_come_and_the_delay_may_change(tmp_path: Path) -> None:
    sink(tmp_path).take(0, arrivals(visit(1, 600, 0), {"@time": 300}))
    stream = sink(tmp_path, outages=[(600, 720)], delay=60)
    stream.take(1, arrivals({"@time": 900}))
    assert not rows(tmp_path, "actions")


def test_another_delay_holds_from_the_restart_on(tmp_path: Path) -> None:
    sink(tmp_path).take(0, arrivals(visit(1, 120, 0)))
    sink(tmp_path, delay=600).take(1, arrivals({"@time": 300}))
    assert not rows(tmp_path, "actions")
    sink(tmp_path).take(2, arrivals({"@time": 301}))
    assert len(rows(tmp_path, "actions")) == 1


def test_a_folder_that_lacks_batches_or_belongs_to_another_checkpoint_is_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(RunError, match="bad-state"):
        sink(tmp_path).take(3, [])
    sink(tmp_path).take(0, arrivals(visit(1, 600, 0)), origin="one")
    with pytest.raises(RunError, match="another checkpoint"):
        sink(tmp_path).take(1, [], origin="other")


def test_state_that_is_gone_is_named(tmp_path: Path) -> None:
    sink(tmp_path).take(0, arrivals(visit(1, 600, 0)))
    next((tmp_path / "state").glob("*.parquet")).unlink()
    with pytest.raises(RunError, match="damaged, or gone"):
        sink(tmp_path).take(1, [])


def test_programs_without_classes_are_refused(tmp_path: Path) -> None:
    epl = cep.parse("create schema A (x int); @Name('S') insert into B select x from A;")
    with pytest.raises(UsageError, match="no classes"):
        RoundsSink(epl.resolve(), tmp_path, course_of(chronon="1m"))
