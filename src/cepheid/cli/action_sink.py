"""Where the actions of a run go: into an outbox, if one was asked for."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from cepheid.cli.terminal import run_messages
from cepheid.cli.terminal.console import counted
from cepheid.core.event import Event

if TYPE_CHECKING:
    from cepheid.verbs import Program


class ActionSink:
    """Puts the actions of rows into an outbox, which is open from the start: nobody runs in vain."""

    def __init__(self, program: Program, folder: str | None) -> None:
        self._folder = folder
        self._added = self._known = 0
        if folder is not None:
            from cepheid.actions import Outbox, RowActions

            self._actions = RowActions(program)
            self._outbox = Outbox(folder)

    def put(self, rows: Iterable[Event]) -> None:
        """Rows in their order; their actions are on disk when this returns."""
        if self._folder is not None:
            done = self._outbox.put(action for row in rows for action in self._actions.of(row))
            self._added += done.added
            self._known += done.known

    def __enter__(self) -> ActionSink:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._folder is not None:
            self._outbox.close()
            there = f", {self._known:,} were there" if self._known else ""
            run_messages.remark(
                f"put {counted(self._added, 'action')} into '{self._folder}'{there}"
            )
