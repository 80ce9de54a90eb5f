"""Everything that is found in a program before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cepheid.core.types import EventType
from cepheid.errors import Diagnostic, Severity, Span
from cepheid.program.resolve import resolve_program
from cepheid.program.tree import Declaration, ProgramTree


def check_program(tree: ProgramTree, types: Mapping[str, EventType]) -> list[Diagnostic]:
    """All findings.

    Where several files form the program, a finding that no file gives alone is marked: each file
    may be right by itself.
    """
    findings = resolve_program(tree, types).problems
    parts = _parts(tree)
    if len(parts) > 1:
        alone = {_what(p) for part in parts for p in resolve_program(part, types).problems}
        findings = tuple(replace(f, combined=_what(f) not in alone) for f in findings)
    return list(findings)


def _parts(tree: ProgramTree) -> list[ProgramTree]:
    """What each file contributes."""
    parts: dict[str | None, list[Declaration]] = {}
    for declaration in tree.declarations:
        file = declaration.span.file if declaration.span else None
        parts.setdefault(file, []).append(declaration)
    return [ProgramTree(tuple(declarations)) for declarations in parts.values()]


def _what(finding: Diagnostic) -> tuple[str, Severity, Span | None]:
    """What makes a finding the same one; its hint may list what other files declare."""
    return finding.code, finding.severity, finding.span
