"""Raw values, from JSON, CSV cells, Python or Arrow, into the Python form of a static type.

What comes out is what expressions compute with: `int` within 32 or 64 bits, `float` (rounded to
32 bits for FLOAT), `str`, `bool`, datetimes in UTC, dates, decimals with the digits of their type,
lists, and dictionaries for nested records. Null fits every type. Where a string is wanted, dates and
times become ISO 8601 texts. A value that does not fit raises ValueError with a fact; callers add the place.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, tzinfo
from decimal import Decimal
from functools import partial
from typing import TypeAlias

from cepheid.core.event import Event, Value
from cepheid.core.numbers import NOT_FINITE, fits_digits, round_float, scaled
from cepheid.core.time import (
    FarTime,
    format_instant,
    is_far,
    outside_calendar,
    parse_instant,
    to_datetime,
    to_instant,
)
from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    SCALARS,
    STRING,
    TIMESTAMP,
    ArrayType,
    Attribute,
    DataType,
    DecimalType,
    EventRef,
    EventType,
    RecordType,
)

Coercion: TypeAlias = Callable[[object], Value]

# What the form of an event says about it, beside its attributes.
META_KEYS = frozenset({"@type", "@time", "@old"})
# Deep enough for any real event, shallow enough for every recursion over a value.
DEEPEST = 64
# The words that name scalar types, in texts and in Python.
TYPE_NAMES: dict[str, DataType] = {**SCALARS, "bool": BOOLEAN}


def coerce(value: object, type: DataType, types: Mapping[str, EventType]) -> Value:
    """The value as one of the type; ValueError with a fact where it does not fit.

    ANY takes what some attribute could hold.
    """
    return _guarded(_any, value) if type == ANY else Coercions(types).of(type)(value)


class Coercions:
    """The conversions into the types of one program, each built once."""

    def __init__(self, types: Mapping[str, EventType], zone: tzinfo = UTC) -> None:
        self._types = types
        self._zone = zone  # of timestamps that name none
        self._members: dict[str, dict[str, Coercion]] = {}

    def of(self, type: DataType) -> Coercion:
        if type in _SCALARS or type == TIMESTAMP or isinstance(type, DecimalType):
            return self._inner(type)
        return partial(_guarded, self._inner(type))

    def of_text(self, type: DataType) -> Coercion:
        """From a CSV cell: empty is null, nested values are JSON."""
        convert = self.of(type)
        is_written = isinstance(type, DecimalType)  # as JSON writes it, too
        reader = str.strip if is_written else _TEXT_READERS.get(type, parse_json)
        return partial(_from_text, reader, convert)

    def _inner(self, type: DataType) -> Coercion:
        """As `of`, for values that are known not to be nested too deeply."""
        match type:
            case ArrayType(element):
                return partial(_array, self._inner(element), str(type))
            case RecordType(attributes):
                return partial(_record, str(type), self._coercions(attributes))
            case EventRef(name):
                return partial(self._reference, name)
            case DecimalType(precision, scale):
                return partial(_decimal, precision, scale)
        if type == TIMESTAMP:
            return partial(_timestamp, self._zone)
        return _SCALARS.get(type, _null)  # of what nothing is known, only null is taken

    def _coercions(self, attributes: Iterable[Attribute]) -> dict[str, Coercion]:
        return {a.name: self._inner(a.type) for a in attributes}

    def _reference(self, name: str, value: object) -> Value:
        """An event of a named type, or of one that inherits from it."""
        if value is None:
            return None
        if isinstance(value, Event):
            if not self._is_kind(value.type, name):
                raise ValueError(f"an event of type {value.type!r} is not {_article(name)}")
            self._described(value.type)
            return value
        fields = _mapping(value, name)
        actual = fields.get("@type")
        if not isinstance(actual, str) or not self._is_kind(actual, name):
            actual = name
        declared = self._described(actual)
        # Found only now, so that a type may contain itself.
        if actual not in self._members:
            self._members[actual] = self._coercions(declared.attributes)
        return _record(actual, self._members[actual], fields)

    def _described(self, name: str) -> EventType:
        declared = self._types.get(name)
        if declared is None:
            raise ValueError(f"no event type {name!r}")
        if declared.is_open:
            raise ValueError(f"type {name!r} has no schema")
        return declared

    def _is_kind(self, actual: str, name: str) -> bool:
        declared = self._types.get(actual)
        return declared is not None and (actual == name or name in declared.ancestors)


def shown(value: object) -> str:
    """A value as messages name it: never long, never itself a failure."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple | set | frozenset):
        return "a list"
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a number of {int(value.bit_length() * math.log10(2)) + 1} digits"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def _misfit(value: object, name: str) -> ValueError:
    return ValueError(f"{shown(value)} is not {_article(name)}")


def is_null(value: object) -> bool:
    """None, or a null of pandas, which need not be loaded to know them."""
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def native(value: object) -> object:
    """The plain Python form of a scalar of another library; anything else as it is."""
    if is_null(value):
        return None
    if hasattr(value, "tolist"):  # a scalar or an array of NumPy
        return value.tolist()
    if isinstance(value, datetime):
        try:
            return format_instant(to_instant(value))
        except OverflowError:
            raise outside_calendar(value) from None
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, FarTime):
        raise outside_calendar(value)
    return value


def _integer(name: str, bits: int, value: object) -> Value:
    if type(value) is not int:
        if value is None:
            return None
        value = _whole(native(value), name)
        if value is None:
            return None
    if -(1 << bits - 1) <= value < 1 << bits - 1:
        return value
    raise ValueError(f"{shown(value)} does not fit {_article(name)} ({bits} bit)")


def _whole(value: object, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value):
        return int(value)
    raise _misfit(value, name)


def _double(value: object, name: str = "double") -> float | None:
    if type(value) is float:
        return value
    if value is None:
        return None
    value = native(value)
    if value is None:
        return None
    if isinstance(value, str) and value in NOT_FINITE:
        return NOT_FINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _misfit(value, name)
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{shown(value)} does not fit {_article(name)}") from None


def _float(value: object) -> Value:
    number = _double(value, "float")
    if number is None:
        return None
    rounded = round_float(number)
    if math.isinf(rounded) and math.isfinite(number):
        raise ValueError(f"{shown(number)} does not fit a float (32 bit)")
    return rounded


def _string(value: object) -> Value:
    if type(value) is not str:
        if value is None:
            return None
        value = native(value)
        if value is None:
            return None
        if not isinstance(value, str):
            raise _misfit(value, "string")
    if not value.isascii():
        _check_writable(value)
    return value


def _check_writable(text: str) -> None:
    """Half a surrogate pair is no character: no file could take the string back."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{shown(text)} holds half of a surrogate pair") from None


def _boolean(value: object) -> Value:
    if value is None or value is True or value is False:
        return value
    plain = native(value)
    if plain is None or isinstance(plain, bool):
        return plain
    raise _misfit(plain, "boolean")


def _timestamp(zone: tzinfo, value: object) -> Value:
    if is_null(value):
        return None
    if not isinstance(value, str | date | FarTime):
        raise _misfit(value, "timestamp")
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        raise _misfit(value, "timestamp")  # ISO 8601 has days that are numbers
    return to_datetime(parse_instant(value, zone=zone))


def _date(value: object) -> Value:
    if is_null(value):
        return None
    if isinstance(value, FarTime) or (isinstance(value, str) and is_far(value)):
        raise outside_calendar(value, "date")
    if isinstance(value, str) and _DAY.fullmatch(value.strip()):
        try:
            return date.fromisoformat(value.strip())
        except ValueError:
            raise _misfit(value, "date") from None
    if isinstance(value, datetime):
        if value.time() != time():
            raise _misfit(value, "date")
        return value.date()
    if isinstance(value, date):
        return value
    raise _misfit(value, "date")


def _decimal(precision: int, scale: int, value: object) -> Value:
    value = native(value)
    if value is None:
        return None
    name = f"decimal({precision}, {scale})"
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        number = Decimal(value)
    elif isinstance(value, float) and math.isfinite(value):
        number = Decimal(repr(value))  # the digits that people read
    elif isinstance(value, int | Decimal) and not isinstance(value, bool):
        number = Decimal(value)
    else:
        raise _misfit(value, name)
    found = scaled(number, scale) if number.is_finite() else None
    if found is None or found != number or not fits_digits(found, precision):
        raise ValueError(f"{shown(value)} does not fit {_article(name)}")
    return found


def _null(value: object) -> Value:
    if is_null(value):
        return None
    raise _misfit(value, "null")


def _any(value: object) -> Value:
    if value is None or isinstance(value, bool | float | Event):
        return value
    value = native(value)
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return _integer("long", 64, value)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {str(k): _any(v) for k, v in value.items() if k not in META_KEYS}
    if isinstance(value, list | tuple):
        return [_any(item) for item in value]
    raise ValueError(f"{shown(value)} is nothing that an event can hold")


def _guarded(convert: Coercion, value: object) -> Value:
    if is_too_deep(value):
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    return convert(value)


_PLAIN = (str, float, int, bool, type(None))  # most values: none of them holds others


def is_too_deep(value: object) -> bool:
    """Whether lists and mappings lie in each other more than DEEPEST times; never recursive."""
    level: list[object] = [value]
    for _ in range(DEEPEST + 1):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return False
    return True


def _children(value: object) -> Iterable[object]:
    if type(value) in _PLAIN or isinstance(value, Event):
        return ()
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _array(element: Coercion, name: str, value: object) -> Value:
    value = native(value)
    if value is None:
        return None
    if isinstance(value, str) and value.startswith("["):  # JSON, where a column holds no arrays
        value = parse_json(value)
    if not isinstance(value, list | tuple):
        raise _misfit(value, name)
    return [element(item) for item in value]


def _mapping(value: object, name: str) -> Mapping[str, object]:
    """The members of a nested record, which may also come as its JSON text."""
    if isinstance(value, str) and value.startswith("{"):
        value = parse_json(value)
    if not isinstance(value, Mapping):
        raise _misfit(value, name)
    return value


def _record(name: str, members: dict[str, Coercion], value: object) -> Value:
    if value is None:
        return None
    result: dict[str, Value] = dict.fromkeys(members)
    for key, raw in _mapping(value, name).items():
        if key in members:
            result[key] = members[key](raw)
        elif key not in META_KEYS and raw is not None:
            known = ", ".join(members) or "nothing"
            raise ValueError(f"no attribute {shown(key)} in {name}, which has {known}")
    return result


_SCALARS: dict[DataType, Coercion] = {
    STRING: _string,
    BOOLEAN: _boolean,
    INT: partial(_integer, "int", 32),
    LONG: partial(_integer, "long", 64),
    FLOAT: _float,
    DOUBLE: _double,
    DATE: _date,
    NULL: _null,
}


# Text -----------------------------------------------------------------------------------------

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# Digits are never given back: looking for other ways to read them takes long.
_DECIMAL = re.compile(r"[+-]?([0-9]++\.?[0-9]*+|\.[0-9]++)([eE][+-]?[0-9]+)?")
_BLANKS = frozenset(" \t\r\n")
_SPACE = re.compile(r"[ \t\r\n]*")
# More digits than any double has; int() itself refuses some thousands.
_MOST_DIGITS = 400


def _from_text(read: Callable[[str], object], convert: Coercion, text: object) -> Value:
    if text == "" or text is None:
        return None
    if not isinstance(text, str):
        raise _misfit(text, "text")
    return convert(read(text))


def number_from(text: str) -> int | float:
    """A decimal number as people write it; ValueError where it is none or has no double."""
    if _WHOLE.fullmatch(text):
        return _printable(text)
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a number")
    return _finite(text)


def _printable(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits does not fit a long (64 bit)")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{shown(text)[1:-1]} does not fit a double")
    return number


def _number_cell(text: str) -> object:
    """A number, or the text itself, which the coercion then refuses by its expected type."""
    text = text.strip()
    is_number = _WHOLE.fullmatch(text) or _DECIMAL.fullmatch(text)
    return number_from(text) if is_number else text


def _boolean_cell(text: str) -> object:
    return {"true": True, "false": False}.get(text.strip().lower(), text)


def _string_cell(text: str) -> object:
    """An empty cell is null, so the empty string is written as two quotes.

    For every string to be read back, those of nothing but quotes are written with two more.
    """
    return text[2:] if len(text) >= 2 and not text.strip('"') else text


def string_to_cell(text: str) -> str:
    return text if text.strip('"') else text + '""'


def any_cell(text: str) -> object:
    """What a cell seems to be where no schema says it: number, boolean, JSON, else text."""
    if text.strip().lower() in {"true", "false"}:
        return _boolean_cell(text)
    if text in NOT_FINITE:
        return NOT_FINITE[text]
    if text[0] in "[{":
        try:
            return parse_json(text)
        except ValueError:
            return text
    digits = text.lstrip("-")
    # A leading zero or plus belongs to codes and telephone numbers.
    if digits[:1] == "+" or (digits[:1] == "0" and digits[1:2].isdigit()):
        return text
    value = _number_cell(text)
    return _string_cell(text) if isinstance(value, str) else value


_TEXT_READERS: dict[DataType, Callable[[str], object]] = {
    STRING: _string_cell,
    BOOLEAN: _boolean_cell,
    **dict.fromkeys((INT, LONG, FLOAT, DOUBLE), _number_cell),
    **dict.fromkeys((TIMESTAMP, DATE), str.strip),
    **dict.fromkeys((ANY, NULL), any_cell),
}


def unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object; ValueError where a key appears twice."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {shown(twice)} appears twice")
    return fields


_DECODER = json.JSONDecoder(
    object_pairs_hook=unique_keys,
    parse_int=_printable,
    parse_float=_finite,
    parse_constant=NOT_FINITE.__getitem__,
)


# What is wrong, by the beginning of what Python says of it.
_NO_JSON = {
    "Expecting value": "a value is missing",
    "Expecting property name": "a name in double quotes is missing",
    "Expecting ':'": "':' is missing",
    "Expecting ','": "',' is missing",
    "Illegal trailing comma": "a comma has nothing behind it",
    "Unterminated string": "a string is not closed",
    "Invalid control character": "a string has a control character, which is written as an escape",
    "Invalid \\u": "'\\u' takes four hexadecimal digits",
    "Invalid \\": "there is no such escape in a string",
    "Extra data": "text behind the value",
}


class NotJson(ValueError):
    """A text that is no JSON: the fact, and the position in the text."""

    def __init__(self, fact: str, text: str, position: int) -> None:
        line = text.count("\n", 0, position) + 1
        column = position - text.rfind("\n", 0, position)
        place = f"line {line}, column {column}" if "\n" in text else f"column {column}"
        super().__init__(f"not JSON: {fact} at {place}")
        self.fact = f"not JSON: {fact}"
        self.position = position


def not_json(problem: json.JSONDecodeError) -> NotJson:
    """What Python's reader says, in our words."""
    text, position = problem.doc, problem.pos
    known = (fact for begin, fact in _NO_JSON.items() if problem.msg.startswith(begin))
    fact = next(known, "it cannot be read")
    return NotJson(fact if text[position:].strip() else "it ends too early", text, position)


def parse_json(text: str) -> object:
    """One JSON value; ValueError (with a position, if it is NotJson) where it is none."""
    value, end = read_json(text, 0)
    if end != len(text):
        raise NotJson(_NO_JSON["Extra data"], text, end)
    return value


def read_json(text: str, start: int) -> tuple[object, int]:
    """The JSON value at a position, and where the text goes on after it and white space."""
    start = skip_space(text, start)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as problem:
        raise not_json(problem) from None
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    # Counting brackets is quick, and few values have enough of them to be looked into.
    if text.count("[", start, end) + text.count("{", start, end) > DEEPEST and is_too_deep(value):
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    if "\\ud" in text or "\\uD" in text:
        _check_writable(json.dumps(value, ensure_ascii=False))
    return value, skip_space(text, end)


def skip_space(text: str, start: int) -> int:
    if text[start : start + 1] not in _BLANKS:
        return start
    match = _SPACE.match(text, start)
    return match.end() if match else start
