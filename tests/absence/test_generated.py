"""Whatever a program is, a statement without a row has an obstacle, and none that has one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.absence.explain import Explainer
from cepheid.absence.question import Question
from cepheid.absence.recording import record
from cepheid.core.event import Event
from cepheid.semantics.machine import Machine
from tests import effort
from tests.conformance.generator import examples
from tests.conformance.occurrences import occurrences
from tests.conformance.scenarios import Example

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.errors.CepheidWarning")


def check(example: Example, data: st.DataObject) -> None:
    program = example.program
    resolved = program.resolve()
    events = [item for item in example.items() if isinstance(item, Event)]
    end = example.end * 1000
    statement = data.draw(st.sampled_from(resolved.statements))
    is_of_one = data.draw(st.booleans())
    if events and is_of_one:
        event = data.draw(st.sampled_from(events))
        question = Question(event.instant, event.instant, event)
    else:
        first = data.draw(st.integers(example.start, example.end)) * 1000
        question = Question(first, data.draw(st.sampled_from((first, end))))
    recording = record(resolved, events, example.start * 1000, end)
    answer = Explainer(recording, lambda span, _: program.text_at(span), most=2).explain(
        statement, question
    )
    json.dumps(answer.to_json())
    assert [row.key for row in reported(example, statement.name, question)] == [
        row.key for row in answer.rows
    ]
    assert bool(answer.obstacles) != bool(answer.rows)
    sets = [{(h.kind, h.span, h.text) for h in o.hindrances} for o in answer.obstacles]
    assert all(sets), "nothing stood in the way, and yet there is no row"
    assert not any(one < other for one in sets for other in sets)


def reported(example: Example, name: str, question: Question) -> list[Event]:
    """The rows of the statement, by a machine that nobody watches."""
    machine = Machine(example.resolved)
    machine.start(example.start * 1000)
    rows: list[Event] = []
    for item in example.items():
        rows += machine.take(item) if isinstance(item, Event) else machine.advance(item)
    return [row for row in rows if row.statement == name and question.covers(row.key)]


@given(examples(), st.data())
@effort.examples(60)
def test_a_statement_without_a_row_has_an_obstacle(example: Example, data: st.DataObject) -> None:
    check(example, data)


@given(occurrences(), st.data())
@effort.examples(40)
def test_so_has_a_complex_event(example: Example, data: st.DataObject) -> None:
    check(example, data)


def test_rows_of_a_recording_are_those_of_a_run() -> None:
    text = (
        "create schema A (v int); @Name('S') insert into T select v from A(v > 1); select v from T;"
    )
    program = cep.parse(text)
    events = [Event("A", n, {"v": n}, n) for n in range(4)]
    recording = record(program.resolve(), events, 0, 3)
    told = [(row.statement, row["v"]) for row in recording.rows]
    assert told == [("S", 2), ("statement_2", 2), ("S", 3), ("statement_2", 3)]
