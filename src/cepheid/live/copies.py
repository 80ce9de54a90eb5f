"""A copy of a model: equal objects with the same identities, and nobody who listens."""

from __future__ import annotations

from cepheid.live.changes import Held
from cepheid.live.model import Model, Object


def copy_of(model: Model) -> Model:
    """Changes of one are none of the other; the next object gets the same identity in both."""
    copy = Model(model.metamodel)
    made = copy._by_id
    for id, one in model._by_id.items():
        made[id] = Object(id, one.kind)
    for id, one in model._by_id.items():
        _copy_object(one, made[id], made)
    for name, extent in model.extents.items():
        copy.extents[name].update((made[one.id], None) for one in extent)
    copy._next_id, copy._next_rank = model._next_id, model._next_rank
    return copy


def _copy_object(one: Object, copy: Object, made: dict[int, Object]) -> None:
    def same(value: Held) -> Held:
        return made[value.id] if isinstance(value, Object) else value

    for feature, held in one.values.items():
        if isinstance(held, dict):
            copy.values[feature] = {same(value): rank for value, rank in held.items()}
        else:
            copy.values[feature] = same(held)
    if one.container is not None:
        copy.container, copy.container_feature = made[one.container.id], one.container_feature
    if one.incoming is not None:
        copy.incoming = {
            feature: {made[source.id]: None for source in sources}
            for feature, sources in one.incoming.items()
        }
