"""CSV files as records whose values are still text."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator

from cepheid.errors import InputError, Span, error
from cepheid.io.encode import MARKS
from cepheid.io.jsonl import BYTE_ORDER_MARK, OnProblem
from cepheid.io.records import Record, placed
from cepheid.io.source import NOWHERE, Placement

# The csv module refuses cells of more than 128 KiB, but nested values are cells too.
_LONGEST_CELL = 2**31 - 1
_OTHER_SEPARATORS = (";", "\t", "|")
_REWRITE = "pandas.read_csv(file, sep={!r}) gives a frame, which has events, too"


def cell_records(
    lines: Iterable[bytes],
    name: str,
    default_type: str,
    on_problem: OnProblem,
    placement: Placement = NOWHERE,
) -> Iterator[Record]:
    """One record per row, of the type in its '@type' column, else of the default type."""
    rows = _rows(lines, name, on_problem)
    header: list[str] | None = None
    for number, row in rows:
        if header is None:
            header = _header(row, Span(number, 1, number, 1, name), placement)
            continue
        span = Span(number, 1, number, 1, name)
        if len(row) != len(header):
            fact = f"{_count(row)} where the header has {len(header)}"
            on_problem(error("bad-line", fact, span))
            continue
        try:
            yield _record(dict(zip(header, row, strict=True)), default_type, span, placement)
        except ValueError as problem:
            on_problem(error("bad-line", str(problem), span))


def _count(row: list[str]) -> str:
    return "1 cell" if len(row) == 1 else f"{len(row)} cells"


def _rows(
    lines: Iterable[bytes], name: str, on_problem: OnProblem
) -> Iterator[tuple[int, list[str]]]:
    """The rows with the lines on which they start."""
    csv.field_size_limit(_LONGEST_CELL)
    # Surrogates keep a row whole whose bytes are no UTF-8, so that only this row is refused.
    texts = (line.decode("utf-8", "surrogateescape") for line in lines)
    reader = csv.reader(_without_mark(texts), strict=True)
    while True:
        number = reader.line_num + 1
        span = Span(number, 1, number, 1, name)
        try:
            row = next(reader)
            "".join(row).encode()
        except StopIteration:
            return
        except csv.Error as problem:
            on_problem(error("bad-line", f"not CSV: {problem}", span))
        except UnicodeEncodeError as problem:
            byte = ord(problem.object[problem.start]) - 0xDC00
            on_problem(error("bad-line", f"byte {byte:#04x} is not UTF-8", span))
        else:
            if row:
                yield number, row


def _without_mark(texts: Iterator[str]) -> Iterator[str]:
    for first in texts:
        yield first.removeprefix(BYTE_ORDER_MARK)
        yield from texts


def _header(row: list[str], span: Span, placement: Placement) -> list[str]:
    if len(row) == 1 and (other := next((s for s in _OTHER_SEPARATORS if s in row[0]), None)):
        fact = f"cells are separated by commas, and the header has {other!r}"
        raise InputError(error("bad-file", fact, span, _REWRITE.format(other)))
    for position, name in enumerate(row, 1):
        if not name.strip():
            raise InputError(error("bad-file", f"column {position} has no name", span))
        if name != name.strip():
            # Cells keep their blanks, so that one without them would be another key.
            fact = f"column {name!r} has blanks around its name"
            raise InputError(error("bad-file", fact, span, "write commas without blanks"))
        if row.count(name) > 1:
            raise InputError(error("bad-file", f"two columns are named {name!r}", span))
    placement.check(row, span)
    return row


def _record(given: dict[str, str], default_type: str, span: Span, placement: Placement) -> Record:
    cells = placement.arranged(given) if placement else given
    is_old, is_timeout = (_is_true(cells.pop(mark, ""), mark) for mark in MARKS)
    time = cells.pop("@time", "") or None
    type: str | None = default_type
    values: dict[str, object] = dict(cells)
    names: Collection[str] | None = None
    if "@type" in cells:
        type = cells.pop("@type") or None
        # Where one file holds several types, an empty cell may belong to the others' columns.
        values = {name: cell for name, cell in cells.items() if cell}
        names = cells.keys()
    record = Record(
        type, time, values, span, is_text=True, is_old=is_old, is_timeout=is_timeout, names=names
    )
    return placed(record, placement, given) if placement else record


def _is_true(cell: str, mark: str) -> bool:
    match cell.strip().lower():
        case "" | "false":
            return False
        case "true":
            return True
    raise ValueError(f"'{mark}' is true or false, not {cell!r}")
