"""Policies: who may take an event, what noise does, and what a match consumes.

A pattern says what must happen; the policy says how the runs of the pattern share the events. An
event is *noise* for a pattern if nothing that waits takes it. Whoever drops or splits events before
they reach the pattern asks the policy first: `noise_counts` and `runs_are_independent`.

A new value is a new literal below. What is not known to be harmless counts as harmful: of a policy
that analyses have not learned, no event is dropped and none split off; engines hand over, or refuse,
what they do not know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

Takers: TypeAlias = OneOf["all"]  # everything that waits for such an event
Noise: TypeAlias = OneOf["ignored"]
Consumption: TypeAlias = OneOf["nothing"]  # other runs may take what is part of a match


@dataclass(frozen=True, slots=True)
class Policy:
    takers: Takers = "all"
    noise: Noise = "ignored"
    consumes: Consumption = "nothing"

    @property
    def noise_counts(self) -> bool:
        """Whether an event that nothing takes may change what matches; then none may be dropped."""
        return self.noise != "ignored"

    @property
    def runs_are_independent(self) -> bool:
        """Whether what one run takes, or ends with, is the same to all others."""
        return self.takers == "all" and self.consumes == "nothing" and not self.noise_counts


EVERY = Policy()  # EPL: each `every` and `->` goes its own way
