"""Which detections count: of each event the last version, until it freezes, or until it expires.

The first version of an event says when it was going to occur; from then on it may change until that
time plus the freezing time of its class, and afterwards nothing of it does, not even its detection
time. A sliding window forgets an event when its life span since
that time is over; a version that comes later begins another event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

from cepheid.bitemporal.detections import Detection, Key
from cepheid.bitemporal.rounds import Number, Rounds
from cepheid.core.event import Value
from cepheid.core.time import Instant
from cepheid.program.classes import SubscribedClass

AfterFreeze = Literal["refuse", "take"]


class Refusal(StrEnum):
    """Why a detection does not count."""

    FROZEN = "after the freeze"
    IMMUTABLE = "a change of what is immutable"
    UNKNOWN = "a retraction of what is not known"
    EXPIRED = "after the event had expired"
    CONFIRMED = "what was known already"  # harmless


class Row(NamedTuple):
    """What is known of an event: its attributes in the order of its class, and its times."""

    values: tuple[Value, ...]
    occ: Instant
    det: Instant
    expires: Instant = 0  # when the last event behind it does; for windows

    def says(self, other: Row) -> bool:
        """Whether it is the same version."""
        return (self.values, self.occ, self.det) == (other.values, other.occ, other.det)

    def differs(self, other: Row, rounds: Rounds) -> bool:
        """Whether it changed: what was detected again is no change."""
        is_moved = rounds.number(self.occ) != rounds.number(other.occ)
        return is_moved or self.values != other.values


class Known(NamedTuple):
    """An event that is remembered: after a retraction without a row."""

    incept: Instant  # the occurrence time of its first version
    row: Row | None


View = dict[Key, Row]


@dataclass(frozen=True, slots=True)
class Admission:
    """The rules by which detections count."""

    classes: Mapping[str, SubscribedClass]
    rounds: Rounds
    after_freeze: AfterFreeze = "refuse"
    lifespans: Mapping[str, int] | None = None  # microseconds; None: events are kept for good

    def refusal(
        self, detection: Detection, known: Known | None, last_round: Number | None
    ) -> Refusal | None:
        """Why a detection does not count, given what is known and the round before this one."""
        if known is None:
            if detection.values is None:
                return Refusal.UNKNOWN
            assert detection.occ is not None
            is_expired = self.is_expired(detection.cls, detection.occ, last_round)
            return Refusal.EXPIRED if is_expired else None
        if known.row is None and detection.values is None:
            return Refusal.UNKNOWN
        return self._refusal_of_change(detection, known)

    def _refusal_of_change(self, detection: Detection, known: Known) -> Refusal | None:
        declared = self.classes[detection.cls]
        if not declared.is_mutable:
            return Refusal.CONFIRMED if _says_the_same(detection, known.row) else Refusal.IMMUTABLE
        freeze = self.rounds.number(declared.freezing.after(known.incept))
        if self.after_freeze == "take" or self.rounds.number(detection.det) <= freeze:
            return None
        return Refusal.CONFIRMED if _says_the_same(detection, known.row) else Refusal.FROZEN

    def applied(self, detection: Detection, known: Known | None) -> Known:
        """What is known after a detection that counts."""
        incept = known.incept if known else detection.occ
        assert incept is not None
        if detection.values is None:
            return Known(incept, None)
        assert detection.occ is not None
        row = Row(
            detection.values, detection.occ, detection.det, self.expires(detection.cls, incept)
        )
        return Known(incept, row)

    def expires(self, name: str, incept: Instant) -> Instant:
        return incept + (self.lifespans[name] if self.lifespans is not None else 0)

    def is_expired(self, name: str, incept: Instant, last_round: Number | None) -> bool:
        if self.lifespans is None or last_round is None:
            return False
        return self.rounds.number(self.expires(name, incept)) < last_round


class Repository:
    """The current versions of all subscribed events, and how many detections were refused."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.refused: Counter[tuple[str, Refusal]] = Counter()
        self._known: dict[str, dict[Key, Known]] = {name: {} for name in admission.classes}

    def take(self, detections: Iterable[Detection], last_round: Number | None) -> None:
        """Detections of one round, in their order; the round before it decides what has expired."""
        for detection in detections:
            events = self._known[detection.cls]
            known = events.get(detection.key)
            refusal = self.admission.refusal(detection, known, last_round)
            if refusal is None:
                events[detection.key] = self.admission.applied(detection, known)
            else:
                self.refused[detection.cls, refusal] += 1

    def purge(self, last_round: Number | None) -> None:
        """Forgets what had expired in the last round."""
        for name, events in self._known.items():
            for key in [
                key
                for key, known in events.items()
                if self.admission.is_expired(name, known.incept, last_round)
            ]:
                del events[key]

    def views(self) -> dict[str, View]:
        """The versions of all classes that count now."""
        return {
            name: {key: known.row for key, known in events.items() if known.row is not None}
            for name, events in self._known.items()
        }


def _says_the_same(detection: Detection, row: Row | None) -> bool:
    """Whether it only confirms what is known."""
    if row is None or detection.values is None:
        return False
    return (detection.values, detection.occ) == (row.values, row.occ)


def by_round(
    detections: Iterable[Detection], rounds: Rounds
) -> Iterator[tuple[Number, list[Detection]]]:
    """Detections by the round in which they count; what counts in none is left out."""
    found: dict[Number, list[Detection]] = {}
    for detection in detections:
        number = rounds.at_or_after(rounds.number(detection.known))
        if number is not None:
            found.setdefault(number, []).append(detection)
    yield from sorted(found.items())
