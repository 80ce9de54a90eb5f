"""The passes in which Spark runs a program: stages, each on a key of its own.

A pass reads the input and runs its statements in tasks that know nothing of each other. Passes that
take what others derive form a pipeline: each gets the rows of those before it, takes some of them as
events, and passes all of them on. What cannot be forwarded so runs in one pass, and that in one
part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from cepheid.analysis.keys import Path, split_of
from cepheid.analysis.pushdown import any_of, early_filters
from cepheid.analysis.stages import Stage, stages
from cepheid.core.types import (
    SCALARS,
    STRING,
    ArrayType,
    DataType,
    EventType,
    RecordType,
    is_scalar,
    lineage,
)
from cepheid.expr.tree import Column, Expr
from cepheid.io.arrow import arrow_type
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement

T = TypeVar("T")
_SCALARS = frozenset(SCALARS.values())


@dataclass(frozen=True, slots=True)
class Pass:
    """Statements that run together, and how their events are split.

    The key is None for one part, and empty where any split will do; so may be types that it does not
    have. Its values are cast to `key_types` before they are hashed.
    """

    program: ResolvedProgram  # these statements only
    key: Mapping[str, tuple[Path, ...]] | None
    key_types: tuple[DataType, ...] = ()
    reason: str | None = None  # why it is one part

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(statement.name for statement in self.program.statements)

    def conditions(self, types: Iterable[str]) -> dict[str, Expr | None]:
        """Of each type, what is true of its events that a statement takes; None: nothing is known."""
        filters = [early_filters(s, self.program.types) for s in self.program.statements]
        return {t: any_of(f[t] for f in filters if t in f) for t in types}


Pipeline: TypeAlias = tuple[Pass, ...]


def pipelines_of(program: ResolvedProgram, *, obstacle: str | None = None) -> tuple[Pipeline, ...]:
    """The passes of a program, in pipelines that know nothing of each other.

    What runs in one part shares one, and so does what would have to be forwarded but must not:
    because of what it is, or because of an obstacle for all.
    """
    bundles: list[set[str]] = []
    whole: list[str] = []
    reasons: list[str] = []
    for names in _connected(program):
        part = program.part(names)
        found = stages(part)
        reason = _why_not_forwarded(part, found, obstacle)
        if reason is None and (len(found) > 1 or _is_split(found[0])):
            _add(program, bundles, names, obstacle)
        else:
            whole += names
            reasons += [reason] if reason else []
    parts = [_pipelines_in(stages(program.part(bundle))) for bundle in bundles]
    pipelines = [
        tuple(_pass(program, stage) for stage in found) for part in parts for found in part
    ]
    if whole:
        part = program.part(whole)
        pipelines.append((Pass(part, None, reason="; ".join([*_unsplit(part), *reasons])),))
    return tuple(pipelines)


def _add(
    program: ResolvedProgram, bundles: list[set[str]], names: set[str], obstacle: str | None
) -> None:
    """Statements join the first bundle that they can share passes with.

    What goes together, of theirs or of the bundle, must not be torn apart by what others share.
    """
    for bundle in bundles:
        part = program.part(bundle | names)
        together = stages(part)
        alone = (_forwarded(stages(program.part(some))) for some in (bundle, names))
        is_no_worse = _forwarded(together) <= set().union(*alone)
        if is_no_worse and _why_not_forwarded(part, together, obstacle) is None:
            bundle.update(names)
            return
    bundles.append(names)


def _is_split(stage: Stage) -> bool:
    return stage.key is not None and set(stage.key_types) <= _SCALARS


def _pass(program: ResolvedProgram, stage: Stage) -> Pass:
    part = program.part([statement.name for statement in stage.statements])
    if _is_split(stage):
        return Pass(part, stage.key, stage.key_types)
    return Pass(part, None, reason="; ".join(_unsplit(part)) or "its key is no plain value")


def _connected(program: ResolvedProgram) -> list[set[str]]:
    """The names of statements that take what others of them derive, group by group."""
    groups: list[set[str]] = []
    for statement in program.statements:
        taken = statement.arriving(program.types)
        linked = {s.name for s in program.statements if s.target in taken} | {statement.name}
        groups = _joined(groups, linked)
    return groups


def _joined(groups: Sequence[set[T]], members: set[T]) -> list[set[T]]:
    """The groups, of which those that share a member with some others have become one."""
    apart = [group for group in groups if not group & members]
    return [*apart, members.union(*(group for group in groups if group & members))]


def _unsplit(part: ResolvedProgram) -> list[str]:
    """Which statements cannot be split, and why."""
    splits = [(s.name, split_of(s, part.types)) for s in part.statements]
    return [f"{name}: {split.reason}" for name, split in splits if split.by is None]


# Chains ---------------------------------------------------------------------------------------


def _forwarded(found: Sequence[Stage]) -> set[str]:
    """The types of events that go from stage to stage."""
    return {name for stage in found for name, taken in stage.sources.items() if taken}


def _pipelines_in(found: Sequence[Stage]) -> list[tuple[Stage, ...]]:
    """The stages that hand events to each other, group by group, in their order."""
    groups: list[set[int]] = []
    for number, stage in enumerate(found):
        groups = _joined(groups, {number}.union(*stage.sources.values()))
    return [tuple(found[number] for number in sorted(group)) for group in groups]


def _why_not_forwarded(
    part: ResolvedProgram, found: Sequence[Stage], obstacle: str | None
) -> str | None:
    """What stands against running stages one after the other."""
    if _forwarded(found) and obstacle is not None:
        return f"its statements are split by different keys, and {obstacle}"
    handed = [(stage, name) for stage in found for name, taken in stage.sources.items() if taken]
    producers = {number for stage in found for taken in stage.sources.values() for number in taken}
    if any(found[number].is_cyclic for number in producers):
        return "what a cycle derives has no place among the events of other keys"
    for stage, name in handed:
        if events_among_rows(part, name) is None:
            return f"rows that become events of {name} cannot be told from others"
        kinds = lineage(name, part.types)
        for owner, column in (read for s in stage.statements for read in s.columns_read):
            if owner in kinds and not _is_preserved(column, part.types[name], part.types):
                return f"{name} shows events that cannot be forwarded"
    return None


def events_among_rows(program: ResolvedProgram, name: str) -> tuple[str, ...] | None:
    """The kinds of those rows of a type that statements take as events, if the kind tells."""
    kinds = {_kinds(s) for s in program.statements if s.target == name}
    return kinds.pop() if len(kinds) == 1 else None


def _kinds(statement: ResolvedStatement) -> tuple[str, ...] | None:
    reported, inserted = statement.tree.stream, statement.tree.insert_stream
    if reported == inserted:
        return ("match", "old")
    if reported == "irstream":
        return ("match",) if inserted == "istream" else ("old",)
    return None  # some are not reported at all


def _is_preserved(column: Column, event_type: EventType, types: Mapping[str, EventType]) -> bool:
    """Whether what is read of a derived event is the same after its journey."""
    if not column.path:
        return all(_can_travel(attribute.type) for attribute in event_type.attributes)
    stored = event_type.find(column.path[0].name)
    is_text = stored != STRING and stored is not None and str(arrow_type(stored, types)) == "string"
    return _can_travel(column.type) and not is_text


def _can_travel(type: DataType) -> bool:
    """Of an event only the attributes are kept."""
    match type:
        case ArrayType(element):
            return _can_travel(element)
        case RecordType(attributes):
            return all(_can_travel(attribute.type) for attribute in attributes)
    return is_scalar(type)
