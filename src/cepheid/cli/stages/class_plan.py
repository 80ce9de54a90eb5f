"""How complex classes are kept up to date, here and on Spark, and which statements wait for something to happen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import RenderableType

from cepheid.cli.terminal.text_table import Column, TextTable
from cepheid.program.resolved import ResolvedClass

if TYPE_CHECKING:
    from cepheid.bitemporal.spark.program import Obstacle

EDGED = "once, when it comes true"
STEADY = "in every round while it is true"


@dataclass(frozen=True, slots=True)
class ClassPlan:
    """What a change of each class that is read makes the engine do, and the indexes for it."""

    name: str
    whole: dict[str, str]  # classes whose changes make the whole query run, and why
    followed: tuple[str, ...]  # classes whose changes are followed to the keys that they reach
    indexes: tuple[str, ...]
    obstacle: Obstacle | None  # why its query runs once per change on Spark


def class_plans(classes: Sequence[ResolvedClass]) -> Iterator[ClassPlan]:
    # Reads SQL with a library that programs without classes do without.
    from cepheid.bitemporal.local.maintenance import maintenance_of
    from cepheid.bitemporal.spark.program import obstacles

    found = dict(obstacles(classes))
    for each in classes:
        if each.query is not None:
            plan = maintenance_of(each)
            followed = dict.fromkeys(r.table for r in plan.reaches if r.table not in plan.whole)
            indexes = sorted(f"{table}({', '.join(columns)})" for table, columns in plan.indexes)
            yield ClassPlan(
                each.name, dict(plan.whole), tuple(followed), tuple(indexes), found[each.name]
            )


def text(classes: Sequence[ResolvedClass]) -> Iterator[RenderableType]:
    plans = list(class_plans(classes))
    if plans:
        names = ("class", "a change of", "derives anew", "indexes")
        table = TextTable([Column(name) for name in names])
        for plan in plans:
            for number, (name, work) in enumerate(_work(plan)):
                table.add("" if number else plan.name, name, work, _indexes(plan, name))
        yield table
        yield ""
        yield _on_spark(plans)
    if any(each.reactions for each in classes):
        yield ""
        table = TextTable([Column(name) for name in ("class", "on", "acts")])
        for each in classes:
            for number, (condition, acts) in enumerate(_statements(each)):
                table.add("" if number else each.name, condition, acts)
        yield table


def _on_spark(plans: Sequence[ClassPlan]) -> TextTable:
    table = TextTable([Column(name) for name in ("class", "whole histories on Spark")])
    for plan in plans:
        table.add(plan.name, _run_on_spark(plan))
    return table


def _run_on_spark(plan: ClassPlan) -> str:
    from cepheid.bitemporal.spark.stepwise import MOST_CHANGES

    if plan.obstacle is None:
        return "for all rounds at once"
    limit = f"once per change of what it reads, at most {MOST_CHANGES:,}"
    return f"{limit}: {plan.obstacle.reason}, {plan.obstacle.place}"


def _work(plan: ClassPlan) -> Iterator[tuple[str, str]]:
    for name in plan.followed:
        yield name, "the keys that it reaches"
    for name, reason in plan.whole.items():
        yield name, f"all of it: {reason}"


def _indexes(plan: ClassPlan, name: str) -> str:
    return ", ".join(index for index in plan.indexes if index.startswith(f"{name}("))


def _statements(each: ResolvedClass) -> Iterator[tuple[str, str]]:
    from cepheid.sql.atoms import is_edged

    for reaction in each.reactions:
        yield reaction.declared.condition.text, EDGED if is_edged(reaction.condition) else STEADY


def data(classes: Sequence[ResolvedClass]) -> Iterator[dict[str, object]]:
    plans = {plan.name: plan for plan in class_plans(classes)}
    for each in classes:
        plan = plans.get(each.name)
        found: dict[str, object] = {"class": each.name}
        if plan is not None:
            found["keeps_up_by_keys"] = list(plan.followed)
            found["runs_whole"] = plan.whole
            found["indexes"] = list(plan.indexes)
            found["on_spark"] = _spark_data(plan)
        acts = _statements(each)
        found["statements"] = [{"on": on, "edged": how == EDGED} for on, how in acts]
        yield found


def _spark_data(plan: ClassPlan) -> dict[str, object]:
    from cepheid.bitemporal.spark.stepwise import MOST_CHANGES

    if plan.obstacle is None:
        return {"runs": "once"}
    place = str(plan.obstacle.place)
    return {
        "runs": "per change",
        "at_most": MOST_CHANGES,
        "because": plan.obstacle.reason,
        "place": place,
    }
