"""Programs as nets: the markings of the paper, and the rows of the reference semantics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event, Value
from cepheid.core.time import MICROSECONDS
from cepheid.engines.common.intake import take_in
from cepheid.errors import ProgramError, RunError
from cepheid.formal.petri.firing.simulation import Simulation, Stop
from cepheid.formal.petri.nets.invariants import Bounded
from cepheid.formal.petri.translate import Translation, run, translate
from cepheid.io import fail, records_of
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.machine import Machine
from tests.effort import examples
from tests.semantics.drive import show

EXAMPLES = Path(__file__).parents[2] / "examples"
SECOND, MINUTE = MICROSECONDS["seconds"], MICROSECONDS["minutes"]


def load(name: str, *files: str) -> tuple[ResolvedProgram, list[Event]]:
    """An example and its events."""
    program = cep.load(str(EXAMPLES / name)).resolve()
    records = (r for f in files for r in records_of(str(EXAMPLES / f), on_problem=fail))
    intake = take_in(program, records, fail)
    return intake.program, intake.events


def simulate(program: ResolvedProgram, events: Sequence[Event]) -> tuple[Translation, Simulation]:
    translation = translate(program)
    marking = translation.marking(events, events[0].instant, events[-1].instant)
    return translation, Simulation(translation.net, marking)


def tokens(simulation: Simulation, place: str, unit: int) -> list[tuple[object, ...]]:
    """The tokens of a place of events as the paper writes them: number, time, attributes."""
    found = []
    for token in simulation.marking[place].elements():
        assert isinstance(token, tuple)
        number, instant, event = token
        found.append((number, instant // unit, *event.values()))
    return found


class TestThePapersMarkings:
    def test_comfort(self) -> None:
        _, net = simulate(*load("comfort/comfort.epl", "comfort/th.events"))
        net.run()
        assert tokens(net, "HighTemp", SECOND) == [(1, 1, "s2", 31)]
        assert tokens(net, "temp_humid", SECOND) == [(1, 2, "s1", 26, 30), (2, 3, "s1", 27, 29)]
        assert tokens(net, "greater_temp", SECOND) == [(1, 2, "s1", 24, 26)]

    def test_every_around_the_sequence_and_on_its_first_step(self) -> None:
        _, net = simulate(*load("comfort/comfort.epl", "comfort/me.events"))
        net.run()
        every1 = [(1, 1, "A", 1, "B", 1), (2, 1, "A", 2, "B", 3), (3, 1, "A", 4, "B", 4)]
        assert tokens(net, "every1", SECOND) == every1
        pairs = [token[2:] for token in tokens(net, "every2", SECOND)]
        assert pairs == [
            ("A", 1, "B", 1),
            ("A", 2, "B", 3),
            ("A", 3, "B", 3),
            ("A", 4, "B", 4),
        ]

    def test_durations(self) -> None:
        _, net = simulate(*load("pregnancy/pregnancy.epl", "pregnancy/events.jsonl"))
        net.run()
        assert tokens(net, "Duration", MINUTE) == [
            (1, 14, "Barbara", 5),
            (2, 16, "Alice", 4),
            (3, 29, "Alice", 4),
        ]

    def test_the_counter_at_each_of_31_instants(self) -> None:
        _, net = simulate(*load("pregnancy/pregnancy.epl", "pregnancy/events.jsonl"))
        seen = []
        stop = Stop.BREAKPOINT
        while stop is Stop.BREAKPOINT:
            stop = net.run(breakpoints={"tick"})
            (now,), (count,) = net.marking["time"], net.marking["Counter.count"]
            seen.append((now // MINUTE, count))  # type: ignore[operator]
        counts = [1] * 8 + [3, 3, 2, 3, 3, 4, 4, 5, 5, 5, 3, 3, 3, 2, 2, 2, 3, 2, 2, 2, 3, 3, 4]
        assert seen == list(enumerate(counts, start=1))


def shown(rows: Sequence[Event]) -> list[object]:
    return [show(r)._replace(causes=()) for r in rows]


def agree(program: ResolvedProgram, events: Sequence[Event], start: int, end: int) -> None:
    machine = Machine(program)
    machine.start(start)
    rows = [row for event in events for row in machine.take(event)] + machine.advance(end)
    assert shown(run(program, events, start, end)) == shown(rows)


# Small programs over two input types; each statement may read what those before it derive.
SCHEMA = "create schema A (x int, k string); create schema B (x int, k string);"
LEAVES = ("", "x > 1", "k = 'u'")


@st.composite
def patterns(draw: st.DrawFn, sources: Sequence[str]) -> tuple[str, list[str]]:
    """The text of a pattern, and its tags."""
    tags: list[str] = []

    def atom() -> str:
        earlier = [f"x >= {tag}.x" for tag in tags] + [f"k = {tag}.k" for tag in tags]
        condition = draw(st.sampled_from([*LEAVES, *earlier]))
        tags.append(f"t{len(tags)}")
        return f"{tags[-1]}={draw(st.sampled_from(sources))}({condition})"

    def part(depth: int, *, may_repeat: bool = True, is_repeated: bool = False) -> str:
        """A part of a pattern; not every inside within inside every."""
        kinds = ["atom", "chain", "chain", "within"] + ["every"] * may_repeat
        kind = draw(st.sampled_from(kinds)) if depth else "atom"
        if kind == "every":
            return f"every ({part(depth - 1, may_repeat=may_repeat, is_repeated=True)})"
        below = partial(part, depth - 1, is_repeated=is_repeated)
        if kind == "chain":
            count = draw(st.integers(2, 3))
            return " -> ".join(f"({below(may_repeat=may_repeat)})" for _ in range(count))
        if kind == "within":
            inner = below(may_repeat=may_repeat and not is_repeated)
            return f"({inner}) where timer:within({draw(st.integers(1, 4))} sec)"
        return atom()

    text = f"every ({part(3, is_repeated=True)})" if draw(st.booleans()) else part(3)
    return text, tags


def _call(function: str, argument: str) -> str:
    return function.format(argument) if "{" in function else f"{function}({argument})"


@st.composite
def statements(draw: st.DrawFn, number: int, sources: Sequence[str]) -> str:
    window = draw(st.sampled_from(["", "", ".win:time(2 sec)", ".win:length(2)", ".win:keepall()"]))
    if draw(st.booleans()):
        text, tags = draw(patterns(sources))
        first, last = f"{tags[0]}.x", f"{tags[-1]}.k"
        source = f"pattern [{text}]"
    else:
        first, last = "x", "k"
        source = draw(st.sampled_from(sources)) + draw(st.sampled_from(["", "(x > 1)"]))
    is_counting = draw(st.booleans())
    functions = (
        "count",
        "count(distinct {})",
        "sum",
        "min",
        "max",
        "avg",
        "first",
        "last",
        "median",
    )
    chosen = draw(st.sampled_from(["count(*)", *functions]))
    aggregate = chosen if "*" in chosen else _call(chosen, first)
    row = draw(st.sampled_from(["'u'", last]))
    select = f"cast({aggregate}, int) as x, {row} as k"
    select = select if is_counting else f"{first} as x, {last} as k"
    has_where = "length" not in window and draw(st.booleans())
    where = f" where {first} > 0" if has_where else ""
    priority = f"@Priority({draw(st.integers(0, 2))}) "
    return f"{priority}@Name('s{number}') insert into S{number} select {select} from {source}{window}{where};"


@st.composite
def programs(draw: st.DrawFn) -> str:
    sources = ["A", "B"]
    text = SCHEMA
    for number in range(draw(st.integers(1, 3))):
        text += "\n" + draw(statements(number, sources))
        sources.append(f"S{number}")
    return text


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    instant, events = 0, []
    for sequence in range(draw(st.integers(1, 9))):
        instant += draw(st.sampled_from([0, 0, 1, 2, 5])) * SECOND
        values: dict[str, Value] = {
            "x": draw(st.none() | st.integers(0, 3)),
            "k": draw(st.sampled_from(["u", "v"])),
        }
        events.append(Event(draw(st.sampled_from(["A", "B"])), instant, values, sequence))
    return events


@examples(60)
@given(programs(), streams())
def test_a_net_gives_the_rows_of_the_reference(text: str, events: list[Event]) -> None:
    agree(cep.parse(text).resolve(), events, events[0].instant, events[-1].instant)


@examples(30)
@given(programs(), streams())
def test_one_event_at_a_time_is_being_taken(text: str, events: list[Event]) -> None:
    translation = translate(cep.parse(text).resolve())
    marking = translation.marking(events, events[0].instant, events[-1].instant)
    places = {place.name for place in translation.net.places}
    single = places & {"Ev", "in_seqn", "taken", "queued", "time"}
    once = [Bounded(place, 1) for place in sorted(single)]
    assert Simulation(translation.net, marking, once).run() is Stop.DEAD


def test_events_of_a_subtype_count() -> None:
    text = """create schema P (x int); create schema C () inherits P;
    @Name('s') insert into S select b.x - a.x as d from pattern [every a=P -> b=C(b.x > a.x)];"""
    stream = [Event(t, n * SECOND, {"x": n}, n) for n, t in enumerate("PCPCC")]
    agree(cep.parse(text).resolve(), stream, 0, 4 * SECOND)


def test_what_is_not_translated_is_named_all_at_once() -> None:
    text = """create schema A (x int);
    @Name('one') insert into A select 1 as x
    from pattern [every a=A(x > 1) -> timer:interval(1 sec) -> b=A where timer:within(2 sec)];
    @Name('two') insert into B select x from A.win:time(2 sec);"""
    with pytest.raises(ProgramError) as raised:
        translate(cep.parse(text).resolve())
    assert [(d.code, d.span.line) for d in raised.value.diagnostics if d.span] == [
        ("not-in-net", 3),
        ("not-in-net", 3),
    ]
    assert "'one' has a timer and takes events" in raised.value.diagnostics[0].message


def test_values_that_are_lists_and_events() -> None:
    text = """create schema A (x int, xs int[]);
    @Name('held') select b, first(b[0].xs) as xs from pattern [every [2] b=A] output every 2 events;
    @Name('seen') select a from pattern [every-distinct(a.xs) a=A];
    @Name('grouped') select xs, first(xs) as f from A.win:length_batch(2) group by xs;
    @Name('last') select last(xs) as l from A.win:length(2);"""
    events = [Event("A", n, {"x": n, "xs": [n % 2]}, n) for n in range(8)]
    agree(cep.parse(text).resolve(), events, 0, 8)


MONTHS = """create schema A (x int);
@Name('window') select irstream x from A.win:time(1 month);
@Name('batch') select count(*) as n from A.win:time_batch(1 month);
@Name('late') select a.x as x from pattern [every a=A -> timer:interval(1 month) and not b=A];
@Name('rate') select x from A output last every 1 month;"""


def test_calendar_months() -> None:
    day = MICROSECONDS["days"]
    days = [27, 29, 30, 31, 57, 58, 59, 60, 90, 120]
    events = [Event("A", n * day, {"x": n}, n) for n in days]
    agree(cep.parse(MONTHS).resolve(), events, 27 * day, 160 * day)


def test_ticks_meet_every_event_and_every_end() -> None:
    program = cep.parse("create schema A (x int); select x from A.win:time(10 sec);").resolve()
    events = [Event("A", instant * SECOND, {"x": 1}, instant) for instant in (3, 9, 15)]
    assert translate(program).time_interval(events, 3 * SECOND, 15 * SECOND) == 2 * SECOND


def test_types_may_have_the_names_of_places_and_events_that_nobody_takes_are_left_out() -> None:
    text = """create schema Ev (x int); create schema time (x int); create schema Z (x int);
    @Name('end') insert into end select count(*) as n from Ev.win:time(2 sec);
    @Name('queue') insert into queue select e.x as t from pattern [every t=end -> i=time -> e=Ev];"""
    types = ["Z", "Ev", "Z", "time", "Ev", "Ev", "Z"]
    events = [Event(t, n * SECOND, {"x": n}, n) for n, t in enumerate(types)]
    agree(cep.parse(text).resolve(), events, 0, 6 * SECOND)


def test_statements_may_have_any_names() -> None:
    text = """create schema A (x int); create schema B () inherits A;
    @Name('my alarm') select 1 as y from pattern [every (A(x=1) -> A(x=2) -> A(x=3))];
    @Name('2. alarm') select irstream count(*) as y
    from pattern [every (A(x=1) or A(x=2) or A(x=3))].win:length(2) group by 1 = 1;
    @Name('pattern_x') select x from A;
    @Name('x') select x from A where x > 1;
    @Name('time') select x from A.win:time(1 sec);"""
    events = [Event("AB"[n % 2], n, {"x": n % 4}, n) for n in range(12)]
    agree(cep.parse(text).resolve(), events, 0, 12)


def test_actions_come_after_the_place_of_the_event() -> None:
    text = """create schema A (x int);
    @Name('one') @Action('mail', to='me') @Action(kind='log') insert into S select x from A(x > 1);
    @Name('two') insert into S select x from A(x < 2);
    @Name('old') @Action('mail') select irstream x from A.win:length(1);
    @Name('sum') @Action insert into Total select sum(x) as x from S;"""
    program = cep.parse(text).resolve()
    events = [Event("A", n, {"x": n}, n) for n in range(4)]
    agree(program, events, 0, 4)
    _, net = simulate(program, events)
    net.run()
    places = ("S", "one.action_mail_done", "one.action_log_done", "sum.action_done", "Total")
    assert [net.marking[place].size for place in places] == [2, 0, 2, 4, 0]
    assert net.marking["old.action_mail_done"].size == 4
    assert net.marking["old"].size == 3


def test_a_cycle_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "create schema A (x int); @Name('again') insert into A select x + 1 as x from A"
    event = Event("A", 0, {"x": 1})
    monkeypatch.setattr("cepheid.formal.petri.translate.RUNAWAY", 1000)
    with pytest.raises(RunError, match="more than 1,000 transitions fired for one event"):
        run(cep.parse(f"{text};").resolve(), [event], 0, 0)
    agree(cep.parse(f"{text}(x < 9);").resolve(), [event], 0, 0)
