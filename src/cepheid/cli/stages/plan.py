"""How statements can be split, how long their events matter, which of them run together, and how classes keep up."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from cepheid.analysis.plan import StatementPlan
from cepheid.analysis.plan_words import key_words, span_words, state_words
from cepheid.analysis.stages import Stage, stages
from cepheid.cli.stages import class_plan
from cepheid.cli.terminal.text_table import Column, TextTable
from cepheid.core.time import Period
from cepheid.engines.common.intake import runnable, with_schemas
from cepheid.errors import ProgramError
from cepheid.expr.printing import print_expr
from cepheid.matcher.lanes.plan import EACH, Way
from cepheid.matcher.parts import ways_of
from cepheid.program.resolved import ResolvedProgram
from cepheid.verbs import Program
from cepheid.verbs.pipeline import plan as plan_of


def text(program: Program) -> Iterator[RenderableType]:
    """Of each statement the key and what it keeps, then the stages and what travels to them."""
    resolved = program.resolve()
    if resolved.classes and resolved.can_run:
        yield from class_plan.text(resolved.classes)
        if not resolved.statements:
            return
        yield ""
    plans, together = plan_of(resolved), stages(resolved)
    yield _keys(plans)
    yield ""
    yield _kept(plans)
    yield ""
    if ways := _ways(resolved):
        yield _batches(ways)
        yield ""
    yield _stages(together)
    yield ""
    yield _travel(together)
    yield from _on_spark(resolved, together)


def _keys(plans: tuple[StatementPlan, ...]) -> TextTable:
    table = TextTable([Column("statement"), Column("splits by"), Column("because")], is_spaced=True)
    for plan in plans:
        table.add(plan.statement.name, key_words(plan.split.by), plan.key_reason)
    return table


def _kept(plans: tuple[StatementPlan, ...]) -> TextTable:
    names = ("statement", "its events matter for", "state", "runs on")
    table = TextTable([Column(name) for name in names])
    for plan in plans:
        table.add(plan.statement.name, span_words(plan), state_words(plan), plan.runs_on)
    return table


def _ways(program: ResolvedProgram) -> dict[str, Way]:
    """Nothing where types are unknown: only the events say what they look like."""
    try:
        return ways_of(with_schemas(runnable(program)))
    except ProgramError:
        return {}


def _batches(ways: dict[str, Way]) -> TextTable:
    table = TextTable([Column("statement"), Column("takes batches"), Column("because")])
    for name, way in ways.items():
        table.add(name, way.kind if way.kind == EACH else f"whole, as a {way.kind}", way.because)
    return table


def _stages(together: tuple[Stage, ...]) -> TextTable:
    names = ("stage", "splits by", "statements", "takes", "derives")
    table = TextTable([Column(name) for name in names], is_spaced=True)
    for number, stage in enumerate(together, start=1):
        table.add(
            str(number),
            key_words(stage.key),
            ", ".join(statement.name for statement in stage.statements),
            "\n".join(_source(name, stage) for name in stage.inputs),
            ", ".join(stage.outputs),
        )
    return table


def _travel(together: tuple[Stage, ...]) -> TextTable:
    names = ("to stage", "events", "attributes that travel", "only if")
    table = TextTable([Column(name) for name in names])
    for number, stage in enumerate(together, start=1):
        for name in stage.inputs:
            condition = stage.filters[name]
            only_if = "always" if condition is None else print_expr(condition)
            table.add(str(number), name, ", ".join(stage.columns[name]) or "none", only_if)
    return table


def _on_spark(program: ResolvedProgram, together: tuple[Stage, ...]) -> Iterator[str]:
    """Where Spark does something else than the stages say."""
    # PySpark takes time to load, and other stages do without it.
    from cepheid.engines.spark.plan.plan import OWN_ROWS, plan_of
    from cepheid.engines.spark.plan.request import SparkRequest

    apart = {s.name: number for number, stage in enumerate(together) for s in stage.statements}
    for one in plan_of(SparkRequest(program=program)).passes:
        names = ", ".join(one.names)
        if one.logical.key is None and len({apart[name] for name in one.names}) > 1:
            yield f"\nOn Spark one part runs {names}: {one.logical.reason}."
        if one.runs_on_reference:
            yield f"\nOn Spark the reference runs {names}: {OWN_ROWS}."


def _source(name: str, stage: Stage) -> str:
    numbers = ", ".join(str(number + 1) for number in stage.sources[name])
    return f"{name} of stage {numbers}" if numbers else name


def data(program: Program) -> list[dict[str, object]]:
    resolved = program.resolve()
    ways = _ways(resolved)
    statements = [_described(plan, ways) for plan in plan_of(resolved)]
    return [*statements, *class_plan.data(resolved.classes)] if resolved.can_run else statements


def _described(plan: StatementPlan, ways: dict[str, Way]) -> dict[str, object]:
    """A span is a period, `0 seconds` within the event's instant, or null without bound."""
    by, statement, kept = plan.split.by, plan.statement, plan.retention
    key = None
    if by is not None:
        key = {name: [".".join(path) for path in paths] for name, paths in by.items()}
    spans = {n: None if span is None else str(Period(span)) for n, span in kept.spans.items()}
    return {
        "name": statement.name,
        "output": statement.target,
        "inputs": list(statement.inputs),
        "key": key,
        "key_reason": plan.key_reason,
        "retention": spans,
        "state": "bounded" if kept.is_bounded else "unbounded",
        "runs_on": plan.runs_on,
        "batches": ways[statement.name].kind if statement.name in ways else None,
        "columns": {name: list(columns) for name, columns in plan.columns.items()},
    }
