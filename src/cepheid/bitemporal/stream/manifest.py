"""What a folder holds after a batch: one small file per batch, and the newest one counts.

A manifest names the files of the state; everything that it names is on the disk before it is. A batch
whose manifest is there is done.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cepheid import __version__
from cepheid.bitemporal.rounds import Number
from cepheid.bitemporal.stream.clock import Clock
from cepheid.core.time import Instant
from cepheid.errors import RunError
from cepheid.program.seal import bad_state

FORMAT = "rounds 1"
FOLDER = "manifests"


@dataclass(frozen=True, slots=True)
class Identity:
    """What must be the same whenever a stream goes on."""

    program: str  # its digest
    chronon: int
    window: str
    after_freeze: str
    start: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A folder after a batch."""

    batch: int
    identity: Identity
    clock: Clock
    last: Number | None = None  # the last round that was run
    origin: str | None = None  # the stream whose batches these are
    counts: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    state: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # files by class, in order
    waiting: str | None = None  # the file of detections whose rounds are not over
    actions: str | None = None  # the file of what this batch wants done
    deltas: int = 0  # batches since the state was written as a whole

    @property
    def files(self) -> Iterable[str]:
        """The files of the state."""
        for names in self.state.values():
            yield from names
        yield from (name for name in (self.waiting, self.actions) if name is not None)

    def content(self) -> bytes:
        told = {"format": FORMAT, "cepheid": __version__, **asdict(self)}
        return json.dumps(told, indent=1).encode()


def path_of(folder: Path, batch: int) -> Path:
    return folder / FOLDER / f"{batch:010}.json"


def newest(folder: Path) -> Manifest | None:
    """The manifest of the last batch that is done; RunError where it is none."""
    paths = sorted((folder / FOLDER).glob("[0-9]*.json"))
    if not paths:
        return None
    try:
        told: dict[str, Any] = json.loads(paths[-1].read_bytes())
    except ValueError:
        raise RunError(bad_state(f"'{paths[-1]}' is no manifest")) from None
    format, writer = told.pop("format", None), told.pop("cepheid", None)
    if format != FORMAT:
        fact = f"'{paths[-1]}' has the format {format!r}, not {FORMAT!r} (by Cepheid {writer})"
        raise RunError(bad_state(fact))
    told["identity"] = Identity(**told["identity"])
    outages = tuple((begin, end) for begin, end in told["clock"].pop("outages"))
    told["clock"] = Clock(**told["clock"], outages=outages)
    told["state"] = {name: tuple(files) for name, files in told["state"].items()}
    return Manifest(**told)


def check(found: Manifest, identity: Identity, clock: Clock, origin: str | None) -> None:
    """RunError where a stream is not the one that wrote the folder."""
    for name, ours in asdict(identity).items():
        theirs = getattr(found.identity, name)
        if theirs != ours:
            fact = f"this state was saved with another {name}: {theirs}, not {ours}"
            raise RunError(bad_state(fact))
    if _past(found.clock.outages, found.clock) != _past(clock.outages, found.clock):
        raise RunError(bad_state("outages before the last round are others than they were"))
    if found.origin is not None and origin is not None and found.origin != origin:
        fact = "the folder belongs to another checkpoint than that of this stream"
        raise RunError(bad_state(fact))


def _past(outages: Iterable[tuple[Number, Number]], clock: Clock) -> list[tuple[Number, Number]]:
    """What of outages lies in rounds that are over; only later ones may change."""
    if clock.closed is None:
        return []
    end = clock.closed + 1
    return [(first, min(last, end)) for first, last in outages if first < end]
