"""A program on its way to workers: small, hashable, and put together there once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from cepheid.core.types import EventType
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.serialize import from_json, to_json


@dataclass(frozen=True, slots=True)
class PackedProgram:
    """The tree of a program as JSON, the types that it does not declare, the statements that run."""

    tree: str
    given: tuple[tuple[str, EventType], ...]
    statements: tuple[str, ...]

    @classmethod
    def of(cls, program: ResolvedProgram) -> PackedProgram:
        tree = json.dumps(to_json(program.tree))
        return cls(tree, tuple(program.given.items()), tuple(s.name for s in program.statements))

    def open(self) -> ResolvedProgram:
        return _opened(self, self.statements)

    def part(self, statements: Iterable[str]) -> ResolvedProgram:
        """Some of its statements, such as those of a pass."""
        return _opened(self, tuple(statements))


@lru_cache(maxsize=16)
def _opened(packed: PackedProgram, statements: tuple[str, ...]) -> ResolvedProgram:
    return resolve_program(from_json(json.loads(packed.tree)), dict(packed.given)).part(statements)
