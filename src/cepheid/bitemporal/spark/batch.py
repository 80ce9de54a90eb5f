"""Rounds on Spark: the driver, which with stepwise.py knows PySpark.

A history goes in as tables of detections, a table for each class; what comes out are tables, too. Nothing
runs round by round.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cepheid.bitemporal.detections import Detection, Key, by_class
from cepheid.bitemporal.outcome import Change, Firing, Outcome, Toggle, Version
from cepheid.bitemporal.repository import AfterFreeze, Refusal, Row
from cepheid.bitemporal.request import RoundsRequest
from cepheid.bitemporal.rounds import Rounds
from cepheid.bitemporal.spark.program import plan_of
from cepheid.bitemporal.spark.reactions import (
    actions_of,
    argument_name,
    changes_of,
    fired_of,
    toggles_of,
)
from cepheid.bitemporal.spark.steps import Step, nested, read_often
from cepheid.bitemporal.spark.subscribed import input_of, known_of, refused_of, timeline_of
from cepheid.bitemporal.statements import argument_value
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, STRING, DataType
from cepheid.engines.spark.session.failures import failure_of
from cepheid.engines.spark.session.spark_session import session
from cepheid.errors import UsageError, error
from cepheid.program.classes import EventClass, SubscribedClass
from cepheid.program.resolved import ResolvedClass

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class Histories:
    """The tables of a program over the histories of its subscribed classes."""

    def __init__(
        self,
        classes: Sequence[ResolvedClass],
        rounds: Rounds,
        detections: Mapping[str, DataFrame],
        *,
        after_freeze: AfterFreeze = "refuse",
    ) -> None:
        given = {name: frame.columns for name, frame in detections.items()}
        self._plan = plan_of(classes, rounds, given, after_freeze)
        self._frames = {input_of(name): frame for name, frame in detections.items()}
        names = [each.declared.name for each in classes]
        self._shared = {made(name) for name in names for made in (timeline_of, fired_of)}

    def table(self, name: str) -> DataFrame:
        """The rows of a step."""
        if name not in self._frames:
            self._frames[name] = self._frame(name)
        return self._frames[name]

    def keep(self, name: str) -> None:
        """Works out all that is known of a class, for everything that follows."""
        kept = self.table(fired_of(name)).localCheckpoint()
        # It has all columns of the timeline, which versions are made of.
        self._frames |= {fired_of(name): kept, timeline_of(name): kept}

    def _frame(self, name: str) -> DataFrame:
        """Classes are analysed one by one: as one text, a program may be too deep for Spark.

        Steps stand in each other: of names in WITH Spark makes copies again and again, for minutes.
        """
        if work := self._plan.stepwise.get(name):
            return work.frame({e.name: self.table(known_of(e.name)) for e in work.constituents})
        for often in read_often(self._needed(name).values()):
            self.table(often)
        steps = self._needed(name)
        read = {each for step in steps.values() for each in step.reads} - steps.keys()
        names = {each: f"frame{place}" for place, each in enumerate(sorted(read))}
        frames: dict[str, Any] = {label: self.table(each) for each, label in names.items()}
        text = nested(name, steps, {each: f"{{{label}}}" for each, label in names.items()})
        [first, *_] = frames.values()
        found: DataFrame = first.sparkSession.sql(text, **frames)
        return found

    def _needed(self, name: str) -> dict[str, Step]:
        return self._plan.steps.needed(name, self._is_given)

    def _is_given(self, name: str) -> bool:
        return name in self._frames or name in self._shared


def run(request: RoundsRequest) -> Outcome:
    """A history that is at hand, as a whole."""
    _require_buffering(request)
    from pyspark.errors import PySparkException

    running = session()
    subscribed = [
        each.declared for each in request.classes if isinstance(each.declared, SubscribedClass)
    ]
    told = by_class(request.history.detections)
    frames = {
        declared.name: running.createDataFrame(
            detection_table(declared, told.get(declared.name, []))
        )
        for declared in subscribed
    }
    histories = Histories(
        request.classes, request.rounds, frames, after_freeze=request.after_freeze
    )
    try:
        return _outcome(request, histories)
    except PySparkException as problem:
        raise failure_of(problem) from None


def _require_buffering(request: RoundsRequest) -> None:
    if request.is_window:
        fact = f"the window '{request.window}' is not computed over whole histories on Spark"
        hint = "the local engine has it, also for streams of Spark; 'buffering' runs everywhere"
        raise UsageError(error("unsupported", fact, hint=hint))


def _outcome(request: RoundsRequest, histories: Histories) -> Outcome:
    rank = {name: place for place, name in enumerate(request.names)}
    firings: list[Firing] = []
    versions: list[Version] = []
    changes: list[Change] = []
    toggles: list[Toggle] = []
    refused: dict[tuple[str, Refusal], int] = {}
    for each in request.classes:
        name = each.declared.name
        histories.keep(name)
        versions += _versions(each.declared, _rows(histories, known_of(name)), request.rounds)
        changes += _changes(each.declared, _rows(histories, changes_of(name)))
        if each.reactions:  # without them nothing sets toggles
            toggles += _toggles(each.declared, _rows(histories, toggles_of(name)))
            firings += _firings(each, _rows(histories, actions_of(name)))
        if isinstance(each.declared, SubscribedClass):
            for row in _rows(histories, refused_of(name)):
                refused[name, Refusal[row["reason"]]] = row["count"]
    return Outcome(
        rounds=request.rounds,
        firings=sorted(firings, key=lambda f: (f.round, rank[f.cls], f.key, f.statement)),
        versions=sorted(versions, key=lambda v: (v.known_from, rank[v.cls], v.key)),
        changes=sorted(changes, key=lambda c: (c.round, rank[c.cls], c.key)),
        toggles=sorted(toggles, key=lambda t: (t.set_in, rank[t.cls], t.key)),
        taken=len(request.history.detections),
        refused=refused,
    )


def _rows(histories: Histories, name: str) -> Iterator[dict[str, Any]]:
    for batch in histories.table(name).toArrow().to_batches():
        yield from batch.to_pylist()


def _key(declared: EventClass, row: Mapping[str, Any]) -> Key:
    return tuple(row[name] for name in declared.key)


def _row(declared: EventClass, row: Mapping[str, Any]) -> Row:
    values = tuple(row[attribute.name] for attribute in declared.attributes)
    return Row(values, row["occ"], row["det"])


def _versions(
    declared: EventClass, rows: Iterator[dict[str, Any]], rounds: Rounds
) -> Iterator[Version]:
    for row in rows:
        end = row["@to"] if row["@to"] <= rounds.last else None
        yield Version(declared.name, _key(declared, row), _row(declared, row), row["@from"], end)


def _changes(declared: EventClass, rows: Iterator[dict[str, Any]]) -> Iterator[Change]:
    for row in rows:
        key = _key(declared, row)
        known = _row(declared, row)
        yield Change(row["@round"], declared.name, key, row["kind"], known, row["fired"])


def _toggles(declared: EventClass, rows: Iterator[dict[str, Any]]) -> Iterator[Toggle]:
    for row in rows:
        yield Toggle(declared.name, _key(declared, row), row["@set_in"], row["@cleared_in"])


def _firings(resolved: ResolvedClass, rows: Iterator[dict[str, Any]]) -> Iterator[Firing]:
    declared = resolved.declared
    for row in rows:
        number = row["@statement"]
        reaction = resolved.reactions[number]
        arguments = tuple(
            argument_value(row[argument_name(number, place)], argument.type)
            for place, argument in enumerate(reaction.arguments, start=1)
        )
        key, action = _key(declared, row), reaction.declared.action
        yield Firing(row["@round"], declared.name, key, number, action, arguments)


# Detections -----------------------------------------------------------------------------------


def detection_table(declared: SubscribedClass, detections: Collection[Detection]) -> pa.Table:
    """Detections of a class as a table; `@known` only where it differs."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for place, attribute in enumerate(declared.attributes):
        is_key = attribute.name in declared.key
        values = [
            each.key[declared.key.index(attribute.name)]
            if is_key
            else None
            if each.values is None
            else each.values[place]
            for each in detections
        ]
        columns[attribute.name] = pa.array(values, _arrow_type(attribute.type))
    columns["occ"] = pa.array([each.occ for each in detections], pa.int64())
    columns["det"] = pa.array([each.det for each in detections], pa.int64())
    columns["@retracted"] = pa.array([each.values is None for each in detections], pa.bool_())
    columns["@sequence"] = pa.array([each.sequence for each in detections], pa.int64())
    if any(each.known != each.det for each in detections):
        columns["@known"] = pa.array([each.known for each in detections], pa.int64())
    return pa.table(columns)


def _arrow_type(type: DataType) -> Any:
    """Times and whole numbers have 64 bits."""
    import pyarrow as pa

    if type == STRING:
        return pa.string()
    if type == BOOLEAN:
        return pa.bool_()
    return pa.float64() if type in (DOUBLE, FLOAT) else pa.int64()
