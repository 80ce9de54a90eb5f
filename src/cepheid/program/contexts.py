"""Declared contexts, and whether their keys make sense."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cepheid.core.types import DataType, EventType, wider
from cepheid.errors import Diagnostic, declared_twice, error, suggest
from cepheid.program.tree import Context, ContextKey


def declared_contexts(
    contexts: Iterable[Context], types: Mapping[str, EventType], problems: list[Diagnostic]
) -> dict[str, Context]:
    found: dict[str, Context] = {}
    for context in contexts:
        if context.name in found:
            first = found[context.name].span
            problems.append(declared_twice(f"context '{context.name}'", context.span, first))
        found.setdefault(context.name, context)
        _check_context(context, types, problems)
    return found


def _check_context(
    context: Context, types: Mapping[str, EventType], problems: list[Diagnostic]
) -> None:
    if len({len(key.attributes) for key in context.keys}) > 1:
        fact = f"the keys of context '{context.name}' have different numbers of attributes"
        problems.append(error("bad-context", fact, context.span))
    keys: dict[str, ContextKey] = {}
    for key in context.keys:
        if key.event_type in keys:
            fact = f"context '{context.name}' names a key for {key.event_type} twice"
            problems.append(error("duplicate-name", fact, key.span or context.span))
        keys[key.event_type] = key
        _check_key(key, keys, types, problems)


def _check_key(
    key: ContextKey,
    keys: Mapping[str, ContextKey],
    types: Mapping[str, EventType],
    problems: list[Diagnostic],
) -> None:
    """One type's key must exist, and fit the keys of the types before it."""
    event_type = types.get(key.event_type)
    if event_type is None:
        hint = suggest(key.event_type, types, "known types")
        problems.append(error("unknown-type", f"no event type '{key.event_type}'", key.span, hint))
        return
    first = next(iter(keys.values()))
    for place, attribute in enumerate(key.attributes):
        type = event_type.find(attribute)
        if type is None:
            hint = suggest(attribute, (a.name for a in event_type.attributes), "attributes")
            fact = f"no attribute '{attribute}' in {key.event_type}"
            problems.append(error("unknown-attribute", fact, key.span, hint))
            continue
        before = _type_at(place, first, types) or type
        if wider(before, type) is None:
            fact = f"the key '{attribute}' of {key.event_type} is {type}, not {before}"
            problems.append(error("type-mismatch", fact, key.span))
    for other in keys.values():
        if _related(key, other, types) and key.attributes != other.attributes:
            fact = f"{key.event_type} and {other.event_type} share events but not their key"
            problems.append(error("bad-context", fact, key.span, "give both the same attributes"))


def _type_at(place: int, key: ContextKey, types: Mapping[str, EventType]) -> DataType | None:
    event_type = types.get(key.event_type)
    if event_type is None or place >= len(key.attributes):
        return None
    return event_type.find(key.attributes[place])


def _related(one: ContextKey, other: ContextKey, types: Mapping[str, EventType]) -> bool:
    """Whether an event can be of both types, because one inherits from the other."""
    names = (one.event_type, other.event_type)
    return any(b in types[a].ancestors for a, b in (names, names[::-1]) if a in types)
