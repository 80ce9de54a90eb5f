"""Packs of examples on Spark, in batches and in streams."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import cepheid as cep
from cepheid.core.event import Event
from tests.conformance.compare import difference
from tests.conformance.engines import Engine, attributes_of, table_of_items
from tests.conformance.packs import Pack
from tests.conformance.rows import events_of
from tests.spark.cases import set_to

Run: TypeAlias = Callable[[SparkSession, Pack], Sequence[Event]]
DELAY = 2000  # milliseconds that an event of a stream may come after later ones
EPOCH = 1_000_000_000  # when streams begin: no watermark is before the epoch


def rows_table(pack: Pack) -> pa.Table:
    items = pack.items()
    table = table_of_items(items, pack.input_types)
    return table.append_column("@sequence", pa.array(range(len(items)), pa.int64()))


def in_a_batch(partitions: int) -> Run:
    def run(spark: SparkSession, pack: Pack) -> Sequence[Event]:
        frame = spark.createDataFrame(rows_table(pack)).orderBy(F.xxhash64("@sequence"))
        frame.createOrReplaceTempView("pack")
        start = pack.examples[0].start / 1000
        # Adaptive execution would put what is so small into one part.
        with set_to(spark, partitions=partitions, rows=1 + partitions, adaptive=False):
            return cep.run(pack.program, "table:pack", engine="spark", start=start)

    return run


def in_a_stream(folder: Path, seed: int, files: int = 3) -> Run:
    """Micro-batches cut at random; events come late, but none too late."""

    def run(spark: SparkSession, pack: Pack) -> Sequence[Event]:
        home = folder / f"{len(list(folder.iterdir()))}"
        home.mkdir()
        _write(home / "in", rows_table(pack), random.Random(seed), files)
        found = cep.spark.detect(
            pack.program,
            _stream(spark, home / "in"),
            sequence="@sequence",
            start=pack.examples[0].start / 1000,
            watermark="2 seconds",
            optional=attributes_of(pack.program.resolve()),
        )
        query = found.writeStream.format("parquet").option("path", str(home / "out"))
        query = query.option("checkpointLocation", str(home / "checkpoint"))
        query.trigger(availableNow=True).start().awaitTermination()
        rows = spark.read.schema(found.schema).parquet(str(home / "out")).toArrow()
        return list(events_of(rows, pack.program.resolve().types))

    return run


def _write(folder: Path, table: pa.Table, chance: random.Random, files: int) -> None:
    """A file per micro-batch; the last moves the watermark beyond the end."""
    folder.mkdir()
    times: list[int] = table["@time"].cast(pa.int64()).to_pylist()  # type: ignore[assignment]
    arrivals = [time + chance.randrange(DELAY * 1000) for time in times]
    order = sorted(range(len(times)), key=arrivals.__getitem__)
    cuts = sorted(chance.sample(range(1, len(order)), min(files, len(order)) - 1))
    for number, (begin, end) in enumerate(pairwise([0, *cuts, len(order)])):
        _write_file(folder, number, table.take(order[begin:end]))
    last = [{"@time": max(times) + DELAY * 1000}]
    _write_file(folder, len(cuts) + 1, pa.Table.from_pylist(last, table.schema))


def _write_file(folder: Path, number: int, rows: pa.Table) -> None:
    file = folder / f"{number}.parquet"
    pq.write_table(rows, file)
    os.utime(file, (number, number))  # Spark takes them by their times, which may be the same


def _stream(spark: SparkSession, folder: Path) -> DataFrame:
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


# Comparing ------------------------------------------------------------------------------------


def differences(spark: SparkSession, engine: Engine, run: Run, pack: Pack) -> list[str]:
    """What is told of each example of a pack that gives other rows than the reference.

    A pack that does not run is halved until it is known which of its examples does not. Where all of
    them do, the pack is told: it would be many jobs on every run, and nobody would see it.
    """
    try:
        found = pack.parted(run(spark, pack))
    except Exception as problem:
        if len(pack.examples) == 1:
            return [difference(engine, pack.examples[0], [f"{type(problem).__name__}: {problem}"])]
        middle = len(pack.examples) // 2
        halves = Pack(pack.examples[:middle]), Pack(pack.examples[middle:])
        told = [text for half in halves for text in differences(spark, engine, run, half)]
        return told or [f"{len(pack.examples)} examples run apart, but not together: {problem}"]
    rows = zip(pack.examples, found, strict=True)
    texts = (difference(engine, example, engine.shown(own)) for example, own in rows)
    return [text for text in texts if text]
