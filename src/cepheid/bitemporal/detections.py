"""What was learnt of events: versions and retractions as they were detected, from any source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import isnan
from typing import NamedTuple

from cepheid.core.event import Value
from cepheid.core.time import Instant, TimeUnit, parse_instant
from cepheid.core.types import DOUBLE, FLOAT, STRING, TIMESTAMP, DataType
from cepheid.core.values import Coercion, Coercions, is_null, native, shown
from cepheid.engines.common.judging import Extra, ignored_columns, missing_columns
from cepheid.errors import Diagnostic, InputError, Span, error, nearest, suggest
from cepheid.io import Record
from cepheid.io.records import TIME_HINT, is_true
from cepheid.io.source import Renamings, meant
from cepheid.program.classes import EventClass

OnProblem = Callable[[Diagnostic], None]
MARKS = DETECTED, KNOWN, RETRACTED = "@detected", "@known", "@retracted"
_OF_A_VERSION = ("@type", "@time", DETECTED)  # besides its attributes
Key = tuple[Value, ...]


class Detection(NamedTuple):
    """A version of an event, or that there is none: `values` None is a retraction.

    `det` is when it was detected, `known` from when on it counts, which is the same but for what
    another processor derived. Detections are ordered by when they count, then by sequence.
    """

    cls: str
    key: Key
    values: tuple[Value, ...] | None  # in the order of the class's attributes
    occ: Instant | None
    det: Instant
    known: Instant
    sequence: int

    @property
    def order(self) -> tuple[Instant, int]:
        return self.known, self.sequence


@dataclass(slots=True)
class History:
    """Bounded input: detections in their order, other records, and the span of time that it covers."""

    detections: list[Detection] = field(default_factory=list)
    others: list[Record] = field(default_factory=list)  # events of types that are no classes
    notes: list[Diagnostic] = field(default_factory=list)
    # Of each class that has versions, the attributes that any of them has, null or not.
    seen: dict[str, set[str]] = field(default_factory=dict)
    first: Instant | None = None
    last: Instant | None = None

    def cover(self, instant: Instant) -> None:
        self.first = instant if self.first is None else min(self.first, instant)
        self.last = instant if self.last is None else max(self.last, instant)

    @property
    def following(self) -> int:
        """The sequence number of what comes next."""
        return max((detection.sequence for detection in self.detections), default=-1) + 1

    def add(self, detections: Iterable[Detection]) -> None:
        """Puts further detections into their places."""
        for detection in detections:
            self.detections.append(detection)
            self.cover(detection.known)
        self.detections.sort(key=lambda detection: detection.order)


def take_in(
    classes: Mapping[str, EventClass],
    records: Iterable[Record],
    on_problem: OnProblem,
    others: Sequence[str] = (),
    extra: Extra = "ignore",
) -> History:
    """All detections of bounded input, in their order; what cannot be one is a problem."""
    history, decoder = History(), DetectionDecoder(classes, others, extra)
    detections, renamings = [], Renamings()
    for sequence, record in enumerate(records):
        renamings.see(record.placement, record.given)
        try:
            found = decoder.decode(record, sequence)
        except InputError as refused:
            for problem in refused.diagnostics:
                on_problem(problem)
            continue
        if isinstance(found, Record):
            history.others.append(found)
        elif isinstance(found, Detection):
            detections.append(found)
            if found.values is not None:
                history.seen.setdefault(found.cls, set()).update(record.present)
        else:
            history.cover(found)
    history.add(detections)
    for name, ignored in decoder.ignored.items():
        if ignored:
            attributes = [each.name for each in classes[name].attributes]
            history.notes.append(ignored_columns(name, ignored, attributes))
    history.notes += missing_columns(renamings)
    return history


class DetectionDecoder:
    """Turns records into detections of events of the given classes.

    Attributes that a class does not have are left out and kept in mind in `ignored`, or refused.
    """

    def __init__(
        self,
        classes: Mapping[str, EventClass],
        others: Sequence[str] = (),
        extra: Extra = "ignore",
    ) -> None:
        self.ignored: dict[str, dict[str, None]] = {}
        self._extra = extra
        self._classes = classes
        self._others = frozenset(others)
        self._decoders: dict[str, _ClassDecoder] = {}

    def plain(self, fields: Mapping[str, object], sequence: int) -> Detection | None:
        """The detection in a mapping with all that a version has and nothing else, as most are.

        None says only that it takes a closer look, that of `decode`.
        """
        name = fields.get("@type")
        if type(name) is not str or name not in self._classes:
            return None
        return self._of(name).plain(fields, sequence)

    def _of(self, name: str) -> _ClassDecoder:
        decoder = self._decoders.get(name)
        if decoder is None:
            ignored = None if self._extra == "error" else self.ignored.setdefault(name, {})
            decoder = self._decoders[name] = _ClassDecoder(self._classes[name], ignored)
        return decoder

    def decode(self, record: Record, sequence: int) -> Detection | Record | Instant:
        """A detection, an event of another type, or the instant up to which time passes."""
        if record.type is None:
            return _time_alone(record)
        if record.is_old or record.is_timeout:  # rows that are no events only let time pass
            return _stated(record)
        if record.type in self._classes:
            return self._of(record.type).decode(record, sequence)
        if record.type in self._others:
            return record
        hint = suggest(record.type, [*self._classes, *self._others], "subscribed classes")
        fact = f"no subscribed class {shown(record.type)}"
        raise InputError(error("unknown-type", fact, record.span, hint))


def _time_alone(record: Record) -> Instant:
    values = dict(record.values)
    detected = values.pop(DETECTED, None)
    raw = record.time if is_null(detected) else detected
    if is_null(raw) or any(not is_null(value) for value in values.values()):
        hint = "a line with '@time' alone lets time pass; a version needs '@type', its class"
        raise InputError(error("missing-type", "a version without a class", record.span, hint))
    return _instant(raw, "'@time'", record.span, record.placement.unit)


def _stated(record: Record) -> Instant:
    """Its '@time', or the column that was named instead."""
    name = record.placement.time or "@time"
    return _instant(record.time, f"'{name}'", record.span, record.placement.unit)


class _ClassDecoder:
    """What decoding needs to know of one class, worked out once."""

    def __init__(self, declared: EventClass, ignored: dict[str, None] | None) -> None:
        self._ignored = ignored
        self._class = declared
        self._names = [attribute.name for attribute in declared.attributes]
        types = {attribute.name: attribute.type for attribute in declared.attributes}
        self._plain = {name: _coercion(type) for name, type in types.items()}
        self._text = {name: _coercion(type, is_text=True) for name, type in types.items()}
        self._key_places = [self._names.index(name) for name in declared.key]

    def plain(self, fields: Mapping[str, object], sequence: int) -> Detection | None:
        if len(fields) != len(self._plain) + len(_OF_A_VERSION):
            return None
        try:
            values = tuple([coerce(fields[name]) for name, coerce in self._plain.items()])
            occ, det = _plain_instant(fields["@time"]), _plain_instant(fields[DETECTED])
        except (KeyError, ValueError, OverflowError):
            return None
        key = tuple([values[place] for place in self._key_places])
        if None in key:
            return None
        return Detection(self._class.name, key, values, occ, det, det, sequence)

    def decode(self, record: Record, sequence: int) -> Detection:
        raw, span = record.values, record.span
        values = self._values(record)
        is_retracted = _is_retracted(raw.get(RETRACTED), record)
        occ = None if is_null(record.time) else _stated(record)
        detected, given = (_cell(raw.get(name), record) for name in (DETECTED, KNOWN))
        det = occ if is_null(detected) else _instant(detected, f"'{DETECTED}'", span)
        if det is None or (occ is None and not is_retracted):
            raise self._timeless(record, is_retracted)
        known = det if is_null(given) else _instant(given, f"'{KNOWN}'", span)
        key = self._key(values, record)
        row = None if is_retracted else tuple(values.values())
        return Detection(self._class.name, key, row, occ, det, known, sequence)

    def _values(self, record: Record) -> dict[str, Value]:
        coercions = self._text if record.is_text else self._plain
        values: dict[str, Value] = dict.fromkeys(self._names)
        for name, given in record.values.items():
            if name not in coercions:
                if name not in MARKS and name not in record.placement.used:
                    self._ignore(name, record)
                continue
            try:
                values[name] = coercions[name](given)
            except ValueError as problem:
                fact = f"attribute {shown(name)} of {self._class.name}: {problem}"
                raise InputError(error("bad-value", fact, record.span)) from None
        return values

    def _ignore(self, name: str, record: Record) -> None:
        if self._ignored is not None:
            self._ignored[str(name)] = None
            return
        close = nearest(str(name), [*self._names, "@time", *MARKS])
        fact = f"no attribute {shown(name)} in {self._class.name}"
        hint = None if close is None else f"did you mean {close!r}?"
        raise InputError(error("unknown-attribute", fact, record.span, hint))

    def _key(self, values: Mapping[str, Value], record: Record) -> Key:
        key = tuple([values[name] for name in self._class.key])
        if None in key:
            missing = self._class.key[key.index(None)]
            fact = f"a version of {self._class.name} without its key: {missing} is null"
            hint = f"the key of {self._class.name} is {', '.join(self._class.key)}"
            strangers = [name for name in record.present if name not in self._plain]
            if missing not in record.present and (close := nearest(missing, strangers)):
                hint = meant(close, missing)
            raise InputError(error("missing-key", fact, record.span, hint))
        return key

    def _timeless(self, record: Record, is_retracted: bool) -> InputError:
        name = self._class.name
        if is_retracted:
            fact, hint = f"a retraction of {name} without a time", "add '@detected'"
        else:
            fact = f"a version of {name} without an occurrence time"
            hint = "'@time' is when it takes place, '@detected' when that was learnt"
        return InputError(error("missing-time", fact, record.span, hint))


def _coercion(type: DataType, *, is_text: bool = False) -> Coercion:
    if type != TIMESTAMP:
        found = Coercions({}).of_text(type) if is_text else Coercions({}).of(type)
        return _plain_numbers(found) if type in (DOUBLE, FLOAT) else found
    if is_text:
        from_cell = Coercions({}).of_text(STRING)
        return lambda cell: _timestamp(_number_in(from_cell(cell)))
    return _timestamp


def _plain_numbers(coerce: Coercion) -> Coercion:
    return lambda value: plain_number(coerce(value))


def plain_number(value: Value) -> Value:
    """NaN is null and -0 is 0: databases hold them, or do not, each in its own way."""
    if not isinstance(value, float):
        return value
    return None if isnan(value) else value + 0.0


def _timestamp(value: object) -> Value:
    return None if is_null(value) else parse_instant(native(value))


def _cell(value: object, record: Record) -> object:
    """An empty cell is null."""
    return None if record.is_text and value == "" else value


def _is_retracted(mark: object, record: Record) -> bool:
    if mark is None:
        return False
    if isinstance(mark, str) and record.is_text:
        known = {"true": True, "false": False, "": False}
        mark = known.get(mark.strip().lower(), mark)
    try:
        return is_true(mark, RETRACTED)
    except ValueError as problem:
        raise InputError(error("bad-line", str(problem), record.span)) from None


def _instant(value: object, name: str, span: Span | None, unit: TimeUnit | None = None) -> Instant:
    try:
        if unit is not None:
            return parse_instant(_number_in(native(value)), unit)
        return _plain_instant(value)
    except (ValueError, OverflowError) as problem:
        raise InputError(error("bad-time", f"{name}: {problem}", span, TIME_HINT)) from None


def _plain_instant(value: object) -> Instant:
    if type(value) is datetime:  # most of them, where events are told one by one
        return parse_instant(value)
    return cell_instant(native(value))


def cell_instant(value: object) -> Instant:
    """An instant as people write it, a number of seconds in a text included."""
    return parse_instant(_number_in(value) if isinstance(value, str) else value)


def _number_in(value: object) -> object:
    if not isinstance(value, str) or value[10:11] in ("T", " "):  # an ISO 8601 text
        return value
    try:
        return float(value)
    except ValueError:
        return value


def by_class(detections: Iterable[Detection]) -> dict[str, list[Detection]]:
    """Detections of each class, in their order."""
    found: dict[str, list[Detection]] = {}
    for detection in detections:
        found.setdefault(detection.cls, []).append(detection)
    return found
