"""Wherever a debugger goes, and on whatever way, it shows what a fresh run shows there."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.time import format_instant
from cepheid.debugging import course
from cepheid.debugging.debugger import STRIDES, Debugger, Stride
from tests import effort
from tests.conformance.engines import REFERENCE
from tests.conformance.generator import examples
from tests.conformance.occurrences import occurrences
from tests.conformance.rows import strict
from tests.conformance.scenarios import Example
from tests.debugging.model import Model, debugger_of, model_of, seen


@pytest.fixture(autouse=True)
def snapshots_every_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course, "APART", 3)
    monkeypatch.setattr(course, "BYTES_A_STEP", 1_000_000)


class Walk:
    """A debugger, and the place at which the model says it stands."""

    def __init__(self, example: Example, engine: str) -> None:
        self.debugger: Debugger = debugger_of(example, engine)
        self.model: Model = model_of(self.debugger, example, engine)
        self.types = sorted(example.resolved.types)
        self.statements = [statement.name for statement in example.resolved.statements]
        self.place = 0

    def check(self) -> None:
        spot, position = self.model.spots[self.place], self.debugger.position
        assert (position.events, position.step) == spot.name
        assert (position.kind, position.instant) == (spot.last.kind, spot.last.instant)
        assert (position.event, position.statement) == (spot.last.event, spot.last.statement)
        assert seen(self.debugger.inspect()) == spot.seen
        assert [*map(strict, self.debugger.rows)] == self.model.rows[: spot.rows]

    def move(self, data: st.DataObject) -> None:
        ways = ("step", "back", "step", "back", "go", "run_to", "resume", "rewind", "stop_at")
        way = data.draw(st.sampled_from(ways))
        try:
            getattr(self, way)(data)
        except cep.RunError:
            assert self.model.fails
            self.place = len(self.model.spots) - 1

    def stride(self, data: st.DataObject) -> Stride:
        # What ends where the run fails is not to be seen in a list of what came before.
        return data.draw(
            st.sampled_from(("statement", "timer", "event") if self.model.fails else STRIDES)
        )

    def step(self, data: st.DataObject) -> None:
        by = self.stride(data)
        self.debugger.step(by)
        self.place = self.model.forward(self.place, lambda place: self.model.ends(place, by))

    def back(self, data: st.DataObject) -> None:
        by = self.stride(data)
        self.debugger.back(by)
        self.place = self.model.back(self.place, lambda place: self.model.ends(place, by))

    def go(self, data: st.DataObject) -> None:
        self.place = data.draw(st.integers(0, len(self.model.spots) - 1))
        self.debugger.go(*self.model.spots[self.place].name)

    def run_to(self, data: st.DataObject) -> None:
        instant = data.draw(st.sampled_from([spot.clock for spot in self.model.spots]))
        instant += data.draw(st.sampled_from((0, 1, -1)))
        aim = self.model.until(instant)
        stopped = self.debugger.run_to(format_instant(instant))
        if aim > self.place:
            found = self.model.forward(self.place, self.stops)
            assert [each.number for each in stopped] == self.stopping(min(aim, found))
            aim = min(aim, found)
        self.place = aim

    def resume(self, data: st.DataObject) -> None:
        stopped = self.debugger.resume()
        self.place = self.model.forward(self.place, self.stops)
        assert [each.number for each in stopped] == self.stopping(self.place)

    def rewind(self, data: st.DataObject) -> None:
        stopped = self.debugger.rewind()
        self.place = self.model.back(self.place, self.stops)
        assert [each.number for each in stopped] == self.stopping(self.place)

    def stop_at(self, data: st.DataObject) -> None:
        if len(self.debugger.breakpoints) == 3:
            self.debugger.clear(self.debugger.breakpoints[0].number)
        # When a run that fails would have gone on is not to be seen, either.
        kinds = ("statement", "type") if self.model.fails else ("statement", "type", "age")
        kind = data.draw(st.sampled_from(kinds))
        if kind == "statement":
            self.debugger.stop_at(statement=data.draw(st.sampled_from(self.statements)))
        elif kind == "type":
            self.debugger.stop_at(type=data.draw(st.sampled_from(self.types)))
        else:
            age = data.draw(st.sampled_from((0.5, 1, 2, 3)))
            statement = data.draw(st.sampled_from((None, *self.statements)))
            self.debugger.stop_at(age=age, statement=statement)

    def stops(self, place: int) -> bool:
        return bool(self.stopping(place))

    def stopping(self, place: int) -> list[int]:
        """The numbers of the breakpoints that stop at a place."""
        return [b.number for b in self.debugger.breakpoints if place and self.stops_at(b, place)]

    def stops_at(self, breakpoint: cep.Breakpoint, place: int) -> bool:
        last = self.model.spots[place].last
        if breakpoint.age is not None:
            return self.model.gets_as_old(place, breakpoint.age, breakpoint.statement)
        if breakpoint.statement is not None:
            return any(row.statement == breakpoint.statement for row in last.rows)
        taken = {t for name in self.consumed for t in self.heirs(name)}
        plain = (row for row in last.rows if not (row.is_old or row.is_timeout))
        happening = [row.type for row in plain if row.type not in taken]
        if last.kind in ("event", "derived") and last.event is not None:
            happening.append(last.event.type)
        return any(type in self.heirs(breakpoint.type or "") for type in happening)

    @property
    def consumed(self) -> set[str]:
        program = self.debugger.program
        return {name for statement in program.statements for name in statement.inputs}

    def heirs(self, name: str) -> set[str]:
        types = self.debugger.program.types
        return {heir for heir, type in types.items() if heir == name or name in type.ancestors}


def walk(example: Example, engine: str, data: st.DataObject) -> None:
    walk = Walk(example, engine)
    walk.check()
    for _ in range(data.draw(st.integers(4, 12))):
        walk.move(data)
        walk.check()


@effort.examples(60)
@given(examples(), st.data())
def test_any_walk_shows_what_a_fresh_run_shows(example: Example, data: st.DataObject) -> None:
    walk(example, "reference", data)


@pytest.mark.parametrize("engine", ["reference", "automaton"])
def test_any_walk_over_complex_events_shows_what_a_fresh_run_shows(engine: str) -> None:
    @effort.examples(25)
    @given(occurrences(), st.data())
    def search(example: Example, data: st.DataObject) -> None:
        walk(example, engine, data)

    search()


@effort.examples(60)
@given(st.one_of(examples(), occurrences()))
def test_at_the_end_there_are_the_rows_of_a_run(example: Example) -> None:
    debugger = debugger_of(example)
    with suppress(cep.RunError):
        debugger.resume()
        assert debugger.is_over
        assert [*map(strict, debugger.rows)] == REFERENCE.rows(example)


@effort.examples(40)
@given(st.one_of(examples(), occurrences()))
def test_between_two_events_a_session_keeps_the_same(example: Example) -> None:
    debugger = debugger_of(example)
    session = cep.open(example.program, start=example.start / 1000, engine="reference")
    with suppress(cep.RunError):
        for event in debugger.events:
            session.take(event)
            debugger.step("event")
            assert seen(debugger.inspect()) == seen(session.inspect())
