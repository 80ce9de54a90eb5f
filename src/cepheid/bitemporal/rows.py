"""The outcome of rounds as events: actions, and what became known of the events of classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

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
    for sequence, firing in enumerate(outcome.firings):
        yield action_event(firing, sequence, outcome.rounds, classes)


def action_event(
    firing: Firing, sequence: int, rounds: Rounds, classes: Mapping[str, EventClass]
) -> Event:
    values: dict[str, Value] = {CAUSE: cause_of(firing.cls, firing.key, classes)}
    for place, argument in enumerate(firing.arguments, start=1):
        values[f"p{place}"] = argument
    instant = rounds.instant(firing.round)
    statement = reaction_name(firing.cls, firing.statement)
    return Event(firing.action, instant, values, sequence, statement=statement)


def cause_of(name: str, key: Key, classes: Mapping[str, EventClass]) -> dict[str, Value]:
    """The event behind an action: its class and its key."""
    declared = classes[name]
    types = {attribute.name: attribute.type for attribute in declared.attributes}
    parts = zip(declared.key, key, strict=True)
    return {"@type": name, **{part: shown(value, types[part]) for part, value in parts}}


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
