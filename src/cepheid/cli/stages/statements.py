"""The statements and classes with everything resolved: what they read, derive, keep and select."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from cepheid.lang.language import Language
from cepheid.program.classes import ComplexClass
from cepheid.program.resolved import ResolvedClass, ResolvedStatement
from cepheid.program.serialize import to_json
from cepheid.program.tree import (
    KeepAll,
    LengthBatch,
    LengthWindow,
    PatternSource,
    TimeBatch,
    TimeWindow,
    Window,
)
from cepheid.verbs import Program


def text(program: Program) -> Iterator[RenderableType]:
    resolved = program.resolve()
    for declared in resolved.classes:
        yield _tree(declared.name, _facts_of_class(declared))
    for statement in resolved.statements:
        yield _tree(statement.name, _facts(statement, program.language_at(statement.tree.span)))


def _tree(name: str, facts: Iterable[tuple[str, str]]) -> Tree:
    tree = Tree(Text(name, "bold"), guide_style="dim")
    for label, value in facts:
        tree.add(Text.assemble((f"{label}: ", "dim"), value))
    return tree


def data(program: Program) -> dict[str, object]:
    return to_json(program.tree)


def _facts_of_class(resolved: ResolvedClass) -> Iterator[tuple[str, str]]:
    declared = resolved.declared
    if isinstance(declared, ComplexClass):
        yield "reads", ", ".join(resolved.reads)
        yield "observation span", str(declared.observation)
        yield "query", declared.select.text
        yield "occurs at", declared.occurring.text
    else:
        yield "may change for", str(declared.freezing) if declared.is_mutable else "never"
    yield "key", ", ".join(declared.key)
    yield "columns", ", ".join(f"{a.name} {a.type}" for a in declared.attributes)
    for reaction in declared.reactions:
        arguments = ", ".join(argument.text for argument in reaction.arguments)
        yield "on", f"{reaction.condition.text} do {reaction.action}({arguments})"


def _facts(statement: ResolvedStatement, language: Language) -> Iterator[tuple[str, str]]:
    yield "reads", ", ".join(statement.inputs)
    yield "derives", statement.target
    if statement.tree.priority:
        yield "priority", str(statement.tree.priority)
    if statement.context is not None:
        yield "context", context_of(statement)
    if statement.tags:
        yield "tags", ", ".join(f"{tag} {type}" for tag, type in statement.tags.items())
    yield from _clauses(statement, language)
    yield "one row for", statement.shape.value
    yield "columns", ", ".join(f"{c.name} {c.expr.type}" for c in statement.columns)


def _clauses(statement: ResolvedStatement, language: Language) -> Iterator[tuple[str, str]]:
    show = language.print_expression
    source = statement.tree.source
    if isinstance(source, PatternSource):
        yield "pattern", language.print_pattern(source.pattern)
    elif source.condition is not None:
        yield "filter", show(source.condition)
    if statement.tree.window is not None:
        yield "window", window_of(statement.tree.window)
    if statement.tree.where is not None:
        yield "where", show(statement.tree.where)
    if statement.tree.group_by:
        yield "group by", ", ".join(map(show, statement.tree.group_by))
    if statement.tree.having is not None:
        yield "having", show(statement.tree.having)


def context_of(statement: ResolvedStatement) -> str:
    """The context and what makes its key: `PerBike, by motorbikeId`."""
    if statement.context is None:
        return ""
    keys = dict.fromkeys(", ".join(key.attributes) for key in statement.context.keys)
    return f"{statement.context.name}, by {' or '.join(keys)}"


def window_of(window: Window | None) -> str:
    match window:
        case TimeWindow(period):
            return f"the last {period}"
        case TimeBatch(period):
            return f"batches of {period}"
        case LengthWindow(size):
            return f"the last {size} rows"
        case LengthBatch(size):
            return f"batches of {size} rows"
        case KeepAll():
            return "all rows"
        case None:
            return ""
    raise TypeError(f"no words for {window}")
