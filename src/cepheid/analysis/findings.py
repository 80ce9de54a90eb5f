"""Everything that is found in a program before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cepheid.core.types import EventType
from cepheid.errors import Diagnostic, Severity, Span
from cepheid.program.resolve import resolve_program
from cepheid.program.tree import ProgramTree


def check_program(tree: ProgramTree, types: Mapping[str, EventType]) -> list[Diagnostic]:
    """All findings, in the order of the text.

    Where several files form the program, a finding that no file gives alone is marked: each file
    may be right by itself.
    """
    findings = resolve_program(tree, types).problems
    parts = _parts(tree)
    if len(parts) > 1:
        alone = {_what(p) for part in parts.values() for p in resolve_program(part, types).problems}
        findings = tuple(replace(f, combined=_what(f) not in alone) for f in findings)
    files = {file: number for number, file in enumerate(parts)}
    return sorted(findings, key=lambda finding: _place(finding, files))


def _parts(tree: ProgramTree) -> dict[str | None, ProgramTree]:
    """What each file contributes, in the order of the files."""
    parts: dict[str | None, ProgramTree] = {}
    for declaration in tree.declarations:
        file = declaration.span.file if declaration.span else None
        parts[file] = parts.get(file, ProgramTree()) + ProgramTree((declaration,))
    return parts


def _what(finding: Diagnostic) -> tuple[str, Severity, Span | None]:
    """What makes a finding the same one; its hint may list what other files declare."""
    return finding.code, finding.severity, finding.span


def _place(finding: Diagnostic, files: Mapping[str | None, int]) -> tuple[int, int, int]:
    span = finding.span
    return (files.get(span.file, 0), span.line, span.column) if span else (0, 0, 0)
