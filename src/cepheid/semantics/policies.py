"""How what waits in a pattern shares an event, policy by policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from cepheid.core.event import Event
from cepheid.errors import ProgramError, error
from cepheid.expr.evaluate import Frame
from cepheid.pattern.policy import EVERY, Policy
from cepheid.semantics.pattern import Atom


class Runs(Protocol):
    """The runs of one pattern."""

    def listening(self, event_type: str) -> list[Atom]:
        """The atoms that wait for such an event, in the order in which they take it."""
        ...


Offer: TypeAlias = Callable[[Runs, Event, Frame], None]


def offer_to_all(runs: Runs, event: Event, frame: Frame) -> None:
    """Only those that listen already: an instance started by this event does not see it."""
    for atom in runs.listening(event.type):
        if atom.alive:
            atom.offer(event, frame)


_OFFERS: Mapping[Policy, Offer] = {EVERY: offer_to_all}


def offer_of(policy: Policy) -> Offer:
    """What happens to an event under a policy."""
    if policy not in _OFFERS:
        raise ProgramError(error("unsupported", f"the policy {policy}"))
    return _OFFERS[policy]
