"""Puts actions into an outbox and does them, batch by batch, until it is killed.

    python killed.py OUTBOX URL COUNT BYTES

After so many bytes of files were written it kills itself, in the middle of a write; 0 is never.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

from cepheid import actions

CLASSES = ("mail", "post", "page")
_BATCH = 12


def made(count: int) -> Iterator[actions.Action]:
    for n in range(count):
        key = actions.reaction_key(n * 60_000_000, "Flight", (f"LH{n}", n), n % 2)
        cause = {"@type": "Flight", "flightNo": f"LH{n}"}
        yield actions.Action(CLASSES[n % 3], n * 60_000_000, key, cause, {"p1": f"text {n}"})


def die_after(limit: int) -> None:
    rest, write = limit, os.write

    def counted(file: int, data: memoryview) -> int:
        nonlocal rest
        rest -= len(data)
        if rest < 0:
            write(file, data[: len(data) + rest])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(file, data)

    os.write = counted  # type: ignore[assignment]


def main(outbox: str, url: str, count: str, limit: str) -> None:
    hooks = {name: {"kind": "webhook", "url": f"{url}/{name}"} for name in CLASSES}
    executors = actions.deliveries(hooks)
    if int(limit):
        die_after(int(limit))
    pending = list(made(int(count)))
    with actions.Outbox(outbox) as opened:
        for start in range(0, len(pending), _BATCH):
            opened.put(pending[start : start + _BATCH])
            actions.drain(outbox, executors)


if __name__ == "__main__":
    main(*sys.argv[1:])
