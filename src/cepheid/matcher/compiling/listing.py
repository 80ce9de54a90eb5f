"""The machine form for people: of each statement its operators and their code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cepheid.core.time import Period
from cepheid.matcher.compiling.disassembly import listing
from cepheid.matcher.compiling.machine_program import MachineProgram
from cepheid.matcher.vm.memory.layout import NONE, Region
from cepheid.matcher.vm.memory.tables import Effect, NodeKind, NodeRow, StatementRow
from cepheid.pattern.tree import Pattern, children, walk

KINDS = {
    NodeKind.ROOT: "root",
    NodeKind.WAIT: "wait",
    NodeKind.LINE: "line",
    NodeKind.EVERY: "every",
    NodeKind.DISTINCT: "every-distinct",
    NodeKind.FOLLOWED: "followed",
    NodeKind.ALL: "and",
    NodeKind.ANY: "or",
    NodeKind.ABSENT: "not",
    NodeKind.REPEAT: "repeat",
    NodeKind.WITHIN: "within",
    NodeKind.WHILE: "while",
    NodeKind.AT: "at",
}
Code = Mapping[str, str]  # what it is for -> its instructions, one a line


@dataclass(frozen=True, slots=True)
class ListedNode:
    """An operator, and the events and timers of the written pattern that it stands for."""

    number: int
    depth: int
    kind: str
    detail: str
    steps: tuple[Pattern, ...]
    code: Code


@dataclass(frozen=True, slots=True)
class ListedStatement:
    name: str
    nodes: tuple[ListedNode, ...]
    code: Code


def list_form(form: MachineProgram) -> tuple[ListedStatement, ...]:
    """The statements in the order in which they take an event."""
    return tuple(_statement(form, number) for number in range(len(form.statements)))


def _statement(form: MachineProgram, number: int) -> ListedStatement:
    statement, row = form.statements[number], form.tables[Region.STATEMENT][number]
    codes = {
        "condition": row[StatementRow.CONDITION],
        "where": row[StatementRow.WHERE],
        "having": row[StatementRow.HAVING],
    }
    columns = _listed(form, row[StatementRow.COLUMNS], 2 * row[StatementRow.COLUMN_COUNT])
    for column, begin in zip(statement.columns, columns[::2], strict=True):
        codes[f"column {column.name}"] = begin
    nodes = (
        ()
        if row[StatementRow.ROOT] == NONE
        else tuple(_nodes(form, number, row[StatementRow.ROOT]))
    )
    return ListedStatement(statement.name, nodes, _code(form, codes))


def _nodes(form: MachineProgram, statement: int, root: int) -> Iterator[ListedNode]:
    steps: dict[int, list[Pattern]] = {}
    pattern = form.statements[statement].pattern
    leaves = [part for part in walk(pattern) if not any(children(part))] if pattern else []
    for leaf, (node, _) in zip(leaves, form.steps[statement], strict=True):
        steps.setdefault(node, []).append(leaf)
    pending = [(root, 0)]
    while pending:
        number, depth = pending.pop()
        row = form.tables[Region.NODE][number]
        parts, code = tuple(steps.get(number, ())), _node_code(form, row)
        yield ListedNode(
            number, depth, KINDS[NodeKind(row[NodeRow.KIND])], _detail(row), parts, code
        )
        below, child = [], row[NodeRow.CHILD]
        while child != NONE:
            below.append((child, depth + 1))
            child = form.tables[Region.NODE][child][NodeRow.NEXT]
        pending += reversed(below)


def _detail(row: tuple[int, ...]) -> str:
    """What the numbers of an operator say, where it has any."""
    kind = row[NodeRow.KIND]
    period = Period(row[NodeRow.PERIOD], row[NodeRow.MONTHS])
    if kind == NodeKind.WITHIN:
        return (
            f"for {period}"
            if row[NodeRow.HIGH] == NONE
            else f"for {period}, at most {row[NodeRow.HIGH]}"
        )
    if kind == NodeKind.REPEAT:
        low, high = (
            "" if row[word] == NONE else str(row[word]) for word in (NodeRow.LOW, NodeRow.HIGH)
        )
        return f"[{low}:{high}]"
    if kind != NodeKind.WAIT:
        return ""
    fails = [f"after {period}"] if row[NodeRow.TIMER_DOES] == Effect.FAILS else []
    fails += ["with the event"] if row[NodeRow.EVENT_DOES] == Effect.FAILS else []
    return f"fails {' or '.join(fails)}" if fails else ""


def _node_code(form: MachineProgram, row: tuple[int, ...]) -> Code:
    codes = {"early": row[NodeRow.EARLY], "late": row[NodeRow.LATE]}
    for name, begin in (
        ("key of the event", NodeRow.EVENT_KEYS),
        ("key of the run", NodeRow.BOUND_KEYS),
    ):
        for place, code in enumerate(_listed(form, row[begin], row[NodeRow.KEYS])):
            codes[f"{name} {place}"] = code
    return _code(form, codes)


def _listed(form: MachineProgram, begin: int, count: int) -> list[int]:
    return (
        [word for [word] in form.tables[Region.LIST][begin : begin + count]]
        if begin != NONE
        else []
    )


def _code(form: MachineProgram, codes: Mapping[str, int]) -> Code:
    return {n: listing(form.code, c, form.sites) for n, c in codes.items() if c != NONE}
