"""Where the commands print: results on standard output, remarks on standard error."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from rich.console import Console

from cepheid.core.words import counted, visible

__all__ = ["Visible", "counted", "err", "guard_terminal", "out", "visible"]

_WIDTH_OF_NO_TERMINAL = 100


def out() -> Console:
    return _console(sys.stdout)


def err() -> Console:
    return _console(sys.stderr)


class Visible:
    """A terminal's stream for texts: what would move its cursor or change its colours is an escape.

    The consoles above know their own colours from others', and write past it.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(visible(text))

    def writelines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def guard_terminal() -> None:
    """Texts that others wrote must not rule the terminal that they are printed on."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream.isatty() and not isinstance(stream, Visible):
            setattr(sys, name, Visible(stream))


def _console(stream: TextIO | Visible) -> Console:
    stream = stream.stream if isinstance(stream, Visible) else stream
    # Values and texts are printed as they are: what looks like markup or an emoji is none.
    width = (
        None if stream.isatty() else shutil.get_terminal_size((_WIDTH_OF_NO_TERMINAL, 0)).columns
    )
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)
