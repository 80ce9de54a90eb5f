"""How much memory this process has, and whether more of it can be had.

A process that takes all of a machine's memory is killed without a word. So whatever grows with its
input asks here first, and ends with a message.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

_SHARE = 3 / 4  # of the machine's memory, or of its container's
_RESERVE = 32 << 20  # bytes, to say what is wrong and put things away
_CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def is_short(more: int = 0) -> bool:
    """Whether so many more bytes are too many."""
    virtual, resident = _taken()
    return resident + more > allowed() or virtual + more + _RESERVE > _granted()


@cache
def allowed() -> int:
    """How many bytes a process may fill."""
    found = [sys.maxsize]
    if hasattr(os, "sysconf"):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for file in _CONTAINER:
        try:
            text = Path(file).read_text()
        except OSError:
            continue
        found += [int(text)] if text.strip().isdigit() else []
    return int(min(found) * _SHARE)


def _granted() -> int:
    """How many bytes of addresses the user's limit grants (`ulimit -v`)."""
    try:
        import resource
    except ImportError:  # not on this system
        return sys.maxsize
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def _taken() -> tuple[int, int]:
    """The bytes of addresses, and of memory that is really filled."""
    try:
        virtual, resident, *_ = Path("/proc/self/statm").read_bytes().split()
    except OSError:  # elsewhere nobody knows: only the machine's own limit is left
        return 0, 0
    page = os.sysconf("SC_PAGE_SIZE")
    return int(virtual) * page, int(resident) * page
