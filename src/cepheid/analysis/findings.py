"""Everything that is found in a program before it runs.

Wrong names and types come first. A program that could run is then analysed, a file for each
analysis, which says what it can and cannot see; each can be left out by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module

from cepheid.analysis import (
    contradictions,
    cycles,
    nulls,
    races,
    retention_report,
    state,
    traps,
    unused,
    windows,
)
from cepheid.core.types import EventType
from cepheid.errors import Diagnostic, Severity, Span
from cepheid.program.graph import Graph, graph_of
from cepheid.program.resolve import resolve_program
from cepheid.program.tree import Declaration, ProgramTree

Analysis = Callable[[Graph], Iterator[Diagnostic]]


def _of_classes(module: str) -> Analysis:
    """An analysis of classes, which reads SQL with a library that other programs do without."""

    def find(graph: Graph) -> Iterator[Diagnostic]:
        if graph.program.classes:
            chosen: Analysis = import_module(f"cepheid.analysis.classes.{module}").find
            yield from chosen(graph)

    return find


def _together(*analyses: Analysis) -> Analysis:
    """One analysis of several kinds of declarations."""

    def find(graph: Graph) -> Iterator[Diagnostic]:
        for analysis in analyses:
            yield from analysis(graph)

    return find


ANALYSES: Mapping[str, Analysis] = {
    "cycles": cycles.find,
    "priorities": races.find,
    "unused": unused.find,
    "logic": contradictions.find,
    "state": state.find,
    "retention": retention_report.find,
    "windows": windows.find,
    "traps": traps.find,
    "nulls": _together(nulls.find, _of_classes("nulls")),
    "monotone": _of_classes("monotone"),
    "spans": _of_classes("observation"),
    "firing": _of_classes("firing"),
    "lifespans": _of_classes("outliving"),
    "toggles": _of_classes("toggles"),
}


def check_program(
    tree: ProgramTree, types: Mapping[str, EventType], without: Collection[str] = ()
) -> list[Diagnostic]:
    """All findings, but for those of the analyses that are left out.

    Where several files form the program, a finding that no file gives alone is marked: each file
    may be right by itself.
    """
    findings = _findings(tree, types, without)
    parts = _parts(tree)
    if len(parts) > 1:
        alone = {_what(f) for part in parts for f in _findings(part, types, without)}
        findings = [replace(f, combined=_what(f) not in alone) for f in findings]
    return findings


def _findings(
    tree: ProgramTree, types: Mapping[str, EventType], without: Collection[str]
) -> list[Diagnostic]:
    program = resolve_program(tree, types)
    found = list(program.problems)
    if any(problem.severity is Severity.ERROR for problem in found):
        return found
    graph = graph_of(program)
    for name, analysis in ANALYSES.items():
        if name not in without:
            found += analysis(graph)
    return found


# What many statements of a program may have: told once, with the places of the others.
_GROUPED = ("no-priority", "implied")
_PLACES_SHOWN = 6


def grouped(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Notes of some kinds that several statements of a file have become one."""
    alike: dict[tuple[str, str | None], list[Diagnostic]] = {}
    for finding in findings:
        if finding.code in _GROUPED:
            file = finding.span.file if finding.span else None
            alike.setdefault((finding.code, file), []).append(finding)
    together = {id(group[0]): _as_one(group) for group in alike.values()}
    others = {id(finding) for group in alike.values() for finding in group[1:]}
    return [together.get(id(f), f) for f in findings if id(f) not in others]


def _as_one(group: Sequence[Diagnostic]) -> Diagnostic:
    first, *others = group
    if not others:
        return first
    lines = [str(f.span.line) for f in others if f.span]
    more = ", ..." if len(lines) > _PLACES_SHOWN else ""
    word = "line" if len(lines) == 1 else "lines"
    where = f": {word} {', '.join(lines[:_PLACES_SHOWN])}{more}" if lines else ""
    count = "1 more statement is" if len(others) == 1 else f"{len(others)} more statements are"
    return replace(first, message=f"{first.message}; {count} like it{where}")


def _parts(tree: ProgramTree) -> list[ProgramTree]:
    """What each file contributes."""
    parts: dict[str | None, list[Declaration]] = {}
    for declaration in tree.declarations:
        file = declaration.span.file if declaration.span else None
        parts.setdefault(file, []).append(declaration)
    return [ProgramTree(tuple(declarations), tree.functions) for declarations in parts.values()]


def _what(finding: Diagnostic) -> tuple[str, Severity, Span | None]:
    """What makes a finding the same one; its hint may list what other files declare."""
    return finding.code, finding.severity, finding.span
