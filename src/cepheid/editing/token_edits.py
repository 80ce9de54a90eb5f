"""Edits that change some tokens of a text and leave its comments where they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cepheid.editing.merging import Hunk, merge
from cepheid.editing.places import Lines
from cepheid.errors import Edit
from cepheid.lang.common.lexer import Comment, Kind, Token


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: its tokens, where each of them stands, and its comments."""

    lines: Lines
    tokens: tuple[Token, ...]
    ranges: tuple[tuple[int, int], ...]
    comments: tuple[tuple[int, int], ...]

    def between(self, start: int, end: int) -> str:
        """The text from the end of one token to the start of another; empty before the first one."""
        if not 0 <= start < end < len(self.ranges):
            return ""
        return self.lines.text[self.ranges[start][1] : self.ranges[end][0]]

    def of(self, start: int, end: int) -> str:
        """The text of tokens."""
        if start == end:
            return ""
        return self.lines.text[self.ranges[start][0] : self.ranges[end - 1][1]]

    def has_comment(self, start: int, end: int) -> bool:
        """Whether a comment stands between two offsets."""
        return any(start <= begin < end for begin, _ in self.comments)


def piece_of(
    tokens: Sequence[Token], comments: Sequence[Comment], lines: Lines, start: int, end: int
) -> Piece:
    placed = [(token, lines.range(token.span)) for token in tokens if token.kind is not Kind.END]
    inside = [(token, place) for token, place in placed if start <= place[0] and place[1] <= end]
    notes = [lines.range(comment.span) for comment in comments]
    return Piece(
        lines,
        tuple(token for token, _ in inside),
        tuple(place for _, place in inside),
        tuple(place for place in notes if start <= place[0] < end),
    )


def token_edits(source: Piece, old: Piece, new: Piece, *, early: bool = False) -> Iterator[Edit]:
    """The edits of the source by which it says what is new, in its order."""
    for hunk in merge(source.tokens, old.tokens, new.tokens, early=early):
        yield from _edits(source, new, hunk)


def _edits(source: Piece, new: Piece, hunk: Hunk) -> Iterator[Edit]:
    written = _in_layout(new.of(hunk.new_start, hunk.new_end), source)
    if hunk.start == hunk.end:
        yield from _insertion(source, new, hunk, written)
    elif not written:
        yield from _deletion(source, new, hunk)
    else:
        start, end = source.ranges[hunk.start][0], source.ranges[hunk.end - 1][1]
        if source.has_comment(start, end):
            yield source.lines.edit(*source.ranges[hunk.start], _apart(source, start, written))
            yield from _thinned(source, hunk.start + 1, hunk.end)
        else:
            yield source.lines.edit(start, end, _apart(source, start, written, end))


def _insertion(source: Piece, new: Piece, hunk: Hunk, written: str) -> Iterator[Edit]:
    place = hunk.start
    before = new.between(hunk.new_start - 1, hunk.new_start)
    after = _in_layout(new.between(hunk.new_end - 1, hunk.new_end), source)
    if place == 0:
        start = source.ranges[0][0]
        yield source.lines.edit(start, start, written + (after or " "))
        return
    end = source.ranges[place - 1][1]
    if written.startswith(","):
        written = "," + _space_of_items(source, place) + written[1:].lstrip()
    has_gap = place < len(source.ranges) and source.ranges[place][0] > end
    follows = "" if has_gap else after
    yield source.lines.edit(
        end, end, _apart(source, end, _in_layout(before, source) + written) + follows
    )


def _space_of_items(source: Piece, place: int) -> str:
    """What stands in front of an item of a list: a line of its own begins where the one before it has one."""
    for index in range(place - 1, 0, -1):
        if source.tokens[index].is_symbol(","):
            line = re.search(r"\r?\n[ \t]*\Z", source.between(index, index + 1))
            return line[0] if line else " "
    return " "


def _deletion(source: Piece, new: Piece, hunk: Hunk) -> Iterator[Edit]:
    """One of the gaps beside what goes stays, the one that the canonical text has if there is a choice."""
    start, end = source.ranges[hunk.start][0], source.ranges[hunk.end - 1][1]
    is_first, is_last = hunk.start == 0, hunk.end == len(source.ranges)
    begin = start if is_first else source.ranges[hunk.start - 1][1]
    stop = end if is_last else source.ranges[hunk.end][0]
    if source.has_comment(begin, stop):
        yield from _thinned(source, hunk.start, hunk.end)
        return
    if is_first or is_last:
        yield source.lines.edit(begin, stop, "")
        return
    before, after = source.lines.text[begin:start], source.lines.text[end:stop]
    wanted = new.between(hunk.new_start - 1, hunk.new_start)
    kept = "" if not wanted and "" in (before, after) else (after or before)
    yield source.lines.edit(begin, stop, kept)


def _thinned(source: Piece, start: int, end: int) -> Iterator[Edit]:
    """Tokens go, comments between them stay, with the space around them."""
    for place in range(start, end):
        begin, stop = source.ranges[place]
        space = source.between(place - 1, place)
        is_space = place > 0 and not space.strip() and "\n" not in space
        yield source.lines.edit(begin - len(space) if is_space else begin, stop, "")


def _in_layout(written: str, source: Piece) -> str:
    """What is new stands on one line where the whole does, else as far to the right as its first line."""
    text = source.lines.text
    start, end = source.ranges[0][0], source.ranges[-1][1]
    if "\n" not in text[start:end]:
        return re.sub(r"\s*\n\s*", " ", written)
    indent = re.search(r"[ \t]*\Z", text[text.rfind("\n", 0, start) + 1 : start])
    return written.replace("\n", "\n" + (indent[0] if indent else ""))


def _apart(source: Piece, start: int, written: str, end: int | None = None) -> str:
    """With a space where two words would become one."""
    text = source.lines.text
    before, after = text[start - 1 : start], text[end : end + 1] if end is not None else ""
    written = " " + written if _is_word(before) and _is_word(written[:1]) else written
    return written + " " if _is_word(written[-1:]) and _is_word(after) else written


def _is_word(character: str) -> bool:
    return character.isalnum() or character in ("_", "$", "`") if character else False
