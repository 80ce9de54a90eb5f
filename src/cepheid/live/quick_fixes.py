"""`live.quick_fixes`: what can be done about a model that is not as it should be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from cepheid.engines.common.intake import runnable, with_schemas
from cepheid.errors import UsageError, error
from cepheid.live.fixes.objectives import Objective
from cepheid.live.fixes.search import STATES, Order, find_fixes
from cepheid.live.fixes.solutions import Fixes
from cepheid.live.model import Model
from cepheid.live.programs import resolve_live
from cepheid.live.run import Run
from cepheid.verbs.arguments import MAKE_ONE, expect
from cepheid.verbs.program import Program


def quick_fixes(
    program: Program | Run,
    model: Model | None = None,
    *,
    objectives: Iterable[Objective] | None = None,
    solutions: int = 10,
    order: Order = "best",
    depth: int | None = None,
    states: int = STATES,
    seconds: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Fixes:
    """The best ways to make a model valid by the fixes of a program.

    Objectives are those of the `@Constraint` patterns, unless others are given: errors must be gone, of
    all others each costs 1. The best solutions cost the least, steps and soft objectives together. `order`
    is which model is expanded next: the "best" one, with the fewest violations and then the lowest cost, or
    that with the fewest steps ("breadth"). Bounds are on the steps of a solution (`depth`), on the models
    that are seen (`states`), and on the time (`seconds`, by the clock). The model itself does not change.
    """
    expect(program, Program | Run, "a program", MAKE_ONE)
    if isinstance(program, Run):
        live, known = program.program, program.model
        if model is not None and model is not known:
            raise UsageError(error("usage", "the run has another model", hint="leave it out"))
    else:
        expect(model, Model, "a model", "live.load_model(path, metamodel) reads one")
        assert model is not None
        known = model
        live = resolve_live(with_schemas(runnable(program.resolve())), known.metamodel)
    return find_fixes(
        live,
        known,
        objectives=objectives,
        solutions=solutions,
        order=order,
        depth=depth,
        states=states,
        seconds=seconds,
        clock=clock,
    )
