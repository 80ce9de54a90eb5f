"""A run in rounds: what every engine is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cepheid.analysis.lifespans import lifespans
from cepheid.bitemporal.detections import History
from cepheid.bitemporal.repository import Admission, AfterFreeze
from cepheid.bitemporal.rounds import Rounds
from cepheid.program.classes import SubscribedClass
from cepheid.program.resolved import ResolvedClass

# Definitions 4.6, 4.8 and 4.10: how long events are kept, and whether actions are, too.
Window: TypeAlias = Literal["buffering", "sliding", "sliding-actions"]
WINDOWS: tuple[Window, ...] = ("buffering", "sliding", "sliding-actions")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsRequest:
    """Classes, each after those that it is made of, over a history and in rounds."""

    classes: Sequence[ResolvedClass]
    names: Sequence[str]  # of the classes, in the order of the text
    history: History
    rounds: Rounds
    window: Window = "buffering"
    after_freeze: AfterFreeze = "refuse"

    @property
    def is_window(self) -> bool:
        return self.window != "buffering"

    def admission(self) -> Admission:
        subscribed = {
            each.declared.name: each.declared
            for each in self.classes
            if isinstance(each.declared, SubscribedClass)
        }
        kept = lifespans(self.classes) if self.is_window else None
        return Admission(subscribed, self.rounds, self.after_freeze, kept)
