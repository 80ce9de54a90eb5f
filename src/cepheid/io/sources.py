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
from cepheid.io.read import COLUMNAR, LINES, expand, fail, read_records
from cepheid.io.records import Record, record_from
from cepheid.io.source import NOWHERE, Placement, Source


def records_of(
    source: object,
    *,
    on_problem: OnProblem = fail,
    placement: Placement = NOWHERE,
    default_type: str | None = None,
) -> Iterator[Record]:
    """The records of a path, an event, a table, a frame, a mapping or a list of any of these.

    A mapping with a key such as '@type' or '@time' is one event; any other mapping names types
    and gives the events of each: `{"Motorbike": frame, "Weather": [{...}, ...]}`. The default type is that
    of tables and frames that name none.
    """
    return _Sources(on_problem, default_type).records(source, None, placement)


@dataclass(frozen=True, slots=True)
class _Sources:
    on_problem: OnProblem
    default_type: str | None

    def records(self, source: object, type: str | None, place: Placement) -> Iterator[Record]:
        on_problem = self.on_problem
        name = f"<{type or 'events'}>"
        if isinstance(source, Source):
            yield from self.records(source.data, type, place.under(source.placement))
        elif isinstance(source, str | os.PathLike):
            for file in expand([os.fsdecode(source)]):
                yield from read_records(file, on_problem=on_problem, placement=place)
        elif isinstance(source, Event | Mapping):
            yield from self._of_mapping(source, type, place)
        elif (table := _table(source)) is not None:
            own = type or self.default_type
            if _is_a(table, "pandas", "DataFrame"):
                yield from frame_records(table, name, own, on_problem, place)
            else:
                yield from batch_records(table, name, own, on_problem, place)
        elif isinstance(source, Iterable) and not _is_single(source):
            yield from self._of_items(_checked(source), type, place)
        else:
            raise _unusable(source)

    def _of_mapping(
        self, source: Mapping[str, object], type: str | None, place: Placement
    ) -> Iterator[Record]:
        is_event = isinstance(source, Event) or type is not None
        if is_event or any(str(key).startswith("@") or key in place.used for key in source):
            yield from self._of_items([source], type, place)
            return
        for name, part in source.items():
            if part is None or isinstance(part, bool | int | float):
                fact = f"a dictionary without '@type' has events by type, not {shown(part)}"
                hint = f"{{'@type': 'Type', '@time': ..., {name!r}: {shown(part)}}} is an event"
                raise UsageError(error("usage", fact, hint=hint))
        for name, part in source.items():
            yield from self.records(part, name, place)

    def _of_items(
        self, items: Iterable[object], type: str | None, place: Placement
    ) -> Iterator[Record]:
        for number, item in enumerate(items, 1):
            span = Span(number, 1, number, 1, f"<{type or 'events'}>")
            if isinstance(item, Record):
                yield item
            elif isinstance(item, Event):
                values: dict[str, object] = dict(item.values_)
                time = to_datetime(item.instant)
                is_old, is_timeout = item.is_old, item.is_timeout
                yield Record(item.type, time, values, span, is_old=is_old, is_timeout=is_timeout)
            elif isinstance(item, Mapping):
                try:
                    yield record_from(item, span, type, place)
                except ValueError as problem:
                    self.on_problem(error("bad-line", str(problem), span))
            else:
                yield from self.records(item, type, place)


def _table(source: object) -> Any:
    """A frame, or the batches of a table; None for anything else."""
    if _is_a(source, "pandas", "DataFrame"):
        return source
    if _is_a(source, "pyarrow", "Table"):
        return _foreign(source).to_batches()
    return [source] if _is_a(source, "pyarrow", "RecordBatch") else None


def _is_single(source: object) -> bool:
    """Whether it can be walked through, but not in events."""
    is_foreign = any(_is_a(source, *each) for each in (("pandas", "Series"), ("numpy", "ndarray")))
    return isinstance(source, bytes | bytearray) or is_foreign


def _checked(items: Iterable[object]) -> Iterable[object]:
    """Items that may be events; a row of bare values is none."""
    if isinstance(items, list | tuple):
        for item in items:
            if item is None or isinstance(item, bool | int | float | bytes):
                raise _unusable(items)
    return items


@dataclass(frozen=True, slots=True)
class Table:
    """A file, a table or a frame with columns, and the type of its events unless it names them."""

    data: Any  # the path of a file, or what Arrow or pandas made
    type: str | None
    placement: Placement = NOWHERE


def tables_of(
    sources: Iterable[object], placement: Placement = NOWHERE, default_type: str | None = None
) -> list[Table] | None:
    """The files that can be read in columns, tables and frames that sources consist of.

    None where there is anything else among them, such as an event, a stream or a missing file.
    """
    return _joined(_tables(source, None, placement, default_type) for source in sources)


def _tables(
    source: object, type: str | None, place: Placement, default: str | None
) -> list[Table] | None:
    if isinstance(source, Source):
        return _tables(source.data, type, place.under(source.placement), default)
    if place.zone is not None:
        return None  # times of a zone are read one by one
    if isinstance(source, str | os.PathLike):
        return _files(os.fsdecode(source), place)
    if any(_is_a(source, module, name) for module, name in _TABLES):
        return [Table(source, type or default, place)]
    if isinstance(source, list | tuple):  # which can be read twice; mappings in it are events
        is_event = any(isinstance(item, Mapping) for item in source)
        return None if is_event else _joined(_tables(i, type, place, default) for i in source)
    if isinstance(source, Mapping) and not isinstance(source, Event) and type is None:
        return _joined(_tables(part, name, place, default) for name, part in source.items())
    return None


def provided_by(sources: Iterable[object], default_type: str | None = None) -> set[str]:
    """The types that sources are said to hold, be there events of them or not."""
    found: set[str] = set()
    for source in sources:
        data = source.data if isinstance(source, Source) else source
        if isinstance(data, str | os.PathLike):
            files = _files(os.fsdecode(data), NOWHERE) or ()
            named = (Path(file.data) for file in files)  # their names are those of types
            found.update(path.stem for path in named if path.suffix.lower() in COLUMNAR)
        elif isinstance(data, list | tuple):
            found |= provided_by(data, default_type)
        elif isinstance(data, Mapping) and not isinstance(data, Event):
            found.update(name for name in data if not str(name).startswith("@"))
        elif default_type is not None and _table(data) is not None:
            found.add(default_type)
    return found


_TABLES = (("pandas", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch"))


def _files(path: str, place: Placement) -> list[Table] | None:
    try:
        files = expand([path])
    except InputError:
        return None
    has_columns = all(Path(file).suffix.lower() in (*COLUMNAR, *LINES) for file in files)
    return [Table(file, None, place) for file in files] if has_columns else None


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


def _unusable(source: object) -> UsageError:
    return UsageError(
        error(
            "usage",
            f"{_described(source)} holds no events",
            hint="events come as paths, dictionaries, Arrow tables, pandas frames or lists of them",
        )
    )


def _described(source: object) -> str:
    if _is_a(source, "pandas", "Series"):
        return "a pandas Series"
    if _is_a(source, "numpy", "ndarray"):
        return "an array of NumPy"
    return f"a {type(source).__name__}" if isinstance(source, list | tuple) else shown(source)
