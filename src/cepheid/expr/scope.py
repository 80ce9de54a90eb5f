"""What a name in an expression stands for.

A name of one part is an attribute of the event at hand, else a tag (the whole event). A name of
several parts starts with a tag or with a name of the event at hand, else it is a nested attribute
of the event at hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from cepheid.core.types import ANY, ArrayType, DataType, EventRef, EventType, RecordType, is_open
from cepheid.errors import Diagnostic, ProgramError, Span, error, suggest
from cepheid.expr.tree import Column, Part, Ref


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that an expression can use at its place."""

    types: Mapping[str, EventType]  # for the attributes of events and nested records
    tags: Mapping[str, DataType]  # bound tags: EventRef, or ArrayType(EventRef) for repeats
    current: DataType | None = None  # the event at hand, if there is one
    current_names: frozenset[str] = frozenset()  # what denotes it: its tag, alias, type name
    later_tags: frozenset[str] = frozenset()  # tags of the pattern that are not bound here
    # Tags whose attributes may be named alone, where only one of them has such an attribute.
    implied: tuple[str, ...] = ()
    no_aggregates: str | None = None  # why aggregates are not allowed, e.g. "in a filter"
    aggregates_in: str | None = None  # the clause that takes them instead, where there is one

    def fields_of(self, owner: DataType) -> EventType | None:
        """The attributes of a record or event type; None where nothing is known of them."""
        if isinstance(owner, EventRef):
            return self.types.get(owner.name)
        if isinstance(owner, RecordType):
            return EventType("the record", owner.attributes)
        return None


def resolve_name(ref: Ref, scope: Scope) -> Column:
    """The column that a name stands for; ProgramError where it stands for nothing."""
    head, rest = ref.parts[0], ref.parts[1:]
    if not rest and _is_declared(head.name, scope):
        return _attribute(ref, scope)
    if head.name in scope.current_names and scope.current is not None:
        return _whole_or_path(ref, None, scope.current, rest, scope)
    if head.name in scope.tags:
        return _whole_or_path(ref, head.name, scope.tags[head.name], rest, scope)
    if _is_declared(head.name, scope) or _is_undeclared_attribute(head.name, scope):
        return _attribute(ref, scope)
    owner = _implied_owner(ref, scope)
    if owner is not None:
        return _whole_or_path(
            replace(ref, parts=(Part(owner),)), owner, scope.tags[owner], ref.parts, scope
        )
    raise ProgramError(_unknown(ref, scope))


def _implied_owner(ref: Ref, scope: Scope) -> str | None:
    """The one tag that an attribute without a tag must belong to."""
    name = ref.parts[0].name
    known = {tag: scope.fields_of(scope.tags[tag]) for tag in scope.implied}
    owners = [tag for tag, fields in known.items() if fields is not None and fields.find(name)]
    if len(owners) > 1:
        fact = f"{name!r} is an attribute of {' and of '.join(owners)}"
        raise ProgramError(error("ambiguous-name", fact, ref.span, f"write {owners[0]}.{name}"))
    open_ones = [tag for tag, fields in known.items() if fields is None or fields.is_open]
    found = owners or open_ones
    return found[0] if len(found) == 1 else None


def _is_declared(name: str, scope: Scope) -> bool:
    """Whether the event at hand has an attribute of that name for certain."""
    fields = scope.fields_of(scope.current) if scope.current else None
    return fields is not None and any(a.name == name for a in fields.attributes)


def _is_undeclared_attribute(name: str, scope: Scope) -> bool:
    """Whether the event at hand may have the attribute because nothing is known of it."""
    if scope.current is None or name in scope.later_tags:
        return False
    fields = scope.fields_of(scope.current)
    return fields is None or fields.is_open


def _attribute(ref: Ref, scope: Scope) -> Column:
    assert scope.current is not None
    type = _follow(scope.current, ref.parts, scope, ref.span)
    return Column(None, ref.parts, type=type, span=ref.span)


def _whole_or_path(
    ref: Ref, tag: str | None, bound: DataType, path: tuple[Part, ...], scope: Scope
) -> Column:
    """A column of a tag (or of the event at hand) and a path that may be empty."""
    head = ref.parts[0]
    if head.index is None and path and isinstance(bound, ArrayType):
        rest = ".".join(map(_write, path))
        raise ProgramError(
            error(
                "type-mismatch",
                f"{head.name!r} holds several events",
                ref.span,
                f"write {head.name}[0].{rest}",
            )
        )
    start = _indexed(head, bound, ref.span)
    type = _follow(start, path, scope, ref.span)
    return Column(tag, path, head.index, type=type, span=ref.span)


def _follow(start: DataType, path: Iterable[Part], scope: Scope, span: Span | None) -> DataType:
    """The type at the end of an attribute path."""
    type = start
    for part in path:
        type = _indexed(part, _attribute_type(type, part.name, scope, span), span)
    return type


def _attribute_type(owner: DataType, name: str, scope: Scope, span: Span | None) -> DataType:
    fields = scope.fields_of(owner)
    if fields is not None:
        found = fields.find(name)
        if found is None:
            raise ProgramError(_no_attribute(name, fields, span))
        return found
    if is_open(owner) or isinstance(owner, EventRef):
        return ANY
    hint = "take one of its elements with an index" if isinstance(owner, ArrayType) else None
    message = f"no attribute {name!r} in a value of type {owner}"
    raise ProgramError(error("unknown-attribute", message, span, hint))


def _indexed(part: Part, type: DataType, span: Span | None) -> DataType:
    if part.index is None or is_open(type):
        return type
    if isinstance(type, ArrayType):
        return type.element
    message = f"{part.name!r} is {type}, not an array, and takes no index"
    raise ProgramError(error("type-mismatch", message, span))


def _no_attribute(
    name: str, fields: EventType, span: Span | None, others: Iterable[str] = ()
) -> Diagnostic:
    known = {a.name for a in fields.attributes} | set(others)
    hint = suggest(name, known, "attributes")
    return error("unknown-attribute", f"no attribute {name!r} in {fields.name}", span, hint)


def _unknown(ref: Ref, scope: Scope) -> Diagnostic:
    name = ref.parts[0].name
    if name in scope.later_tags:
        return error("unbound-tag", f"tag {name!r} is not bound here", ref.span, _bound_tags(scope))
    fields = scope.fields_of(scope.current) if scope.current else None
    if fields is not None and len(ref.parts) == 1:
        return _no_attribute(name, fields, ref.span, scope.tags)
    owners = [tag for tag in scope.tags if _has_attribute(tag, name, scope)]
    if owners and len(ref.parts) == 1:
        hint: str | None = "write " + " or ".join(f"{tag}.{name}" for tag in owners)
    else:
        names = {*scope.tags, *scope.current_names} - scope.types.keys()
        hint = suggest(name, names, "tags")
    return error("unknown-name", f"no tag or attribute {name!r} here", ref.span, hint)


def _has_attribute(tag: str, name: str, scope: Scope) -> bool:
    fields = scope.fields_of(scope.tags[tag])
    return fields is not None and any(a.name == name for a in fields.attributes)


def _bound_tags(scope: Scope) -> str:
    return "bound tags: " + ", ".join(sorted(scope.tags)) if scope.tags else "no tag is bound here"


def _write(part: Part) -> str:
    return part.name if part.index is None else f"{part.name}[{part.index}]"
