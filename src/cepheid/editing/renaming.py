"""Gives what a name stands for another name, at all places of a program.

The texts with the new name are read again. What they say must be what they said but for the name; where it is not,
because the name is taken, or would mean something else somewhere, nothing is renamed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cepheid.core.types import bad_name
from cepheid.editing.origins import Origins
from cepheid.editing.places import apply
from cepheid.editing.symbols import Kind, Occurrence, Symbol
from cepheid.editing.workspace import Workspace, is_error
from cepheid.errors import Diagnostic, Edit, ProgramError, Span, error
from cepheid.expr.printing import print_string
from cepheid.lang.common.names import Role
from cepheid.lang.language import Text

_FIXED = (Kind.FUNCTION, Kind.ANNOTATION)


def renamable(workspace: Workspace, file: str, offset: int) -> Occurrence | None:
    """What stands at a place, if it can be renamed."""
    found = workspace.at(file, offset)
    if found is None or found.symbol.kind in _FIXED or not found.symbol.name:
        return None
    return found


def rename(workspace: Workspace, file: str, offset: int, new: str) -> tuple[Edit, ...]:
    """The edits, in the order of the texts; ProgramError where the name cannot be given."""
    found = renamable(workspace, file, offset)
    if found is None:
        span = workspace.documents[file].lines.span(offset, offset)
        raise ProgramError(error("usage", "there is no name here that can be changed", span))
    _refuse_no_name(found, new)
    if new == found.symbol.name:
        return ()
    _refuse_unread(workspace, found.symbol.name)
    edits = tuple(_edits(workspace, found.symbol, new))
    _refuse_change(workspace, found, new, edits)
    return edits


def _refuse_no_name(found: Occurrence, new: str) -> None:
    is_text = found.symbol.kind is Kind.STATEMENT
    if not new.strip() or (not is_text and any(c in new for c in "`\r\n")):
        raise ProgramError(error("usage", f"{new!r} is no name", found.span))
    if found.symbol.kind is Kind.ATTRIBUTE and (
        problem := bad_name(new, "an attribute", found.span)
    ):
        raise ProgramError(problem)


def _refuse_unread(workspace: Workspace, name: str) -> None:
    """Behind a mistake, nothing is known of what a name stands for."""
    for document in workspace.documents.values():
        for span in document.unread():
            start, end = document.range(span)
            if document.text[start:end].strip("`") == name:
                fact = f"'{name}' stands in text that cannot be read"
                raise ProgramError(error("syntax", fact, span, "mend that, then rename"))


def _edits(workspace: Workspace, symbol: Symbol, new: str) -> Iterator[Edit]:
    """One for each place; an item that was called as its attribute gets, or loses, a name of its own."""
    here = list(workspace.of(symbol))
    used = {each.span for each in here if not each.is_implied}
    implied = {each.span for each in workspace.occurrences if each.is_implied}
    called = {each.span for each in here if each.is_implied}
    for span in dict.fromkeys(each.span for each in here):
        role = next(each.role for each in here if each.span == span)
        written = _written(workspace, span, role, new)
        old = _written(workspace, span, role, symbol.name)
        if span in used and span in implied - called:
            written = f"{written} as {old}"
        elif span in called - used:
            written = f"{_text_at(workspace, span)} as {written}"
        yield Edit(span, written)


def _text_at(workspace: Workspace, span: Span) -> str:
    document = workspace.documents[span.file or ""]
    start, end = document.range(span)
    return document.text[start:end]


def _written(workspace: Workspace, span: Span, role: Role, name: str) -> str:
    if role in (Role.STATEMENT, Role.TIME_ATTRIBUTE):
        return print_string(name)
    editable = workspace.documents[span.file or ""].editable
    return editable.print_name(name) if editable else name


# What must not happen.


def _refuse_change(
    workspace: Workspace, found: Occurrence, new: str, edits: Sequence[Edit]
) -> None:
    after = edited(workspace, edits)
    renamed = Symbol(found.symbol.kind, new, found.symbol.owner)
    if any(each.declares for each in workspace.of(renamed)):
        fact = f"there is already {_a(found.symbol.kind)} called '{new}'"
        raise ProgramError(error("duplicate-name", fact, found.span, "choose another name"))
    problem = _new_problem(workspace, after)
    if problem is not None:
        fact = f"'{found.symbol.name}' cannot be called '{new}': {problem.message}"
        raise ProgramError(error("duplicate-name", fact, found.span, problem.hint))
    if _meanings(workspace, found.symbol, renamed) != _meanings(after, renamed, renamed):
        fact = f"'{found.symbol.name}' cannot be called '{new}', which means something else here"
        raise ProgramError(error("duplicate-name", fact, found.span, "choose another name"))


def _a(kind: Kind) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def edited(workspace: Workspace, edits: Sequence[Edit]) -> Workspace:
    """The texts after edits."""
    texts = []
    for file, document in workspace.documents.items():
        own = [edit for edit in edits if (edit.span.file or "") == file]
        texts.append(Text(file, apply(document.text, own), document.language))
    return Workspace(texts, workspace.given)


def _new_problem(before: Workspace, after: Workspace) -> Diagnostic | None:
    known = Counter(problem.code for problem in before.problems)
    for problem in after.problems:
        known[problem.code] -= 1
        if known[problem.code] < 0 and is_error(problem):
            return problem
    return None


def _meanings(
    workspace: Workspace, symbol: Symbol, renamed: Symbol
) -> tuple[Mapping[Symbol, int], Mapping[str, tuple[str, ...]]]:
    """How often each thing is named, and the attributes of all types; with the new name for the old."""

    def new_name(each: Symbol) -> Symbol:
        if each == symbol:
            return renamed
        if symbol.kind is Kind.TYPE and each.owner == symbol.name and each.kind is Kind.ATTRIBUTE:
            return Symbol(each.kind, each.name, renamed.name)
        return each

    named = Counter(new_name(each.symbol) for each in workspace.occurrences)
    origins = Origins.of(workspace.tree)
    types = {
        new_name(Symbol(Kind.TYPE, name)).name: tuple(
            new_name(Symbol(Kind.ATTRIBUTE, a.name, origins.owner(name, a.name))).name
            for a in type.attributes
        )
        for name, type in workspace.program.types.items()
    }
    return dict(named), types
