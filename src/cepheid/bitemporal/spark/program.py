"""All steps of a program: from detections to versions, actions, changes and toggles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepheid.bitemporal.repository import AfterFreeze
from cepheid.bitemporal.rounds import Rounds
from cepheid.bitemporal.spark.chronons import Chronons
from cepheid.bitemporal.spark.derived import Derived
from cepheid.bitemporal.spark.parts import Unrewritable
from cepheid.bitemporal.spark.reactions import Reacting
from cepheid.bitemporal.spark.steps import Plan
from cepheid.bitemporal.spark.stepwise import Stepwise, stepwise_of
from cepheid.bitemporal.spark.subscribed import Subscribed
from cepheid.errors import Span
from cepheid.program.classes import ComplexClass, SubscribedClass
from cepheid.program.resolved import ResolvedClass
from cepheid.sql.places import Places


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    """The steps in SQL, and those by name that a task works out round by round."""

    steps: Plan
    stepwise: dict[str, Stepwise]


def plan_of(
    classes: Sequence[ResolvedClass],
    rounds: Rounds,
    given: Mapping[str, Iterable[str]],
    after_freeze: AfterFreeze = "refuse",
) -> ProgramPlan:
    """The steps of classes, each after those that it reads; inputs of subscribed ones have columns."""
    chronons, plan = Chronons(rounds), Plan()
    stepwise: dict[str, Stepwise] = {}
    by_name = {each.declared.name: each.declared for each in classes}
    for each in classes:
        declared = each.declared
        if isinstance(declared, SubscribedClass):
            columns = frozenset(given[declared.name])
            plan.add(Subscribed(declared, chronons, columns, after_freeze).steps())
        else:
            derived = Derived(each, chronons)
            try:
                steps, rows = derived.rewritten()
            except Unrewritable:
                steps, rows = [], f"{declared.name}@stepwise"
                stepwise[rows] = stepwise_of(each, by_name, rounds)
            plan.add(steps)
            plan.add(derived.steps(rows))
        plan.add(Reacting(each, chronons).steps())
    return ProgramPlan(plan, stepwise)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a query runs once per change, and where that is said."""

    reason: str
    place: Span


def obstacles(classes: Sequence[ResolvedClass]) -> Iterator[tuple[str, Obstacle | None]]:
    """Of each complex class what keeps its query from being worked out for all rounds at once."""
    chronons = Chronons(Rounds(1, 0, 0))  # which rounds there are makes no difference
    for each in classes:
        if isinstance(each.declared, ComplexClass):
            try:
                Derived(each, chronons).rewritten()
            except Unrewritable as problem:
                place = Places(each.declared.select).of(problem.node)
                yield each.name, Obstacle(problem.reason, place)
            else:
                yield each.name, None
