"""Nets as files of CPN Tools: read back they are the same nets."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event, Value
from cepheid.errors import ProgramError, UsageError
from cepheid.formal.petri.export.cpn.colours import text_of, value_text
from cepheid.formal.petri.export.cpn.file import to_cpn
from cepheid.formal.petri.export.cpn.parsing import parse_marking, parse_term, value_of
from cepheid.formal.petri.export.cpn.prelude import DEFINITIONS, FUNCTIONS
from cepheid.formal.petri.export.cpn.reading import from_cpn
from cepheid.formal.petri.firing.simulation import final_marking, marked
from cepheid.formal.petri.nets.net import INT, Arc, Net, Place, Transition
from cepheid.formal.petri.nets.terms import Apply, Const, Var
from cepheid.formal.petri.translate import translate
from cepheid.formal.petri.translation.inscriptions import BINDING
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import ProgramTree
from tests.effort import examples
from tests.formal.test_translation import SECOND, load
from tests.semantics import generators
from tests.semantics.drive import resolved


def is_the_same_when_read_back(program: ResolvedProgram, events: list[Event], rest: int = 0) -> int:
    """The number of results; the markings at the start and at the end are equal."""
    translation = translate(program)
    start, end = events[0].instant, events[-1].instant + rest
    marking = translation.marking(events, start, end)
    text = to_cpn(translation.net, marking, {})
    net, read = from_cpn(text)
    assert [t.name for t in net.transitions] == [t.name for t in translation.net.transitions]
    assert read == marking
    final = final_marking(net, read)
    assert final == final_marking(translation.net, marking)
    return len(translation.rows(final))


EXAMPLES = [
    ("comfort/comfort.epl", "comfort/th.events", 4),
    ("comfort/comfort.epl", "comfort/me.events", 7),
    ("pregnancy/pregnancy.epl", "pregnancy/events.jsonl", 18),
    ("pregnancy/counter_batch.epl", "pregnancy/counter_batch.jsonl", 3),
    ("motorbike/motorbike.epl", "motorbike/listing1.jsonl", 3),
    ("motorbike/motorbike_partitioned.epl", "motorbike/listing1.jsonl", 3),
    ("temperature/temperature.epl", "temperature/events.jsonl", 1),
    ("airquality/airquality_fixed.epl", "airquality/events.jsonl", 1),
]


@pytest.mark.parametrize(("program", "events", "rows"), EXAMPLES)
def test_an_example_is_read_back(program: str, events: str, rows: int) -> None:
    example, stream = load(program, events)
    assert is_the_same_when_read_back(example, stream[:30]) >= rows


OPERATORS = """create schema A (x int, k string); create schema B (x int, k string, y double);
@Name('and') insert into O select a.x as x, b[1].x as y, c.k as k
from pattern [every (a=A -> ([2] b=B(x > 1) and (c=A(k in ('u', 'v')) or not B(x = 7))))
  where timer:withinmax(9 sec, 2)];
@Name('until') insert into U select d[0].x + 1 as x
from pattern [every (([1:3] d=A until e=B(x is null)) while (e.k != 'z')) -> timer:interval(2 sec)];
@Name('distinct') insert into D select a.x as x
from pattern [every-distinct(a.k, a.x, 2 sec) a=A -> every-distinct(b.x) b=B(y is null)];
@Name('leave') select min(x) as lo, max(y) as hi, avg(x) as m, sum(y) as s, first(k) as f,
  last(k) as l, count(x) as n from B.win:time(3 sec);
@Name('stay') select min(x) as lo, max(y) as hi, avg(x) as m, sum(x) as s, first(k) as f,
  last(k) as l, x / 2 as z, x % 2 as r, case when x > 1 then 'a' else k end as c, x - 1L as d
from B where not (x = 9) or y >= 0.5;"""


@st.composite
def mixed(draw: st.DrawFn) -> list[Event]:
    instant, events = 0, []
    for sequence in range(draw(st.integers(4, 14))):
        instant += draw(st.sampled_from([0, 0, 1, 2])) * SECOND
        kind = draw(st.sampled_from("AB"))
        values: dict[str, Value] = {
            "x": draw(st.none() | st.sampled_from([1, 2, 7, -(2**31)])),
            "k": draw(st.sampled_from(["u", "z", 'é"\\\n'])),
        }
        if kind == "B":
            values["y"] = draw(st.none() | st.sampled_from([1.5, -2.25e-7, 1e22, 0.0]))
        events.append(Event(kind, instant, values, sequence))
    return events


@examples(4)
@given(mixed())
def test_all_operators_are_read_back(events: list[Event]) -> None:
    is_the_same_when_read_back(cep.parse(OPERATORS).resolve(), events, 5 * SECOND)


@examples(10)
@given(generators.programs(), generators.streams())
def test_whatever_is_written_is_read_back(tree: ProgramTree, stream: list[Event]) -> None:
    finite = [Event(e.type, e.instant, _finite(e), e.sequence) for e in stream]
    with suppress(ProgramError):  # what has no form is refused, see below
        is_the_same_when_read_back(resolved(tree), finite or [Event("Z", 0, {})], 6 * SECOND)


def _finite(event: Event) -> dict[str, Value]:
    """What CPN ML can write: no infinities, no NaN."""
    return {
        name: 0.5 if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in event.items()
    }


@examples(60)
@given(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
def test_values_are_read_back(value: Value) -> None:
    assert value_of(parse_term(value_text(value))) == value
    event = Event('Ev"ent', -5, {"a b": value})
    assert value_of(parse_term(text_of(event, "EVENT"))) == event
    binding = (("a", event), ("b", (event, event)))
    assert value_of(parse_term(text_of(binding, BINDING))) == binding


def test_a_net_by_hand_with_counts_and_names_of_ml() -> None:
    variable = Var("val")
    move = Transition(
        "move",
        (Arc("p", variable, 2),),
        (Arc("q", Apply("+", variable, Const(-1)), 3),),
        Apply("andalso", Apply(">", variable, Const(0)), Apply("<>", variable, Const(2))),
        7,
    )
    net = Net((Place("p", INT), Place("q", INT)), (move,))
    marking = marked({"p": [1, 1, 2, 2, 0]})
    text = to_cpn(net, marking, {})
    assert "2`v_val" in text
    read, start = from_cpn(text)
    assert (start, read.transitions[0].priority) == (marking, 7)
    assert final_marking(read, start) == marked({"p": [2, 2, 0], "q": [0, 0, 0]})


def test_every_variable_has_one_colour_set_and_is_declared_once() -> None:
    translation = translate(cep.parse(OPERATORS).resolve())
    root = ElementTree.fromstring(
        to_cpn(translation.net, translation.marking([], 0, 0), {}).partition("\n")[2]
    )
    names = [variable.findtext("id") for variable in root.iter("var")]
    assert len(names) == len(set(names))
    declared = {colour.findtext("id") for colour in root.iter("color")}
    used = {v.findtext("type/id") for v in root.iter("var")}
    used |= {place.findtext("type/text") for place in root.iter("place")}
    assert used <= declared


def test_every_function_that_may_be_called_is_defined() -> None:
    defined = set(re.findall(r"^fun (\w+)", DEFINITIONS, re.MULTILINE))
    of_ml = {"hd", "tl", "not"}
    constructors = {"S", "I", "R", "B", "One", "Many", "CountS", "SumS", "ValuesS"}
    assert set(FUNCTIONS) - of_ml - constructors <= defined


def test_what_has_no_form_is_named_with_its_place() -> None:
    text = """create schema A (x int, k string);
    @Name('rate') select k, sum(x) as s from A group by k output every 2 events;
    @Name('at') select a.x as x from pattern [every a=A -> timer:at(*, *, *, *, *)];
    @Name('like') select x from A where k like 'u%';
    @Name('spread') select stddev(x) as s from A;"""
    program = cep.parse(text).resolve()
    translation = translate(program)
    spans = {s.name: s.tree.span for s in program.statements}
    with pytest.raises(ProgramError) as raised:
        to_cpn(translation.net, translation.marking([], 0, 0), spans)
    found = [
        (d.message.split(" has no form")[0], d.span and d.span.line)
        for d in raised.value.diagnostics
    ]
    assert [(what.rpartition(" of ")[2], line) for what, line in found] == [
        ("'rate'", 2),
        ("'at'", 3),
        ("'like'", 4),
        ("'spread'", 5),
    ]
    assert {d.code for d in raised.value.diagnostics} == {"not-in-cpn"}


@pytest.mark.parametrize(
    "text",
    ["", "<a/>x", "<?xml version='1.0'?>\n<cpnet><trans id='1'><text>t</text></trans></cpnet>"],
)
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        from_cpn(text)


@pytest.mark.parametrize("text", ["f(x)", "(1", "1 2", "x; y", "[1,", "if x then 1", ""])
def test_other_inscriptions_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not understood"):
        parse_term(text)


def test_markings_add_up() -> None:
    assert dict(parse_marking('1`(1, "a") ++ 2`(~2, "b") ++ 1`(1, "a")')) == {
        (1, "a"): 2,
        (-2, "b"): 2,
    }
    assert not parse_marking("empty")
