"""What a batch brings: detections, times, and records that are neither."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from cepheid.bitemporal.detections import Detection, DetectionDecoder
from cepheid.bitemporal.stream.clock import Clock
from cepheid.core.time import Instant, format_instant, to_instant
from cepheid.errors import Diagnostic, InputError
from cepheid.io import Record
from cepheid.program.classes import EventClass

UNORDERED = -1  # the sequence of detections that nothing orders but what they say


@dataclass(frozen=True, slots=True)
class Arrival:
    """A record, or what is wrong with a text that is none.

    `sequence` is its place in the stream, where the stream has an order.
    """

    record: Record | None
    sequence: int = UNORDERED
    text: str | None = None  # as it came, where it came as a text
    problem: Diagnostic | None = None


@dataclass(slots=True)
class Intake:
    """What a batch came to."""

    detections: list[Detection] = field(default_factory=list)
    late: list[Detection] = field(default_factory=list)
    rejects: list[tuple[str, str]] = field(default_factory=list)  # texts and what is wrong
    instants: list[Instant] = field(default_factory=list)  # at which something was known

    def reject(self, arrival: Arrival, problems: Iterable[Diagnostic]) -> None:
        told = "; ".join(str(replace(problem, span=None)) for problem in problems)
        text = arrival.text
        if text is None and arrival.record is not None:
            text = record_text(arrival.record)
        self.rejects.append((text or "", told))


def take_batch(
    classes: Mapping[str, EventClass], arrivals: Iterable[Arrival], clock: Clock
) -> Intake:
    """Detections that still count, and others; the clock says how far the stream was before."""
    found, decoder = Intake(), DetectionDecoder(classes)
    for arrival in arrivals:
        if arrival.record is None:
            found.reject(arrival, [arrival.problem] if arrival.problem else [])
            continue
        try:
            taken = decoder.decode(arrival.record, arrival.sequence)
        except InputError as refused:
            found.reject(arrival, refused.diagnostics)
            continue
        if not isinstance(taken, Detection):
            assert isinstance(taken, int)  # only types that are no classes are told as records
            found.instants.append(taken)
        elif clock.is_over(taken):
            found.late.append(taken)
        else:
            found.instants.append(taken.known)
            found.detections.append(taken)
    # Spark may bring the rows of a batch in another order when it repeats it.
    found.late.sort(key=said)
    found.rejects.sort()
    return found


def said(detection: Detection) -> tuple[object, ...]:
    """When it was detected and what it says, in the order of detections that nothing else orders.

    It is Spark's, too: versions before retractions, then by occurrence and attributes, nulls first.
    """
    is_retraction = detection.values is None
    values = [(value is not None, value) for value in (detection.occ, *(detection.values or ()))]
    about = (detection.cls, detection.key)
    return (detection.det, *about, is_retraction, *values, detection.known)


def in_order(detections: Sequence[Detection]) -> list[Detection]:
    """Detections by detection time and sequence, or where they have none by what they say."""
    if all(detection.sequence != UNORDERED for detection in detections):
        return sorted(detections, key=lambda detection: detection.order)
    told = sorted(detections, key=said)
    return [detection._replace(sequence=place) for place, detection in enumerate(told)]


def record_text(record: Record) -> str:
    """A record as a line of an event file."""
    fields = {"@type": record.type, "@time": record.time, **record.values}
    return json.dumps({k: v for k, v in fields.items() if v is not None}, default=_plain)


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return format_instant(to_instant(value))
    return value.isoformat() if isinstance(value, date) else str(value)
