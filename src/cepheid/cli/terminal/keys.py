"""Single keys from a terminal, without its waiting for the end of a line."""

from __future__ import annotations

import os
import re
import select
import sys
from contextlib import ExitStack
from types import TracebackType
from typing import Protocol

PAUSE, STEP, BACK, FASTER, SLOWER, QUIT = " ", "n", "b", "+", "-", "q"
_ESCAPE = b"\x1b"
_NAMES = {_ESCAPE: QUIT, b"\x1b[C": STEP, b"\x1b[D": BACK}  # arrows
_KEY = re.compile(rb"\x1b\[[0-9;]*[@-~]|\x1bO.|.", re.DOTALL)  # an arrow is several bytes
_MANY = 1024  # bytes that are read at once


class Keys(Protocol):
    """Where a player gets its keys from; `are_real` is false where nobody can press any."""

    are_real: bool

    def wait(self, seconds: float | None) -> str | None:
        """The next key; None where there was none in so many seconds. None seconds wait for ever."""


class NoKeys:
    """Nobody is there: it only waits."""

    are_real = False

    def wait(self, seconds: float | None) -> str | None:
        from time import sleep

        sleep(seconds or 0)
        return None


class TerminalKeys:
    """The keys of the terminal that standard input is."""

    are_real = True

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._pressed = b""  # while somebody was busy

    def __enter__(self) -> TerminalKeys:
        import termios
        import tty

        file = sys.stdin.fileno()
        self._stack.callback(termios.tcsetattr, file, termios.TCSADRAIN, termios.tcgetattr(file))
        tty.setcbreak(file)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def wait(self, seconds: float | None) -> str | None:
        if not self._pressed:
            if not _is_ready(seconds):
                return None
            self._pressed = os.read(sys.stdin.fileno(), _MANY)
        found = _KEY.match(self._pressed)
        if found is None:  # nobody can press a key any more
            return QUIT
        self._pressed = self._pressed[found.end() :]
        return _NAMES.get(found[0], found[0].decode("ascii", "ignore"))


def _is_ready(seconds: float | None) -> bool:
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def has_keys() -> bool:
    """Whether somebody can press a key here."""
    try:
        import termios  # noqa: F401
    except ImportError:  # not on this system
        return False
    return sys.stdin.isatty()
