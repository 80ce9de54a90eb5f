"""`cepheid check` of graph queries, alone or beside a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.errors import Diagnostic, note


@dataclass(frozen=True, slots=True)
class CheckedQueries:
    findings: tuple[Diagnostic, ...] = ()
    count: int = 0


def check_queries(files: Sequence[str], metamodel: str | None) -> CheckedQueries:
    """What is wrong with the queries of each file; without a metamodel, with their syntax."""
    from cepheid import live
    from cepheid.lang.queries.parser import parse
    from cepheid.verbs import read_program_text

    known = live.load_metamodel(metamodel) if metamodel is not None else None
    findings: list[Diagnostic] = []
    count = 0
    for file in files:
        text = read_program_text(file)
        parsed = parse(text, file)
        count += len(parsed.tree.queries)
        findings += parsed.problems if known is None else live.check_queries(text, known, file)[1]
    if known is None:
        findings.append(_syntax_only(files))
    return CheckedQueries(tuple(findings), count)


def _syntax_only(files: Sequence[str]) -> Diagnostic:
    fact = (
        f"only the syntax of {', '.join(files)} was checked, not what classes and features it names"
    )
    return note("no-metamodel", fact, hint="name the metamodel: --metamodel FILE.ecore")
