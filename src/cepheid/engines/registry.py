"""All engines: their names, what each offers, and where it is.

An engine is a package here with a module `engine`, which is loaded when it is first asked for:

    gaps(program)          what the engine cannot run, as findings
    run(request)           the rows of a program over bounded input
    open_runner(program)   a program that takes events one at a time; of those that offer sessions

To add one, write the package and a line below. Verbs, commands, messages and the table of the docs
read no other list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cepheid.errors import Diagnostic, UsageError, error, suggest

if TYPE_CHECKING:  # help pages list engines, and need nothing of them
    from cepheid.engines.common.request import Outcome, RunRequest
    from cepheid.engines.common.runners import OpenRunner, Runner
    from cepheid.program.resolved import ResolvedProgram


class Offer(Enum):
    """What an engine may be asked for; the value completes 'it does not ...'."""

    RUN = "run a program over bounded input"
    SESSION = "take events one at a time"
    STREAM = "run without end over a stream"
    MANY_RUNS = "do the runs of a simulation"
    WHY = "keep the events behind a row"
    TIMED_OUT = "report partial matches"
    TABLES = "read tables of a Spark session"
    INSPECT = "show what it keeps"


@dataclass(frozen=True, slots=True)
class Engine:
    name: str
    called: str  # in sentences: 'Maude does not ...'
    help: str  # behind its name in lists
    offers: frozenset[Offer]

    @property
    def _module(self) -> Any:
        return import_module(f"cepheid.engines.{self.name}.engine")

    def gaps(self, program: ResolvedProgram) -> list[Diagnostic]:
        """What of a program the engine cannot run."""
        gaps: Callable[[ResolvedProgram], list[Diagnostic]] = self._module.gaps
        return gaps(program)

    def run(self, request: RunRequest) -> Outcome:
        run: Callable[[RunRequest], Outcome] = self._module.run
        return run(request)

    def open_runner(
        self, program: ResolvedProgram, *, timed_out: bool = False, why: bool = False
    ) -> Runner:
        """A program that can run, ready for its first event."""
        self.require(Offer.SESSION)
        open_runner: OpenRunner = self._module.open_runner
        return open_runner(program, timed_out=timed_out, why=why)

    def require(self, offer: Offer) -> None:
        """UsageError, with the engines that can, if this one does not offer it."""
        if offer not in self.offers:
            fact = f"{self.called} does not {offer.value}"
            hint = f"choose the engine {either(engines_that(offer))}"
            raise UsageError(error("usage", fact, hint=hint))


_RUN, _SESSION, _STREAM, _MANY_RUNS, _WHY, _TIMED_OUT, _TABLES, _INSPECT = Offer
ENGINES = {
    engine.name: engine
    for engine in (
        Engine(
            "local",
            "this process",
            "this process: the compiled matcher",
            frozenset({_RUN, _SESSION, _MANY_RUNS, _WHY, _TIMED_OUT}),
        ),
        Engine(
            "reference",
            "the reference",
            "the same, slowly: its meaning",
            frozenset({_RUN, _SESSION, _WHY, _TIMED_OUT, _INSPECT}),
        ),
        Engine(
            "automaton",
            "an automaton",
            "tokens on the automata of complex events; other statements as the reference",
            frozenset({_RUN, _SESSION, _WHY, _TIMED_OUT, _INSPECT}),
        ),
        Engine("petri", "a net", "its Petri net", frozenset({_RUN})),
        Engine("maude", "Maude", "the real Maude", frozenset({_RUN})),
        Engine(
            "spark",
            "Spark",
            "a Spark session",
            frozenset({_RUN, _STREAM, _MANY_RUNS, _TIMED_OUT, _TABLES}),
        ),
    )
}
DEFAULT = "local"


def engines_that(offer: Offer) -> tuple[str, ...]:
    """The names of the engines that offer something."""
    return tuple(name for name, engine in ENGINES.items() if offer in engine.offers)


def engine_named(name: str, offer: Offer = Offer.RUN) -> Engine:
    """The engine of a name, which has to offer something; UsageError with those that do."""
    if name not in ENGINES:
        hint = suggest(str(name), engines_that(offer), "choices")
        raise UsageError(error("usage", f"no engine {name!r}", hint=hint))
    ENGINES[name].require(offer)
    return ENGINES[name]


def open_runner(
    program: ResolvedProgram, *, engine: str = DEFAULT, timed_out: bool = False, why: bool = False
) -> Runner:
    """A program that can run, on an engine that takes events one at a time."""
    return engine_named(engine, Offer.SESSION).open_runner(program, timed_out=timed_out, why=why)


def either(names: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
