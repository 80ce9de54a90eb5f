"""Findings about a run that goes on nevertheless: how they reach someone who calls from Python."""

from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Iterable

from cepheid.errors import CepheidWarning, Diagnostic, Severity

_LOG = logging.getLogger("cepheid")
_PACKAGE = __name__.partition(".")[0]


def emit(findings: Iterable[Diagnostic]) -> None:
    """Warns, at the line that called Cepheid; what is only worth a note goes to the log 'cepheid'."""
    for finding in findings:
        if finding.severity is Severity.NOTE:
            _LOG.info("%s", finding)
        else:
            warnings.warn(CepheidWarning(str(finding)), stacklevel=_level_outside())


def _level_outside() -> int:
    """Which caller of `emit`, as `warnings.warn` counts them there, is the first beyond the package."""
    own = inspect.currentframe()
    frame, level = own and own.f_back, 1
    while frame is not None and _is_ours(frame.f_globals.get("__name__")):
        frame, level = frame.f_back, level + 1
    return level


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == _PACKAGE
