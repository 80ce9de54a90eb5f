"""Where the actions of a run go: into an outbox, if one was asked for."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from cepheid.cli.terminal import run_messages
from cepheid.cli.terminal.console import counted

if TYPE_CHECKING:
    from cepheid.actions import Action


class ActionSink:
    """Puts actions into an outbox, which is open from the start: nobody runs in vain."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._added = self._known = 0
        if folder is not None:
            from cepheid.actions import Outbox

            self._outbox = Outbox(folder)

    def put(self, actions: Iterable[Action]) -> None:
        """Actions in their order, which are on disk when this returns; without an outbox none is made."""
        if self._folder is not None:
            done = self._outbox.put(actions)
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
