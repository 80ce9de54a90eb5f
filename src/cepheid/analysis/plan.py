"""What is known of each statement before it runs: how to split it, what it needs and keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.analysis.keys import Split, equal_places, place_of, split_of
from cepheid.analysis.matches import Feeds, longest_run
from cepheid.analysis.pushdown import Columns, Filters, columns_of, early_filters
from cepheid.analysis.retention import Retention, retention_of, speaks_with_time
from cepheid.core.types import EventType
from cepheid.pattern.algebra import Occurrence
from cepheid.program.graph import graph_of
from cepheid.program.normal import normalize_statement
from cepheid.program.normal.nodes import events
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.tree import Context

Attributes = Mapping[str, str]  # per event type, an attribute


@dataclass(frozen=True, slots=True)
class StatementPlan:
    statement: ResolvedStatement
    split: Split
    context_hint: str | None  # where no split is possible: what would make it so
    retention: Retention
    runs_on: str  # matcher or reference
    columns: Columns
    filters: Filters
    waits_for_time: bool  # rows may come by time alone, so that only a later event or the end shows

    @property
    def key_reason(self) -> str:
        hint = f"; {self.context_hint}" if self.context_hint else ""
        return self.split.reason + hint


def plan_program(program: ResolvedProgram, runs_on: str) -> tuple[StatementPlan, ...]:
    """A plan for each statement; the caller knows what runs them."""
    feeds = Feeds(graph_of(program))
    return tuple(_plan(statement, program, feeds, runs_on) for statement in program.statements)


def _plan(
    statement: ResolvedStatement, program: ResolvedProgram, feeds: Feeds, runs_on: str
) -> StatementPlan:
    split = split_of(statement, program.types)
    return StatementPlan(
        statement,
        split,
        _context_hint(statement, program) if split.by is None else None,
        retention_of(statement, longest_run(feeds, statement)),
        runs_on,
        columns_of(statement, program.types, split),
        early_filters(statement, program.types),
        speaks_with_time(statement),
    )


# What would give a key.


def _context_hint(statement: ResolvedStatement, program: ResolvedProgram) -> str:
    """Which context would split the statement: it has another meaning, perhaps the one meant."""
    if isinstance(statement.pattern, Occurrence):
        return "a parameter that all declared events have would give it a key"
    likely = likely_context(statement)
    if likely is not None:
        return likely
    for context in program.tree.contexts:
        if _has_keys(context, statement):
            return f"`context {context.name} select ...` would run it once per key"
    shared = _shared_id(statement, program.types)
    if shared is not None:
        return _create_context(dict.fromkeys(statement.inputs, shared))
    keys = ", ".join(f"... from {name}" for name in statement.inputs)
    if not keys:
        return "it takes no events that could be split"
    return f"a context would give it a key: {_form('PerKey', keys)}"


def likely_context(statement: ResolvedStatement) -> str | None:
    """The context that the text of a statement points to: it compares or groups by a key."""
    for attributes in (_equal_attributes(statement), _grouping_attribute(statement)):
        if attributes is not None:
            return _create_context(attributes)
    return None


def _create_context(attributes: Attributes) -> str:
    first = next(iter(attributes.values()))
    keys = ", ".join(f"{attribute} from {name}" for name, attribute in attributes.items())
    name = f"Per{first[:1].upper()}{first[1:]}"
    return f"to run it per {first}: {_form(name, keys)}"


def _form(context: str, keys: str) -> str:
    return f"create context {context} partition by {keys}; context {context} select ..."


def _equal_attributes(statement: ResolvedStatement) -> Attributes | None:
    """Attributes in which the events of a pattern are compared, if they tie all its types."""
    taken = list(events(normalize_statement(statement).source))
    owners = {event.tag: event.event_type for event in taken if event.tag}
    tied: dict[str, str] = {}
    for event in taken:
        for own, (tag, other) in equal_places(event):
            if len(own) == len(other) == 1 and tag in owners:
                tied.setdefault(owners[tag], other[0])
                tied.setdefault(event.event_type, own[0])
    return tied if tied and set(tied) == set(statement.inputs) else None


def _grouping_attribute(statement: ResolvedStatement) -> Attributes | None:
    """The first attribute that the rows of a single type are grouped by."""
    for expr in statement.group_by:
        place = place_of(expr)
        if place is not None and len(place[1]) == 1 and len(statement.inputs) == 1:
            return {statement.inputs[0]: place[1][0]}
    return None


def _has_keys(context: Context, statement: ResolvedStatement) -> bool:
    return {key.event_type for key in context.keys}.issuperset(statement.inputs)


def _shared_id(statement: ResolvedStatement, types: Mapping[str, EventType]) -> str | None:
    """An attribute of all its types whose name says that it identifies something."""
    own = [types[name] for name in statement.inputs]
    names = [a.name for a in own[0].attributes] if own else []
    shared = (name for name in names if all(type.find(name) for type in own))
    return next((name for name in shared if name.lower().endswith("id")), None)
