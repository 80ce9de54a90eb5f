"""Objectives: what a model should be like, said by queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cepheid.errors import Severity, UsageError, error, suggest
from cepheid.live.queries.resolved import Queries
from cepheid.verbs.arguments import choose

Goal: TypeAlias = Literal["none", "some"]


@dataclass(frozen=True, slots=True)
class Objective:
    """That a query has no match, or has some.

    A hard one holds in every solution. Of a soft one, each match that should not be costs its weight,
    or that there is none.
    """

    query: str
    goal: Goal = "none"
    hard: bool = True
    weight: float = 1.0

    def __post_init__(self) -> None:
        choose(self.goal, ("none", "some"), "goal")
        if not self.weight >= 0:
            hint = "what is better has a lower cost, down to 0"
            raise UsageError(error("usage", f"a weight cannot be {self.weight}", hint=hint))

    def missed(self, matches: int) -> int:
        """How often it does not hold."""
        return matches if self.goal == "none" else int(matches == 0)


@dataclass(frozen=True, slots=True)
class Standing:
    """How well a model meets objectives: what it breaks of the hard ones, what the soft ones cost."""

    broken: int
    soft: float


def default_objectives(queries: Queries) -> tuple[Objective, ...]:
    """No `@Constraint` has a match: of errors that is hard, of others soft."""
    return tuple(
        Objective(query.name, hard=query.tree.rule.severity is Severity.ERROR)
        for query in queries.queries
        if query.tree.rule is not None
    )


def chosen_objectives(given: Iterable[Objective] | None, queries: Queries) -> tuple[Objective, ...]:
    """Those that were given, else those of the constraints; UsageError where they make no sense."""
    objectives = default_objectives(queries) if given is None else tuple(given)
    for objective in objectives:
        if objective.query not in queries.by_name:
            hint = suggest(objective.query, queries.by_name, "patterns")
            fact = f"no pattern '{objective.query}' for an objective"
            raise UsageError(error("unknown-query", fact, hint=hint))
    if not objectives:
        fact = "nothing says what the model should be like"
        hint = "give a pattern a @Constraint, or name objectives"
        raise UsageError(error("usage", fact, hint=hint))
    return objectives


def standing(objectives: Iterable[Objective], matches: Mapping[str, Sized]) -> Standing:
    broken, soft = 0, 0.0
    for objective in objectives:
        missed = objective.missed(len(matches[objective.query]))
        if objective.hard:
            broken += missed
        else:
            soft += objective.weight * missed
    return Standing(broken, soft)
