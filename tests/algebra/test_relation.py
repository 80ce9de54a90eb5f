"""The laws of the algebra, as far as they hold, and that contexts choose among what the relation has."""

from __future__ import annotations

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from cepheid.core.event import Event
from tests.algebra.forms import form_of, program, run, stream
from tests.algebra.generators import SECOND, forms, streams
from tests.algebra.relation import contains, occurrences
from tests.effort import examples

CONTEXTS = (
    "chronicle",
    "immediate",
    "strict",
    "chronicle global",
    "immediate global",
    "strict global",
)


def holds(form: str, events: list[Event]) -> bool:
    end = events[-1].instant + 10 * SECOND if events else 0
    return contains(form_of(form), events, end)


# A name for each entry of the paper's Table 2 and its propositions 4 to 6: what is said to be the same.
EQUAL = {
    "-> is associative": ("({0}) -> (({1}) -> ({2}))", "(({0}) -> ({1})) -> ({2})"),
    "OR is associative": ("({0}) OR (({1}) OR ({2}))", "(({0}) OR ({1})) OR ({2})"),
    "AND is associative": ("({0}) AND (({1}) AND ({2}))", "(({0}) AND ({1})) AND ({2})"),
    "OR is commutative": ("({0}) OR ({1})", "({1}) OR ({0})"),
    "AND is commutative": ("({0}) AND ({1})", "({1}) AND ({0})"),
    "-> distributes over OR on its right": (
        "({0}) -> (({1}) OR ({2}))",
        "(({0}) -> ({1})) OR (({0}) -> ({2}))",
    ),
    "-> distributes over OR on its left": (
        "(({0}) OR ({1})) -> ({2})",
        "(({0}) -> ({2})) OR (({1}) -> ({2}))",
    ),
    "AND distributes over OR on its right": (
        "({0}) AND (({1}) OR ({2}))",
        "(({0}) AND ({1})) OR (({0}) AND ({2}))",
    ),
    "AND distributes over OR on its left": (
        "(({0}) OR ({1})) AND ({2})",
        "(({0}) AND ({2})) OR (({1}) AND ({2}))",
    ),
    "{n} is a sequence": ("({0}){{2}}", "({0}) -> ({0})"),
    "{+} is one and then any number": ("({0}){{+}}", "({0}) -> ({0}){{*}}"),
}


@pytest.mark.parametrize("law", EQUAL)
@examples(60)
@given(st.lists(forms(1), min_size=3, max_size=3), streams())
def test_a_law_that_holds(law: str, parts: list[str], events: list[Event]) -> None:
    one, other = (text.format(*parts) for text in EQUAL[law])
    note(f"{one}   {other}")
    assert holds(one, events) == holds(other, events)


# Propositions of the paper that do not hold: what is said to imply what, and where it does not.
WRONG = {
    "-> is commutative": (("a -> b",), "b -> a", "a b"),
    "-> is transitive": (("a -> b", "b -> c"), "a -> c", "b c a b"),
    "AND is transitive": (("a AND b", "b AND a"), "a AND a", "a b"),
    "AND is either order": (("(a -> c) AND b",), "((a -> c) -> b) OR (b -> (a -> c))", "a b c"),
    "OR is transitive": (("a OR b", "b OR c"), "a OR c", "b"),
    "a window needs its ends alone (proposition 1)": (
        ("a -> b -> c", "(a -> c)[within 5 seconds]"),
        "(a -> b -> c)[within 5 seconds]",
        "a@0 b@1 a@99 c@100",
    ),
}


@pytest.mark.parametrize("law", WRONG)
def test_a_law_that_does_not_hold(law: str) -> None:
    given_, implied, events = WRONG[law]
    assert all(holds(form, stream(events)) for form in given_)
    assert not holds(implied, stream(events))


@pytest.mark.parametrize("context", CONTEXTS)
@examples(150)
@given(forms(2), streams())
def test_what_a_context_chooses_is_in_the_relation(
    context: str, form: str, events: list[Event]
) -> None:
    note(form)
    end = events[-1].instant + 10 * SECOND if events else 0
    possible = {
        tuple(sorted(found.places)): found for found in occurrences(form_of(form), events, end)
    }
    for chosen in run(program(form, context), events, end):
        places = tuple(sorted(event.sequence for event in chosen.events))
        assert places in possible, places
        assert chosen.instant in {
            f.end
            for f in occurrences(form_of(form), events, end)
            if tuple(sorted(f.places)) == places
        }


@examples(150)
@given(forms(2), streams())
def test_where_the_relation_holds_for_the_first_time_chronicle_finds_no_less_than_strict(
    form: str, events: list[Event]
) -> None:
    """An event that completes alone what nothing has begun is never missed."""
    note(form)
    for event in events:
        alone = [event]
        end = event.instant + 10 * SECOND
        found = bool(
            occurrences(form_of(form), [Event(event.type, event.instant, event.values_, 0)], end)
        )
        for context in CONTEXTS:
            assert bool(run(program(form, context), alone, end)) == found
