"""The automata of forms."""

from __future__ import annotations

import pytest
from hypothesis import given, note

from cepheid.pattern.algebra import Occurrence
from cepheid.pattern.automaton import Automaton, Completes, Ends, Happens, Transition
from cepheid.semantics.construction import automaton_of
from tests.algebra.forms import program
from tests.algebra.generators import forms
from tests.effort import examples


def automaton(form: str) -> Automaton:
    resolved = program(form)
    statement = resolved.statements[0]
    assert isinstance(statement.pattern, Occurrence)
    return automaton_of(statement.pattern, resolved.types)


def shown(found: Automaton) -> str:
    """`0 a 1` for a transition; I, F and X are the initial state, the final one and the trap."""
    names = {"initial": "I", "final": "F", "trap": "X"}
    of = {state.number: names.get(state.kind, str(state.number)) for state in found.states}

    def event(transition: Transition) -> str:
        match transition.trigger:
            case Happens(call):
                return call.atom.event_type
            case Ends():
                return "."
            case Completes(watch):
                return f"!({shown(found.watches[watch].automaton)})"

    return ", ".join(f"{of[t.source]} {event(t)} {of[t.target]}" for t in found.transitions)


# The shapes of the paper's Figure 7, and what it leaves to the reader.
SHAPES = {
    "a -> b": "I a 1, 1 b F",
    "a OR b": "I a F, I b F",
    "a AND b": "I a 1, I b 2, 1 b F, 2 a F",
    "a -> NOT b -> c": "I a 1, 1 c F, 1 !(I b F) X",
    "a{*} -> b": "I a 1, I a 2, I b F, 1 a 1, 1 a 2, 2 b F",
    "a{+} -> b": "I a 1, I a 2, 1 a 1, 1 a 2, 2 b F",
    "a{2}": "I a 1, 1 a F",
    "(a -> NOT b)[within 2 seconds] -> c": "I a 1, 1 . 2, 1 !(I b F) X, 2 c F",
    "(a AND NOT b)[within 2 seconds]": "I a 1, 1 . F, 1 !(I b F) X",
}


@pytest.mark.parametrize("form", SHAPES)
def test_the_shape_of_an_operator(form: str) -> None:
    assert shown(automaton(form)) == SHAPES[form]


def test_zones_have_the_states_between_first_and_last_event() -> None:
    found = automaton("a -> (b -> c -> d)[within 2 seconds] -> a")
    [zone] = found.zones
    assert zone.kind == "within"
    assert [found.states[number].zones for number in range(5)] == [(), (), (0,), (0,), ()]
    assert zone.states == (2, 3)


@examples(200)
@given(forms(2))
def test_no_state_and_no_transition_is_an_orphan(form: str) -> None:
    note(form)
    for found in automaton(form).walk():
        assert not found.orphans()
        assert [state.number for state in found.states] == list(range(len(found.states)))


def test_what_can_never_match_has_orphans() -> None:
    found = automaton("(a OR b)[holdsFor 2 seconds] -> c")
    assert shown(found) == "I a X, I b X"
    assert [state.kind for state in found.states if state in found.orphans()] == [
        "initial",
        "final",
    ]
