"""Obstacles are exactly the minimal sets of parts without which there would have been a row.

The other side writes a text for every set of parts, and runs it on the engine that defines what programs
mean; it knows neither the search nor how parts are lifted.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.absence.inquiry import inquire
from cepheid.absence.question import Question
from cepheid.absence.recording import record
from cepheid.core.event import Event
from cepheid.engines.common.request import RunRequest
from cepheid.pattern.algebra import Occurrence
from tests.absence import written, written_forms
from tests.algebra.relation import occurrences
from tests.effort import examples

SECOND = 1_000_000
Events = list[dict[str, Any]]
END = 10  # seconds, after all events


def asked(second: int) -> dict[str, Any]:
    return {"@type": written.ASKED, "@time": second, "k": 0}


class Asked:
    """What is asked, and the events with those that are imagined to come then."""

    def __init__(self, events: Events, first: int, last: int, number: int | None) -> None:
        self.first, self.last = first, last
        self.number = number
        self.events: Events = []
        self.places: set[int] = set()  # of what may bring the row, if an event is asked for
        if number is not None:
            self.events = [*events[: number + 1], asked(events[number]["@time"])]
            self.places = {number, number + 1}
            self.until = events[number]["@time"]
            return
        self.until = last
        before = [event for event in events if event["@time"] < first]
        during = [event for event in events if first <= event["@time"] <= last]
        self.events = [*before, asked(first)]
        for event in during:
            self.events += [event, asked(event["@time"])]
        self.events.append(asked(last))

    def is_row(self, row: cep.Event) -> bool:
        if self.number is not None:
            return row.key[1] == 1 and row.key[2] in self.places
        return self.first * SECOND <= row.instant <= self.last * SECOND

    def gives_row(self, text: str, start: int) -> bool:
        result = cep.run(
            cep.parse(text), self.events, start=start, end=self.until, engine="reference"
        )
        return any(self.is_row(row) for row in result)


def by_force(statement: written.Statement, ask: Asked, start: int) -> set[frozenset[written.Part]]:
    """All sets of parts, the smaller ones first."""
    found: set[frozenset[written.Part]] = set()
    known: dict[str, bool] = {}
    parts = statement.parts()
    for size in range(len(parts) + 1):
        for chosen in combinations(parts, size):
            left = frozenset(chosen)
            if any(smaller < left for smaller in found):
                continue
            text = statement.text(left)
            if text not in known:
                known[text] = ask.gives_row(text, start)
            if known[text]:
                found.add(left)
    return found


def question_of(ask: Asked | FormAsked, events: list[cep.Event]) -> Question:
    if ask.number is not None:
        event = events[ask.number]
        return Question(event.instant, event.instant, event)
    return Question(ask.first * SECOND, ask.last * SECOND)


@given(st.data())
@examples(60)
def test_obstacles_are_all_minimal_sets_of_parts_whose_lifting_gives_a_row(
    data: st.DataObject,
) -> None:
    statement = data.draw(written.statements())
    events = data.draw(written.streams())
    start = events[0]["@time"]
    if data.draw(st.booleans()):
        ask = Asked(events, 0, 0, data.draw(st.integers(0, len(events) - 1)))
    else:
        first = data.draw(st.integers(start, END))
        ask = Asked(events, first, data.draw(st.integers(first, END)), None)
    program = cep.parse(statement.text())
    intake = RunRequest(program=program.resolve(), sources=[events]).take_in()
    question = question_of(ask, intake.events)
    recording = record(intake.program, intake.events, start * SECOND, question.last)
    inquiry = inquire(recording, intake.program.statements[0], question)
    found = inquiry.search(most=len(inquiry.parts), work=10**9)
    assert found.is_complete
    assert found.sets, "no row, and nothing that stood in the way"
    told = {
        frozenset((str(part.kind), program.text_at(part.span)) for part in lifted)
        for lifted, _ in found.sets
    }
    assert told == by_force(statement, ask, start)
    has_row = bool(recording.rows_of("S", question))
    assert has_row == (told == {frozenset()})


# VEPL -----------------------------------------------------------------------------------------


def parts_by_force(form: written_forms.Complex, ask: FormAsked) -> set[frozenset[written.Part]]:
    found: set[frozenset[written.Part]] = set()
    known: dict[tuple[str, bool], bool] = {}
    parts = form.parts()
    for size in range(len(parts) + 1):
        for chosen in combinations(parts, size):
            left = frozenset(chosen)
            if any(smaller < left for smaller in found):
                continue
            text = form.form_text(left)
            key = form.program(left, text), ("taken", "") in left
            if key not in known:
                known[key] = ask.gives_row(form, left, text)
            if known[key]:
                found.add(left)
    return found


class FormAsked:
    """What is asked; what is imagined comes once, at one of the places where it could."""

    def __init__(self, events: Events, first: int, last: int, number: int | None) -> None:
        in_time = [event for event in events if event["@time"] <= last]
        self.events = in_time if number is None else events[: number + 1]
        self.first, self.last, self.number = first, last, number
        self.start = events[0]["@time"]

    def gives_row(
        self, form: written_forms.Complex, left: frozenset[written.Part], text: str
    ) -> bool:
        if written.ASKED not in text:
            return self._gives_row(form, left, text, self.events, None)
        names = [call.text(form.left(left), False) for call in form.form.calls()]
        is_keyed = "global" not in form.context and all(
            name is None or "(x, _)" in name for name in names
        )
        call = f"{written.ASKED}(x, _)" if is_keyed and any(names) else f"{written.ASKED}(_, _)"
        text = text.replace(written.ASKED, call)
        return any(
            self._gives_row(form, left, text, *self._with_asked(place, value))
            for place in self._places()
            for value in ((0, 1, 3) if is_keyed else (0,))
        )

    def _places(self) -> list[int]:
        if self.number is not None:
            return [len(self.events)]
        times = [event["@time"] for event in self.events]
        before = sum(time < self.first for time in times)
        until = sum(time <= self.last for time in times)
        return [*range(before, until + 1)]

    def _with_asked(self, place: int, value: int) -> tuple[Events, int]:
        if self.number is not None:
            second: int = self.events[-1]["@time"]
        elif place == sum(event["@time"] < self.first for event in self.events):
            second = self.first
        else:
            second = self.events[place - 1]["@time"]
        extra = {"@type": written.ASKED, "@time": second, "p": value, "q": 0}
        return [*self.events[:place], extra, *self.events[place:]], place

    def _gives_row(
        self,
        form: written_forms.Complex,
        left: frozenset[written.Part],
        text: str,
        events: Events,
        place: int | None,
    ) -> bool:
        allowed = {place, self.number}
        until = self.last if self.number is None else events[-1]["@time"]
        program = cep.parse(form.program(left, text), language="vepl")
        if ("taken", "") not in left:
            result = cep.run(program, events, start=self.start, end=until, engine="reference")
            if self.number is not None:
                return any(row.key[1] == 1 and row.key[2] in allowed for row in result)
            return any(self.first * SECOND <= row.instant <= self.last * SECOND for row in result)
        pattern = program.resolve().statements[0].pattern
        assert isinstance(pattern, Occurrence)
        checked = [
            Event(str(e["@type"]), e["@time"] * SECOND, {"p": e["p"], "q": e["q"]}, number)
            for number, e in enumerate(events)
            if e["@type"] != "a" or form.exists(e, left)
        ]
        for found in occurrences(pattern.form, checked, until * SECOND):
            last = checked[max(found.places)]
            if self.number is not None:
                if found.end == last.instant and last.sequence in allowed:
                    return True
            elif self.first * SECOND <= found.end <= self.last * SECOND:
                return True
        return False


@given(st.data())
@examples(60)
def test_obstacles_of_complex_events_are_all_minimal_sets(data: st.DataObject) -> None:
    form = data.draw(written_forms.forms().filter(lambda form: len(form.parts()) <= 8))
    events = data.draw(written_forms.streams())
    start = events[0]["@time"]
    if data.draw(st.booleans()):
        number = data.draw(st.integers(0, len(events) - 1))
        ask = FormAsked(events, 0, 0, number)
    else:
        first = data.draw(st.integers(start, END))
        ask = FormAsked(events, first, data.draw(st.integers(first, END)), None)
    program = cep.parse(form.program(frozenset(), form.form_text(frozenset())), language="vepl")
    intake = RunRequest(program=program.resolve(), sources=[events]).take_in()
    question = question_of(ask, intake.events)
    recording = record(intake.program, intake.events, start * SECOND, question.last)
    inquiry = inquire(recording, intake.program.statements[0], question)
    named = dict(zip(in_order_of_kind(inquiry.parts), in_order_of_kind(form.parts()), strict=True))
    found = inquiry.search(most=len(inquiry.parts), work=10**9)
    told = {frozenset(named[part] for part in lifted) for lifted, _ in found.sets}
    assert told == parts_by_force(form, ask)
    assert bool(recording.rows_of("S", question)) == (told == {frozenset()})


def in_order_of_kind(parts: Iterable[Any]) -> list[Any]:
    return sorted(parts, key=lambda part: str(part.kind) if hasattr(part, "kind") else part[0])
