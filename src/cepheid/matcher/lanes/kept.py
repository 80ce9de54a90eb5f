"""What lanes keep, for people: their words become values again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cepheid.core.event import Value
from cepheid.core.types import STRING
from cepheid.matcher.columns.batches import as_arrow
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.contents import KeptEvent, KeptMatch
from cepheid.matcher.lanes.chain_plan import Attribute, Chain
from cepheid.matcher.lanes.event_history import EventHistory
from cepheid.matcher.lanes.predicates import Values
from cepheid.matcher.operator import Column
from cepheid.matcher.vm.lanes.chain_runs import RunRow
from cepheid.matcher.vm.memory.layout import NONE
from cepheid.pattern.algebra import Taken
from cepheid.pattern.tree import Atom, walk
from cepheid.program.resolved import ResolvedStatement
from cepheid.semantics.inspection.parts import Texts


def values_of(
    columns: Mapping[str, tuple[Column, Values]], pool: Pool
) -> Iterator[dict[str, Value]]:
    """Rows with what is known of each; nulls are left out."""
    lists = {
        name: as_arrow(values, column.data_type, pool).to_pylist()
        for name, (column, values) in columns.items()
    }
    count = max((len(values) for values in lists.values()), default=0)
    for place in range(count):
        yield {n: values[place] for n, values in lists.items() if values[place] is not None}


def steps_of(statement: ResolvedStatement, texts: Texts) -> list[tuple[str | None, str]]:
    """The events of a pattern in the order in which they are written, each with its tag."""
    pattern = statement.pattern
    parts = [] if pattern is None else [p for p in walk(pattern) if isinstance(p, Atom | Taken)]
    return [(part.tag if isinstance(part, Atom) else None, texts.pattern(part)) for part in parts]


def chain_match(
    chain: Chain,
    run: Words,
    steps: Sequence[tuple[str | None, str]],
    shown: Mapping[Attribute, Column],
    own: Mapping[int, Column],
    kept: EventHistory,
    pool: Pool,
) -> KeptMatch | None:
    """A run of a chain; None of one that only waits for its first event."""
    links = len(chain.links)
    bound = run[RunRow.EVENTS : RunRow.EVENTS + links]
    begun = int((bound != NONE).sum())
    if not begun:
        return None
    named = [
        steps[n] if len(steps) >= links else (None, chain.links[n].event_type) for n in range(links)
    ]
    events = tuple(
        KeptEvent(
            chain.links[n].event_type,
            named[n][0],
            values=_values_at(int(bound[n]), n, shown, kept, pool),
        )
        for n in range(begun)
    )
    is_last = begun == links - 1
    due = int(run[RunRow.DUE]) if is_last and chain.period is not None else None
    awaited = named[begun][1] if begun < links else ""
    awaits = f"no {awaited} until then" if is_last and chain.ending == "absence" else awaited
    return KeptMatch(
        chain.statement.name,
        events,
        (awaits,) if awaits else (),
        due,
        tuple(_key(chain, run, begun, own, pool)),
    )


def _values_at(
    number: int, link: int, shown: Mapping[Attribute, Column], kept: EventHistory, pool: Pool
) -> Mapping[str, Value]:
    place = np.array([number])
    columns = {
        attribute.name: (column, kept.of(column.name, place))
        for attribute, column in shown.items()
        if attribute.link == link
    }
    return next(values_of(columns, pool), {})


def _key(
    chain: Chain, run: Words, link: int, own: Mapping[int, Column], pool: Pool
) -> Iterator[Value]:
    """The value that the awaited event must have."""
    links = len(chain.links)
    is_null = bool((int(run[RunRow.LOST]) >> link) & 1)
    if link < links and chain.links[link].other is not None and not is_null:
        word = int(run[RunRow.EVENTS + links + link])
        yield pool.value(word) if own[link].data_type == STRING else word
