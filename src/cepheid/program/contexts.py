"""Declared contexts, and whether their keys make sense."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cepheid.core.types import DataType, EventType, wider
from cepheid.errors import Diagnostic, error, suggest
from cepheid.program.tree import Context


def declared_contexts(
    contexts: Iterable[Context], types: Mapping[str, EventType], problems: list[Diagnostic]
) -> dict[str, Context]:
    found: dict[str, Context] = {}
    for context in contexts:
        if context.name in found:
            fact = f"context '{context.name}' is declared twice"
            problems.append(error("duplicate-name", fact, context.span))
        found[context.name] = context
        _check_context(context, types, problems)
    return found


def _check_context(
    context: Context, types: Mapping[str, EventType], problems: list[Diagnostic]
) -> None:
    widths = {len(key.attributes) for key in context.keys}
    if len(widths) > 1:
        fact = f"the keys of context '{context.name}' have different numbers of attributes"
        problems.append(error("bad-context", fact, context.span))
    seen: set[str] = set()
    key_types: dict[int, DataType] = {}
    for key in context.keys:
        span = key.span or context.span
        if key.event_type in seen:
            fact = f"context '{context.name}' names a key for {key.event_type} twice"
            problems.append(error("duplicate-name", fact, span))
        seen.add(key.event_type)
        event_type = types.get(key.event_type)
        if event_type is None:
            hint = suggest(key.event_type, types, "known types")
            problems.append(error("unknown-type", f"no event type '{key.event_type}'", span, hint))
            continue
        for place, attribute in enumerate(key.attributes):
            type = event_type.find(attribute)
            if type is None:
                hint = suggest(attribute, (a.name for a in event_type.attributes), "attributes")
                fact = f"no attribute '{attribute}' in {key.event_type}"
                problems.append(error("unknown-attribute", fact, span, hint))
                continue
            before = key_types.setdefault(place, type)
            if wider(before, type) is None:
                fact = f"the key '{attribute}' of {key.event_type} is {type}, not {before}"
                problems.append(error("type-mismatch", fact, span))
