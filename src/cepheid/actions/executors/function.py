"""Calls a Python function with the action."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from cepheid.actions.action import Action
from cepheid.actions.delivery import DeliveryFailed
from cepheid.actions.settings import Settings


@dataclass(frozen=True, slots=True)
class Function:
    """What it raises is a failure, to be tried again unless it is a `DeliveryFailed` that says otherwise."""

    function: Callable[[Action], object]
    name: str = "function"

    @classmethod
    def read(cls, settings: Settings) -> Function:
        name = settings.text("function")
        return cls(_found(name, settings), name)

    def deliver(self, action: Action, now: float) -> None:
        try:
            self.function(action)
        except DeliveryFailed:
            raise
        except (Exception, SystemExit) as problem:  # whatever a user's function raises
            raise DeliveryFailed(f"{type(problem).__name__}: {problem}") from None

    def describe(self, action: Action) -> str:
        return f"call {self.name} with {action.row()}"


def _found(name: str, settings: Settings) -> Callable[[Action], object]:
    module, _, path = name.partition(":")
    try:
        found: object = import_module(module) if path else None
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as problem:  # whatever a user's module raises
        if name:
            fact = f"no function '{name}' ({type(problem).__name__}: {problem})"
            settings.wrong("function", fact, "write 'module:function'")
        return _nothing
    if not callable(found):
        settings.wrong("function", f"'{name}' is no function")
        return _nothing
    return found


def _nothing(action: Action) -> None:
    """Stands for a function that is not there."""
