"""What one program learnt, as a history that another one reads: a chain of processors.

A version counts where it is read in the round in which it became known here. So processors that run
the same rounds are in step, and a program that is split over them does what it did as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from cepheid.bitemporal.detections import DETECTED, KNOWN, RETRACTED
from cepheid.bitemporal.outcome import Change, Outcome, Version
from cepheid.bitemporal.rounds import Number, Rounds
from cepheid.bitemporal.rows import shown
from cepheid.core.time import format_instant
from cepheid.io.encode import encode_value
from cepheid.program.classes import EventClass

Told = dict[str, object]  # a line of a history


def told(
    outcome: Outcome, classes: Mapping[str, EventClass], names: Collection[str]
) -> Iterator[Told]:
    """Versions and retractions of some classes, in the order of rounds, and how far time has come.

    What differs from the version before in its detection only is told, too. What a window forgot is
    not retracted: whoever reads it forgets by life spans of his own.
    """
    rounds = outcome.rounds
    versions = (
        (v.known_from, _version(v, classes[v.cls], rounds))
        for v in outcome.versions
        if v.cls in names
    )
    gone = (
        (c.round, _retraction(c, classes[c.cls], rounds))
        for c in outcome.changes
        if c.cls in names and c.kind == "cancellation"
    )
    for _, record in sorted([*versions, *gone], key=lambda each: each[0]):
        yield record
    if rounds.first <= rounds.last:
        yield {"@time": format_instant(rounds.instant(rounds.last))}


def _version(version: Version, declared: EventClass, rounds: Rounds) -> Told:
    row = version.row
    values = zip(declared.attributes, row.values, strict=True)
    return {
        "@type": version.cls,
        "@time": format_instant(row.occ),
        DETECTED: format_instant(row.det),
        **_known(version.known_from, rounds),
        **{each.name: encode_value(shown(value, each.type)) for each, value in values},
    }


def _retraction(change: Change, declared: EventClass, rounds: Rounds) -> Told:
    types = {attribute.name: attribute.type for attribute in declared.attributes}
    key = zip(declared.key, change.key, strict=True)
    now = _known(change.round, rounds)
    return {
        "@type": change.cls,
        DETECTED: now[KNOWN],
        **now,
        RETRACTED: True,
        **{name: encode_value(shown(value, types[name])) for name, value in key},
    }


def _known(round: Number, rounds: Rounds) -> Told:
    return {KNOWN: format_instant(rounds.instant(round))}
