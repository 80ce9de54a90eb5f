"""Functions of the calendar and arithmetic of decimals, against independent computations."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.core.event import Value
from cepheid.core.time import parse_period
from cepheid.core.types import MOST_DIGITS, DecimalType, fits, wider
from cepheid.core.values import Coercions
from cepheid.errors import Diagnostic
from cepheid.expr import dates
from cepheid.expr.evaluate import Frame, compile_expr
from cepheid.expr.tree import Binary, Expr, Literal
from cepheid.expr.typing import Scope, resolve

BERLIN = "Europe/Berlin"
# Around the hours that clocks skip and show twice, and around the epoch.
MOMENTS = st.integers(-86_400, 2**31).map(
    lambda s: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=s)
) | (
    st.sampled_from(
        [datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)]
    ).flatmap(lambda day: st.integers(0, 6 * 3600).map(lambda s: day + timedelta(seconds=s)))
)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        (dates.extract, ("quarter", date(2026, 12, 31)), 4),
        (dates.extract, ("week", date(2027, 1, 1)), 53),
        (dates.extract, ("dayofyear", date(2028, 12, 31)), 366),
        (dates.extract, ("hour", at("2026-10-25T00:30:00"), BERLIN), 2),
        (dates.extract, ("hour", at("2026-10-25T01:30:00"), BERLIN), 2),
        (dates.extract, ("hour", at("2026-01-01T00:00:00"), "Nowhere"), None),
        (dates.extract, ("hours", at("2026-01-01T00:00:00")), None),
        (dates.truncate, ("hour", at("2026-10-25T01:30:00"), BERLIN), at("2026-10-25T01:00:00")),
        (dates.truncate, ("hour", at("2026-10-25T00:30:00"), BERLIN), at("2026-10-25T00:00:00")),
        (dates.truncate, ("day", at("2026-10-25T12:00:00"), BERLIN), at("2026-10-24T22:00:00")),
        (dates.truncate, ("quarter", date(2026, 6, 30)), date(2026, 4, 1)),
        (dates.truncate, ("week", date(1, 1, 1)), date(1, 1, 1)),
        (dates.truncate, ("hour", date(2026, 1, 1)), None),
        (dates.add, ("day", 1, at("2026-03-28T01:30:00"), BERLIN), at("2026-03-29T01:30:00")),
        (dates.add, ("day", 1, at("2026-03-28T12:00:00"), BERLIN), at("2026-03-29T11:00:00")),
        (dates.add, ("year", 1, date(2028, 2, 29)), date(2029, 2, 28)),
        (dates.add, ("year", 9000, date(2028, 2, 29)), None),
        (dates.add, ("day", 2**62, at("2026-01-01T00:00:00")), None),
        (dates.add, ("hour", 1, date(2026, 1, 1)), None),
        (dates.difference, ("day", at("2026-01-02T23:00:00"), at("2026-01-01T00:00:00")), -1),
        (dates.difference, ("hour", at("2026-03-28T23:00:00"), at("2026-03-29T22:00:00")), 23),
        (
            dates.difference,
            ("day", at("2026-03-28T23:00:00"), at("2026-03-29T22:00:00"), BERLIN),
            1,
        ),
        (dates.difference, ("month", date(2026, 1, 31), date(2026, 3, 30)), 1),
        (dates.difference, ("year", date(2028, 2, 29), date(2027, 3, 1)), 0),
        (dates.formatted, (date(26, 1, 2), "d.M.yyyy 'o''clock'"), "2.1.0026 o'clock"),
        (
            dates.formatted,
            (at("2026-01-02T03:04:05"), "yyyyMMdd'T'HHmmssSSS"),
            "20260102T030405000",
        ),
        (dates.formatted, (date(2026, 1, 2), "QQ"), None),
        (dates.parsed, ("2026-02-30", "yyyy-MM-dd"), None),
        (dates.parsed, (" 12:30 ", "HH:mm"), at("1970-01-01T12:30:00")),
        (dates.parsed, ("2026 2026", "yyyy yyyy"), None),
        (dates.parsed, ("25.10.2026 02:30", "dd.MM.yyyy HH:mm", BERLIN), at("2026-10-25T00:30:00")),
    ],
)
def test_a_function_of_the_calendar_gives_its_value(
    function: object, arguments: tuple[object, ...], result: object
) -> None:
    assert callable(function)
    assert function(*arguments) == result


@given(MOMENTS, st.sampled_from(["year", "quarter", "month", "week", "day", "hour", "minute"]))
def test_a_time_lies_in_the_unit_that_began_at_its_truncation(moment: datetime, unit: str) -> None:
    begin = dates.truncate(unit, moment, BERLIN)
    assert isinstance(begin, datetime)
    assert begin <= moment
    assert dates.truncate(unit, begin, BERLIN) == begin
    end = dates.add(unit, 1, begin, BERLIN)
    assert isinstance(end, datetime)
    assert moment < end
    assert dates.difference(unit, begin, end, BERLIN) == 1


@given(MOMENTS)
def test_what_is_formatted_is_read_back_as_the_earlier_of_equal_times(moment: datetime) -> None:
    pattern = "yyyy-MM-dd HH:mm:ss.SSSSSS"
    text = dates.formatted(moment, pattern, BERLIN)
    assert text is not None
    found = dates.parsed(text, pattern, BERLIN)
    local = moment.astimezone(ZoneInfo(BERLIN))
    assert found == local.replace(fold=0).astimezone(UTC)


# Decimals -------------------------------------------------------------------------------------


@st.composite
def decimals(draw: st.DrawFn) -> Literal:
    precision = draw(st.integers(1, MOST_DIGITS))
    type = DecimalType(precision, draw(st.integers(0, min(precision, 9))))
    units = draw(st.integers(1 - 10**precision, 10**precision - 1))
    return Literal(Decimal(units).scaleb(-type.scale), type=type)


def value_of(expr: Expr) -> tuple[Value, Expr]:
    problems: list[Diagnostic] = []
    resolved = resolve(expr, Scope({}, {}), problems)
    assert problems == []
    return compile_expr(resolved)(Frame()), resolved


@given(decimals(), st.sampled_from(["+", "-", "*", "%"]), decimals())
def test_arithmetic_of_decimals_is_exact_or_null(left: Literal, sign: str, right: Literal) -> None:
    found, resolved = value_of(Binary(sign, left, right))  # type: ignore[arg-type]
    assert isinstance(resolved.type, DecimalType)
    a, b = left.value, right.value
    assert isinstance(a, Decimal)
    assert isinstance(b, Decimal)
    if sign == "%" and not b:
        assert found is None
        return
    with localcontext(prec=100):
        exact = {"+": a + b, "-": a - b, "*": a * b, "%": a % b if b else a}[sign]
    if abs(exact.scaleb(resolved.type.scale)) >= 10**resolved.type.precision:
        assert resolved.type.precision == MOST_DIGITS
        assert found is None
    else:
        assert found == exact
        assert isinstance(found, Decimal)
        assert -int(found.as_tuple().exponent) == resolved.type.scale


@given(decimals(), decimals())
def test_a_wider_decimal_holds_both_unless_digits_end(left: Literal, right: Literal) -> None:
    common = wider(left.type, right.type)
    assert isinstance(common, DecimalType)
    if common.precision < MOST_DIGITS:
        assert fits(left.type, common)
        assert fits(right.type, common)


@pytest.mark.parametrize("raw", [19.9, "19.90", Decimal("19.9"), " 19.9 "[1:5]])
def test_a_decimal_is_read_from_what_people_write(raw: object) -> None:
    assert str(Coercions({}).of(DecimalType(4, 2))(raw)) == "19.90"


@pytest.mark.parametrize("raw", [19.999, "100.00", True, "abc", float("nan"), "1e99", [1]])
def test_a_decimal_that_would_lose_digits_is_refused(raw: object) -> None:
    with pytest.raises(ValueError, match=r"decimal\(4, 2\)"):
        Coercions({}).of(DecimalType(4, 2))(raw)


# Periods --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("10m", "10 minutes"),
        ("10 mins", "10 minutes"),
        ("1h30m", "1 hour 30 minutes"),
        ("2 hrs", "2 hours"),
        ("500 millis", "500 milliseconds"),
        ("1d 12 H", "1 day 12 hours"),
    ],
)
def test_a_period_is_spelled_in_many_ways(text: str, canonical: str) -> None:
    assert str(parse_period(text)) == canonical


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("10 minuets", "no time unit 'minuets'; did you mean 'minutes'?"),
        ("minutes", "'minutes' is not a time period"),
        ("", "'' is not a time period"),
    ],
)
def test_a_period_that_is_none_is_refused_with_a_hint(text: str, fact: str) -> None:
    with pytest.raises(ValueError, match="is not a time period") as refused:
        parse_period(text)
    assert fact in str(refused.value)
