"""What stands around a saved state: who saved it, and whether it is whole."""

from __future__ import annotations

import json
from hashlib import sha256

from cepheid.core.types import EventType
from cepheid.errors import Diagnostic, RunError, error
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.serialize import to_json

_MARK = b"cepheid-state"
_CHECKSUM = sha256().digest_size


class Seal:
    """Marks the states of one program, of an engine and a version of its format."""

    def __init__(self, engine: str, version: str, program: ResolvedProgram) -> None:
        writer = f"{engine} {version} {_identity(program)}"
        self._header = _MARK + sha256(writer.encode()).digest()

    def close(self, payload: bytes) -> bytes:
        return self._header + sha256(payload).digest() + payload

    def open(self, state: bytes) -> bytes:
        """What was closed; RunError where the bytes are damaged, or another program's."""
        if not state.startswith(_MARK):
            raise RunError(bad_state("these bytes are no saved state"))
        if not state.startswith(self._header):
            raise RunError(bad_state("this state was saved by another program or another version"))
        rest = state[len(self._header) :]
        checksum, payload = rest[:_CHECKSUM], rest[_CHECKSUM:]
        if sha256(payload).digest() != checksum:
            raise RunError(bad_state("the saved state is damaged"))
        return payload


def bad_state(fact: str) -> Diagnostic:
    return error("bad-state", fact, hint="start afresh, or use the program that saved it")


def _identity(program: ResolvedProgram) -> str:
    """Names a program: its text, the types of its events, and the order of its statements."""
    text = json.dumps(to_json(program.tree), sort_keys=True)
    types = sorted(map(_signature, program.types.values()))
    ranks = sorted((statement.rank, statement.name) for statement in program.statements)
    return f"{text} {types} {ranks}"


def _signature(type: EventType) -> str:
    """The same in every process, whatever order its sets have there."""
    return f"{type.name} {type.attributes} {sorted(type.ancestors)} {type.time} {type.is_open}"
