"""Programs in this process: the compiled matcher gives what the reference semantics gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.event import Event
from cepheid.engines.common.runners import Reference, Runner
from cepheid.engines.registry import open_runner
from cepheid.matcher.compiling.lowering import lower
from cepheid.matcher.compiling.machine_program import MachineProgram
from cepheid.matcher.compiling.verification import check_form
from cepheid.matcher.gaps import left_to_reference
from cepheid.matcher.machine.push import Matcher
from cepheid.matcher.vm.memory.access import rows_of as rows_in
from cepheid.matcher.vm.memory.layout import Region
from cepheid.matcher.vm.memory.tables import ConsumerRow, NodeRow, StatementRow, TypeRow
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import ProgramTree
from tests.conformance.gaps import listed
from tests.conformance.scenarios import FOLDER, FUNCTIONS, read
from tests.conformance.scenarios import TYPES as GOLDEN_TYPES
from tests.effort import examples
from tests.examples.test_golden import PROGRAMS as EXAMPLES
from tests.semantics.drive import end_of, resolved, show
from tests.semantics.generators import TYPES, programs, streams


def is_matched(program: cep.Program) -> bool:
    return not left_to_reference(program.resolve())


def test_all_golden_programs_run_on_the_matcher_but_for_listed_gaps() -> None:
    cases = [case for file in FOLDER.glob("*.txt") for case in read(file).cases]
    right = [case.text for case in cases if not "".join(case.expected[:1]).startswith("=> error")]
    for text in right:
        program = cep.parse(text, types=GOLDEN_TYPES, functions=FUNCTIONS).resolve()
        for reasons in left_to_reference(program).values():
            assert all(listed("compiled", reason) for reason in reasons), (text, reasons)


def test_all_examples_run_on_the_matcher() -> None:
    """Those in EPL; complex events run compiled in batches only."""
    examples = [path for path in EXAMPLES if path.suffix == ".epl"]
    assert [path for path in examples if not is_matched(cep.load(path))] == []


# The same rows.


def matched_part(tree: ProgramTree) -> ResolvedProgram:
    """The statements of a program that the matcher runs."""
    program = resolved(tree)
    names = {s.name for s in program.statements} - left_to_reference(program).keys()
    assume(names)
    return program.part(names)


def rows_of(runner: Runner, stream: Sequence[Event], sizes: Sequence[int] = ()) -> list[Event]:
    """All rows, of a runner that is saved and loaded after each so many events."""
    runner.start(0)
    rows, rest = [], list(stream)
    for size in sizes:
        rows += runner.send_all(rest[:size])
        rest = rest[size:]
        saved, runner = runner.save(), open_runner(runner.program, engine="local")
        runner.load(saved)
    rows += [row for event in rest for row in runner.send(event)]
    return rows + runner.pass_time(end_of(stream))


def said(row: Event) -> object:
    """All that engines agree on; only the reference semantics knows the causes."""
    return show(row)._replace(causes=())


@examples(200)
@given(programs(), streams(), st.lists(st.integers(0, 6), max_size=3))
def test_rows_and_steps_are_those_of_the_reference_also_after_restarts(
    tree: ProgramTree, stream: list[Event], sizes: list[int]
) -> None:
    program = matched_part(tree)
    matcher = open_runner(program, engine="local")
    reference = open_runner(program, engine="reference")
    assert isinstance(matcher, Matcher)
    expected = list(map(said, rows_of(reference, stream)))
    assert list(map(said, rows_of(matcher, stream))) == expected
    assert matcher.reached() == reference.reached()
    again = open_runner(program, engine="local")
    assert list(map(said, rows_of(again, stream, sizes))) == expected


def test_what_ended_before_a_restart_is_not_given_back_twice() -> None:
    program = cep.parse("select 1 as one from pattern [every (not B)]", types=TYPES).resolve()
    assert rows_of(open_runner(program), [event("A", 1), event("B", 2)], [0]) == []


def test_a_program_that_was_saved_goes_on_as_if_it_had_not_been() -> None:
    """Texts of which nothing is left get new numbers; what Python said of the old ones is over."""
    runner = opened("select upper(k) as u from A(k like '%a%')")
    rows = []
    for instant, text in enumerate(("ab", "ca", "bb", "ad", "xx", "ae")):
        rows += runner.send(event("A", instant, k=text, v=1_000 + instant))
        runner.save()
    assert [row["u"] for row in rows] == ["AB", "CA", "AD", "AE"]


def test_a_zero_with_a_sign_is_found_by_one_without() -> None:
    runner = opened("select b.id as b from pattern [every a=A -> b=B(w = a.w)]")
    runner.send_all([event("A", 1, w=-0.0), event("A", 2, w=float("nan"))])
    found = [event("B", n, id=str(n), w=w) for n, w in ((3, 0.0), (4, float("nan")), (5, -0.0))]
    assert [row["b"] for row in runner.send_all(found)] == ["3"]


def test_nested_values_of_events_that_wait_are_there_after_a_restart() -> None:
    program = cep.parse("""
        create schema A (tags string[]);
        create schema B (v int);
        select a.tags as tags from pattern [every a=A -> B];
    """)
    session = cep.open(program)
    session.send("A", {"tags": ["x", None, "y"]}, 1)
    again = cep.open(program, state=session.save())
    assert isinstance(again.runner, Matcher)
    assert [row["tags"] for row in again.send("B", {"v": 1}, 2)] == [["x", None, "y"]]


# The runner.

PAIRS = "select a.k as k, b.v as v, a as whole from pattern [every a=A -> b=B(k=a.k)]"
ENDLESS = "insert into S select k from S; insert into S select k from A"


def opened(text: str) -> Matcher:
    runner = open_runner(cep.parse(text, types=TYPES).resolve(), engine="local")
    assert isinstance(runner, Matcher)
    return runner


def event(type: str, instant: int, **values: object) -> Event:
    return Event(type, instant, dict(values))  # type: ignore[arg-type]


def test_what_only_the_reference_knows_is_left_to_it() -> None:
    program = cep.parse(PAIRS, types=TYPES).resolve()
    for runner in (
        open_runner(program, engine="reference"),
        open_runner(program, engine="local", timed_out=True),
        open_runner(program, engine="local", why=True),
    ):
        assert isinstance(runner, Reference)


def test_an_event_in_a_row_has_its_attributes() -> None:
    matcher = opened(PAIRS)
    sent = event("A", 1, id="A1", k="x", v=2, w=0.5, ts=3)
    assert matcher.send(sent) == []
    [row] = matcher.send(event("B", 5, k="x", v=7))
    assert (row["k"], row["v"], row["whole"], row.instant) == ("x", 7, sent, 5)


def test_an_event_of_an_unknown_type_lets_time_pass() -> None:
    matcher = opened(PAIRS)
    assert matcher.send(event("Other", 5)) == []
    assert matcher.clock == 5


def test_a_late_event_changes_nothing() -> None:
    matcher = opened(PAIRS)
    matcher.send(event("A", 5, k="x"))
    before = matcher.save()
    for late in ([event("B", 4, k="x")], [event("B", 6, k="x"), event("B", 5, k="x")]):
        with pytest.raises(cep.LateEvent, match="is before the clock"):
            matcher.send_all(late)
    with pytest.raises(cep.LateEvent):
        matcher.pass_time(4)
    assert matcher.save() == before


def test_time_that_has_passed_does_not_come_back_with_the_next_event() -> None:
    runner = opened(PAIRS)
    runner.send(event("A", 1))
    runner.pass_time(10)
    runner.send(event("A", 20))
    assert runner.clock == 20
    with pytest.raises(cep.LateEvent):
        runner.send(event("A", 15))


def test_what_a_side_of_and_brought_is_forgotten_where_no_other_side_can_meet_it() -> None:
    runner = opened("select a.id as a from pattern [every a=A and B]")
    runner.send(event("B", 0))
    sizes = set()
    for instant in range(100):
        runner.send(event("A", instant))
        sizes.add(len(rows_in(runner._memory, Region.TRUTH)))
    assert max(sizes) < 5


def test_a_run_that_had_to_end_stays_ended() -> None:
    matcher = opened(ENDLESS)
    calls: list[Callable[[], object]] = [
        lambda: matcher.send(event("A", 5, k="x")),
        lambda: matcher.send(event("A", 6, k="x")),
        lambda: matcher.pass_time(7),
        matcher.save,
    ]
    for call in calls:
        with pytest.raises(cep.RunError, match="runaway"):
            call()


def test_state_of_one_engine_is_refused_by_the_other() -> None:
    program = cep.parse(PAIRS, types=TYPES)
    for own, other in (("local", "reference"), ("reference", "local")):
        saved = cep.open(program, start=0, engine=own).save()
        with pytest.raises(cep.RunError, match="bad-state"):
            cep.open(program, state=saved, engine=other)


def test_more_than_one_word_of_null_bits() -> None:
    names = [f"x{number}" for number in range(130)]
    program = cep.parse(
        f"create schema W ({', '.join(f'{n} int' for n in names)}); select * from W"
    ).resolve()
    values = {name: number if number % 3 else None for number, name in enumerate(names)}
    [row] = open_runner(program, engine="local").send(Event("W", 0, dict(values)))
    assert dict(row) == values


# The form.

TEXT = """
    select a.k as k from pattern [every a=A(v > 1) -> b=B(k=a.k) -> timer:interval(1 sec)];
    select k, v from A;
"""


def form() -> MachineProgram:
    return lower(cep.parse(TEXT, types=TYPES).resolve())


def with_word(
    given: MachineProgram, region: int, row: int, word: int, value: int
) -> MachineProgram:
    rows = [list(r) for r in given.tables[region]]
    rows[row][word] = value
    return replace(given, tables={**given.tables, region: tuple(map(tuple, rows))})


@pytest.mark.parametrize(
    ("region", "row", "word", "problem"),
    [
        (Region.NODE, 0, NodeRow.CHILD, "a child of node 0 is not there"),
        (Region.NODE, 3, NodeRow.NEXT, "a child of node 2 is not there"),
        (Region.NODE, 3, NodeRow.TAG, "node 3 binds an unknown tag"),
        (Region.NODE, 3, NodeRow.EARLY, "the condition of node 3"),
        (Region.STATEMENT, 0, StatementRow.TARGET, "the target of statement 0 is not there"),
        (Region.STATEMENT, 1, StatementRow.COLUMNS, "statement 1 has a list that is not there"),
        (Region.CONSUMER, 0, ConsumerRow.ATOMS, "consumer 0 has a list that is not there"),
        (Region.TYPE, 0, TypeRow.CONSUMERS, "the consumers of type A"),
        (Region.TIMED, 0, 0, "a timed node is not there"),
    ],
)
def test_a_number_that_stands_for_nothing_is_found(
    region: int, row: int, word: int, problem: str
) -> None:
    broken = with_word(form(), region, row, word, 999)
    with pytest.raises(ValueError, match=problem):
        check_form(broken)


def test_broken_code_and_broken_tables_are_found() -> None:
    good = form()
    assert check_form(good) is good
    with pytest.raises(ValueError, match="outside the code"):
        check_form(replace(good, code=good.code[:-1]))
    with pytest.raises(ValueError, match="names an unknown slot"):
        check_form(replace(good, slots={}))
    narrow = {**good.tables, Region.LIST: ((1, 2),)}
    with pytest.raises(ValueError, match="is 2 wide"):
        check_form(replace(good, tables=narrow))
    with pytest.raises(ValueError, match="counted by no counter"):
        check_form(replace(good, steps=(((0, 0),), ())))
