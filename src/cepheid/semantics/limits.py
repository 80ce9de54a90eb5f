"""What ends a run that would go on growing, in the same words whatever engine runs it.

A text has at most `MOST_TEXT` characters where statements make it (`expr/functions.py`); one cause
brings at most `RUNAWAY` derived events; time alone brings rows at `MOST_INSTANTS` instants at most
between two events; and what a process keeps stays within its memory (`core/memory.py`).
"""

from __future__ import annotations

from cepheid.core.time import Instant, format_instant
from cepheid.errors import Diagnostic, RunError, error
from cepheid.program.resolved import ResolvedStatement

RUNAWAY = 100_000  # events derived from one cause
MOST_INSTANTS = 1_000_000  # at which timers give rows while no event comes
TURNS = 4096  # events and instants between two looks at the memory


def runaway(statement: ResolvedStatement, clock: Instant) -> Diagnostic:
    fact = f"more than {RUNAWAY:,} events were derived from one cause"
    hint = f"the last came from '{statement.name}' at {format_instant(clock)}"
    return error("runaway", fact, statement.tree.span, hint)


def endless_output(statement: ResolvedStatement, clock: Instant) -> Diagnostic:
    fact = f"timers gave rows at more than {MOST_INSTANTS:,} instants while no event came"
    hint = (
        f"the last came from '{statement.name}' at {format_instant(clock)}: let its timers fire less"
        " often, or time pass in smaller steps"
    )
    return error("too-large", fact, statement.tree.span, hint)


def outgrown(statement: ResolvedStatement) -> Diagnostic:
    fact = f"'{statement.name}' keeps more than the memory of this process can hold"
    hint = (
        "`cepheid check` says what statements keep; a key, a shorter window or 'within' bounds it"
    )
    return error("too-large", fact, statement.tree.span, hint)


def named(limit: RunError, statement: ResolvedStatement) -> Diagnostic:
    """What an expression could not go on with, and in which statement."""
    [problem] = limit.diagnostics
    span = problem.span or statement.tree.span
    return error(problem.code, f"'{statement.name}': {problem.message}", span, problem.hint)
