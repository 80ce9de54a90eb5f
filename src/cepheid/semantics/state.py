"""Saving a machine between two events, and going on from there.

The state is the graph of live objects, pickled; what never changes (plans, nodes, compiled clauses)
is named by its place in the program instead, and events follow one by one, because a chain of causes
may be longer than any stack. A checksum finds damage. Loading accepts the classes
of the semantics and nothing else, so foreign bytes cannot run code, and only with the program that
saved them.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Sequence
from itertools import count

from cepheid.core.event import Event
from cepheid.errors import RunError
from cepheid.program.seal import Seal, bad_state, forged
from cepheid.semantics.machine import Machine

VERSION = "4"
_FIELDS = ("clock", "started", "running", "timers", "armed", "steps")
_MODULES = (
    "cepheid.semantics.bindings",
    "cepheid.semantics.contexts",
    "cepheid.semantics.pattern",
    "cepheid.semantics.residuals",
    "cepheid.semantics.timers",
    "cepheid.semantics.tokens",
    "cepheid.semantics.windows",
    "cepheid.semantics.selection",
    "cepheid.semantics.output",
    "cepheid.semantics.statement",
    "cepheid.expr.evaluate",
)
_CLASSES = {
    ("collections", "deque"),
    ("collections", "Counter"),
    ("decimal", "Decimal"),
    *(("datetime", name) for name in ("datetime", "date", "timezone", "timedelta")),
}


def save(machine: Machine) -> bytes:
    """The state of a machine as bytes; only between events, when its queue is empty."""
    machine.check_running()
    buffer = io.BytesIO()
    pickler = _Pickler(machine, buffer)
    pickler.dump({name: getattr(machine, name) for name in _FIELDS})
    pickler.dump_events()
    return _seal(machine).close(buffer.getvalue())


def load(machine: Machine, state: bytes) -> None:
    """Puts a fresh machine of the same program into a saved state."""
    payload = _seal(machine).open(state)
    with forged():
        for name, value in _read(machine, payload).items():
            setattr(machine, name, value)
        machine.sweep()


def snapshot(machine: Machine, known: Sequence[Event]) -> bytes:
    """The same for this process alone; input events are named by their places among the known ones."""
    buffer = io.BytesIO()
    pickler = _Pickler(machine, buffer, known)
    pickler.dump({name: getattr(machine, name) for name in _FIELDS})
    pickler.dump_events()
    return buffer.getvalue()


def restore(machine: Machine, taken: bytes, known: Sequence[Event]) -> None:
    """Puts the machine of a snapshot back, whatever it has done since."""
    machine.reset()
    unpickler = _Unpickler(machine, io.BytesIO(taken), known)
    for name, value in unpickler.load().items():
        setattr(machine, name, value)
    unpickler.load_events()
    machine.sweep()


def _seal(machine: Machine) -> Seal:
    order = [plan.name for plan in machine.plans]
    occurrences = (plan.occurrence for plan in machine.plans if plan.occurrence is not None)
    followed = {type(occurrence.follower).__name__ for occurrence in occurrences}
    return Seal("reference", f"{VERSION} {order} {sorted(followed)}", machine.program)


def _read(machine: Machine, payload: bytes) -> dict[str, object]:
    try:
        unpickler = _Unpickler(machine, io.BytesIO(payload))
        fields = unpickler.load()
        unpickler.load_events()
    except MemoryError:  # a length that is forged
        raise RunError(bad_state("the saved state is no state")) from None
    if not isinstance(fields, dict) or tuple(fields) != _FIELDS:
        raise RunError(bad_state("the saved state is no state"))
    for name, value in fields.items():
        if type(value) is not type(getattr(machine, name)):
            raise RunError(
                bad_state(f"the saved state is no state: {name} cannot be {type(value).__name__}")
            )
    return fields


def _static(machine: Machine) -> Iterator[object]:
    """Everything that live objects refer to and that never changes, in a fixed order."""
    yield machine
    for plan in machine.plans:
        yield from (plan, plan.select, plan.output, plan.window)
        if plan.node is not None:
            yield from plan.node.walk()
        if plan.occurrence is not None:
            yield from (
                plan.occurrence,
                *plan.occurrence.follower.fixed(),
                *plan.occurrence.declared,
            )
        yield from plan.select.aggregates


class _Pickler(pickle.Pickler):
    """Refers to what never changes by its place, and to events by numbers below zero.

    Events that are known, each at the place that its sequence says, come behind what never changes.
    """

    def __init__(self, machine: Machine, buffer: io.BytesIO, known: Sequence[Event] = ()) -> None:
        super().__init__(buffer, protocol=5)
        static = list(_static(machine))
        self.places = {id(o): place for place, o in enumerate(static) if o is not None}
        self.events: list[Event] = []
        self.known = known
        self.first_known = len(static)

    def persistent_id(self, value: object) -> int | None:
        place = self.places.get(id(value))
        if place is None and isinstance(value, Event):
            if self.is_known(value):
                return self.first_known + value.sequence
            self.events.append(value)
            place = self.places[id(value)] = -len(self.events)
        return place

    def is_known(self, event: Event) -> bool:
        return event.sequence < len(self.known) and self.known[event.sequence] is event

    def dump_events(self) -> None:
        """The events referred to; they may refer to more, which this loop reaches in its turn."""
        for event in self.events:
            self.dump([getattr(event, name) for name in Event.__slots__])


class _Unpickler(pickle.Unpickler):
    def __init__(self, machine: Machine, buffer: io.BytesIO, known: Sequence[Event] = ()) -> None:
        super().__init__(buffer)
        self.objects = list(_static(machine))
        self.events: dict[int, Event] = {}
        self.known = known

    def persistent_load(self, place: int) -> object:
        if place < 0:
            return self.events.setdefault(place, Event.__new__(Event))
        if place >= len(self.objects):
            return self.known[place - len(self.objects)]
        return self.objects[place]

    def load_events(self) -> None:
        """Fills the events referred to, in the order in which they were first."""
        for place in count(-1, -1):
            if place not in self.events:
                break
            for name, value in zip(Event.__slots__, self.load(), strict=True):
                setattr(self.events[place], name, value)

    def find_class(self, module: str, name: str) -> object:
        """A class that is defined in one of the modules; a module's imports are not its own."""
        if (module in _MODULES and "." not in name) or (module, name) in _CLASSES:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} does not belong into a state")
