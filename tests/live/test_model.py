"""Models: transactions are done as a whole or not at all, and keep what the metamodel says."""

from __future__ import annotations

import pytest

from cepheid.errors import CepheidError, InputError, UsageError
from cepheid.live import Change, Model, Object, Transaction
from tests.live.plants import PLANT, interrupted, plant


def made(model: Model, *types: str) -> list[Object]:
    with model.transaction() as change:
        return [change.create(type) for type in types]


def steps(change: Transaction) -> list[str]:
    """As `kind object.feature old new`."""
    return [" ".join(_shown(step)) for step in change.changes]


def _shown(step: Change) -> list[str]:
    feature = f".{step.feature.name}" if step.feature else ""
    parts = [step.kind.value, f"{step.object}{feature}"]
    return parts + [str(v) for v in (step.old, step.new)] * bool(feature)


def test_objects_have_the_defaults_of_their_class() -> None:
    [host] = made(plant(), "Server")
    assert (host["totalCpu"], host["availableCpu"], host["room"], host["tags"]) == (8, None, 0, ())


def test_changes_are_told_in_the_order_in_which_they_happened() -> None:
    model = plant()
    with model.transaction() as change:
        one = change.create("Host", id="h", availableCpu=3)
        change.set(one, "availableCpu", 4)
        change.set(one, "availableCpu", 4)  # no change
        app = change.create("Application", host=one)
        change.set(app, "host", None)
    assert steps(change) == [
        "create Host#1",
        "set Host#1.id None h",
        "set Host#1.availableCpu None 3",
        "set Host#1.availableCpu 3 4",
        "create Application#2",
        "set Application#2.host None Host#1",
        "add Host#1.runs None Application#2",
        "set Application#2.host Host#1 None",
        "remove Host#1.runs Application#2 None",
    ]
    assert change.commit is not None
    assert change.commit.changes == change.changes


def test_opposites_are_kept() -> None:
    model = plant()
    a, b, app = made(model, "Host", "Host", "Application")
    with model.transaction() as change:
        change.add(a, "runs", app)
    assert app["host"] is a
    with model.transaction() as change:
        change.set(app, "host", b)
    assert (a["runs"], b["runs"]) == ((), (app,))
    with model.transaction() as change:
        change.remove(b, "runs", app)
    assert app["host"] is None


def test_of_two_single_opposites_the_last_one_wins() -> None:
    model = plant()
    a, b, c = made(model, "Host", "Host", "Host")
    with model.transaction() as change:
        change.set(a, "twin", b)
    assert b["twin"] is a
    with model.transaction() as change:
        change.set(c, "twin", b)
    assert (a["twin"], b["twin"], c["twin"]) == (None, c, b)
    with model.transaction() as change:
        change.set(a, "twin", a)
        change.set(a, "twin", None)
    assert a["twin"] is None


def test_an_object_is_in_one_container() -> None:
    model = plant()
    root, host, other = made(model, "Plant", "Host", "Plant")
    with model.transaction() as change:
        change.add(root, "hosts", host)
    with model.transaction() as change:
        change.move(host, other, "hosts")
    assert (root["hosts"], other["hosts"], host.container) == ((), (host,), other)
    with model.transaction() as change:
        change.move(host, other, "main")
    assert (other["hosts"], other["main"]) == ((), host)
    assert list(model.roots()) == [root, other]


def test_the_reference_to_a_container_moves_its_object() -> None:
    model = plant()
    whole, part = made(model, "Host", "Host")
    with model.transaction() as change:
        change.set(part, "whole", whole)
    assert (whole["parts"], part.container) == ((part,), whole)
    with model.transaction() as change:
        change.set(part, "whole", None)
    assert (whole["parts"], part.container) == ((), None)


def test_a_deleted_object_takes_its_contents_with_it_and_leaves_no_reference() -> None:
    model = plant()
    root, host, part, app, other = made(model, "Plant", "Host", "Host", "Application", "Host")
    with model.transaction() as change:
        change.add(root, "hosts", host)
        change.add(host, "parts", part)
        change.set(part, "id", "p")
        change.set(app, "host", part)
        change.add(other, "next", part)
    with model.transaction() as change:
        change.delete(host)
    assert list(model.objects()) == [root, app, other]
    assert (root["hosts"], app["host"], other["next"]) == ((), None, ())
    assert not host.is_alive
    assert part["id"] == "p"  # what it was stays readable
    assert steps(change) == [
        "remove Host#5.next Host#3 None",
        "remove Host#2.parts Host#3 None",
        "set Host#3.whole Host#2 None",
        "remove Host#3.runs Application#4 None",
        "set Application#4.host Host#3 None",
        "delete Host#3",
        "remove Plant#1.hosts Host#2 None",
        "delete Host#2",
    ]


def seen(model: Model) -> list[object]:
    return [(one, one.container, *(one[n] for n in one.kind.features)) for one in model.objects()]


def test_a_transaction_whose_body_raises_leaves_everything_as_it_was() -> None:
    model = plant()
    root, a, b, app = made(model, "Plant", "Host", "Host", "Application")
    with model.transaction() as change:
        for one in (a, b):
            change.add(root, "hosts", one)
            change.add(one, "tags", "x")
        change.set(app, "host", a)
    before = seen(model)
    with interrupted(model) as change:
        change.set(app, "host", b)
        change.delete(a)
        change.add(b, "parts", change.create("Host"))
        change.remove(b, "tags", "x")
    assert seen(model) == before
    assert change.commit is None
    assert made(model, "Host")[0].id == 5  # the next number was not used up


def test_a_step_that_does_not_fit_ends_the_transaction_even_if_it_is_caught() -> None:
    model = plant()
    [host] = made(model, "Host")

    def catch_all() -> None:
        with model.transaction() as change:
            change.set(host, "id", "h")
            for value in ("many", 3):
                with pytest.raises(InputError):
                    change.set(host, "availableCpu", value)

    with pytest.raises(InputError, match="'many' is not an int"):
        catch_all()
    assert host["id"] is None


def refused(model: Model, *step: object) -> str:
    name, *arguments = step
    with pytest.raises(CepheidError) as raised, model.transaction() as change:
        getattr(change, str(name))(*arguments)
    [problem] = raised.value.diagnostics
    return str(problem).removeprefix("error")


def test_what_does_not_fit_is_refused_with_a_reason() -> None:
    model = plant()
    host, app, server = made(model, "Host", "Application", "Server")
    assert refused(model, "set", host, "availableCpu", "many") == (
        "[bad-value]: 'availableCpu' of Host#1: 'many' is not an int (its type is int)"
    )
    assert refused(model, "set", host, "availableCpu", 2**40).startswith("[bad-value]")
    assert refused(model, "set", host, "state", "upp") == (
        "[bad-value]: 'state' of Host#1 cannot be 'upp' (did you mean 'up'?)"
    )
    assert refused(model, "set", host, "sate", "up") == (
        "[unknown-feature]: no feature 'sate' in Host (did you mean 'state'?)"
    )
    assert refused(model, "set", app, "host", app) == (
        "[bad-change]: 'host' of Application#2 leads to Host objects, not to Application#2"
    )
    assert refused(model, "set", app, "host", "h") == (
        "[bad-change]: 'host' of Application#2 leads to Host objects, not to 'h'"
    )
    assert refused(model, "set", host, "runs", app) == (
        "[bad-change]: 'runs' of Host#1 has many values and cannot be set to one"
        " (use add and remove)"
    )
    assert refused(model, "add", app, "host", host) == (
        "[bad-change]: 'host' of Application#2 has one value: nothing is added to it or removed"
        " (use set)"
    )
    assert refused(model, "add", host, "tags", None).startswith("[bad-change]: null cannot be one")
    assert refused(model, "remove", host, "tags", "x") == (
        "[bad-change]: 'x' is not among 'tags' of Host#1"
    )
    assert refused(model, "create", "Named") == (
        "[bad-change]: 'Named' is abstract and has no objects"
        " (its subclasses: Application, Host, Plant, Server)"
    )
    assert refused(model, "create", "Hst") == (
        "[unknown-class]: no class 'Hst' in plant (did you mean 'Host'?)"
    )
    assert refused(model, "move", app, host, "runs").startswith(
        "[bad-change]: 'runs' of Host#1 contains nothing"
    )
    assert refused(model, "set", server, "room", None) == (
        "[bad-change]: 'room' of Server#3 has 0 of 1..1 values (bounds hold when a transaction ends)"
    )


def test_nothing_contains_itself() -> None:
    model = plant()
    whole, part = made(model, "Host", "Host")
    with model.transaction() as change:
        change.add(whole, "parts", part)
    fact = "cannot be in 'parts' of Host#2: it would contain itself"
    assert fact in refused(model, "add", part, "parts", whole)
    assert "it would contain itself" in refused(model, "set", whole, "whole", whole)


def test_bounds_hold_at_the_end_only() -> None:
    model = plant()
    [host] = made(model, "Host")
    with model.transaction() as change:
        parts = [change.create("Host") for _ in range(4)]
        for part in parts:
            change.add(host, "parts", part)
        change.remove(host, "parts", parts[0])
    assert len(host["parts"]) == 3  # type: ignore[arg-type]
    assert "'parts' of Host#1 has 4 of 0..3 values" in refused(
        model, "add", host, "parts", parts[0]
    )


def test_deleted_and_foreign_objects_are_refused() -> None:
    model = plant()
    host, app = made(model, "Host", "Application")
    [foreign] = made(plant(), "Host")
    with model.transaction() as change:
        change.delete(host)
    assert refused(model, "set", host, "id", "x") == "[bad-change]: Host#1 is deleted"
    assert refused(model, "set", app, "host", host) == "[bad-change]: Host#1 is deleted"
    assert refused(model, "delete", host) == "[bad-change]: Host#1 is deleted"
    assert refused(model, "set", app, "host", foreign) == "[usage]: Host#1 belongs to another model"
    assert refused(model, "set", foreign, "id", "x") == "[usage]: Host#1 belongs to another model"


def test_a_model_changes_in_one_transaction_at_a_time() -> None:
    model = plant()
    with model.transaction(), pytest.raises(UsageError, match="another transaction is open"):
        model.transaction().__enter__()
    change = model.transaction()
    with pytest.raises(UsageError, match="in open transactions only"):
        change.create("Host")


def test_listeners_cannot_change_the_model() -> None:
    model = plant()
    found: list[str] = []

    def listen(_: object) -> None:
        with pytest.raises(UsageError, match="while others are told of one"):
            model.transaction().__enter__()
        found.append("told")

    model.listeners.append(listen)
    made(model, "Host")
    assert found == ["told"]
    made(model, "Host")  # and it can go on afterwards


def test_a_listener_that_raises_keeps_the_news_from_nobody() -> None:
    model = plant()
    found: list[str] = []

    def fail(_: object) -> None:
        raise ValueError("no")

    model.listeners += [fail, lambda _: found.append("told")]
    with pytest.raises(ValueError, match="no"):
        made(model, "Host")
    assert (found, len(model)) == (["told"], 1)
    model.listeners.clear()
    made(model, "Host")


def test_a_transaction_is_used_once() -> None:
    model = plant()
    change = model.transaction()
    with change:
        pass
    with pytest.raises(UsageError, match="this transaction has ended"):
        change.__enter__()


def test_values_are_kept_in_the_order_in_which_they_were_added() -> None:
    model = plant()
    [host] = made(model, "Host")
    with model.transaction() as change:
        for tag in "abc":
            change.add(host, "tags", tag)
    with interrupted(model) as change:
        change.remove(host, "tags", "a")
        change.add(host, "tags", "d")
        change.remove(host, "tags", "b")
    assert host["tags"] == ("a", "b", "c")


def test_an_object_is_found_by_its_identity() -> None:
    model = plant()
    [host] = made(model, "Host")
    assert model[host.id] is host
    assert len(model) == 1
    with pytest.raises(UsageError, match="no object #9"):
        model[9]


def test_reading_an_unknown_feature_is_an_error_with_a_hint() -> None:
    [host] = made(Model(PLANT), "Host")
    with pytest.raises(UsageError, match="did you mean 'load'"):
        host["lod"]


def test_commits_are_undone_the_last_one_first() -> None:
    model = plant()
    root, host = made(model, "Plant", "Host")
    states = [seen(model)]
    commits = []
    for step in range(3):
        with model.transaction() as change:
            if step == 0:
                change.add(root, "hosts", host)
                change.add(root, "hosts", change.create("Host"))
                change.set(host, "load", 0.5)
            elif step == 1:
                change.delete(host)
            else:
                change.create("Server", id="s")
        assert change.commit is not None
        commits.append(change.commit)
        states.append(seen(model))
    with pytest.raises(UsageError, match="not as this commit has left it"):
        model.revert(commits[1])
    for commit, state in zip(reversed(commits), reversed(states[:-1]), strict=True):
        model.revert(commit)
        assert seen(model) == state
    assert model[host.id] is host
    with pytest.raises(UsageError, match="not as this commit has left it"):
        model.revert(commits[0])
    assert made(model, "Host")[0].id == 5  # no number is given twice


def test_undoing_is_told_as_changes() -> None:
    model = plant()
    [host] = made(model, "Host")
    with model.transaction() as change:
        change.set(host, "load", 0.5)
        change.add(host, "tags", "a")
    with model.transaction() as change:
        change.set(host, "id", "h")
        change.delete(host)
    assert change.commit is not None
    undone = model.revert(change.commit)
    assert [" ".join(_shown(step)) for step in undone.changes] == [
        "create Host#1",
        "set Host#1.id None h",
        "set Host#1.load None 0.5",
        "add Host#1.tags None a",
        "set Host#1.id h None",
    ]
    assert (host["id"], host["load"], host["tags"]) == (None, 0.5, ("a",))


def test_what_was_undone_can_be_done_again_and_undone_again() -> None:
    model = plant()
    root, host, other = made(model, "Plant", "Host", "Host")
    with model.transaction() as change:
        change.set(host, "load", 0.5)
        change.add(host, "tags", "a")
        change.add(host, "next", other)
    before = seen(model)
    with model.transaction() as change:
        change.set(other, "twin", host)
        change.delete(host)
        change.add(root, "hosts", change.create("Server", tags=["b", "c"]))
        change.add(root, "hosts", other)
    after = seen(model)
    commit = change.commit
    assert commit is not None
    for state in (before, after, before, after, before):
        commit = model.revert(commit)
        assert seen(model) == state
    assert host["tags"] == ("a",)
