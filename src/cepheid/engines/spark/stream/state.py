"""A bucket of keys in a stream: events wait until the watermark passes them, then happen in order.

Nothing here knows Spark. A bucket is made from the bytes that it saved last, takes one step for each
micro-batch that concerns it, and is saved again; what a step releases at once is never saved.

The saved bytes are sealed as all states are: a line that people can read, and a checksum. Then come
the number of buckets, clock and sizes, the waiting events, as an Arrow stream, and the state of the
operator. They are refused with a RunError if they are damaged, of another format or program, or were
saved with another number of buckets; the operator refuses those of a program whose timed-out matches
were not asked for alike. A program is what it says, not how it is written: comments, layout and the division into files may change between
two runs, and so may the delay. A declaration that is added, removed, changed or moved makes another
program.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.core.time import Instant
from cepheid.engines.common.texts import TEXTS
from cepheid.engines.spark.codec.sort_keys import Numbers, sorted_events
from cepheid.engines.spark.shared_operator import SharedOperator
from cepheid.engines.spark.shuffle.blocks import from_bytes, to_bytes
from cepheid.engines.spark.stream.watermarks import IdleSince
from cepheid.errors import RunError, error
from cepheid.matcher.contents import Contents
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.seal import Seal

VERSION = "4"
_NUMBER = 4  # bytes of a length


@dataclass(frozen=True, slots=True)
class Buckets:
    """What all buckets of a stream have in common."""

    program: ResolvedProgram
    count: int | None  # None: as many as there are, for those who only look
    sort_keys: tuple[str, ...] = ("@sequence",)  # what orders events of one time
    start: Instant | None = None  # else the program begins with its first event
    timed_out: bool = False
    is_fed: bool = False  # others derive some of its events, which have a '@key'
    why: bool = False
    seal: Seal = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seal", Seal("bucket", VERSION, self.program))

    def shared_operator(self) -> SharedOperator:
        return SharedOperator(
            self.program, timed_out=self.timed_out, why=self.why, is_fed=self.is_fed
        )


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a step brings: rows of the program, and events that came too late; None for no table."""

    rows: pa.Table | None
    late: pa.Table | None


@dataclass(frozen=True, slots=True)
class Kept:
    """What a bucket keeps, for people: types and times of the events that wait, and what its operator has."""

    happened: Instant | None  # everything up to here has
    waiting: tuple[tuple[str | None, Instant], ...]
    contents: Contents


class Bucket:
    """The events of some keys on their way through a program."""

    def __init__(
        self, buckets: Buckets, shared_operator: SharedOperator, saved: bytes | None = None
    ) -> None:
        self._buckets = buckets
        self._waiting: pa.Table | None = None
        self._passed: Instant | None = None  # everything up to here has happened
        self._idle_since: IdleSince | None = None
        state = None if saved is None else self._load(saved)
        self._operator = shared_operator.operator(state)
        if saved is None and buckets.start is not None:
            self._operator.start(buckets.start)
            self._passed = buckets.start - 1

    def process(
        self, events: pa.Table | None, watermark: Instant | None, until: Instant | None = None
    ) -> Outputs:
        """Takes the events of a micro-batch; everything up to `until` happens.

        `watermark` is that at the start of the micro-batch: what is not after it is late. `until`
        is the watermark itself, or beyond it where it is known that the next one will be; None
        stands for a watermark of which nothing is known yet.
        """
        late = None
        if events is not None:
            events, late = self._in_time(events, watermark)
        until = _latest(watermark, until)
        rows = [*self._release(_together(self._waiting, events), until)]
        clock = self._operator.clock
        if until is not None and clock is not None:
            # The clock is ahead where a watermark was moved by an idle source, or a delay changed.
            rows.append(self._operator.advance(max(until, clock)))
        self._passed = _latest(self._passed, until)
        return Outputs(pa.concat_tables(rows) if rows else None, late)

    def _in_time(self, events: pa.Table, watermark: Instant | None) -> tuple[pa.Table, pa.Table]:
        """The events that can still happen, and those that came too late.

        What others derive comes as soon as the watermark passes it, and not before: it is in time.
        """
        if not self._buckets.is_fed:
            return _split(events, _latest(watermark, self._passed))
        is_given = pc.is_valid(events["@key"])
        given, behind = _split(events.filter(is_given), self._passed)
        fresh, late = _split(events.filter(pc.invert(is_given)), _latest(watermark, self._passed))
        return pa.concat_tables([given, fresh]), pa.concat_tables([behind, late])

    def _release(self, events: pa.Table | None, until: Instant | None) -> Iterator[pa.Table]:
        """Lets events happen up to an instant; the others wait."""
        self._waiting = None
        if events is not None:
            waiting, due = _split(events, until)
            if waiting.num_rows:
                self._waiting = waiting
            if due.num_rows:
                yield self._operator.take(self._numbered(due))

    def _numbered(self, events: pa.Table) -> pa.Table:
        """In their order; where they have no sequence, that is one, as all of a time are here."""
        if self._buckets.is_fed:
            return sorted_by_row_key(events)
        ordered = sorted_events(events, self._buckets.sort_keys)
        if "@sequence" in ordered.column_names:
            return ordered
        return ordered.append_column("@sequence", pa.array(np.arange(ordered.num_rows)))

    def idle_since(self, watermark: int, now: int) -> IdleSince:
        """How long Spark's watermark has been what it is, as far as this was asked."""
        if self._idle_since is None or self._idle_since.watermark != watermark:
            self._idle_since = IdleSince(watermark, now)
        return self._idle_since

    @property
    def wakes(self) -> Instant | None:
        """The watermark that the next step waits for; None if only events bring one."""
        return min(
            (i for i in (_first_time(self._waiting), self._operator.next_due()) if i is not None),
            default=None,
        )

    def kept(self, most: int) -> Kept:
        """Of many things the first ones."""
        waiting: list[tuple[str | None, Instant]] = []
        if self._waiting is not None:
            columns = (self._waiting[name].to_pylist() for name in ("@type", "@time"))
            waiting = list(zip(*columns, strict=True))
        return Kept(self._passed, tuple(waiting), self._operator.contents(TEXTS, most))

    def save(self) -> bytes:
        waiting = b"" if self._waiting is None else to_bytes(self._waiting)
        header = {
            "buckets": self._buckets.count,
            "passed": self._passed,
            "waiting": len(waiting),
            "idle_since": self._idle_since and astuple(self._idle_since),
        }
        head = json.dumps(header).encode()
        payload = len(head).to_bytes(_NUMBER) + head + waiting + self._operator.save()
        return self._buckets.seal.close(payload)

    def _load(self, saved: bytes) -> bytes:
        """Goes on from there; what is left is the state of the operator."""
        payload = self._buckets.seal.open(saved)
        end = _NUMBER + int.from_bytes(payload[:_NUMBER])
        header, body = json.loads(payload[_NUMBER:end]), payload[end:]
        if self._buckets.count not in (None, header["buckets"]):
            fact = f"this stream began with {header['buckets']} buckets, not {self._buckets.count}"
            raise _bad_state(fact, "the first run fixes their number: give the same")
        size = header["waiting"]
        self._waiting = from_bytes(body[:size]) if size else None
        self._passed = header["passed"]
        self._idle_since = IdleSince(*header["idle_since"]) if header["idle_since"] else None
        return body[size:]


def _bad_state(fact: str, hint: str = "start afresh, with a new checkpoint") -> RunError:
    return RunError(error("bad-state", fact, hint=hint))


# Tables of events -----------------------------------------------------------------------------


def sorted_by_row_key(events: pa.Table) -> pa.Table:
    """The events by '@key', as one chunk; those of the input have (time, 1, sequence, 0)."""
    times: Numbers = events["@time"].to_numpy()
    order = np.argsort(times, kind="stable")
    same = np.flatnonzero(np.diff(times[order]) == 0)
    if len(same):
        tied = np.union1d(same, same + 1)
        rivals = order[tied]
        order[tied] = rivals[np.lexsort(_keys(events.take(rivals)).T[::-1])]
    return events.take(order).combine_chunks()


def _keys(events: pa.Table) -> Numbers:
    """The keys as rows of one length; a shorter one comes before what begins with it."""
    keys: Any = events["@key"].combine_chunks()
    lengths: Numbers = keys.value_lengths().fill_null(0).to_numpy()
    matrix = np.full((len(keys), max(4, int(lengths.max()))), np.iinfo(np.int64).min)
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = keys.flatten().to_numpy()
    is_input = lengths == 0
    matrix[is_input, 0] = events["@time"].to_numpy()[is_input]
    matrix[is_input, 1] = 1
    matrix[is_input, 2] = events["@sequence"].to_numpy()[is_input]
    matrix[is_input, 3] = 0
    return matrix


def _together(waiting: pa.Table | None, events: pa.Table | None) -> pa.Table | None:
    if waiting is None or events is None:
        return events if waiting is None else waiting
    if waiting.schema != events.schema:
        raise _bad_state("the columns of the events are not those of the events that wait")
    return pa.concat_tables([waiting, events])


def _split(events: pa.Table, instant: Instant | None) -> tuple[pa.Table, pa.Table]:
    """The events after an instant, and those up to it."""
    none, times = events.slice(0, 0), pc.min_max(events["@time"])
    if instant is None or not events.num_rows or times["min"].as_py() > instant:
        return events, none
    if times["max"].as_py() <= instant:
        return none, events
    is_after = pc.greater(events["@time"], pa.scalar(instant, pa.int64()))
    return events.filter(is_after), events.filter(pc.invert(is_after))


def _first_time(events: pa.Table | None) -> Instant | None:
    found: Instant | None = None if events is None else pc.min(events["@time"]).as_py()
    return found


def _latest(*instants: Instant | None) -> Instant | None:
    return max((i for i in instants if i is not None), default=None)
