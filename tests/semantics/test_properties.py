"""What holds for every program and every stream."""

from __future__ import annotations

import json
import random
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event
from cepheid.lang.epl.parser import parse
from cepheid.lang.epl.printer import print_program
from cepheid.pattern import tree as pattern_tree
from cepheid.program.resolved import ResolvedStatement
from cepheid.program.serialize import from_json, to_json
from cepheid.program.tree import PatternSource, ProgramTree, Statement, TimeBatch, TimeWindow
from cepheid.semantics import state
from cepheid.semantics.machine import Machine
from tests.effort import examples
from tests.semantics.drive import Shown, end_of, per_instant, resolved, run, show
from tests.semantics.generators import (
    PER_KEY,
    SCHEMAS,
    SPREAD_KINDS,
    UNUSED,
    Features,
    make_event,
    programs,
    statements,
    streams,
)

SECOND = 1_000_000
thorough = examples(100)


@thorough
@given(programs())
def test_a_program_survives_json_and_text(tree: ProgramTree) -> None:
    resolved(tree)
    assert from_json(json.loads(json.dumps(to_json(tree)))) == tree
    assert parse(print_program(tree)).tree == tree


@thorough
@given(programs(), streams())
def test_restarting_after_every_event_changes_nothing(
    tree: ProgramTree, stream: list[Event]
) -> None:
    program = resolved(tree)
    machine = Machine(program, timed_out=True, trace=True)
    machine.start(0)
    rows = []
    for event in stream:
        rows += machine.take(event)
        saved = state.save(machine)
        machine = Machine(program, timed_out=True, trace=True)
        state.load(machine, saved)
    rows += machine.advance(end_of(stream))
    assert [show(row) for row in rows] == run(tree, stream)


@thorough
@given(programs(), streams(), st.data())
def test_letting_time_pass_in_between_changes_nothing(
    tree: ProgramTree, stream: list[Event], data: st.DataObject
) -> None:
    machine = Machine(resolved(tree), timed_out=True, trace=True)
    machine.start(0)
    rows = []
    for event in stream:
        stops = st.lists(st.integers(machine.clock, event.instant), max_size=2)
        for instant in sorted(data.draw(stops)):
            rows += machine.advance(instant)
        rows += machine.take(event)
    for instant in range(machine.clock, end_of(stream) + 1, SECOND // 4):
        rows += machine.advance(instant)
    rows += machine.advance(end_of(stream))
    assert [show(row) for row in rows] == run(tree, stream)


def records(stream: Iterable[Event]) -> list[dict[str, object]]:
    return [{"@type": e.type, "@time": e.instant / SECOND, **e.values_} for e in stream]


@thorough
@given(programs(), streams())
def test_one_run_equals_many_sends(tree: ProgramTree, stream: list[Event]) -> None:
    program = cep.Program(tree)
    with warnings.catch_warnings():  # of derived events without a key
        warnings.simplefilter("ignore", cep.CepheidWarning)
        at_once = cep.run(program, records(stream), timed_out=True, on_error="skip")
        session = cep.open(program, timed_out=True)
        rows = [row for event in stream for row in sent(session, event)]
    assert [show(row) for row in rows] == [show(row) for row in at_once]


def sent(session: cep.Session, event: Event) -> list[Event]:
    """The rows of an event; none of one without a key, which is refused and leaves no trace."""
    try:
        return session.send(event.type, event.values_, time=event.instant / SECOND)
    except cep.InputError as problem:
        if problem.diagnostics[0].code != "null-key":
            raise
        return []


@thorough
@given(programs(), streams(SPREAD_KINDS), st.randoms())
def test_the_order_of_bounded_input_does_not_matter(
    tree: ProgramTree, stream: list[Event], chance: random.Random
) -> None:
    program = cep.Program(tree)
    shuffled = records(stream)
    chance.shuffle(shuffled)
    with warnings.catch_warnings():  # of derived events without a key
        warnings.simplefilter("ignore", cep.CepheidWarning)
        found = cep.run(program, shuffled, timed_out=True, on_error="skip")
        in_order = cep.run(program, records(stream), timed_out=True, on_error="skip")
    assert [show(r) for r in found] == [show(r) for r in in_order]


@thorough
@given(programs(), streams(), st.data())
def test_events_that_nothing_consumes_change_nothing(
    tree: ProgramTree, stream: list[Event], data: st.DataObject
) -> None:
    noisy = list(stream)
    for number, place in enumerate(data.draw(st.lists(st.integers(0, len(stream)), max_size=4))):
        earlier = stream[place - 1].instant if place else 0
        noisy.append(make_event(UNUSED, earlier, number))
    noisy.sort(key=lambda event: event.instant)
    assert run(tree, noisy, end=end_of(stream)) == run(tree, stream)


@thorough
@given(programs(Features(calendar=False)), streams(), st.integers(-(10**13), 10**15))
def test_shifting_time_shifts_all_rows(tree: ProgramTree, stream: list[Event], shift: int) -> None:
    later = [Event(e.type, e.instant + shift, e.values_, e.sequence) for e in stream]
    rows = run(tree, later, start=shift, end=end_of(stream) + shift)
    wanted = run(tree, stream)
    assert [r.instant - shift for r in rows] == [r.instant for r in wanted]
    assert [without_times(r) for r in rows] == [without_times(r) for r in wanted]


def without_times(row: Shown) -> tuple[object, ...]:
    """Values of generated programs never hold whole events; causes do."""
    return row.statement, row.is_old, row.is_timeout, row.values


@thorough
@given(programs(), streams())
def test_rows_come_in_the_order_of_time(tree: ProgramTree, stream: list[Event]) -> None:
    instants = [row.instant for row in run(tree, stream)]
    assert instants == sorted(instants)


# The order of statements.


@thorough
@given(programs(), streams(), st.randoms())
def test_the_order_of_statements_matters_only_where_two_paths_meet(
    tree: ProgramTree, stream: list[Event], chance: random.Random
) -> None:
    program = resolved(tree)
    assume(len(program.statements) > 1 and not two_paths_meet(program.statements))
    order = [s.name for s in program.statements]
    chance.shuffle(order)
    permuted = per_instant(run(tree, stream, order=order))
    assert permuted == per_instant(run(tree, stream))


def two_paths_meet(statements: tuple[ResolvedStatement, ...]) -> bool:
    """Whether a statement can hear of one cause, an input event or a timer, in two ways."""
    try:
        paths = [Counter(paths_to(s, statements, ())) for s in statements]
    except RecursionError:
        return True  # a cycle
    return any(count > 1 for found in paths for count in found.values())


def paths_to(
    statement: ResolvedStatement, statements: tuple[ResolvedStatement, ...], below: tuple[str, ...]
) -> list[str]:
    """Where the paths to a statement begin, once for each path.

    A statement's own timers count only for those below it: they fire before what timers derive.
    """
    if statement.name in below:
        raise RecursionError
    starts = ["time"] if below and has_timers(statement) else []
    for name in statement.inputs:
        feeders = [s for s in statements if s.target == name]
        starts += [name]
        for feeder in feeders:
            starts += paths_to(feeder, statements, (*below, statement.name))
    return starts


def has_timers(statement: ResolvedStatement) -> bool:
    tree = statement.tree
    timed = (pattern_tree.Within, pattern_tree.Interval, pattern_tree.At)
    source = tree.source
    nodes = pattern_tree.walk(source.pattern) if isinstance(source, PatternSource) else ()
    if any(isinstance(node, timed) for node in nodes):
        return True
    return isinstance(tree.window, TimeWindow | TimeBatch) or tree.output is not None


# Contexts.


@thorough
@given(statements(features=Features(contexts=False)), streams())
def test_a_context_statement_is_one_plain_statement_for_each_key(
    statement: Statement, stream: list[Event]
) -> None:
    plain = ProgramTree((*SCHEMAS, statement))
    keyed = ProgramTree((*SCHEMAS, PER_KEY, replace(statement, context="PerKey")))
    inputs = resolved(plain).statements[0].inputs
    wanted: list[Shown] = []
    for key in {event["k"] for event in stream}:
        mine = [e for e in stream if e["k"] == key and e.type in inputs]
        if mine:
            wanted += run(plain, mine, start=mine[0].instant, end=end_of(stream))
    assert per_instant(run(keyed, stream)) == per_instant(wanted)


@thorough
@given(statements(features=Features(contexts=False)), streams())
def test_statements_that_share_nothing_do_not_disturb_each_other(
    statement: Statement, stream: list[Event]
) -> None:
    alone = ProgramTree((*SCHEMAS, statement))
    other = replace(statement, annotations=())
    both = ProgramTree((*SCHEMAS, other, statement))
    rows = run(both, stream)
    assert [r for r in rows if r.statement == "s1"] == run(alone, stream)
