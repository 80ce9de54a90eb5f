"""What lies in the memory of the compiled machine, for people: partial matches and timers.

Windows, groups and rates lie in tables that only the machine's code can read as such: of these it is
said how many rows they have. `explain --stage memory` shows them all, word by word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from cepheid.core.event import Event
from cepheid.matcher.columns.interning import EventReader
from cepheid.matcher.compiling.listing import list_form
from cepheid.matcher.compiling.machine_program import MachineProgram
from cepheid.matcher.contents import Contents, KeptEvent, KeptMatch, KeptTimer
from cepheid.matcher.machine.saved_state import in_use
from cepheid.matcher.vm.memory.access import Memory, Words, rows_of
from cepheid.matcher.vm.memory.free_lists import BINDING
from cepheid.matcher.vm.memory.layout import NONE, Region
from cepheid.matcher.vm.memory.tables import NEVER, LiveRow, NodeKind, NodeRow
from cepheid.program.resolved import ResolvedStatement
from cepheid.semantics.inspection.parts import Texts

_TOLD = {  # tables, and what a row of theirs is
    Region.ITEM: "rows in windows",
    Region.GROUP: "groups",
}
_WAITS = (NodeKind.WAIT, NodeKind.LINE)


def contents_of(
    form: MachineProgram, memory: Memory, events: EventReader, texts: Texts, most: int
) -> Contents:
    awaited = dict(_awaited(form, texts))
    waiting = [*_waiting(form, memory)]
    begun = [each for each in waiting if each[2] != NONE and _is_bound(memory, each[2])]
    found = tuple(
        KeptMatch(
            statement.name,
            tuple(_bound(memory, binding, statement, events)),
            tuple(f"no {text}" if is_absent else text for text in awaited.get(node, ())),
            None if due == NEVER else due,
        )
        for statement, node, binding, due, is_absent in begun[:most]
    )
    timers = sorted((due, statement.name) for statement, _, _, due, _ in waiting if due != NEVER)
    return Contents(
        found,
        len(begun),
        timers=tuple(KeptTimer(*each) for each in timers[:most]),
        words=tuple(_words(memory)),
    )


def _awaited(form: MachineProgram, texts: Texts) -> Iterator[tuple[int, tuple[str, ...]]]:
    """What each wait waits for, as it is written."""
    for statement in list_form(form):
        for node in statement.nodes:
            yield node.number, tuple(map(texts.pattern, node.steps))


def _waiting(
    form: MachineProgram, memory: Memory
) -> Iterator[tuple[ResolvedStatement, int, int, int, bool]]:
    """Of each instance that waits: its statement, its wait, what is bound, when it falls due, and whether
    what it waits for must not come."""
    live, nodes = rows_of(memory, Region.LIVE), rows_of(memory, Region.NODE)
    for number in np.flatnonzero(in_use(Region.LIVE, live)).tolist():
        row = live[number]
        kind = NodeKind(int(nodes[row[LiveRow.NODE], NodeRow.KIND]))
        statement = form.statements[int(nodes[row[LiveRow.NODE], NodeRow.STATEMENT])]
        if kind in _WAITS:
            wait = int(row[LiveRow.WAIT if kind is NodeKind.LINE else LiveRow.NODE])
            bound = int(row[LiveRow.BOUND if kind is NodeKind.LINE else LiveRow.BEGIN])
            above = live[row[LiveRow.PARENT], LiveRow.NODE] if row[LiveRow.PARENT] != NONE else NONE
            is_absent = above != NONE and nodes[above, NodeRow.KIND] == NodeKind.ABSENT
            yield statement, wait, bound, int(row[LiveRow.DUE]), bool(is_absent)
        elif row[LiveRow.DUE] != NEVER:
            yield statement, int(row[LiveRow.NODE]), NONE, int(row[LiveRow.DUE]), False


def _is_bound(memory: Memory, binding: int) -> bool:
    row: Words = rows_of(memory, BINDING)[binding]
    return bool((row[:-1] != NONE).any())


def _bound(
    memory: Memory, binding: int, statement: ResolvedStatement, events: EventReader
) -> Iterator[KeptEvent]:
    row: Words = rows_of(memory, BINDING)[binding]
    for place, (tag, type) in enumerate(statement.tags.items()):
        number = int(row[place])
        if number != NONE:
            some = events.events(number) if _is_list(type) else [events.event(number)]
            for event in some:
                yield replace(_event(event), tag=tag)


def _is_list(type: object) -> bool:
    from cepheid.core.types import ArrayType

    return isinstance(type, ArrayType)


def _event(event: Event) -> KeptEvent:
    known: Mapping[str, object] = event.values_
    values = {name: event.values_[name] for name, value in known.items() if value is not None}
    return KeptEvent(event.type, None, event.instant, values)


def _words(memory: Memory) -> Iterator[str]:
    for region, what in _TOLD.items():
        table = rows_of(memory, region)
        count = int(np.count_nonzero(in_use(region, table)))
        if count:
            yield f"{count:,} {what}"
