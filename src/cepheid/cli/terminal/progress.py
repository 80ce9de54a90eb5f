"""A progress bar on standard error, for long inputs and only where someone sees it."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_MANY = 20_000  # events
_LONG = 1.0  # seconds
_STEP = 256  # events, at least, between two looks at the clock


class ProgressBar:
    """Called with how many events are done, of how many; None while they are read."""

    def __init__(self, step: int = _STEP) -> None:
        self._step = step
        self._looked = 0  # at so many events
        self._is_seen = sys.stderr.isatty()
        self._began = time.monotonic()
        self._stack = ExitStack()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._total: int | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def __call__(self, done: int, total: int | None) -> None:
        if not self._is_seen or abs(done - self._looked) < self._step:
            return
        self._looked = done
        if self._bar is None and self._is_long(done, total):
            self._bar = self._shown()
        if self._bar is not None:
            self._update(self._bar, done, total)

    def _is_long(self, done: int, total: int | None) -> bool:
        return max(done, total or 0) > _MANY or time.monotonic() - self._began > _LONG

    def _shown(self) -> Progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Remaining

        from cepheid.cli.terminal.console import err

        words = TextColumn("{task.description}")
        columns = (words, BarColumn(), MofNCompleteColumn(), Remaining())
        return self._stack.enter_context(Progress(*columns, console=err(), transient=True))

    def _update(self, bar: Progress, done: int, total: int | None) -> None:
        if self._task is None or total != self._total:
            if self._task is not None:
                bar.remove_task(self._task)
            self._task = bar.add_task("reading" if total is None else "running", total=total)
            self._total = total
        bar.update(self._task, completed=done)
