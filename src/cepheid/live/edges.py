"""Edges of a model: what lies in an object, what it refers to, and the ways back."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.live.metamodel import Feature
from cepheid.live.model import Object


def contents(object: Object) -> Iterator[Object]:
    """An object and all that lies in it, containers first."""
    pending = [object]
    while pending:
        one = pending.pop()
        yield one
        for feature, held in one.values.items():
            if feature.is_containment:
                pending.extend(held if isinstance(held, dict) else (held,))  # type: ignore[arg-type]


def holds(source: Object, feature: Feature, target: Object) -> bool:
    held = source.values.get(feature)
    return target in held if isinstance(held, dict) else held is target


def arrive(source: Object, feature: Feature, target: Object) -> None:
    """The way back from the target of a reference, unless its opposite is one."""
    if feature.is_containment:
        target.container, target.container_feature = source, feature
    elif feature.opposite is None:
        if target.incoming is None:
            target.incoming = {}
        target.incoming.setdefault(feature, {})[source] = None


def depart(source: Object, feature: Feature, target: Object) -> None:
    if feature.is_containment:
        target.container = target.container_feature = None
    elif feature.opposite is None and target.incoming is not None:
        sources = target.incoming[feature]
        del sources[source]
        if not sources:
            del target.incoming[feature]
