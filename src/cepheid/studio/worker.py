"""What the process of a lane does: one verb after the other, until whoever asks is gone."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
import warnings
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import Literal, TypeAlias

from cepheid.errors import CepheidError, CepheidWarning, Diagnostic, error
from cepheid.io.encode import to_json
from cepheid.studio.folder import Folder
from cepheid.studio.room import Given, Room, Verb, finding_json

_OFTEN = 0.1  # seconds between two words about progress

# What is said of a verb, as JSON; progress may come several times, and then one of the others.
Said: TypeAlias = tuple[Literal["progress", "answer", "problems"], str]


@dataclass(frozen=True, slots=True)
class Task:
    verb: str
    values: dict[str, object]


def serve(connection: Connection, folder: Folder, is_trusted: bool) -> None:
    """The main function of the process."""
    from cepheid.studio.handlers import VERBS

    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for the server, which ends this process
    os.setpgid(0, 0)  # a group with what it starts, which ends with it
    Thread(target=_end_with_parent, daemon=True).start()
    warnings.simplefilter("ignore", CepheidWarning)  # they are notes of results
    room = Room(folder, is_trusted)
    connection.send(None)  # it is ready
    while True:
        try:
            task: Task = connection.recv()
        except EOFError:
            return
        room.progress = _Progress(connection)
        connection.send(said_of(VERBS[task.verb], room, task.values))


def said_of(verb: Verb, room: Room, values: dict[str, object]) -> Said:
    """What a verb answers; a defect of ours is told as a problem, too, so that the studio goes on."""
    try:
        return "answer", to_json(verb.handle(room, Given(values)))
    except CepheidError as wrong:
        return "problems", _problems(*wrong.diagnostics)
    except RecursionError:
        return "problems", _problems(error("too-deep", "this is nested too deep"))
    except MemoryError:
        return "problems", _problems(error("too-large", "this needs more memory than there is"))
    except Exception as defect:
        traceback.print_exc(file=sys.stderr)
        fact = f"'{verb.name}' failed inside: {type(defect).__name__}"
        hint = "this is a mistake of Cepheid; the terminal of the studio says more"
        return "problems", _problems(error("usage", fact, hint=hint))


def _problems(*problems: Diagnostic) -> str:
    return to_json([finding_json(problem) for problem in problems])


class _Progress:
    """Tells now and then."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.told = time.monotonic()

    def __call__(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self.told >= _OFTEN:
            self.told = now
            self.connection.send(("progress", to_json({"done": done, "total": total})))


def _end_with_parent() -> None:
    """No work goes on for a server that was killed."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.killpg(0, signal.SIGKILL)
