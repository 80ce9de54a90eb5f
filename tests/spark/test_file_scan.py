"""Files that workers read in columns give the rows that all other engines find in them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import cepheid as cep
from cepheid.core.event import Event
from cepheid.engines.common import intake
from cepheid.errors import InputError, UsageError
from cepheid.io.columns import reading as columnar

MANY = 1 << 13

SCHEMAS = """
create schema Reading(id long, bike int, speed int, name string);
create schema Weather(id long, bike int, wind double);
"""
PROGRAMS = {
    "a key, and conditions on numbers": """
        @Name('Crash') insert into Crash select a.id as a, b.id as b
        from pattern [every a=Reading(speed >= 50) -> b=Reading(speed = 0 and bike = a.bike)
                      where timer:within(30 sec)];""",
    "a key of two types, and a condition on texts": """
        @Name('Gust') insert into Gust select a.id as a, b.wind as wind
        from pattern [every a=Reading(name = 'x') -> b=Weather(bike = a.bike)];""",
    "no key": "@Name('Any') insert into Any select a.id as a, b.id as b"
    " from pattern [every (a=Reading(speed = 0) -> b=Weather)];",
    "no state": "@Name('Fast') insert into Fast select id, speed from Reading(speed > 90);",
    "time alone": "@Name('Silence') insert into Silence select a.id as a"
    " from pattern [every a=Reading(speed = 0) -> (timer:interval(20 sec) and not Reading(bike = a.bike))];",
    "two keys": """
        @Name('Stop') insert into Stop select a.bike as bike, b.speed as speed
        from pattern [every a=Reading(speed = 0) -> b=Reading(bike = a.bike)];
        @Name('Same') insert into Same select a.bike as one, b.bike as other
        from pattern [every a=Stop -> b=Stop(speed = a.speed)];""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Readings in CSV, in no order, and weather in Parquet."""
    folder = tmp_path_factory.mktemp("files")
    chance = random.Random(7)
    times = [chance.randrange(4_000) / 2 for _ in range(4_000)]
    with (folder / "Reading.csv").open("w") as file:
        file.write("@time,id,bike,speed,name\n")
        for number, time in enumerate(times):
            speed, name = chance.choice((0, 0, 60, 95)), chance.choice(("x", "y", ""))
            cells = (time, number, chance.randrange(40), chance.choice((speed, "")), name)
            file.write(",".join(map(str, cells)) + "\n")
    weather = pyarrow.table(
        {
            "@time": pyarrow.array([float(time) for time in range(0, 2_000, 3)]),
            "id": pyarrow.array(range(667)),
            "bike": pyarrow.array([time % 40 for time in range(667)]),
            "wind": pyarrow.array([None if n % 5 == 0 else n / 8 for n in range(667)]),
        }
    )
    pyarrow.parquet.write_table(weather, folder / "Weather.parquet", row_group_size=100)
    return folder


@pytest.fixture(autouse=True)
def _in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pieces, and files that count as large."""
    cut = columnar.pieces_of
    monkeypatch.setattr(
        "cepheid.engines.spark.batch.file_scan.pieces_of", lambda path: cut(path, MANY)
    )
    monkeypatch.setattr(intake, "SMALL", 0)


def listed(events: cep.Result) -> list[tuple[object, ...]]:
    return [(e.type, e.instant, *e.values_.values()) for e in events]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_on_spark_finds_what_the_reference_finds(
    spark: SparkSession, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = cep.parse(SCHEMAS + PROGRAMS[name])
    expected = cep.run(program, str(folder), engine="reference")
    assert len(expected)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("records were read")

    monkeypatch.setattr("cepheid.engines.spark.engine.run_records", refuse)
    found = cep.run(program, str(folder), engine="spark")
    assert listed(found) == listed(expected)
    assert (found.taken, found.moved) == (expected.taken, expected.moved)


@pytest.mark.parametrize("name", ["a key, and conditions on numbers", "no state"])
def test_files_take_the_place_of_a_frame(spark: SparkSession, folder: Path, name: str) -> None:
    program = cep.parse(SCHEMAS + PROGRAMS[name])
    target = program.resolve().statements[0].target
    file = str(folder / "Reading.csv")
    rows = cep.spark.detect(program, cep.spark.files(file), output=target).drop("@time", "@kind")
    expected = cep.run(program, file, engine="reference")
    assert sorted(map(tuple, rows.collect())) == sorted(tuple(e.values_.values()) for e in expected)


def test_what_is_read_is_packed_at_once(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = cep.parse(SCHEMAS + PROGRAMS["a key, and conditions on numbers"])
    cep.spark.detect(program, cep.spark.files(str(folder / "Reading.csv"))).explain()
    plan = capsys.readouterr().out
    assert plan.count("MapInArrow") == 2
    assert "Filter" not in plan


def test_what_is_not_plain_is_read_line_by_line(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "Reading.csv"
    file.write_text('@time,id,bike,speed,name\n1,1,1,60,"a\nb"\n2,2,1,0,\n')
    program = cep.parse(SCHEMAS + PROGRAMS["a key, and conditions on numbers"])
    assert [dict(e) for e in cep.run(program, str(file), engine="spark")] == [{"a": 1, "b": 2}]
    with pytest.raises(PySparkException, match="cannot be read in columns"):
        cep.spark.detect(program, cep.spark.files(str(file)), output="Crash")


def test_a_bad_cell_is_reported_with_its_line(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "Reading.csv"
    file.write_text("@time,id,bike,speed,name\n1,1,1,60,\n2,2,one,0,\n")
    program = cep.parse(SCHEMAS + PROGRAMS["a key, and conditions on numbers"])
    with pytest.raises(InputError, match=r"Reading.csv:3"):
        cep.run(program, str(file), engine="spark")


def test_files_of_a_type_that_nothing_is_known_of_are_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = tmp_path / "Other.csv"
    file.write_text("@time,id\n1,1\n")
    program = cep.parse(SCHEMAS + PROGRAMS["no state"])
    with pytest.raises(UsageError, match="cannot be read in columns: no schema of Other"):
        cep.spark.detect(program, cep.spark.files(str(file)), output="Fast")


@pytest.mark.parametrize(
    "options", [{"time": "id"}, {"unit": "days"}, {"sequence": "id"}], ids=lambda o: next(iter(o))
)
def test_files_say_themselves_when_and_in_which_order(
    folder: Path, options: dict[str, Any]
) -> None:
    program = cep.parse(SCHEMAS + PROGRAMS["no state"])
    with pytest.raises(UsageError, match=f"files take no .*{next(iter(options))}="):
        cep.spark.detect(program, cep.spark.files(str(folder / "Reading.csv")), **options)


def test_rows_that_are_old_are_no_events(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "Reading.csv"
    file.write_text("@time,@old,id,bike,speed,name\n1,,1,1,60,\n2,true,2,1,0,\n3,,3,1,0,\n")
    program = cep.parse(SCHEMAS + PROGRAMS["a key, and conditions on numbers"])
    found = cep.run(program, str(file), engine="spark")
    assert [dict(e) for e in found] == [{"a": 1, "b": 3}]
    assert isinstance(found[0], Event)
