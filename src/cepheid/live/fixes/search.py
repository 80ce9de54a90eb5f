"""Looking for steps that lead to a valid model.

Models that were seen are recognised by their content. Steps that do not disturb each other lead to the
same in any order; only one order is gone through (sleep sets, as Godefroid has them): of two such steps
the later one does not wait for the earlier one any more. Each way to a model is kept unless another one
is at least as cheap, as short, and leaves at least as many steps to be tried; so no model is lost.

From a model that meets all objectives the search does not go on.
"""

from __future__ import annotations

import time
from bisect import insort
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Literal, TypeAlias, TypedDict

from cepheid.errors import CepheidError, Diagnostic
from cepheid.live.changes import Commit, Held
from cepheid.live.fixes.contents import Contents, with_changes
from cepheid.live.fixes.footprints import Footprint, Footprints, are_independent
from cepheid.live.fixes.objectives import Objective, chosen_objectives
from cepheid.live.fixes.solutions import Bound, Fixes, FixStep, Solution
from cepheid.live.fixes.space import Activation, Node, Space, created_by
from cepheid.live.matching.matcher import Match
from cepheid.live.model import Model, Object
from cepheid.live.programs import LiveProgram
from cepheid.verbs.arguments import choose, count

Order: TypeAlias = Literal["best", "breadth"]
STATES = 2_000


class SearchOptions(TypedDict, total=False):
    """What can be asked of a search."""

    objectives: Iterable[Objective] | None
    solutions: int
    order: Order
    depth: int | None
    states: int
    seconds: float | None
    clock: Callable[[], float]


def find_fixes(
    program: LiveProgram,
    model: Model,
    *,
    objectives: Iterable[Objective] | None = None,
    solutions: int = 10,
    order: Order = "best",
    depth: int | None = None,
    states: int = STATES,
    seconds: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Fixes:
    """Steps of the program's fixes that lead to a model in which all hard objectives hold.

    The best solutions have the lowest cost of steps and soft objectives together. `order` is which model
    is expanded next: the one with the fewest violations and then the lowest cost, or the one with the
    fewest steps. The search ends at bounds on the steps of a solution (`depth`), the models that are seen
    (`states`), and the time by a clock (`seconds`). The model stays as it is, and nobody is told.
    """
    choose(order, ("best", "breadth"), "order")
    count(solutions, "the number of solutions")
    count(states, "the bound on states")
    if depth is not None:
        count(depth, "the bound on depth")
    space = Space(program, model, chosen_objectives(objectives, program.queries))
    end = None if seconds is None else clock() + seconds
    search = _Search(
        space, solutions, order, depth, states, lambda: end is not None and clock() >= end
    )
    search.run()
    return search.fixes(model)


class _Search:
    def __init__(
        self,
        space: Space,
        solutions: int,
        order: Order,
        depth: int | None,
        states: int,
        is_late: Callable[[], bool],
    ) -> None:
        self.space = space
        self.order = order
        self.depth = depth
        self.limit = states
        self.is_late = is_late
        self.footprints = Footprints(space.queries, space.repairs)
        hard = {o.query for o in space.objectives if o.hard and o.goal == "none"}
        queries = (repair.fix.query for repair in space.repairs)
        self.fixes_of = Counter(query for query in queries if query in hard)
        self.contents = Contents()
        self.ways: dict[int, list[Node]] = {}  # to each model
        self.frontier: list[tuple[tuple[float, ...], int, Node]] = []
        self.postponed: list[Node] = []  # dearer than the solutions that are found
        self.best = _Best(space, solutions)
        self.expanded = 0
        self.pushed = 0
        self.is_over = False
        self.ended_by: dict[Bound, None] = {}
        self.failures: dict[Diagnostic, None] = {}

    def run(self) -> None:
        self.see(self.space.root)
        while not self.is_over and (self.frontier or self.revive()):
            node = heappop(self.frontier)[2]
            if node.is_superseded:
                continue
            if self.is_promising(node):
                self.expand(node)
            else:
                self.postponed.append(node)

    def revive(self) -> bool:
        """Whether models are promising after all, since solutions turned out to have needless steps."""
        postponed, self.postponed = self.postponed, []
        for node in postponed:
            if self.is_promising(node):
                self.wait(node)
            else:
                self.postponed.append(node)
        return bool(self.frontier)

    def is_promising(self, node: Node) -> bool:
        """Whether it may lead to a solution that is better than those that are found."""
        return self.best.bound is None or node.cost <= self.best.bound

    def expand(self, node: Node) -> None:
        """Tries every step that need not sleep; each of them can make those after it sleep.

        When one has led to a model that comes first, the steps that are left wait for their turn.
        """
        self.space.go_to(node)
        if node.left is None:
            self.expanded += 1
            node.left = deque(a for a in self.space.activations() if a not in node.sleep)
            node.earlier = dict(node.sleep)
        rank = self.rank(node)
        while node.left and not self.is_over:
            if self.is_late():
                self.end("seconds")
                return
            activation = node.left.popleft()
            footprint = self.step(node, activation, node.earlier)
            if footprint is not None and self.space.is_lasting(activation):
                node.earlier[activation] = footprint
            if node.left and self.frontier and self.frontier[0][0] < rank:
                self.wait(node)
                return

    def step(
        self, node: Node, activation: Activation, earlier: Mapping[Activation, Footprint]
    ) -> Footprint | None:
        space = self.space
        query = space.repairs[activation.repair].fix.query
        reads = self.footprints.before(activation.repair, query, activation.row)
        try:
            commit = space.do(activation)
        except CepheidError as problem:
            self.fail(activation, problem)
            return None
        if not commit.changes:  # it leads nowhere
            space.undo(commit)
            return None
        footprint = self.footprints.of(activation.repair, activation.row, reads, commit.changes)
        sleep = {a: f for a, f in earlier.items() if are_independent(f, footprint)}
        child = self.child(node, activation, commit, sleep)
        self.see(child)
        child.commit = space.undo(commit)
        return footprint

    def child(
        self,
        node: Node,
        activation: Activation,
        commit: Commit,
        sleep: Mapping[Activation, Footprint],
    ) -> Node:
        return Node(
            parent=node,
            activation=activation,
            commit=None,
            first_id=node.next_id,
            next_id=self.space.model._next_id,
            created=created_by(commit),
            difference=with_changes(node.difference, commit.changes),
            cost=node.cost + self.space.repairs[activation.repair].fix.cost,
            length=node.length + 1,
            standing=self.space.standing(),
            sleep=sleep,
        )

    def see(self, node: Node) -> None:
        """Notes a way to the model that is here."""
        number = self.contents.number(node.difference)
        if number >= self.limit:
            self.end("states")
            return
        if node.standing.broken == 0:
            self.best.add(number, node, self.expanded)
        ways = self.ways.setdefault(number, [])
        if any(_is_as_good(way, node) for way in ways):
            return
        for way in ways:
            way.is_superseded = _is_as_good(node, way)
        self.ways[number] = [*(way for way in ways if not way.is_superseded), node]
        if node.standing.broken or node.standing.soft:
            self.push(node)

    def push(self, node: Node) -> None:
        if self.space.count_activations() == len(node.sleep):  # those that sleep can all be done
            return
        if self.depth is not None and node.length >= self.depth:
            self.ended_by["depth"] = None
            return
        self.wait(node)

    def wait(self, node: Node) -> None:
        self.pushed += 1
        # Of equals the last one: the copy is near to it.
        place = self.pushed if self.order == "breadth" else -self.pushed
        heappush(self.frontier, (self.rank(node), place, node))

    def rank(self, node: Node) -> tuple[float, ...]:
        """The lower, the sooner its steps are tried."""
        if self.order == "breadth":
            return (node.length,)
        return self.stuck(node), node.standing.broken, node.score, node.length

    def stuck(self, node: Node) -> int:
        """How many violations have only fixes that sleep: they stay, unless another step happens to
        remove them, and other ways lead to a valid model sooner."""
        asleep = Counter(
            (query, activation.row)
            for activation in node.sleep
            if (query := self.space.repairs[activation.repair].fix.query) in self.fixes_of
        )
        return sum(count == self.fixes_of[query] for (query, _), count in asleep.items())

    def end(self, bound: Bound) -> None:
        self.ended_by[bound] = None
        self.is_over = True

    def fail(self, activation: Activation, problem: CepheidError) -> None:
        fix = self.space.repairs[activation.repair].fix
        for found in problem.diagnostics:
            message = f"fix '{fix.name}': {found.message}"
            self.failures[replace(found, message=message, span=found.span or fix.span)] = None

    def fixes(self, model: Model) -> Fixes:
        return Fixes(
            tuple(self.solution(model, found) for found in self.best.kept),
            len(self.ways),
            self.expanded,
            tuple(self.ended_by),
            tuple(self.failures),
            self.space.root.standing.broken == 0 and not self.space.root.standing.soft,
        )

    def solution(self, model: Model, found: _Found) -> Solution:
        space, node = self.space, found.node
        space.go_to(node)

        def original(value: Held) -> Held:
            """An object of the model itself; one that a step makes is not in it."""
            if isinstance(value, Object) and value.id < space.first_new:
                return model[value.id]
            return value

        steps = []
        for one in node.path():
            assert one.activation is not None
            repair = space.repairs[one.activation.repair]
            match = Match(repair.fix.query, tuple(map(original, one.activation.row)))
            steps.append(FixStep(repair.fix.name, match, repair, one.created))
        soft, left = node.standing.soft, space.left()
        return Solution(
            tuple(steps), node.cost, soft, left, found.after, node.difference, model, model.state
        )


def _is_as_good(way: Node, other: Node) -> bool:
    """Whether whatever one way to a model leads to, another leads to as well, at no higher price."""
    return (
        way.cost <= other.cost
        and way.length <= other.length
        and way.sleep.keys() <= other.sleep.keys()
    )


@dataclass(frozen=True, slots=True, order=True)
class _Found:
    """A way to a valid model; the lower, the better."""

    score: float
    length: int
    text: str
    number: int  # of the model
    soft: float = field(compare=False)
    after: int = field(compare=False)  # how many models were expanded
    node: Node = field(compare=False)
    steps: Counter[Activation] = field(compare=False)


class _Best:
    """The best solutions up to now: of each model the best way to it.

    A way that has all steps of another one to a valid model, and leaves no less of the soft objectives, has
    needless steps and is no solution. So is one that leaves no less than there is at the start, if that is valid.
    """

    def __init__(self, space: Space, wanted: int) -> None:
        self.space = space
        self.wanted = wanted
        self.kept: list[_Found] = []
        self.bound: float | None = None  # what is worse is not asked for
        self._ways: list[_Found] = []  # to valid models
        self._found: list[_Found] = []
        self._by_number: dict[int, _Found] = {}

    def add(self, number: int, node: Node, after: int) -> None:
        path = [one.activation for one in node.path() if one.activation is not None]
        text = "; ".join(map(self.space.text, path))
        soft = node.standing.soft
        found = _Found(node.score, node.length, text, number, soft, after, node, Counter(path))
        known = self._by_number.get(number)
        if known is not None and (known.score, known.length) == (found.score, found.length):
            # As good a way to the same model was known before: the text decides which one is shown.
            found = replace(found, after=known.after)
        self._ways.append(found)
        is_best = known is None or found < known
        if is_best:
            if known is not None:
                self._found.remove(known)
            self._by_number[number] = found
            insort(self._found, found)
        is_kept = is_best and (len(self.kept) < self.wanted or found < self.kept[-1])
        if is_kept or any(_is_part(found, one) for one in self.kept):
            self._choose()

    def _choose(self) -> None:
        self.kept = []
        self.bound = None
        for found in self._found:
            if not self._has_needless(found):
                self.kept.append(found)
            if len(self.kept) == self.wanted:
                self.bound = found.score
                return

    def _has_needless(self, found: _Found) -> bool:
        start = self.space.root.standing
        is_no_better = start.broken == 0 and found.soft >= start.soft
        return is_no_better or any(_is_part(way, found) for way in self._ways)


def _is_part(way: _Found, other: _Found) -> bool:
    return way.length < other.length and way.soft <= other.soft and way.steps < other.steps
