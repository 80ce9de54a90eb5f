"""Live runs over generated worlds: what they tell is what changed, and what follows is what a recorded
run of the same events gives."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid import live
from cepheid.core.event import Event
from cepheid.core.types import SCALARS
from cepheid.errors import InputError, Severity
from cepheid.io.encode import encode
from cepheid.live import Happened, Model
from cepheid.live.matching.matcher import Match
from cepheid.live.queries.resolve import resolve_queries
from cepheid.live.queries.resolved import ObjectType, ResolvedQuery
from cepheid.live.run import Run
from cepheid.program.tree import ProgramTree
from tests.effort import examples
from tests.live.worlds import metamodel, one_change, query_tree

RANDOMS = st.integers(0, 10**9).map(Random)
CONTEXTS = ("chronicle", "chronicle", "immediate", "strict")
STEPS = 8


def parameters(query: ResolvedQuery) -> str:
    def named(type: object) -> str:
        return "Object" if isinstance(type, ObjectType) or str(type) not in SCALARS else str(type)

    return ", ".join(f"p{i}: {named(type)}" for i, type in enumerate(query.types))


def text_of(rng: Random, queries: list[ResolvedQuery]) -> str:
    """Events of all changes of all queries, and complex events over them."""
    lines = ["import-queries world.queries", "atomicEvent told(what: string)"]
    calls = {"": ["told(_)"]}
    for query in queries:
        count = len(query.types)
        arguments = ", ".join(f"p{i}" for i in range(count))
        for change in ("found", "lost", "updated"):
            name = f"{query.name}{change}"
            head = f"queryEvent {name}({parameters(query)})"
            lines.append(f"{head} as {query.name}({arguments}) {change}")
            bound = ["k" if i == 0 and rng.random() < 0.3 else "_" for i in range(count)]
            call = f"{name}({', '.join(bound)})" if count else name
            calls.setdefault(query.name, ["told(_)"]).append(call)
            if rng.random() < 0.3:
                lines.append(f"rule tell{name} on {name} {{ emit told('{change}') }}")
    for number in range(4):
        # Most queries match rarely: events of one and the same meet more often.
        own = calls[rng.choice(list(calls))]
        first, second, third = (rng.choice(own) for _ in range(3))
        form = rng.choice(
            (
                f"{first} -> {second}",
                f"{first} AND {second}",
                f"({first} OR {second}) -> {third}",
                f"{first} -> NOT {second} -> {third}",
                f"({first} -> NOT {second})[within 2 seconds]",
                f"({first} -> {second}{{2}})[within 3 seconds]",
            )
        )
        context = rng.choice(CONTEXTS)
        lines.append(f"complexEvent C{number}() {{ as {form} context {context} }}")
    return "\n".join(lines)


def opened(rng: Random) -> tuple[cep.Program, Run] | None:
    """None where queries ask for what no object can be, or forms bind different types to one name."""
    world = metamodel(rng)
    tree = query_tree(rng, world)
    queries, problems = resolve_queries(tree, world)
    if any(p.severity is Severity.ERROR for p in problems):
        return None
    public = [query for query in queries.queries if not query.tree.is_private]
    events = cep.parse(text_of(rng, public), "vepl")
    program = cep.Program(ProgramTree((*events.tree.declarations, *tree.queries)))
    if any(p.severity is Severity.ERROR for p in program.resolve().problems):
        return None
    return program, live.open(program, Model(world))


def rows_of(run: Run) -> dict[str, set[Match]]:
    names = [q.name for q in run.program.queries.queries if not q.tree.is_private]
    return {name: set(run.matcher.matches(name)) for name in names}


def same(event: Event) -> tuple[str, int, str]:
    return event.type, event.instant, str(dict(event))


@examples(40)
@given(RANDOMS)
def test_what_a_live_run_tells_is_what_changed_and_what_follows_is_what_a_recorded_run_gives(
    rng: Random,
) -> None:
    found = opened(rng)
    if found is None:
        return
    program, run = found
    happened: list[Event] = []
    run.listeners.append(
        lambda entry: happened.append(entry.event) if isinstance(entry, Happened) else None
    )
    for step in range(STEPS):
        before, known = rows_of(run), len(happened)
        try:
            with run.transaction(at=step) as change:
                change_within(rng, run.model, change)
        except InputError:
            pass
        after = rows_of(run)
        told = [e for e in happened[known:] if e.statement is None and e.type != "told"]
        for name, rows in after.items():
            counts = [sum(e.type == f"{name}{kind}" for e in told) for kind in ("found", "lost")]
            assert counts == [len(rows - before[name]), len(before[name] - rows)]
    run.advance(20)
    given_events = [encode(e) for e in happened if e.statement is None]
    derived = [same(e) for e in happened if e.statement is not None]
    again = cep.run(program, [*given_events, {"@time": 20}], start=0)
    assert derived == [same(row) for row in again]


def change_within(rng: Random, model: Model, change: live.Transaction) -> None:
    for _ in range(rng.randint(1, 8) if len(model) else 15):
        one_change(rng, model, change)


def test_the_generator_makes_runs_that_tell_and_derive() -> None:
    seen = {"told": 0, "derived": 0, "skipped": 0}
    for seed in range(60):
        rng = Random(seed)
        found = opened(rng)
        if found is None:
            seen["skipped"] += 1
            continue
        run = found[1]
        for step in range(STEPS):
            try:
                with run.transaction(at=step) as change:
                    change_within(rng, run.model, change)
            except InputError:
                continue
            for entry in run.entries:
                if isinstance(entry, Happened):
                    seen["told" if entry.event.statement is None else "derived"] += 1
    assert seen["told"] > 200
    assert seen["derived"] > 30
    assert seen["skipped"] < 25
