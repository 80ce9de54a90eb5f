"""What stands around a saved state: who saved it, and whether it is whole.

A state begins with a line that people can read, such as

    cepheid-state {"format": "bucket 3", "cepheid": "0.1.0", "program": "5e884898da280471"}

Then follow a checksum of all the rest and the state itself. A state of another format or of another
program is refused, with both named; which Cepheid wrote it is only told, as formats outlive versions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from zlib import crc32

from cepheid import __version__
from cepheid.core.once import once
from cepheid.core.types import EventType
from cepheid.errors import CepheidError, Diagnostic, RunError, error
from cepheid.program.allowances import without_allowances
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.serialize import to_json

_MARK = b"cepheid-state {"
_OLDER = (b"cepheid-state", b"cepheid-bucket")  # without a line that can be read
_CHECKSUM = 4  # bytes
_DIGITS = 16  # of a digest


class Seal:
    """Marks the states of one program, of an engine and a version of its format.

    What is no program is told by a text that says all of it.
    """

    def __init__(self, engine: str, version: str, program: ResolvedProgram | str) -> None:
        self._fields = {
            "format": f"{engine} {version if len(version) <= _DIGITS else _digest(version)}",
            "cepheid": __version__,
            "program": _digest(program) if isinstance(program, str) else program_digest(program),
        }
        self._header = f"cepheid-state {json.dumps(self._fields)}\n".encode()

    def close(self, payload: bytes) -> bytes:
        checksum = crc32(payload, crc32(self._header))
        return self._header + checksum.to_bytes(_CHECKSUM) + payload

    def open(self, state: bytes) -> bytes:
        """What was closed; RunError where the bytes are damaged, or another program's."""
        header = self._header
        if not state.startswith(header):
            header = self._header_in(state)
        start = len(header) + _CHECKSUM
        payload = state[start:]
        if crc32(payload, crc32(header)) != int.from_bytes(state[len(header) : start]):
            raise RunError(bad_state("the saved state is damaged"))
        return payload

    def _header_in(self, state: bytes) -> bytes:
        """The header of a state that another Cepheid has written in the same format."""
        header = state[: state.find(b"\n") + 1]
        if not state.startswith(_MARK) or not header:
            raise RunError(bad_state(_nature(state)))
        try:
            fields = dict(json.loads(header[len(_MARK) - 1 :]))
        except (ValueError, RecursionError):
            raise RunError(bad_state("the saved state is damaged")) from None
        for name, how in (("program", "by another program"), ("format", "in another format")):
            theirs, ours = fields.get(name), self._fields[name]
            if theirs != ours:
                writer = f"by Cepheid {fields.get('cepheid')}, and this is {__version__}"
                fact = f"this state was saved {how}: {theirs}, not {ours} ({writer})"
                raise RunError(bad_state(fact))
        return header


def program_of_state(state: bytes) -> str:
    """The digest of the program that saved a state, without opening that; RunError if it does not say."""
    header = state[: state.find(b"\n") + 1]
    try:
        if state.startswith(_MARK):
            return str(json.loads(header[len(_MARK) - 1 :])["program"])
    except (ValueError, KeyError, RecursionError):
        pass
    raise RunError(bad_state(_nature(state)))


def _nature(state: bytes) -> str:
    """What bytes are that do not begin as states do."""
    if state.startswith(_MARK) or (state and _MARK.startswith(state)):  # cut within its first line
        return "the saved state is damaged"
    if state.startswith(_OLDER):
        return f"this state was saved by an older Cepheid, in a form that {__version__} cannot read"
    return "these bytes are no saved state"


def bad_state(fact: str) -> Diagnostic:
    hint = "start afresh, or use the program, the engine and the options that saved it"
    return error("bad-state", fact, hint=hint)


@contextmanager
def forged() -> Iterator[None]:
    """RunError for whatever a content raises that has a right checksum, and is no state.

    The classes of its objects are known, not that each has what its class promises: some of that only
    shows where the objects are used.
    """
    try:
        yield
    except (CepheidError, MemoryError):
        raise
    except Exception as broken:
        raise RunError(bad_state(f"the saved state is no state: {broken}")) from broken


@once
def program_digest(program: ResolvedProgram) -> str:
    """A short text that no other program has."""
    return _digest(_identity(program))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGITS]


def _identity(program: ResolvedProgram) -> str:
    """Names a program: its text, the types of its events, and the order of its statements.

    What findings it allows changes no state.
    """
    text = json.dumps(to_json(without_allowances(program.tree)), sort_keys=True)
    types = sorted(map(_signature, program.types.values()))
    ranks = sorted((statement.rank, statement.name) for statement in program.statements)
    return f"{text} {types} {ranks}"


def _signature(type: EventType) -> str:
    """The same in every process, whatever order its sets have there."""
    return f"{type.name} {type.attributes} {sorted(type.ancestors)} {type.time} {type.is_open}"
