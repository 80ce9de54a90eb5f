"""The passes in which Spark runs a program: stages, where one does not take what another derives.

A pass reads the input once and runs its statements in tasks that know nothing of each other. Stages
that are fed by others run in one pass with them, and that pass in one part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.analysis.keys import Path, split_of
from cepheid.analysis.stages import Stage, stages
from cepheid.analysis.travel import arriving
from cepheid.core.types import SCALARS, DataType
from cepheid.program.resolved import ResolvedProgram


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


def passes_of(program: ResolvedProgram) -> tuple[Pass, ...]:
    """The passes of a program; what runs in one part shares one."""
    split: list[str] = []
    alone: list[Pass] = []
    whole: list[str] = []
    for names in _connected(program):
        found = stages(program.part(names))
        if len(found) == 1 and _is_split(found[0]):
            alone.append(_pass(program, found[0]))
            split += names
        else:
            whole += names
    shared = stages(program.part(split))
    if any(stage.sources[name] for stage in shared for name in stage.sources):
        passes = alone  # statements that go together would be torn apart by what others share
    else:
        passes = [_pass(program, stage) for stage in shared]
    if whole:
        part = program.part(whole)
        passes.append(Pass(part, None, reason=_why_whole(part)))
    return tuple(passes)


def _is_split(stage: Stage) -> bool:
    return stage.key is not None and set(stage.key_types) <= set(SCALARS.values())


def _pass(program: ResolvedProgram, stage: Stage) -> Pass:
    part = program.part([statement.name for statement in stage.statements])
    return Pass(part, stage.key, stage.key_types)


def _connected(program: ResolvedProgram) -> list[set[str]]:
    """The names of statements that take what others of them derive, group by group."""
    groups: list[set[str]] = []
    for statement in program.statements:
        taken = arriving(statement, program.types)
        linked = {s.name for s in program.statements if s.target in taken} | {statement.name}
        apart = [group for group in groups if not group & linked]
        groups = [*apart, linked.union(*(group for group in groups if group & linked))]
    return groups


def _why_whole(part: ResolvedProgram) -> str:
    """Which statements cannot be split; if all can, then not by one key."""
    splits = [(s.name, split_of(s, part.types)) for s in part.statements]
    reasons = [f"{name}: {split.reason}" for name, split in splits if split.by is None]
    return "; ".join(reasons) or "its statements are split by different keys"
