"""Statements that never fire, that fire in every round, and that fire together on one change.

Each is asked in every situation that its class can tell apart (constellations.py). A statement that holds in none never
fires. One that holds of an event of which nothing new is learnt, and in the next round again, fires in every round.
Two that hold together when an event is announced, changes or is cancelled, each because of that, both fire on it; where
only time passes, or the same condition is written twice, that is no finding.

What is seen: primitives, comparisons with NOW, of attributes with constants and with their old values. What is not seen:
functions and sums, of which any outcome counts as possible, and what other classes rule out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from sqlglot import exp

from cepheid.analysis.classes.constellations import (
    Constellations,
    Described,
    Situation,
    may_hold,
)
from cepheid.analysis.classes.written import text_of
from cepheid.core.time import MICROSECONDS
from cepheid.errors import Diagnostic, Span, note, warning
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedClass, ResolvedReaction
from cepheid.sql.conditions import ResolvedCondition
from cepheid.sql.dialect import parse_condition
from cepheid.sql.places import Places
from cepheid.sql.selects import conjuncts

# Times that differ may lie in one chronon: what fires in none of these never fires.
_CHRONONS = (1, *(MICROSECONDS[unit] for unit in ("seconds", "minutes", "hours", "days")))


def find(graph: Graph) -> Iterator[Diagnostic]:
    for resolved in graph.program.classes:
        if resolved.reactions:
            yield from _Class(resolved).find()


class _Class:
    """The statements of one class."""

    def __init__(self, resolved: ResolvedClass) -> None:
        self._reactions = resolved.reactions
        self._table = resolved.table
        self._conditions = [reaction.condition for reaction in resolved.reactions]
        self._fine = Constellations(self._table, self._conditions)

    def find(self) -> Iterator[Diagnostic]:
        for place, reaction in enumerate(self._reactions):
            if _compares_with_null(reaction.condition.tree):
                continue  # a finding of its own
            if not self._can_fire(self._conditions, [place]):
                yield self._never(reaction)
            elif self._goes_on(place):
                fact = f"{_spelled(reaction)} may hold in round after round, and each calls {_action(reaction)}"
                hint = (
                    "let it wait for something that happens, such as ANNOUNCEMENT, CHANGE or LATE"
                )
                yield warning("every-round", fact, _place(reaction), hint)
            else:
                yield from self._missing(place, reaction)
        yield from self._together()

    # Never

    def _can_fire(self, asked: Sequence[ResolvedCondition], places: Sequence[int]) -> bool:
        for chronon in _CHRONONS:
            found = Constellations(self._table, self._conditions, asked, chronon=chronon)
            if any(True for _ in found.situations(places)):
                return True
        return False

    def _never(self, reaction: ResolvedReaction) -> Diagnostic:
        fact = f"{_action(reaction)} is never called: no event is ever so"
        return warning("never-fires", fact, _place(reaction), self._reason(reaction))

    def _reason(self, reaction: ResolvedReaction) -> str | None:
        """The smallest part of a condition that is impossible."""
        parts = list(conjuncts(reaction.condition.tree))
        places = Places(reaction.declared.condition)
        written = list(conjuncts(parse_condition(reaction.declared.condition)))
        if len(parts) != len(written):
            return None
        asked = [replace(reaction.condition, tree=part) for part in parts]
        for size in (1, 2):
            for chosen in combinations(range(len(parts)), size):
                if not self._can_fire(asked, chosen):
                    texts = [f"`{text_of(places, written[place])}`" for place in chosen]
                    excluded = "exclude each other" if size == 2 else "is never true here"
                    return f"{' and '.join(texts)} {excluded}"
        return None

    # Without a version

    def _missing(self, place: int, reaction: ResolvedReaction) -> Iterator[Diagnostic]:
        """Arguments of a version that is never there when the statement fires."""
        situations = list(self._fine.situations([place]))
        for side, called, other in (("old", "an OLD", "NEW"), ("new", "a NEW", "OLD")):
            if any(situation[f"has_{side}"] for situation in situations):
                continue
            for resolved, written in zip(
                reaction.arguments, reaction.declared.arguments, strict=True
            ):
                if any(each.table == side for each in resolved.tree.find_all(exp.Column)):
                    fact = f"when {_spelled(reaction)} holds, there is never {called}"
                    hint = f"its attributes are null; those of {other} are there"
                    yield warning("missing-version", fact, Places(written).whole, hint)

    # Every round

    def _goes_on(self, place: int) -> bool:
        condition, sets = self._fine.conditions[place], self._fine.sets
        for situation in self._fine.situations([place], is_steady=True):
            now = situation["now"]
            assert isinstance(now, int)
            fired = sets(situation) is True or situation["fired"]
            if may_hold(condition({**situation, "now": now + 1, "fired": fired})):
                return True
        return False

    # Together

    def _together(self) -> Iterator[Diagnostic]:
        for place, reaction in enumerate(self._reactions):
            found = {
                other: situation
                for other in range(place)
                if self._reactions[other].condition.tree != reaction.condition.tree
                and (situation := self._meeting(other, place))
            }
            if found:
                others = " and ".join(_spelled(self._reactions[other]) for other in found)
                when = Described(next(iter(found.values())), self._fine.chronon)
                fact = f"{_spelled(reaction)} holds beside {others}, for example when {when}"
                hint = (
                    "all of them act; exclude one in the condition of the other if only one should"
                )
                yield note("both-fire", fact, _place(reaction), hint)

    def _meeting(self, one: int, other: int) -> Situation | None:
        """A situation in which two statements surely hold, each because of what was learnt."""
        pair = (one, other)
        for situation in self._fine.situations(pair):
            before = _unlearnt(situation)
            if before is not None and all(
                self._fine.conditions[place](situation) is True
                and self._fine.conditions[place](before) is not True
                for place in pair
            ):
                return situation
        return None


def _unlearnt(situation: Situation) -> Situation | None:
    """The situation in which that of the event had been known already; None where it had."""
    if situation["has_old"] and situation["has_new"] and not situation["differs"]:
        return None
    kept, gone = ("new", "old") if situation["has_new"] else ("old", "new")
    same = {
        f"{gone}_{name.removeprefix(f'{kept}_')}": value
        for name, value in situation.items()
        if name.startswith(f"{kept}_")
    }
    return {**situation, **same, "has_new": True, "has_old": True, "differs": False}


def _compares_with_null(tree: exp.Expr) -> bool:
    tests = tree.find_all(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
    return any(isinstance(t.this, exp.Null) or isinstance(t.expression, exp.Null) for t in tests)


def _place(reaction: ResolvedReaction) -> Span:
    return Places(reaction.declared.condition).whole


def _spelled(reaction: ResolvedReaction) -> str:
    return f"`{reaction.declared.condition.text}`"


def _action(reaction: ResolvedReaction) -> str:
    return f"'{reaction.declared.action}'"
