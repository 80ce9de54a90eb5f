"""Which statements take whole batches, as what, and in which order they do so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cepheid.analysis.retention import speaks_with_time
from cepheid.core.once import once
from cepheid.core.types import lineage
from cepheid.matcher.columns.lookup import ColumnLookup, lookup_of
from cepheid.matcher.gaps import COMPLEX_EVENT, NotCompiled, left_to_reference
from cepheid.matcher.lanes.chain_plan import Chain, chain_of
from cepheid.matcher.lanes.eligibility import tells_at_once
from cepheid.matcher.lanes.machine_plan import OnMachine, on_machine_of
from cepheid.matcher.lanes.routes import Route, direct, through_filters
from cepheid.matcher.lanes.single_plan import Single, event_of, single_of
from cepheid.matcher.lanes.token_plan import Tokens, tokens_of
from cepheid.matcher.lanes.window_plan import Window, window_of
from cepheid.pattern.algebra import Occurrence
from cepheid.program.graph import Graph, graph_of
from cepheid.program.normal import NormalStatement, normalize
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement

LanePlan: TypeAlias = Single | Chain | Tokens | Window | OnMachine


EACH = "event by event"
_KINDS: dict[type[LanePlan], str] = {
    Single: "filter",
    Chain: "chain",
    Tokens: "token automaton",
    Window: "window",
}


class Way(NamedTuple):
    """As what a statement takes whole batches, or that it takes each event by itself, and why."""

    kind: str
    because: str = ""


@dataclass(frozen=True, slots=True)
class LanesPlan:
    """The statements of a program, each after those whose rows it takes as events."""

    statements: tuple[LanePlan, ...]
    # Of each the types whose events it takes where others derive some of them; none where filters lead to it.
    taken: tuple[frozenset[str], ...]
    # The ways to each filter, by its rank.
    routes: Mapping[int, tuple[Route, ...]]
    levels: int  # the most statements on the way from an event of the input to a row
    forwarded: frozenset[str]  # the derived types that statements take

    @property
    def has_keys(self) -> bool:
        """Whether its rows can have keys, in the form that the reference semantics defines."""
        timed = (
            _gives_rows_by_time(one)
            for one, taken in zip(self.statements, self.taken, strict=True)
            if taken or isinstance(one, OnMachine)
        )
        return not any(timed)


@once
def lanes_of(program: ResolvedProgram) -> LanesPlan | None:
    """The statements as what can take whole batches; None if one of them cannot."""
    return _decided(program).plan


def ways_together(program: ResolvedProgram) -> dict[str, Way]:
    """How each statement takes the events of a batch, by its name, if all of them run together."""
    decided = _decided(program)
    if decided.plan is None:
        return {s.name: Way(EACH, decided.obstacle) for s in program.statements}
    normal = {statement.resolved.name: statement for statement in normalize(program).statements}
    return {
        one.statement.name: Way(EACH, _why_on_machine(normal[one.statement.name]))
        if isinstance(one, OnMachine)
        else Way(_KINDS[type(one)])
        for one in decided.plan.statements
    }


class _Decided(NamedTuple):
    """A plan, or why there is none."""

    plan: LanesPlan | None
    obstacle: str = ""


def _decided(program: ResolvedProgram) -> _Decided:
    """What the machine leaves to the reference semantics is left by lanes, too, but for complex events."""
    graph = graph_of(program)
    if graph.cycles:
        return _Decided(None, "statements take what comes of their own rows")
    left = left_to_reference(program)
    found: list[LanePlan] = []
    for statement in normalize(program).statements:
        name = statement.resolved.name
        can_be_lane = left.get(name, []) in ([], [COMPLEX_EVENT])
        plan = _plan(statement, program) if can_be_lane else None
        if plan is None and name in left:
            return _Decided(None, f"'{name}' is left to the reference semantics")
        plan = plan or on_machine_of(statement.resolved, program, lookup_of(program))
        if plan is None:
            return _Decided(None, f"'{name}' gives rows that are not new, or no plain values")
        found.append(plan)
    if all(isinstance(plan, OnMachine) for plan in found):
        return _Decided(None, "no statement is a filter, a chain or a window")
    for number, makers in enumerate(graph.producers):
        if makers and not _can_be_fed(found[number]):
            name = found[number].statement.name
            return _Decided(None, f"'{name}' may have timers at the instant of what it takes")
    order = [number for component in graph.components for number in component]
    singles = {n: one for n in order if isinstance(one := found[n], Single)}
    routes = through_filters(singles, graph.producers, lookup_of(program))
    forwarded = _forwarded(program)
    nothing: frozenset[str] = frozenset()
    return _Decided(
        LanesPlan(
            tuple(found[n] for n in order),
            tuple(
                nothing if n in routes else _taken(found[n].statement, program, forwarded)
                for n in order
            ),
            {one.statement.rank: routes.get(n) or (direct(one),) for n, one in singles.items()},
            max(_depths(graph), default=1),
            forwarded,
        )
    )


def _why_on_machine(normal: NormalStatement) -> str:
    statement = normal.resolved
    if not tells_at_once(statement):
        return "its clauses choose, order or hold back rows"
    if statement.pattern is not None and event_of(normal) is None:
        return "its pattern is no chain of events with one key and alternatives"
    return "its window, or what it computes, is not for whole batches"


def _plan(statement: NormalStatement, program: ResolvedProgram) -> LanePlan | None:
    try:
        return _lane_of(statement, lookup_of(program), program)
    except NotCompiled:
        return None


def uncompiled(program: ResolvedProgram) -> dict[str, NotCompiled]:
    """Of each complex event that cannot take whole batches, why not."""
    found: dict[str, NotCompiled] = {}
    places = lookup_of(program)
    for statement in normalize(program).statements:
        try:
            _lane_of(statement, places, program)
        except NotCompiled as reason:
            found[statement.resolved.name] = reason
    return found


def _lane_of(
    statement: NormalStatement, places: ColumnLookup, program: ResolvedProgram
) -> LanePlan | None:
    """How a statement takes whole batches, if it can; NotCompiled if it is a complex event that cannot."""
    found = (
        single_of(statement, places) or chain_of(statement, places) or window_of(statement, places)
    )
    if found is None and isinstance(statement.resolved.pattern, Occurrence):
        return tokens_of(statement.resolved, places, program.types)
    return found


def _can_be_fed(plan: LanePlan) -> bool:
    """Whether its timers fall due after all that is derived at the instant at which they are armed."""
    if isinstance(plan, OnMachine):
        return plan.can_be_fed
    return all(period > 0 for period in _periods(plan))


def _periods(plan: LanePlan) -> Iterator[int]:
    match plan:
        case Chain(period=int(period)):
            yield period
        case Tokens():
            yield from plan.periods
        case Window() if plan.period is not None:
            yield plan.period


def _gives_rows_by_time(plan: LanePlan) -> bool:
    return not isinstance(plan, Tokens) and speaks_with_time(plan.statement)


def _depths(graph: Graph) -> Sequence[int]:
    """How many statements are on the longest way to the rows of each."""
    depths = [0] * len(graph.statements)
    for component in graph.components:
        for number in component:
            depths[number] = 1 + max((depths[n] for n in graph.producers[number]), default=0)
    return depths


def _forwarded(program: ResolvedProgram) -> frozenset[str]:
    taken = {name for statement in program.statements for name in statement.inputs}
    targets = {statement.target for statement in program.statements}
    return frozenset(name for name in targets if taken & lineage(name, program.types))


def _taken(
    statement: ResolvedStatement, program: ResolvedProgram, forwarded: frozenset[str]
) -> frozenset[str]:
    arriving = frozenset(statement.arriving(program.types))
    return arriving if arriving & forwarded else frozenset()
