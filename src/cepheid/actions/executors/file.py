"""Appends the rows of actions to a file of JSON Lines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cepheid.actions.action import Action, encode_line
from cepheid.actions.executors.appending import append_once
from cepheid.actions.settings import Settings


@dataclass(frozen=True, slots=True)
class File:
    path: Path

    @classmethod
    def read(cls, settings: Settings) -> File:
        return cls(settings.path("path"))

    def deliver(self, action: Action, now: float) -> None:
        append_once(self.path, encode_line(action.row()))

    def describe(self, action: Action) -> str:
        return f"append to '{self.path}': {encode_line(action.row()).decode().rstrip()}"
