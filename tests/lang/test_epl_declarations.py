"""Schemas, contexts and statements, and how they are printed."""

from __future__ import annotations

import pytest

from cepheid.core.time import SECOND, Period
from cepheid.core.types import BOOLEAN, INT, STRING, ArrayType, Attribute, EventRef
from cepheid.expr.tree import Binary, Literal, Part, Ref
from cepheid.lang.epl.parser import parse
from cepheid.lang.epl.printer import print_declaration, print_program
from cepheid.pattern.tree import Atom, Every
from cepheid.program.tree import (
    Annotation,
    Context,
    ContextKey,
    Declaration,
    KeepAll,
    LengthBatch,
    LengthWindow,
    Limit,
    OrderItem,
    OutputRate,
    PatternSource,
    ProgramTree,
    Schema,
    SelectAll,
    SelectExpr,
    Statement,
    StreamSource,
    TimeBatch,
    TimeWindow,
    Window,
)


def declaration_of(text: str) -> Declaration:
    parsed = parse(text)
    assert parsed.problems == ()
    (found,) = parsed.tree.declarations
    return found


def statement_of(text: str) -> Statement:
    found = declaration_of(text)
    assert isinstance(found, Statement)
    return found


def ref(name: str) -> Ref:
    return Ref((Part(name),))


ALL = (SelectAll(),)
FROM_A = StreamSource("A")
TWO_SECONDS = Period(2 * SECOND)


def test_a_schema_has_attributes_parents_and_annotations() -> None:
    text = """
        @EventTime(attribute='ts', unit="minutes") @Tag
        CREATE SCHEMA Bike (id string, ok Bool, speeds int[], at Position, `int` `int`)
        INHERITS Vehicle, Thing;
    """
    assert declaration_of(text) == Schema(
        name="Bike",
        attributes=(
            Attribute("id", STRING),
            Attribute("ok", BOOLEAN),
            Attribute("speeds", ArrayType(INT)),
            Attribute("at", EventRef("Position")),
            Attribute("int", EventRef("int")),
        ),
        inherits=("Vehicle", "Thing"),
        annotations=(
            Annotation("EventTime", (("attribute", "ts"), ("unit", "minutes"))),
            Annotation("Tag"),
        ),
    )


def test_a_schema_may_be_empty() -> None:
    assert declaration_of("create schema A()") == Schema(name="A")
    assert declaration_of("create schema A inherits B") == Schema(name="A", inherits=("B",))


@pytest.mark.parametrize("by", ["by ", ""])
def test_a_context_names_the_key_of_each_type(by: str) -> None:
    text = f"create context PerBike partition {by}id and area from Bike, bike from Crash"
    keys = (ContextKey("Bike", ("id", "area")), ContextKey("Crash", ("bike",)))
    assert declaration_of(text) == Context(name="PerBike", keys=keys)


def test_annotations_take_all_kinds_of_values() -> None:
    text = "@Action(kind=mail, to={'a', b.c}, n=-5, f=1.5, on=true, off=false, x=null, e={}) select * from A"
    (annotation,) = statement_of(text).annotations
    assert annotation.arguments == (
        ("kind", "mail"),
        ("to", ("a", "b.c")),
        ("n", -5),
        ("f", 1.5),
        ("on", True),
        ("off", False),
        ("x", None),
        ("e", ()),
    )


def test_a_statement_with_all_its_clauses() -> None:
    text = """
        @Name('x') context PerBike insert rstream into T
        select irstream distinct a.*, v as speed, count
        from A(v > 1)#time(2 sec) as a
        where v group by k, v having k output after 3 events last every 2 sec
        order by v desc, k asc limit 5 offset 2
    """
    assert statement_of(text) == Statement(
        annotations=(Annotation("Name", ((None, "x"),)),),
        context="PerBike",
        insert_into="T",
        insert_stream="rstream",
        stream="irstream",
        distinct=True,
        select=(SelectAll("a"), SelectExpr(ref("v"), "speed"), SelectExpr(ref("count"))),
        source=StreamSource("A", Binary(">", ref("v"), Literal(1, type=INT)), "a"),
        window=TimeWindow(TWO_SECONDS),
        where=ref("v"),
        group_by=(ref("k"), ref("v")),
        having=ref("k"),
        output=OutputRate(mode="last", every=TWO_SECONDS, after=3),
        order_by=(OrderItem(ref("v"), descending=True), OrderItem(ref("k"))),
        limit=Limit(5, 2),
    )


def test_words_that_are_not_reserved_can_be_names() -> None:
    text = "select order, group last from A as order order by order, limit desc limit 3"
    assert statement_of(text) == Statement(
        select=(SelectExpr(ref("order")), SelectExpr(ref("group"), "last")),
        source=StreamSource("A", alias="order"),
        order_by=(OrderItem(ref("order")), OrderItem(ref("limit"), descending=True)),
        limit=Limit(3),
    )


WINDOWS: dict[str, Window] = {
    ".win:time(2 sec)": TimeWindow(TWO_SECONDS),
    "#time(2)": TimeWindow(TWO_SECONDS),
    " . win:Length(3)": LengthWindow(3),
    "#length_batch(3)": LengthBatch(3),
    ".win:keepall()": KeepAll(),
    "#keepall": KeepAll(),
    "#time_batch(2 sec)": TimeBatch(TWO_SECONDS),
    "#time_batch(2 sec, 5L)": TimeBatch(TWO_SECONDS, 5),
    "#time_batch(2 sec, 'FORCE_UPDATE')": TimeBatch(TWO_SECONDS, force_update=True),
    '#time_batch(2 sec, 5, "start_eager, force_update")': TimeBatch(TWO_SECONDS, 5, True, True),
}


@pytest.mark.parametrize("text", WINDOWS)
def test_windows_have_two_spellings_and_stand_on_both_kinds_of_source(text: str) -> None:
    stream = Statement(select=ALL, source=StreamSource("A", alias="x"), window=WINDOWS[text])
    assert statement_of(f"select * from A{text} as x") == stream
    assert statement_of(f"select * from A(){text} x") == stream
    pattern = Statement(select=ALL, source=PatternSource(Every(Atom("A"))), window=WINDOWS[text])
    assert statement_of(f"select * from pattern [every A]{text}") == pattern
    assert statement_of(f"select * from pattern [every A]{text} as p") == pattern


OUTPUTS = {
    "every 2 events": OutputRate(every=2),
    "every 2 sec": OutputRate(every=TWO_SECONDS),
    "first every 2 events": OutputRate(mode="first", every=2),
    "snapshot every 1 sec 1000 msec": OutputRate(mode="snapshot", every=TWO_SECONDS),
    "after 2 events": OutputRate(after=2),
    "after 2 sec all every 3 events": OutputRate(mode="all", every=3, after=TWO_SECONDS),
    "when count_insert": OutputRate(when=ref("count_insert")),
}


@pytest.mark.parametrize("text", OUTPUTS)
def test_output_rates(text: str) -> None:
    wanted = Statement(select=ALL, source=FROM_A, output=OUTPUTS[text])
    assert statement_of(f"select * from A output {text}") == wanted
    assert statement_of(print_declaration(wanted)) == wanted


def test_listed_columns_become_aliases() -> None:
    found = statement_of("insert into T (x, y) select a, b as c from A")
    assert found.select == (SelectExpr(ref("a"), "x"), SelectExpr(ref("b"), "y"))


def test_a_stream_before_parentheses_is_not_a_function() -> None:
    assert statement_of("select istream() from A").stream == "istream"
    assert statement_of("select rstream (a) from A").stream == "rstream"


def test_an_empty_text_is_an_empty_program() -> None:
    for text in ("", " \n", ";;", "// nothing\n"):
        assert parse(text).tree == ProgramTree()
        assert parse(text).problems == ()
    assert print_program(ProgramTree()) == ""


def test_a_program_prints_one_clause_per_line() -> None:
    text = """CREATE SCHEMA A(k string,v int);@Name("n")@Priority(2) insert into T select k,count(*) n
    from A.win:length(3) where v>1 and k<>'x' group by k order by k desc"""
    assert print_program(parse(text).tree) == (
        "create schema A (k string, v int);\n"
        "\n"
        "@Name('n')\n"
        "@Priority(2)\n"
        "insert into T\n"
        "select k, count(*) as n\n"
        "from A#length(3)\n"
        "where v > 1 and k != 'x'\n"
        "group by k\n"
        "order by k desc;\n"
    )


def test_a_long_clause_gets_a_line_for_each_piece() -> None:
    text = (
        "select first_attribute as first_name, second_attribute as second_name, third from pattern "
        "[every first=First(kind = 'one') -> second=Second(kind = first.kind, size > first.size)"
        " -> (third=Third or timer:interval(3 seconds))]#length(5)"
        " where first_attribute > second_attribute and third_attribute is not null and fourth = 'x'"
    )
    assert print_program(parse(text).tree) == (
        "select first_attribute as first_name, second_attribute as second_name, third\n"
        "from pattern [\n"
        "    every first=First(kind = 'one')\n"
        "    -> second=Second(kind = first.kind and size > first.size)\n"
        "    -> third=Third or timer:interval(3 seconds)\n"
        "]#length(5)\n"
        "where first_attribute > second_attribute and third_attribute is not null and fourth = 'x';\n"
    )
