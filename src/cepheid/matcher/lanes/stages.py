"""The lanes of a program, each after those that derive what it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from cepheid.core.time import Instant
from cepheid.matcher.columns.interning import Pool, Words
from cepheid.matcher.columns.lookup import lookup_of
from cepheid.matcher.contents import Contents
from cepheid.matcher.lanes.chain_lane import ChainLane
from cepheid.matcher.lanes.chain_plan import Chain
from cepheid.matcher.lanes.filtered_rows import FilteredRows
from cepheid.matcher.lanes.machine_lane import MachineLane
from cepheid.matcher.lanes.machine_plan import OnMachine
from cepheid.matcher.lanes.plan import LanePlan, LanesPlan
from cepheid.matcher.lanes.routes import Route
from cepheid.matcher.lanes.rows import Events, Rows
from cepheid.matcher.lanes.single_lane import SingleLane
from cepheid.matcher.lanes.single_plan import Single
from cepheid.matcher.lanes.token_lane import TokenLane
from cepheid.matcher.lanes.token_plan import Tokens
from cepheid.matcher.lanes.window_lane import WindowLane
from cepheid.matcher.lanes.window_plan import Window, is_shared
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.semantics.inspection.parts import Texts


class Lane(Protocol):
    """One or more statements that run."""

    def start(self, instant: Instant) -> None: ...

    def take(self, batch: Events, pool: Pool) -> None:
        """Takes events, whose time passes; strings are numbers of the pool."""
        ...

    def pass_time(self, instant: Instant) -> None: ...

    def next_due(self) -> Instant | None: ...

    def take_rows(self, batch: Events | None, pool: Pool) -> Sequence[Rows | FilteredRows]:
        """What events of the batch and time have brought since the last call."""
        ...

    @property
    def needed(self) -> int:
        """How much it held when it was last restored or tidied: events, rows, groups."""
        ...

    def pack(self, old: Pool, new: Pool) -> dict[str, Words]:
        """Everything that matters for what is to come, its strings moved to a new pool."""
        ...

    def restore(self, packed: Mapping[str, Words]) -> None: ...

    def tidy(self, old: Pool, new: Pool) -> None:
        """Forgets what does not matter any more; strings are in a new pool from now on."""
        ...

    def contents(self, pool: Pool, texts: Texts, most: int) -> Contents:
        """What it keeps, for people."""
        ...


@dataclass(frozen=True, slots=True)
class Stage:
    """A lane, and the types whose events it takes where others derive some of them."""

    lane: Lane
    kinds: frozenset[str] = frozenset()


def stages_of(program: ResolvedProgram, plan: LanesPlan) -> list[Stage]:
    """The lanes, each after those that derive what it takes. Statements over the same events share one
    where they are of a kind that can."""
    found: list[tuple[frozenset[str], list[LanePlan]]] = []
    for one, kinds in zip(plan.statements, plan.taken, strict=True):
        some = (plans for their, plans in found if their == kinds and _can_share(plans[0], one))
        mine = next(some, None)
        if mine is None:
            found.append((kinds, [one]))
        else:
            mine.append(one)
    return [
        Stage(lane, kinds) for kinds, plans in found for lane in _lanes(program, plans, plan.routes)
    ]


def _can_share(one: LanePlan, other: LanePlan) -> bool:
    """Whether two statements over the same events run in one lane."""
    if isinstance(one, Window) and isinstance(other, Window):
        return is_shared(one, other)
    return type(one) is type(other) and isinstance(one, Single | Chain | OnMachine)


def _lanes(
    program: ResolvedProgram, plans: Sequence[LanePlan], routes: Mapping[int, Sequence[Route]]
) -> Iterator[Lane]:
    places = lookup_of(program)
    match plans[0]:
        case Single():
            found = [route for one in plans for route in routes[one.statement.rank]]
            yield SingleLane(found, places)
        case Chain():
            yield ChainLane([one for one in plans if isinstance(one, Chain)], places)
        case Tokens() as one:
            yield TokenLane(one, places)
        case Window():
            yield WindowLane([one for one in plans if isinstance(one, Window)], places)
        case OnMachine():
            together: list[dict[str, ResolvedStatement]] = []  # of different targets
            for statement in (one.statement for one in plans):
                apart = (some for some in together if statement.target not in some)
                mine = next(apart, None)
                if mine is None:
                    together.append(mine := {})
                mine[statement.target] = statement
            for some in together:
                yield MachineLane(program, [*some.values()])
