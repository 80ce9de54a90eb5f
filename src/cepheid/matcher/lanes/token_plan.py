"""Complex events as tokens: what must be known of one to let compiled code follow it.

One token is one partial match (`subsets`). What is not compiled runs on the reference semantics, and
`NotCompiled` says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepheid.core.types import INT, LONG, DataType, EventType
from cepheid.errors import ProgramError
from cepheid.expr import tree as expr_tree
from cepheid.expr.tree import Expr, conjuncts
from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.lanes.chain_plan import is_plain
from cepheid.matcher.lanes.eligibility import KEYS, SHOWN, names_in
from cepheid.matcher.lanes.predicates import can_test
from cepheid.matcher.lanes.subsets import NotCompiled, TokenState, Ways, deterministic
from cepheid.pattern.algebra import Occurrence, Taken, common_parameters, walk_taken
from cepheid.program.resolved import ResolvedStatement
from cepheid.semantics.construction import automaton_of

_MOST = 60  # types, columns and slots: a word has a bit for each
_INTEGRAL = (INT, LONG)


@dataclass(frozen=True, slots=True)
class TokenType:
    """A type of events that matter, what must be true of one, and the attribute that has its key."""

    event_type: str
    tests: tuple[Expr, ...]
    key: str | None


@dataclass(frozen=True, slots=True)
class Tokens:
    """A complex event whose partial matches are tokens."""

    statement: ResolvedStatement
    types: tuple[TokenType, ...]
    states: Mapping[Ways, TokenState]  # the initial one first
    finals: tuple[Ways, ...]
    periods: tuple[int, ...]  # of zones
    slots: tuple[str, ...]  # the parameters whose values tokens carry
    columns: tuple[tuple[str, DataType, int], ...]  # of a row, each with its slot

    @property
    def pairs(self) -> dict[tuple[str, str], str]:
        """Types and attributes whose values are looked at, each with its parameter."""
        return {
            (name, attribute): parameter
            for name, parameter, attribute, _ in _pairs(self.states)
            if parameter in self.slots
        }


def tokens_of(
    statement: ResolvedStatement, places: ColumnLookup, types: Mapping[str, EventType]
) -> Tokens:
    """A complex event as tokens; NotCompiled if it cannot be."""
    pattern = statement.pattern
    assert isinstance(pattern, Occurrence)
    if not is_plain(statement):
        raise NotCompiled("a choice of its rows")
    key = () if statement.policy.is_global else common_parameters(pattern.form)
    if len(key) > 1:
        raise NotCompiled("more than one common parameter")
    alphabet = _alphabet(pattern, key, places)
    try:
        automaton = automaton_of(pattern, types)
    except ProgramError as problem:
        raise NotCompiled(problem.diagnostics[0].message) from None
    states = deterministic(automaton, key)
    columns = [*_columns(statement, places)]
    used = (name for _, name, _, _ in _pairs(states))
    compared = {name for _, name, _, is_compared in _pairs(states) if is_compared}
    shown = {parameter for _, _, parameter in columns}
    slots = tuple(name for name in dict.fromkeys(used) if name in compared | shown)
    _check_values(states, slots, compared, {p: type for _, type, p in columns}, places)
    targets = dict.fromkeys(ways for state in states.values() for ways in state.targets if ways)
    return Tokens(
        statement,
        alphabet,
        states,
        tuple(ways for ways in targets if ways not in states),
        tuple(zone.period.microseconds for zone in automaton.zones),
        slots,
        tuple((name, type, slots.index(parameter)) for name, type, parameter in columns),
    )


def _alphabet(
    pattern: Occurrence, key: Sequence[str], places: ColumnLookup
) -> tuple[TokenType, ...]:
    """All types whose events matter, those that only disturb among them."""
    kinds = [kind for taken in pattern.declared for kind in places.kinds_of(taken.atom.event_type)]
    if len(set(kinds)) < len(kinds):
        raise NotCompiled("types that inherit from each other", pattern.span)
    if len(pattern.declared) > _MOST:
        raise NotCompiled(f"more than {_MOST} types of events", pattern.span)
    found = tuple(_token_type(taken, key, pattern) for taken in pattern.declared)
    for one in found:
        asked = [*names_in(one.tests), *([] if one.key is None else [one.key])]
        if not all(places.has_one(one.event_type, name) for name in asked):
            raise NotCompiled(f"attributes of {one.event_type} that differ", pattern.span)
    owns = [places.column(one.event_type, one.key) for one in found if one.key is not None]
    if not _are_comparable([column.data_type for column in owns]):
        raise NotCompiled(f"'{key[0]}' as the common parameter, for its type", pattern.span)
    return found


def _token_type(taken: Taken, key: Sequence[str], pattern: Occurrence) -> TokenType:
    name, condition = taken.atom.event_type, taken.atom.condition
    tests = () if condition is None else tuple(conjuncts(condition))
    if not all(map(can_test, tests)):
        raise NotCompiled(f"the check of {name}", pattern.span)
    own = dict(taken.parameters).get(key[0]) if key else None
    if key and own is None:
        raise NotCompiled(f"events of {name}, which do not have '{key[0]}'", pattern.span)
    calls = (call for call in walk_taken(pattern.form) if call.atom.event_type == name)
    for call in calls:
        if key and key[0] not in dict(call.parameters):
            raise NotCompiled("NOT without the common parameter", call.span)
    return TokenType(name, tests, own)


def _are_comparable(types: Sequence[DataType]) -> bool:
    """Whether values are equal if their words are."""
    is_one = len(set(types)) <= 1 or all(type in _INTEGRAL for type in types)
    return is_one and all(type in KEYS for type in types)


def _pairs(states: Mapping[Ways, TokenState]) -> Iterator[tuple[str, str, str, bool]]:
    """Types, parameters, attributes that have their values, and whether these are compared."""
    for state in states.values():
        for name, step in state.steps.items():
            yield from ((name, *pair, False) for pair in step.bound)
            yield from ((name, *pair, True) for pair in step.compared)
        for name, losses in state.losses.items():
            yield from ((name, *pair, True) for loss in losses for pair in loss.compared)


def _columns(
    statement: ResolvedStatement, places: ColumnLookup
) -> Iterator[tuple[str, DataType, str]]:
    """What rows show: names, types and parameters."""
    types = places.derived.get(statement.target, {})
    if [column.name for column in statement.columns] != list(types):
        raise NotCompiled("rows that others derive, too")
    for column in statement.columns:
        expr = column.expr
        if not isinstance(expr, expr_tree.Column) or expr.tag is None or expr.path:
            raise NotCompiled(f"'{column.name}', which no event binds")
        if expr.type != types[column.name] or expr.type not in SHOWN:
            raise NotCompiled(f"the type of '{column.name}'")
        yield column.name, expr.type, expr.tag


def _check_values(
    states: Mapping[Ways, TokenState],
    slots: Sequence[str],
    compared: set[str],
    shown: Mapping[str, DataType],
    places: ColumnLookup,
) -> None:
    """Words of a slot must mean the same, whichever attribute they come from."""
    found: dict[str, set[DataType]] = {name: set() for name in slots}
    for event_type, name, attribute, _ in _pairs(states):
        if name in found:
            if not places.has_one(event_type, attribute):
                raise NotCompiled(f"attributes of {event_type} that differ")
            found[name].add(places.column(event_type, attribute).data_type)
    for name, types in found.items():
        wanted = [*types, *([shown[name]] if name in shown else [])]
        if not (_are_comparable(wanted) if name in compared or len({*wanted}) > 1 else True):
            raise NotCompiled(f"the type of '{name}'")
    for name in shown:
        if name not in found:
            raise NotCompiled(f"'{name}', which no event binds")
    if len({*slots}) > _MOST:
        raise NotCompiled(f"more than {_MOST} parameters")
