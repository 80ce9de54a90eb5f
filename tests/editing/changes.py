"""Texts written in any way, with comments, and changes of the programs that they say."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from cepheid.core.types import INT, Attribute
from cepheid.editing.rewriting import editable_of
from cepheid.lang.common.lexer import Kind
from cepheid.lang.language import Language
from cepheid.program.tree import (
    Context,
    Declaration,
    ProgramTree,
    Schema,
    Statement,
)
from tests.strategies import schemas, statements

COMMENT = re.compile(r"/\* c\d+ \*/|// c\d+")


@st.composite
def commented(draw: DrawFn, text: str, language: Language) -> str:
    """The text with comments, which are all different, and space between its tokens."""
    tokens = [t for t in editable_of(language).tokens(text, None).tokens if t.kind is not Kind.END]
    lines = text.split("\n")
    parts, count = [], 0
    last = (1, 1)
    for token in tokens:
        parts.append(_between(lines, last, (token.span.line, token.span.column)))
        if draw(st.integers(0, 7)) == 0:
            count += 1
            parts.append(draw(st.sampled_from([f" /* c{count} */ ", f" // c{count}\n  "])))
        parts.append(token.text)
        last = (token.span.end_line, token.span.end_column)
    parts.append(draw(st.sampled_from(["", "\n", " // c0\n", "\n\n/* c0 */\n"])))
    written = "".join(parts)
    return written.replace("\n", "\r\n") if draw(st.integers(0, 5)) == 0 else written


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] - 1 : end[1] - 1]
    inner = [lines[start[0] - 1][start[1] - 1 :], *lines[start[0] : end[0] - 1]]
    return "\n".join([*inner, lines[end[0] - 1][: end[1] - 1]])


def comments_in(text: str) -> list[str]:
    return sorted(COMMENT.findall(text))


@st.composite
def changes(draw: DrawFn, tree: ProgramTree) -> ProgramTree:
    """The tree after some small changes."""
    found = list(tree.declarations)
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.integers(0, max(len(found) - 1, 0)))
        kind = draw(st.sampled_from(["change", "change", "change", "insert", "delete", "move"]))
        if kind == "insert" or not found:
            found.insert(place, draw(statements() | schemas()))
        elif kind == "delete":
            del found[place]
        elif kind == "move":
            found.append(found.pop(place))
        else:
            found[place] = draw(changed(found[place]))
    return ProgramTree(tuple(found))


def changed(declaration: Declaration) -> SearchStrategy[Declaration]:
    """The declaration with another part, of itself or of another one."""
    if isinstance(declaration, Statement):
        return statements().flatmap(lambda other: _mixed(declaration, other))
    if isinstance(declaration, Schema):
        return schemas().flatmap(lambda other: _mixed(declaration, other)) | st.just(
            replace(declaration, attributes=(*declaration.attributes, Attribute("added", INT)))
        )
    assert isinstance(declaration, Context)
    return st.just(replace(declaration, name="Another"))


@st.composite
def _mixed(draw: DrawFn, one: Any, other: Any) -> Any:
    """One declaration with a part of another; lists lose, gain or swap items."""
    names = [field.name for field in fields(one) if field.name not in ("span", "places")]
    name = draw(st.sampled_from(names))
    value = getattr(other, name)
    mine = getattr(one, name)
    if isinstance(mine, tuple) and mine and draw(st.booleans()):
        place = draw(st.integers(0, len(mine) - 1))
        value = draw(
            st.sampled_from(
                [mine[:place] + mine[place + 1 :], mine[::-1], mine[:place] + value + mine[place:]]
            )
        )
    try:
        return replace(one, **{name: value})
    except ValueError:
        return one
