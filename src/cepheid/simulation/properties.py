"""The properties of a program, by their names."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.engines.common.intake import runnable
from cepheid.errors import Diagnostic, UsageError, error, suggest
from cepheid.program.graph import graph_of
from cepheid.program.properties import ALWAYS, EVENTUALLY, kind_of, negated
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import PatternSource, ProgramTree


@dataclass(frozen=True, slots=True)
class Property:
    """A property, and the statement whose rows decide about it, in its program."""

    name: str
    kind: str
    statement: str
    program: ResolvedProgram

    @property
    def is_broken_by_rows(self) -> bool:
        return self.kind != EVENTUALLY

    def needed(self) -> ResolvedProgram:
        """The statements without which the property would be another."""
        graph = graph_of(self.program)
        names = [s.name for s in self.program.statements]
        own = names.index(self.statement)
        return self.program.part([names[n] for n in (own, *graph.upstream(own))])


def property_of(program: ResolvedProgram, name: str | None) -> Property:
    """A property by its name, or the only one there is; UsageError where there is none such.

    ProgramError where the program cannot run.
    """
    runnable(program)
    kinds = {s.name: kind for s in program.statements if (kind := kind_of(s.tree)) is not None}
    if name is None and len(kinds) == 1:
        name = next(iter(kinds))
    if name is None or name not in kinds:
        raise UsageError(_unknown(program, name, list(kinds)))
    if kinds[name] != ALWAYS:
        return Property(name, kinds[name], name, program)
    other = f"not {name}"
    statement = next(s.tree for s in program.statements if s.name == name)
    declarations = (*program.tree.declarations, negated(statement, other))
    tree = ProgramTree(declarations, program.tree.functions)
    return Property(name, ALWAYS, other, resolve_program(tree, program.given))


def _unknown(program: ResolvedProgram, name: str | None, known: list[str]) -> Diagnostic:
    named = next((s for s in program.statements if s.name == name), None)
    hint = suggest(name or "", known, "properties") or "annotate a pattern: @Property(kind='never')"
    if name is None:
        fact = "the program has several properties" if known else "the program has no property"
    elif named is not None and isinstance(named.tree.source, PatternSource):
        fact, hint = f"'{name}' is a pattern without @Property", "@Property(kind='never')"
    elif named is not None or name in program.types:
        fact = f"'{name}' is {'a statement' if named else 'an event type'}, and no pattern"
    else:
        fact = f"no property '{name}'"
    return error("unknown-property", fact, hint=hint)
