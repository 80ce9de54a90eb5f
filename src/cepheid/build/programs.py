"""Whole programs in Python."""

from __future__ import annotations

from cepheid.build.checks import refuse
from cepheid.build.classes import EventClass
from cepheid.build.declarations import Declaration
from cepheid.build.forms import Form
from cepheid.build.patterns import Pattern
from cepheid.core.values import shown
from cepheid.expr.python import PythonFunction
from cepheid.io.type_arguments import GivenTypes, event_types
from cepheid.program.tree import ProgramTree
from cepheid.verbs import Program


def compose(
    *parts: Declaration | EventClass | PythonFunction | Program, types: GivenTypes | None = None
) -> Program:
    """A program of schemas, contexts, statements, events, classes and other programs, in their order.

    So are functions of Python, by `function`, that others of the parts call.

    `types` describes event types that no schema declares; other types take theirs from the events.

    >>> built = cep.compose(
    ...     cep.schema("Reading", sensor="string", v="double"),
    ...     cep.stream("Reading").where(cep.col("v") > 30).insert_into("Hot"),
    ... )
    >>> built == cep.parse(
    ...     "create schema Reading (sensor string, v double);"
    ...     "insert into Hot select * from Reading where v > 30;"
    ... )
    True
    """
    programs = [_program(part) for part in parts]
    known = {name: type for p in programs for name, type in p.types.items()}
    return Program(
        sum((p.tree for p in programs), ProgramTree()),
        {**known, **event_types(types)},
        {file: text for p in programs for file, text in p.sources.items()},
        [warning for p in programs for warning in p.warnings],
        {file: language for p in programs for file, language in p.languages.items()},
    )


def _program(part: object) -> Program:
    if isinstance(part, Declaration | EventClass):
        return Program(ProgramTree(part.trees))
    if isinstance(part, PythonFunction):
        return Program(ProgramTree(), functions=[part])
    if not isinstance(part, Program):
        refuse("usage", f"{shown(part)} is no part of a program", _around(part))
    return part


def _around(part: object) -> str | None:
    """What makes a part of a program of it."""
    if isinstance(part, Pattern):
        return "write cep.match(...) around it"
    return "write cep.complex_event(...) around it" if isinstance(part, Form) else None
