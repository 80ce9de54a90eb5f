"""Single keys from a terminal, without its waiting for the end of a line."""

from __future__ import annotations

import os
import select
import sys
from contextlib import ExitStack
from types import TracebackType
from typing import Protocol

PAUSE, STEP, BACK, FASTER, SLOWER, QUIT = " ", "n", "b", "+", "-", "q"
_ESCAPE = b"\x1b"
_NAMES = {_ESCAPE: QUIT, b"\x1b[C": STEP, b"\x1b[D": BACK}  # arrows
_LONGEST = 8  # bytes of a key that follow an escape


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
        if not _is_ready(seconds):
            return None
        pressed = os.read(sys.stdin.fileno(), 1)
        if pressed == _ESCAPE and _is_ready(0):
            pressed += os.read(sys.stdin.fileno(), _LONGEST)
        return _NAMES.get(pressed, pressed.decode("ascii", "ignore")) if pressed else QUIT


def _is_ready(seconds: float | None) -> bool:
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def has_keys() -> bool:
    """Whether somebody can press a key here."""
    try:
        import termios  # noqa: F401
    except ImportError:  # not on this system
        return False
    return sys.stdin.isatty()
