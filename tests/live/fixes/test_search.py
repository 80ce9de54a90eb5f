"""Quick fixes: which are found, how many models that takes, and that the model does not notice."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

import cepheid as cep
from cepheid import live
from cepheid.errors import UsageError
from tests.live.fixes.programs import CPS, LOWER, RAISE, TOO_MUCH, hosts, lines, program

TWO_FIXES = program(TOO_MUCH, f"{LOWER}\n{RAISE}")


# The figures.


def test_a_host_with_too_much_available_has_two_quick_fixes() -> None:
    fixes = live.quick_fixes(TWO_FIXES, hosts(1))
    assert [one.diff() for one in fixes] == [
        ("Host#1.available: 10 -> 8",),
        ("Host#1.total: 8 -> 10",),
    ]
    assert [(str(one), one.cost) for one in fixes] == [("lower(Host#1)", 1), ("raise(Host#1)", 1)]
    assert (fixes.states, fixes.expanded, fixes.is_complete) == (3, 1, True)


def test_twenty_independent_violations_are_solved_by_expanding_one_model_for_each() -> None:
    fixes = live.quick_fixes(TWO_FIXES, hosts(20), solutions=1, states=1_000)
    assert fixes[0].cost == 20
    assert fixes[0].found_after <= 21
    assert fixes[0].diff() == tuple(f"Host#{n}.available: 10 -> 8" for n in range(1, 21))


def test_the_cheaper_fix_is_taken_of_each() -> None:
    priced = program(TOO_MUCH, f"@Cost(3) {LOWER}\n@Cost(2) {RAISE}")
    fixes = live.quick_fixes(priced, hosts(2))
    assert lines(fixes) == [
        "4 raise(Host#1); raise(Host#2)",
        "5 raise(Host#1); lower(Host#2)",
        "5 raise(Host#2); lower(Host#1)",
        "6 lower(Host#1); lower(Host#2)",
    ]


def test_no_solution_within_a_bound_is_said_with_the_models_that_were_seen() -> None:
    more = program(TOO_MUCH, "fix more on tooMuch(h) { set h.available = h.available + 1 }")
    fixes = live.quick_fixes(more, hosts(1), states=50)
    assert (fixes.solutions, fixes.states, fixes.ended_by) == ((), 50, ("states",))
    assert str(fixes) == "no solution within the bound on states: 50 models seen"
    fixes = live.quick_fixes(more, hosts(1), depth=3)
    assert str(fixes) == "no solution within the bound on depth: 4 models seen"


def test_that_there_is_no_solution_is_known_when_all_models_were_seen() -> None:
    other = program(TOO_MUCH, "fix forget on Host.available(h, n) { set h.total = null }")
    fixes = live.quick_fixes(
        other, hosts(1, available=0), objectives=[live.Objective("tooMuch", "some")]
    )
    assert fixes.is_complete
    assert str(fixes) == "no solution: 2 models seen"


# Steps.


def test_a_fix_that_fails_is_no_step_and_is_reported() -> None:
    failing = "fix broken on tooMuch(h) { set h.available = 0  set h.system.hosts -= h }"
    fixes = live.quick_fixes(program(TOO_MUCH, f"{failing}\n{LOWER}"), hosts(1))
    assert lines(fixes) == ["1 lower(Host#1)"]
    [problem] = fixes.failures
    assert problem.message == "fix 'broken': 'h.system.hosts' leads to no object: it is null"
    assert problem.span is not None


def test_fixes_that_undo_each_other_come_to_an_end() -> None:
    queries = """
        @Constraint(key = {a}, message = "", severity = "error") pattern wrong(a : App) { App(a); }
        pattern on(a : App) { App.state(a, "on"); }
        pattern off(a : App) { App.state(a, "off"); }
    """
    fixes = "fix stop on on(a) { set a.state = 'off' } fix start on off(a) { set a.state = 'on' }"
    model = live.Model(CPS)
    with model.transaction() as change:
        change.create("App", state="on")
    found = live.quick_fixes(program(queries, fixes), model)
    assert (found.solutions, found.states, found.is_complete) == ((), 2, True)


HOMELESS = """
    @Constraint(key = {a}, message = "", severity = "error")
    pattern homeless(a : App) { neg find at(a, _); }
    private pattern at(a : App, h : Host) { App.host(a, h); }
    pattern place(a : App, h : Host) { find homeless(a); Host(h); }
    pattern wanted(s : System) { System(s); App(a); find homeless(a); neg find has(s, _); }
    private pattern has(s : System, h : Host) { System.hosts(s, h); }
"""
SETTLE = """
    fix settle on place(a, h) { set a.host = h }
    fix build on wanted(s) { create Host as made in s.hosts { total = 4 } }
"""


def homeless(apps: int) -> live.Model:
    model = live.Model(CPS)
    with model.transaction() as change:
        change.create("System")
        for _ in range(apps):
            change.create("App")
    return model


def test_a_solution_can_make_an_object_and_use_it() -> None:
    model = homeless(2)
    fixes = live.quick_fixes(program(HOMELESS, SETTLE), model)
    [one] = fixes
    assert str(one) == "build(System#1); settle(App#2, Host#4); settle(App#3, Host#4)"
    assert one.diff() == (
        "System#1.hosts += Host#4",
        "App#2.host: null -> Host#4",
        "App#3.host: null -> Host#4",
        "+ Host#4",
        "Host#4.runs += App#2",
        "Host#4.runs += App#3",
        "Host#4.system: null -> System#1",
        "Host#4.total: 8 -> 4",
    )
    commit = one.apply(model)
    assert model[2]["host"] is model[4]
    model.revert(commit)
    one.apply(model)  # the host has another number now
    [host] = model.objects("Host")
    assert (host.id, host["total"], host["runs"]) == (5, 4, (model[2], model[3]))


def test_fixes_that_conflict_lead_to_different_solutions() -> None:
    queries = """
        @Constraint(key = {a}, message = "", severity = "error")
        pattern full(h : Host, a : App) { Host.runs(h, a); Host.runs(h, b); a != b; }
    """
    fixes = "fix stop on full(h, a) { set a.host = null } fix kill on full(h, a) { delete a }"
    model = live.Model(CPS)
    with model.transaction() as change:
        host = change.create("Host")
        for _ in range(2):
            change.create("App", host=host)
    found = live.quick_fixes(program(queries, fixes), model)
    assert lines(found) == [
        "1 kill(Host#1, App#2)",
        "1 kill(Host#1, App#3)",
        "1 stop(Host#1, App#2)",
        "1 stop(Host#1, App#3)",
    ]
    assert found[0].diff() == ("Host#1.runs -= App#2", "- App#2")


# Objectives.

WASTED = """
    @Constraint(key = {host}, message = "$host$ is wasted", severity = "warning")
    pattern wasted(host : Host) { Host.available(host, a); check(a > 0); }
"""


def test_what_soft_objectives_miss_is_added_to_the_cost() -> None:
    fixes = live.quick_fixes(
        program(
            TOO_MUCH + WASTED,
            f"{LOWER}\n@Cost(1.5) fix empty on tooMuch(h) {{ set h.available = 0 }}",
        ),
        hosts(1),
    )
    assert [(str(one), one.cost, one.soft, one.left) for one in fixes] == [
        ("empty(Host#1)", 1.5, 0, ()),
        ("lower(Host#1)", 1, 1, ("Host#1 is wasted",)),
    ]


def test_the_search_goes_on_from_a_valid_model_while_soft_objectives_are_missed() -> None:
    empty = "@Cost(0.25) fix empty on wasted(h) { set h.available = 0 }"
    fixes = live.quick_fixes(program(TOO_MUCH + WASTED, f"{LOWER}\n{empty}"), hosts(1, available=5))
    assert lines(fixes) == ["0.25 empty(Host#1)"]
    fixes = live.quick_fixes(program(TOO_MUCH + WASTED, LOWER), hosts(1, available=5))
    assert lines(fixes) == []


def test_objectives_can_be_given() -> None:
    wanted = [live.Objective("wasted"), live.Objective("tooMuch", hard=False, weight=5)]
    empty = "fix empty on wasted(h) { set h.available = 0 }"
    fixes = live.quick_fixes(
        program(TOO_MUCH + WASTED, f"{LOWER}\n{empty}"), hosts(1), objectives=wanted
    )
    assert lines(fixes) == ["1 empty(Host#1)"]
    some = [live.Objective("wasted", "some")]
    fixes = live.quick_fixes(
        program(WASTED, "fix give on Host(h) { set h.available = 1 }"), hosts(1, 0), objectives=some
    )
    assert lines(fixes) == ["1 give(Host#1)"]


@pytest.mark.parametrize(
    ("objectives", "fact"),
    [
        (lambda: [live.Objective("tooMany")], "no pattern 'tooMany' for an objective"),
        (lambda: [live.Objective("tooMuch", "few")], "no goal 'few'"),  # type: ignore[arg-type]
        (lambda: [live.Objective("tooMuch", weight=-1)], "a weight cannot be -1"),
        (list, "nothing says what the model should be like"),
    ],
)
def test_objectives_that_make_no_sense_are_refused(
    objectives: Callable[[], list[live.Objective]], fact: str
) -> None:
    with pytest.raises(UsageError, match=fact):
        live.quick_fixes(TWO_FIXES, hosts(1), objectives=objectives())


def test_a_moving_average_cannot_be_tried() -> None:
    past = """
        @Constraint(key = {h}, message = "", severity = "error")
        pattern busy(h : Host) { Host(h); check(moving_avg(h.available, 3) > 5); }
    """
    with pytest.raises(UsageError, match="'busy' has a moving average"):
        live.quick_fixes(program(past, "fix f on busy(h) { delete h }"), hosts(1))


# Bounds and orders.


def test_the_time_ends_the_search() -> None:
    ticks = count()
    fixes = live.quick_fixes(TWO_FIXES, hosts(20), seconds=30, clock=lambda: next(ticks))
    assert fixes.ended_by == ("seconds",)
    assert 1 < fixes.states <= 31


def test_only_so_many_solutions_are_asked_for() -> None:
    fixes = live.quick_fixes(TWO_FIXES, hosts(3), solutions=3)
    assert [one.cost for one in fixes] == [3, 3, 3]
    assert fixes.is_complete


def test_breadth_first_finds_the_same_and_expands_more_on_the_way() -> None:
    best = live.quick_fixes(TWO_FIXES, hosts(3))
    breadth = live.quick_fixes(TWO_FIXES, hosts(3), order="breadth")
    assert lines(best) == lines(breadth)
    assert best[0].found_after < breadth[0].found_after


@pytest.mark.parametrize(
    "options", [{"order": "depth"}, {"solutions": 0}, {"states": 0}, {"depth": 0}]
)
def test_bounds_that_make_no_sense_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        live.quick_fixes(TWO_FIXES, hosts(1), **options)  # type: ignore[arg-type]


# The model.


def interrupted() -> float:
    raise KeyboardInterrupt


@pytest.mark.parametrize("clock", [lambda: 0, interrupted])
def test_the_model_and_its_listeners_do_not_notice(clock: Callable[[], float]) -> None:
    run = live.open(TWO_FIXES, hosts(2))
    model = run.model
    told: list[object] = []
    model.listeners.append(told.append)
    run.matcher.listeners.append(told.append)
    run.listeners.append(told.append)
    before = (model.state, model.commits, model._next_id, [dict(o.values) for o in model.objects()])
    try:
        live.quick_fixes(run, seconds=10, clock=clock)
    except KeyboardInterrupt:
        assert clock is interrupted
    assert told == []
    assert before == (
        model.state,
        model.commits,
        model._next_id,
        [dict(o.values) for o in model.objects()],
    )
    assert len(run.violations()) == 2
    run.fixes()[0].apply(run)
    assert told
    assert run.violations() == ()


def test_a_solution_is_applied_in_one_transaction() -> None:
    model = hosts(3)
    [best, *_] = live.quick_fixes(TWO_FIXES, model)
    commit = best.apply(model)
    assert [change.object.id for change in commit.changes] == [1, 2, 3]
    assert model.state == commit.after


def test_a_solution_is_for_the_model_as_it_was() -> None:
    model = hosts(1)
    [lower, raised] = live.quick_fixes(TWO_FIXES, model)
    commit = lower.apply(model)
    with pytest.raises(UsageError, match="the model is not as it was when the solution was found"):
        raised.apply(model)
    with pytest.raises(UsageError, match="found for another model"):
        raised.apply(hosts(1))
    model.revert(commit)
    raised.apply(model)
    assert model[1]["total"] == 10


def test_a_run_whose_rules_come_first_has_another_model_then() -> None:
    rules = """
        queryEvent invalid(host: Host) as tooMuch(host) found
        rule limit on invalid(h) { set h.available = 1 }
    """
    run = live.open(program(TOO_MUCH, rules + LOWER), hosts(1))
    [lower] = run.fixes()
    with pytest.raises(UsageError, match="the model is not as it was"):
        lower.apply(run)  # the turn begins with the violation that there is
    assert run.model[1]["available"] == 1


def test_a_valid_model_needs_no_fixes() -> None:
    fixes = live.quick_fixes(TWO_FIXES, hosts(3, available=2))
    assert (fixes.solutions, fixes.states, fixes.is_complete) == ((), 1, True)


def test_fixes_are_asked_of_a_program_with_a_model_or_of_a_run() -> None:
    run = live.open(TWO_FIXES, hosts(1))
    assert (
        lines(run.fixes()) == lines(live.quick_fixes(run)) == ["1 lower(Host#1)", "1 raise(Host#1)"]
    )
    with pytest.raises(UsageError, match="another model"):
        live.quick_fixes(run, hosts(1))
    with pytest.raises(UsageError, match="a model is needed"):
        live.quick_fixes(TWO_FIXES)


def test_a_rule_can_ask_for_fixes_and_apply_the_best_one() -> None:
    asked = """
        queryEvent invalid(host: Host) as tooMuch(host) found
        queryEvent valid(host: Host) as tooMuch(host) lost
        queryEvent still(host: Host) as tooMuch(host) updated
        complexEvent tolerance(host: Host) { as invalid(host) -> still(host){2} }
        rule repair on tolerance(h) { call repair(h) }
    """

    def repair(run: live.Run, _: live.Object) -> None:
        run.fixes()[0].apply(run)

    model = live.Model(CPS)
    run = live.open(
        program(TOO_MUCH, asked + LOWER + "\n" + RAISE), model, functions={"repair": repair}
    )
    told: list[str] = []
    run.listeners.append(
        lambda entry: told.append(entry.event.type) if isinstance(entry, live.Happened) else None
    )
    with run.transaction(at=1) as change:
        host = change.create("Host", available=3)
    for at, available in enumerate((10, 11, 12), start=2):
        with run.transaction(at=at) as change:
            change.set(host, "available", available)
    assert told == ["invalid", "still", "still", "tolerance", "valid"]
    assert (host["available"], run.violations()) == (8, ())


def test_violations_come_and_go_as_events() -> None:
    events = """
        queryEvent invalid(host: Host) as tooMuch(host) found
        queryEvent still(host: Host) as tooMuch(host) updated
        queryEvent valid(host: Host) as tooMuch(host) lost
    """
    run = live.open(program(TOO_MUCH, events), live.Model(CPS))
    told: list[tuple[str, str]] = []

    def listen(entry: live.Entry) -> None:
        if isinstance(entry, live.Happened):
            [matched] = entry.causes
            assert isinstance(matched, live.Matched)
            assert matched.violation is not None
            told.append((entry.event.type, matched.violation.message))

    run.listeners.append(listen)
    with run.transaction(at=1) as change:
        host = change.create("Host", available=10)
    for at, available in enumerate((11, 5), start=2):
        with run.transaction(at=at) as change:
            change.set(host, "available", available)
    assert told == [
        ("invalid", "Host#1 has 10 of 8"),
        ("still", "Host#1 has 11 of 8"),
        ("valid", "Host#1 has 5 of 8"),
    ]


def test_a_program_is_needed() -> None:
    with pytest.raises(cep.UsageError, match="a program is needed, not str"):
        live.quick_fixes("fixes.vepl", hosts(1))  # type: ignore[arg-type]
