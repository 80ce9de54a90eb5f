"""BiCEPL: every construct as a tree, and the paper's examples."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.core.time import MICROSECONDS, Period
from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    Attribute,
    DataType,
    EventRef,
)
from cepheid.errors import Span, UsageError
from cepheid.lang.bicepl.parser import parse
from cepheid.lang.bicepl.printer import print_class
from cepheid.program.classes import AnyClass, ComplexClass, Reaction, SubscribedClass
from cepheid.sql.text import Sql

# Example 4.1 and the classes beside it, then 4.2 with its conditions as the prose has them, and 4.3 with IS NULL.
TRAVEL = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS FlightArrival(flightDay TEXT, flightNo TEXT,
        fromLoc TEXT, toLoc TEXT)
    ID (flightDay, flightNo)
    FREEZING TIME (2d);

CREATE MUTABLE SUBSCRIBED EVENT CLASS FlightDeparture(flightDay TEXT, flightNo TEXT,
        fromLoc TEXT, toLoc TEXT)
    ID (flightDay, flightNo)
    FREEZING TIME (2d);

CREATE MUTABLE SUBSCRIBED EVENT CLASS BusinessMeeting(meetingId TEXT)
    ID (meetingId) FREEZING TIME (2d);

CREATE MUTABLE SUBSCRIBED EVENT CLASS FlightBooking(bookingId TEXT, meetingId TEXT)
    ID (bookingId) FREEZING TIME (2d);

CREATE MUTABLE SUBSCRIBED EVENT CLASS Flight(bookingId TEXT, flightDay TEXT, flightNo TEXT,
        connFlgtDay TEXT, connFlgtNo TEXT)
    ID (bookingId, flightDay, flightNo) FREEZING TIME (2d);

CREATE COMPLEX EVENT CLASS MissedConnectingFlight(flightDay TEXT,
     flightNo TEXT, fromLoc TEXT, toLoc TEXT, bookingId TEXT, meetingId
     TEXT, timeToChange NUMBER)
    ID (flightDay, flightNo, bookingId)
    OBSERVATION SPAN (2d)
    AS SELECT fd.flightDay, fd.flightNo, fd.fromLoc, fd.toLoc,
        fb.bookingId, bm.meetingId, (fd - fa) AS timeToChange
       FROM FlightArrival fa, FlightDeparture fd, BusinessMeeting bm,
           Flight f, FlightBooking fb
       WHERE fa.flightNo = f.flightNo AND fa.flightDay = f.flightDay AND
           bm.meetingId = fb.meetingId AND f.bookingId = fb.bookingId AND
           f.connFlgtNo = fd.flightNo AND f.connFlgtDay = fd.flightDay
           AND (fa + 30m) > fd
       OCCURRING AT fd
    ON ANNOUNCEMENT AND (NEW - 1d) > NOW DO
        bookNewFlights(NEW.meetingId),
    ON ANNOUNCEMENT AND (NEW - 1d) <= NOW DO
        cancelMeeting(NEW.meetingId);

CREATE COMPLEX EVENT CLASS ArrivedAtDestination(flightDay TEXT,
    flightNo TEXT, bookingId TEXT, meetingId TEXT, location TEXT)
    ID(flightDay, flightNo, bookingId)
    OBSERVATION SPAN (3d)
    AS SELECT fa.flightDay, fa.flightNo, fb.bookingId, bm.meetingId, fa.toLoc AS location
       FROM FlightArrival fa, BusinessMeeting bm, Flight f, FlightBooking fb
       WHERE f.connFlgtNo IS NULL AND fa.flightNo = f.flightNo AND
         fa.flightDay = f.flightDay AND bm.meetingId = fb.meetingId AND
         f.bookingId = fb.bookingId AND NOT EXISTS (SELECT * FROM
         MissedConnectingFlight mcf WHERE mcf.bookingId = f.bookingId)
       OCCURRING AT fa
    ON ONTIME OR LATE(0s, 1h) DO publishOnTwitter(
        format("Just arrived at %s!", NEW.location)),
    ON LATE(1h, 1d) DO publishOnTwitter(
        format("Have arrived in %s at %t!", NEW.location, NEW.occ)),
    ON CHANGE AND OLD.location <> NEW.location DO publishOnTwitter(
        format("Diverted from %s to %s!", OLD.location, NEW.location)),
    ON POSTPONE DO publishOnTwitter(
        format("Not landed yet, expected to arrive at %t!", NEW.occ)),
    ON RETROACTIVECHANGE DO publishOnTwitter(
        format("Revise, arrived in %s at %t!", NEW.location, NEW.occ));
"""
DAY = MICROSECONDS["days"]
HEAD = "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT, x NUMBER) ID (k) FREEZING TIME (2d)"


def only(text: str) -> AnyClass:
    parsed = parse(text)
    assert not parsed.problems
    [found] = parsed.tree.classes
    return found


def derived(text: str) -> ComplexClass:
    found = only(text)
    assert isinstance(found, ComplexClass)
    return found


def statement(text: str) -> Reaction:
    [found] = only(f"{HEAD} {text}").reactions
    return found


def test_a_subscribed_class_is_a_tree() -> None:
    found = only(
        "create immutable subscribed event class `Two words`(k TEXT, t TIMESTAMP) id (t, k)"
        " freezing time 90m"
    )
    assert found == SubscribedClass(
        name="Two words",
        attributes=(Attribute("k", STRING), Attribute("t", TIMESTAMP)),
        key=("t", "k"),
        freezing=Period(90 * MICROSECONDS["minutes"]),
        is_mutable=False,
    )


def test_the_paper_s_examples_are_trees_and_resolve() -> None:
    program = cep.parse(TRAVEL, "bicepl")
    arrival, *_, missed, arrived = program.tree.classes
    assert arrival == SubscribedClass(
        name="FlightArrival",
        attributes=tuple(
            Attribute(name, STRING) for name in ("flightDay", "flightNo", "fromLoc", "toLoc")
        ),
        key=("flightDay", "flightNo"),
        freezing=Period(2 * DAY),
    )
    assert isinstance(missed, ComplexClass)
    assert missed.occurring == Sql("fd")
    assert missed.select.text.endswith("AND (fa + 30m) > fd")
    assert missed.reactions == (
        Reaction(
            Sql("ANNOUNCEMENT AND (NEW - 1d) > NOW"), "bookNewFlights", (Sql("NEW.meetingId"),)
        ),
        Reaction(
            Sql("ANNOUNCEMENT AND (NEW - 1d) <= NOW"), "cancelMeeting", (Sql("NEW.meetingId"),)
        ),
    )
    assert [r.condition.text for r in arrived.reactions] == [
        "ONTIME OR LATE(0s, 1h)",
        "LATE(1h, 1d)",
        "CHANGE AND OLD.location <> NEW.location",
        "POSTPONE",
        "RETROACTIVECHANGE",
    ]
    assert not [f for f in program.check() if f.severity is cep.Severity.ERROR]
    assert cep.parse(program.to_text(), "bicepl") == program
    assert cep.Program.from_json(program.to_json()) == program
    assert repr(program) == "<Program: 0 statements, 7 classes>"


@pytest.mark.parametrize(
    ("names", "type"),
    [
        ("TEXT VARCHAR STRING CHAR text", STRING),
        ("NUMBER DOUBLE REAL FLOAT Number", DOUBLE),
        ("INTEGER INT BIGINT LONG", LONG),
        ("BOOLEAN BOOL", BOOLEAN),
        ("TIMESTAMP TIME DATETIME", TIMESTAMP),
    ],
)
def test_types_have_the_usual_names(names: str, type: DataType) -> None:
    for name in names.split():
        found = only(HEAD.replace("NUMBER", name))
        assert found.attributes[1] == Attribute("x", type)
        assert names.split(maxsplit=1)[0] in print_class(found)


@pytest.mark.parametrize(
    ("time", "canonical"),
    [("0s", "0s"), ("90s", "90s"), ("120S", "2m"), ("24h", "1d"), ("36h", "36h"), ("(7d)", "7d")],
)
def test_times_are_whole_numbers_with_a_unit(time: str, canonical: str) -> None:
    found = only(HEAD.replace("(2d)", time))
    assert f"FREEZING TIME ({canonical});" in print_class(found)


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("announcement", "ANNOUNCEMENT"),
        ("CANCELLATION", "CANCELLATION"),
        ("Change", "CHANGE"),
        ("ONTIME", "ONTIME"),
        ("LATE", "LATE"),
        ("late ( 0s,1H )", "LATE(0s, 1h)"),
        ("FUTURE", "FUTURE"),
        ("FUTURECANCEL", "FUTURECANCEL"),
        ("future  cancel", "FUTURECANCEL"),
        ("RETROACTIVECHANGE", "RETROACTIVECHANGE"),
        ("POSTPONE", "POSTPONE"),
        ("REVOCATION", "REVOCATION"),
        ("not change and(new.x<>old.x or Now>New-1D)", None),
    ],
)
def test_every_primitive_is_a_condition(written: str, normal: str | None) -> None:
    found = statement(f"ON {written} DO f()")
    expected = "NOT CHANGE AND (NEW.x <> OLD.x OR NOW > NEW - 1d)"
    assert found.condition.text == (normal or expected)
    assert found.condition.written == written


def test_arguments_are_any_values() -> None:
    found = statement("""ON CHANGE DO `on`(NEW.x + 1, 'it''s', "a, b); DO", f(1, (2)), CASE
        WHEN NEW.x > 1 THEN 'a' ELSE 'b' END, NEW)""")
    assert found.action == "on"
    assert [argument.text for argument in found.arguments] == [
        *("NEW.x + 1", "'it''s'", "'a, b); DO'", "F(1, (2))"),
        *("CASE WHEN NEW.x > 1 THEN 'a' ELSE 'b' END", "NEW"),
    ]


def test_queries_have_joins_with_conditions_and_subqueries_of_their_own() -> None:
    found = derived(
        "CREATE COMPLEX EVENT CLASS C(k TEXT, n INTEGER) ID (k) OBSERVATION SPAN 1d AS"
        " SELECT a.k, count(*) FROM A a LEFT JOIN B b ON a.k = b.k AND a.x IS DISTINCT FROM b.x"
        " WHERE a.k IN (SELECT k FROM D) GROUP BY a.k HAVING count(*) > 1"
        " OCCURRING AT MAX(a, b + 5m) ON CHANGE DO f(), ON LATE DO g();"
    )
    assert "ON a.k = b.k" in found.select.text
    assert found.occurring.text == "MAX(a, b + 5m)"
    assert [reaction.action for reaction in found.reactions] == ["f", "g"]
    assert only(print_class(found)) == found


def test_comments_are_no_part_of_a_program() -> None:
    text = HEAD.replace(" ID", "-- of A, and; so on\n ID /* its key */ ")
    assert only(
        f"// first\n{text} ON CHANGE -- why\nAND NEW.x > 1 /* DO */ DO f(); -- end"
    ) == only(f"{HEAD} ON CHANGE AND NEW.x > 1 DO f()")


def test_semicolons_may_stand_alone_and_the_last_one_is_optional() -> None:
    assert len(parse(f";;{HEAD};;{HEAD.replace('A(', 'B(')}").tree.classes) == 2
    assert parse(" -- nothing\n").tree.classes == ()


def test_everything_has_its_place() -> None:
    text = f"\n  {HEAD}\n  ON CHANGE\n    AND NEW.x > 1 DO f(NEW.k,\n      NEW.x)"
    parsed = parse(text, "a.bicepl")
    [found] = parsed.tree.classes
    assert found.span == Span(2, 3, 2, 42, "a.bicepl")
    assert [(p.line, p.column, p.end_column) for p in found.places] == [
        *((2, 43, 49), (2, 51, 59)),  # attributes
        (2, 65, 66),  # key
    ]
    [reaction] = found.reactions
    assert reaction.span == Span(3, 3, 5, 13, "a.bicepl")
    assert reaction.condition.span == Span(3, 6, 4, 18, "a.bicepl")
    assert reaction.condition.written == "CHANGE\n    AND NEW.x > 1"
    assert [str(argument.span) for argument in reaction.arguments] == [
        "a.bicepl:4:24",
        "a.bicepl:5:7",
    ]


def test_names_that_are_keywords_stand_in_backquotes() -> None:
    found = only(
        "CREATE MUTABLE SUBSCRIBED EVENT CLASS `select`(`on` TEXT, id TEXT, time TIME, event INT)"
        " ID (`on`, id) FREEZING TIME 1d ON NEW.`on` = NEW.id DO `do`()"
    )
    assert found.key == ("on", "id")
    assert only(print_class(found)) == found


def test_what_no_text_says_is_refused_by_the_printer() -> None:
    found = only(HEAD)
    assert isinstance(found, SubscribedClass)
    for changes in (
        {"freezing": Period(1)},
        {"freezing": Period(0, 1)},
        {"attributes": (Attribute("k", BOOLEAN), Attribute("x", EventRef("B")))},
    ):
        fields = {"name": "A", "attributes": found.attributes, "key": found.key}
        with pytest.raises(UsageError):
            print_class(SubscribedClass(**{**fields, "freezing": Period(), **changes}))  # type: ignore[arg-type]


def test_other_languages_have_no_words_for_classes_and_the_reverse() -> None:
    program = cep.parse(HEAD, "bicepl")
    for language in ("epl", "vepl", "vql"):
        with pytest.raises(UsageError):
            program.to_text(language)
    with pytest.raises(UsageError, match="BiCEPL has no words for a schema"):
        cep.compose(cep.schema("A", x="int")).to_text("bicepl")
    mixed = cep.compose(cep.schema("B", x="int"), program, cep.stream("B").insert_into("D"))
    assert "CREATE MUTABLE" in str(mixed)
    assert "insert into D" in str(mixed)
