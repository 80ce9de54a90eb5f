"""Whole histories on Spark, frames in and frames out: nothing runs before somebody reads the rows.

Only where nothing says when rounds begin and end, the times of all rows are looked through for that.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyspark.sql import DataFrame

from cepheid.bitemporal.detections import History
from cepheid.bitemporal.running import Course
from cepheid.bitemporal.spark.batch import Histories
from cepheid.bitemporal.spark.frames import Columns, Detected, sources_of
from cepheid.bitemporal.spark.results import Results
from cepheid.engines.common.judging import missing_in_classes
from cepheid.engines.spark.codec.event_frames import PlainFrames
from cepheid.engines.spark.session.workers import check_other_machines
from cepheid.errors import InputError, UsageError, error, suggest
from cepheid.program.classes import SubscribedClass
from cepheid.program.resolved import ResolvedClass, ResolvedProgram

REFUSED = "@refused"  # what `output` may ask for beside actions and classes


def detect_in_rounds(
    program: ResolvedProgram,
    events: PlainFrames,
    course: Course,
    *,
    output: str | None = None,
    columns: Columns,
    optional: Collection[str] = (),
) -> DataFrame:
    """The actions of a program over histories; `output` asks for one of them, or for a class."""
    if program.statements:
        fact = "frames of histories are for classes alone, without statements"
        hint = "cep.run(..., engine='spark') takes both"
        raise UsageError(error("unsupported", fact, hint=hint))
    classes = program.classes
    subscribed = [e.declared for e in classes if isinstance(e.declared, SubscribedClass)]
    sources = sources_of(events, subscribed)
    for source in sources[:1]:
        check_other_machines(source.frame.sparkSession)
    detected = Detected(sources, subscribed, columns)
    _judge(program, detected, optional)
    is_said = course.start is not None and course.end is not None
    rounds = course.rounds(History() if is_said else detected.span())
    histories = Histories(classes, rounds, detected.tables(), after_freeze=course.after_freeze)
    return _asked(Results(classes, rounds, histories), classes, output)


def _judge(program: ResolvedProgram, detected: Detected, optional: Collection[str]) -> None:
    """InputError where a class has rows, and no column for what the program uses of them."""
    for name, columns in detected.columns().items():
        problems = missing_in_classes(program, {name: columns}, optional)
        if problems and detected.has_rows(name):
            raise InputError(*problems)


def _asked(results: Results, classes: Sequence[ResolvedClass], output: str | None) -> DataFrame:
    actions = dict.fromkeys(r.declared.action for each in classes for r in each.reactions)
    declared = {each.declared.name: each.declared for each in classes}
    if output is None:
        if not actions:
            fact = "no class has a statement, so that there are no actions"
            raise UsageError(
                error("usage", fact, hint=f"ask for a class: output='{[*declared][-1]}'")
            )
        return results.all_actions()
    if output == REFUSED:
        return results.refused()
    if output in declared:
        return results.changes(declared[output])
    if output in actions:
        return results.actions(output)
    hint = suggest(output, [*actions, *declared], "actions and classes")
    raise UsageError(error("unknown-type", f"no action or class '{output}'", hint=hint))
