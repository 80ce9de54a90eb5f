"""`cep.spark.rounds`: a program with classes over a stream of detections."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.bitemporal.stream.sink import RoundsSink
from cepheid.engines.common.clock import Length, Time, length_of
from cepheid.engines.common.intake import runnable
from cepheid.engines.common.judging import rules_for
from cepheid.errors import UsageError, error
from cepheid.verbs.arguments import MAKE_ONE, expect
from cepheid.verbs.program import Program
from cepheid.verbs.rounds import Outages, course_of

if TYPE_CHECKING:
    from cepheid.bitemporal.spark.stream import Frame, Query


def rounds(
    program: Program,
    frame: Frame,
    *,
    chronon: Length,
    path: str | os.PathLike[str],
    checkpoint: str | os.PathLike[str] | None = None,
    delay: Length = "0s",
    start: Time | None = None,
    outages: Outages = (),
    window: str = "buffering",
    after_freeze: str = "refuse",
    sequence: str | None = None,
    optional: Collection[str] = (),
    trigger: Length | None = None,
    once: bool = False,
    name: str | None = None,
) -> Query:
    """Rounds over a stream of detections, into a folder: a query that runs until it is stopped.

    The frame has the form of a history: '@type', '@time' (the occurrence), '@detected', '@retracted',
    '@known' where that is another time, and attributes of classes as columns; or JSON Lines in a
    column 'value'. Rows with a time alone let time pass. A round runs when the stream has come to
    the chronon after it and `delay` is over; what comes later still is late. Detections of one
    key and time are ordered by the column `sequence`, else by what they say. An attribute that the program
    uses and that the frame has no column for is an error unless it is `optional`.

    `path` is a folder of this machine. In it are 'actions', 'changes', 'versions' and 'toggles',
    which `readStream.parquet` reads, 'late' and 'rejects', and what is needed to go on. Spark's own
    checkpoint is in there, too, unless `checkpoint` says otherwise. Other options are those of `run`.
    `trigger` is how often rows are taken, `once` takes what is there and ends.
    """
    from cepheid.bitemporal.spark.stream import RoundsJob
    from cepheid.bitemporal.spark.stream import start as begin

    expect(program, Program, "a program", MAKE_ONE)
    folder = _folder(path, "path")
    course = course_of(
        chronon=chronon, start=start, outages=outages, window=window, after_freeze=after_freeze
    )
    late = 0 if delay in (0, "0s") else length_of(delay, "a delay")
    sink = RoundsSink(runnable(program.resolve()), folder, course, delay=late)
    job = RoundsJob(
        sink,
        folder / "checkpoint" if checkpoint is None else _folder(checkpoint, "checkpoint"),
        sequence=sequence,
        trigger=None if trigger is None else length_of(trigger, "a trigger"),
        once=once,
        name=name,
        optional=rules_for(program.resolve(), optional).optional,
    )
    return begin(frame, job)


def _folder(path: str | os.PathLike[str], what: str) -> Path:
    text = os.fspath(path)
    if "://" in text:
        fact = f"{what} is a folder that this process can write, not '{text}'"
        raise UsageError(error("usage", fact, hint="a path such as /data/rounds"))
    return Path(text)
