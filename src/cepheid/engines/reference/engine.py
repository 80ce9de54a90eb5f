"""The reference semantics, which leaves nothing out."""

from __future__ import annotations

from cepheid.engines.common.gaps import no_gaps
from cepheid.engines.common.request import Outcome, RunRequest
from cepheid.engines.common.runners import Reference, Runner, run_through
from cepheid.program.resolved import ResolvedProgram

# It says what everything means.
gaps = no_gaps


def open_runner(program: ResolvedProgram, *, timed_out: bool = False, why: bool = False) -> Runner:
    return Reference(program, timed_out=timed_out, why=why)


def run(request: RunRequest) -> Outcome:
    return run_through(open_runner, request)
