"""`live.open`: a program and a model, brought together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from cepheid.engines.common.clock import Time, instant_of
from cepheid.engines.common.intake import runnable, with_schemas
from cepheid.errors import ProgramError, UsageError, error, suggest
from cepheid.live.ecore import load_metamodel, load_model
from cepheid.live.metamodel import Metamodel
from cepheid.live.model import Model
from cepheid.live.programs import resolve_live
from cepheid.live.run import LIMIT, Function, Run
from cepheid.program.actions import CallFunction, steps
from cepheid.program.tree import ProgramTree
from cepheid.verbs.arguments import MAKE_ONE, choose, expect
from cepheid.verbs.program import Program


def open(
    program: Program,
    model: Model | str | Path | None = None,
    *,
    metamodel: Metamodel | str | Path | None = None,
    functions: Mapping[str, Function] | None = None,
    start: Time | None = None,
    why: bool = False,
    on_error: Literal["fail", "skip"] = "fail",
    limit: int = LIMIT,
) -> Run:
    """Lets a program live with a model: one that exists, a file, or a new one of a metamodel.

    `functions` are those that rules call, by name; they get the run, then what the rule gives
    them. `why` keeps the events behind complex events.
    A rule that fails is undone; then the turn goes on, and ends with an error unless `on_error` is
    "skip". `limit` is how many rules may follow from one that an event of a
    user or of time brought.
    """
    expect(program, Program, "a program", MAKE_ONE)
    choose(on_error, ("fail", "skip"), "on_error")
    expect(functions, Mapping | None, "a dictionary of functions")
    expect(limit, int, "a number of rules")
    found = _model(model, metamodel)
    given = dict(functions or {})
    resolved = with_schemas(runnable(program.resolve()))
    live = resolve_live(resolved, found.metamodel)
    _need_functions(program.tree, given)
    return Run(
        live,
        found,
        functions=given,
        start=None if start is None else instant_of(start),
        why=why,
        on_error=on_error,
        limit=limit,
    )


def _model(model: Model | str | Path | None, metamodel: Metamodel | str | Path | None) -> Model:
    if isinstance(model, Model):
        return model
    if metamodel is None:
        hint = "metamodel='cps.ecore', or one made by live.Metamodel"
        raise UsageError(error("usage", "a model needs a metamodel", hint=hint))
    known = metamodel if isinstance(metamodel, Metamodel) else load_metamodel(metamodel)
    return Model(known) if model is None else load_model(model, known)


def _need_functions(tree: ProgramTree, functions: Mapping[str, Function]) -> None:
    problems = [
        error(
            "unknown-function",
            f"no function '{action.function}' is registered",
            action.span,
            suggest(action.function, functions, "functions")
            or f"live.open(..., functions={{'{action.function}': ...}})",
        )
        for rule in tree.rules
        for action in steps(rule.body)
        if isinstance(action, CallFunction) and action.function not in functions
    ]
    if problems:
        raise ProgramError(*problems)
