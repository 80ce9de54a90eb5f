"""Nets that fire: the definitions, one worked example, and the agenda against trying everything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import RunError, UsageError
from cepheid.formal.petri.firing.simulation import (
    BindingElement,
    Simulation,
    Stop,
    final_marking,
    marked,
)
from cepheid.formal.petri.nets.invariants import Bounded, Conserved
from cepheid.formal.petri.nets.multiset import EMPTY, Colour, Multiset
from cepheid.formal.petri.nets.net import (
    INT,
    Arc,
    Marking,
    Net,
    Place,
    Priority,
    ProductOf,
    Transition,
)
from cepheid.formal.petri.nets.terms import Apply, Const, Names, Term, Var, product

X, Y, Z, W = Var("x"), Var("y"), Var("z"), Var("w")

counts = st.dictionaries(st.integers(0, 4), st.integers(0, 3))


class TestMultisets:
    @given(counts, counts)
    def test_sums_and_differences_count_each_element(
        self, one: dict[Colour, int], other: dict[Colour, int]
    ) -> None:
        a, b = Multiset(one), Multiset(other)
        for x in range(5):
            assert (a + b)[x] == one.get(x, 0) + other.get(x, 0)
        assert (a <= b) == all(one.get(x, 0) <= other.get(x, 0) for x in range(5))
        assert (a + b) - b == a
        assert a <= a + b

    def test_only_a_part_can_be_taken_away(self) -> None:
        with pytest.raises(ValueError, match="only a part"):
            Multiset.of([3]) - Multiset.of([3, 3])

    def test_is_written_as_cpn_tools_writes_it(self) -> None:
        assert repr(Multiset.of([3, 5, 3])) == "2`3 ++ 1`5"
        assert repr(EMPTY) == "empty"

    def test_elements_that_are_not_there_count_zero(self) -> None:
        bag = Multiset({3: 2, 4: 0})
        assert (bag[4], 4 in bag, len(bag), bag.size) == (0, False, 1, 2)


def less(left: Term, right: Term) -> Apply:
    return Apply("<", left, right)


def plus(left: Term, number: int) -> Apply:
    return Apply("+", left, Const(number))


# Three transitions whose texts are lost: t1 doubles what is below 7 and waits for the others; t2
# takes what is 10 or more, t3 what is less, each with the token of p3.
EXAMPLE = Net(
    tuple(Place(name, INT) for name in ("p1", "p2", "p3", "p4", "p5")),
    (
        Transition(
            "t1",
            (Arc("p1", X),),
            (Arc("p2", Apply("*", X, Const(2))),),
            less(X, Const(7)),
            Priority.P_LOW,
        ),
        Transition(
            "t2",
            (Arc("p2", Y), Arc("p3", Z)),
            (Arc("p3", plus(Y, 1)), Arc("p4", Const(0))),
            Apply(">=", Y, Const(10)),
        ),
        Transition(
            "t3",
            (Arc("p2", Y), Arc("p3", W)),
            (Arc("p3", W), Arc("p5", Const(1))),
            less(Y, Const(10)),
        ),
    ),
)
START = marked({"p1": [3, 3, 5], "p3": [0]})


class TestTheWorkedExample:
    def test_the_firing_sequence_leads_to_the_final_marking(self) -> None:
        simulation = Simulation(EXAMPLE, START)
        bindings = [str(element) for element in simulation.enabled()]
        assert bindings == ["t1 <x=3>", "t1 <x=5>"]
        simulation.fire(BindingElement("t1", (("x", 5),)))
        assert simulation.marking["p2"] == Multiset.of([10])
        assert [e.transition for e in simulation.enabled()] == ["t2"]
        assert simulation.run() is Stop.DEAD
        assert [e.transition for e in simulation.fired] == ["t1", "t2", "t1", "t3", "t1", "t3"]
        assert simulation.marking == marked({"p3": [11], "p4": [0], "p5": [1, 1]})

    def test_a_lower_priority_waits(self) -> None:
        simulation = Simulation(EXAMPLE, START)
        simulation.step()
        assert {e.transition for e in simulation.enabled()} == {"t3"}

    def test_what_is_not_enabled_does_not_fire(self) -> None:
        with pytest.raises(UsageError, match="t1 <x=9> is not enabled"):
            Simulation(EXAMPLE, START).fire(BindingElement("t1", (("x", 9),)))

    def test_back_leads_through_the_same_markings(self) -> None:
        simulation = Simulation(EXAMPLE, START)
        seen = [simulation.marking]
        while simulation.step() is not None:
            seen.append(simulation.marking)
        fired = simulation.fired
        for steps in range(1, len(seen)):
            simulation.back(steps)
            assert simulation.marking == seen[-1 - steps]
            simulation.run()
            assert simulation.fired == fired
        simulation.back(100)
        assert simulation.marking == START

    def test_a_breakpoint_stops_before_the_transition_each_time(self) -> None:
        simulation = Simulation(EXAMPLE, START)
        stops = []
        while simulation.run(breakpoints={"t3"}) is Stop.BREAKPOINT:
            stops.append(len(simulation.fired))
        assert stops == [1, 3]

    def test_a_breakpoint_needs_a_transition(self) -> None:
        with pytest.raises(UsageError, match="no transition 't4'"):
            Simulation(EXAMPLE, START).run(breakpoints={"t4"})

    def test_a_limit_stops(self) -> None:
        simulation = Simulation(EXAMPLE, START)
        assert simulation.run(limit=2) is Stop.LIMIT
        assert len(simulation.fired) == 2


class TestInvariants:
    def test_those_that_hold_let_it_run(self) -> None:
        weights = (("p1", 1), ("p2", 1), ("p4", 1), ("p5", 1))
        simulation = Simulation(EXAMPLE, START, [Conserved(weights), Bounded("p2", 1)])
        assert simulation.run() is Stop.DEAD

    @pytest.mark.parametrize("broken", [Bounded("p5", 1), Conserved((("p1", 1), ("p2", 1)))])
    def test_those_that_do_not_name_the_firing(self, broken: Bounded | Conserved) -> None:
        with pytest.raises(RunError, match=r"broken-invariant.*after firing") as raised:
            Simulation(EXAMPLE, START, [broken]).run()
        assert str(broken) in str(raised.value)


class TestNetsThatMakeNoSense:
    def test_a_variable_needs_an_input_that_binds_it(self) -> None:
        with pytest.raises(ValueError, match="no input of 't' binds y"):
            Transition("t", (Arc("p", X),), (Arc("p", Y),))
        with pytest.raises(ValueError, match="binds x"):
            Transition("t", (Arc("p", plus(X, 1)),))

    def test_an_arc_needs_a_place(self) -> None:
        with pytest.raises(ValueError, match="no place 'q'"):
            Net((Place("p", INT),), (Transition("t", (Arc("q", X),)),))

    def test_a_name_stands_for_one_node(self) -> None:
        with pytest.raises(ValueError, match="two nodes are called p"):
            Net((Place("p", INT), Place("p", INT)), ())

    def test_a_token_needs_a_colour_of_its_place(self) -> None:
        with pytest.raises(ValueError, match=r"'a' is no colour of 'p1', INT"):
            Simulation(EXAMPLE, marked({"p1": ["a"]}))


PAIR = ProductOf((INT, INT))
JOINING = Net(
    (Place("p", PAIR), Place("q", PAIR), Place("r", INT)),
    (
        Transition(
            "join", (Arc("p", product(X, Y)), Arc("q", product(Y, Z))), (Arc("p", product(X, Z)),)
        ),
        Transition("next", (Arc("r", X), Arc("q", product(plus(X, 1), Y))), (Arc("r", Y),)),
        Transition("twice", (Arc("r", X, 2),), (Arc("r", X),), priority=Priority.P_HIGH),
        Transition("two", (Arc("r", X), Arc("r", Y)), (Arc("p", product(X, Y)),), less(X, Y)),
        Transition(
            "look",
            (Arc("p", product(X, X)), Arc("q", product(X, Y))),
            (Arc("q", product(X, Y)),),
            priority=Priority.P_LOW,
        ),
    ),
)
numbers = st.integers(0, 3)
pairs = st.tuples(numbers, numbers)


class TestTheAgenda:
    @given(st.lists(pairs, max_size=6), st.lists(pairs, max_size=6), st.lists(numbers, max_size=6))
    def test_fires_exactly_what_trying_everything_finds(
        self, p: list[tuple[int, int]], q: list[tuple[int, int]], r: list[int]
    ) -> None:
        simulation = Simulation(JOINING, marked({"p": p, "q": q, "r": r}))
        for _ in range(40):
            enabled = simulation.enabled()
            before = simulation.marking
            fired = simulation.step()
            if fired is None:
                assert not enabled
                break
            assert fired in enabled
            assert simulation.marking == after(before, fired)

    def test_the_token_that_came_first_goes_first(self) -> None:
        net = Net(
            (Place("p", INT), Place("q", INT)),
            (Transition("b", (Arc("q", X),)), Transition("a", (Arc("p", X),))),
        )
        simulation = Simulation(net, marked({"p": [5, 3], "q": [4]}))
        simulation.run()
        assert [str(e) for e in simulation.fired] == ["a <x=5>", "a <x=3>", "b <x=4>"]

    def test_a_final_marking_is_reached_over_many_firings(self) -> None:
        up = Transition("up", (Arc("p", X),), (Arc("p", plus(X, 1)),), less(X, Const(1000)))
        net = Net((Place("p", INT),), (up,))
        assert final_marking(net, marked({"p": [0, 10]})) == marked({"p": [1000, 1000]})


def after(marking: Marking, fired: BindingElement) -> Marking:
    """The firing rule, word for word."""
    transition = JOINING.transition(fired.transition)
    scope = {f"v_{name}": value for name, value in fired.binding}

    def tokens(arcs: tuple[Arc, ...], place: str) -> Multiset:
        found = EMPTY
        for arc in arcs:
            if arc.place == place:
                colour = eval(arc.term.python(Names()), {}, scope)
                found += Multiset({colour: arc.count})
        return found

    return Marking(
        {
            place.name: marking[place.name]
            - tokens(transition.inputs, place.name)
            + tokens(transition.outputs, place.name)
            for place in JOINING.places
        }
    )
