"""Runs commands in processes that are killed, from detections to deliveries.

    python killed_rounds.py COMMAND

The command runs once here, so that all it needs is loaded.
Each line of standard input is a list, [WAY, LIMIT, COMMAND, ...]: a process of its own, a copy of this one, runs the
commands one after the other, up to the first that fails, and how it ended is told on standard output. It kills itself in
the middle of a write when LIMIT bytes are written ('bytes'), or with the LIMIT-th call of a function that takes part in
rounds ('rounds').
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

from cepheid.cli.main import main
from tests.actions.killed import die_after

_ROUNDS = f"{os.sep}bitemporal{os.sep}"


def die_in_rounds(limit: int) -> None:
    rest = limit

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal rest
        if event == "call" and _ROUNDS in frame.f_code.co_filename:
            rest -= 1
            if rest == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(counted)


WAYS: dict[str, Callable[[int], None]] = {"bytes": die_after, "rounds": die_in_rounds}


def run_commands(way: str | None, limit: int, commands: list[list[str]]) -> int:
    if way is not None:
        WAYS[way](limit)
    return next((code for code in map(main, commands) if code != 0), 0)


def serve() -> None:
    for line in sys.stdin:
        way, limit, *commands = json.loads(line)
        process = os.fork()
        if process == 0:
            os._exit(run_commands(way, limit, commands))
        print(json.dumps({"process": process}), flush=True)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        print(json.dumps({"code": code}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
    serve()
