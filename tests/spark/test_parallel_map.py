"""Runs on Spark: the same counts for any number of partitions, and when a worker is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

import cepheid as cep
from cepheid.engines.spark.session.parallel_map import parallel_map
from cepheid.errors import RunError

PROGRAM = cep.parse(
    """
    create schema A (k string, v int);
    @Name('Pair') insert into Pair select a.k as k
    from pattern [every a=A(v > 2) -> b=A(b.k = a.k and b.v > a.v) where timer:within(5 seconds)];
    """
)
SCENARIO = {
    "factory": [
        {
            "type": "A",
            "count": 2,
            "every": {"distribution": "exponential", "mean": 1},
            "attributes": {"k": {"each": ["x", "y"]}, "v": {"distribution": "poisson", "mean": 3}},
        }
    ]
}


@pytest.mark.oldest
def test_runs_do_not_depend_on_where_they_are_done(spark: SparkSession) -> None:
    here = cep.simulate(PROGRAM, SCENARIO, runs=37, until="1 minute", seed=5)
    assert here.counts[:, 1].sum() > 0
    for partitions in (1, 3):
        there = cep.simulate(
            PROGRAM,
            SCENARIO,
            runs=37,
            until="1 minute",
            seed=5,
            engine="spark",
            partitions=partitions,
        )
        assert np.array_equal(there.counts, here.counts)


class Deadly:
    """Kills its process when it comes to a number, as long as there is a file to be taken away."""

    def __init__(self, file: Path, times: int) -> None:
        self.files = [str(file / str(n)) for n in range(times)]
        for name in self.files:
            Path(name).touch()

    def __call__(self, numbers: Sequence[int]) -> list[list[int]]:
        armed = [name for name in self.files if os.path.exists(name)]
        if 5 in numbers and armed:
            os.remove(armed[0])
            os.kill(os.getpid(), signal.SIGKILL)
        return [[number, number * number] for number in numbers]


def test_a_worker_that_is_killed_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    work = Deadly(tmp_path, times=1)
    found = parallel_map(spark, work, range(3, 20), partitions=4, tries=3)
    assert found == [[n, n * n] for n in range(3, 20)]
    assert not list(tmp_path.iterdir())


def test_workers_that_always_die_are_an_error(spark: SparkSession, tmp_path: Path) -> None:
    work = Deadly(tmp_path, times=2)
    with pytest.raises(RunError, match="a Python worker of Spark died"):
        parallel_map(spark, work, range(8), partitions=2, tries=2)
