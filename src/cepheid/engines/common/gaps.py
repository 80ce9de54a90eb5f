"""What an engine cannot run."""

from __future__ import annotations

from cepheid.errors import Diagnostic
from cepheid.program.resolved import ResolvedProgram


def no_gaps(_program: ResolvedProgram) -> list[Diagnostic]:
    """Of an engine that runs every program."""
    return []
