"""Ctrl-C ends every command soon, whatever it is in the middle of.

Python hears of a signal between two steps of its own, and raises KeyboardInterrupt. A solver, Spark
and the compiled matcher may be busy for much longer; a thread that waits for the signal is not.
"""

from __future__ import annotations

import os
import signal
import time
from threading import Thread
from types import FrameType
from typing import NoReturn

# As shells count: 128 and the number of the signal.
INTERRUPTED = 130
READER_GONE = 141  # of SIGPIPE, by which other tools end where `head` has read enough
_PATIENCE = 1.5  # seconds, in which a command may put away what it has begun
_heard: list[int] = []  # signals


def end_when_interrupted() -> None:
    """From now on Ctrl-C ends this process, if that does not end by itself."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _hear)
    if os.name != "posix":
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    Thread(target=_watch, args=(reading,), name="Ctrl-C", daemon=True).start()


def is_interrupted() -> bool:
    """Whether Ctrl-C was heard; a library may make another error of KeyboardInterrupt."""
    return bool(_heard)


def _hear(number: int, _frame: FrameType | None) -> NoReturn:
    _heard.append(number)
    raise KeyboardInterrupt


def _watch(signals: int) -> None:
    while signal.SIGINT not in os.read(signals, 64):
        pass
    time.sleep(_PATIENCE)
    os._exit(INTERRUPTED)
