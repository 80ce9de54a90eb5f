"""What may be written at a place, and what is told about what stands there."""

from __future__ import annotations

import pytest

from cepheid.editing.completing import complete
from cepheid.editing.describing import describe
from cepheid.editing.places import apply
from cepheid.editing.workspace import Workspace
from cepheid.errors import Edit
from cepheid.lang.bicepl.language import BICEPL
from cepheid.lang.epl.language import EPL
from cepheid.lang.epl.phrases import PHRASES
from cepheid.lang.language import Language, Text
from cepheid.lang.queries.language import QUERIES
from cepheid.lang.vepl.language import VEPL

TYPES = """\
create schema Pos (lat double, lon double);
create schema A (id string, v double, p Pos, `select` int);
create context Per partition by id from A;
insert into Hot select id, v as heat from A(v > 30);
"""
EVENTS = "atomicEvent reading(id: int, v: double)\n"


def offered(text: str, language: Language = EPL, before: str = TYPES) -> list[str]:
    """What is offered at the bar, functions apart."""
    offset = len(before) + text.index("|")
    found = Workspace([Text("x", before + text.replace("|", ""), language)])
    return [each.label for each in complete(found, "x", offset) if each.sort != "function"]


@pytest.mark.parametrize(
    ("text", "least", "never"),
    [
        ("|", ["create schema", "insert into", "select", "context"], ["from", "where", "A"]),
        ("cr|", ["create schema", "create context"], ["select"]),
        ("create |", ["schema", "context"], ["select"]),
        ("create schema B (x |", ["int", "string", "Pos"], ["from", "int["]),
        ("create schema B (x int) |", ["inherits"], ["from"]),
        ("create schema B (x int) inherits |", ["A", "Hot"], ["int"]),
        ("create context C partition by |", ["id", "heat"], ["A"]),
        ("context |", ["Per"], ["A"]),
        ("insert into |", ["A", "Hot"], ["select"]),
        ("@|", ["Name", "Priority", "EventTime"], ["from"]),
        ("select | from pattern [every a=A -> b=Hot]", ["a", "b", "distinct"], ["id", "from"]),
        ("select a.| from pattern [every a=A -> b=Hot]", ["id", "v", "p"], ["heat", "from"]),
        ("select b.| from pattern [every a=A -> b=Hot]", ["heat"], ["p"]),
        ("select a.p.| from pattern [every a=A]", ["lat", "lon"], ["id"]),
        ("select a.v| from pattern [every a=A]", ["v"], ["id", "p"]),
        ("select a.v from pattern [|", ["A", "every", "not"], ["and", "id"]),
        ("select a.v from pattern [every a=A(|", ["id", "v", "not"], ["A", "from"]),
        ("select a.v from pattern [every a=A -> |", ["A", "Hot", "not"], ["->"]),
        ("select a.v from pattern [every a=A |", ["and", "or", "until", "where"], ["A"]),
        ("select a.v from pattern [a=A where |", ["timer:within("], ["A"]),
        ("select a.v from pattern [a=A where timer:|", [], ["A"]),
        ("select a.v from pattern [a=A where timer:within(5 |", ["seconds"], ["A", "from"]),
        ("select v |", ["from", "as", "and"], ["A", "where"]),
        ("select v from |", ["A", "Hot", "pattern ["], ["v"]),
        ("select v from A |", ["where", "group by", "output every", "limit 1"], ["from"]),
        ("select v from A#|", ["length", "time_batch"], ["A", "where"]),
        ("select v from A#time(5 |", ["minutes"], ["A"]),
        ("select v from A where |", ["v", "id", "not"], ["A", "from"]),
        ("select v from A where v > 1 |", ["and", "group by"], ["where", "seconds"]),
        ("select v from A as x where x.|", ["v", "id", "p"], ["heat"]),
        ("select v from A group |", ["by"], ["where"]),
        ("select v from A output |", ["every", "first every", "when"], ["where"]),
        ("select v from A order by v |", ["desc", "asc", "limit 1"], ["where"]),
        ("select v, 'a|b' from A", [], ["from", "v"]),
        ("select v // co|\nfrom A", [], ["from", "v"]),
        ("select 12| from A", [], ["from"]),
        # What stands elsewhere may be broken, and so may be what follows.
        ("select frm A;\nselect v from A where |;\nselect from;", ["v", "id"], ["from"]),
        ("select a.| from from pattern [every a=A", ["id", "v"], ["heat"]),
    ],
)  # fmt: skip
def test_what_epl_may_have(text: str, least: list[str], never: list[str]) -> None:
    found = offered(text)
    assert [label for label in least if label not in found] == []
    assert [label for label in never if label in found] == []


def test_names_that_need_backquotes_get_them() -> None:
    text = TYPES + "select  from A"
    offset = text.index("  from A") + 1
    found = complete(Workspace([Text("x", text, EPL)]), "x", offset)
    assert [each.written for each in found if each.label == "select"] == ["`select`"]


def test_what_is_chosen_takes_the_place_of_the_begun_word() -> None:
    text = TYPES + "select v from Hot where hea > 1"
    found = complete(Workspace([Text("x", text, EPL)]), "x", text.index("hea >") + 3)
    (chosen,) = (each for each in found if each.label == "heat")
    assert apply(text, [Edit(chosen.span, chosen.written)]).endswith("where heat > 1")


@pytest.mark.parametrize(
    ("text", "least", "never"),
    [
        ("|", ["atomicEvent", "complexEvent", "rule"], ["as", "reading"]),
        ("complexEvent x(id: |", ["int", "string"], ["reading"]),
        ("complexEvent x(id: int) { as |", ["reading", "NOT"], ["as"]),
        ("complexEvent x(id: int) { as reading(|", ["id"], ["reading"]),
        ("complexEvent x(id: int) { as reading(id, a) |", ["OR", "AND"], ["as"]),
        ("rule r on |", ["reading"], ["on"]),
        ("rule r on reading { | }", ["emit", "set", "call"], ["reading"]),
        ("rule r on reading(k, _) { emit reading(|) }", ["k"], ["v"]),
        ("rule r on reading { emit reading(|) }", ["id", "v"], ["reading"]),
        ("atomicEvent w(id: int) { check { | } }", ["id", "not"], ["v"]),
    ],
)
def test_what_vepl_may_have(text: str, least: list[str], never: list[str]) -> None:
    found = offered(text, VEPL, EVENTS)
    assert [label for label in least if label not in found] == []
    assert [label for label in never if label in found] == []


def test_what_other_languages_may_have() -> None:
    queries = "pattern one(a: Host) { Host(a); }\n"
    assert "pattern" in offered("|", QUERIES, queries)
    assert "one" in offered("pattern two(a: Host) { find |", QUERIES, queries)
    assert offered("|", BICEPL, "")[0].startswith("CREATE")
    assert "ID (" in offered("CREATE MUTABLE SUBSCRIBED EVENT CLASS C(a INTEGER) |", BICEPL, "")


PLACES = (
    *("|", "create schema B (x int) |", "create |", "insert |", "insert into X |", "select |"),
    *("select v |", "select v from |", "select v from A |", "select v from A where v |"),
    *("select v from A group |", "select v from A where v like 'x' |", "@Name('x') |"),
    *("select v from A output |", "select v from A output every 5 |", "select v from A order |"),
    *("select v from A order by v |", "select v from A limit 1 |", "select 1 from pattern [|"),
    *("select 1 from pattern [A |", "select 1 from pattern [A where |", "create context C |"),
    *("select 1 from pattern [A where timer:within(5 |", "select case |", "select case when v |"),
    *("select case when v then 1 |", "select v from A where v between 1 |", "create map |"),
)


def test_every_phrase_is_offered_somewhere() -> None:
    found = {label for place in PLACES for label in offered(place)}
    assert {phrase.split("...")[0] for phrase in PHRASES} - found == set()


# What is told.


@pytest.mark.parametrize(
    ("place", "code", "text"),
    [
        ("|Hot select", "Hot (id string, heat double)", "derived by statement_1"),
        ("schema |A", "A (id string, v double, p Pos, `select` int)", "an event type"),
        ("(|v >", "A.v: double", "an attribute"),
        ("> |30", "int", "type of this expression"),
        ("|insert", "Hot (id string, heat double)", "what statement statement_1 derives"),
    ],
)
def test_what_is_told_of_a_place(place: str, code: str, text: str) -> None:
    before, after = place.split("|")
    found = describe(
        Workspace([Text("x", TYPES, EPL)]), "x", TYPES.index(before + after) + len(before)
    )
    assert found is not None
    assert found.code == code
    assert text in found.text


def test_what_is_told_of_functions_annotations_and_tags() -> None:
    text = "@Priority(3) select abs(a.v) as x, count(*) as n from pattern [every a=A];"
    found = Workspace([Text("x", text, EPL)])
    shown = [describe(found, "x", text.index(part)) for part in ("Prio", "abs", "a.v", "count")]
    assert [each.code if each else None for each in shown] == [
        "@Priority",
        "abs(number)",
        "a: A",
        "count(value)",
    ]
    assert describe(found, "x", text.index(";") + 1) is None
    assert describe(Workspace([Text("x", "", EPL)]), "x", 0) is None
