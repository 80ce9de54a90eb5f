"""The declarations as the parser understood them, each in canonical form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from cepheid.program.classes import ComplexClass, SubscribedClass
from cepheid.program.tree import Context, Declaration, QuickFix, ReactiveRule, Schema, Statement
from cepheid.query.tree import Query
from cepheid.verbs import Program


@dataclass(frozen=True, slots=True)
class Declared:
    kind: str
    name: str
    declaration: Declaration
    text: str


def text(program: Program) -> Iterator[RenderableType]:
    for declared in _all(program):
        span = declared.declaration.span
        place = f" {span.file}:{span.line}" if span else ""
        yield Text.assemble((f"{declared.kind} {declared.name}", "bold"), (place, "dim"))
        yield Text(declared.text.rstrip("\n"))


def data(program: Program) -> list[dict[str, object]]:
    return [_described(declared) for declared in _all(program)]


def _described(declared: Declared) -> dict[str, object]:
    span = declared.declaration.span
    return {
        "kind": declared.kind,
        "name": declared.name,
        "file": span.file if span else None,
        "line": span.line if span else None,
        "text": declared.text.rstrip("\n"),
    }


def _all(program: Program) -> Iterator[Declared]:
    names = iter(statement.name for statement in program.resolve().statements)
    for declaration in program.tree.declarations:
        own = program.language_of(declaration, program.language_at(declaration.span))
        text = own.print_declaration(declaration)
        if isinstance(declaration, Schema):
            yield Declared("schema", declaration.name, declaration, text)
        elif isinstance(declaration, Context):
            yield Declared("context", declaration.name, declaration, text)
        elif isinstance(declaration, Statement):
            yield Declared("statement", next(names), declaration, text)
        else:
            yield Declared(_KINDS[type(declaration)], declaration.name, declaration, text)


_KINDS: dict[type, str] = {
    Query: "pattern",
    ReactiveRule: "rule",
    QuickFix: "fix",
    SubscribedClass: "subscribed class",
    ComplexClass: "complex class",
}
