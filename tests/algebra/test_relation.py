"""The laws of the algebra, as far as they hold, and that contexts choose among what the relation has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import accumulate, product
from typing import NamedTuple

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from cepheid.core.event import Event, Value
from cepheid.pattern.algebra import HIDDEN, Occurrence
from cepheid.pattern.policy import CHRONICLE
from cepheid.semantics.contexts import Follow, Follower, Way, plan_occurrence
from cepheid.semantics.residuals import Residuals
from cepheid.semantics.tokens import on_automaton
from tests.algebra.forms import TYPES, form_of, program, run, stream
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


# Where the events of a match are, when it is complete, and what its parameters are bound to.
Match = tuple[tuple[int, ...], int, frozenset[tuple[str, Value]]]
FOLLOWED: Mapping[str, Follow] = {"what is left": Residuals, "tokens": on_automaton}


@cache
def follower_of(form: str, follow: Follow) -> Follower:
    pattern = program(form).statements[0].pattern
    assert isinstance(pattern, Occurrence)
    heirs = {name: frozenset({name}) for name in TYPES}
    return plan_occurrence(pattern, CHRONICLE, heirs, follow).follower


def every_match(form: str, follow: Follow, events: list[Event], end: int) -> set[Match]:
    """All matches, if each way may use an event and may leave it: no context."""
    follower = follower_of(form, follow)
    waiting: dict[tuple[Way, tuple[int, ...]], None] = {}
    found: set[Match] = set()

    def pass_time(now: int) -> None:
        while due := [(way.due, (way, places)) for way, places in waiting if way.due is not None]:
            instant, (way, places) = min(due, key=lambda one: one[0])
            if instant > now:
                break
            del waiting[way, places]
            if way.last is None or way.last >= instant:
                settle(way.wake(instant), places, instant)

    def settle(ways: Iterable[Way | None], places: tuple[int, ...], now: int) -> None:
        for way in ways:
            if way is not None and way.result is not None:
                found.add((tuple(sorted(places)), now, known(dict(way.result.bound))))
            elif way is not None and not way.is_lost:
                waiting[way, places] = None

    for event in events:
        pass_time(event.instant)
        before, starts = list(waiting), [(way, ()) for way in follower.begin()]
        waiting.clear()
        for way, places in before:
            settle([way.miss(event)], places, event.instant)
        for way, places in (*before, *starts):
            settle(way.take(event), (*places, event.sequence), event.instant)
    pass_time(end)
    return found


def known(bound: Mapping[str, Value]) -> frozenset[tuple[str, Value]]:
    """What is not a referenced event's own."""
    return frozenset((name, value) for name, value in bound.items() if HIDDEN not in name)


def every_match_of_the_relation(form: str, events: list[Event], end: int) -> set[Match]:
    found = occurrences(form_of(form), events, end)
    return {(tuple(sorted(f.places)), f.end, known(f.bound)) for f in found}


@pytest.mark.parametrize("followed", FOLLOWED)
@examples(400)
@given(forms(2), streams())
def test_without_a_context_every_match_of_the_relation_is_found_and_no_other(
    followed: str, form: str, events: list[Event]
) -> None:
    note(form)
    end = events[-1].instant + 10 * SECOND if events else 0
    found = every_match(form, FOLLOWED[followed], events, end)
    assert found == every_match_of_the_relation(form, events, end)


class Small(NamedTuple):
    """Kinds of events that tell the cases of a form apart, each with its p."""

    kinds: str
    seconds: tuple[int, ...] = (1,)  # that may pass before each
    most: int = 4

    def streams(self) -> Iterator[list[Event]]:
        """Every stream of so many of them."""
        for length in range(1, self.most + 1):
            for chosen in product(product(stream(self.kinds), self.seconds), repeat=length):
                instants = accumulate(seconds * SECOND for _, seconds in chosen)
                yield [
                    _happening(kind, instant, number)
                    for number, ((kind, _), instant) in enumerate(
                        zip(chosen, instants, strict=True)
                    )
                ]


def _happening(kind: Event, instant: int, number: int) -> Event:
    return Event(kind.type, instant, kind.values_, number)


# Each operator, and what a token has to carry through it.
SMALL = {
    "a -> b": Small("a b"),
    "(a -> b) OR (b -> c)": Small("a b c"),
    "(a -> c) AND b": Small("a b c"),
    "a{2:3} -> b": Small("a b"),
    "a{*} -> a -> b": Small("a b"),
    "(a -> b){+}": Small("a b"),
    "a(x, _) -> b(x, _)": Small("a a1 a2 b b1 b2"),
    "a -> NOT b -> c": Small("a b c"),
    "a -> NOT (b -> c) -> a": Small("a b c"),
    "a -> NOT b(x, _) -> c(x, _)": Small("a b1 b2 c1 c2"),
    # Names that a round of a loop forgets, and those that it does not.
    "pair(_, _){2}": Small("a1 a2 b1 b2"),
    "many(_, _)": Small("a1 a2 b1 b2"),
    "lone(_, _){2}": Small("a b1 c1 c2", most=5),
    # A name that nothing binds stands for any value, also for a forbidden one.
    "a -> NOT b(x, _) -> (c(x, _) OR d)": Small("a b1 c1 c2 d"),
    "a -> NOT (b(y, _) -> NOT c(y, _) -> d) -> a": Small("a b1 c1 c2 d", most=5),
    # What one part of an AND takes, others see; what must be absent in all of it does not.
    "(a -> NOT b -> c) AND b": Small("a b c"),
    "(a -> NOT (b -> b) -> c) AND b": Small("a b c", most=5),
    "(a AND b AND NOT b)[within 3 seconds]": Small("a b"),
    "(a AND c AND NOT (b -> b))[within 9 seconds]": Small("a b c"),
    # Windows, and what goes on while one ends.
    "(a -> b -> a)[within 2 seconds]": Small("a b", (0, 1, 2)),
    "(a -> b{+})[holdsFor 2 seconds]": Small("a b", (0, 1, 2)),
    "(a OR (b -> a))[within 2 seconds] -> b": Small("a b", (0, 1, 2)),
    "b -> (a{+})[holdsFor 2 seconds]": Small("a b", (0, 1, 2)),
    "(a -> NOT b)[within 2 seconds] -> a": Small("a b", (0, 1, 2)),
    "(a AND NOT b)[within 2 seconds]": Small("a b", (0, 1, 2)),
    "(a -> NOT d)[within 2 seconds] AND (c -> NOT (b -> b) -> c)": Small("a b c", most=5),
}


@pytest.mark.parametrize("form", SMALL)
def test_an_automaton_is_sound_and_complete_over_all_small_streams(form: str) -> None:
    for events in SMALL[form].streams():
        end = events[-1].instant + 10 * SECOND
        found = every_match(form, on_automaton, events, end)
        assert found == every_match_of_the_relation(form, events, end), events
