"""Graphs over recorded events: what they give where nothing takes any time.

Events happen at their own times, on as many processors as it takes. So what a graph gives depends on
nothing but its events: it is the same here, in a batch and in a stream.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant, format_instant
from cepheid.core.values import shown
from cepheid.errors import InputError, LateEvent, RunError, error, suggest
from cepheid.io import Decoder, Record, encode, records_of
from cepheid.io.type_arguments import event_types
from cepheid.program.seal import Seal
from cepheid.realtime.arrivals import Arrival
from cepheid.realtime.checking import Checked
from cepheid.realtime.graph import Graph, Supplier, Time
from cepheid.realtime.machine import Delivery, Machine, Run
from cepheid.realtime.operators.kind import Array
from cepheid.realtime.operators.running import Operators
from cepheid.realtime.payload import Payload
from cepheid.realtime.simulation import no_time, simulate
from cepheid.verbs.program import Program

MICROSECOND: Time = 1_000
VERSION = "1"


class Replay:
    """A graph that recorded events come to, all of one time together.

    Between two times its state can be saved; a new one that gets it goes on from there.
    """

    def __init__(self, checked: Checked, saved: bytes | None = None) -> None:
        self._machine: Machine[Array] = Machine(checked.graph)
        self._clock: Time | None = None  # everything up to here has happened
        states = None
        if saved is not None:
            self._clock, machine, states = pickle.loads(self._seal.open(saved))
            self._machine.thaw(machine)
        self._operators = Operators(checked.works, saved=states)

    def take(self, arrivals: Iterable[Arrival]) -> list[Delivery[Array]]:
        """What comes of events in the order of time, after all that came before."""
        course = simulate(
            self._machine,
            self._in_order(arrivals),
            no_time,
            processors=None,
            execute=partial(run_whole, self._operators),
        )
        return course.deliveries

    def save(self) -> bytes:
        """The events that wait for others, and what operators remember."""
        state = (self._clock, self._machine.freeze(), self._operators.freeze())
        return self._seal.close(pickle.dumps(state))

    @cached_property
    def _seal(self) -> Seal:
        return Seal("replay", VERSION, identity_of(self._machine.graph))

    @property
    def released(self) -> dict[tuple[str, str], int]:
        """How many events of each source were let go of for which cause, so far."""
        return dict(self._machine.released)

    def _in_order(self, arrivals: Iterable[Arrival]) -> Iterator[Arrival]:
        passed = self._clock
        for arrival in arrivals:
            is_late = passed is not None and arrival.time <= passed
            if is_late or (self._clock is not None and arrival.time < self._clock):
                time = format_instant(arrival.time // MICROSECOND)
                fact = f"an event of '{arrival.supplier}' at {time} comes after later ones"
                raise LateEvent(error("late-event", fact, hint="those of one time come together"))
            self._clock = arrival.time
            yield arrival


def run_whole(operators: Operators, job: Run[Array]) -> Sequence[Array]:
    """The events that an operator makes; RunError where it fails, with the time of its events."""
    try:
        return operators.run_whole(job)
    except (Exception, SystemExit) as problem:
        time = format_instant(max(each.begin for each in job.inputs) // MICROSECOND)
        reason = f"{type(problem).__name__}: {problem}"
        fact = f"operator '{job.operator.name}' fails at {time}: {reason}"
        raise RunError(error("operator-failed", fact)) from problem


def identity_of(graph: Graph) -> str:
    """A text that no graph has whose states would be others'."""
    operators = [
        replace(each, parameters={name: _said(value) for name, value in each.parameters.items()})
        for each in graph.operators
    ]
    return repr((graph.suppliers, operators, graph.consumers))


def _said(value: object) -> str:
    """A parameter; the same in every process."""
    if isinstance(value, Program):
        return value.to_json()
    if callable(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        return f"{getattr(value, '__module__', None)}:{name}"
    return repr(value)


# Events that were recorded ----------------------------------------------------------------------


def read_trace(source: object, suppliers: Sequence[Supplier]) -> list[Arrival]:
    """The events of a file, a table or dictionaries, by their times; those of one time stay in their order.

    They are what suppliers push: '@type' names the supplier, and may be missing where there is but one.
    What they carry is in `value`, in `values`, or under the names of its elements. Lines with a time
    alone say nothing. InputError where anything else is wrong, with its place.
    """
    reader = _Reader(suppliers)
    found = [each for record in records_of(source) for each in reader.arrivals(record)]
    return sorted(found, key=lambda each: each.time)


def traces_of(graph: Graph) -> dict[str, list[tuple[Time, Array]]]:
    """The events of suppliers that have them in a file, at the times that it says; several may share one."""
    found: dict[str, list[tuple[Time, Array]]] = {}
    for file in dict.fromkeys(each.trace for each in graph.suppliers if each.trace is not None):
        sharing = [each for each in graph.suppliers if each.trace == file]
        found |= {each.name: [] for each in sharing}
        for arrival in read_trace(file, sharing):
            found[arrival.supplier].append((arrival.time, arrival.value))
    return found


class _Reader:
    def __init__(self, suppliers: Sequence[Supplier]) -> None:
        self._suppliers = {each.name: each for each in suppliers}
        types = {each.name: each.payload.attributes for each in suppliers}
        self._decoder = Decoder(event_types(types), extra="error")  # payloads have fixed elements

    def arrivals(self, record: Record) -> Iterator[Arrival]:
        """One, or none where the record only lets time pass."""
        record = self._typed(record)
        supplier = self._supplier(record)
        event = self._decoder.decode(record, 0)
        if supplier is None or not isinstance(event, Event) or event.is_old or event.is_timeout:
            return
        try:
            value = value_of(supplier.payload, event.values_)
        except ValueError as wrong:
            fact = f"an event of '{supplier.name}': {wrong}"
            raise InputError(error("bad-value", fact, record.span)) from None
        yield Arrival(event.instant * MICROSECOND, supplier.name, value)

    def _typed(self, record: Record) -> Record:
        """Where there is one supplier, what has no type is of it; files with columns take their names."""
        if len(self._suppliers) > 1:
            return record
        file = record.span.file if record.span else None
        is_untyped = record.type is None and record.values
        is_of_file = file is not None and record.type == Path(file).stem
        return (
            replace(record, type=next(iter(self._suppliers)))
            if is_untyped or is_of_file
            else record
        )

    def _supplier(self, record: Record) -> Supplier | None:
        if record.type is None:
            return None
        supplier = self._suppliers.get(record.type)
        if supplier is None:
            hint = suggest(record.type, self._suppliers, "suppliers")
            raise InputError(
                error("unknown-type", f"no supplier {shown(record.type)}", record.span, hint)
            )
        if not supplier.payload.is_real:
            raise InputError(error("bad-value", no_record_of(supplier), record.span))
        return supplier


def no_record_of(supplier: Supplier) -> str:
    return f"the events of '{supplier.name}' are complex numbers, which no record has"


def value_of(payload: Payload, attributes: dict[str, Value]) -> Array:
    """What an event carries; ValueError where something is missing, too much, or of another type."""
    import numpy as np

    found = [attributes[name] for name in payload.attributes]
    for name, each in zip(payload.attributes, found, strict=True):
        if each is None or (isinstance(each, list) and None in each):
            raise ValueError(missing(name, each is None))
    first = found[0]
    elements = first if isinstance(first, list) else found
    if len(elements) != payload.size:
        raise ValueError(wrong_size(len(elements), payload))
    return fitted(payload, np.array(elements))


def missing(name: str, is_whole: bool) -> str:
    return f"'{name}' is missing" if is_whole else f"an element of '{name}' is missing"


def wrong_size(size: int, payload: Payload) -> str:
    return f"'values' has {size} elements, not {payload.size}"


def fitted(payload: Payload, numbers: Array) -> Array:
    """Numbers in the type of a payload, for reading; ValueError where one would become another.

    Fractions become the nearest ones.
    """
    import numpy as np

    dtype = np.dtype(payload.dtype)
    if numbers.dtype.kind == "c" and dtype.kind != "c":
        raise ValueError(f"complex numbers are no {dtype.name}")
    with np.errstate(invalid="ignore", over="ignore"):
        found = numbers.astype(dtype)
    if (numbers.dtype.kind == "b") != (dtype.kind == "b"):
        is_wrong = np.ones(numbers.shape, bool)
    elif dtype.kind in "iu":
        is_wrong = found != numbers
    else:
        is_wrong = np.isinf(found) & ~np.isinf(numbers)
    if is_wrong.any():
        raise ValueError(f"{shown(numbers[is_wrong][0].item())} is no {dtype.name}")
    found.setflags(write=False)
    return found


# What is delivered ------------------------------------------------------------------------------


def row_of(delivery: Delivery[Array], payload: Payload) -> dict[str, object]:
    """A delivery as files have it: the source as '@type', when it came as '@time', what it carries.

    `begin` and `end` are those of its validity, to the microsecond.
    """
    sample = delivery.sample
    values: dict[str, Value] = {
        "consumer": delivery.consumer.name,
        "begin": format_instant(_instant(sample.begin)),
        "end": format_instant(_instant(sample.end)),
        "number": sample.number,
        "late": delivery.is_late,
        "payload": _attributes(payload, sample.value),
    }
    return encode(Event(sample.source, _instant(delivery.time), values))


def _instant(time: Time) -> Instant:
    return time // MICROSECOND


def _attributes(payload: Payload, value: Array) -> dict[str, Value]:
    if payload.dtype.startswith("complex"):
        return {"real": value.real.tolist(), "imaginary": value.imag.tolist()}
    if payload.fields:
        return dict(zip(payload.fields, value.tolist(), strict=True))
    return {"value": value[0].item()} if payload.size == 1 else {"values": value.tolist()}
