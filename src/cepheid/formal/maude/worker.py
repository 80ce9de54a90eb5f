"""The process in which Maude runs: `python -m cepheid.formal.maude.worker`.

Maude comes under the GPL, so nothing else of Cepheid loads it. Requests and answers are lines of JSON
on standard input and output, in turn:

    {"do": "load", "prelude": text, "program": text}    {}
    {"do": "limit", "megabytes": number}                {}
    {"do": "begin", "start": instant}                   {"state": number}
    {"do": "step", "state": n, "inputs": [term, ...]}   {"outcomes": [[outcome, ...], ...]}
    {"do": "run", "start": instant}                     {}
    {"do": "feed", "inputs": term}                      {"rows": term}

States have numbers; equal states have the same one. For each input, a step gives the states that it may
lead to, as {"state": n, "rows": term}: one, unless the order of the statements is open. A run keeps one
state only and goes on from it. A request that fails is answered with {"problem": text}.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

_RESULTS = 4  # their place in the term of a machine


class Problem(Exception):
    """A request that cannot be answered."""


class Worker:
    """The modules and states of one Maude."""

    def __init__(self, maude: Any) -> None:
        self.maude = maude
        self.prelude = ""
        self.module: Any = None
        self.states: list[Any] = []
        self.numbers: dict[int, list[int]] = {}  # of the states with a hash
        self.current: Any = None

    def load(self, prelude: str, program: str) -> dict[str, object]:
        if prelude != self.prelude:
            self.maude.input(prelude)
            self.prelude = prelude
        self.maude.input(program)
        self.module = self.maude.getCurrentModule()
        self.states, self.numbers, self.current = [], {}, None
        return {}

    def limit(self, megabytes: int) -> dict[str, object]:
        """Beyond this the process ends, whatever it is doing."""
        resource.setrlimit(resource.RLIMIT_DATA, (megabytes << 20, megabytes << 20))
        return {}

    def begin(self, start: int) -> dict[str, object]:
        return {"state": self._number(self._initial(start))}

    def step(self, state: int, inputs: list[str]) -> dict[str, object]:
        found = [self._outcomes(self._fed(self.states[state], term)) for term in inputs]
        return {"outcomes": found, "memory": _memory()}

    def run(self, start: int) -> dict[str, object]:
        self.current = self._initial(start)
        return {}

    def feed(self, inputs: str) -> dict[str, object]:
        fed = self._fed(self.current, inputs)
        fed.rewrite()
        rows = self._rows(fed)
        self.current = self._drained(fed)
        return {"rows": rows}

    def _initial(self, start: int) -> Any:
        term = self._parsed(f"initial({start})")
        term.reduce()
        return term

    def _parsed(self, text: str) -> Any:
        term = self.module.parseTerm(text)
        if term is None:
            raise Problem(f"Maude cannot read {text[:200]!r}")
        return term

    def _fed(self, state: Any, inputs: str) -> Any:
        parsed = self._parsed(inputs)
        return self._apply("feed", state, parsed)

    def _drained(self, state: Any) -> Any:
        term = self._apply("drained", state)
        term.reduce()
        return term

    def _apply(self, name: str, *arguments: Any) -> Any:
        system = self.module.findSort("System").kind()
        kinds = [argument.getSort().kind() for argument in arguments]
        return self.module.findSymbol(name, kinds, system).makeTerm(arguments)

    def _outcomes(self, fed: Any) -> list[dict[str, object]]:
        """The states in which nothing is left to do, with their rows; each pair once."""
        found: dict[tuple[int, str], None] = {}
        for final in self._finals(fed):
            rows = self._rows(final)
            found[self._number(self._drained(final)), rows] = None
        return [{"state": state, "rows": rows} for state, rows in found]

    def _finals(self, fed: Any) -> Iterator[Any]:
        if not self.module.getRules():  # statements do their work by equations
            fed.reduce()
            yield fed
            return
        anything = self.module.parseTerm("S:System")
        for final, *_ in fed.search(self.maude.NORMAL_FORM, anything):
            yield final

    def _rows(self, system: Any) -> str:
        if str(system.symbol()) == "runaway":
            raise Problem("runaway")
        machine, work, _ = system.arguments()
        if str(work) != "idle":
            raise Problem(f"Maude got stuck: {system!s:.500}")
        return str(list(machine.arguments())[_RESULTS])

    def _number(self, state: Any) -> int:
        same = self.numbers.setdefault(state.hash(), [])
        for number in same:
            if self.states[number].equal(state):
                return number
        same.append(len(self.states))
        self.states.append(state)
        return same[-1]


def _memory() -> int:
    """Megabytes that this process has taken at most.

    On Linux `ru_maxrss` would not do: it goes on from what the process had taken that started this one.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    for line in lines:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) >> 10
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return taken >> (20 if sys.platform == "darwin" else 10)


def serve(requests: TextIO, answers: TextIO, worker: Worker) -> None:
    """Answers until there are no more requests."""
    for line in requests:
        request = json.loads(line)
        do: Callable[..., dict[str, object]] = getattr(worker, request.pop("do"))
        try:
            answer = do(**request)
        except Problem as problem:
            answer = {"problem": str(problem)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main() -> int:
    # Maude writes to standard output what it pleases: answers get a channel of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        import maude
    except ImportError as problem:
        answers.write(json.dumps({"missing": str(problem)}) + "\n")
        return 1
    maude.init(advise=False)
    answers.write(json.dumps({"version": maude.MAUDE_VERSION}) + "\n")
    answers.flush()
    serve(sys.stdin, answers, Worker(maude))
    return 0


if __name__ == "__main__":
    sys.exit(main())
