"""Corners of live runs: failures, functions, limits, first turns, and events that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cepheid as cep
from cepheid import live
from cepheid.errors import InputError, RunError, UsageError
from cepheid.io import Record
from cepheid.lang import LANGUAGES
from cepheid.lang.language import Text
from cepheid.live import Changed, Matched, Model
from cepheid.live.change_files import ChangeReader
from cepheid.live.run import Run
from tests.live.plants import PLANT
from tests.live.test_run import EVENTS, QUERIES, events, new_host, opened


def test_what_a_user_changes_after_a_function_was_called_has_no_cause() -> None:
    run = opened("rule r on invalid(h) { call f(h) }", functions={"f": lambda *_: None})
    host = new_host(run, id="h", availableCpu=10)
    with run.transaction(at=1) as change:
        change.set(host, "id", "other")
    assert [e.causes for e in run.entries if isinstance(e, Changed)] == [()]


def test_the_limit_counts_for_each_rule_that_no_other_led_to() -> None:
    run = opened("rule r on invalid(h) { emit told(h, 'x') }\nrule s on told(h, w) { }", limit=1)
    with run.transaction(at=0) as change:
        for _ in range(3):
            change.create("Host", availableCpu=10)
    assert events(run).count("told") == 3


def test_events_of_one_change_come_in_the_order_of_the_text_first() -> None:
    run = opened("queryEvent again(host: Host) as tooMuch(host) found")
    with run.transaction(at=0) as change:
        for _ in range(2):
            change.create("Host", availableCpu=10)
    assert events(run) == ["invalid", "invalid", "again", "again"]


def test_failures_of_all_turns_are_kept_each_with_its_rule() -> None:
    run = opened("rule bad on told(h, w) { set h.state = w }", on_error="skip")
    host = new_host(run, id="h")
    for at in (1, 2):
        run.send("told", {"host": host, "what": "odd"}, at)
    assert len(run.failures) == 2
    assert all("rule 'bad'" in one.message for one in run.failures)


def test_a_function_cannot_let_time_pass() -> None:
    run = opened(
        "rule r on invalid(h) { call f(h) }", functions={"f": lambda run, _: run.advance(9)}
    )
    with pytest.raises(RunError, match="a turn is going on"):
        new_host(run, availableCpu=10)


def test_matches_that_a_rule_which_failed_leaves_behind_are_told() -> None:
    queries = QUERIES + (
        "pattern high(host : Host) { Host(host); check(moving_avg(host.load, 3) > 2); }"
    )
    vepl = EVENTS + (
        "queryEvent highFound(host: Host) as high(host) found\n"
        "rule s on told(h, w) { set h.load = 100  call f(h) }"
    )
    texts = [("p.vepl", vepl, "vepl"), ("q.vql", queries, "vql")]
    written = cep.Program.of_texts([Text(f, t, LANGUAGES[n]) for f, t, n in texts])

    def f(run: Run, host: object) -> None:
        raise ValueError

    run = live.open(written, Model(PLANT), functions={"f": f}, on_error="skip")
    host = new_host(run, load=1.0)
    run.send("told", {"host": host, "what": "x"}, 1)
    told = [e.match for e in run.entries if isinstance(e, Matched)]
    assert list(run.matcher.matches("high")) == told


def test_a_name_is_free_again_where_bounds_end_its_transaction() -> None:
    kind = live.Class("H", (live.Attribute("id", live.STRING, lower=1),))
    model = Model(live.Metamodel("m", (kind,)))
    reader = ChangeReader(live.open(cep.parse("atomicEvent told(what: string)", "vepl"), model))
    with pytest.raises(InputError):
        reader.feed(Record(None, 1, {"changes": [{"create": "H", "as": "h"}]}, None))
    step = {"create": "H", "as": "h", "values": {"id": "x"}}
    reader.feed(Record(None, 2, {"changes": [step]}, None))
    assert len(model) == 1


def test_timers_of_the_first_turn_are_turns_too() -> None:
    run = opened(
        "atomicEvent tick(n: int)\natomicEvent tock(n: int)\nrule r on tick(n) { emit tock(n) }",
        "insert into tick select 1 as n from pattern [every timer:interval(1 sec)];",
        start=0,
    )
    run.advance(2)
    assert events(run) == ["tick", "tock", "tick", "tock"]


def test_an_event_that_cannot_be_undoes_the_rule_that_tells_it() -> None:
    run = opened(
        "atomicEvent counted(n: int)\n"
        "rule r on told(h, w) { set h.totalCpu = 77  emit counted(length(w) * 3000000000) }",
        on_error="skip",
    )
    host = new_host(run, id="h")
    run.send("told", {"host": host, "what": "x"}, 1)
    assert host["totalCpu"] == 8
    assert [problem.code for problem in run.failures] == ["bad-value"]


def test_rules_do_not_hear_of_events_that_fail_their_check() -> None:
    run = opened(
        "atomicEvent sized(n: int) { check n > 0 }\nrule r on sized(n) { create Host { totalCpu = n } }"
    )
    for n in (0, 3, None):
        run.send("sized", {"n": n}, 1)
    assert [host["totalCpu"] for host in run.model.objects("Host")] == [3]


def test_a_parameter_with_a_class_takes_objects_of_it_only() -> None:
    run = opened("atomicEvent on(host: Host)\nrule r on told(h, w) { emit on(h) }", on_error="skip")
    with run.transaction(at=0) as change:
        host, plant = change.create("Server", id="h"), change.create("Plant", id="p")
    run.send("on", {"host": host.name})
    run.send("on", {"host": None})
    for wrong, code in ((plant, "bad-value"), ("Host#99", "unknown-object"), (3, "unknown-object")):
        with pytest.raises(InputError) as refused:
            run.send("on", {"host": wrong})
        assert refused.value.diagnostics[0].code == code
    run.send("told", {"host": plant, "what": "x"})
    assert [problem.code for problem in run.failures] == ["bad-value"]


@pytest.mark.parametrize("type", ["invalid", "many"])
def test_what_happens_by_itself_cannot_come_from_outside(type: str) -> None:
    run = opened("complexEvent many() { as invalid{2} }")
    with pytest.raises(InputError, match="happens by itself"):
        run.send(type, {})


def test_nothing_happens_while_a_transaction_is_open() -> None:
    run = opened("")
    with run.transaction(at=0):
        with pytest.raises(UsageError, match="another transaction is open"):
            run.send("told", {})
        with pytest.raises(UsageError, match="another transaction is open"):
            run.advance(3)


def test_failures_before_rules_never_settle_are_kept() -> None:
    run = opened(
        "rule bad on told(h, w) { set h.state = w }\nrule echo on told(h, w) { emit told(h, w) }",
        on_error="skip",
        limit=5,
    )
    host = new_host(run, id="h")
    with pytest.raises(RunError, match="never settle"):
        run.send("told", {"host": host, "what": "odd"}, 1)
    assert run.failures
    run.advance(2)
    assert not run.entries


@pytest.mark.parametrize(
    "wrong",
    [
        lambda change, _: change.set("Host#1", "id", "x"),
        lambda change, host: change.set(host, None, "x"),
        lambda change, host: change.set(host, ["id"], "x"),
        lambda change, _: change.add(None, "tags", "x"),
        lambda change, host: change.move(host, "Plant#1", "hosts"),
        lambda change, _: change.create(None),
        lambda change, _: change.delete("x"),
    ],
)
def test_what_is_no_object_class_or_feature_is_refused(wrong: Callable[..., object]) -> None:
    run = opened("")
    host = new_host(run, id="h")
    with pytest.raises(cep.CepheidError), run.transaction() as change:
        wrong(change, host)
    assert host["id"] == "h"


@pytest.mark.parametrize("given", [{"@type": "told"}, None, cep.Event("told", 0, {})])
def test_an_event_is_sent_by_its_type(given: Any) -> None:
    with pytest.raises(InputError, match="the name of its type"):
        opened("").send(given)


@pytest.mark.parametrize("options", [{"functions": [print]}, {"limit": "x"}])
def test_a_run_is_opened_with_what_makes_sense(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        opened("", **options)


def test_a_rule_is_undone_also_where_its_function_has_undone_what_it_did_itself() -> None:
    def try_out(run: Run, host: live.Object) -> None:
        with run.transaction() as change:
            change.set(host, "availableCpu", 0)
        assert change.commit is not None
        run.model.revert(change.commit)
        raise ValueError("no")

    run = opened(
        "rule r on invalid(h) { set h.totalCpu = 9  call try_out(h) }",
        functions={"try_out": try_out},
        on_error="skip",
    )
    host = new_host(run, availableCpu=10)
    assert (host["totalCpu"], host["availableCpu"]) == (8, 10)
    assert events(run) == ["invalid"]
    assert len([entry for entry in run.entries if isinstance(entry, Changed)]) == 1


def test_a_program_that_comes_from_no_text_tells_of_the_same_matches() -> None:
    texts = [("p.vepl", EVENTS, "vepl"), ("q.vql", QUERIES, "vql")]
    written = cep.Program.of_texts([Text(f, t, LANGUAGES[n]) for f, t, n in texts])
    told = []
    for program in (written, cep.Program.from_json(written.to_json())):
        run = live.open(program, Model(PLANT))
        new_host(run, availableCpu=10, load=0.1)
        told.append([e.match.query for e in run.entries if isinstance(e, Matched)])
    assert told == [["tooMuch", "idle"]] * 2


def test_a_rule_cannot_make_the_rows_of_a_statement_happen() -> None:
    with pytest.raises(cep.ProgramError, match="'Big' happens by itself"):
        opened("rule r on told(h, w) { emit Big(w) }", "@Name('Big') select what as w from told;")
