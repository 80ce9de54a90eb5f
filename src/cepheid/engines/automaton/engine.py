"""Complex events as tokens that walk over their automata; other statements run on the reference.

A gap is an automaton that would be too large.
"""

from __future__ import annotations

from cepheid.engines.common.request import Outcome, RunRequest
from cepheid.engines.common.runners import Reference, Runner, run_through
from cepheid.errors import Diagnostic, ProgramError
from cepheid.pattern.algebra import Occurrence
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.construction import automaton_of
from cepheid.semantics.tokens import on_automaton


def gaps(program: ResolvedProgram) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for statement in program.statements:
        if isinstance(statement.pattern, Occurrence):
            try:
                automaton_of(statement.pattern, program.types)
            except ProgramError as unable:
                found.extend(unable.diagnostics)
    return found


def open_runner(program: ResolvedProgram, *, timed_out: bool = False, why: bool = False) -> Runner:
    if found := gaps(program):
        raise ProgramError(*found)
    return Reference(program, timed_out=timed_out, why=why, follow=on_automaton)


def run(request: RunRequest) -> Outcome:
    return run_through(open_runner, request)
