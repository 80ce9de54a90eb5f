"""Policies: who may take an event, what noise does, and what a match consumes.

A pattern says what must happen; the policy says how the runs of the pattern share the events. An
event is *noise* for a pattern if nothing that waits takes it. Whoever drops or splits events before
they reach the pattern asks the policy first: `noise_counts` and `runs_are_independent`.

A new value is a new literal below. What is not known to be harmless counts as harmful: of a policy
that analyses have not learned, no event is dropped and none split off; engines hand over, or refuse,
what they do not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal as OneOf
from typing import TypeAlias

# Everything that waits for such an event, the oldest run that can take it, or the only run there is.
Takers: TypeAlias = OneOf["all", "oldest", "only"]
Noise: TypeAlias = OneOf["ignored", "clears"]  # what it does to the runs of a pattern
# What a run takes is lost for the others, or not.
Consumption: TypeAlias = OneOf["nothing", "events"]


@dataclass(frozen=True, slots=True)
class Policy:
    takers: Takers = "all"
    noise: Noise = "ignored"
    consumes: Consumption = "nothing"
    is_global: bool = False  # else the runs of each value of a common parameter are apart

    @property
    def noise_counts(self) -> bool:
        """Whether an event that nothing takes may change what matches; then none may be dropped."""
        return self.noise != "ignored"

    @property
    def runs_are_independent(self) -> bool:
        """Whether what one run takes, or ends with, is the same to all others."""
        return self.takers == "all" and self.consumes == "nothing" and not self.noise_counts


EVERY = Policy()  # EPL: each `every` and `->` goes its own way
CHRONICLE = Policy("oldest", "ignored", "events")
IMMEDIATE = Policy("oldest", "clears", "events")
STRICT = Policy("only", "clears", "events")
# By the names that VEPL has for them, and whether they are global.
CONTEXTS: Mapping[tuple[str, bool], Policy] = {
    (name, is_global): replace(policy, is_global=is_global)
    for name, policy in (("chronicle", CHRONICLE), ("immediate", IMMEDIATE), ("strict", STRICT))
    for is_global in (False, True)
}
