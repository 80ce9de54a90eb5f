"""A program that Maude rewrites; what cannot be said there is a gap."""

from __future__ import annotations

from cepheid.engines.common.bounded import run_between
from cepheid.engines.common.request import Outcome, RunRequest
from cepheid.errors import Diagnostic, ProgramError
from cepheid.formal.maude.engine import run as rewrite
from cepheid.formal.maude.specify import specify
from cepheid.program.resolved import ResolvedProgram


def gaps(program: ResolvedProgram) -> list[Diagnostic]:
    """What cannot be said in Maude; of expressions only their translation knows it."""
    try:
        specify(program)
    except ProgramError as unable:
        return list(unable.diagnostics)
    return []


def run(request: RunRequest) -> Outcome:
    return run_between(rewrite, request)
