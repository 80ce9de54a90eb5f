"""How the events of a statement may be split without changing its rows.

A split by a key sends events that can meet in one row to the same part, by the values of some of
their attributes. It is claimed only where it provably changes nothing:

- A context runs one instance per key, so its key splits.
- `every a=A -> ...` starts a run per A that knows nothing of the other runs; if every other event
  of the pattern must equal it in an attribute, runs of different values never meet an event in
  common.
- Rows of a group never meet rows of another, as long as nothing counts rows of all groups together.

Everything else sees the whole stream: a pattern without `every` matches once, `every (A -> B)`
follows one match at a time, length windows, length batches, output rates, `order by`, `limit` and
`distinct` look at rows of all keys. The periods of a time batch follow each other from the first
row of all keys, unless a reference or START_EAGER fixes them. What is not seen: equalities that
follow only from arithmetic, or from conditions joined by `or`.

Values are one key if `group_key` says so: nulls are a key of their own, NaN is NaN, 1 is 1.0. Where
the attributes of a key have different types, values must be cast to their common type
(`Split.types`) before they are hashed; values that are equal stay equal. A part may have many keys,
so fewer attributes than the whole key split as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cepheid.core.types import DataType, EventRef, EventType
from cepheid.expr.functions import common_type
from cepheid.expr.tree import Column, Expr, Part, Ref
from cepheid.expr.typing import Scope, resolve
from cepheid.pattern.algebra import Occurrence, common_parameters, walk_taken
from cepheid.pattern.policy import Policy
from cepheid.program.normal import nodes, normalize_statement
from cepheid.program.normal.nodes import Awaited, Node
from cepheid.program.resolved import ResolvedStatement, Shape
from cepheid.program.tree import KeepAll, LengthBatch, LengthWindow, TimeBatch, TimeWindow

Path: TypeAlias = tuple[str, ...]  # the names that lead to an attribute
Place: TypeAlias = tuple[str | None, Path]  # an attribute of the event that a tag is bound to
Tied: TypeAlias = dict[str, Path]  # per event type, the attribute that is the same in one match

# Of any other node the worst is expected.
_TRUE_BY_ALL_PARTS = (
    nodes.Line,
    nodes.Sequence,
    nodes.Every,
    nodes.EveryDistinct,
    nodes.AllOf,
    nodes.Within,
    nodes.While,
)
_KNOWN = (
    nodes.Wait,
    nodes.WaitForInstant,
    *_TRUE_BY_ALL_PARTS,
    nodes.AnyOf,
    nodes.Absent,
    nodes.Repeat,
)


@dataclass(frozen=True, slots=True)
class Split:
    """`by` has the key of each type; it is empty where any split will do, None where none does.

    `types` has the common type of each attribute of the key.
    """

    by: Mapping[str, tuple[Path, ...]] | None
    reason: str
    types: tuple[DataType, ...] = ()


def split_of(statement: ResolvedStatement, types: Mapping[str, EventType]) -> Split:
    """How the input of a statement may be split; `types` says which types inherit from which."""
    context = statement.context
    if context is not None:
        keys = {name: statement.key_of(name) or () for name in statement.inputs}
        by = {name: tuple((attribute,) for attribute in key) for name, key in keys.items()}
        split = Split(by, f"context {context.name} has one instance per key")
        return _with_types(split, types)
    if _has_floating_batches(statement):
        return Split(None, "its batches begin with the first row of all keys")
    counted = _counts_all_rows(statement)
    if counted is not None:
        return Split(None, counted)
    split, shared = _split_source(statement)
    if split.by is not None and statement.shape.is_grouped:
        split = _split_groups(statement, split, shared)
    return _with_types(_one_key_per_event(split, types), types)


def common_types(
    keys: Mapping[str, Sequence[Path]], types: Mapping[str, EventType]
) -> tuple[DataType, ...] | None:
    """The type of each attribute of a key that holds the values of all event types, if there is."""
    found = []
    for places in zip(*keys.values(), strict=False):
        own = [_type_at(types[name], path, types) for name, path in zip(keys, places, strict=True)]
        common = common_type(own, types)
        if common is None:
            return None
        found.append(common)
    return tuple(found)


def _type_at(event_type: EventType, path: Path, types: Mapping[str, EventType]) -> DataType:
    name = Ref(tuple(Part(part) for part in path))
    return resolve(name, Scope(types, {}, current=EventRef(event_type.name)), []).type


def _with_types(split: Split, types: Mapping[str, EventType]) -> Split:
    if not split.by:
        return split
    common = common_types(split.by, types)
    if common is None:
        return Split(None, "its key has no common type")
    return replace(split, types=common)


def _one_key_per_event(split: Split, types: Mapping[str, EventType]) -> Split:
    """An event of two types, because one inherits from the other, can have one key only."""
    by = split.by or {}
    for name, paths in by.items():
        for ancestor in sorted(types[name].ancestors & by.keys()):
            if by[ancestor] != paths:
                return Split(None, f"{name} and {ancestor} share events but not their key")
    return split


def _has_floating_batches(statement: ResolvedStatement) -> bool:
    window = statement.tree.window
    return isinstance(window, TimeBatch) and window.reference is None and not window.start_eager


def _counts_all_rows(statement: ResolvedStatement) -> str | None:
    """Which clause looks at the rows of all keys together."""
    tree = statement.tree
    if tree.output is not None:
        return "its output rate counts the rows of all keys"
    if tree.order_by or tree.limit is not None or tree.distinct:
        return "order by, limit and distinct compare the rows of all keys"
    if isinstance(tree.window, LengthWindow | LengthBatch):
        return "its window counts the rows of all keys"
    if not isinstance(tree.window, TimeWindow | TimeBatch | KeepAll | None):
        return "nothing is known of which rows its window compares"
    if statement.shape in (Shape.TOTAL, Shape.ROW_WITH_TOTAL):
        return "its aggregates run over the rows of all keys"
    return None


def _split_groups(statement: ResolvedStatement, split: Split, shared: Mapping[Place, str]) -> Split:
    """Groups by an attribute that all events of a row share split by that attribute.

    `shared` says of which type the attributes at a place are, for the places that may be a key.
    """
    places = [p for e in statement.group_by if (p := place_of(e)) is not None and p[1]]
    if split.by:
        if any(place in shared for place in places):
            return Split(split.by, split.reason + "; its groups have one key each")
        return Split(None, "a group may have rows of several keys")
    by: dict[str, tuple[Path, ...]] = {}
    for tag, path in places:
        if (tag, ()) in shared:
            name = shared[tag, ()]
            by[name] = (*by.get(name, ()), path)
    if len(by) == 1 and set(by) == set(statement.inputs):
        return Split(by, "rows of different groups never meet")
    return Split(None, "its groups are not made of attributes of one event")


def _split_occurrence(pattern: Occurrence, policy: Policy) -> Split:
    """A parameter that all events have in common splits, if no event concerns several values of it."""
    key = common_parameters(pattern.form)
    if not key or policy.is_global:
        return Split(None, "no parameter keeps its partial matches apart")
    by: dict[str, tuple[Path, ...]] = {}
    for taken in (*walk_taken(pattern.form), *pattern.declared):
        places = dict(taken.parameters)
        if not all(name in places for name in key):
            named = " and ".join(f"'{name}'" for name in key)
            return Split(None, f"events of {taken.atom.event_type} concern all values of {named}")
        by[taken.atom.event_type] = tuple((places[name],) for name in key)
    return Split(by, "each value of its common parameter has partial matches of its own")


def _split_source(statement: ResolvedStatement) -> tuple[Split, Mapping[Place, str]]:
    if isinstance(statement.pattern, Occurrence):
        return _split_occurrence(statement.pattern, statement.policy), {}
    if not statement.policy.runs_are_independent:
        return Split(None, "its policy lets the runs of all keys share events"), {}
    source = normalize_statement(statement).source
    if not is_known(source):
        return Split(None, "nothing is known of which events its operators compare"), {}
    if isinstance(source, nodes.Every | nodes.EveryDistinct):
        return _split_single(source)
    if isinstance(source, nodes.Sequence) and _starts_runs(source.parts[0]):
        return _split_runs(source)
    return Split(None, "without `every` in front it matches once"), {}


def is_known(node: Node) -> bool:
    """Whether no event matters to a node, or to what is in it, but those that its waits can take."""
    return all(isinstance(part, _KNOWN) for part in nodes.walk(node))


def _starts_runs(node: Node) -> bool:
    return isinstance(node, nodes.Every | nodes.EveryDistinct) and _is_event(node.child)


def _is_event(node: Node) -> bool:
    """Whether it waits for an event and for nothing else."""
    return isinstance(node, nodes.Wait) and node.time is None


def _split_single(node: nodes.Every | nodes.EveryDistinct) -> tuple[Split, Mapping[Place, str]]:
    """`every a=A`, `every (a=A or b=B)` and `every-distinct(a.k) a=A`."""
    child = node.child
    choices = child.parts if isinstance(child, nodes.AnyOf) else (child,)
    if not all(map(_is_event, choices)):
        return Split(None, "`every (...)` follows one match at a time over all keys"), {}
    single: dict[Place, str] = {(e.tag, ()): e.event_type for e in nodes.events(node)}
    if isinstance(node, nodes.Every):
        return Split({}, "each event stands for itself"), single
    paths = _distinct_paths(node)
    if len(single) > 1 or not paths:
        return Split(None, "every-distinct knows the events of all keys"), {}
    [((tag, _), event_type)] = single.items()
    split = Split({event_type: paths}, "every-distinct compares events of one key")
    return split, {(tag, path): event_type for path in paths}


def _distinct_paths(node: nodes.EveryDistinct) -> tuple[Path, ...]:
    tags = {event.tag for event in nodes.events(node)}
    places = [place for key in node.keys if (place := place_of(key)) is not None]
    return tuple(path for tag, path in places if tag in tags and path)


def _split_runs(node: nodes.Sequence) -> tuple[Split, Mapping[Place, str]]:
    """`every a=A -> ...`: a run per A; the key is what all its events must have in common."""
    start = node.parts[0]
    [first] = nodes.events(start)
    rest = [event for part in node.parts[1:] for event in nodes.events(part)]
    keys = [tied for path in _candidates(first, rest) if (tied := _tie(first, path, rest))]
    if isinstance(start, nodes.EveryDistinct):
        allowed = _distinct_paths(start)
        keys = [tied for tied in keys if tied[first.event_type] in allowed]
    elif not rest:
        return Split({}, "each event starts a run of its own"), {(first.tag, ()): first.event_type}
    if not keys:
        return Split(None, _why_not_tied(first, rest)), {}
    names = dict.fromkeys([first.event_type, *(event.event_type for event in rest)])
    by = {name: tuple(tied[name] for tied in keys) for name in names}
    bound = [first, *(event for part in node.parts[1:] for event in surely_taken(part))]
    shared = {(e.tag, tied[e.event_type]): e.event_type for e in bound for tied in keys}
    return Split(by, "its runs are independent, and each is tied to one key"), shared


def surely_taken(node: Node) -> Iterator[Awaited]:
    """The events that every match has; of the others a row may show null, whatever its key."""
    if isinstance(node, nodes.Wait):
        if node.event is not None and node.true_by == "event":
            yield node.event
    elif isinstance(node, _TRUE_BY_ALL_PARTS):
        for child in nodes.children(node):
            yield from surely_taken(child)


def _candidates(first: Awaited, rest: Sequence[Awaited]) -> list[Path]:
    """The attributes of the first event that others are compared with."""
    found = (place for event in rest for _, place in equal_places(event))
    return list(dict.fromkeys(path for tag, path in found if tag == first.tag))


def _tie(first: Awaited, path: Path, rest: Sequence[Awaited]) -> Tied | None:
    """The attribute of each type that must equal that of the first event; None if one is free."""
    tied: Tied = {first.event_type: path}
    known: dict[str | None, Path] = {first.tag: path}
    for event in rest:
        own = next(
            (own for own, (tag, other) in equal_places(event) if known.get(tag) == other), None
        )
        if own is None or tied.setdefault(event.event_type, own) != own:
            return None
        if event.tag is not None:
            known[event.tag] = own
    return tied


def _why_not_tied(first: Awaited, rest: Sequence[Awaited]) -> str:
    for event in rest:
        if not list(equal_places(event)):
            name = f"{event.tag}={event.event_type}" if event.tag else event.event_type
            return f"{name} is not tied to {first.tag or first.event_type} by an equality"
    return "its events have no key in common"


def equal_places(event: Awaited) -> Iterator[tuple[Path, Place]]:
    """Own attributes that must equal attributes of other events if the event is taken."""
    for equality in event.equal:
        own, other = place_of(equality.event), place_of(equality.bound)
        if own is not None and other is not None:
            yield own[1], other


def place_of(expr: Expr) -> Place | None:
    """The attribute that an expression is, if it is one of a single event."""
    if not isinstance(expr, Column) or expr.index is not None:
        return None
    if any(part.index is not None for part in expr.path):
        return None
    return expr.tag, tuple(part.name for part in expr.path)
