"""What a search for fixes gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from cepheid.core.values import shown
from cepheid.errors import Diagnostic, UsageError, error
from cepheid.live.changes import ChangeKind, Commit, Held
from cepheid.live.fixes.contents import Came, Difference, Entry, Members, Replaced
from cepheid.live.matching.matcher import Match
from cepheid.live.metamodel import Feature
from cepheid.live.model import Model, Object
from cepheid.live.programs import Repair
from cepheid.live.transaction import Transaction

Bound: TypeAlias = Literal["depth", "states", "seconds"]


class HasModel(Protocol):
    """What changes a model and does what follows from that, such as a `Run`."""

    @property
    def model(self) -> Model: ...

    def transaction(self) -> AbstractContextManager[Transaction]: ...


@dataclass(frozen=True, slots=True)
class FixStep:
    """A fix and the match that it is done to.

    An object that an earlier step makes stands in it with the number that it would get.
    """

    fix: str
    match: Match
    repair: Repair = field(repr=False, compare=False)
    created: tuple[Object, ...] = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.fix}({', '.join(map(str, self.match.row))})"


@dataclass(frozen=True, slots=True)
class Solution:
    """Steps that lead to a valid model.

    `cost` is that of its steps, `soft` that of the soft objectives which the model misses then, and
    `left` says which.
    """

    steps: tuple[FixStep, ...]
    cost: float
    soft: float
    left: tuple[str, ...]
    found_after: int  # how many models were expanded
    difference: Difference = field(repr=False, compare=False)
    model: Model = field(repr=False, compare=False)
    state: int = field(repr=False, compare=False)

    @property
    def score(self) -> float:
        return self.cost + self.soft

    def __str__(self) -> str:
        return "; ".join(map(str, self.steps))

    def diff(self) -> tuple[str, ...]:
        """What becomes of the model, object by object."""
        keys = sorted(self.difference, key=lambda k: (k[0].id, k[1].name if k[1] else ""))
        return tuple(
            line for one, feature in keys for line in _lines(one, feature, self.difference)
        )

    def apply(self, to: Model | HasModel) -> Commit:
        """Makes all steps in one transaction; UsageError where the model is not as it was."""
        model = to if isinstance(to, Model) else to.model
        self._need_same(model)
        with to.transaction() as change:
            self._need_same(model)  # rules may have been done before it began
            new: dict[Object, Object] = {}
            for step in self.steps:
                first = len(change.changes)
                step.repair.body.do(change, _bound(step, new))
                made = (c.object for c in change.changes[first:] if c.kind is ChangeKind.CREATE)
                new.update(zip(step.created, made, strict=True))
        assert change.commit is not None
        return change.commit

    def _need_same(self, model: Model) -> None:
        if model is not self.model or model.state != self.state:
            fact = (
                "the model is not as it was when the solution was found"
                if model is self.model
                else "the solution was found for another model"
            )
            raise UsageError(error("usage", fact, hint="look for fixes again"))


def _bound(step: FixStep, new: Mapping[Object, Object]) -> dict[str, Held]:
    row = [new.get(v, v) if isinstance(v, Object) else v for v in step.match.row]
    return {name: row[place] for name, place in step.repair.columns}


def _lines(one: Object, feature: Feature | None, difference: Difference) -> Iterator[str]:
    entry: Entry = difference[one, feature]
    if feature is None:
        yield f"{'+' if isinstance(entry, Came) else '-'} {one}"
    elif isinstance(entry, Replaced):
        yield f"{one}.{feature.name}: {_shown(entry.before)} -> {_shown(entry.after)}"
    elif isinstance(entry, Members):
        for sign, values in (("-=", entry.removed), ("+=", entry.added)):
            for value in sorted(map(_shown, values)):
                yield f"{one}.{feature.name} {sign} {value}"


def _shown(value: Held) -> str:
    return "null" if value is None else str(value) if isinstance(value, Object) else shown(value)


@dataclass(frozen=True, slots=True)
class Fixes:
    """The best solutions that were found, the best one first.

    A search is complete if no bound has ended it: then these are the best that there are, and if there
    is none, no steps lead to a valid model.
    """

    solutions: tuple[Solution, ...]
    states: int  # different models that were seen, that at the start included
    expanded: int  # of them, those whose every step was tried
    ended_by: tuple[Bound, ...]  # bounds that were reached
    failures: tuple[Diagnostic, ...]  # of fixes that could not be done
    is_valid: bool = False  # whether the model meets all objectives as it is

    @property
    def is_complete(self) -> bool:
        return not self.ended_by

    def __len__(self) -> int:
        return len(self.solutions)

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)

    def __getitem__(self, place: int) -> Solution:
        return self.solutions[place]

    def __str__(self) -> str:
        bounds = "" if self.is_complete else f" within the bound on {' and '.join(self.ended_by)}"
        seen = f"{self.states:,} {'model' if self.states == 1 else 'models'} seen"
        if not self.solutions and self.is_valid:
            return "nothing to fix: the model is valid"
        if not self.solutions:
            return f"no solution{bounds}: {seen}"
        count = len(self.solutions)
        head = f"{count} {'solution' if count == 1 else 'solutions'}{bounds}: {seen}"
        return "\n".join((head, *(f"{one.score:g}  {one}" for one in self.solutions)))
