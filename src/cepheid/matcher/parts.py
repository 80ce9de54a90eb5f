"""Parts of a program none of which takes what another derives: each runs in the way that is fastest for it.

One statement that needs the machine, or the reference semantics, so keeps only those there that it has to do with.
The keys of rows say how those of all parts follow each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from cepheid.core.once import once
from cepheid.core.time import Instant
from cepheid.matcher.columns.interning import Words
from cepheid.matcher.columns.typed_columns import Array
from cepheid.matcher.contents import Contents, joined
from cepheid.matcher.gaps import left_to_reference
from cepheid.matcher.lanes.plan import EACH, Way, lanes_of, ways_together
from cepheid.matcher.operator import Operator, columns_within, open_operator, rows_schema
from cepheid.program.graph import connected, graph_of
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.seal import Seal

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.semantics.inspection.parts import Texts

K = TypeVar("K", bound=Hashable)
_LEAST = np.iinfo(np.int64).min  # a key that ends comes before those that go on


@once
def parts_of(program: ResolvedProgram) -> tuple[ResolvedProgram, ...]:
    """What takes whole batches, what the machine runs, and what is left to the reference semantics.

    Nothing where that is the same for all statements.
    """
    return _grouped(program, _way)


@once
def parts_of_pushes(program: ResolvedProgram) -> tuple[ResolvedProgram, ...]:
    """The same for single events, which no one takes in batches: what is compiled, and what is not."""
    return _grouped(program, lambda part: bool(left_to_reference(part)))


@once
def ways_of(program: ResolvedProgram) -> dict[str, Way]:
    """How each statement takes the events of a batch, by its name."""
    if lanes_of(program) is not None or not parts_of(program):
        return ways_together(program)
    names = [statement.name for statement in program.statements]
    parts = (
        program.part([names[number] for number in numbers])
        for numbers in connected(graph_of(program))
    )
    found = {name: way for part in parts for name, way in _ways(part).items()}
    return {name: found[name] for name in names}


def _ways(part: ResolvedProgram) -> dict[str, Way]:
    if lanes_of(part) is None or _way(part) == "lanes":
        return ways_together(part)
    because = "beside parts that take each event by itself, what its timers bring has no order"
    return {statement.name: Way(EACH, because) for statement in part.statements}


def _way(part: ResolvedProgram) -> str:
    lanes = lanes_of(part)
    if lanes is not None and lanes.has_keys:
        return "lanes"
    return "reference" if left_to_reference(part) else "machine"


def _grouped(
    program: ResolvedProgram, way: Callable[[ResolvedProgram], K]
) -> tuple[ResolvedProgram, ...]:
    groups: dict[K, list[str]] = {}
    for numbers in connected(graph_of(program)):
        names = [program.statements[number].name for number in numbers]
        groups.setdefault(way(program.part(names)), []).extend(names)
    return () if len(groups) < 2 else tuple(map(program.part, groups.values()))


class PartsOperator(Operator):
    """Runs each part by an operator of its own."""

    def __init__(
        self, program: ResolvedProgram, parts: Sequence[ResolvedProgram], *, ranked: bool = False
    ) -> None:
        self.program = program
        self._operators = [open_operator(part, ranked=ranked) for part in parts]
        self._columns = [columns_within(program, part) for part in parts]
        self._schema = rows_schema(program, ranked=ranked)
        self._seal = Seal("parts", "1", program)

    # -- time --

    @property
    def clock(self) -> Instant | None:
        return self._operators[0].clock

    def start(self, instant: Instant) -> None:
        for operator in self._operators:
            operator.start(instant)

    def advance(self, instant: Instant) -> pa.Table:
        return self._merged([operator.advance(instant) for operator in self._operators])

    def next_due(self) -> Instant | None:
        due = [found for one in self._operators if (found := one.next_due()) is not None]
        return min(due, default=None)

    # -- events --

    def take(self, events: pa.RecordBatch | pa.Table) -> pa.Table:
        import pyarrow as pa

        table = pa.Table.from_batches([events]) if isinstance(events, pa.RecordBatch) else events
        pairs = zip(self._operators, self._columns, strict=True)
        return self._merged([one.take(columns.of(table)) for one, columns in pairs])

    def _merged(self, tables: Sequence[pa.Table]) -> pa.Table:
        """The rows of all parts in the order of their keys."""
        import pyarrow as pa

        found = [table for table in tables if table.num_rows]
        joined = pa.concat_tables(
            [self._schema.empty_table(), *found], promote_options="default"
        ).select(self._schema.names)
        if len(found) < 2:
            return joined
        order: Array = pa.array(sorted_keys(joined["@key"].combine_chunks()))
        return joined.take(order)

    # -- state --

    def save(self) -> bytes:
        return self._seal.close(joined_states([operator.save() for operator in self._operators]))

    def load(self, state: bytes) -> None:
        parts = parted_states(self._seal.open(state))
        for operator, part in zip(self._operators, parts, strict=True):
            operator.load(part)

    def contents(self, texts: Texts, most: int) -> Contents:
        return joined((one.contents(texts, most) for one in self._operators), most)


def joined_states(saved: Sequence[bytes]) -> bytes:
    sizes = json.dumps([len(state) for state in saved]).encode()
    return b"".join([len(sizes).to_bytes(4), sizes, *saved])


def parted_states(joined: bytes) -> Iterator[bytes]:
    begin = 4 + int.from_bytes(joined[:4])
    for size in json.loads(joined[4:begin]):
        yield joined[begin : begin + size]
        begin += size


def sorted_keys(keys: Array) -> Words:
    """The places of lists of words, in the order of the lists."""
    sizes: Words = keys.value_lengths().to_numpy().astype(np.int64)
    words = np.full((len(keys), int(sizes.max(initial=0))), _LEAST)
    words[np.arange(words.shape[1]) < sizes[:, None]] = keys.flatten().to_numpy()
    found: Words = np.lexsort(words.T[::-1])
    return found
