"""A program on its way to workers: small, hashable, and put together there once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from pyspark import cloudpickle

from cepheid.core.types import EventType
from cepheid.errors import UsageError, error
from cepheid.expr.python import PythonFunction
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.serialize import from_json, to_json


@dataclass(frozen=True, slots=True)
class PackedProgram:
    """The tree of a program as JSON, the types that it does not declare, the statements that run."""

    tree: str
    given: tuple[tuple[str, EventType], ...]
    statements: tuple[str, ...]
    functions: bytes = b""  # of Python, those of notebooks with all their code

    @classmethod
    def of(cls, program: ResolvedProgram) -> PackedProgram:
        return cls(
            json.dumps(to_json(program.tree)),
            tuple(program.given.items()),
            tuple(s.name for s in program.statements),
            _packed(program.tree.functions),
        )

    def open(self) -> ResolvedProgram:
        return _opened(self, self.statements)

    def part(self, statements: Iterable[str]) -> ResolvedProgram:
        """Some of its statements, such as those of a pass."""
        return _opened(self, tuple(statements))


@lru_cache(maxsize=16)
def _opened(packed: PackedProgram, statements: tuple[str, ...]) -> ResolvedProgram:
    functions = cloudpickle.loads(packed.functions) if packed.functions else ()
    tree = from_json(json.loads(packed.tree), functions)
    return resolve_program(tree, dict(packed.given)).part(statements)


def _packed(functions: tuple[PythonFunction, ...]) -> bytes:
    if not functions:
        return b""
    try:
        return bytes(cloudpickle.dumps(functions))  # type: ignore[no-untyped-call]
    except Exception as problem:  # whatever a closure holds says so in its own way
        names = ", ".join(f"'{function.name}'" for function in functions)
        fact = f"what {names} refers to cannot be sent to workers: {problem}"
        hint = "open what it needs inside the function, not outside"
        raise UsageError(error("usage", fact, hint=hint)) from None
