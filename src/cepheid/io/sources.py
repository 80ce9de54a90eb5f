"""What Python programs hand over as events, as records."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cepheid.core.event import Event
from cepheid.core.time import to_datetime
from cepheid.core.values import shown
from cepheid.errors import InputError, Span, UsageError, error
from cepheid.io.arrow import batch_records, frame_records
from cepheid.io.jsonl import OnProblem
from cepheid.io.read import COLUMNAR, expand, fail, read_records
from cepheid.io.records import Record, record_from


def records_of(source: object, *, on_problem: OnProblem = fail) -> Iterator[Record]:
    """The records of a path, an event, a table, a frame, a mapping or a list of any of these.

    A mapping with a key such as '@type' or '@time' is one event; any other mapping names types
    and gives the events of each: `{"Motorbike": frame, "Weather": [{...}, ...]}`.
    """
    return _records(source, None, on_problem)


def _records(source: object, type: str | None, on_problem: OnProblem) -> Iterator[Record]:
    name = f"<{type or 'events'}>"
    if isinstance(source, str | os.PathLike):
        yield from _of_paths(os.fspath(source), on_problem)
    elif isinstance(source, Event | Mapping):
        yield from _of_mapping(source, type, on_problem)
    elif _is_a(source, "pandas", "DataFrame"):
        yield from frame_records(_foreign(source), name, type, on_problem)
    elif _is_a(source, "pyarrow", "Table"):
        yield from batch_records(_foreign(source).to_batches(), name, type, on_problem)
    elif _is_a(source, "pyarrow", "RecordBatch"):
        yield from batch_records([_foreign(source)], name, type, on_problem)
    elif isinstance(source, Iterable) and not isinstance(source, bytes):
        yield from _of_items(source, type, name, on_problem)
    else:
        raise _unusable(source)


@dataclass(frozen=True, slots=True)
class Table:
    """A file, a table or a frame with columns, and the type of its events unless it names them."""

    data: Any  # the path of a file, or what Arrow or pandas made
    type: str | None


def tables_of(sources: Iterable[object]) -> list[Table] | None:
    """The files with columns, tables and frames that sources consist of.

    None where there is anything else among them, such as an event, a stream or a missing file.
    """
    return _joined(_tables(source, None) for source in sources)


def _tables(source: object, type: str | None) -> list[Table] | None:
    if isinstance(source, str | os.PathLike):
        return _files(os.fsdecode(source))
    if any(_is_a(source, module, name) for module, name in _TABLES):
        return [Table(source, type)]
    if isinstance(source, list | tuple):  # which can be read twice; mappings in it are events
        is_event = any(isinstance(item, Mapping) for item in source)
        return None if is_event else _joined(_tables(item, type) for item in source)
    if isinstance(source, Mapping) and not isinstance(source, Event) and type is None:
        return _joined(_tables(part, name) for name, part in source.items())
    return None


_TABLES = (("pandas", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch"))


def _files(path: str) -> list[Table] | None:
    try:
        files = expand([path])
    except InputError:
        return None
    has_columns = all(Path(file).suffix.lower() in COLUMNAR for file in files)
    return [Table(file, None) for file in files] if has_columns else None


def _joined(parts: Iterable[list[Table] | None]) -> list[Table] | None:
    found: list[Table] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return found


def _is_a(source: object, module: str, name: str) -> bool:
    """Whether it is an instance of another library's class, without loading that library."""
    library = sys.modules.get(module)
    return library is not None and isinstance(source, getattr(library, name))


def _foreign(source: object) -> Any:
    """Its class is known by `_is_a`, which the type checker cannot follow."""
    return source


def _of_paths(path: str | bytes, on_problem: OnProblem) -> Iterator[Record]:
    for file in expand([os.fsdecode(path)]):
        yield from read_records(file, on_problem=on_problem)


def _of_mapping(
    source: Mapping[str, object], type: str | None, on_problem: OnProblem
) -> Iterator[Record]:
    is_event = isinstance(source, Event) or type is not None
    if is_event or any(str(key).startswith("@") for key in source):
        yield from _of_items([source], type, f"<{type or 'events'}>", on_problem)
        return
    for name, part in source.items():
        yield from _records(part, name, on_problem)


def _of_items(
    items: Iterable[object], type: str | None, name: str, on_problem: OnProblem
) -> Iterator[Record]:
    for number, item in enumerate(items, 1):
        span = Span(number, 1, number, 1, name)
        if isinstance(item, Record):
            yield item
        elif isinstance(item, Event):
            values: dict[str, object] = dict(item.values_)
            time = to_datetime(item.instant)
            is_old, is_timeout = item.is_old, item.is_timeout
            yield Record(item.type, time, values, span, is_old=is_old, is_timeout=is_timeout)
        elif isinstance(item, Mapping):
            try:
                yield record_from(item, span, type)
            except ValueError as problem:
                on_problem(error("bad-line", str(problem), span))
        else:
            yield from _records(item, type, on_problem)


def _unusable(source: object) -> UsageError:
    return UsageError(
        error(
            "usage",
            f"{shown(source)} holds no events",
            hint="events come as paths, dictionaries, Arrow tables, pandas frames or lists of them",
        )
    )
