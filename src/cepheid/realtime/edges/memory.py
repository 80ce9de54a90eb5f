"""Events in shared memory, for one process that writes and one that reads.

    words of 8 bytes: a sign, how many slots, bytes of a slot, how many events were written,
                      the processes that read and write, or 0; two more that nobody uses
    slots:            a word, and an event as bytes

Event n, from 1 on, has slot (n - 1) % slots. Whoever writes it sets the word to 2n - 1 before and to 2n
after; whoever reads it copies the event and looks at the word again. So nobody waits for anybody: a writer
overwrites what was not read in time, and the reader counts it. This takes a machine on which stores are
seen in their order, as those with x86 are.

The memory is there while one of both is. Whoever comes first makes it; what a process left that ended
otherwise is used again, or replaced where it does not fit.
"""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from typing import Any

from cepheid.errors import reason_of
from cepheid.realtime.arrivals import Arrival
from cepheid.realtime.edges.addresses import Address, EdgeError
from cepheid.realtime.edges.traffic import LOOK, MOST, Intake, Sink
from cepheid.realtime.edges.wire import HEAD_BYTES, Format
from cepheid.realtime.graph import Time
from cepheid.realtime.machine import Sample
from cepheid.realtime.operators.kind import Array
from cepheid.realtime.payload import OBJECT, Payload

_SIGN = int.from_bytes(b"CEPHRNG1", "little")
_WORD = 8
_HEAD = 8 * _WORD
_LINE = 64  # of a cache; slots begin with one
_PATIENCE = 1.0  # seconds for another process to get ready, once it has made the memory
_CAN_TRACK = "track" in inspect.signature(SharedMemory).parameters  # since Python 3.13


class _Word(IntEnum):
    SIGN = 0
    SLOTS = 1
    STRIDE = 2
    WRITTEN = 3
    READER = 4
    WRITER = 5


_OTHER = {_Word.READER: _Word.WRITER, _Word.WRITER: _Word.READER}
_DOES = {_Word.READER: "reads", _Word.WRITER: "writes"}


class Ring:
    """Slots for events with a payload; `end` is READER or WRITER."""

    def __init__(self, address: Address, format: Format, end: _Word) -> None:
        import numpy as np

        self.lost = 0
        self._address = address
        self._format = format
        self._end = end
        self._stride = -(-(_WORD + format.length) // _LINE) * _LINE
        self._slots = max(4, min(256, (16 << 20) // self._stride))
        self._memory = self._open()
        self._bytes = _bytes(self._memory)
        self._words = self._bytes[: self._size].cast("Q")
        self._values: Any = np.ndarray(
            (self._slots, format.payload.size),
            format.dtype,
            self._bytes,
            _HEAD + _WORD + HEAD_BYTES,
            (self._stride, format.dtype.itemsize),
        )
        self._next = self._words[_Word.WRITTEN] + 1
        if end is _Word.WRITER and self._words[self._place()[1] // _WORD] == 2 * self._next:
            self._next += 1  # whoever wrote it ended before it was counted

    @property
    def _size(self) -> int:
        return _HEAD + self._slots * self._stride

    # -- events --

    def write(self, head: bytes, value: Array) -> None:
        slot, start = self._place()
        words, number = self._words, self._next
        words[start // _WORD] = 2 * number - 1
        self._bytes[start + _WORD : start + _WORD + HEAD_BYTES] = head
        self._values[slot] = value
        words[start // _WORD] = 2 * number
        words[_Word.WRITTEN] = number
        self._next += 1

    def read(self) -> bytes | None:
        """The next event, or None where there is none yet."""
        while True:
            start = self._place()[1]
            word = self._words[start // _WORD]
            if word < 2 * self._next:
                return None
            if word == 2 * self._next:
                found = bytes(self._bytes[start + _WORD : start + _WORD + self._format.length])
                if self._words[start // _WORD] == word:
                    self._next += 1
                    return found
            self._skip_overwritten(start)

    def _place(self) -> tuple[int, int]:
        slot = (self._next - 1) % self._slots
        return slot, _HEAD + slot * self._stride

    def _skip_overwritten(self, start: int) -> None:
        newest = (self._words[start // _WORD] + 1) // 2
        oldest = max(self._next + 1, newest - self._slots + 1)
        self.lost += oldest - self._next
        self._next = oldest

    # -- memory --

    def _open(self) -> SharedMemory:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                memory = self._made() or self._found()
            except OSError as problem:
                raise EdgeError(f"{self._address} cannot be used: {reason_of(problem)}") from None
            if memory is not None:
                return memory
            if time.monotonic() > deadline:
                raise EdgeError(f"{self._address} is memory of something else: take another name")
            time.sleep(0.001)

    def _made(self) -> SharedMemory | None:
        try:
            memory = _untracked(self._address.name, self._size)
        except FileExistsError:
            return None
        try:  # to get it now, where it can be told, and not when an event is written
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(memory._fd, 0, self._size)  # type: ignore[attr-defined]
        except OSError:
            memory.close()
            _unlink(memory)
            raise
        with _locked(memory), _bytes(memory)[:_HEAD] as head, head.cast("Q") as words:
            words[_Word.SLOTS], words[_Word.STRIDE] = self._slots, self._stride
            words[self._end] = os.getpid()
            words[_Word.SIGN] = _SIGN  # last: from now on others may use it
        return memory

    def _found(self) -> SharedMemory | None:
        """None where it has just gone, or is not ready yet, or was left by others and does not fit."""
        try:
            memory = _untracked(self._address.name)
        except (FileNotFoundError, ValueError):
            return None
        try:
            if memory.size >= _HEAD:
                with _locked(memory), _bytes(memory)[:_HEAD] as head, head.cast("Q") as words:
                    if words[_Word.SIGN] == _SIGN and _is_there(memory):
                        if self._claim(words):
                            return memory
                        _unlink(memory)
        except EdgeError:
            memory.close()
            raise
        memory.close()
        return None

    def _claim(self, words: memoryview) -> bool:
        """False where nobody uses the memory, and it does not fit."""
        mine, other = words[self._end], words[_OTHER[self._end]]
        if _is_alive(mine):
            raise EdgeError(f"process {mine} {_DOES[self._end]} {self._address} already")
        is_fitting = (words[_Word.SLOTS], words[_Word.STRIDE]) == (self._slots, self._stride)
        if is_fitting:
            words[self._end] = os.getpid()
        elif _is_alive(other):
            does = f"process {other} {_DOES[_OTHER[self._end]]} {self._address}"
            raise EdgeError(f"{does}, and not as {self._format.payload}")
        return is_fitting

    def close(self) -> None:
        with _locked(self._memory):
            self._words[self._end] = 0
            if not _is_alive(self._words[_OTHER[self._end]]):
                _unlink(self._memory)
        self._words.release()
        del self._values, self._bytes
        self._memory.close()


class MemoryFeed:
    """All suppliers of a piece of memory have events like those of the first."""

    def __init__(self, address: Address, intake: Intake) -> None:
        self._ring = Ring(address, intake.formats[0], _Word.READER)
        self._intake = intake
        self._due: Time = 0

    def due(self) -> Time | None:
        return self._due

    def poll(self, now: Time) -> Sequence[Arrival]:
        found: list[Arrival] = []
        self._due = now + LOOK
        before = self._ring.lost
        for _ in range(MOST):
            message = self._ring.read()
            if message is None:
                break
            found += self._intake.take(message, now, is_local=True)
        else:
            self._due = now  # there may be more
        self._intake.lose(self._ring.lost - before)
        return found

    def close(self) -> None:
        self._ring.close()


class MemorySink(Sink):
    def __init__(self, address: Address, payload: Payload) -> None:
        super().__init__(payload)
        self._ring = Ring(address, self._format, _Word.WRITER)

    def _send(self, sample: Sample[Array], *, is_late: bool) -> str | None:
        if sample.value.dtype == OBJECT:
            return "only numbers have a place in shared memory, and an attribute has no value"
        self._ring.write(self._format.head(sample, is_late=is_late), sample.value)
        return None

    def close(self) -> None:
        self._ring.close()


def _bytes(memory: SharedMemory) -> memoryview:
    assert memory.buf is not None
    return memory.buf


@contextmanager
def _locked(memory: SharedMemory) -> Iterator[None]:
    """Nobody comes while another one goes, where the system has locks."""
    if sys.platform == "win32":
        yield
        return
    from fcntl import LOCK_EX, LOCK_UN, flock

    number: int = memory._fd  # type: ignore[attr-defined]
    flock(number, LOCK_EX)
    try:
        yield
    finally:
        flock(number, LOCK_UN)


def _is_there(memory: SharedMemory) -> bool:
    """Whether others that look for it find the same; else it was given up a moment ago."""
    if sys.platform == "win32":
        return True
    try:
        found = _untracked(memory.name)
    except (FileNotFoundError, ValueError):
        return False
    try:
        own, its = (os.fstat(each._fd) for each in (memory, found))  # type: ignore[attr-defined]
        return own.st_ino == its.st_ino
    finally:
        found.close()


def _is_alive(process: int) -> bool:
    if not process:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # to end it, that is
        return True
    return True


def _untracked(name: str, size: int = 0) -> SharedMemory:
    """Memory that does not go when some process ends that used it; made where it has a size."""
    if _CAN_TRACK:
        return SharedMemory(name, create=size > 0, size=size, track=False)  # type: ignore[call-arg]
    memory = SharedMemory(name, create=size > 0, size=size)
    resource_tracker.unregister(memory._name, "shared_memory")  # type: ignore[attr-defined]
    return memory


def _unlink(memory: SharedMemory) -> None:
    if not _CAN_TRACK:  # it takes back what it has told
        resource_tracker.register(memory._name, "shared_memory")  # type: ignore[attr-defined]
    try:
        memory.unlink()
    except FileNotFoundError:  # another one was faster
        if not _CAN_TRACK:
            resource_tracker.unregister(memory._name, "shared_memory")  # type: ignore[attr-defined]
