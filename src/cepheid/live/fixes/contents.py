"""What steps have made of a model, and when that is the same as what others have.

Only the difference to the model at the start is looked at. Objects that were there keep their identity.
Those that the steps made have none: two models are the same if the new objects of one can stand for those
of the other. Features of many values are sets; their order is for showing only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cepheid.live.changes import Change, ChangeKind, Held
from cepheid.live.metamodel import Feature
from cepheid.live.model import Object


@dataclass(frozen=True, slots=True)
class Replaced:
    """A feature of one value; of a new object, before is its default."""

    before: Held
    after: Held


@dataclass(frozen=True, slots=True)
class Members:
    """What a feature of many values has more, and what it has less."""

    added: frozenset[Held] = frozenset()
    removed: frozenset[Held] = frozenset()


@dataclass(frozen=True, slots=True)
class Came:
    """An object is new."""


@dataclass(frozen=True, slots=True)
class Went:
    """An object is gone."""


Entry: TypeAlias = Replaced | Members | Came | Went
# Of an object as a whole the feature is None.
Difference: TypeAlias = Mapping[tuple[Object, Feature | None], Entry]
Entries: TypeAlias = dict[tuple[Object, Feature | None], Entry]


def with_changes(difference: Difference, changes: Iterable[Change]) -> Difference:
    """The difference after further changes; what is as it was at the start is not in it."""
    found: Entries = dict(difference)
    for change in changes:
        if change.feature is None:
            _come_or_go(found, change)
        elif change.kind is ChangeKind.SET:
            _replace(found, change)
        else:
            _add_or_remove(found, change)
    return found


def _come_or_go(found: Entries, change: Change) -> None:
    one = change.object
    if change.kind is ChangeKind.CREATE:
        found[one, None] = Came()
        return
    was_new = isinstance(found.get((one, None)), Came)
    for key in [key for key in found if key[0] is one]:
        del found[key]
    if not was_new:
        found[one, None] = Went()


def _replace(found: Entries, change: Change) -> None:
    key = (change.object, change.feature)
    known = found.get(key)
    before = known.before if isinstance(known, Replaced) else change.old
    if before is change.new or before == change.new:
        found.pop(key, None)
    else:
        found[key] = Replaced(before, change.new)


def _add_or_remove(found: Entries, change: Change) -> None:
    key = (change.object, change.feature)
    known = found.get(key)
    added, removed = (known.added, known.removed) if isinstance(known, Members) else (_NO, _NO)
    if change.kind is ChangeKind.ADD:
        value = frozenset((change.new,))
        added, removed = (added, removed - value) if value <= removed else (added | value, removed)
    else:
        value = frozenset((change.old,))
        added, removed = (added - value, removed) if value <= added else (added, removed | value)
    if added or removed:
        found[key] = Members(added, removed)
    else:
        found.pop(key, None)


_NO: frozenset[Held] = frozenset()
Form: TypeAlias = "tuple[object, ...]"


@dataclass(slots=True)
class _Shape:
    """A difference with new objects told apart from all else."""

    kept: set[Form] = field(default_factory=set)  # of objects that were there at the start
    # Of each new object: its class and values, and the old objects that refer to it.
    features: dict[Object, set[Form]] = field(default_factory=dict)
    edges: set[tuple[Object, Feature, Object]] = field(default_factory=set)  # between new objects

    @property
    def key(self) -> Form:
        """Equal for models that are the same; where there is no new object, only for those."""
        forms = Counter((one.type, frozenset(form)) for one, form in self.features.items())
        return frozenset(self.kept), frozenset(forms.items()), len(self.edges)


def _shape(difference: Difference) -> _Shape:
    shape = _Shape()
    shape.features = {one: set() for (one, _), e in difference.items() if isinstance(e, Came)}
    for (one, feature), entry in difference.items():
        if feature is None:
            if isinstance(entry, Went):
                shape.kept.add((one, None))
            continue
        for value, is_added in _values(entry):
            _note(shape, one, feature, value, is_added)
    return shape


def _values(entry: Entry) -> Iterable[tuple[Held, bool]]:
    if isinstance(entry, Replaced):
        yield entry.after, True
    elif isinstance(entry, Members):
        yield from ((value, True) for value in entry.added)
        yield from ((value, False) for value in entry.removed)


def _note(shape: _Shape, one: Object, feature: Feature, value: Held, is_added: bool) -> None:
    if isinstance(value, Object) and value in shape.features:
        if one in shape.features:
            shape.edges.add((one, feature, value))
        else:
            shape.features[value].add((one, feature))
    elif one in shape.features:
        shape.features[one].add((feature, value, is_added))
    else:
        shape.kept.add((one, feature, value, is_added))


def _are_same(one: _Shape, other: _Shape) -> bool:
    """Whether new objects can stand for those of another difference with an equal key."""
    order = list(one.features)
    standing: dict[Object, Object] = {}

    def fits(mine: Object, theirs: Object) -> bool:
        if mine.kind is not theirs.kind or one.features[mine] != other.features[theirs]:
            return False
        standing[mine] = theirs
        known = {
            (standing[a], f, standing[b])
            for a, f, b in one.edges
            if mine in (a, b) and a in standing and b in standing
        }
        taken = set(standing.values())
        asked = {e for e in other.edges if theirs in (e[0], e[2]) and {e[0], e[2]} <= taken}
        if known == asked:
            return True
        del standing[mine]
        return False

    def search(place: int) -> bool:
        if place == len(order):
            return True
        for theirs in other.features:
            if theirs not in standing.values() and fits(order[place], theirs):
                if search(place + 1):
                    return True
                del standing[order[place]]
        return False

    return search(0)


class Contents:
    """Numbers for differences: two have the same number if they make the same model."""

    def __init__(self) -> None:
        self._known: dict[Form, list[tuple[_Shape, int]]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def number(self, difference: Difference) -> int:
        shape = _shape(difference)
        alike = self._known.setdefault(shape.key, [])
        for known, number in alike:
            if not shape.features or _are_same(shape, known):
                return number
        alike.append((shape, self._count))
        self._count += 1
        return self._count - 1
