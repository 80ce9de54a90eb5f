"""The operators of a graph at work, and what they remember."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from cepheid.realtime.machine import Run
from cepheid.realtime.operators.kind import Array, Made, State, Work


class Operators:
    """Runs jobs. The states of all operators are here, and nowhere else."""

    def __init__(
        self,
        works: Mapping[str, Work],
        leaving_out: Collection[str] = (),
        saved: Mapping[str, Any] | None = None,
    ) -> None:
        """They begin, or go on with the states that `freeze` gave."""
        self._works = {name: work for name, work in works.items() if name not in leaving_out}
        frozen = saved or {}
        self.states: dict[str, State] = {
            name: work.thaw(frozen[name]) if name in frozen else work.begin()
            for name, work in self._works.items()
        }
        self._begun: dict[str, Iterator[Made | None]] = {}  # runs between two steps

    def run(self, job: Run[Array]) -> Sequence[Array] | None:
        """The events that an operator makes; None where a step is done and others are left."""
        operator = job.operator
        name = operator.name
        work = self._works[name]
        if operator.steps == 1 or work.in_steps is None:
            self.states[name], values = work.step(self.states[name], job.inputs)
            return values
        if job.step == 0:
            self._begun[name] = work.in_steps(self.states[name], job.inputs, operator.steps)
        made = next(self._begun[name])
        if made is None:
            return None
        del self._begun[name]
        self.states[name], values = made
        return values

    def run_whole(self, job: Run[Array]) -> Sequence[Array]:
        """The same at once, for time that does not pass."""
        name = job.operator.name
        self.states[name], values = self._works[name].step(self.states[name], job.inputs)
        return values

    def restart(self, name: str) -> None:
        """As if it had never run."""
        self._begun.pop(name, None)
        self.states[name] = self._works[name].begin()

    def freeze(self) -> dict[str, Any]:
        """The states, between two runs, as something that can be pickled."""
        return {name: self._works[name].freeze(state) for name, state in self.states.items()}
