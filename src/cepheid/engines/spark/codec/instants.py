"""Columns of timestamps, dates and ISO 8601 texts as instants, whatever zone the session has."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import types as T  # noqa: N812

from cepheid.core.time import ISO_TIME, MICROSECONDS, SECOND
from cepheid.engines.spark.codec.sql_columns import Column, call, coalesce, concat, each, lit, when

EXACT = "decimal(20,0)"  # holds every long


def micros(raw: Column, stored: T.DataType, zone: str | None = None) -> Column:
    """The instant of a timestamp or date; where it has no zone it is of the given one, else UTC."""
    if isinstance(stored, T.TimestampType):
        return call("UNIX_MICROS", raw)
    if zone is not None:
        return _micros_shown(call("CONVERT_TIMEZONE", zone, "UTC", raw.cast(_CLOCK)))
    if isinstance(stored, T.DateType):
        return call("UNIX_DATE", raw) * _long(MICROSECONDS["days"])
    return _micros_shown(raw)


def micros_of_text(raw: Column, zone: str | None = None) -> Column:
    """The instant that an ISO 8601 text writes; null for other texts."""
    in_parts = when(raw.matches(ISO_TIME), _micros_of_parts(raw, zone))
    if zone is not None:
        is_plain, text = raw.matches(_PLAIN + "Z$"), raw
    else:
        is_plain = raw.matches(_PLAIN + "Z?$")
        text = when(call("ENDSWITH", raw, "Z"), raw).otherwise(concat(raw, "Z"))
    return when(is_plain, call("UNIX_MICROS", text.try_cast("timestamp"))).otherwise(in_parts)


# What most texts look like; Spark reads them by itself, and faster.
_PLAIN = "^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,6})?"


def _micros_of_parts(raw: Column, zone: str | None) -> Column:
    """The pattern leaves nothing to refuse but days that a month or a year does not have."""
    groups = ",".join(f"${group}" for group in range(1, _GROUPS + 1))
    split = call("SPLIT", call("REGEXP_REPLACE", raw, ISO_TIME, groups), ",")
    # As the element of an array they are found once, not wherever one of them is used.
    return call("GET", each(call("ARRAY", split), lambda parts: _instant_of(parts, zone)), 0)


def _instant_of(parts: Column, zone: str | None) -> Column:
    year, _, month, day, week, weekday, hour, _, minute, second, fraction, *offset = (
        call("GET", parts, place) for place in range(_GROUPS)
    )
    written_zone, sign, zone_hour, _, zone_minute, zone_second = offset
    date = when(week == "", call("CONCAT_WS", "-", year, month, day).try_cast("date")).otherwise(
        _day_of_week(year, _number(week), coalesce(call("NULLIF", weekday, ""), lit("1")))
    )
    shown = (
        call("UNIX_DATE", date) * _long(MICROSECONDS["days"])
        + _seconds(hour, minute, second) * _long(SECOND)
        + call("RPAD", call("SUBSTRING", fraction, 1, 6), 6, "0").try_cast("bigint")
    )
    direction = concat(sign, "1").try_cast("bigint")
    instant = shown - direction * _seconds(zone_hour, zone_minute, zone_second) * _long(SECOND)
    if zone is None:
        return instant
    return when(written_zone == "", micros(_clock(shown), _NO_ZONE, zone)).otherwise(instant)


def iso_text(instant: Column) -> Column:
    """ISO 8601, UTC, with as few fractional digits as needed."""
    text = _clock(instant).cast("string")
    return concat(call("REPLACE", text, " ", "T"), "Z")


_CLOCK, _NO_ZONE = "timestamp_ntz", T.TimestampNTZType()
_EPOCH = "1970-01-01 00:00:00"
_GROUPS = 17  # of the pattern


def _micros_shown(clock: Column) -> Column:
    """What a clock shows, as if it stood in UTC."""
    since = clock - lit(_EPOCH).cast(_CLOCK)
    parts = {"DAY": "days", "HOUR": "hours", "MINUTE": "minutes", "SECOND": "seconds"}
    return reduce(
        lambda total, part: total + part,
        (
            (call("DATE_PART", part, since) * _long(MICROSECONDS[unit])).cast("bigint")  # type: ignore[index]
            for part, unit in parts.items()
        ),
    )


def _clock(shown: Column) -> Column:
    seconds = (shown.cast(EXACT) / lit(SECOND)).cast("decimal(18,6)")
    return lit(_EPOCH).cast(_CLOCK) + call("MAKE_DT_INTERVAL", 0, 0, 0, seconds)


def _day_of_week(year: Column, week: Column, weekday: Column) -> Column:
    """A day of a week that a year has; its first week has the fourth of January."""
    fourth = concat(year, "-01-04").try_cast("date")
    monday = call("DATE_ADD", fourth, ((week - 1) * 7 - call("WEEKDAY", fourth)).cast("int"))
    day = call("DATE_ADD", monday, weekday.try_cast("int") - 1)
    return when((call("WEEKOFYEAR", monday) == week) & (call("YEAR", day) <= lit(9999)), day)


def _seconds(hour: Column, minute: Column, second: Column) -> Column:
    return (_number(hour) * 60 + _number(minute)) * 60 + _number(second)


def _number(digits: Column) -> Column:
    """Where there are none it is zero."""
    return concat("0", digits).try_cast("bigint")


def _long(value: int) -> Column:
    return lit(value).cast("bigint")
