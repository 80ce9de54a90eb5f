"""Program trees into canonical VEPL."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.core.types import Attribute
from cepheid.errors import UsageError, error
from cepheid.expr.notation import find_excess
from cepheid.expr.printing import print_expr, print_name
from cepheid.lang.common.printing import print_annotation
from cepheid.pattern.algebra import (
    Both,
    Either,
    EventCall,
    Follows,
    Form,
    Never,
    Occurrence,
    Timed,
    Times,
)
from cepheid.pattern.policy import CONTEXTS
from cepheid.pattern.tree import Pattern, children
from cepheid.program.tree import (
    Declaration,
    PatternSource,
    ProgramTree,
    Schema,
    SelectExpr,
    Statement,
)

_OPERATORS: dict[type[Form], str] = {Follows: "->", Either: "OR", Both: "AND"}
# What may stand in a form without brackets.
_BARE: dict[type[Pattern], tuple[type[Form], ...]] = {
    **dict.fromkeys(_OPERATORS, (EventCall, Never, Times, Timed)),
    Never: (EventCall, Times, Timed),
    Times: (EventCall,),
    Timed: (EventCall, Times),
}


def print_program(tree: ProgramTree) -> str:
    """A complex event is printed where its statement stands; its schema says no more."""
    complex_events = {s.insert_into: s for s in tree.statements if s.is_occurrence}
    schemas = {s.name: s for s in tree.schemas if s.name in complex_events}
    shown: list[str] = []
    for declaration in tree.declarations:
        if isinstance(declaration, Statement) and declaration.insert_into in schemas:
            shown.append(_complex_event(declaration, schemas[declaration.insert_into].attributes))
        elif not (isinstance(declaration, Schema) and declaration.name in complex_events):
            shown.append(print_declaration(declaration))
    return "\n\n".join(shown) + "\n" * bool(shown)


def print_declaration(declaration: Declaration) -> str:
    if isinstance(declaration, Schema) and declaration.disturbs:
        return _atomic_event(declaration)
    if isinstance(declaration, Schema):
        return f"// {declaration.name}{_parameters(declaration.attributes)}"
    if isinstance(declaration, Statement) and declaration.is_occurrence:
        return _complex_event(declaration, None)
    fact = f"VEPL has no words for a {type(declaration).__name__.lower()} like this"
    raise UsageError(error("unsupported", fact))


def _atomic_event(schema: Schema) -> str:
    notes = "".join(f"{print_annotation(note)}\n" for note in schema.annotations)
    head = f"{notes}atomicEvent {print_name(schema.name)}"
    head += _parameters(schema.attributes) if schema.attributes else ""
    return head if schema.check is None else f"{head} {{ check {print_expr(schema.check)} }}"


def _parameters(attributes: tuple[Attribute, ...]) -> str:
    return f"({', '.join(f'{print_name(a.name)}: {a.type}' for a in attributes)})"


def _complex_event(statement: Statement, attributes: tuple[Attribute, ...] | None) -> str:
    source = statement.source
    assert isinstance(source, PatternSource)
    shown = _names(statement) if attributes is None else _parameters(attributes)
    context = next((n for n, policy in CONTEXTS.items() if policy == source.policy), None)
    lines = [
        *map(print_annotation, statement.annotations[:-1]),  # the last is its own name
        f"complexEvent {print_name(statement.insert_into or '')}{shown} {{",
        f"    as {print_pattern(source.pattern)}",
    ]
    if context is not None and context != ("chronicle", False):
        lines.append(f"    context {context[0]}{' global' if context[1] else ''}")
    return "\n".join([*lines, "}"])


def _names(statement: Statement) -> str:
    """Its parameters without their types, which its schema has."""
    exprs = (item.expr for item in statement.select if isinstance(item, SelectExpr))
    return f"({', '.join(map(print_expr, exprs))})"


def print_pattern(pattern: Pattern) -> str:
    return print_form(pattern.form if isinstance(pattern, Occurrence) else pattern)


def print_form(form: Pattern) -> str:
    """With as many brackets as make every operator stand alone."""
    match form:
        case EventCall(atom, arguments):
            given = "" if arguments is None else f"({', '.join(map(_argument, arguments))})"
            return f"{print_name(atom.event_type)}{given}"
        case Follows(parts) | Either(parts) | Both(parts):
            return f" {_OPERATORS[type(form)]} ".join(_part(form, part) for part in parts)
        case Never(part):
            return f"NOT {_part(form, part)}"
        case Times(part, low, high):
            return f"{_part(form, part)}{{{_count(low, high)}}}"
        case Timed(part, period, kind):
            return f"{_part(form, part)}[{kind} {period}]"
    raise UsageError(error("unsupported", "VEPL has no words for a pattern like this"))


def _argument(argument: str | None) -> str:
    return "_" if argument is None else print_name(argument)


def _part(whole: Form, part: Form) -> str:
    """The text of a direct part, as it stands in the whole."""
    return f"({print_form(part)})" if _needs_brackets(whole, part) else print_form(part)


def _needs_brackets(whole: Pattern, part: Pattern) -> bool:
    return not isinstance(part, _BARE.get(type(whole), Pattern))


def _count(low: int, high: int | None) -> str:
    if high is None:
        return {0: "*", 1: "+"}.get(low, f"{low}:*")
    return str(low) if low == high else f"{low}:{high}"


def excess(pattern: Pattern) -> str | None:
    """What is too deep or too long to be written."""
    return find_excess(pattern, _levels, "a complex event")


def _levels(form: Pattern) -> Iterator[tuple[Pattern, int]]:
    """The direct parts, each with the levels that its text lies deeper."""
    return ((part, int(_needs_brackets(form, part))) for part in children(form))
