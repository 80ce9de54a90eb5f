"""The exit codes, which scripts rely on."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.errors import Diagnostic, Severity

GOOD = 0
FOUND = 1  # findings of severity warning or error, a failed run, a failed test
WRONG_USE = 2
UNDECIDED = 3  # the runs of `verify` leave it open

_USE = {
    "usage",
    "missing-file",
    "unknown-property",
}  # what is wrong is the command, not what it reads


def code_of_failure(problems: Iterable[Diagnostic]) -> int:
    return WRONG_USE if all(problem.code in _USE for problem in problems) else FOUND


def code_of_findings(findings: Iterable[Diagnostic]) -> int:
    return FOUND if any(f.severity is not Severity.NOTE for f in findings) else GOOD
