"""Saving a machine between two events, and going on from there.

The state is the graph of live objects, pickled; what never changes (plans, nodes, compiled clauses)
is named by its place in the program instead, and events follow one by one, because a chain of causes
may be longer than any stack. A checksum finds damage. Loading accepts the classes
of the semantics and nothing else, so foreign bytes cannot run code, and only with the program that
saved them.
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterator
from hashlib import sha256
from itertools import count

from cepheid.core.event import Event
from cepheid.core.types import EventType
from cepheid.errors import Diagnostic, RunError, error
from cepheid.program.serialize import to_json
from cepheid.semantics.machine import Machine

VERSION = 2
_MAGIC = b"cepheid-reference-state"
_CHECKSUM = sha256().digest_size
_FIELDS = ("clock", "started", "running", "timers", "armed", "steps")
_MODULES = (
    "cepheid.semantics.pattern",
    "cepheid.semantics.timers",
    "cepheid.semantics.windows",
    "cepheid.semantics.selection",
    "cepheid.semantics.output",
    "cepheid.semantics.statement",
    "cepheid.expr.evaluate",
)
# What unpickling raises where bytes with a right checksum were not written by `save`.
_UNREADABLE = (
    pickle.UnpicklingError,
    AttributeError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
)
_CLASSES = {
    ("collections", "deque"),
    ("collections", "Counter"),
}


def save(machine: Machine) -> bytes:
    """The state of a machine as bytes; only between events, when its queue is empty."""
    machine.check_running()
    buffer = io.BytesIO()
    pickler = _Pickler(machine, buffer)
    pickler.dump({name: getattr(machine, name) for name in _FIELDS})
    pickler.dump_events()
    payload = buffer.getvalue()
    return _header(machine) + sha256(payload).digest() + payload


def load(machine: Machine, state: bytes) -> None:
    """Puts a fresh machine of the same program into a saved state."""
    header = _header(machine)
    if not state.startswith(_MAGIC):
        raise RunError(_problem("these bytes are no saved state"))
    if state[: len(header)] != header:
        raise RunError(_problem("this state was saved by another program or another version"))
    for name, value in _read(machine, state[len(header) :]).items():
        setattr(machine, name, value)
    machine.sweep()


def _read(machine: Machine, body: bytes) -> dict[str, object]:
    checksum, payload = body[:_CHECKSUM], body[_CHECKSUM:]
    if sha256(payload).digest() != checksum:
        raise RunError(_problem("the saved state is damaged"))
    try:
        unpickler = _Unpickler(machine, io.BytesIO(payload))
        fields = unpickler.load()
        unpickler.load_events()
    except _UNREADABLE as broken:
        raise RunError(_problem(f"the saved state is no state: {broken}")) from broken
    if not isinstance(fields, dict) or tuple(fields) != _FIELDS:
        raise RunError(_problem("the saved state is no state"))
    return fields


def _problem(fact: str) -> Diagnostic:
    return error("bad-state", fact, hint="start afresh, or use the program that saved it")


def _header(machine: Machine) -> bytes:
    """Names the program: its text, the types of its events, and the order of its statements."""
    program = json.dumps(to_json(machine.program.tree), sort_keys=True)
    types = sorted(map(_signature, machine.program.types.values()))
    ranks = [plan.name for plan in machine.plans]
    digest = sha256(f"{program} {types} {ranks}".encode()).digest()
    return _MAGIC + bytes([VERSION]) + digest


def _signature(type: EventType) -> str:
    """The same in every process, whatever order its sets have there."""
    return f"{type.name} {type.attributes} {sorted(type.ancestors)} {type.time} {type.is_open}"


def _static(machine: Machine) -> Iterator[object]:
    """Everything that live objects refer to and that never changes, in a fixed order."""
    yield machine
    for plan in machine.plans:
        yield from (plan, plan.select, plan.output, plan.window)
        if plan.node is not None:
            yield from plan.node.walk()
        yield from plan.select.aggregates


class _Pickler(pickle.Pickler):
    """Refers to what never changes by its place, and to events by numbers below zero."""

    def __init__(self, machine: Machine, buffer: io.BytesIO) -> None:
        super().__init__(buffer, protocol=5)
        self.places = {id(o): place for place, o in enumerate(_static(machine)) if o is not None}
        self.events: list[Event] = []

    def persistent_id(self, value: object) -> int | None:
        place = self.places.get(id(value))
        if place is None and isinstance(value, Event):
            self.events.append(value)
            place = self.places[id(value)] = -len(self.events)
        return place

    def dump_events(self) -> None:
        """The events referred to; they may refer to more, which this loop reaches in its turn."""
        for event in self.events:
            self.dump([getattr(event, name) for name in Event.__slots__])


class _Unpickler(pickle.Unpickler):
    def __init__(self, machine: Machine, buffer: io.BytesIO) -> None:
        super().__init__(buffer)
        self.objects = list(_static(machine))
        self.events: dict[int, Event] = {}

    def persistent_load(self, place: int) -> object:
        if place < 0:
            return self.events.setdefault(place, Event.__new__(Event))
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
