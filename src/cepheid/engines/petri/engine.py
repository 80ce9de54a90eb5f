"""A program as a Petri net that is fired; what is no net is a gap."""

from __future__ import annotations

from cepheid.engines.common.bounded import run_between
from cepheid.engines.common.request import Outcome, RunRequest
from cepheid.errors import Diagnostic
from cepheid.formal.petri.gaps import gaps as gaps_in_net
from cepheid.formal.petri.translate import run as fire
from cepheid.program.resolved import ResolvedProgram


def gaps(program: ResolvedProgram) -> list[Diagnostic]:
    return gaps_in_net(program)


def run(request: RunRequest) -> Outcome:
    return run_between(fire, request)
