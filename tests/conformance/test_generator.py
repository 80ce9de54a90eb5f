"""What the generator of programs makes: no form that runs in a way of its own is left out.

Filters that others lead to are made by `filters`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hypothesis import given

from cepheid.matcher.lanes.chain_plan import Chain
from cepheid.matcher.lanes.plan import LanesPlan, lanes_of
from cepheid.matcher.lanes.window_plan import Window, is_shared
from cepheid.matcher.parts import parts_of
from cepheid.program.graph import graph_of
from cepheid.program.resolved import ResolvedProgram
from tests import effort
from tests.conformance.generator import examples
from tests.conformance.scenarios import Example

FORMS = [
    "Chain",
    "Single",
    "Window",
    "OnMachine",
    "fed-Chain",
    "fed-Single",
    "fed-Window",
    "fed-OnMachine",
    "keys",
    "alternatives",
    "contexts",
    "periods",
    "wholes",
    "shared-windows",
    "one-type",
    "one-type-that-is-taken",
    "priorities",
    "one-period",
    "parts",
    "cycles",
    "cycles-beside-others",
]


def test_programs_in_a_row_have_every_form() -> None:
    found: Counter[str] = Counter()

    @effort.examples(400)
    @given(examples(in_a_row=True))
    def collect(example: Example) -> None:
        found.update({*forms_of(example.program.resolve())})

    collect()
    assert found.keys() <= {*FORMS}
    assert effort.IS_QUICK or {*FORMS} == found.keys()


def forms_of(program: ResolvedProgram) -> Iterator[str]:
    graph, plan = graph_of(program), lanes_of(program)
    targets = Counter(statement.target for statement in program.statements)
    common = {name for name, count in targets.items() if count > 1}
    ranks = [statement.rank for statement in program.statements]
    yield from ["one-type"] if common else []
    yield from ["one-type-that-is-taken"] if common.intersection(program.consumed_types) else []
    yield from ["priorities"] if ranks != sorted(ranks) else []
    yield from ["parts"] if parts_of(program) else []
    if graph.cycles:
        yield "cycles"
        yield from ["cycles-beside-others"] if parts_of(program) else []
    if plan is not None:
        yield from forms_in(plan, program)


def forms_in(plan: LanesPlan, program: ResolvedProgram) -> Iterator[str]:
    for one, taken in zip(plan.statements, plan.taken, strict=True):
        yield type(one).__name__
        yield from [f"fed-{type(one).__name__}"] if taken else []
        if isinstance(one, Chain):
            marks = {
                "keys": one.is_keyed,
                "alternatives": one.choice,
                "contexts": one.statement.context,
                "periods": one.period,
                "wholes": one.repeats_whole,
            }
            yield from (mark for mark, is_there in marks.items() if is_there)
    windows = [one for one in plan.statements if isinstance(one, Window)]
    pairs = [(one, other) for n, one in enumerate(windows) for other in windows[:n]]
    yield from ["shared-windows"] if any(is_shared(*pair) for pair in pairs) else []
    yield from ["one-period"] if any(a.period and a.period == b.period for a, b in pairs) else []
