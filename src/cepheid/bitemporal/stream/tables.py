"""What rounds give, as tables; the columns depend on the program alone.

Actions and changes look as statements and other programs read them. Versions have the form of a
history, so that other rounds can read them: `@time` is the occurrence, `@detected` the detection,
`@known` the round; where nothing is known any more, `@retracted` is true.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cepheid.bitemporal import mixed
from cepheid.bitemporal.detections import DETECTED, KNOWN, RETRACTED, Detection, Key
from cepheid.bitemporal.outcome import Outcome
from cepheid.bitemporal.repository import Row
from cepheid.bitemporal.rounds import Number, Rounds
from cepheid.bitemporal.rows import action_events, action_types
from cepheid.core.event import Event, Value
from cepheid.core.types import BOOLEAN, STRING, TIMESTAMP, Attribute, DataType, EventType
from cepheid.io.arrow import attribute_types, to_arrow, to_column
from cepheid.io.encode import to_cell
from cepheid.program.classes import EventClass
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    import pyarrow as pa

STATEMENT, FIRED = "@statement", "fired"


@dataclass(frozen=True, slots=True)
class Learnt:
    """What is known of an event from a round on; None: nothing any more."""

    round: Number
    cls: str
    key: Key
    row: Row | None


@dataclass(frozen=True, slots=True)
class Switched:
    """The toggle of an event after a round that changed it."""

    round: Number
    cls: str
    key: Key
    fired: bool


class Tables:
    """The tables of one program."""

    def __init__(self, program: ResolvedProgram) -> None:
        self.classes: dict[str, EventClass] = {c.name: c.declared for c in program.classes}
        marked = (Attribute(STATEMENT, STRING),)
        self._actions = {
            name: replace(type, attributes=(*type.attributes, *marked))
            for name, type in action_types(program.classes).items()
        }
        fired = Attribute(FIRED, BOOLEAN)
        self._changes = {
            name: replace(program.types[name], attributes=(*program.types[name].attributes, fired))
            for name in self.classes
        }
        self._rows = {
            name: EventType(name, declared.attributes) for name, declared in self.classes.items()
        }
        self._keys = {
            name: EventType(name, tuple(a for a in declared.attributes if a.name in declared.key))
            for name, declared in self.classes.items()
        }

    # What others read

    def actions(self, outcome: Outcome) -> pa.Table:
        events = [
            Event(e.type, e.instant, {**e.values_, STATEMENT: e.statement})
            for e in action_events(outcome, self.classes)
        ]
        return to_arrow(events, self._actions, self._actions)

    def changes(self, outcome: Outcome) -> pa.Table:
        told = zip(mixed.stream_of(outcome, self.classes), outcome.changes, strict=True)
        events = [
            Event(e.type, e.instant, {**e.values_, FIRED: change.fired}) for e, change in told
        ]
        return to_arrow(events, self._changes, self._changes)

    def versions(self, learnt: Sequence[Learnt], rounds: Rounds) -> pa.Table:
        return self._history(
            (
                each.cls,
                None if each.row is None else each.row.occ,
                rounds.instant(each.round) if each.row is None else each.row.det,
                rounds.instant(each.round),
                self._attributes(each.cls, each.key, each.row.values if each.row else None),
                each.row is None,
            )
            for each in learnt
        )

    def late(self, detections: Sequence[Detection]) -> pa.Table:
        return self._history(
            (
                d.cls,
                d.occ,
                d.det,
                d.known,
                self._attributes(d.cls, d.key, d.values),
                d.values is None,
            )
            for d in detections
        )

    def toggles(self, switched: Sequence[Switched], rounds: Rounds) -> pa.Table:
        events = [
            Event(s.cls, rounds.instant(s.round), {**self._named(s.cls, s.key), FIRED: s.fired})
            for s in switched
        ]
        fired = (Attribute(FIRED, BOOLEAN),)
        types = {n: replace(t, attributes=t.attributes + fired) for n, t in self._keys.items()}
        return to_arrow(events, types, types)

    def rejects(self, rejects: Sequence[tuple[str, str]]) -> pa.Table:
        import pyarrow as pa

        texts, problems = [text for text, _ in rejects], [problem for _, problem in rejects]
        columns = {
            "@reject": pa.array(texts, pa.string()),
            "@problem": pa.array(problems, pa.string()),
        }
        return pa.table(columns)

    def _named(self, name: str, key: Key) -> dict[str, Value]:
        return dict(zip(self.classes[name].key, key, strict=True))

    def _attributes(
        self, name: str, key: Key, values: tuple[Value, ...] | None
    ) -> dict[str, Value]:
        if values is None:
            return self._named(name, key)
        return dict(zip((a.name for a in self.classes[name].attributes), values, strict=True))

    def _history(
        self, rows: Iterable[tuple[str, Any, Any, Any, dict[str, Value], bool]]
    ) -> pa.Table:
        import pyarrow as pa

        instant = pa.timestamp("us", "UTC")
        found = list(rows)
        columns: dict[str, pa.Array[Any]] = {
            "@type": pa.array([row[0] for row in found], pa.string()),
            "@time": pa.array([row[1] for row in found], instant),
            DETECTED: pa.array([row[2] for row in found], instant),
            KNOWN: pa.array([row[3] for row in found], instant),
            RETRACTED: pa.array([row[5] or None for row in found], pa.bool_()),
        }
        for name, type in attribute_types((), self._rows, self._rows).items():
            values = [row[4].get(name) for row in found]
            columns[name] = _column(values, type)
        return pa.table(columns)


def _column(values: list[Value], type: DataType | None) -> pa.Array[Any]:
    """Values of attributes; where classes do not agree on their type, as texts."""
    import pyarrow as pa

    if type == TIMESTAMP:
        return pa.array(values, pa.timestamp("us", "UTC"))
    if type is None:
        return pa.array([None if v is None else to_cell(v) for v in values], pa.string())
    return to_column(values, type, {})
