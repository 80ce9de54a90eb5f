"""The models that steps lead to: a copy of the model, which goes from one to another.

What is tried changes the copy alone. A step that was made is undone and made again exactly, so that the
objects it creates are the same whenever the copy comes back to where they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cepheid.errors import UsageError, error
from cepheid.live.changes import ChangeKind, Commit, Held
from cepheid.live.copies import copy_of
from cepheid.live.fixes.contents import Difference
from cepheid.live.fixes.footprints import Footprint
from cepheid.live.fixes.objectives import Objective, Standing, standing
from cepheid.live.matching.matcher import Match, row_order
from cepheid.live.matching.network import Network
from cepheid.live.model import Model, Object
from cepheid.live.programs import LiveProgram, Repair
from cepheid.live.queries.resolved import Absence, Call, Mean, Queries, ResolvedQuery, Tally


@dataclass(frozen=True, slots=True)
class Activation:
    """A fix that can be done to a match."""

    repair: int  # its place among the fixes
    row: tuple[Held, ...]


@dataclass(slots=True, eq=False)
class Node:
    """A model that steps have led to: the last of them, and where it started from."""

    parent: Node | None
    activation: Activation | None
    commit: Commit | None  # by reverting it, the step is undone, and made again
    first_id: int  # of the next object, before the step and after it
    next_id: int
    created: tuple[Object, ...]
    difference: Difference
    cost: float
    length: int
    standing: Standing
    # Steps that need not be made from here: others lead to where they do.
    sleep: Mapping[Activation, Footprint]
    # While it is expanded: steps to be tried, and those that can sleep after them.
    left: deque[Activation] | None = None
    earlier: dict[Activation, Footprint] = field(default_factory=dict)
    is_superseded: bool = False

    @property
    def score(self) -> float:
        return self.cost + self.standing.soft

    def path(self) -> list[Node]:
        """From the first step to this one."""
        found: list[Node] = []
        node = self
        while node.parent is not None:
            found.append(node)
            node = node.parent
        return found[::-1]


class Space:
    def __init__(self, program: LiveProgram, model: Model, objectives: Sequence[Objective]) -> None:
        model.need_quiet("no fixes can be looked for")
        self.repairs: Sequence[Repair] = program.repairs
        self.objectives = objectives
        asked = {o.query for o in objectives} | {r.fix.query for r in self.repairs}
        self.queries = _needed(program.queries, asked)
        self.model = copy_of(model)
        self.network = Network(self.model, self.queries)
        self.matches: Mapping[str, Mapping[tuple[Any, ...], int]] = {
            name: results.support for name, results in self.network.results.items()
        }
        self.model.listeners.append(self._take)
        self.first_new = self.model._next_id
        first = self.first_new
        self.root = Node(None, None, None, first, first, (), {}, 0.0, 0, self.standing(), {})
        self.here = self.root

    def _take(self, commit: Commit) -> None:
        self.network.take(commit)
        self.network.forget()

    def standing(self) -> Standing:
        """How well the model here meets the objectives."""
        return standing(self.objectives, self.matches)

    # Steps.

    def count_activations(self) -> int:
        return sum(len(self.matches[repair.fix.query]) for repair in self.repairs)

    def activations(self) -> Iterator[Activation]:
        """All that can be done here: to objects of the model by cost, in the order of the fixes and
        matches, then to those that have objects which steps made."""
        with_new = []
        for place, repair in sorted(enumerate(self.repairs), key=lambda one: one[1].fix.cost):
            for row in sorted(self.matches[repair.fix.query], key=row_order):
                activation = Activation(place, row)
                if self.is_lasting(activation):
                    yield activation
                else:
                    with_new.append(activation)
        yield from with_new

    def is_lasting(self, activation: Activation) -> bool:
        """Whether it is about objects that were there at the start: such a one is the same
        wherever it can be done."""
        return all(v.id < self.first_new for v in activation.row if isinstance(v, Object))

    def do(self, activation: Activation) -> Commit:
        """Makes a step from here; CepheidError where it fails, and the model is as it was."""
        repair = self.repairs[activation.repair]
        bound = {name: activation.row[place] for name, place in repair.columns}
        with self.model.transaction() as change:
            repair.body.do(change, bound)
        assert change.commit is not None
        return change.commit

    def undo(self, commit: Commit) -> Commit:
        """Undoes the step that was made from here; what reverting that makes again."""
        undone = self.model.revert(commit)
        self.model._next_id = self.here.next_id
        return undone

    def go_to(self, node: Node) -> None:
        """Undoes steps up to where both ways part, then makes those that lead on."""
        ahead: list[Node] = []
        target = node
        while target is not self.here:
            if target.length > self.here.length:
                ahead.append(target)
                assert target.parent is not None
                target = target.parent
            else:
                self._revert(self.here)
                assert self.here.parent is not None
                self.model._next_id = self.here.first_id
                self.here = self.here.parent
        for one in reversed(ahead):
            self._revert(one)
            self.model._next_id = one.next_id
            self.here = one

    def _revert(self, node: Node) -> None:
        assert node.commit is not None
        node.commit = self.model.revert(node.commit)

    # For showing.

    def match(self, activation: Activation) -> Match:
        return Match(self.repairs[activation.repair].fix.query, activation.row)

    def text(self, activation: Activation) -> str:
        repair = self.repairs[activation.repair]
        return f"{repair.fix.name}({', '.join(map(str, activation.row))})"

    def left(self) -> tuple[str, ...]:
        """What soft objectives miss here, in the words of the constraints."""
        found: list[str] = []
        for objective in self.objectives:
            query, rows = self.queries.by_name[objective.query], self.matches[objective.query]
            if objective.hard or not objective.missed(len(rows)):
                continue
            if objective.goal == "some":
                found.append(f"no {query.name}")
            else:
                found += (_words(query, row) for row in sorted(rows, key=row_order))
        return tuple(found)


def created_by(commit: Commit) -> tuple[Object, ...]:
    return tuple(c.object for c in commit.changes if c.kind is ChangeKind.CREATE)


def _words(query: ResolvedQuery, row: tuple[Held, ...]) -> str:
    return query.message(row) if query.tree.rule is not None else repr(Match(query.name, row))


def _needed(queries: Queries, asked: set[str]) -> Queries:
    """Those that are asked for, and those that they ask for."""
    needed: set[str] = set()
    pending = sorted(asked)
    while pending:
        name = pending.pop()
        if name in needed:
            continue
        needed.add(name)
        for atom in (a for body in queries.by_name[name].bodies for a in body.atoms):
            if isinstance(atom, Call | Absence | Tally):
                pending.append(atom.query)
            elif isinstance(atom, Mean):
                fact = f"'{name}' has a moving average, and what is only tried has no past"
                hint = "name objectives without it"
                span = queries.by_name[name].tree.span
                raise UsageError(error("usage", fact, span, hint))
    return Queries(
        queries.metamodel,
        tuple(query for query in queries.queries if query.name in needed),
        tuple(name for name in queries.order if name in needed),
    )
