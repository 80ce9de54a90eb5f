"""The state of a stream that runs as a job, by a Spark that does nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.errors import CepheidError, RunError, UsageError, error
from cepheid.jobs.record import Job
from cepheid.lang import language_of
from cepheid.lang.language import Text
from cepheid.verbs.program import Program

if TYPE_CHECKING:
    from cepheid.engines.spark.stream.inspection import StreamState
    from cepheid.program.resolved import ResolvedProgram

# One that reads a few rows and ends.
_BRIEF = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
}


def inspect(job: Job) -> StreamState:
    """By the program as it ran."""
    from cepheid.engines.common.intake import runnable

    if job.checkpoint is None:
        fact = f"job '{job.name}' keeps nothing: it is no stream"
        raise UsageError(error("bad-job", fact))
    texts = [Text(file, text, language_of(file)) for file, text in job.texts.items()]
    if not texts:
        raise RunError(error("bad-job", f"the record of job '{job.name}' has no program any more"))
    program = runnable(Program.of_texts(texts).resolve())
    if program.classes:
        hint = "its folder of --out has versions and toggles"
        raise UsageError(error("bad-job", "rounds keep what they know elsewhere", hint=hint))
    return _read(job, program)


def _read(job: Job, program: ResolvedProgram) -> StreamState:
    from cepheid.engines.spark.session.failures import failure_of
    from cepheid.engines.spark.session.spark_session import running_session, session
    from cepheid.engines.spark.stream.inspection import state_of

    running = running_session()
    spark = running or session(master="local[1]", conf=_BRIEF)
    try:
        return state_of(spark, program, Path(job.checkpoint or os.curdir))
    except CepheidError:
        raise
    except Exception as problem:
        raise failure_of(problem) from None
    finally:
        if running is None:
            spark.stop()
