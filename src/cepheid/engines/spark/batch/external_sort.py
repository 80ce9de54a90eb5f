"""Packs of events in the order of time, however much they overlap.

Packs come in the order of their first times. What lies before the first time of the next pack is
complete, can be sorted and goes on; the rest waits. Files that are more or less in the order of time
let little wait. Where everything overlaps, what waits goes to the disk as sorted runs, which are merged:
memory holds one batch of each.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from cepheid.core.time import Instant
from cepheid.engines.spark.codec.sort_keys import Numbers, sorted_events

AT_LEAST = 1 << 16  # events that go on together: every call of an operator costs time
_MOST_BYTES = 1 << 27  # that wait in memory
_ROWS_AT_HAND = 1 << 15  # of a run


@dataclass(slots=True)
class ExternalSort:
    """Puts packs of one bucket in order; `sort_keys` order events of one time."""

    sort_keys: Sequence[str]
    at_least: int = AT_LEAST
    most_bytes: int = _MOST_BYTES
    rows_at_hand: int = _ROWS_AT_HAND
    _waiting: list[pa.Table] = field(default_factory=list)
    _count: int = 0  # of events that wait in memory
    _runs: list[_Run] = field(default_factory=list)
    _files: ExitStack = field(default_factory=ExitStack)
    _enough: int = 0  # of them, before it is worth a look whether some can go on

    def merge(self, packs: Iterable[tuple[Instant, pa.Table]]) -> Iterator[pa.Table]:
        """All events in order, in tables of some size; each pack comes with its first time."""
        self._enough = self.at_least
        with self._files:
            for first, pack in packs:
                if self._count >= self._enough:
                    yield from self._before(first)
                self._wait(pack)
            yield from self._before(None)

    def _wait(self, events: pa.Table) -> None:
        self._waiting.append(events)
        self._count += events.num_rows

    def _before(self, instant: Instant | None) -> Iterator[pa.Table]:
        """What lies before an instant, or everything that is left."""
        ordered = self._ordered()
        if self._runs:
            runs = [*self._runs, _Run(ordered.to_batches(self.rows_at_hand))]
            yield from self._merged(runs, instant)
            ordered = pa.Table.from_batches(runs.pop().rest(), ordered.schema)
            self._runs = [run for run in runs if not run.is_empty]
        else:
            cut = _count_before(_times(ordered), instant)
            if cut:
                yield ordered.slice(0, cut)
            ordered = ordered.slice(cut)
        self._keep(ordered)

    def _ordered(self) -> pa.Table:
        waiting, self._waiting, self._count = self._waiting, [], 0
        return sorted_events(pa.concat_tables(waiting), self.sort_keys) if waiting else _NOTHING

    def _keep(self, left: pa.Table) -> None:
        """What must wait; it is looked at again when there is twice as much."""
        if left.nbytes > self.most_bytes:
            self._runs.append(_Run(self._on_disk(left)))
        elif left.num_rows:
            self._wait(left)
        self._enough = max(self.at_least, 2 * self._count)

    def _on_disk(self, events: pa.Table) -> Iterator[pa.RecordBatch]:
        file = self._files.enter_context(tempfile.TemporaryFile(prefix="cepheid-"))  # noqa: SIM115
        with pa.ipc.new_file(file, events.schema) as writer:
            writer.write_table(events, max_chunksize=self.rows_at_hand)
        stored = pa.ipc.open_file(file)
        return map(stored.get_batch, range(stored.num_record_batches))

    def _merged(self, runs: Sequence[_Run], instant: Instant | None) -> Iterator[pa.Table]:
        """What of some runs lies before an instant, a batch of each at a time."""
        while open_ := [run for run in runs if not run.is_empty]:
            bound = min(run.known_until for run in open_) + 1
            bound = bound if instant is None else min(bound, instant)
            due = [batch for run in open_ for batch in run.before(bound)]
            if due:
                yield sorted_events(pa.Table.from_batches(due), self.sort_keys)
            if bound == instant:
                return


class _Run:
    """Events in order, of which the first are at hand."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = iter(batches)
        self._head = next(self._batches, None)

    @property
    def is_empty(self) -> bool:
        return self._head is None

    @property
    def known_until(self) -> Instant:
        """The last time of those at hand."""
        assert self._head is not None
        return int(_times(self._head)[-1])

    def before(self, instant: Instant) -> Iterator[pa.RecordBatch]:
        """Takes out what lies before an instant."""
        while self._head is not None:
            cut = _count_before(_times(self._head), instant)
            if cut:
                yield self._head.slice(0, cut)
            if cut < self._head.num_rows:
                self._head = self._head.slice(cut)
                return
            self._head = next(self._batches, None)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Takes out everything."""
        while self._head is not None:
            yield self._head
            self._head = next(self._batches, None)


_NOTHING = pa.table({"@time": pa.array([], pa.int64())})


def _times(events: pa.Table | pa.RecordBatch) -> Numbers:
    times: Numbers = events["@time"].to_numpy()
    return times


def _count_before(times: Numbers, instant: Instant | None) -> int:
    return len(times) if instant is None else int(np.searchsorted(times, instant))
