"""Golden cases and generated programs give the rows of the reference on Spark."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conformance import occurrences
from tests.conformance.engines import Engine
from tests.conformance.generator import different
from tests.conformance.on_spark import EPOCH, differences, in_a_batch, in_a_stream
from tests.conformance.packs import Pack
from tests.conformance.scenarios import FOLDER, Example, FileExample, read
from tests.effort import EFFORT
from tests.examples.test_golden import RUNS, Run

# Generated programs derive events without keys, and are told so.
BATCH = Engine("spark", lambda _: (), names_statements=False)
STREAM = Engine("spark stream", lambda _: (), names_statements=False, has_order=False)
PARTITIONS = (1, 3, 7)
SIZE = 20  # examples of a pack
BATCHES, STREAMS = 3 * EFFORT, 1 * EFFORT
SHARES = 20  # into so many packs all golden cases go
GOLDEN = min(EFFORT, SHARES)


@cache
def generated() -> tuple[Example, ...]:
    return different(SIZE * (BATCHES + STREAMS))


def pack(number: int) -> list[Example]:
    return list(generated()[number * SIZE : (number + 1) * SIZE])


@cache
def golden(pattern: str = "*") -> list[Example]:
    files = [read(file) for file in sorted(FOLDER.glob(f"{pattern}.txt"))]
    return [Example(c.text, f.sequences[c.events]) for f in files for c in f.runnable]


def agree(differences: list[str]) -> None:
    assert not differences, "\n\n".join(differences)


@pytest.mark.parametrize("number", range(BATCHES))
def test_generated_programs_in_a_batch(spark: SparkSession, number: int) -> None:
    run = in_a_batch(PARTITIONS[number % 3])
    agree(differences(spark, BATCH, run, Pack.of(pack(number))))


@pytest.mark.parametrize("number", range(STREAMS))
def test_generated_programs_in_a_stream(spark: SparkSession, tmp_path: Path, number: int) -> None:
    examples = [example.later(EPOCH) for example in pack(BATCHES + number)]
    run = in_a_stream(tmp_path, seed=number)
    agree(differences(spark, STREAM, run, Pack.of(examples)))


# Noise comes from all events that a program declares: only where it does not count can examples be one.
QUIET = ("chronicle", "chronicle global")
LOUD = ("immediate", "strict", "strict global")


COMPLEX = {"any": occurrences.occurrences, "tokens": occurrences.followed_by_tokens}


@pytest.mark.parametrize("kind", COMPLEX)
def test_generated_complex_events_in_a_batch(spark: SparkSession, kind: str) -> None:
    quiet = Pack.of(occurrences.different(SIZE, COMPLEX[kind](QUIET)))
    agree(differences(spark, BATCH, in_a_batch(3), quiet))
    for example in occurrences.different(2 * EFFORT, COMPLEX[kind](LOUD)):
        agree(differences(spark, BATCH, in_a_batch(7), Pack((example,))))


@pytest.mark.parametrize("kind", COMPLEX)
def test_generated_complex_events_in_a_stream(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    found = occurrences.different(SIZE // 2, COMPLEX[kind](QUIET))
    quiet = [example.later(EPOCH) for example in found]
    agree(differences(spark, STREAM, in_a_stream(tmp_path, seed=1), Pack.of(quiet)))
    for number, example in enumerate(occurrences.different(EFFORT, COMPLEX[kind](LOUD))):
        run = in_a_stream(tmp_path, seed=number)
        agree(differences(spark, STREAM, run, Pack((example.later(EPOCH),))))


@pytest.mark.parametrize("number", range(GOLDEN))
def test_golden_cases_in_a_batch(spark: SparkSession, number: int) -> None:
    """A sample on each run, all in a sweep."""
    run = in_a_batch(PARTITIONS[number % 3])
    agree(differences(spark, BATCH, run, Pack.of(golden()[number::SHARES])))


@pytest.mark.parametrize("file", ["asking", "match_order", "nested"])
def test_what_was_wrong_once_is_right_in_a_batch(spark: SparkSession, file: str) -> None:
    """On every run: no sample leaves these out."""
    agree(differences(spark, BATCH, in_a_batch(3), Pack.of(golden(file))))


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_examples_in_a_batch(spark: SparkSession, run: Run) -> None:
    files = tuple(run.path / name for name in run.events)
    example = FileExample.of(run.path / run.program, files)
    agree(differences(spark, BATCH, in_a_batch(PARTITIONS[len(run.events)]), Pack((example,))))
