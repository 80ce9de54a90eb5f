"""`blocks`: the declarations of a file as blocks; `draw-blocks`: a change of one as edits of its text;
`unfold`: a line of one taken apart into blocks, and `fold`: blocks as a line.

Lines end as the editor's do, by one character each.
"""

from __future__ import annotations

from typing import Any

from cepheid.errors import Edit, Span
from cepheid.lang import language_of
from cepheid.studio.blocks.block import DEEPEST, depth, refuse
from cepheid.studio.blocks.expressions import expression_of
from cepheid.studio.blocks.lines import expression
from cepheid.studio.blocks.palette import PALETTE, tools_of
from cepheid.studio.blocks.program import Drawn, add, change, draw_program, remove
from cepheid.studio.blocks.shapes import SHAPES
from cepheid.studio.blocks.unfolding import unfold
from cepheid.studio.room import Given, Room, Verb

_LAST = "blocks"  # in the room: the file that was shown last, and its blocks


def palette(_: Room, given: Given) -> object:
    return {
        "shapes": [shape.definition() for shape in SHAPES],
        "palette": [tools_of(category) for category in PALETTE],
    }


def blocks(room: Room, given: Given) -> object:
    file, text = given.text("file"), _text(given)
    name, before = _last(room)
    drawn = draw_program(text, language_of(file), before if name == file else ())
    room.kept[_LAST] = (file, drawn)
    return {"declarations": [_told(each) for each in drawn]}


def _last(room: Room) -> tuple[str, tuple[Drawn, ...]]:
    kept: Any = room.kept.get(_LAST, ("", ()))
    return kept  # type: ignore[no-any-return]


def draw_blocks(_: Room, given: Given) -> object:
    """What is drawn, in place of the declaration that is named; one without a name is new."""
    text, language = _text(given), language_of(given.text("file"))
    key, block = given.text_if_any("key"), given.values.get("block")
    if key is not None and block is None:
        return _edits(remove(text, language, key))
    if not isinstance(block, dict):
        refuse("'block' must be an object")
    made = add(text, language, block) if key is None else change(text, language, key, block)
    return _edits(made)


def unfold_line(_: Room, given: Given) -> object:
    """A line of text as blocks."""
    return {"block": unfold(given.text("text"))}


def fold_line(_: Room, given: Given) -> object:
    """Blocks as the line of text that says the same."""
    block = given.values.get("block")
    if not isinstance(block, dict) or depth(block) > DEEPEST:
        refuse("'block' must be a block that can be read")
    text = expression_of(block, "a line")
    return {"text": text and expression(text, "a line")}


def _text(given: Given) -> str:
    return given.text("text").replace("\r\n", "\n")


def _edits(edits: tuple[Edit, ...]) -> object:
    told = [{**_place(edit.span), "replacement": edit.replacement} for edit in edits]
    return {"edits": told}


def _told(drawn: Drawn) -> object:
    return {
        "key": drawn.key,
        "title": drawn.title,
        "place": _place(drawn.span),
        "block": drawn.block,
        "places": [{"path": path, **_place(span)} for path, span in drawn.places],
        "old": drawn.is_old,
    }


def _place(span: Span) -> dict[str, int]:
    return {
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


BLOCK_PALETTE = Verb("block-palette", palette)
BLOCKS = Verb("blocks", blocks, "quick")
DRAW_BLOCKS = Verb("draw-blocks", draw_blocks, "quick")
UNFOLD = Verb("unfold", unfold_line, "quick")
FOLD = Verb("fold", fold_line, "quick")
