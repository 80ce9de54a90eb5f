"""The memory of the machine as bytes, and back.

Written are the single words, and of each table the rows in use with their numbers; what the program
gives anew is left out. The bytes begin with what saved them: a version and a digest of the program's
machine form. A checksum finds damage.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from hashlib import sha256

import numpy as np

from cepheid.core.types import EventType
from cepheid.errors import Diagnostic, RunError, error
from cepheid.matcher.form import Form
from cepheid.matcher.pool import Pool
from cepheid.matcher.vm.layout import NONE, REGIONS, TABLE, USED, WIDTH, Field, Region
from cepheid.matcher.vm.memory import Memory, Words, collect, lay_out, rehash, rows_of, with_room
from cepheid.matcher.vm.store import BINDING, EVENT, FREED, LINK
from cepheid.matcher.vm.tables import (
    BUCKET,
    BUCKETS,
    CONSUMER,
    DEAD,
    E_COUNT,
    INPUT,
    K_MARK,
    KEY,
    KEYED,
    L_ALIVE,
    LIST,
    LIVE,
    POOLS,
    ROW,
    STATEMENT,
    STEP,
    TABLE_ENTRY,
    TIMED,
    TYPE,
)
from cepheid.program.serialize import to_json

VERSION = 1
_MAGIC = b"cepheid-matcher-state"
_CHECKSUM = sha256().digest_size
# Tables that the program gives anew, or that mean nothing between two calls.
_LEFT_OUT = {
    *(int(r) for r in (Region.CODE, Region.ASKED, Region.ANSWER, Region.STACK, Region.MEMO)),
    *(STATEMENT, CONSUMER, TYPE, LIST, TIMED, INPUT, STEP, ROW, BUCKET),
}


def save(memory: Memory, pool: Pool, form: Form) -> bytes:
    """The state between two calls."""
    collect(memory)
    parts = [memory[:TABLE], *_tables(memory)]
    words = np.concatenate(parts)
    pooled = pool.save()
    payload = zlib.compress(
        len(pooled).to_bytes(8, "little") + pooled + words.astype("<i8").tobytes(), 1
    )
    return _header(form) + sha256(payload).digest() + payload


def load(state: bytes, form: Form) -> tuple[Memory, Pool]:
    """What `save` wrote; RunError where the bytes are damaged, or another program's."""
    header = _header(form)
    if not state.startswith(_MAGIC):
        raise RunError(_problem("these bytes are no saved state of the matcher"))
    if state[: len(header)] != header:
        raise RunError(_problem("this state was saved by another program or another version"))
    checksum, payload = state[len(header) :][:_CHECKSUM], state[len(header) + _CHECKSUM :]
    if sha256(payload).digest() != checksum:
        raise RunError(_problem("the saved state is damaged"))
    content = zlib.decompress(payload)
    size = int.from_bytes(content[:8], "little")
    words = np.frombuffer(content[8 + size :], dtype="<i8").astype(np.int64)
    return _restored(words, form), Pool.load(content[8 : 8 + size])


def _tables(memory: Memory) -> Iterator[Words]:
    """For each table: its number, its rows, how many of them are written, which, and the rows."""
    for region in range(REGIONS):
        used = int(memory[TABLE + 4 * region + USED])
        if region in _LEFT_OUT or not used:
            continue
        rows = rows_of(memory, region)
        numbers = np.flatnonzero(_in_use(region, rows)).astype(np.int64)
        pool = memory[POOLS + 2 * region : POOLS + 2 * region + 2]
        yield np.array([region, used, len(numbers), rows.shape[1]], dtype=np.int64)
        yield pool if region not in _FLAGS else np.array([NONE, 0], dtype=np.int64)
        yield numbers
        yield rows[numbers].ravel()


# Where a row of a table says whether it is in use, and what it says if it is not.
_FLAGS = {
    EVENT: (int(Field.MARK), FREED),
    LINK: (3, FREED),
    KEY: (K_MARK, FREED),
    BINDING: (-1, FREED),
    LIVE: (L_ALIVE, 0),
    TABLE_ENTRY: (E_COUNT, FREED),
}


def _in_use(region: int, rows: Words) -> Words:
    if region not in _FLAGS:
        return np.ones(len(rows), dtype=np.int64)
    place, free = _FLAGS[region]
    found: Words = rows[:, place] != free
    return found


def _restored(words: Words, form: Form) -> Memory:
    is_keyed = bool(words[KEYED])
    memory = lay_out(form, keyed=is_keyed)
    tables: dict[int, tuple[int, Words, Words, Words]] = {}
    place = TABLE
    while place < len(words):
        region, used, count, width = (int(word) for word in words[place : place + 4])
        pool = words[place + 4 : place + 6]
        numbers = words[place + 6 : place + 6 + count]
        place += 6 + count
        tables[region] = used, pool, numbers, words[place : place + count * width]
        place += count * width
    needed = {r: used - int(memory[TABLE + 4 * r + USED]) for r, (used, *_) in tables.items()}
    buckets = int(words[BUCKETS])
    memory = with_room(memory, {**needed, BUCKET: buckets})
    memory[:TABLE] = words[:TABLE]
    memory[DEAD] = NONE  # those to be given back are not alive, and so among the free ones
    memory[TABLE + 4 * BUCKET + USED] = buckets
    for region, (used, pool, numbers, rows) in tables.items():
        _restore(memory, region, used, pool, numbers, rows)
    rehash(memory)
    return memory


def _restore(
    memory: Memory, region: int, used: int, pool: Words, numbers: Words, rows: Words
) -> None:
    memory[TABLE + 4 * region + USED] = used
    memory[POOLS + 2 * region : POOLS + 2 * region + 2] = pool
    table = rows_of(memory, region)
    table[numbers] = rows.reshape(len(numbers), int(memory[TABLE + 4 * region + WIDTH]))
    if region not in _FLAGS:
        return
    free = np.setdiff1d(np.arange(used), numbers)
    flag, value = _FLAGS[region]
    table[free, flag] = value
    table[free, 0] = np.append(free[1:], NONE)
    if len(free):
        memory[POOLS + 2 * region : POOLS + 2 * region + 2] = (free[0], len(free))


def _problem(fact: str) -> Diagnostic:
    return error("bad-state", fact, hint="start afresh, or use the program that saved it")


def _header(form: Form) -> bytes:
    """Names the program: its text, the types of its events, and the ranks of its statements."""
    program = json.dumps(to_json(form.program.tree), sort_keys=True)
    types = sorted(map(_signature, form.program.types.values()))
    ranks = [(s.name, s.rank) for s in form.statements]
    digest = sha256(f"{program} {types} {ranks}".encode()).digest()
    return _MAGIC + bytes([VERSION]) + digest


def _signature(type: EventType) -> str:
    """The same in every process, whatever order its sets have there."""
    return f"{type.name} {type.attributes} {sorted(type.ancestors)} {type.time} {type.is_open}"
