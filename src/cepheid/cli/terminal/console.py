"""Where the commands print: results on standard output, remarks on standard error."""

from __future__ import annotations

import shutil
import sys
from typing import TextIO

from rich.console import Console

_WIDTH_OF_NO_TERMINAL = 100


def out() -> Console:
    return _console(sys.stdout)


def err() -> Console:
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    # Values and texts are printed as they are: what looks like markup or an emoji is none.
    width = (
        None if stream.isatty() else shutil.get_terminal_size((_WIDTH_OF_NO_TERMINAL, 0)).columns
    )
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
