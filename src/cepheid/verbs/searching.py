"""Inputs that are searched for, among all that may happen: those that lead to an event, or to results in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cepheid.engines.common.intake import runnable
from cepheid.errors import UsageError, error, suggest
from cepheid.verbs.arguments import MAKE_ONE, count, expect
from cepheid.verbs.program import Program

if TYPE_CHECKING:
    from cepheid.core.time import Instant
    from cepheid.formal.maude.environment import Environment
    from cepheid.formal.maude.search import Limits, OrderAnswer, SearchAnswer, Watch
    from cepheid.program.resolved import ResolvedProgram


def search(
    program: Program,
    environment: object,
    event: str,
    *,
    within: str,
    traces: int = 1,
    seconds: float = 60.0,
    megabytes: int = 2_000,
    watch: Watch | None = None,
) -> SearchAnswer:
    """The shortest inputs that lead to a derived event, of all that an environment allows.

    The environment is a TOML file, or a dictionary of the same form; `within` is how far to search, such
    as '10 seconds'. RunError where more `seconds` or `megabytes` are needed. `watch` hears how many events
    the sequences have that are tried, and how many states were seen. Needs Maude.
    """
    from cepheid.formal.maude.search import find

    resolved = _runnable(program)
    goal = _derived_type(resolved, event)
    with program.sources_told():
        tried, end = _asked(environment, resolved, within)
        limits = _limits(seconds, megabytes, traces)
        return find(tried, goal, end, limits, *_watching(watch))


def search_any_order(
    program: Program,
    environment: object,
    *,
    within: str,
    seconds: float = 60.0,
    megabytes: int = 2_000,
    watch: Watch | None = None,
) -> OrderAnswer:
    """The shortest inputs whose results depend on the order of statements of one priority, if there are any.

    The rest is as for `search`.
    """
    from cepheid.formal.maude.search import find_difference

    resolved = _runnable(program)
    with program.sources_told():
        tried, end = _asked(environment, resolved, within)
        return find_difference(tried, end, _limits(seconds, megabytes, 1), *_watching(watch))


def _runnable(program: Program) -> ResolvedProgram:
    expect(program, Program, "a program", MAKE_ONE)
    with program.sources_told():
        return runnable(program.resolve())


def _derived_type(program: ResolvedProgram, name: str) -> str:
    derived = {s.target for s in program.statements}
    if name not in derived:
        hint = suggest(name, derived, "derived types")
        raise UsageError(error("usage", f"no statement derives '{name}'", hint=hint))
    return name


def _asked(given: object, program: ResolvedProgram, within: str) -> tuple[Environment, Instant]:
    """What may happen, and how far to search."""
    from cepheid.core.time import clock_after, parse_period
    from cepheid.formal.maude.environment import environment_of

    tried = environment_of(given, program)
    try:
        return tried, clock_after(tried.start, parse_period(within))
    except ValueError as problem:
        raise UsageError(error("usage", f"within: {problem}")) from None


def _limits(seconds: float, megabytes: int, traces: int) -> Limits:
    from cepheid.formal.maude.search import Limits

    return Limits(seconds, count(megabytes, "megabytes"), count(traces, "traces"))


def _watching(watch: Watch | None) -> tuple[Watch, ...]:
    return () if watch is None else (watch,)
