"""`@Allow('code', 'why')`: one kind of finding that is silenced at one declaration, with a reason.

What is an error stays one. A finding belongs to the declaration in whose text it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cepheid.errors import CATALOGUE, Diagnostic, Severity, Span, error, note, suggest
from cepheid.program.tree import (
    Annotation,
    Context,
    ProgramTree,
    QuickFix,
    ReactiveRule,
    Schema,
    Statement,
)

ALLOW = "allow"
_ANNOTATED = Schema | Context | Statement | ReactiveRule | QuickFix
_EXAMPLE = "@Allow('unbounded-state', 'there are two hundred sensors')"
_UNPLACED = "\0"  # the file of places that are given to what has none


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is allowed, and where."""

    code: str
    annotation: Annotation
    place: Span | None


def allowance_problems(tree: ProgramTree) -> Iterator[Diagnostic]:
    """Allowances that name no finding or give no reason."""
    for declared, annotation in _annotations(tree):
        span = annotation.span or declared.span
        match annotation.arguments:
            case ((None, str(code)), (None, str(reason))):
                if code not in CATALOGUE:
                    hint = suggest(code, CATALOGUE)
                    yield error(
                        "bad-annotation", f"@Allow names '{code}', which no finding has", span, hint
                    )
                elif not reason.strip():
                    yield error("bad-annotation", "@Allow needs a reason", span, _EXAMPLE)
            case _:
                fact = "@Allow needs the code of a finding and a reason"
                yield error("bad-annotation", fact, span, _EXAMPLE)


def without_allowances(tree: ProgramTree) -> ProgramTree:
    """The program as it runs."""
    if not any(True for _ in _annotations(tree)):
        return tree
    return replace(
        tree,
        declarations=tuple(
            replace(d, annotations=tuple(a for a in d.annotations if a.name.lower() != ALLOW))
            if isinstance(d, _ANNOTATED)
            else d
            for d in tree.declarations
        ),
    )


def with_places(tree: ProgramTree) -> ProgramTree:
    """The tree with a place for each declaration that has none and allows something."""
    if not any(declared.span is None for declared, _ in _annotations(tree)):
        return tree
    places = (Span(n, 1, n, 2, _UNPLACED) for n in range(1, len(tree.declarations) + 1))
    return replace(
        tree,
        declarations=tuple(
            declared if declared.span else replace(declared, span=place)
            for declared, place in zip(tree.declarations, places, strict=True)
        ),
    )


def without_allowed(
    tree: ProgramTree, findings: Sequence[Diagnostic], *, tell_unused: bool
) -> list[Diagnostic]:
    """The findings that nothing allows, and a note for each allowance that silences none."""
    allowances = list(_allowances(tree))
    used: set[int] = set()
    kept = []
    for finding in findings:
        number = _allowing(finding, allowances)
        if number is None:
            kept.append(_without_place(finding))
        else:
            used.add(number)
    for number, allowance in enumerate(allowances):
        if tell_unused and number not in used:
            fact = (
                f"@Allow('{allowance.code}', ...) silences nothing: there is no such finding here"
            )
            span = allowance.annotation.span
            kept.append(note("unused-allow", fact, span, "leave it out"))
    return kept


def _allowing(finding: Diagnostic, allowances: Sequence[Allowance]) -> int | None:
    if finding.severity is Severity.ERROR or finding.span is None:
        return None
    for number, allowance in enumerate(allowances):
        if allowance.code == finding.code and _contains(allowance.place, finding.span):
            return number
    return None


def _allowances(tree: ProgramTree) -> Iterator[Allowance]:
    for declared, annotation in _annotations(tree):
        match annotation.arguments:
            case ((None, str(code)), (None, str())):
                yield Allowance(code, annotation, declared.span)


def _annotations(tree: ProgramTree) -> Iterator[tuple[_ANNOTATED, Annotation]]:
    for declared in tree.declarations:
        if isinstance(declared, _ANNOTATED):
            for annotation in declared.annotations:
                if annotation.name.lower() == ALLOW:
                    yield declared, annotation


def _contains(outer: Span | None, inner: Span) -> bool:
    if outer is None or outer.file != inner.file:
        return False
    begins = (outer.line, outer.column) <= (inner.line, inner.column)
    return begins and (inner.line, inner.column) < (outer.end_line, outer.end_column)


def _without_place(finding: Diagnostic) -> Diagnostic:
    is_given = finding.span is not None and finding.span.file == _UNPLACED
    return replace(finding, span=None) if is_given else finding
