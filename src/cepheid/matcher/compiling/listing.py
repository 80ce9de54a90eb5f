"""The machine form for people: of each statement its operators and their code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cepheid.core.time import Period
from cepheid.matcher.compiling.disassembly import listing
from cepheid.matcher.compiling.machine_program import MachineProgram
from cepheid.matcher.vm.memory.layout import NONE
from cepheid.matcher.vm.memory.tables import (
    ABSENT,
    ALL,
    ANY,
    AT,
    DISTINCT,
    EVERY,
    FAILS,
    FOLLOWED,
    LINE,
    LIST,
    N_BOUND_KEYS,
    N_CHILD,
    N_EARLY,
    N_EVENT_DOES,
    N_EVENT_KEYS,
    N_HIGH,
    N_KEYS,
    N_KIND,
    N_LATE,
    N_LOW,
    N_MONTHS,
    N_NEXT,
    N_PERIOD,
    N_TIMER_DOES,
    NODE,
    REPEAT,
    ROOT,
    S_COLUMN_COUNT,
    S_COLUMNS,
    S_CONDITION,
    S_HAVING,
    S_ROOT,
    S_WHERE,
    STATEMENT,
    WAIT,
    WHILE,
    WITHIN,
)
from cepheid.pattern.tree import Pattern, children, walk

KINDS = {
    ROOT: "root",
    WAIT: "wait",
    LINE: "line",
    EVERY: "every",
    DISTINCT: "every-distinct",
    FOLLOWED: "followed",
    ALL: "and",
    ANY: "or",
    ABSENT: "not",
    REPEAT: "repeat",
    WITHIN: "within",
    WHILE: "while",
    AT: "at",
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
    statement, row = form.statements[number], form.tables[STATEMENT][number]
    codes = {"condition": row[S_CONDITION], "where": row[S_WHERE], "having": row[S_HAVING]}
    columns = _listed(form, row[S_COLUMNS], 2 * row[S_COLUMN_COUNT])
    for column, begin in zip(statement.columns, columns[::2], strict=True):
        codes[f"column {column.name}"] = begin
    nodes = () if row[S_ROOT] == NONE else tuple(_nodes(form, number, row[S_ROOT]))
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
        row = form.tables[NODE][number]
        parts, code = tuple(steps.get(number, ())), _node_code(form, row)
        yield ListedNode(number, depth, KINDS[row[N_KIND]], _detail(row), parts, code)
        below, child = [], row[N_CHILD]
        while child != NONE:
            below.append((child, depth + 1))
            child = form.tables[NODE][child][N_NEXT]
        pending += reversed(below)


def _detail(row: tuple[int, ...]) -> str:
    """What the numbers of an operator say, where it has any."""
    kind = row[N_KIND]
    period = Period(row[N_PERIOD], row[N_MONTHS])
    if kind == WITHIN:
        return f"for {period}" if row[N_HIGH] == NONE else f"for {period}, at most {row[N_HIGH]}"
    if kind == REPEAT:
        low, high = ("" if row[word] == NONE else str(row[word]) for word in (N_LOW, N_HIGH))
        return f"[{low}:{high}]"
    if kind != WAIT:
        return ""
    fails = [f"after {period}"] if row[N_TIMER_DOES] == FAILS else []
    fails += ["with the event"] if row[N_EVENT_DOES] == FAILS else []
    return f"fails {' or '.join(fails)}" if fails else ""


def _node_code(form: MachineProgram, row: tuple[int, ...]) -> Code:
    codes = {"early": row[N_EARLY], "late": row[N_LATE]}
    for name, begin in (("key of the event", N_EVENT_KEYS), ("key of the run", N_BOUND_KEYS)):
        for place, code in enumerate(_listed(form, row[begin], row[N_KEYS])):
            codes[f"{name} {place}"] = code
    return _code(form, codes)


def _listed(form: MachineProgram, begin: int, count: int) -> list[int]:
    return [word for [word] in form.tables[LIST][begin : begin + count]] if begin != NONE else []


def _code(form: MachineProgram, codes: Mapping[str, int]) -> Code:
    return {n: listing(form.code, c, form.sites) for n, c in codes.items() if c != NONE}
