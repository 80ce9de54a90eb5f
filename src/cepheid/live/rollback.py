"""Undoing what a transaction did, the last step first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cepheid.live.changes import Change, ChangeKind
from cepheid.live.edges import arrive, depart
from cepheid.live.metamodel import Feature
from cepheid.live.model import Model, Object


def roll_back(
    model: Model, log: Sequence[Change], ranks: Mapping[int, int]
) -> tuple[list[Change], dict[int, int]]:
    """Ranks are those of the values that were removed, by their place in the log.

    Gives the changes that undo the others, and the ranks of the values that they remove: so what is
    undone can be done again. An object that comes back has its defaults at first, as all new objects,
    and then its attributes.
    """
    unordered: dict[tuple[Object, Feature], None] = {}
    undoing: list[Change] = []
    taken: dict[int, int] = {}
    for place in range(len(log) - 1, -1, -1):
        change = log[place]
        kind, object, feature, old, new = change
        if kind is ChangeKind.ADD:
            held = object.values[feature]  # type: ignore[index]
            assert isinstance(held, dict)
            taken[len(undoing)] = held[new]
        undoing.append(Change(_OPPOSITES[kind], object, feature, new, old))
        if feature is None:
            if kind is ChangeKind.DELETE:
                undoing += _attributes(object)
            _undo_life(model, change)
        else:
            _undo_value(change, feature, ranks.get(place))
            if kind is ChangeKind.REMOVE:
                unordered[object, feature] = None
    for object, feature in unordered:
        values = object.values.get(feature)
        if isinstance(values, dict):
            object.values[feature] = dict(sorted(values.items(), key=lambda item: item[1]))
    return undoing, taken


def _attributes(object: Object) -> Iterator[Change]:
    """From the defaults to what a deleted object had last."""
    for feature in object.kind.features.values():
        held = (object.former or {}).get(feature)
        if not feature.is_attribute:
            continue
        if isinstance(held, dict):
            yield from (Change(ChangeKind.ADD, object, feature, None, value) for value in held)
        elif held != feature.initial:
            yield Change(ChangeKind.SET, object, feature, feature.initial, held)


_OPPOSITES = {
    ChangeKind.CREATE: ChangeKind.DELETE,
    ChangeKind.DELETE: ChangeKind.CREATE,
    ChangeKind.SET: ChangeKind.SET,
    ChangeKind.ADD: ChangeKind.REMOVE,
    ChangeKind.REMOVE: ChangeKind.ADD,
}


def _undo_value(change: Change, feature: Feature, rank: int | None) -> None:
    kind, object, _, old, new = change
    if isinstance(new, Object):
        depart(object, feature, new)
    if kind is ChangeKind.SET:
        if old is None:
            del object.values[feature]
        else:
            object.values[feature] = old
    else:
        held = object.values[feature]
        assert isinstance(held, dict)
        if rank is None:
            del held[new]
        else:
            held[old] = rank
    if isinstance(old, Object):
        arrive(object, feature, old)


def _undo_life(model: Model, change: Change) -> None:
    object = change.object
    if change.kind is ChangeKind.CREATE:
        del model.extents[object.type][object]
        del model._by_id[object.id]
        object.former, object.values = object.values, {}
    else:
        assert object.former is not None
        model.extents[object.type][object] = None
        model._by_id[object.id] = object
        object.values, object.former = object.former, None
