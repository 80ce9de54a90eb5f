"""Program trees into canonical VEPL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheid.errors import UsageError, error
from cepheid.expr.notation import find_excess
from cepheid.expr.printing import print_expr, print_name
from cepheid.lang.common.printing import print_annotation
from cepheid.lang.vepl.action_printer import print_body
from cepheid.pattern.algebra import (
    HIDDEN,
    Both,
    Either,
    EventCall,
    Follows,
    Form,
    Never,
    Occurrence,
    Taken,
    Timed,
    Times,
)
from cepheid.pattern.policy import CHRONICLE, CONTEXTS, Policy
from cepheid.pattern.tree import Pattern, children
from cepheid.program.tree import (
    Annotation,
    Declaration,
    PatternSource,
    ProgramTree,
    QueryChange,
    QuickFix,
    ReactiveRule,
    Schema,
    SelectExpr,
    Statement,
)

_OPERATORS: dict[type[Form], str] = {Follows: "->", Either: "OR", Both: "AND"}
# What may stand in a form without brackets.
_BARE: dict[type[Pattern], tuple[type[Form], ...]] = {
    **dict.fromkeys(_OPERATORS, (EventCall, Taken, Never, Times, Timed)),
    Never: (EventCall, Taken, Times, Timed),
    Times: (EventCall, Taken),
    Timed: (EventCall, Taken, Times),
}


def print_program(tree: ProgramTree) -> str:
    """A complex event is printed where its statement stands; its schema says no more."""
    complex_events = {s.insert_into: s for s in tree.statements if s.is_occurrence}
    schemas = {s.name: s for s in tree.schemas if s.name in complex_events}
    shown: list[str] = []
    for declaration in tree.declarations:
        if isinstance(declaration, Statement) and declaration.insert_into in schemas:
            shown.append(_complex_event(declaration, schemas[declaration.insert_into]))
        elif not (isinstance(declaration, Schema) and declaration.name in complex_events):
            shown.append(print_declaration(declaration))
    return "\n\n".join(shown) + "\n" * bool(shown)


def print_element(element: Sequence[Declaration], default: Policy) -> str:
    """What is written at one place of a text whose complex events have the default as their context."""
    last = element[-1]
    if isinstance(last, Statement) and last.is_occurrence:
        schema = element[0]
        return _complex_event(last, schema if isinstance(schema, Schema) else None, default)
    return print_declaration(last)


def print_declaration(declaration: Declaration) -> str:
    if isinstance(declaration, ReactiveRule):
        return _rule(declaration)
    if isinstance(declaration, QuickFix):
        return _fix(declaration)
    if isinstance(declaration, Schema) and declaration.query is not None:
        return _query_event(declaration, declaration.query)
    if isinstance(declaration, Schema) and declaration.disturbs:
        return _atomic_event(declaration)
    if isinstance(declaration, Schema):
        return f"// {declaration.name}{_parameters(declaration)}"
    if isinstance(declaration, Statement) and declaration.is_occurrence:
        return _complex_event(declaration, None)
    fact = f"VEPL has no words for a {type(declaration).__name__.lower()} like this"
    raise UsageError(error("unsupported", fact))


def _atomic_event(schema: Schema) -> str:
    head = f"{_notes(schema.annotations)}atomicEvent {print_name(schema.name)}"
    head += _parameters(schema) if schema.attributes else ""
    return head if schema.check is None else f"{head} {{ check {print_expr(schema.check)} }}"


def _query_event(schema: Schema, query: QueryChange) -> str:
    head = f"{_notes(schema.annotations)}queryEvent {print_name(schema.name)}{_parameters(schema)}"
    return f"{head} as {_qualified(query.query)}{_arguments(query.arguments)} {query.change}"


def _rule(rule: ReactiveRule) -> str:
    triggers = (f"{print_name(t.event_type)}{_arguments(t.arguments)}" for t in rule.triggers)
    head = f"{_notes(rule.annotations)}rule {print_name(rule.name)} on {', '.join(triggers)}"
    return f"{head} {print_body(rule.body)}"


def _fix(fix: QuickFix) -> str:
    head = f"{_notes(fix.annotations)}fix {print_name(fix.name)}"
    on = f"{_qualified(fix.query)}{_arguments(fix.arguments)}"
    return f"{head} on {on} {print_body(fix.body)}"


def _notes(annotations: tuple[Annotation, ...]) -> str:
    return "".join(f"{print_annotation(note)}\n" for note in annotations)


def _qualified(name: str) -> str:
    return ".".join(map(print_name, name.split(".")))


def _arguments(arguments: tuple[str | None, ...] | None) -> str:
    return "" if arguments is None else f"({', '.join(map(_argument, arguments))})"


def _parameters(schema: Schema) -> str:
    """Those that name objects have a class as their type."""
    classes = dict(schema.objects)
    shown = (
        f"{print_name(a.name)}: {_qualified(classes[a.name]) if a.name in classes else a.type}"
        for a in schema.attributes
    )
    return f"({', '.join(shown)})"


def _complex_event(statement: Statement, schema: Schema | None, default: Policy = CHRONICLE) -> str:
    source = statement.source
    assert isinstance(source, PatternSource)
    shown = _names(statement) if schema is None else _parameters(schema)
    context = next((n for n, policy in CONTEXTS.items() if policy == source.policy), None)
    lines = [
        *map(print_annotation, statement.annotations[:-1]),  # the last is its own name
        f"complexEvent {print_name(statement.insert_into or '')}{shown} {{",
        f"    as {print_pattern(source.pattern)}",
    ]
    if context is not None and source.policy != default:
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
            return f"{print_name(atom.event_type)}{_arguments(arguments)}"
        case Taken(atom, parameters):  # resolved: which attributes have the values
            pairs = (f"{print_name(a)} = {print_name(p)}" for p, a in parameters if HIDDEN not in p)
            shown = ", ".join(pairs)
            return f"{print_name(atom.event_type)}{f'({shown})' if shown else ''}"
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
