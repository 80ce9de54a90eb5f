"""Properties: patterns that say what must never, eventually or always be so.

    never        the pattern must not match
    eventually   it must match at least once
    always       every event of its type must satisfy its condition

The last one is an invariant. It is checked by its negation: a pattern that matches where an event
breaks it.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.errors import Diagnostic, error
from cepheid.expr.tree import Not
from cepheid.pattern.tree import Atom, Every
from cepheid.program.tree import Annotation, PatternSource, SelectAll, Statement

NEVER, EVENTUALLY, ALWAYS = "never", "eventually", "always"
KINDS = (NEVER, EVENTUALLY, ALWAYS)
_EXAMPLE = "@Property(kind='never')"


def kind_of(statement: Statement) -> str | None:
    """What a property says; None where the statement is none."""
    annotation = statement.annotation("Property")
    kind = annotation.value("kind") if annotation else None
    return kind if isinstance(kind, str) and kind in KINDS else None


def property_problem(statement: Statement) -> Diagnostic | None:
    """What is wrong with a property."""
    annotation = statement.annotation("Property")
    if annotation is None:
        return None
    span = annotation.span or statement.span
    names = [name for name, _ in annotation.arguments]
    if names != ["kind"] or kind_of(statement) is None:
        fact = f"@Property needs a kind: {', '.join(KINDS)}"
        return error("bad-annotation", fact, span, _EXAMPLE)
    if not isinstance(statement.source, PatternSource):
        fact, hint = "a property is a pattern", "write `from pattern [...]`"
        return error("bad-annotation", fact, span, hint)
    if kind_of(statement) == ALWAYS and _invariant(statement) is None:
        fact = "what is always so is a condition on single events: `every e=Type(condition)`"
        hint = "say of anything else that its contrary is never so"
        return error("bad-annotation", fact, span, hint)
    return None


def _invariant(statement: Statement) -> Atom | None:
    """The event and the condition of an invariant."""
    source = statement.source
    if not isinstance(source, PatternSource) or statement.window or statement.where:
        return None
    match source.pattern:
        case Every(Atom(condition=condition) as atom) if condition is not None:
            return atom
    return None


def negated(statement: Statement, name: str) -> Statement:
    """A statement of that name that gives a row whenever an event breaks an invariant."""
    atom = _invariant(statement)
    assert atom is not None
    assert atom.condition is not None
    broken = replace(atom, condition=Not(atom.condition))
    return Statement(
        select=(SelectAll(),),
        source=PatternSource(Every(broken)),
        context=statement.context,
        annotations=(Annotation("Name", ((None, name),)),),
    )
