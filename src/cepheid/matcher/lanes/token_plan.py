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
from cepheid.matcher.gaps import NotCompiled, TokenGap
from cepheid.matcher.lanes.eligibility import is_key, is_row_at_once, is_shown, names_in
from cepheid.matcher.lanes.predicates import can_test
from cepheid.matcher.lanes.subsets import TokenState, Ways, deterministic
from cepheid.pattern.algebra import Occurrence, Taken, common_parameters, walk_taken
from cepheid.program.resolved import ResolvedStatement
from cepheid.semantics.construction import automaton_of

_MOST = 60  # types, columns and slots: a word has a bit for each
_INTEGRAL = (INT, LONG)


@dataclass(frozen=True, slots=True)
class TokenType:
    """A type of events that matter, what must be true of one, and the attributes that have its key."""

    event_type: str
    tests: tuple[Expr, ...]
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tokens:
    """A complex event whose partial matches are tokens."""

    statement: ResolvedStatement
    types: tuple[TokenType, ...]
    states: Mapping[Ways, TokenState]  # the initial one first
    finals: tuple[Ways, ...]
    periods: tuple[int, ...]  # of zones
    slots: tuple[str, ...]  # the parameters whose values tokens carry
    # Of a row; each with its slot, None where nothing is ever bound.
    columns: tuple[tuple[str, DataType, int | None], ...]

    @property
    def pairs(self) -> dict[tuple[str, str], set[str]]:
        """Types and attributes whose values are looked at, each with its parameters."""
        found: dict[tuple[str, str], set[str]] = {}
        for value in _values(self.states):
            if value.parameter in self.slots:
                found.setdefault(value.place, set()).add(value.parameter)
        return found


def tokens_of(
    statement: ResolvedStatement, places: ColumnLookup, types: Mapping[str, EventType]
) -> Tokens:
    """A complex event as tokens; NotCompiled if it cannot be."""
    pattern = statement.pattern
    assert isinstance(pattern, Occurrence)
    if not is_row_at_once(statement):
        raise NotCompiled(TokenGap.ROWS)
    key = () if statement.policy.is_global else common_parameters(pattern.form)
    alphabet = _alphabet(pattern, key, places)
    try:
        automaton = automaton_of(pattern, types)
    except ProgramError:
        raise NotCompiled(TokenGap.STATES, pattern.span) from None
    states = deterministic(automaton, key)
    shown = [*_shown(statement, places)]
    slots = _slots(states, {name: type for _, type, name in shown if name is not None}, places)
    targets = dict.fromkeys(ways for state in states.values() for ways in state.targets if ways)
    return Tokens(
        statement,
        alphabet,
        states,
        tuple(ways for ways in targets if ways not in states),
        tuple(zone.period.microseconds for zone in automaton.zones),
        slots,
        tuple((n, type, slots.index(p) if p in slots else None) for n, type, p in shown),
    )


# The events that matter -----------------------------------------------------------------------


def _alphabet(
    pattern: Occurrence, key: Sequence[str], places: ColumnLookup
) -> tuple[TokenType, ...]:
    """All types whose events matter, those that only disturb among them."""
    kinds = [kind for taken in pattern.declared for kind in places.kinds_of(taken.atom.event_type)]
    if len(set(kinds)) < len(kinds):
        raise NotCompiled(TokenGap.INHERITANCE, pattern.span)
    if len(pattern.declared) > _MOST:
        raise NotCompiled(TokenGap.TYPES, pattern.span)
    for call in walk_taken(pattern.form):
        if not {*key} <= {name for name, _ in call.parameters}:
            raise NotCompiled(TokenGap.UNKEYED_NOT, call.span)
    found = tuple(_token_type(taken, key, places) for taken in pattern.declared)
    for place, name in enumerate(key):
        columns = [places.column(one.event_type, one.key[place]) for one in found]
        if not _are_comparable([column.data_type for column in columns]):
            raise NotCompiled(TokenGap.VALUES, pattern.span, name)
    return found


def _token_type(taken: Taken, key: Sequence[str], places: ColumnLookup) -> TokenType:
    name, condition, bound = taken.atom.event_type, taken.atom.condition, dict(taken.parameters)
    tests = () if condition is None else tuple(conjuncts(condition))
    if not all(map(can_test, tests)):
        raise NotCompiled(TokenGap.CHECK, taken.span, name)
    if not bound.keys() >= {*key}:
        raise NotCompiled(TokenGap.UNKEYED, taken.span, name)
    own = tuple(bound[parameter] for parameter in key)
    for attribute in (*names_in(tests), *own):
        _need_one(places, name, attribute)
    return TokenType(name, tests, own)


def _need_one(places: ColumnLookup, event_type: str, attribute: str) -> None:
    """An attribute has one type in all kinds of an event type."""
    if not places.has_one(event_type, attribute):
        raise NotCompiled(TokenGap.INHERITANCE, subject=f"{event_type}.{attribute}")


def _are_comparable(types: Sequence[DataType]) -> bool:
    """Whether values are equal if their words are."""
    is_one = len(set(types)) <= 1 or all(type in _INTEGRAL for type in types)
    return is_one and all(map(is_key, types))


# The values that tokens carry -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Value:
    """A parameter, and where an event has its value."""

    parameter: str
    place: tuple[str, str]  # a type and an attribute
    is_compared: bool = False


def _values(states: Mapping[Ways, TokenState]) -> Iterator[_Value]:
    for state in states.values():
        for name, step in state.steps.items():
            yield from (_Value(p, (name, attribute)) for p, attribute in step.bound)
            yield from (_Value(p, (name, a), is_compared=True) for p, a in step.compared)
        for name, losses in state.losses.items():
            pairs = (pair for loss in losses for pair in loss.compared)
            yield from (_Value(p, (name, a), is_compared=True) for p, a in pairs)


def _slots(
    states: Mapping[Ways, TokenState], shown: Mapping[str, DataType], places: ColumnLookup
) -> tuple[str, ...]:
    """The parameters that are shown or compared; their words mean the same wherever they come from."""
    compared = {value.parameter for value in _values(states) if value.is_compared}
    found: dict[str, list[DataType]] = {}
    for value in _values(states):
        if value.parameter in compared or value.parameter in shown:
            _need_one(places, *value.place)
            found.setdefault(value.parameter, []).append(places.column(*value.place).data_type)
    for name, sources in found.items():
        types = [*sources, *([shown[name]] if name in shown else [])]
        if not _are_comparable(types) and (name in compared or len(set(types)) > 1):
            raise NotCompiled(TokenGap.VALUES, subject=name)
    if len(found) > _MOST:
        raise NotCompiled(TokenGap.TYPES)
    return tuple(found)


def _shown(
    statement: ResolvedStatement, places: ColumnLookup
) -> Iterator[tuple[str, DataType, str | None]]:
    """What rows show: names, types and parameters; None for one that no event binds."""
    types = places.derived.get(statement.target, {})
    if [column.name for column in statement.columns] != list(types):
        raise NotCompiled(TokenGap.ROWS)
    for column in statement.columns:
        expr, type = column.expr, types[column.name]
        if isinstance(expr, expr_tree.Cast):
            expr = expr.operand
        if not is_shown(type) or not (expr.type == type or _are_comparable([expr.type, type])):
            raise NotCompiled(TokenGap.VALUES, subject=column.name)
        match expr:
            case expr_tree.Column(tag=str(parameter), path=()):
                yield column.name, type, parameter
            case expr_tree.Literal(value=None):
                yield column.name, type, None
            case _:
                raise NotCompiled(TokenGap.ROWS, subject=column.name)
