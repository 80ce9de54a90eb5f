"""The parts of the search: copies, contents, and steps that disturb each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from cepheid import live
from cepheid.engines.common.intake import runnable, with_schemas
from cepheid.live.changes import Change
from cepheid.live.copies import copy_of
from cepheid.live.fixes.contents import Contents, Difference, with_changes
from cepheid.live.fixes.footprints import Footprint, Footprints, are_independent
from cepheid.live.model import Model, Object
from cepheid.live.programs import resolve_live
from tests.live.fixes.programs import program
from tests.live.fixes.test_exhaustively import WORLD
from tests.live.plants import plant


def test_a_copy_is_equal_and_has_a_life_of_its_own() -> None:
    model = plant()
    with model.transaction() as change:
        root, host, gone = (change.create(n) for n in ("Plant", "Host", "Host"))
        change.add(root, "hosts", host)
        change.add(host, "next", host)
        change.add(host, "tags", "b")
        change.add(host, "tags", "a")
        app = change.create("Application", host=host)
        change.delete(gone)
    copy = copy_of(model)
    mine = copy[host.id]
    assert mine is not host
    assert (mine["tags"], mine["next"], mine["runs"]) == (("b", "a"), (mine,), (copy[app.id],))
    assert mine.container is copy[root.id]
    with copy.transaction() as change:
        made = change.create("Server")
        change.delete(mine)
    with model.transaction() as change:
        assert change.create("Server").id == made.id
    assert (host["next"], host.is_alive, len(model), len(copy)) == ((host,), True, 4, 3)


# Contents.


def chain(model: Model, *order: int, ends_in: Object | None = None) -> Difference:
    """New nodes that refer to each other in an order; then the model is as before."""
    with model.transaction() as change:
        nodes = [change.create("Node") for _ in set(order)]
        for one, other in pairwise(order):
            change.add(nodes[one], "links", nodes[other])
        if ends_in is not None:
            change.add(nodes[order[-1]], "links", ends_in)
    assert change.commit is not None
    model.revert(change.commit)
    return with_changes({}, change.commit.changes)


def test_new_objects_are_recognised_by_what_they_hold_and_how_they_hang_together() -> None:
    model = Model(WORLD)
    with model.transaction() as change:
        first, second = change.create("Node"), change.create("Node")
    contents = Contents()
    assert contents.number(chain(model, 0, 1, 2, 3)) == 0
    assert contents.number(chain(model, 3, 1, 0, 2)) == 0
    assert contents.number(chain(model, 0, 1, 2)) == 1
    assert contents.number(chain(model, 0, 1, 2, 0)) == 2  # a circle of three
    assert contents.number(chain(model, 0, 1, 2, ends_in=first)) == 3
    assert contents.number(chain(model, 2, 0, 1, ends_in=first)) == 3
    assert contents.number(chain(model, 0, 1, 2, ends_in=second)) == 4
    assert len(contents) == 5


def test_what_is_as_it_was_is_no_difference() -> None:
    model = Model(WORLD)
    changes: list[Change] = []
    with model.transaction() as change:
        one = change.create("Node", tags=["a", "b"])
    with model.transaction() as change:
        change.set(one, "x", 5)
        change.remove(one, "tags", "a")
        change.add(one, "tags", "c")
        change.delete(change.create("Node"))
    changes += change.changes
    with model.transaction() as change:
        change.remove(one, "tags", "c")
        change.add(one, "tags", "a")
        change.set(one, "x", 0)
    assert one["tags"] == ("b", "a")  # the order is for showing only
    assert with_changes(with_changes({}, changes), change.changes) == {}


# Steps that disturb each other.

PAIRS = "pattern pair(a : Node, b : Node) { Node(a); Node(b); a != b; }"


def footprints(model: Model, fixes: str, *rows: Sequence[Object]) -> list[Footprint]:
    """Of fixes on pairs, each done to a row from the same model."""
    live = resolve_live(with_schemas(runnable(program(PAIRS, fixes).resolve())), WORLD)
    known = Footprints(live.queries, live.repairs)
    found = []
    for place, (repair, row) in enumerate(zip(live.repairs, rows, strict=True)):
        reads = known.before(place, "pair", row)
        with model.transaction() as change:
            repair.body.do(change, dict(zip("ab", row, strict=True)))
        assert change.commit is not None
        found.append(known.of(place, row, reads, change.commit.changes))
        model.revert(change.commit)
    return found


@pytest.mark.parametrize(
    ("one", "other", "is_independent"),
    [
        ("set a.x = 1", "set a.x = 1", True),
        ("set a.x = 1", "set b.x = 1", True),
        ("set a.x = 0", "set a.next.x = 1", False),  # whichever object that is; and it is 0 already
        ("set a.x = 1", "set a.y = b.next.x", False),
        ("set a.next = b", "set a.next = b", True),
        ("set a.links += b", "create Node", True),
        ("create Node in a.parts", "create Node in a.parts", True),
        ("move a to b.parts", "move a to b.parts", False),  # not one into the other's part
        ("if a.x > 0 { set a.y = 1 }", "set a.y = 1", True),
    ],
)
def test_steps_on_different_objects_are_independent_unless_they_may_meet(
    one: str, other: str, is_independent: bool
) -> None:
    model = Model(WORLD)
    with model.transaction() as change:
        nodes = [change.create("Node") for _ in range(4)]
        change.set(nodes[2], "next", nodes[3])
        change.set(nodes[3], "next", nodes[2])
    fixes = f"fix one on pair(a, b) {{ {one} }} fix other on pair(a, b) {{ {other} }}"
    first, second = footprints(model, fixes, nodes[:2], nodes[2:])
    assert are_independent(first, second) == is_independent
    assert are_independent(second, first) == is_independent


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("set a.x = 0", "set a.x = 1"),  # it is 0 already
        ("set b.x = 1", "set a.y = b.x"),
        ("delete b", "set a.next = b"),
        ("set a.twin = b", "set b.twin = a"),
        ("if b.x > 0 { set a.y = 1 }", "set b.x = 1"),
        ("set a.tags += 'a'", "set a.tags += 'b'"),
    ],
)
def test_steps_that_change_what_others_need_are_not_independent(one: str, other: str) -> None:
    model = Model(WORLD)
    with model.transaction() as change:
        nodes = [change.create("Node") for _ in range(2)]
    fixes = f"fix one on pair(a, b) {{ {one} }} fix other on pair(a, b) {{ {other} }}"
    first, second = footprints(model, fixes, nodes, nodes)
    assert not are_independent(first, second)
    assert not are_independent(second, first)


def test_two_moves_that_would_close_a_circle_are_both_tried_alone() -> None:
    """Each node with a part is moved into the other's part: the second such step is refused."""
    queries = """
        pattern part(a : Node, p : Node) { Node.parts(a, p); }
        pattern elsewhere(a : Node, q : Node) {
            find part(a, _); find part(b, q); a != b; neg find part(_, a);
        }
        @Constraint(key = {a}, message = "", severity = "error")
        pattern top(a : Node, b : Node) { find roots(a); find roots(b); a != b; }
        private pattern roots(a : Node) { Node(a); neg find part(_, a); }
    """
    model = Model(WORLD)
    with model.transaction() as change:
        for _ in range(2):
            change.create("Node", parts=[change.create("Node")])
    fixes = live.quick_fixes(
        program(queries, "fix into on elsewhere(a, q) { move a to q.parts }"), model
    )
    assert [str(one) for one in fixes] == ["into(Node#2, Node#3)", "into(Node#4, Node#1)"]
