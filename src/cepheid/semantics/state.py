"""Saving a machine between two events, and going on from there.

The state is the graph of live objects, pickled; what never changes (plans, nodes, compiled clauses)
is named by its place in the program instead. Loading accepts the classes of the semantics and
nothing else, so foreign bytes cannot run code, and only with the program that saved them.
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterator
from hashlib import sha256

from cepheid.errors import Diagnostic, RunError, error
from cepheid.program.serialize import to_json
from cepheid.semantics.machine import Machine

VERSION = 1
_MAGIC = b"cepheid-reference-state"
_FIELDS = ("clock", "started", "running", "timers", "due", "armed", "steps")
_MODULES = (
    "cepheid.semantics.pattern",
    "cepheid.semantics.windows",
    "cepheid.semantics.selection",
    "cepheid.semantics.output",
    "cepheid.semantics.statement",
    "cepheid.expr.evaluate",
)
_CLASSES = {
    ("cepheid.core.event", "Event"),
    ("collections", "deque"),
    ("collections", "Counter"),
}


def save(machine: Machine) -> bytes:
    """The state of a machine as bytes; only between events, when its queue is empty."""
    buffer = io.BytesIO()
    pickler = _Pickler(machine, buffer)
    pickler.dump({name: getattr(machine, name) for name in _FIELDS})
    return _header(machine) + buffer.getvalue()


def load(machine: Machine, state: bytes) -> None:
    """Puts a fresh machine of the same program into a saved state."""
    header = _header(machine)
    if not state.startswith(_MAGIC):
        raise RunError(_problem("these bytes are no saved state"))
    if state[: len(header)] != header:
        raise RunError(_problem("this state was saved by another program or another version"))
    try:
        fields = _Unpickler(machine, io.BytesIO(state[len(header) :])).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, IndexError, ValueError) as broken:
        raise RunError(_problem(f"the saved state is damaged: {broken}")) from broken
    for name, value in fields.items():
        setattr(machine, name, value)


def _problem(fact: str) -> Diagnostic:
    return error("bad-state", fact, hint="start afresh, or use the program that saved it")


def _header(machine: Machine) -> bytes:
    """Names the program: its text, the types of its events, and the order of its statements."""
    program = json.dumps(to_json(machine.program.tree), sort_keys=True)
    types = sorted(map(repr, machine.program.types.values()))
    ranks = [plan.name for plan in machine.plans]
    digest = sha256(f"{program} {types} {ranks}".encode()).digest()
    return _MAGIC + bytes([VERSION]) + digest


def _static(machine: Machine) -> Iterator[object]:
    """Everything that live objects refer to and that never changes, in a fixed order."""
    yield machine
    for plan in machine.plans:
        yield from (plan, plan.select, plan.output, plan.window)
        if plan.node is not None:
            yield from plan.node.walk()
        yield from plan.select.aggregates


class _Pickler(pickle.Pickler):
    def __init__(self, machine: Machine, buffer: io.BytesIO) -> None:
        super().__init__(buffer, protocol=5)
        self.places = {id(o): place for place, o in enumerate(_static(machine)) if o is not None}

    def persistent_id(self, value: object) -> int | None:
        return self.places.get(id(value))


class _Unpickler(pickle.Unpickler):
    def __init__(self, machine: Machine, buffer: io.BytesIO) -> None:
        super().__init__(buffer)
        self.objects = list(_static(machine))

    def persistent_load(self, place: int) -> object:
        return self.objects[place]

    def find_class(self, module: str, name: str) -> object:
        if module in _MODULES or (module, name) in _CLASSES:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} does not belong into a state")
