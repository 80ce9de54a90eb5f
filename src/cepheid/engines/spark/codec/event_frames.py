"""The frames that a call was given: which types their rows have, and which columns hold what.

Input is one frame with a column '@type', or one frame per type; a `Source` says where a frame has its
time and the like. From here on these stand where everyone looks for them: in '@type', '@time',
'@sequence', and in columns that are named as attributes. Nothing here looks at a row, but to find out
whether there is one of a type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_type

from cepheid.core.types import Attribute, DataType, EventType
from cepheid.core.values import shown
from cepheid.engines.common.judging import (
    STRICT,
    Rules,
    ignored_columns,
    missing_attributes,
    missing_columns,
    only_input,
    unfed_types,
)
from cepheid.engines.spark.codec.packed_program import PackedProgram
from cepheid.errors import Diagnostic, InputError, UsageError, error, nearest, suggest
from cepheid.io.arrow import data_type
from cepheid.io.source import NOWHERE, TYPE, Placement, Renamings, Source
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.io.columns.reading import Piece

WATERMARK_DELAY = "spark.watermarkDelayMs"  # by which Spark knows a column with a watermark
PlainFrames: TypeAlias = DataFrame | Mapping[str, DataFrame]
Given: TypeAlias = DataFrame | Source
Frames: TypeAlias = Given | Sequence[Given] | Mapping[str, Given]


def named(name: str) -> Column:
    """A column by its name, whatever characters that has."""
    return F.col("`" + name.replace("`", "``") + "`")


@dataclass(frozen=True, slots=True)
class EventFiles:
    """Files of events: what workers need to know to read them."""

    pieces: tuple[Piece, ...]
    program: PackedProgram
    schema: pa.Schema  # of a frame with their events
    columns: tuple[tuple[str | None, frozenset[str]], ...]  # by type, or where rows say theirs


@dataclass(frozen=True, slots=True)
class EventFrame:
    """A frame of events; where it has no type of its own, '@type' says what each row is."""

    frame: DataFrame
    event_type: str | None
    files: EventFiles | None = None  # that the frame reads
    placement: Placement = (
        NOWHERE  # what was said of its columns, before they stood in their places
    )
    given: Sequence[str] = ()  # the columns as they were then

    @property
    def fields(self) -> dict[str, T.DataType]:
        return {field.name: field.dataType for field in self.frame.schema.fields}

    @property
    def attributes(self) -> dict[str, T.DataType]:
        """The columns that may be attributes, in their order."""
        return {n: t for n, t in self.fields.items() if not n.startswith("@")}

    def names_for(self, type: str) -> Collection[str]:
        """The columns that hold attributes of a type, as far as is said; a frame of files has all."""
        if self.files is None:
            return self.attributes
        own = (names for owner, names in self.files.columns if owner in (None, type))
        return frozenset().union(*own)

    @property
    def time_attribute(self) -> str | None:
        """What the column that was named as the time is as an attribute."""
        column = self.placement.time
        return None if column is None else self.placement.columns.get(column, column)

    @property
    def watermarks(self) -> dict[str, int]:
        """The columns that have a watermark, by `withWatermark`, and its milliseconds of delay."""
        marks = {f.name: f.metadata.get(WATERMARK_DELAY) for f in self.frame.schema.fields}
        return {name: delay for name, delay in marks.items() if delay is not None}

    def __str__(self) -> str:
        return f"the frame of {self.event_type}" if self.event_type else "the frame"


# What is given --------------------------------------------------------------------------------


def sources_of(
    events: Frames, program: ResolvedProgram, placement: Placement = NOWHERE
) -> tuple[EventFrame, ...]:
    """The frames that a call was given; an error where they make no sense for the program."""
    if isinstance(events, Mapping):
        found = tuple(_of_type(name, part, program, placement) for name, part in events.items())
    elif isinstance(events, list | tuple):
        found = tuple(_single(part, program, placement) for part in events)
    else:
        found = (_single(events, program, placement),)
    if not found:
        raise UsageError(error("usage", "no frame of events is given"))
    if len({source.placement.sequence is None for source in found}) > 1:
        fact = "some frames have a sequence and some have none"
        raise UsageError(error("usage", fact, hint="say sequence= for all of them, or for none"))
    return found


def _of_type(
    name: str, given: object, program: ResolvedProgram, placement: Placement
) -> EventFrame:
    if name not in program.types:
        hint = suggest(name, program.types, "event types")
        raise UsageError(error("unknown-type", f"no event type '{name}'", hint=hint))
    source = _arranged(given, placement)
    if TYPE in source.fields:
        fact = f"the frame of {name} has a column '@type'"
        if source.placement.type is not None:
            fact = f"the frame of {name} says its type, and type= names a column that does"
        hint = "give a frame of several types alone, not under the name of one"
        raise UsageError(error("usage", fact, hint=hint))
    return replace(source, event_type=name)


def _single(given: object, program: ResolvedProgram, placement: Placement) -> EventFrame:
    source = _arranged(given, placement)
    if TYPE in source.fields:
        return source
    name = only_input(program)
    if name is not None:
        return replace(source, event_type=name)
    example = next(iter(program.input_types), "Type")
    hint = f"add a column '@type', or give a frame per type: {{'{example}': frame, ...}}"
    raise UsageError(
        error("missing-type", "the frame does not say the types of its rows", hint=hint)
    )


def _arranged(given: object, placement: Placement) -> EventFrame:
    """A frame whose columns stand where they are looked for."""
    if isinstance(given, Source):
        return _arranged(given.data, placement.under(given.placement))
    if not _is_frame(given):
        raise _no_frame(given)
    frame, columns = given, given.columns
    _check_columns(frame)
    placement.check(columns, None)
    if placement:
        cells = placement.arranged({name: named(name) for name in columns})
        frame = frame.select(*(column.alias(name) for name, column in cells.items()))
    return EventFrame(frame, None, None, placement, tuple(columns))


def _is_frame(given: object) -> TypeGuard[DataFrame]:
    """Whether it is a frame of Spark, of Connect or not, told without loading either."""
    module, name = type(given).__module__, type(given).__name__
    return module.startswith("pyspark.sql") and name == "DataFrame"


def _no_frame(given: object) -> UsageError:
    module = type(given).__module__.partition(".")[0]
    if module in ("pandas", "pyarrow"):
        fact = f"this is a table of {module}, not a frame of Spark"
        hint = (
            "`spark.createDataFrame(table)` makes one; `cep.run(program, table)` takes it as it is"
        )
    else:
        fact = (
            f"events for Spark are a frame, frames by type or cep.spark.files, not {shown(given)}"
        )
        hint = "`cep.run(program, events, engine='spark')` takes files, records and tables"
    return UsageError(error("usage", fact, hint=hint))


def _check_columns(frame: DataFrame) -> None:
    """Refuses columns that Spark cannot tell apart."""
    is_strict = frame.sparkSession.conf.get("spark.sql.caseSensitive", "false") == "true"
    seen: dict[str, str] = {}
    for name in frame.columns:
        key = name if is_strict else name.lower()
        other = seen.get(key)
        seen[key] = name
        if other is not None:
            fact = f"two columns are named '{name}'"
            if other != name:
                fact = f"columns '{other}' and '{name}' differ in upper and lower case alone"
                fact += ", which Spark does not tell apart"
            hint = "rename one: frame.withColumnRenamed, or frame.toDF(...)"
            raise InputError(error("bad-file", fact, hint=hint))


def with_types_of(program: ResolvedProgram, sources: Iterable[EventFrame]) -> ResolvedProgram:
    """The program, where types without a schema have the one that their frame has."""
    undeclared = {t.name for t in program.types.values() if t.is_open}
    found: dict[str, EventType] = {}
    for source in sources:
        for name in undeclared & ({source.event_type} if source.event_type else undeclared):
            found[name] = EventType(name, tuple(_attributes(source)))
    return resolve_program(program.tree, {**program.given, **found}) if found else program


def _attributes(source: EventFrame) -> Iterator[Attribute]:
    for name, stored in source.attributes.items():
        type = static_type(stored)
        if type is not None:
            yield Attribute(name, type)


def static_type(stored: T.DataType) -> DataType | None:
    """The type of an attribute that a column holds; None where no attribute can hold it."""
    try:
        return data_type(to_arrow_type(stored, timezone="UTC"))
    except Exception:  # what Spark cannot hand to Python, such as intervals of months
        return None


# What is said of it as a whole ------------------------------------------------------------------


def judged(
    program: ResolvedProgram, sources: Sequence[EventFrame], rules: Rules = STRICT
) -> list[Diagnostic]:
    """What is worth a word about the columns of frames; InputError where one is missing."""
    seen: dict[str, set[str]] = {}
    for source in sources:
        for name in _types_in(source, program):
            seen.setdefault(name, set()).update(source.names_for(name))
    problems = missing_attributes(program, seen, rules.optional)
    if problems:
        there = {name: names for name, names in seen.items() if _has_events(name, sources)}
        problems = missing_attributes(program, there, rules.optional)
    if problems:
        raise InputError(*problems)
    notes = [note for source in sources for note in _extra_columns(source, program, rules)]
    renamings = Renamings()
    for source in sources:
        renamings.see(source.placement, source.given)
    return [*notes, *missing_columns(renamings), *unfed_types(program, seen)]


def _types_in(source: EventFrame, program: ResolvedProgram) -> Collection[str]:
    """The types that rows may have."""
    if source.event_type is not None:
        return (source.event_type,)
    said = None if source.files is None else [owner for owner, _ in source.files.columns]
    return program.input_types if said is None or None in said else [n for n in said if n]


def _has_events(name: str, sources: Iterable[EventFrame]) -> bool:
    """Whether there are events of a type; of a stream that is not known, and so there may be."""
    for source in sources:
        if source.event_type == name or (source.event_type is None and source.frame.isStreaming):
            return True
        if source.event_type is None and source.frame.where(named(TYPE) == name).take(1):
            return True
    return False


def _extra_columns(
    source: EventFrame, program: ResolvedProgram, rules: Rules
) -> Iterator[Diagnostic]:
    """One note for all columns that no attribute has."""
    types = [program.types[name] for name in _types_in(source, program)]
    known = {a.name for type in types for a in type.attributes}
    used = {source.placement.columns.get(n, n) for n in source.placement.used}
    given = dict.fromkeys(n for type in types for n in source.names_for(type.name))
    extra = [n for n in given if n not in known | used and not n.startswith("@")]
    owners = " and ".join(type.name for type in types)
    if extra and rules.extra == "error":
        close = nearest(extra[0], known)
        hint = None if close is None else f"did you mean {close!r}?"
        raise InputError(
            error("unknown-attribute", f"no attribute {extra[0]!r} in {owners}", hint=hint)
        )
    if extra:
        yield ignored_columns(owners, extra)
