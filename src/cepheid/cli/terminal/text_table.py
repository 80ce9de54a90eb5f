"""A table that cuts nothing: where the terminal is too narrow for it, it becomes a listing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

_GAP = 3  # cells between two columns
_HUMP = re.compile(r"[A-Z]+[^A-Z_]*_*|[^A-Z_]+_*|_+")  # of a name: initial, Speed


@dataclass(slots=True)
class Column:
    name: str
    justify: Literal["left", "right"] = "left"
    style: str = ""
    is_whole: bool = False  # its lines must not wrap

    def least(self, texts: Sequence[str]) -> int:
        """The width that breaks no word; the name of the column may break at its capitals."""
        parts = [part for text in texts for part in _parts(text, self.is_whole)]
        return max(_longest(parts), _longest(_HUMP.findall(self.name)))

    def most(self, texts: Sequence[str]) -> int:
        return _longest([self.name, *(line for text in texts for line in text.split("\n"))])

    def heading(self, width: int) -> Text:
        lines = [""]
        for hump in _HUMP.findall(self.name):
            if cell_len(lines[-1] + hump) > width:
                lines.append("")
            lines[-1] += hump
        return Text("\n".join(line.strip() for line in lines))


@dataclass(slots=True)
class TextTable:
    """Rows of texts under the names of their columns.

    Texts wrap between words. Where not even the longest words have room beside each other, every
    text has lines of its own, behind the name of its column.
    """

    columns: Sequence[Column]
    title: str | None = None
    is_spaced: bool = False
    rows: list[Sequence[Text]] = field(default_factory=list)

    def add(self, *texts: str | Text) -> None:
        self.rows.append([text if isinstance(text, Text) else Text(text) for text in texts])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.title is not None:
            yield Text(self.title, "bold")
        widths = self._widths(options.max_width)
        yield self._listing() if widths is None else self._table(widths)

    def _widths(self, room: int) -> list[int] | None:
        """A width for each column that breaks no word, or None."""
        texts = [[row[n].plain for row in self.rows] for n in range(len(self.columns))]
        least = [column.least(own) for column, own in zip(self.columns, texts, strict=True)]
        most = [column.most(own) for column, own in zip(self.columns, texts, strict=True)]
        spare = room - sum(least) - _GAP * (len(least) - 1)
        return None if spare < 0 else _shared_out(spare, least, most)

    def _table(self, widths: Sequence[int]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for column, width in zip(self.columns, widths, strict=True):
            heading = column.heading(width)
            table.add_column(heading, justify=column.justify, style=column.style, width=width)
        for row in self.rows:
            table.add_row(*row, end_section=self.is_spaced)
        return table

    def _listing(self) -> Table:
        """What is empty is left out."""
        listing = Table.grid(padding=(0, 2, 0, 0))
        listing.add_column(style="dim", no_wrap=True, overflow="fold")
        listing.add_column(overflow="fold")
        for number, row in enumerate(self.rows):
            if number:
                listing.add_row()
            for column, text in zip(self.columns, row, strict=True):
                if text:
                    listing.add_row(Text(column.name), Text.assemble(text, style=column.style))
        return listing


def _parts(text: str, is_whole: bool) -> list[str]:
    return text.split("\n") if is_whole else text.split()


def _longest(parts: Sequence[str]) -> int:
    return max(map(cell_len, parts), default=0)


def _shared_out(spare: int, least: Sequence[int], most: Sequence[int]) -> list[int]:
    """The least widths and as much of the spare room as each can use, the modest ones first."""
    widths = list(least)
    modest_first = sorted(range(len(least)), key=lambda n: most[n] - least[n])
    for rank, n in enumerate(modest_first):
        extra = min(most[n] - least[n], spare // (len(least) - rank))
        widths[n] += extra
        spare -= extra
    return widths
