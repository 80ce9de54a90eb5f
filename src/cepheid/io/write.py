"""Events to files: JSON Lines, CSV and Parquet, each readable as input again."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TextIO, TypeAlias

from cepheid.core.event import Event
from cepheid.core.time import format_instant
from cepheid.core.types import EventType
from cepheid.core.whole_file import whole_file
from cepheid.errors import UsageError, error, reason_of
from cepheid.io.arrow import attribute_types, to_arrow
from cepheid.io.encode import MARKS, encode, to_cell, to_json
from cepheid.io.rows import ColumnarRows

Format: TypeAlias = Literal["jsonl", "csv", "parquet"]


def write_file(
    events: Iterable[Event], path: str | Path, format: Format, types: Mapping[str, EventType]
) -> None:
    """All events into one file, whatever its name; where that fails, the old one stays."""
    try:
        with whole_file(path) as draft:
            if format == "parquet":
                rows = events if isinstance(events, Sequence) else list(events)
                write_parquet(rows, draft, types)
                return
            with open(draft, "w", encoding="utf-8", newline="") as stream:
                write = write_jsonl if format == "jsonl" else write_csv
                write(events, stream)
    except OSError as problem:
        fact = f"cannot write {str(path)!r}: {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None


def write_jsonl(events: Iterable[Event], stream: TextIO) -> None:
    """One line per event, written as the events come; of rows in columns, many at once."""
    if isinstance(events, ColumnarRows):
        from cepheid.io.columns.row_texts import line_texts

        for text in line_texts(events):
            stream.write(text)
        return
    for event in events:
        stream.write(to_json(encode(event)) + "\n")


def write_csv(events: Iterable[Event], stream: TextIO) -> None:
    """'@type', '@time', '@old' and '@timeout' where true of any row, then all attributes.

    The type is a column even where there is only one, so that the text says what it is under any
    file name. Null is an empty cell, and the empty string two quotes.
    """
    if isinstance(events, ColumnarRows):
        from cepheid.io.columns.row_texts import cell_texts

        if (texts := cell_texts(events)) is not None:
            for text in texts:
                stream.write(text)
            return
    rows = list(events)
    names = list(dict.fromkeys(name for event in rows for name in event))
    marks = [mark for mark, is_marked in MARKS.items() if any(map(is_marked, rows))]
    writer = csv.writer(_NewLines(stream), lineterminator="\r\n")
    writer.writerow(["@type", "@time", *marks, *names])
    for event in rows:
        marked = ["true" if MARKS[mark](event) else "" for mark in marks]
        cells = [to_cell(event.values_.get(name)) for name in names]
        writer.writerow([event.type, format_instant(event.instant), *marked, *cells])


class _NewLines:
    """Ends rows with a plain new line.

    The csv module quotes only the characters that end its lines, so it must be told of both.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, row: str) -> None:
        self._stream.write(row.removesuffix("\r\n") + "\n")


def write_parquet(
    events: Sequence[Event], path: str | Path, types: Mapping[str, EventType]
) -> None:
    """One table as `to_arrow` makes it; attributes without a common type are refused."""
    for name, type in attribute_types(events, types).items():
        if type is None:
            fact = f"attribute {name!r} has types that one Parquet column cannot hold"
            hint = "write one file per type, or JSON Lines"
            raise UsageError(error("usage", fact, hint=hint))
    import pyarrow.parquet as pq

    pq.write_table(to_arrow(events, types), path)
