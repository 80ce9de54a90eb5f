"""What stands in a block as one line of text, and whether a line says just that.

A line is read inside of a statement that has nothing else: if more of that changes than the line is about,
there is more in it, such as a second clause, than belongs there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from cepheid.expr.printing import print_expr, print_name, print_string
from cepheid.lang.common.printing import print_annotation
from cepheid.lang.epl.parser import parse
from cepheid.lang.epl.printer import layout
from cepheid.pattern.tree import Pattern
from cepheid.program.tree import Declaration, PatternSource, Statement
from cepheid.studio.blocks.block import refuse


@dataclass(frozen=True, slots=True)
class Line:
    """A clause that is one line in its block."""

    name: str  # of the block, and of what it says in the tree
    words: str  # that it begins with


LINES = (
    Line("group_by", "group by"),
    Line("output", "output"),
    Line("order_by", "order by"),
    Line("limit", "limit"),
)


def line_of(statement: Statement, line: Line) -> str | None:
    """The text of a clause without its first words; None where the statement has none."""
    value = getattr(statement, line.name)
    if not value:
        return None
    *_, clause = layout(_plain(**{line.name: value}))
    return " ".join(piece.text for piece in clause).removeprefix(line.words).strip()


def read_statement(text: str, what: str) -> Statement:
    """The one statement of a text; UsageError where it is anything else."""
    found = read_declaration(text, what)
    if not isinstance(found, Statement):
        refuse(f"{what}: this is more than belongs here")
    return found


def read_declaration(text: str, what: str) -> Declaration:
    read = parse(f"{text}\n;")
    if read.problems:
        refuse(f"{what}: {read.problems[0].message}", read.problems[0].hint)
    if read.comments:
        refuse(f"{what}: comments have their place in the text of the program")
    if len(read.tree.declarations) != 1:
        refuse(f"{what}: this is more than belongs here")
    return read.tree.declarations[0]


def expression(text: str, what: str) -> str:
    """An expression by itself, as it is written."""
    return print_expr(clause("where", f"where {text}", what))


def clause(name: str, text: str, what: str) -> Any:
    """What a clause says, if it is one of that name and nothing more."""
    return _only(f"select * from X {text}", name, what)


def notes(text: str) -> str:
    _only(f"{text}\nselect * from X", "annotations", "the notes")
    return text


def action(name: str, arguments: str) -> str:
    """An annotation that is an action, with arguments as they are written."""
    if not name:
        refuse("an action needs a name", "mail, or what the executors of the run call it")
    written = f"@Action({print_string(name)}{f', {arguments}' if arguments else ''}\n)"
    found = _only(f"{written}\nselect * from X", "annotations", "an action")
    if len(found) != 1 or found[0].arguments[0] != (None, name):
        refuse("an action: this is more than belongs here")
    return print_annotation(found[0])


def window(text: str, what: str) -> str:
    """`#time(...)` as it is."""
    _only(f"select * from X{text}", "window", what)
    return text


def keys(text: str, what: str) -> str:
    """Expressions between commas."""
    clause("group_by", f"group by {text}", what)
    return text


def leaf(text: str, kind: tuple[type[Pattern], ...], what: str) -> str:
    """A pattern by itself, which is of some kind; what it guards or repeats is X."""
    source = _only(f"select * from pattern [{text}\n]", "source", what)
    assert isinstance(source, PatternSource)
    inside = getattr(source.pattern, "child", None)
    is_more = inside is not None and inside != _child()
    if not isinstance(source.pattern, kind) or is_more:
        refuse(f"{what}: this is more than belongs here")
    return text


def name(text: str, what: str) -> str:
    """A name as it is written."""
    if not text:
        refuse(f"{what} needs a name")
    return print_name(text)


def count(text: str, what: str) -> str:
    if not (text.isascii() and text.isdigit()):
        refuse(f"{what} needs a whole number, not '{text}'")
    return text


def _only(text: str, name: str, what: str) -> Any:
    found = read_statement(text, what)
    if replace(found, **{name: getattr(_plain(), name)}) != _plain():
        refuse(f"{what}: this is more than belongs here")
    return getattr(found, name)


@cache
def _read_plain() -> Statement:
    return parse("select * from X;").tree.statements[0]


def _plain(**changed: Any) -> Statement:
    return replace(_read_plain(), **changed)


@cache
def _child() -> Pattern:
    source = parse("select * from pattern [X];").tree.statements[0].source
    assert isinstance(source, PatternSource)
    return source.pattern
