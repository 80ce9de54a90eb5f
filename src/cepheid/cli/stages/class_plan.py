"""How the local engine keeps complex classes up to date, and which statements wait for something to happen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType

from cepheid.cli.terminal.text_table import Column, TextTable
from cepheid.program.resolved import ResolvedClass

EDGED = "once, when it comes true"
STEADY = "in every round while it is true"


@dataclass(frozen=True, slots=True)
class ClassPlan:
    """What a change of each class that is read makes the engine do, and the indexes for it."""

    name: str
    whole: dict[str, str]  # classes whose changes make the whole query run, and why
    followed: tuple[str, ...]  # classes whose changes are followed to the keys that they reach
    indexes: tuple[str, ...]


def class_plans(classes: Sequence[ResolvedClass]) -> Iterator[ClassPlan]:
    # Reads SQL with a library that programs without classes do without.
    from cepheid.bitemporal.local.maintenance import maintenance_of

    for each in classes:
        if each.query is not None:
            plan = maintenance_of(each)
            followed = dict.fromkeys(r.table for r in plan.reaches if r.table not in plan.whole)
            indexes = sorted(f"{table}({', '.join(columns)})" for table, columns in plan.indexes)
            yield ClassPlan(each.name, dict(plan.whole), tuple(followed), tuple(indexes))


def text(classes: Sequence[ResolvedClass]) -> Iterator[RenderableType]:
    plans = list(class_plans(classes))
    if plans:
        names = ("class", "a change of", "derives anew", "indexes")
        table = TextTable([Column(name) for name in names])
        for plan in plans:
            for number, (name, work) in enumerate(_work(plan)):
                table.add("" if number else plan.name, name, work, _indexes(plan, name))
        yield table
    if any(each.reactions for each in classes):
        yield ""
        table = TextTable([Column(name) for name in ("class", "on", "acts")])
        for each in classes:
            for number, (condition, acts) in enumerate(_statements(each)):
                table.add("" if number else each.name, condition, acts)
        yield table


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
        acts = _statements(each)
        found["statements"] = [{"on": on, "edged": how == EDGED} for on, how in acts]
        yield found
