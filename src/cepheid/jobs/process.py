"""Processes of this machine, told apart from others that get the same number later."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_GLANCE = 0.02  # seconds


@dataclass(frozen=True, slots=True)
class Process:
    """A number, and when the process that had it began; together no other process has them."""

    number: int
    began: str  # in the system's own words, among them those of this start of the machine

    @classmethod
    def found(cls, number: int) -> Process | None:
        """The process that has a number now; one that has ended and is only not yet buried has none."""
        began = _began(number) if number > 1 else None
        return None if began is None else cls(number, began)

    @property
    def is_alive(self) -> bool:
        return Process.found(self.number) == self

    def signal(self, kind: int) -> None:
        """Nothing happens to another process that has the number now."""
        if self.is_alive:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.number, kind)


def marked(name: str, value: str) -> list[Process]:
    """All processes that have a variable in the environment they were started with.

    So what a process has started is found when it is gone itself. Only Linux tells.
    """
    wanted = os.fsencode(f"{name}={value}")
    return [p for p in _processes() if wanted in _environment(p.number).split(b"\0")]


def all_end(processes: Callable[[], list[Process]], within: float) -> bool:
    """Waits until none is left, so many seconds at most; whether none is."""
    deadline = time.monotonic() + within
    while processes():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_GLANCE)
    return True


def kill_all(processes: Callable[[], list[Process]], within: float) -> bool:
    """Ends them by force, also those that they start meanwhile; whether none is left."""

    def left() -> list[Process]:
        found = processes()
        for process in found:
            process.signal(signal.SIGKILL)
        return found

    return all_end(left, within)


def _processes() -> Iterator[Process]:
    if not _PROC.is_dir():
        return
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (process := Process.found(int(entry.name))):
            yield process


def _environment(number: int) -> bytes:
    try:
        return (_PROC / str(number) / "environ").read_bytes()
    except OSError:  # it has ended, or is another user's
        return b""


def _began(number: int) -> str | None:
    if not (_PROC / "self" / "stat").exists():
        return _began_elsewhere(number)
    try:
        text = (_PROC / str(number) / "stat").read_text(encoding="utf-8", errors="replace")
        boot = (_PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
    except OSError:
        return None
    # The name of the program stands in brackets, and may have brackets itself.
    fields = text.rpartition(")")[2].split()
    state, ticks = fields[0], fields[19]
    return None if state in "ZX" else f"{boot} {ticks}"


def _began_elsewhere(number: int) -> str | None:
    asked = ["ps", "-o", "stat=,lstart=", "-p", str(number)]
    told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split(None, 1)
    return None if len(told) < 2 or told[0].startswith("Z") else told[1].strip()
