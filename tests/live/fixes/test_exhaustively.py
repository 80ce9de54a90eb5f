"""The search beside one that tries every sequence of steps, over generated programs and models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from random import Random
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid import live
from cepheid.engines.common.intake import runnable, with_schemas
from cepheid.errors import CepheidError
from cepheid.live.changes import Held
from cepheid.live.copies import copy_of
from cepheid.live.fixes.objectives import default_objectives
from cepheid.live.fixes.search import Order
from cepheid.live.model import Model, Object
from cepheid.live.programs import LiveProgram, Repair, resolve_live
from cepheid.live.reference import from_scratch
from tests.effort import examples
from tests.live.fixes.programs import program

ORDERS = st.sampled_from(("best", "breadth"))
RANDOMS = st.integers(0, 10**9).map(Random)
WORLD = live.Metamodel(
    "world",
    (
        live.Class(
            "Node",
            (
                live.Attribute("x", live.INT, default=0),
                live.Attribute("y", live.INT),
                live.Attribute("tags", live.STRING, upper=2),
                live.Reference("next", "Node"),
                live.Reference("links", "Node", upper=None),
                live.Reference("twin", "Node", opposite="twin"),
                live.Reference("parts", "Node", containment=True, upper=None, opposite="whole"),
                live.Reference("whole", "Node", opposite="parts"),
            ),
        ),
    ),
)
QUERIES = {
    "big": "(n : Node) { Node.x(n, x); check(x > 1); }",
    "linked": "(a : Node, b : Node) { Node.links(a, b); }",
    "lonely": "(n : Node) { neg find linked(n, _); }",
    "popular": "(n : Node, k) { k == count find linked(_, n); check(k > 0); }",
    "around": "(n : Node) { find linked+(n, n); }",
    "same": "(a : Node, b : Node) { Node.x(a, v); Node.x(b, v); a != b; }",
    "nextBig": "(n : Node) { Node.next(n, m); Node.x(m, x); check(x > 0); }",
    "nested": "(n : Node, p : Node) { Node.parts(n, p); } or { Node.parts(n, q); Node.parts(q, p); }",
    "loose": "(n : Node) { neg find nested(_, n); }",
    "single": "(n : Node) { Node(n); neg find twins(n, _); }",
    "twins": "(a : Node, b : Node) { Node.twin(a, b); }",
    "never": "(n : Node) { n != n; }",
    "marked": "(n : Node, t) { Node.tags(n, t); }",
}
FIXES = {
    "dec": "big(n) { set n.x = n.x - 1 }",
    "zero": "big(n) { set n.x = 0 }",
    "choose": "big(n) { if n.y > 0 { set n.x = n.y - 1 } else { set n.y = 1 } }",
    "remove": "big(n) { delete n }",
    "refuse": "big(n) { set n.links -= n }",
    "copy": "linked(a, b) { set b.y = a.x }",
    "unlink": "linked(a, b) { set a.links -= b }",
    "link": "same(a, b) { set a.links += b }",
    "apart": "same(a, b) { set a.x = b.x + 1 }",
    "turn": "same(a, b) { set a.next = b }",
    "move": "same(a, b) { move a to b.parts }",
    "inside": "loose(n) { create Node as m { x = 2 }  move n to m.parts }",
    "pair": "same(a, b) { set a.twin = b }",
    "part": "single(n) { set n.twin = null  set n.y = n.twin.x }",
    "hop": "nextBig(n) { set n.next.x = 0 }",
    "drop": "nextBig(n) { set n.next = null }",
    "fresh": "lonely(n) { create Node as m { x = 1 }  set n.links += m }",
    "grow": "lonely(n) { create Node in n.parts { x = n.y } }",
    "raise": "popular(n, k) { set n.x = k }",
    "tag": "single(n) { set n.tags += 'a' }",
    "untag": "marked(n, t) { set n.tags -= t }",
    "prune": "nested(n, p) { delete p }",
}


def generated(rng: Random) -> cep.Program:
    hard = rng.sample(sorted(QUERIES), rng.randint(1, 2))
    soft = rng.sample(sorted(QUERIES), rng.choice((0, 0, 1)))
    rules = dict.fromkeys(soft, "warning") | dict.fromkeys(hard, "error")
    texts = []
    for name, text in QUERIES.items():
        key = "n" if text.startswith("(n") else "a"
        rule = (
            f'@Constraint(key = {{{key}}}, message = "", severity = "{rules[name]}")'
            if name in rules
            else ""
        )
        texts.append(f"{rule} pattern {name}{text}")
    chosen = [n for n, t in FIXES.items() if t.split("(")[0] in rules and rng.random() < 0.6]
    chosen += rng.sample(sorted(FIXES), rng.randint(2, 4))
    costs = {name: rng.choice((1, 1, 2)) for name in chosen}
    fixes = [f"@Cost({cost}) fix {name} on {FIXES[name]}" for name, cost in costs.items()]
    return program("\n".join(texts), "\n".join(fixes))


def small_model(rng: Random) -> Model:
    model = Model(WORLD)
    with model.transaction() as change:
        nodes = [
            change.create("Node", x=rng.choice((0, 1, 2)), y=rng.choice((None, 1)))
            for _ in range(rng.randint(2, 3))
        ]
        for one in nodes:
            if rng.random() < 0.5:
                change.add(one, "links", rng.choice(nodes))
            if rng.random() < 0.3:
                change.set(one, "next", rng.choice(nodes))
        if rng.random() < 0.4:
            change.add(nodes[0], "parts", nodes[1])
    return model


def content(model: Model, first_new: int) -> str:
    """The model in words that are the same whatever its new objects are called: the least of all."""
    new = [one for one in model.objects() if one.id >= first_new]
    return min(
        _words(model, dict(zip(new, order, strict=True))) for order in permutations(range(len(new)))
    )


def _words(model: Model, names: dict[Object, int]) -> str:
    def word(value: object) -> str:
        return f"+{names[value]}" if value in names else repr(value)

    return repr(
        sorted(
            (word(one), f.name, sorted(map(word, held)) if isinstance(held, dict) else word(held))
            for one in model.objects()
            for f, held in one.values.items()
            if held not in (None, {})
        )
    )


class Reached(NamedTuple):
    """A valid model, and one of the sequences that lead to it."""

    content: str
    cost: float
    soft: int
    steps: Counter[str]


def followers(program: LiveProgram, here: Model) -> Iterator[tuple[Repair, list[Held], Model]]:
    """Every step from a model, each on a copy of its own."""
    for repair in program.repairs:
        for row in from_scratch(repair.fix.query, program.queries, here):
            there = copy_of(here)
            given = [there[v.id] if isinstance(v, Object) else v for v in row]
            try:
                with there.transaction() as change:
                    repair.body.do(change, {n: given[place] for n, place in repair.columns})
            except CepheidError:
                continue
            assert change.commit is not None
            if change.commit.changes:
                yield repair, given, there


def all_sequences(program: LiveProgram, model: Model, depth: int) -> Iterator[Reached]:
    objectives = default_objectives(program.queries)
    first_new = model._next_id

    def counts(here: Model) -> tuple[int, int]:
        found = [0, 0]
        for one in objectives:
            found[not one.hard] += len(from_scratch(one.query, program.queries, here))
        return found[0], found[1]

    def visit(here: Model, cost: float, steps: tuple[str, ...]) -> Iterator[Reached]:
        broken, soft = counts(here)
        if broken == 0:
            yield Reached(content(here, first_new), cost, soft, Counter(steps))
        if (broken, soft) == (0, 0) or len(steps) == depth:
            return
        for repair, row, there in followers(program, here):
            step = f"{repair.fix.name}{[_named(v, first_new) for v in row]}"
            yield from visit(there, cost + repair.fix.cost, (*steps, step))

    yield from visit(copy_of(model), 0, ())


def all_models(program: LiveProgram, model: Model, depth: int) -> set[str]:
    """What so many steps can lead to."""
    first_new = model._next_id
    found = {content(model, first_new)}
    level = [model]
    for _ in range(depth):
        reached = {content(m, first_new): m for one in level for _, _, m in followers(program, one)}
        level = [m for place, m in reached.items() if place not in found]
        found |= reached.keys()
    return found


def _named(value: object, first_new: int) -> str:
    return "new" if isinstance(value, Object) and value.id >= first_new else str(value)


def reached_by(solution: live.Solution, model: Model, first_new: int) -> str:
    commit = solution.apply(model)
    found = content(model, first_new)
    model.revert(commit)
    return found


def over_world(written: cep.Program) -> LiveProgram:
    return resolve_live(with_schemas(runnable(written.resolve())), WORLD)


@examples(100)
@given(RANDOMS, ORDERS)
def test_every_model_that_steps_can_lead_to_is_seen(rng: Random, order: Order) -> None:
    written, model, depth = generated(rng), small_model(rng), rng.choice((2, 3))
    expected = all_models(over_world(written), model, depth)
    endless = [live.Objective("never", "some")]
    fixes = live.quick_fixes(
        written, model, objectives=endless, depth=depth, states=10**6, order=order
    )
    assert fixes.states == len(expected)


@examples(50)
@given(RANDOMS, ORDERS)
def test_only_solutions_with_needless_steps_are_left_out(rng: Random, order: Order) -> None:
    written, model, depth = generated(rng), small_model(rng), rng.choice((2, 3))
    first_new = model._next_id
    every = list(all_sequences(over_world(written), model, depth))
    ways: dict[str, list[Reached]] = {}
    for one in every:
        ways.setdefault(one.content, []).append(one)
    fixes = live.quick_fixes(
        written, model, depth=depth, solutions=10**6, states=10**6, order=order
    )
    found = {reached_by(one, model, first_new): one for one in fixes}
    assert len(found) == len(fixes)
    assert found.keys() <= ways.keys()
    start = content(model, first_new)
    for place in ways.keys() - {start}:
        lowest = min(way.cost for way in ways[place])
        if place not in found or found[place].cost != lowest:
            cheapest = [way for way in ways[place] if way.cost == lowest]
            assert any(has_needless(way, part) for way in cheapest for part in every)
        if place in found:
            assert found[place].cost in {way.cost for way in ways[place]}


@examples(40)
@given(RANDOMS, ORDERS)
def test_few_solutions_are_the_best_of_many(rng: Random, order: Order) -> None:
    written, model, few = generated(rng), small_model(rng), rng.randint(1, 4)
    many = live.quick_fixes(written, model, depth=3, solutions=10**6, states=10**6, order=order)
    best = live.quick_fixes(written, model, depth=3, solutions=few, states=10**6, order=order)
    assert [one.score for one in best] == [one.score for one in many][:few]
    assert best.states <= many.states


def has_needless(way: Reached, part: Reached) -> bool:
    return part.steps < way.steps and part.soft <= way.soft
