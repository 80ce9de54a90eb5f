"""Runs a command: a list of arguments, never a shell. The row of the action comes on standard input."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

from cepheid.actions.action import Action, encode_line
from cepheid.actions.delivery import DeliveryFailed
from cepheid.actions.settings import Settings
from cepheid.core.templates import Template


@dataclass(frozen=True, slots=True)
class Command:
    """A value in an argument stays in this argument, whatever signs it has."""

    program: str
    arguments: tuple[Template, ...] = ()
    timeout: float = 60.0

    @classmethod
    def read(cls, settings: Settings) -> Command:
        program, *arguments = settings.texts("command") or [""]
        if program and shutil.which(program) is None:
            settings.wrong("command", f"no command '{program}'", "a program on the PATH, or a path")
        made = tuple(settings.as_template("command", text) for text in arguments)
        return cls(program, made, settings.seconds("timeout", 60.0))

    def deliver(self, action: Action, now: float) -> None:
        try:
            done = subprocess.run(
                self._line(action),
                input=encode_line(action.row()),
                capture_output=True,
                timeout=self.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise DeliveryFailed(f"'{self.program}' took longer than {self.timeout:g} s") from None
        except ValueError as problem:  # a null character, which no argument can hold
            raise DeliveryFailed(f"'{self.program}': {problem}", permanent=True) from None
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            raise DeliveryFailed(
                f"'{self.program}' ended with {done.returncode}" + (f": {said}" if said else "")
            )

    def describe(self, action: Action) -> str:
        return f"run {self._line(action)}"

    def _line(self, action: Action) -> list[str]:
        return [self.program, *(argument.text(action.names) for argument in self.arguments)]
