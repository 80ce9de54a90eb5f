"""A process that does one piece of work after the other, and can be stopped in the middle of one.

Whoever waits for work may be cancelled, or lose patience: the process is ended, whatever it does, and the
next piece of work gets a new one. What the process had kept is then gone.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from cepheid.errors import RunError, UsageError, error
from cepheid.studio.folder import Folder
from cepheid.studio.worker import Said, Task, serve


@dataclass(slots=True)
class _Working:
    process: BaseProcess
    connection: Connection
    is_ready: bool = False

    def wait(self) -> None:
        """Until it has begun; on a busy machine, that takes seconds of which no work is to blame."""
        if not self.is_ready:
            self.connection.recv()
            self.is_ready = True


class Lane:
    def __init__(self, name: str, folder: Folder, *, is_trusted: bool) -> None:
        self.name = name
        self.folder, self.is_trusted = folder, is_trusted
        self._turn = asyncio.Lock()
        # Of its own, so that lanes that wait for long work leave the server's threads to others.
        self._waiting = ThreadPoolExecutor(1, thread_name_prefix=f"studio {name}")
        self._working: _Working | None = None

    async def do(self, task: Task, limit: float, tell: Callable[[Said], None]) -> Said:
        """What is said of the work at its end; `tell` hears of progress. RunError where it takes too long."""
        async with self._turn:
            working = self._living() or self._started()
            loop = asyncio.get_running_loop()

            def progress(said: Said) -> None:
                loop.call_soon_threadsafe(tell, said)

            try:
                await loop.run_in_executor(self._waiting, working.wait)
                async with asyncio.timeout(limit):
                    asked = partial(_ask, working.connection, task, progress)
                    return await loop.run_in_executor(self._waiting, asked)
            except TimeoutError:
                self.stop()
                fact = f"stopped: it took more than {limit:g} seconds"
                hint = "try fewer events or runs, or start the studio with a larger --limit"
                raise RunError(error("too-large", fact, hint=hint)) from None
            except (EOFError, OSError):
                self.stop()
                fact = "the process that did this has ended, perhaps for want of memory"
                raise RunError(error("too-large", fact, hint="try fewer events")) from None
            except RecursionError:  # nothing of it was sent
                raise UsageError(error("too-deep", "this is nested too deep")) from None
            except asyncio.CancelledError:
                self.stop()
                raise

    def _living(self) -> _Working | None:
        """None also where it ended while it had nothing to do."""
        if self._working is not None and not self._working.process.is_alive():
            self.stop()
        return self._working

    def _started(self) -> _Working:
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(
            target=serve, args=(there, self.folder, self.is_trusted), name=f"studio {self.name}"
        )
        process.start()
        there.close()  # so that its end is heard here
        self._working = _Working(process, here)
        return self._working

    def stop(self) -> None:
        """Ends the process and what it has started, such as Maude, also in the middle of work."""
        working, self._working = self._working, None
        if working is not None:
            with suppress(ProcessLookupError):  # it has just begun, and leads no group yet
                os.killpg(working.process.ident or 0, signal.SIGKILL)
            working.process.kill()
            working.process.join()


def _ask(connection: Connection, task: Task, tell: Callable[[Said], None]) -> Said:
    connection.send(task)
    while True:
        said: Said = connection.recv()
        if said[0] != "progress":
            return said
        tell(said)
