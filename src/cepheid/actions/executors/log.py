"""Writes a line into the log of the process."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from cepheid.actions.action import Action, encode_line
from cepheid.actions.settings import Settings
from cepheid.core.templates import Template

LOGGER: Final = "cepheid.actions"
LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Log:
    """`text` is what is logged, by default the row of the action."""

    text: Template | None = None
    level: str = "info"

    @classmethod
    def read(cls, settings: Settings) -> Log:
        return cls(settings.template("text"), settings.one_of("level", LEVELS, "info"))

    def deliver(self, action: Action, now: float) -> None:
        level = logging.getLevelNamesMapping()[self.level.upper()]
        logging.getLogger(LOGGER).log(level, "%s", self._line(action))

    def describe(self, action: Action) -> str:
        return f"log {self._line(action)}"

    def _line(self, action: Action) -> str:
        if self.text is not None:
            return self.text.text(action.names)
        return encode_line(action.row()).decode().rstrip("\n")
