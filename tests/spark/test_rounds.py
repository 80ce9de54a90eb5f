"""Rounds over streams of Spark: what they leave is what one run gives, also when they are killed."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import cepheid as cep
from cepheid.cli.main import main
from cepheid.engines.spark.session.failures import failure_of
from cepheid.errors import UsageError
from tests.bitemporal.streams import rows_in, rows_of
from tests.effort import EFFORT
from tests.spark.brokers import wait_for
from tests.spark.stream_process import live

PROGRAM = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS Flight(no TEXT, gate TEXT) ID (no)
FREEZING TIME (1h)
ON ANNOUNCEMENT DO told(NEW.gate),
ON CHANGE DO moved(OLD.occ, NEW.occ),
ON ONTIME DO leaves(),
ON CANCELLATION DO cancelled(OLD.gate);

CREATE COMPLEX EVENT CLASS Busy(gate TEXT, flights INTEGER) ID (gate)
OBSERVATION SPAN (1d)
AS SELECT f.gate, COUNT(*) AS flights FROM Flight f GROUP BY f.gate OCCURRING AT MIN(f)
ON CHANGE AND NEW.flights > 2 DO crowded(NEW.flights);
"""
SCHEMA = (
    "`@type` string, `@time` timestamp, `@detected` timestamp, `@retracted` boolean,"
    " no string, gate string"
)


def history(count: int, seed: int) -> list[dict[str, Any]]:
    """Versions of a few flights in the order of their detection, and time that passes."""
    chance, found = Random(seed), []
    for number in range(count):
        detected = 3600 + 30 * number  # two in a round, never at one time
        record: dict[str, Any] = {
            "@type": "Flight",
            "@detected": _iso(detected),
            "no": f"F{chance.randrange(9)}",
        }
        if chance.random() < 0.15:
            record["@retracted"] = True
        else:
            record["@time"] = _iso(detected + 60 * chance.randrange(-3, 12))
            record["gate"] = chance.choice("AB")
        found.append(record)
    return [*found, {"@time": _iso(3600 + 30 * count + 1200)}]


def _iso(seconds: int) -> str:
    return f"2026-01-01T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}Z"


@dataclass(frozen=True)
class Arrivals:
    """A folder into which files of a history come, and the folder of the rounds."""

    folder: Path
    records: Sequence[dict[str, Any]]

    def fill(self, size: int) -> None:
        for number, at in enumerate(range(0, len(self.records), size)):
            self.put(number, *map(json.dumps, self.records[at : at + size]))

    def put(self, number: int, *lines: str) -> None:
        draft, file = self.folder / "draft", self.folder / "in" / f"{number:04}.jsonl"
        file.parent.mkdir(exist_ok=True)
        draft.write_text("".join(f"{line}\n" for line in lines))
        os.utime(draft, (number, number))  # Spark takes files in the order of their times
        draft.rename(file)

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def run(self, spark: SparkSession, files: int, **options: Any) -> None:
        lines = spark.readStream.option("maxFilesPerTrigger", files).schema(SCHEMA)
        query = cep.spark.rounds(
            cep.parse(PROGRAM, "bicepl"),
            lines.json(str(self.folder / "in")),
            **{"chronon": "1m", "path": self.out, "once": True, **options},
        )
        query.awaitTermination()

    def actions(self) -> list[Any]:
        return [row[:2] + row[2:] for row in rows_in(self.out / "actions")]

    def expected(self) -> list[tuple[str, str, str]]:
        """What a run in this process gives, up to the round before the last time."""
        *_, last = self.records
        end = _before(last["@time"])
        result = cep.run(
            cep.parse(PROGRAM, "bicepl"), list(self.records), chronon="1m", end=end, engine="local"
        )
        return [(e.type, str(e.time), str(e["@cause"])) for e in result]

    def found(self) -> list[tuple[str, str, str]]:
        rows = [dict(row) for row in rows_in(self.out / "actions")]
        return [
            (row["@type"], str(row["@time"]), str({k: v for k, v in _cause(row) if v is not None}))
            for row in rows
        ]


def _cause(row: dict[str, Any]) -> Any:
    cause = row["@cause"]
    return json.loads(cause).items() if isinstance(cause, str) else cause


def _before(time: str) -> str:
    hours, minutes = int(time[11:13]), int(time[14:16])
    return _iso(hours * 3600 + minutes * 60 - 60)


@pytest.fixture
def arrivals(tmp_path: Path) -> Arrivals:
    return Arrivals(tmp_path, history(60, seed=1))


@pytest.mark.parametrize("files", [1, 3, 100])
def test_the_size_of_micro_batches_changes_nothing(
    spark: SparkSession, arrivals: Arrivals, files: int
) -> None:
    arrivals.fill(7)
    arrivals.run(spark, files)
    assert arrivals.found() == arrivals.expected()
    assert len(list((arrivals.out / "manifests").iterdir())) == {1: 9, 3: 3, 100: 1}[files]


def test_a_query_goes_on_where_it_was(spark: SparkSession, arrivals: Arrivals) -> None:
    first = Arrivals(arrivals.folder, arrivals.records[:28])
    first.fill(7)
    arrivals.run(spark, 2)
    arrivals.fill(7)
    arrivals.run(spark, 2)
    assert arrivals.found() == arrivals.expected()


def test_statements_read_what_became_known(spark: SparkSession, arrivals: Arrivals) -> None:
    arrivals.fill(100)
    arrivals.run(spark, 1)
    changes = str(arrivals.out / "changes")
    frame = spark.readStream.schema(spark.read.parquet(changes).schema).parquet(changes)
    query = cep.spark.detect(
        cep.parse(
            "create schema Busy (gate string, flights long, occ long, det long, kind string, fired boolean);"
            " @Name('Peak') insert into Peak select gate, flights from Busy(kind = 'change')"
            " where flights > 3;"
        ),
        frame.where("`@type` = 'Busy'").select(
            *(
                f"`{n}`"
                for n in ("@type", "@time", "gate", "flights", "occ", "det", "kind", "fired")
            )
        ),
        output="Peak",
        watermark="0s",
    )
    started = (
        query.writeStream.format("memory").queryName("peaks").trigger(availableNow=True).start()
    )
    started.awaitTermination()
    rows = [dict(row) for row in rows_in(arrivals.out / "changes")]
    expected = sum(
        r["@type"] == "Busy" and r["kind"] == "change" and r["flights"] > 3 for r in rows
    )
    assert spark.table("peaks").count() == expected > 0


def test_bad_rows_and_late_ones_are_kept_and_the_query_goes_on(
    spark: SparkSession, arrivals: Arrivals, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = (
        '{"@type": "Flight", "@time": "2026-01-01T00:05:00Z"}',
        '{"@type": "Fright", "@time": "2026-01-01T00:05:00Z", "no": "F1"}',
        '{"@type": "Flight", "@time": "soon", "no": "F1"}',
        "poison",
    )
    late = '{"@type": "Flight", "@time": "2026-01-01T01:00:00Z", "no": "F1"}'
    arrivals.fill(7)
    arrivals.put(50, *bad, late)
    (arrivals.folder / "p.bicepl").write_text(PROGRAM)
    monkeypatch.chdir(arrivals.folder)
    assert main(command(1)) == 0
    rejects = {
        row["@reject"]: row["@problem"] for row in map(dict, rows_in(arrivals.out / "rejects"))
    }
    assert set(rejects) == set(bad)
    assert "without its key" in rejects[bad[0]]
    assert "no subscribed class 'Fright'" in rejects[bad[1]]
    assert [dict(row)["no"] for row in rows_in(arrivals.out / "late")] == ["F1"]
    assert arrivals.found() == arrivals.expected()


def test_what_ends_a_program_ends_the_query(spark: SparkSession, arrivals: Arrivals) -> None:
    ambiguous = PROGRAM.replace("GROUP BY f.gate", "GROUP BY f.gate, f.no")
    arrivals.fill(100)
    lines = spark.readStream.schema(SCHEMA).json(str(arrivals.folder / "in"))
    query = cep.spark.rounds(
        cep.parse(ambiguous, "bicepl"), lines, chronon="1m", path=arrivals.out, once=True
    )
    with pytest.raises(StreamingQueryException) as caught:
        query.awaitTermination()
    assert "error[ambiguous-key]: Busy has two events" in str(caught.value).partition("\n")[0]
    failure = failure_of(caught.value)
    assert failure.diagnostics[0].code == "ambiguous-key"
    assert "Busy has two events of one key" in str(failure)


def test_another_program_or_checkpoint_is_refused(spark: SparkSession, arrivals: Arrivals) -> None:
    arrivals.fill(100)
    arrivals.run(spark, 1)
    arrivals.put(60, json.dumps({"@time": "2026-01-02T00:00:00Z"}))
    for options in ({"chronon": "2m"}, {"checkpoint": arrivals.folder / "other"}):
        with pytest.raises(StreamingQueryException) as caught:
            arrivals.run(spark, 1, **options)
        assert failure_of(caught.value).diagnostics[0].code == "bad-state"


def test_a_stream_without_a_column_that_sql_uses_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    schema = SCHEMA.replace(", gate string", "")
    assert schema != SCHEMA
    frame = spark.readStream.schema(schema).json(str(tmp_path / "in"))
    options: dict[str, Any] = {"chronon": "1m", "path": tmp_path / "out", "once": True}
    program = cep.parse(PROGRAM, "bicepl")
    with pytest.raises(cep.InputError, match="no event of Flight has the attribute 'gate'"):
        cep.spark.rounds(program, frame, **options)
    cep.spark.rounds(program, frame, optional="gate", **options).awaitTermination()


def test_a_frame_that_is_no_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([], SCHEMA)
    with pytest.raises(UsageError, match="no stream"):
        cep.spark.rounds(cep.parse(PROGRAM, "bicepl"), frame, chronon="1m", path=tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "in/out"}, "path: '{}/in/out' is in the folder"),
        ({"path": "out", "checkpoint": "in/state"}, "checkpoint: '{}/in/state' is in the folder"),
    ],
)
def test_rounds_do_not_write_where_their_stream_reads(
    spark: SparkSession, arrivals: Arrivals, options: dict[str, str], said: str
) -> None:
    arrivals.put(0, json.dumps({"@time": "2026-01-02T00:00:00Z"}))
    folders = {name: arrivals.folder / folder for name, folder in options.items()}
    with pytest.raises(UsageError) as refused:
        arrivals.run(spark, 1, **folders)
    assert said.format(arrivals.folder) in str(refused.value)


@pytest.mark.parametrize(("option", "folder"), [("--out", "in/out"), ("--checkpoint", "in/state")])
def test_the_command_says_so_before_spark_starts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    option: str,
    folder: str,
) -> None:
    def no_spark(**_options: object) -> None:
        raise AssertionError("Spark has started")

    monkeypatch.setattr("cepheid.cli.stream.spark_session", no_spark)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "p.bicepl").write_text(PROGRAM)
    assert main([*command(1), option, folder]) == 2
    assert f"{option}: '{folder}' is in the folder that the stream reads" in capsys.readouterr().err


# Killed ---------------------------------------------------------------------------------------

KILLS = 2 if EFFORT == 1 else 20


def command(files: int) -> list[str]:
    source = f"files:in?maxFilesPerTrigger={files}"
    rounds = ("--chronon", "1m", "--out", "out", "--watermark", "0s", "--outbox", "box", "--once")
    return ["stream", "p.bicepl", "--source", source, "--checkpoint", "state", *rounds]


def test_a_query_that_is_killed_again_and_again_loses_and_doubles_nothing(
    tmp_path: Path,
) -> None:
    arrivals = Arrivals(tmp_path, history(60 * KILLS, seed=2))
    arrivals.fill(5)
    (tmp_path / "p.bicepl").write_text(PROGRAM)
    chance = Random(EFFORT)
    for _ in range(KILLS):
        kill_after(arrivals, chance.randint(1, 3), chance)
    with live(command(1), tmp_path) as last:
        assert last.wait() == 0, (tmp_path / "log.txt").read_text()
    assert arrivals.found() == arrivals.expected()
    wanted = Counter(name for name, *_ in arrivals.found())
    assert {name: len(lines(tmp_path / "box", name)) for name in wanted} == wanted


def lines(outbox: Path, name: str) -> set[str]:
    return set((outbox / "queues" / name / "actions.jsonl").read_text().splitlines())


def kill_after(arrivals: Arrivals, batches: int, chance: Random) -> None:
    """Kills the process some micro-batches on: when a manifest is there, or half of one."""
    done = arrivals.out / "manifests"
    first = max((int(path.stem) for path in done.glob("[0-9]*.json")), default=-1)
    place = done / f"{first + batches:010}.json"
    sign = chance.choice((place, arrivals.out / "state" / f"{first + batches:010}-0.parquet"))
    with live(command(1), arrivals.folder) as process:
        try:
            wait_for(
                lambda: process.poll() is not None or sign.exists() or place.exists(),
                f"{sign}",
                process.pid,
            )
            assert process.poll() is None, (arrivals.folder / "log.txt").read_text()
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_files_are_what_readers_of_parquet_expect(spark: SparkSession, arrivals: Arrivals) -> None:
    arrivals.fill(100)
    arrivals.run(spark, 1)
    names = ("actions", "changes", "versions", "toggles", "late", "rejects")
    for name in names:
        (file,) = (arrivals.out / name).glob("*.parquet")
        assert rows_of(pq.read_table(file, partitioning=None)) == list(rows_in(arrivals.out / name))
        assert spark.read.parquet(str(arrivals.out / name)).count() >= 0
