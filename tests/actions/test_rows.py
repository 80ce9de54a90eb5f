"""Rows that become actions: those that runs print, those of `@Action`, and calls of rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cepheid as cep
from cepheid import actions
from cepheid.actions import Action
from cepheid.core.templates import UnknownPlace, template
from cepheid.errors import InputError
from tests.actions.clocks import some

ROW = {
    "@type": "post",
    "@time": "1970-01-01T00:01:00Z",
    "@cause": {"@type": "Flight", "flightNo": "LH1"},
    "p1": "late",
}


def test_the_row_of_an_action_and_back() -> None:
    action = actions.action_of_row({**ROW, "@key": "k"})
    assert action == Action("post", 60_000_000, "k", ROW["@cause"], {"p1": "late"})  # type: ignore[arg-type]
    assert list(action.row()) == ["@type", "@time", "@key", "@cause", "p1"]
    assert actions.action_of_row(action.row()) == action


def test_a_row_without_a_key_has_one_that_only_it_has() -> None:
    keys = [action.key for action in actions.actions_of_rows([ROW, {**ROW, "p1": "x"}, ROW])]
    assert len(set(keys)) == 3
    assert [action.key for action in actions.actions_of_rows([ROW])] == keys[:1]
    more = {**ROW, "p2": 2}
    turned = dict(reversed(more.items()))
    assert actions.action_of_row(turned).key == actions.action_of_row(more).key != keys[0]
    assert keys[0].startswith("post/1970-01-01T00:01:00Z/")
    other = {**ROW, "@time": "1970-01-01T00:02:00Z"}
    assert len({a.key for a in actions.actions_of_rows([ROW, other, {**other, "@type": "q"}])}) == 3


def test_a_key_does_not_depend_on_what_came_earlier() -> None:
    later = {**ROW, "@time": "1970-01-01T00:02:00Z"}
    (*_, after) = actions.actions_of_rows([ROW, ROW, later])
    assert after == actions.action_of_row(later)


def test_keys_are_plain_texts_that_tell_parts_apart() -> None:
    key = actions.reaction_key(60_000_000, "Flight", ("LH/1", 7, "ä b"), 2)
    assert key.isascii()
    assert " " not in key
    assert key.startswith("1970-01-01T00:01:00Z/Flight/")
    parts = [("a", "b"), ("a/b",), ("a", "b", 0), ("a", 0), ("a", "0 "), ("a", "0+"), (("a", 0),)]
    assert len({actions.key_of(*each) for each in parts}) == len(parts)
    assert actions.reaction_key(0, "C", ("x",), 1) != actions.reaction_key(0, "C", ("x",), 2)


@pytest.mark.parametrize(
    ("row", "fact"),
    [
        ({"@time": 0}, "a row without '@type' is no action"),
        ({"@type": "", "@time": 0}, "an action has a name"),
        ({"@type": "a"}, "an action of 'a' without '@time'"),
        ({"@type": "a", "@time": "today"}, "'today' is not an ISO 8601 time"),
        ({"@type": "a", "@time": 0, "@cause": 7}, "is an object, not 7"),
        ({"@type": "a", "@time": 0, "@key": 7}, "is a text, not 7"),
        ({"@type": "a", "@time": 0, "@old": True}, "an action has no '@old'"),
        ({"@type": "a", "@time": 0, "@cuase": {}}, "did you mean '@cause'?"),
        ({"@type": "a", "@time": 0, "p1": float("nan")}, "JSON"),
    ],
)
def test_rows_that_are_no_actions(row: dict[str, object], fact: str) -> None:
    with pytest.raises(InputError) as refused:
        actions.action_of_row(row)
    (problem,) = refused.value.diagnostics
    assert problem.code == "bad-action"
    assert fact in problem.message


def test_rows_are_put_into_an_outbox_as_they_are_printed(tmp_path: Path) -> None:
    assert actions.enqueue([ROW, ROW], tmp_path) == actions.Enqueued(2, 0)
    assert actions.enqueue([ROW, ROW, *some("a")], tmp_path) == actions.Enqueued(1, 2)


# -- templates --


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{a} and {b.c}", "1 and x"),
        ("{{a}} {{{a}}}", "{a} {1}"),
        ("{b}{n}{t}{f}", '{"c": "x"}nulltrue1.5'),
        ("{n.c.d}", "null"),
        ("", ""),
    ],
)
def test_templates(text: str, shown: str) -> None:
    names = {"a": 1, "b": {"c": "x"}, "n": None, "t": True, "f": 1.5}
    assert template(text).text(names) == shown


def test_a_place_alone_is_its_value() -> None:
    assert template("{a}").value({"a": 1.5}) == 1.5
    assert template("{a}!").value({"a": 1.5}) == "1.5!"
    with pytest.raises(UnknownPlace, match=r"nothing for {a\.c}; there are: b"):
        template("{a.c}").text({"a": {"b": 1}})


# -- statements --

SCHEMA = "create schema T (room string, v int, n double);\n"
FIRES = (
    SCHEMA
    + """\
@Name('Fire') @Action('mail', to={'a@b.c', '{cause.room}@b.c'}, subject='{cause.room}: {p2}', urgent=true)
@action(kind='post')
insert into Alarm select room, v from T(v > 5);
@Name('Cold') @Action insert into Low select room from T(v < 0);
@Name('Other') insert into Rest select room from T;
"""
)


def events(*values: int) -> list[dict[str, object]]:
    return [{"@type": "T", "@time": n, "room": "R", "v": v} for n, v in enumerate(values)]


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_rows_of_statements_with_an_action_become_actions(engine: str) -> None:
    program = cep.parse(FIRES)
    found = list(actions.actions_of(program, cep.run(program, events(9, 3, -1), engine=engine)))
    mail, post, low = found
    cause = {"@type": "Alarm", "room": "R", "v": 9}
    assert (mail.name, mail.instant, mail.cause) == ("mail", 0, cause)
    assert mail.arguments == {
        "p1": "R",
        "p2": 9,
        "to": ["a@b.c", "R@b.c"],
        "subject": "R: 9",
        "urgent": True,
    }
    assert (post.name, post.cause, post.arguments) == ("post", cause, {"p1": "R", "p2": 9})
    assert (low.name, low.instant, low.arguments) == ("Low", 2_000_000, {"p1": "R"})


def test_keys_are_the_same_on_all_engines_and_differ_for_equal_rows() -> None:
    program = cep.parse(FIRES)
    twice = [event for event in events(9, 8) for _ in range(2)]
    keys = [
        [
            action.key
            for action in actions.actions_of(program, cep.run(program, twice, engine=engine))
        ]
        for engine in ("local", "reference")
    ]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == len(keys[0]) == 8
    one_by_one = actions.RowActions(program)
    rows = cep.run(program, twice)
    assert [action.key for row in rows for action in one_by_one.of(row)] == keys[0]


def test_rows_that_leave_are_no_actions() -> None:
    program = cep.parse(SCHEMA + "@Action('a') select irstream v from T#length(1);")
    rows = cep.run(program, events(1, 2))
    assert [row.is_old for row in rows] == [False, False, True]
    assert [action.arguments for action in actions.actions_of(program, rows)] == [
        {"p1": 1},
        {"p1": 2},
    ]


def test_rows_that_are_actions_already_stay_what_they_are() -> None:
    values = {"@cause": {"@type": "Flight", "id": 7}, "p1": "late", "@key": "k"}
    row = cep.Event("post", 0, values)  # type: ignore[arg-type]
    (action,) = actions.actions_of(cep.parse(SCHEMA), [row])
    assert action == Action("post", 0, "k", {"@type": "Flight", "id": 7}, {"p1": "late"})


@pytest.mark.parametrize(
    ("annotation", "fact"),
    [
        ("@Action(5)", "the name of an @Action is a text"),
        ("@Action(kind='')", "the name of an @Action is a text"),
        ("@Action('a', 'b')", "@Action has one name"),
        ("@Action('a', kind='b')", "@Action has one name"),
        ("@Action('a', x='{cause.rom}')", "'x' of @Action: nothing for {cause.rom}"),
        ("@Action('a', x={'a', '{p4}'})", "'x' of @Action: nothing for {p4}"),
        ("@Action('a', x='}')", "'x' of @Action: a '}' stands alone"),
        ("@Action('a', time='x')", "'time' of an @Action has a meaning already"),
        ("@Action('a', x=1, x=2)", "@Action has 'x' twice"),
    ],
)
def test_actions_that_make_no_sense(annotation: str, fact: str) -> None:
    findings = cep.parse(f"{SCHEMA}{annotation} select * from T").check(without=["races"])
    (problem,) = [f for f in findings if f.code == "bad-annotation"]
    assert problem.message.startswith(fact)
    assert problem.severity is cep.Severity.ERROR
    assert problem.span is not None
    assert (problem.span.line, problem.span.column) == (2, 1)


@pytest.mark.parametrize(
    "annotation",
    [
        "@Action",
        "@Action()",
        "@ACTION('anything')",
        "@Action('a', x='{cause.room} {cause.@type} {p3} {time} {key} {action} {cause.room.x}', y=null)",
    ],
)
def test_actions_that_make_sense(annotation: str) -> None:
    findings = cep.parse(f"{SCHEMA}{annotation} select * from T").check(without=["races"])
    assert not [f for f in findings if f.code == "bad-annotation"]


def test_columns_that_only_events_tell_are_looked_at_when_they_come() -> None:
    program = cep.parse("@Action('a', x='{cause.room}{cause.q}') select * from Unknown")
    assert not [f for f in program.check() if f.code == "bad-annotation"]
    event = {"@type": "Unknown", "@time": 0, "room": "R"}
    with pytest.raises(cep.CepheidError, match=r"nothing for {cause\.q}"):
        list(actions.actions_of(program, cep.run(program, [event])))


def test_an_action_of_something_without_rows_has_no_effect() -> None:
    findings = cep.parse(f"@Action('a') {SCHEMA} select * from T").check(without=["races"])
    (problem,) = [f for f in findings if f.code == "bad-annotation"]
    assert problem.severity is cep.Severity.WARNING
    assert "no effect on 'T'" in problem.message


# -- rules --

VEPL = """
import-queries q
queryEvent invalid(host: Host) as wrong(host) found
rule tell on invalid(h) { call notify(h, h.free) }
"""
VQL = "pattern wrong(host : Host) { Host.free(host, free); check(free > 8); }"


def test_a_rule_puts_actions_into_an_outbox(tmp_path: Path) -> None:
    from cepheid import live

    attributes = (live.Attribute("id", live.STRING), live.Attribute("free", live.INT))
    metamodel = live.Metamodel("m", (live.Class("Host", attributes),))
    (tmp_path / "p.vepl").write_text(VEPL)
    (tmp_path / "q.vql").write_text(VQL)
    program = cep.load(str(tmp_path / "p.vepl"), str(tmp_path / "q.vql"))

    def keys() -> list[str]:
        with actions.Outbox(tmp_path / "box") as outbox:
            run = live.open(
                program, live.Model(metamodel), functions={"notify": actions.caller(outbox)}
            )
            with run.transaction(at=1) as change:
                change.create("Host", id="a", free=9)
                change.create("Host", id="b", free=99)
        text = (tmp_path / "box" / "queues" / "notify" / "actions.jsonl").read_text()
        rows = [json.loads(line) for line in text.splitlines()]
        assert [row["p2"] for row in rows] == [9, 99]
        assert rows[0]["@cause"]["@type"] == "tell"
        return [row["@key"] for row in rows]

    first = keys()
    assert len(set(first)) == 2
    assert keys() == first  # the same run again
