"""Findings about a run that goes on nevertheless: how they reach someone who calls from Python."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable

from cepheid.errors import CepheidWarning, Diagnostic, Severity

_LOG = logging.getLogger("cepheid")


def emit(findings: Iterable[Diagnostic], stacklevel: int = 2) -> None:
    """Warns; what is only worth a note goes to the log 'cepheid'. The level is that of `warnings.warn`."""
    for finding in findings:
        if finding.severity is Severity.NOTE:
            _LOG.info("%s", finding)
        else:
            warnings.warn(CepheidWarning(str(finding)), stacklevel=stacklevel + 1)
