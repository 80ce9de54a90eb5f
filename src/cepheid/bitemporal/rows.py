"""The outcome of rounds as events: actions, and what became known of the events of classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from cepheid.bitemporal.detections import Key
from cepheid.bitemporal.outcome import Change, Firing, Outcome, Version
from cepheid.bitemporal.repository import Row
from cepheid.bitemporal.rounds import Rounds
from cepheid.core.event import Event, Value
from cepheid.core.time import format_instant
from cepheid.core.types import (
    BOOLEAN,
    STRING,
    TIMESTAMP,
    Attribute,
    DataType,
    EventType,
    RecordType,
    wider,
)
from cepheid.program.classes import EventClass, reaction_name
from cepheid.program.resolved import ResolvedClass

CAUSE = "@cause"


def action_events(outcome: Outcome, classes: Mapping[str, EventClass]) -> Iterator[Event]:
    """Actions: their type is the action, their time the round."""
    make = ActionEvents(classes)
    for sequence, firing in enumerate(outcome.firings):
        yield make(firing, sequence, outcome.rounds)


class ActionEvents:
    """Makes events of actions."""

    def __init__(self, classes: Mapping[str, EventClass]) -> None:
        # Of each class, the parts of its key and whether they are times.
        self._keys: dict[str, list[tuple[str, bool]]] = {}
        for name, declared in classes.items():
            times = {a.name for a in declared.attributes if a.type == TIMESTAMP}
            self._keys[name] = [(part, part in times) for part in declared.key]

    def __call__(self, firing: Firing, sequence: int, rounds: Rounds) -> Event:
        round, cls, key, number, action, arguments = firing
        values: dict[str, Value] = {CAUSE: self.cause(cls, key)}
        values.update(zip(_argument_names(len(arguments)), arguments, strict=True))
        statement = reaction_name(cls, number)
        return Event(action, rounds.instant(round), values, sequence, statement)

    def cause(self, cls: str, key: Key) -> dict[str, Value]:
        """The event behind an action: its class and its key."""
        found: dict[str, Value] = {"@type": cls}
        for (part, is_time), value in zip(self._keys[cls], key, strict=True):
            found[part] = shown(value, TIMESTAMP) if is_time else value
        return found


@cache
def _argument_names(count: int) -> tuple[str, ...]:
    return tuple(f"p{place}" for place in range(1, count + 1))


def change_events(outcome: Outcome, classes: Mapping[str, EventClass]) -> Iterator[Event]:
    """What became known in each round, with the toggle at its beginning."""
    for sequence, change in enumerate(outcome.changes):
        values = change_values(change, classes[change.cls])
        instant = outcome.rounds.instant(change.round)
        yield Event(change.cls, instant, values, sequence)


def change_values(change: Change, declared: EventClass) -> dict[str, Value]:
    return {
        **shown_row(change.row, declared),
        "kind": change.kind,
        "fired": change.fired,
    }


def known_events(
    versions: Sequence[Version], rounds: Rounds, classes: Mapping[str, EventClass]
) -> Iterator[Event]:
    """Versions at the round from which they were known."""
    for sequence, version in enumerate(versions):
        values = shown_row(version.row, classes[version.cls])
        yield Event(version.cls, rounds.instant(version.known_from), values, sequence)


def version_events(
    versions: Sequence[Version], rounds: Rounds, classes: Mapping[str, EventClass]
) -> Iterator[Event]:
    """The same with the rounds from which they were known, and to which."""
    for event, version in zip(known_events(versions, rounds, classes), versions, strict=True):
        end = version.known_to
        event.values_["known_from"] = format_instant(rounds.instant(version.known_from))
        event.values_["known_to"] = None if end is None else format_instant(rounds.instant(end))
        yield event


def shown_row(row: Row, declared: EventClass) -> dict[str, Value]:
    """Attributes and times of an event as files have them."""
    found: dict[str, Value] = {
        attribute.name: shown(value, attribute.type)
        for attribute, value in zip(declared.attributes, row.values, strict=True)
    }
    return {**found, "occ": format_instant(row.occ), "det": format_instant(row.det)}


def shown(value: Value, type: DataType) -> Value:
    is_time = type == TIMESTAMP and isinstance(value, int)
    return format_instant(value) if is_time else value  # type: ignore[arg-type]


# Types ----------------------------------------------------------------------------------------


def change_type(declared: EventClass) -> EventType:
    """What rows of changes look like."""
    own = tuple(Attribute(a.name, shown_type(a.type)) for a in declared.attributes)
    times = (Attribute("occ", STRING), Attribute("det", STRING))
    return EventType(
        declared.name, (*own, *times, Attribute("kind", STRING), Attribute("fired", BOOLEAN))
    )


def shown_type(type: DataType) -> DataType:
    return STRING if type == TIMESTAMP else type


def action_types(
    classes: Sequence[ResolvedClass], shown: Callable[[DataType], DataType] = shown_type
) -> dict[str, EventType]:
    """What actions look like: of those that several classes call for, all that they may have."""
    causes: dict[str, dict[str, DataType]] = {}
    arguments: dict[str, dict[str, DataType]] = {}
    for each in classes:
        types = {a.name: shown(a.type) for a in each.declared.attributes}
        for reaction in each.reactions:
            action = reaction.declared.action
            cause = causes.setdefault(action, {"@type": STRING})
            for name in each.declared.key:
                _widen(cause, name, types[name])
            found = arguments.setdefault(action, {})
            for place, argument in enumerate(reaction.arguments, start=1):
                _widen(found, f"p{place}", shown(argument.type))
    return {
        action: EventType(
            action,
            (
                Attribute(CAUSE, RecordType(_attributes(causes[action]))),
                *_attributes(arguments[action]),
            ),
        )
        for action in causes
    }


def _widen(types: dict[str, DataType], name: str, type: DataType) -> None:
    types[name] = wider(types.get(name, type), type) or STRING


def _attributes(types: Mapping[str, DataType]) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, type) for name, type in types.items())
