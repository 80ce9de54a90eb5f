"""Programs that live with a model: events of matches, rules, their order, their failures and causes."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid import live
from cepheid.core.time import MICROSECONDS
from cepheid.errors import InputError, ProgramError, RunError, error
from cepheid.lang.language import Text
from cepheid.live import Changed, Entry, Fired, Happened, Matched, Model, Outcome, Ran, Run
from tests.live.plants import PLANT

QUERIES = """
@Constraint(key = {host}, message = "$host.id$ has more than it has", severity = "error")
pattern tooMuch(host : Host) {
    Host.availableCpu(host, free);
    Host.totalCpu(host, total);
    check(free > total);
}
pattern idle(host : Host) { Host.load(host, load); check(load < 0.5); }
pattern busy(host : Host) { Host.load(host, load); check(load >= 0.5); }
"""
EVENTS = """
import-queries plant.queries
queryEvent invalid(host: Host) as tooMuch(host) found
queryEvent updated(host: Host) as tooMuch(host) updated
queryEvent valid(host: Host) as tooMuch(host) lost
queryEvent idleFound(host: Host) as idle(host) found
queryEvent idleLost(host: Host) as idle(host) lost
queryEvent busyFound(host: Host) as busy(host) found
queryEvent busyLost(host: Host) as busy(host) lost
atomicEvent told(host: Object, what: string)
"""


def program(vepl: str, epl: str = "") -> cep.Program:
    texts = [("p.vepl", EVENTS + vepl, "vepl"), ("q.vql", QUERIES, "vql"), ("e.epl", epl, "epl")]
    from cepheid.lang import LANGUAGES

    return cep.Program.of_texts([Text(file, text, LANGUAGES[name]) for file, text, name in texts])


def opened(vepl: str, epl: str = "", **options: object) -> Run:
    return live.open(program(vepl, epl), Model(PLANT), **options)  # type: ignore[arg-type]


def new_host(run: Run, at: float = 0, **values: object) -> live.Object:
    with run.transaction(at=at) as change:
        return change.create("Host", **values)


def events(run: Run) -> list[str]:
    return [e.event.type for e in run.entries if isinstance(e, Happened)]


def rules(entries: list[Entry]) -> list[tuple[str, str]]:
    return [(e.rule, e.outcome.value) for e in entries if isinstance(e, Fired)]


# Events of matches.


def test_found_lost_and_updated_matches_are_events() -> None:
    run = opened("")
    host = new_host(run, id="h", availableCpu=10)
    assert events(run) == ["invalid"]
    with run.transaction(at=1) as change:
        change.set(host, "availableCpu", 11)
    assert events(run) == ["updated"]
    with run.transaction(at=2) as change:
        change.set(host, "availableCpu", 1)
    assert events(run) == ["valid"]


def test_events_of_a_transaction_are_lost_then_found_then_updated_by_the_text_and_the_objects() -> (
    None
):
    run = opened("")
    with run.transaction(at=0) as change:
        a, b = (change.create("Host", id=name, load=0.1, availableCpu=9) for name in "ab")
    with run.transaction(at=1) as change:
        for one in (b, a):
            change.set(one, "load", 0.9)
    told = [(e.event.type, e.event["host"]) for e in run.entries if isinstance(e, Happened)]
    assert told == [
        ("idleLost", a.name),
        ("idleLost", b.name),
        ("busyFound", a.name),
        ("busyFound", b.name),
        ("updated", a.name),
        ("updated", b.name),
    ]


def test_elementary_changes_are_events() -> None:
    run = opened(
        "queryEvent made(host: Host) as Host(host) found\n"
        "queryEvent gone(host: Host) as Host(host) lost\n"
        "queryEvent before(host: Host, n: int) as Host.totalCpu(host, n) lost\n"
        "queryEvent after(host: Host, n: int) as Host.totalCpu(host, n) found\n"
    )
    host = new_host(run)
    assert events(run) == ["made", "after"]
    with run.transaction(at=1) as change:
        change.set(host, "totalCpu", 3)
    told = [(e.event.type, e.event["n"]) for e in run.entries if isinstance(e, Happened)]
    assert told == [("before", 8), ("after", 3)]
    with run.transaction(at=2) as change:
        change.delete(host)
    assert events(run) == ["gone", "before"]


def test_events_from_outside_and_epl_statements_take_part() -> None:
    run = opened(
        "atomicEvent Pair(host: Host)\nrule note on Pair(host) { set host.totalCpu = 99 }",
        "insert into Pair select a.host as host from pattern [every a=invalid -> b=told];",
    )
    host = new_host(run, id="h", availableCpu=10)
    run.send("told", {"host": host, "what": "x"}, at=1)
    assert events(run) == ["told", "Pair", "valid"]
    assert host["totalCpu"] == 99


# Rules.


def test_a_rule_changes_the_model_and_what_follows_happens() -> None:
    run = opened("rule fix on invalid(h) { set h.availableCpu = h.totalCpu }")
    host = new_host(run, availableCpu=10)
    assert host["availableCpu"] == 8
    assert events(run) == ["invalid", "valid"]
    assert not run.violations()


def test_rules_are_done_by_priority_then_cause_then_text() -> None:
    run = opened(
        "rule one on invalid(h), idleFound(h) { emit told(h, 'one') }\n"
        "rule two on invalid(h), idleFound(h) { emit told(h, 'two') }\n"
        "@Priority(1) rule first on idleFound(h) { emit told(h, 'first') }\n"
        "@Priority(-1) rule last on invalid(h) { emit told(h, 'last') }\n"
    )
    new_host(run, availableCpu=10, load=0.1)
    assert [name for name, _ in rules(run.entries)] == ["first", "one", "two", "one", "two", "last"]
    causes = [e.event.type for e in run.entries if isinstance(e, Fired)]
    assert causes == ["idleFound", "invalid", "invalid", "idleFound", "idleFound", "invalid"]


def test_a_rule_on_a_complex_event_is_done_when_that_happens() -> None:
    run = opened(
        "complexEvent tolerance(host: Host) { as invalid(host) -> updated(host){2} }\n"
        "rule limit on tolerance(h) { set h.availableCpu = 0  emit told(h, h.id || '!') }\n"
    )
    host = new_host(run, id="h", availableCpu=10)
    for n in (11, 12):
        assert not rules(run.entries)
        with run.transaction(at=n) as change:
            change.set(host, "availableCpu", n)
    assert rules(run.entries) == [("limit", "done")]
    [told] = [e.event for e in run.entries if isinstance(e, Happened) and e.event.type == "told"]
    assert (told["host"], told["what"]) == (host.name, "h!")


def test_what_a_body_does_is_one_transaction() -> None:
    run = opened(
        "rule grow on invalid(h) {\n"
        "    create Host as twin { id = h.id || '2', totalCpu = h.availableCpu }\n"
        "    set h.tags += 'seen'\n"
        "    if h.id = 'a' { delete twin } else if h.id is null { set h.id = 'none' }\n"
        "    else { set twin.availableCpu = 1 }\n"
        "    set h.availableCpu = 0\n"
        "}"
    )
    for name in ("a", "b", None):
        new_host(run, at=1, id=name, availableCpu=10)
    known = [
        (h["id"], h["availableCpu"], h["totalCpu"], h["tags"]) for h in run.model.objects("Host")
    ]
    assert known == [
        ("a", 0, 8, ("seen",)),
        ("b", 0, 8, ("seen",)),
        ("b2", 1, 10, ()),
        ("none", 0, 8, ("seen",)),
        (None, None, 10, ()),
    ]


def test_objects_are_made_in_containers_and_moved() -> None:
    run = opened(
        "queryEvent plant(p: Plant) as Plant(p) found\n"
        "queryEvent main(p: Plant, h: Host) as Plant.main(p, h) found\n"
        "rule fill on plant(p) { create Host as h in p.main { id = 'm' } }\n"
        "rule leave on main(p, h) { move h to p.hosts }\n"
    )
    with run.transaction(at=0) as change:
        plant = change.create("Plant", id="p")
    assert plant["main"] is None
    hosts = plant["hosts"]
    assert isinstance(hosts, tuple)
    assert [host["id"] for host in hosts if isinstance(host, live.Object)] == ["m"]


def test_a_rule_whose_match_is_gone_is_withdrawn() -> None:
    run = opened(
        "rule one on invalid(h) { set h.availableCpu = 0 }\n"
        "rule two on invalid(h) { set h.availableCpu = 1 }\n"
    )
    host = new_host(run, availableCpu=10)
    assert host["availableCpu"] == 0
    assert rules(run.entries) == [("one", "done"), ("two", "withdrawn")]


def test_the_last_values_of_an_object_that_was_deleted_can_be_read() -> None:
    run = opened(
        "queryEvent gone(host: Host) as Host(host) lost\n"
        "rule mourn on gone(h) { emit told(h, h.id) }\n"
    )
    host = new_host(run, id="web")
    with run.transaction(at=1) as change:
        change.delete(host)
    assert events(run) == ["gone", "told"]
    assert [e.event.get("what") for e in run.entries if isinstance(e, Happened)][1:] == ["web"]


def test_functions_get_the_run_and_what_the_rule_gives_them() -> None:
    seen: list[object] = []

    def note(run: Run, host: live.Object, free: int) -> None:
        seen.append((host["id"], free, host["totalCpu"]))
        with run.transaction() as change:
            change.set(host, "availableCpu", 0)

    run = opened(
        "rule ask on invalid(h) { set h.totalCpu = 9  call note(h, h.availableCpu) }",
        functions={"note": note},
    )
    host = new_host(run, id="h", availableCpu=10)
    assert seen == [("h", 10, 9)]
    assert host["availableCpu"] == 0
    changed = [e for e in run.entries if isinstance(e, Changed)]
    assert [type(e.causes[0]) if e.causes else None for e in changed] == [None, Fired, Ran]


# Time.


def test_rules_of_windows_are_done_when_the_window_ends_before_what_comes_later() -> None:
    run = opened(
        "complexEvent late(host: Host) { as (invalid(host) -> NOT valid(host))[within 5 seconds] }\n"
        "rule mend on late(h) { set h.availableCpu = 0 }\n"
    )
    host = new_host(run, at=1, availableCpu=10)
    with run.transaction(at=60) as change:
        assert host["availableCpu"] == 0
        change.set(host, "availableCpu", 3)
    assert run.clock == 60 * MICROSECONDS["seconds"]


def test_a_window_ends_at_its_own_time() -> None:
    run = opened(
        "complexEvent late(host: Host) { as (invalid(host) -> NOT valid(host))[within 5 seconds] }\n"
        "rule mend on late(h) { set h.availableCpu = 0 }\n"
    )
    seen: list[tuple[str, float]] = []
    run.listeners.append(lambda e: seen.append((type(e).__name__, e.instant / 1_000_000)))
    new_host(run, at=1, availableCpu=10)
    seen.clear()
    run.advance(60)
    assert seen == [(n, 6) for n in ("Happened", "Fired", "Changed", "Matched", "Happened")]


def test_the_time_never_goes_back() -> None:
    run = opened("")
    new_host(run, at=5)
    with pytest.raises(cep.LateEvent), run.transaction(at=4):
        pass


def test_a_function_acts_at_the_time_of_its_rule() -> None:
    def act(run: Run) -> None:
        with run.transaction(at=9):
            pass

    run = opened("rule r on idleFound(h) { call act() }", functions={"act": act})
    with pytest.raises(RunError, match="a function acts at the time of its rule"):
        new_host(run, load=0)


# What goes wrong.


def test_an_action_that_fails_is_rolled_back_and_others_go_on() -> None:
    run = opened(
        "rule broken on invalid(h) { set h.totalCpu = 99  set h.state = 'side' || 'ways' }\n"
        "rule good on invalid(h) { set h.availableCpu = 1 }\n"
    )
    with pytest.raises(RunError) as failed:
        new_host(run, id="h", availableCpu=10)
    [problem] = failed.value.diagnostics
    assert problem.code == "bad-value"
    assert problem.message.startswith("rule 'broken' on invalid: ")
    assert problem.span is not None
    [host] = run.model.objects("Host")
    assert (host["totalCpu"], host["availableCpu"]) == (8, 1)
    assert rules(run.entries) == [("broken", "failed"), ("good", "done")]


def test_failures_can_be_skipped() -> None:
    run = opened("rule broken on invalid(h) { set h.state = 'side' || 'ways' }", on_error="skip")
    new_host(run, availableCpu=10)
    assert [problem.code for problem in run.failures] == ["bad-value"]


@pytest.mark.parametrize("raised", [ValueError("no"), InputError(error("bad-value", "no"))])
def test_a_function_that_raises_undoes_its_rule(raised: Exception) -> None:
    def fail(run: Run) -> None:
        raise raised

    run = opened(
        "rule ask on invalid(h) { set h.totalCpu = 99  call fail() }", functions={"fail": fail}
    )
    with pytest.raises(RunError, match=r"rule 'ask' on invalid: .*no"):
        new_host(run, availableCpu=10)
    [host] = run.model.objects("Host")
    assert host["totalCpu"] == 8
    assert events(run) == ["invalid"]
    assert [v.match.row for v in run.violations()] == [(host,)]


def test_what_a_function_changed_before_it_raised_stays_and_is_told() -> None:
    def fail(run: Run, host: live.Object) -> None:
        with run.transaction() as change:
            change.set(host, "availableCpu", 0)
        raise ValueError("no")

    run = opened(
        "rule ask on invalid(h) { set h.totalCpu = 9  call fail(h) }", functions={"fail": fail}
    )
    with pytest.raises(RunError):
        new_host(run, availableCpu=10)
    [host] = run.model.objects("Host")
    assert (host["totalCpu"], host["availableCpu"]) == (9, 0)
    assert events(run) == ["invalid", "updated", "valid"]


def test_what_there_is_when_a_run_begins_is_found() -> None:
    model = Model(PLANT)
    with model.transaction() as change:
        host = change.create("Host", availableCpu=10)
    run = live.open(program("rule mend on invalid(h) { set h.availableCpu = 0 }"), model)
    with model.transaction() as change:  # past the run
        change.set(host, "availableCpu", 11)
    run.advance(5)
    assert events(run) == ["invalid", "valid"]
    assert host["availableCpu"] == 0
    run.advance(6)
    assert not run.entries
    with model.transaction() as change:
        change.set(host, "availableCpu", 12)
    run.advance(7)
    assert events(run) == ["invalid", "valid"]


@pytest.mark.parametrize(
    ("text", "cycle"),
    [
        (
            "rule up on updated(h), invalid(h) { set h.availableCpu = h.availableCpu + 1 }",
            "up -> up",
        ),
        (
            "rule ping on idleFound(h) { set h.load = 1.0 }\n"
            "rule pong on busyFound(h) { set h.load = 0.0 }",
            "pong -> ping -> pong",
        ),
        (
            "rule echo on told(h, w) { emit told(h, w) }\nrule a on idleFound(h) { emit told(h, '') }",
            "echo -> echo",
        ),
    ],
)
def test_rules_that_never_settle_are_named(text: str, cycle: str) -> None:
    run = opened(text, limit=20)
    done: list[int] = []
    run.model.listeners.append(lambda commit: done.append(commit.number))
    with pytest.raises(RunError) as ended:
        new_host(run, availableCpu=10, load=0.0)
    [problem] = ended.value.diagnostics
    assert problem.code == "never-settles"
    assert f"rules never settle: {cycle}, and so on for 21 rules" in problem.message
    # What was committed is in the log, and the run goes on.
    told = [e.commit.number for e in run.entries if isinstance(e, Changed)]
    assert told == (done if "set" in text else done[:1])
    run.advance(1)


def test_rules_that_lead_to_more_and_more_others_end_too() -> None:
    text = "rule {} on told(h, w) {{ emit told(h, w)  emit told(h, w) }}"
    run = opened(f"{text.format('a')}\n{text.format('b')}", limit=20)
    with pytest.raises(RunError, match="rules never settle: "):
        run.send("told", {}, at=0)


def test_a_transaction_that_raises_leaves_nothing_and_tells_nothing() -> None:
    run = opened("")
    with pytest.raises(InputError):
        new_host(run, availableCpu=10, totalCpu="many")
    assert not run.entries
    assert not len(run.model)


def test_an_event_that_cannot_be_is_refused() -> None:
    run = opened("")
    with pytest.raises(InputError, match="no event type 'tild'"):
        run.send("tild", {})


@pytest.mark.parametrize(
    ("text", "code", "fact"),
    [
        ("rule r on nothing(h) { }", "unknown-type", "no event 'nothing'"),
        ("rule r on invalid(h, k) { }", "wrong-arguments", "invalid has 1 parameter, not 2"),
        ("rule r on invalid(h) { set k.load = 1 }", "unknown-name", "'k' is not known here"),
        (
            "rule r on invalid(h), told(h, w) { emit told(h, w) }",
            "unknown-name",
            "'w' is not known",
        ),
        ("rule r on invalid(h) { set h.lod = 1.0 }", "unknown-feature", "no feature 'lod' in Host"),
        ("rule r on invalid(h) { set h.load = 'x' }", "type-mismatch", "'h.load' is double"),
        ("rule r on invalid(h) { set h.tags = 'x' }", "type-mismatch", "has many values"),
        ("rule r on invalid(h) { set h.load += 1.0 }", "type-mismatch", "has one value"),
        ("rule r on invalid(h) { set h.load = h }", "type-mismatch", "this is an object of Host"),
        ("rule r on invalid(h) { create Hst }", "unknown-class", "no class 'Hst'"),
        ("rule r on invalid(h) { create Named }", "bad-change", "'Named' is abstract"),
        ("rule r on invalid(h) { create Host { lod = 1 } }", "unknown-feature", "no feature 'lod'"),
        (
            "rule r on invalid(h) { create Host as h }",
            "duplicate-name",
            "'h' has a meaning already",
        ),
        ("rule r on invalid(h) { move h to h.load }", "bad-change", "contains nothing"),
        (
            "rule r on invalid(h) { delete h.load }",
            "type-mismatch",
            "'h.load' is double, not an object",
        ),
        ("rule r on invalid(h) { if h.load { } }", "type-mismatch", ""),
        ("rule r on invalid(h) { call f(h) }", "unknown-function", "no function 'f' is registered"),
        ("rule r on invalid(h) { emit invalid(h) }", "unsupported", "'invalid' happens by itself"),
        ("rule r on told(h, w) { emit told(w, w) }", "type-mismatch", "'host' of told is Object"),
        ("rule r on told(h, w) { emit told(h, 3) }", "type-mismatch", "'what' of told is string"),
        ("rule r on invalid(h) { set h.state = 'sideways' }", "bad-value", "'h.state' cannot be"),
        (
            "rule r on invalid(h) { emit told(h) }",
            "wrong-arguments",
            "told has 2 parameters, not 1",
        ),
        ("rule r on invalid(h) { }\nrule r on valid(h) { }", "duplicate-name", "rule 'r'"),
        ("@Priority('x') rule r on invalid(h) { }", "bad-annotation", "@Priority"),
        ("@Cost(-1) fix f on tooMuch(h) { set h.load = 1.0 }", "bad-annotation", "@Cost"),
        ("fix f on tooMuch(h) { emit told(h, '') }", "unsupported", "a fix changes the model"),
        ("fix f on tooMch(h) { }", "unknown-query", "no pattern 'tooMch'"),
        ("queryEvent q(h: Host) as tooMch(h) found", "unknown-query", "no pattern 'tooMch'"),
        ("queryEvent q(h: Host) as Hst(h) found", "unknown-query", "no pattern, class or feature"),
        ("queryEvent q(h: Host) as tooMuch(h, _) found", "wrong-arguments", "1 parameter, not 2"),
        ("queryEvent q(h: Host) as tooMuch(_) found", "unbound-tag", "gives 'h' of q its value"),
        ("queryEvent q(h: Host) as tooMuch(k) found", "unknown-name", "'k' is no parameter of q"),
        ("queryEvent q(h: int) as tooMuch(h) found", "type-mismatch", "'h' of q is int"),
        ("queryEvent q(h: Plant) as tooMuch(h) found", "type-mismatch", "'h' of q is Plant"),
        ("queryEvent q(h: Hosst) as tooMuch(h) found", "unknown-class", "no class 'Hosst'"),
        ("queryEvent q(n: int) as Host.load(_, n) found", "type-mismatch", "'n' of q is int"),
    ],
)
def test_what_is_wrong_has_a_code_a_place_and_a_fact(text: str, code: str, fact: str) -> None:
    with pytest.raises(ProgramError) as refused:
        opened(text)
    found = {(p.code, fact in p.message, p.span is not None) for p in refused.value.diagnostics}
    assert (code, True, True) in found


def test_a_run_is_not_begun_inside_of_itself() -> None:
    def send(run: Run) -> None:
        run.send("told", {})

    run = opened("rule ask on invalid(h) { call send() }", functions={"send": send})
    with pytest.raises(RunError, match="a turn is going on"):
        new_host(run, availableCpu=10)


# Causes.


def test_causes_lead_from_any_change_to_the_first_one() -> None:
    run = opened(
        "complexEvent tolerance(host: Host) { as invalid(host) -> updated(host){2} }\n"
        "rule limit on tolerance(h) { set h.availableCpu = 0 }\n",
        why=True,
    )
    all_entries: list[Entry] = []
    run.listeners.append(all_entries.append)
    host = new_host(run, id="h", availableCpu=10)
    for n in (11, 12):
        with run.transaction(at=n) as change:
            change.set(host, "availableCpu", n)
    last = all_entries[-1]
    assert isinstance(last, Happened)
    assert last.event.type == "valid"
    kinds = [type(entry).__name__ for _, entry in live.behind(last)]
    chain = ["Matched", "Changed", "Fired", "Happened"]
    assert kinds == [*chain, *(["Happened", "Matched", "Changed"] * 3)]
    assert {e.number for _, e in live.behind(last)} == set(range(1, last.number)) - {
        e.number for e in all_entries if e is last
    }


def test_matches_tell_what_is_wrong() -> None:
    run = opened("")
    new_host(run, id="web", availableCpu=10)
    [matched] = [e for e in run.entries if isinstance(e, Matched)]
    assert matched.violation is not None
    assert matched.violation.message == "web has more than it has"


def test_a_commit_can_be_undone_and_that_is_a_turn() -> None:
    run = opened("")
    with run.transaction(at=0) as change:
        change.create("Host", availableCpu=10)
    assert change.commit is not None
    run.revert(change.commit)
    assert events(run) == ["valid"]
    assert not len(run.model)


def test_outcomes_have_words() -> None:
    assert [o.value for o in Outcome] == ["done", "withdrawn", "failed", "undone"]
