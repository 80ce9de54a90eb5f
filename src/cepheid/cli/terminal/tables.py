"""Rows as people read them: a table per type, or a tree per row with what is behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from cepheid.cli.terminal.console import counted
from cepheid.cli.terminal.diagnostics import one_line
from cepheid.cli.terminal.text_table import Column, TextTable
from cepheid.core.event import Event, Value
from cepheid.core.time import format_instant
from cepheid.io.causes import causes_of
from cepheid.io.encode import encode_value, to_json
from cepheid.result import Step

_MOST_ROWS = 1_000  # of one table: widths are found by looking at all of them
_DEEPEST = 12  # levels of a tree, which must leave room for its texts


def print_tables(rows: Sequence[Event], types: Sequence[str], console: Console) -> None:
    """One table per type, in the order of the types."""
    for type in types:
        own = [row for row in rows if row.type == type]
        for start in range(0, len(own), _MOST_ROWS):
            title = f"{one_line(type)} ({counted(len(own), 'row')})" if start == 0 else None
            console.print(_sheet(title, own[start : start + _MOST_ROWS]))
        if own:
            console.print()


def _sheet(title: str | None, rows: Sequence[Event]) -> TextTable:
    names = list(dict.fromkeys(name for row in rows for name in row))
    is_marked = any(row.is_old or row.is_timeout for row in rows)
    marks = [Column("", style="dim")] if is_marked else []
    columns = [Column("time", style="cyan"), *marks, *(_column(name, rows) for name in names)]
    sheet = TextTable(columns, title)
    for row in rows:
        mark = [_mark(row)] if is_marked else []
        cells = (_cell(row.values_.get(name)) for name in names)
        sheet.add(format_instant(row.instant), *mark, *cells)
    return sheet


def _column(name: str, rows: Sequence[Event]) -> Column:
    is_number = all(_is_number(row.values_.get(name)) for row in rows)
    return Column(one_line(name), "right" if is_number else "left")


def _is_number(value: Value) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _mark(row: Event) -> str:
    return "old" if row.is_old else "timeout" if row.is_timeout else ""


def _cell(value: Value) -> Text:
    return Text("null", "dim") if value is None else Text(plain(value))


def plain(value: Value) -> str:
    """A value in one line: a cause as its class and key, events and lists as JSON."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict) and "@type" in value:
        return " ".join(plain(part) for part in value.values())
    encoded = encode_value(value)
    return one_line(encoded if isinstance(encoded, str) else to_json(encoded))


def print_trees(rows: Iterable[Event], console: Console) -> None:
    """Each row with the events behind it, in the order of the rows."""
    for row in rows:
        console.print(_tree(row))


def _tree(row: Event) -> Tree:
    top = Tree(event_line(row, "bold"), guide_style="dim")
    path = [top]
    for cause in causes_of(row, _DEEPEST):
        del path[cause.depth :]
        text = event_line(cause.event, "")
        if cause.is_cut:
            text.append(" ...", "dim")
        path.append(path[-1].add(text))
    return top


def event_line(event: Event, style: str) -> Text:
    """An event in one line."""
    parts = [f"{name}={plain(value)}" for name, value in _told(event)]
    mark = _mark(event)
    return Text.assemble(
        (one_line(event.type), style or "green"),
        " ",
        (format_instant(event.instant), "cyan"),
        f" {mark}" if mark else "",
        *(f" {part}" for part in parts),
    )


def _told(event: Event) -> Iterator[tuple[str, Value]]:
    return ((one_line(name), value) for name, value in event.items() if value is not None)


def print_steps(steps: Sequence[Step], console: Console) -> None:
    """How far the patterns of a run that found nothing got."""
    columns = Column("statement"), Column("step"), Column("times", "right")
    sheet = TextTable(columns, "how often each step was reached")
    last = None
    for step in steps:
        name = "" if step.statement == last else one_line(step.statement)
        sheet.add(name, one_line(step.step), f"{step.count:,}")
        last = step.statement
    console.print(sheet)
