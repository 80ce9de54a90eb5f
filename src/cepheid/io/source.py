"""Which columns of a source hold what: `cep.source(frame, time="at", columns={"card_no": "card"})`.

What is said here holds for keys of dictionaries and of JSON Lines as for columns of tables. Events that
are typed already and the scenario notation have no columns, and so nothing to place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, tzinfo
from typing import TypeVar, cast

from cepheid.core.time import MICROSECONDS, PERIOD_UNITS, TimeUnit, unit_name, zone_named
from cepheid.core.types import EventTime
from cepheid.core.values import shown
from cepheid.errors import InputError, Span, UsageError, error, suggest

Cells = TypeVar("Cells")
TYPE, TIME, SEQUENCE = "@type", "@time", "@sequence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Which columns hold the type, the time and the order of events, and which attributes.

    A column that `time` names is the time: no other is asked for, be it null or not there. Without it
    the attribute is that `@EventTime` names, and where that is null '@time'. Numbers in `time` and
    '@time' count a `unit`, seconds unless it is said. `sequence` orders the events of one time;
    `columns` says what columns are as attributes. Times that name no zone are of `zone`, else UTC.
    """

    type: str | None = None
    time: str | None = None
    unit: TimeUnit | None = None
    sequence: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    zone: str | None = None

    @property
    def tzinfo(self) -> tzinfo:
        return UTC if self.zone is None else zone_named(self.zone)

    def __bool__(self) -> bool:
        """Whether anything is said."""
        return self is not NOWHERE and self != NOWHERE

    def under(self, own: Placement) -> Placement:
        """What holds for a source that says some of this itself."""
        if not own:
            return self
        if not self:
            return own
        said = {each.name: getattr(own, each.name) for each in fields(Placement)}
        return Placement(**{n: value or getattr(self, n) for n, value in said.items()})

    @property
    def used(self) -> frozenset[str]:
        """The columns that hold the type, the time and the order: known, attributes or not."""
        return frozenset(filter(None, (self.type, self.time, self.sequence)))

    def arranged(self, cells: Mapping[str, Cells]) -> dict[str, Cells]:
        """What columns hold, by the names that readers know; ValueError where two would have one.

        Columns that hold the type, the time or the order may be attributes, too, and remain.
        """
        found: dict[str, Cells] = {}
        for name, cell in cells.items():
            attribute = self.columns.get(name, name)
            if attribute in found:
                others = (n for n in cells if self.columns.get(n, n) == attribute and n != name)
                raise ValueError(
                    f"two columns would be {attribute!r}: {next(others)!r} and {name!r}"
                )
            found[attribute] = cell
        for mark, column in ((TYPE, self.type), (TIME, self.time), (SEQUENCE, self.sequence)):
            if column is not None:
                found.pop(mark, None)
                if column in cells:
                    found[mark] = cells[column]
        return found

    def check(self, columns: Iterable[str], place: Span | None) -> None:
        """InputError where a table does not have the columns that are named, or two of one name."""
        cells = dict.fromkeys(columns)
        for name, column, code in (
            ("type", self.type, "missing-type"),
            ("time", self.time, "missing-time"),
            ("sequence", self.sequence, "bad-value"),
        ):
            if column is not None and column not in cells:
                fact = f"no column {column!r} for the {name}"
                raise InputError(error(code, fact, place, suggest(column, cells, "columns")))
        try:
            self.arranged(cells)
        except ValueError as problem:
            raise InputError(error("bad-file", str(problem), place)) from None

    def unit_of_time(self, rule: EventTime | None) -> TimeUnit:
        """What numbers in the column of the time count; an `@EventTime` attribute says it itself."""
        if self.unit is None and rule is not None and self.time == rule.attribute:
            return cast("TimeUnit", rule.unit)
        return self.unit or "seconds"


NOWHERE = Placement()


@dataclass(slots=True)
class Renamings:
    """The columns that are to be attributes, and what sources of which that is said have; grows.

    All of them together show whether a column is nowhere: one may have it, another the attribute.
    """

    _names: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    def see(self, placement: Placement, names: Iterable[object]) -> None:
        """The columns of a source, or of one of its rows, before they are arranged."""
        for column, attribute in placement.columns.items():
            known = self._names.setdefault((column, attribute), set())
            if column not in known:
                known.update(map(str, names))

    def add(self, others: Renamings) -> None:
        """What is known of the sources that come next."""
        for renaming, names in others._names.items():
            self._names.setdefault(renaming, set()).update(names)

    def missing(self) -> Iterator[tuple[str, str, Collection[str]]]:
        """Each column that none of its sources has, its attribute, and the columns that there are."""
        for (column, attribute), names in self._names.items():
            if column not in names:
                yield column, attribute, names


def meant(column: str, attribute: str) -> str:
    """The hint that a column may be an attribute under another name."""
    renamed = f"columns={{{column!r}: {attribute!r}}}, or --map {column}={attribute}"
    return f"did you mean {column!r}? {renamed}"


@dataclass(frozen=True, slots=True)
class Source:
    """Events, and where they have what."""

    data: object
    placement: Placement


def unwrapped(given: object) -> tuple[object, Placement]:
    """Events, and what is said of them if anything is."""
    return (given.data, given.placement) if isinstance(given, Source) else (given, NOWHERE)


def source(
    data: object,
    *,
    type: str | None = None,
    time: str | None = None,
    unit: TimeUnit | None = None,
    sequence: str | None = None,
    columns: Mapping[str, str] | None = None,
    zone: str | None = None,
) -> Source:
    """Events whose columns have names of their own, for `cep.run`, `session.send_table` and `cep.spark.detect`.

    `time` names the column with the time, whose numbers count a `unit` (seconds); `type` the one
    with the event type, `sequence` the one that orders events of one time. `columns` says what columns are
    as attributes: `{"card_no": "card"}`. Times without a zone are UTC, or of `zone`. What is said here wins over the options of the call.
    """
    return Source(data, placement(type, time, unit, sequence, columns, zone))


def placement(
    type: str | None,
    time: str | None,
    unit: str | None,
    sequence: str | None,
    columns: Mapping[str, str] | None,
    zone: str | None = None,
) -> Placement:
    """What the options of a call say; UsageError where they make no sense."""
    for option, name in (("type", type), ("time", time), ("sequence", sequence)):
        _check_column(option, name)
    named = unit_name(unit) if isinstance(unit, str) and unit in PERIOD_UNITS else unit
    known: TimeUnit | None = next((each for each in MICROSECONDS if each == named), None)
    if unit is not None and known is None:
        hint = suggest(str(unit), MICROSECONDS, "units")
        raise UsageError(error("usage", f"no time unit {shown(unit)}", hint=hint))
    _check_renaming({} if columns is None else columns)
    check_zone(zone)
    return Placement(
        type=type, time=time, unit=known, sequence=sequence, columns=dict(columns or {}), zone=zone
    )


def check_zone(zone: str | None) -> None:
    try:
        if zone is not None:
            zone_named(str(zone))
    except ValueError as problem:
        hint = "zones have names as in zone='Europe/Berlin'"
        raise UsageError(error("usage", str(problem), hint=hint)) from None


def _check_column(option: str, name: object) -> None:
    if name is None:
        return
    if isinstance(name, Mapping):
        fact = f"{option}= names one column, not a dictionary of them"
        hint = f"say it for each source: {{'Type': cep.source(data, {option}='...'), ...}}"
        raise UsageError(error("usage", fact, hint=hint))
    if not isinstance(name, str):
        raise UsageError(error("usage", f"{option}= is the name of a column, not {shown(name)}"))


def _check_renaming(columns: object) -> None:
    hint = "columns={'card_no': 'card'}: the column, then the attribute"
    if not isinstance(columns, Mapping):
        raise UsageError(
            error("usage", f"columns= is a dictionary, not {shown(columns)}", hint=hint)
        )
    for column, attribute in columns.items():
        if not isinstance(column, str) or not isinstance(attribute, str):
            fact = f"columns= says which attribute a column is, not {shown(column)}: {shown(attribute)}"
            raise UsageError(error("usage", fact, hint=hint))
        if attribute.startswith("@"):
            option = attribute.removeprefix("@")
            advice = f"{option}={column!r}" if attribute in (TYPE, TIME, SEQUENCE) else hint
            fact = f"no attribute can be named {attribute!r}"
            raise UsageError(error("usage", fact, hint=advice))
    owners: dict[str, str] = {}
    for column, attribute in columns.items():
        if attribute in owners:
            fact = (
                f"columns= makes {owners[attribute]!r} and {column!r} the attribute {attribute!r}"
            )
            each = f"for several sources: cep.source(data, columns={{{column!r}: {attribute!r}}})"
            raise UsageError(error("usage", fact, hint=each))
        owners[attribute] = column
