"""Histories as streams: in the order in which they arrive, cut into batches, through a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import cepheid as cep
from cepheid.bitemporal.outcome import Outcome
from cepheid.bitemporal.stream import manifest as manifests
from cepheid.bitemporal.stream.arrivals import Arrival
from cepheid.bitemporal.stream.disk import Disk
from cepheid.bitemporal.stream.sink import RoundsSink
from cepheid.bitemporal.stream.tables import Learnt, Switched, Tables
from cepheid.errors import CepheidError
from cepheid.io.sources import records_of
from cepheid.program.resolved import ResolvedProgram
from cepheid.verbs.rounds import course_of
from tests.bitemporal.comparing import first_of
from tests.bitemporal.generator import Case

OUTPUTS = ("actions", "changes", "versions", "toggles")
LATENESS = 240  # seconds

Record = dict[str, Any]
Batches = list[list[Arrival]]


def arriving(case: Case, rng: Random) -> list[Record]:
    """The records of a case, each at most `LATENESS` after later ones; then time passes."""
    when = {
        place: float(record.get("@detected", record.get("@time"))) + rng.uniform(0, LATENESS)  # type: ignore[arg-type]
        for place, record in enumerate(case.records[:-1])
    }
    found = [case.records[place] for place in sorted(when, key=lambda place: when[place])]
    end = max(float(record.get("@detected", record.get("@time"))) for record in case.records)  # type: ignore[arg-type]
    return [*found, {"@time": end + LATENESS + 300}]


def cut(records: Sequence[Record], rng: Random) -> Batches:
    """Batches of any size, some of them empty."""
    arrivals = [Arrival(r, number) for number, r in enumerate(records_of(records))]
    places = sorted(rng.randint(0, len(arrivals)) for _ in range(rng.randint(0, 8)))
    ends = [*places, len(arrivals)]
    return [arrivals[a:b] for a, b in zip([0, *places], ends, strict=True)]


@dataclass(frozen=True)
class Stream:
    """A case as a stream into a folder."""

    case: Case
    folder: Path
    options: dict[str, Any]
    compact_every: int = 3

    @cached_property
    def program(self) -> cep.Program:
        return cep.parse(self.case.text, "bicepl")

    @cached_property
    def resolved(self) -> ResolvedProgram:
        return self.program.resolve()

    def sink(self, disk: Disk | None = None) -> RoundsSink:
        course = course_of(chronon=self.case.chronon, outages=self.case.outages, **self.options)
        return RoundsSink(
            self.resolved,
            self.folder,
            course,
            delay=LATENESS * 1_000_000,
            compact_every=self.compact_every,
            disk=disk,
        )

    def found(self) -> dict[str, list[Any]]:
        """What the folder holds."""
        return {name: list(rows_in(self.folder / name)) for name in OUTPUTS}

    def expected(self, records: Sequence[Record]) -> dict[str, list[Any]]:
        """What a run of the reference gives, up to the last round that the stream has closed."""
        manifest = manifests.newest(self.folder)
        assert manifest is not None
        rounds = manifest.clock.rounds()
        outcome = self.reference(records, end=rounds.instant(rounds.last) / 1_000_000)
        tables = Tables(self.resolved)
        found = {
            "actions": tables.actions(outcome),
            "changes": tables.changes(outcome),
            "versions": tables.versions(list(learnt(outcome)), rounds),
            "toggles": tables.toggles(list(switched(outcome)), rounds),
        }
        return {name: rows_of(table) for name, table in found.items()}

    def reference(self, records: Sequence[Record], end: float | None = None) -> Outcome:
        settings = {"chronon": self.case.chronon, "outages": self.case.outages, **self.options}
        result = cep.run(self.program, list(records), engine="reference", end=end, **settings)
        return result.outcome  # type: ignore[attr-defined,no-any-return]

    def failure(self, records: Sequence[Record]) -> str | None:
        """The code of what ends a run of the reference."""
        try:
            self.reference(records)
        except CepheidError as problem:
            return first_of(problem).code
        return None


def rows_in(folder: Path) -> Iterator[Any]:
    for path in sorted(folder.glob("*.parquet")):
        yield from rows_of(pq.read_table(path, partitioning=None))


def rows_of(table: pa.Table) -> list[Any]:
    return [tuple(row.items()) for row in map(plain, table.to_pylist())]


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v.items()) if isinstance(v, dict) else v for k, v in row.items()}


# The names of generated classes are in the order of the text.


def learnt(outcome: Outcome) -> list[Learnt]:
    """Versions as a log: what is known from a round on, and when that is nothing."""
    begun = {(v.cls, v.key, v.known_from) for v in outcome.versions}
    found = []
    for v in outcome.versions:
        found.append(Learnt(v.known_from, v.cls, v.key, v.row))
        if v.known_to is not None and (v.cls, v.key, v.known_to) not in begun:
            found.append(Learnt(v.known_to, v.cls, v.key, None))
    return sorted(found, key=lambda each: (each.round, each.cls, each.key))


def switched(outcome: Outcome) -> list[Switched]:
    found = [Switched(t.set_in, t.cls, t.key, fired=True) for t in outcome.toggles]
    found += [
        Switched(t.cleared_in, t.cls, t.key, fired=False)
        for t in outcome.toggles
        if t.cleared_in is not None
    ]
    return sorted(found, key=lambda each: (each.round, each.cls, each.key, each.fired))
