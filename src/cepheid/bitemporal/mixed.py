"""Programs that have classes and statements: who comes before whom.

What statements insert into a subscribed class is detected when it happens; such statements read no
class, nor what others derive from one. Then come the rounds. All statements that derive types of their
own run after them: to them a class is a stream of its announcements, changes and cancellations, each
at the round in which it became known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cepheid.bitemporal.detections import Detection
from cepheid.bitemporal.outcome import Outcome
from cepheid.core.event import Event, Value
from cepheid.core.types import TIMESTAMP, DataType
from cepheid.errors import InputError, error
from cepheid.program.classes import EventClass
from cepheid.program.resolved import ResolvedProgram

_MILLISECOND = 1_000


def before_classes(program: ResolvedProgram) -> ResolvedProgram:
    """The statements that neither read classes nor what such statements derive."""
    reached = {each.declared.name for each in program.classes}
    after: set[str] = set()
    while True:
        found = {s.name for s in program.statements if reached & set(s.arriving(program.types))}
        if found <= after:
            return program.part({s.name for s in program.statements} - after)
        after |= found
        reached |= {s.target for s in program.statements if s.name in after}


def beside_classes(program: ResolvedProgram) -> ResolvedProgram:
    """The statements that derive types of their own."""
    names = {each.declared.name for each in program.classes}
    return program.part({s.name for s in program.statements if s.target not in names})


def detected(
    rows: Iterable[Event], classes: Mapping[str, EventClass], first: int
) -> list[Detection]:
    """What statements tell subscribed classes, each when it happened."""
    told = (row for row in rows if row.type in classes and not row.is_old)
    return [
        _detection(row, classes[row.type], sequence) for sequence, row in enumerate(told, first)
    ]


def _detection(row: Event, declared: EventClass, sequence: int) -> Detection:
    values = {a.name: taken(row[a.name], a.type) for a in declared.attributes}
    key = tuple(values[name] for name in declared.key)
    if None in key:
        fact = f"'{row.statement}' tells {declared.name} of an event without its key"
        hint = f"the key of {declared.name} is {', '.join(declared.key)}"
        raise InputError(error("missing-key", fact, hint=hint))
    now = row.instant
    return Detection(declared.name, key, tuple(values.values()), now, now, now, sequence)


def taken(value: Value, type: DataType) -> Value:
    """A value of a statement as classes have it: a time is an instant."""
    return value * _MILLISECOND if type == TIMESTAMP and isinstance(value, int) else value


def stream_of(outcome: Outcome, classes: Mapping[str, EventClass]) -> list[Event]:
    """What became known of classes, as statements see it: times are milliseconds."""
    found = []
    for sequence, change in enumerate(outcome.changes):
        declared = classes[change.cls]
        values: dict[str, Value] = {
            attribute.name: _told(value, is_time=attribute.type == TIMESTAMP)
            for attribute, value in zip(declared.attributes, change.row.values, strict=True)
        }
        values |= {
            "occ": _told(change.row.occ, is_time=True),
            "det": _told(change.row.det, is_time=True),
            "kind": change.kind,
        }
        instant = outcome.rounds.instant(change.round)
        found.append(Event(change.cls, instant, values, sequence))
    return found


def _told(value: Value, *, is_time: bool) -> Value:
    return value // _MILLISECOND if is_time and isinstance(value, int) else value
