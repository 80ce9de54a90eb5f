"""What must change in a text so that it says another program; comments and layout stay.

Declarations are compared first. One that differs is changed token by token: its canonical texts before and after
tell what is new, see `merging`. Whatever comes out is parsed: where that is not the wanted program, the declaration
is written anew as a whole. Comments stay wherever they are, but for those inside of a declaration that is gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeAlias

from cepheid.editing.places import Lines, apply
from cepheid.editing.token_edits import Piece, piece_of, token_edits
from cepheid.errors import Edit, UsageError, error
from cepheid.lang.common.lexer import Kind
from cepheid.lang.editable import Editable, Read
from cepheid.lang.language import Language
from cepheid.program.tree import Declaration, ProgramTree

Element: TypeAlias = tuple[Declaration, ...]  # what one place of a text declares


def edits_for(
    text: str, tree: ProgramTree, language: Language, file: str | None = None
) -> tuple[Edit, ...]:
    """The edits after which the text says the tree; UsageError where the language has no words for it.

    Text that cannot be parsed stays as it is.
    """
    writer = _Writer(text, language, file)
    wanted = editable_of(language).elements(tree)
    steps = list(_steps(writer.elements, wanted))
    for attempt in (writer.careful, writer.eager, writer.one_by_one, writer.whole):
        edits = tuple(edit for step in steps for edit in attempt(step))
        if writer.says(edits, tree):
            return edits
    names = ", ".join(sorted({shown_name(each[-1]) for _, new in steps for each in new}))
    fact = f"{language.title} has no words for this change of {names or 'the program'}"
    raise UsageError(error("unsupported", fact))


def editable_of(language: Language) -> Editable:
    """What editors need of it; UsageError where it has none of that."""
    if language.editable is None:
        fact = f"texts in {language.title} can only be edited by hand"
        raise UsageError(error("unsupported", fact))
    return language.editable


def shown_name(declaration: Declaration) -> str:
    name = getattr(declaration, "name", None) or getattr(declaration, "insert_into", None)
    return f"'{name}'" if name else "a statement"


@dataclass(frozen=True, slots=True)
class _Kept:
    """The elements of the text from `start` to `end`, in place of which others come."""

    start: int
    end: int


_Step: TypeAlias = tuple[_Kept, tuple[Element, ...]]


def _steps(old: Sequence[Element], new: Sequence[Element]) -> Iterator[_Step]:
    """What becomes of the elements of a text: one is changed, one is gone, or some are new between two."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    kept = sum(block.size for block in matcher.get_matching_blocks())
    if _stay_in_place(old, new, kept):
        places = enumerate(zip(old, new, strict=True))
        yield from ((_Kept(n, n + 1), (two,)) for n, (one, two) in places if one != two)
        return
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind != "equal":
            yield from _paired(old, start, end, new[new_start:new_end])


def _stay_in_place(old: Sequence[Element], new: Sequence[Element], kept: int) -> bool:
    """Whether as many are the same at their places as if some had moved."""
    if [type(each[-1]) for each in old] != [type(each[-1]) for each in new]:
        return False
    return sum(one == two for one, two in zip(old, new, strict=True)) >= kept


def _paired(
    old: Sequence[Element], start: int, end: int, new: Sequence[Element]
) -> Iterator[_Step]:
    """Elements that became others: those of one name first, then as they come."""
    keys = [_key(each) for each in old[start:end]]
    matcher = SequenceMatcher(None, keys, [_key(each) for each in new], autojunk=False)
    for _, first, last, new_first, new_last in matcher.get_opcodes():
        shared = min(last - first, new_last - new_first)
        for step in range(shared):
            place = start + first + step
            yield _Kept(place, place + 1), (new[new_first + step],)
        for place in range(start + first + shared, start + last):
            yield _Kept(place, place + 1), ()
        if added := tuple(new[new_first + shared : new_last]):
            yield _Kept(start + last, start + last), added


def _key(element: Element) -> tuple[type, str | None]:
    last = element[-1]
    name = getattr(last, "name", None) or getattr(last, "insert_into", None)
    return type(last), name


class _Writer:
    """A text whose elements can be changed."""

    def __init__(self, text: str, language: Language, file: str | None) -> None:
        self.text = text
        self.language = language
        self.file = file
        self.lines = Lines(text, file)
        self.editable = editable_of(language)
        self.parsed = self.editable.parse(text, file)
        self.elements, self.ranges = placed(self.parsed, self.editable, self.lines)
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def says(self, edits: Sequence[Edit], tree: ProgramTree) -> bool:
        """Whether the text says the tree after the edits, and no more is wrong with it than before."""
        parsed = self.language.parse(apply(self.text, edits), self.file)
        is_told = parsed.tree.declarations == tree.declarations
        return is_told and len(parsed.problems) <= len(self.parsed.problems)

    # Ways to do a step, from the one that changes least to the one that always works.

    def careful(self, step: _Step) -> Iterator[Edit]:
        return self._done(step, early=False)

    def eager(self, step: _Step) -> Iterator[Edit]:
        return self._done(step, early=True)

    def one_by_one(self, step: _Step) -> Iterator[Edit]:
        """Token by token where that works when this element alone is changed."""
        kept, new = step
        if not new or kept.start == kept.end:
            yield from self._done(step)
            return
        elements = [*self.elements[: kept.start], *new, *self.elements[kept.end :]]
        tree = ProgramTree(tuple(d for element in elements for d in element))
        for early in (False, True):
            edits = tuple(self._changed(kept.start, new[0], early=early))
            if self.says(edits, tree):
                yield from edits
                return
        yield from self._replaced(kept.start, new[0])

    def whole(self, step: _Step) -> Iterator[Edit]:
        kept, new = step
        if new and kept.start < kept.end:
            yield from self._replaced(kept.start, new[0])
        else:
            yield from self._done(step)

    def _done(self, step: _Step, *, early: bool = False) -> Iterator[Edit]:
        kept, new = step
        if kept.start == kept.end:
            return self._inserted(kept.start, new)
        if not new:
            return self._deleted(kept.start)
        return self._changed(kept.start, new[0], early=early)

    # What is written.

    def _print(self, element: Element) -> str:
        written = self.editable.print_element(element, self.parsed).rstrip("\n")
        return written.replace("\n", self.newline)

    def _changed(self, place: int, new: Element, *, early: bool) -> Iterator[Edit]:
        start, end = self.ranges[place]
        source = piece_of(self.parsed.tokens, self.parsed.comments, self.lines, start, end)
        old = self._canonical(self.elements[place])
        return token_edits(source, old, self._canonical(new), early=early)

    def _canonical(self, element: Element) -> Piece:
        text = self._without_end(self._print(element))
        found = self.editable.tokens(text, None)
        return piece_of(found.tokens, found.comments, Lines(text), 0, len(text))

    def _replaced(self, place: int, new: Element) -> Iterator[Edit]:
        """Comments inside of it lead to what comes."""
        start, end = self.ranges[place]
        inner = [c.text for c in self.parsed.comments if start < self.lines.range(c.span)[0] < end]
        notes = "".join(note.replace("\n", self.newline) + self.newline for note in inner)
        yield self.lines.edit(start, end, notes + self._without_end(self._print(new)))

    def _deleted(self, place: int) -> Iterator[Edit]:
        """With its line where nothing else stands on it, and one of the blank lines around."""
        start, end = self.ranges[place]
        end = self._behind_end(end)
        before, after = self.text[:start], self.text[end:]
        blank_before, blank_after = re.search(r"[ \t]*\Z", before), re.match(r"[ \t\r]*\n", after)
        is_line = blank_before is not None and before[: blank_before.start()][-1:] in ("", "\n")
        if is_line and blank_before is not None and (blank_after or not after.strip()):
            start = blank_before.start()
            end += blank_after.end() if blank_after else len(after)
            blank_line = re.match(r"[ \t\r]*\n", self.text[end:])
            if blank_line and re.search(r"(\A|\n)[ \t\r]*\n?\Z", self.text[:start]):
                end += blank_line.end()
        yield self.lines.edit(start, end, "")

    def _inserted(self, place: int, new: Sequence[Element]) -> Iterator[Edit]:
        """Behind the element before, or in front of the first one and the comments that lead to it."""
        gap = self.newline * 2
        written = gap.join(self._moved(each) or self._print(each) for each in new)
        if place == 0 and self.ranges:
            start = self._with_leading_comments(self.ranges[0][0])
            yield self.lines.edit(start, start, written + gap)
        elif place == 0:
            end = len(self.text)
            before = gap * bool(self.text.strip())
            yield self.lines.edit(end, end, before + written + self.newline)
        else:
            yield from self._behind(self.ranges[place - 1][1], gap + written)

    def _behind(self, end: int, written: str) -> Iterator[Edit]:
        behind = self._behind_end(end)
        if behind == end and self._end_mark:
            yield self.lines.edit(end, end, self._end_mark)
        for comment in self.parsed.comments:
            start, stop = self.lines.range(comment.span)
            if start >= behind and not self.text[behind:start].strip(" \t"):
                behind = stop
        behind = len(self.text[:behind].rstrip("\r"))
        yield self.lines.edit(behind, behind, written)

    def _moved(self, new: Element) -> str | None:
        """The text of an element that stood elsewhere, with what is written in it."""
        if new not in self.elements:
            return None
        start, end = self.ranges[self.elements.index(new)]
        behind = self._behind_end(end)
        return self.text[start:behind] + (self._end_mark if behind == end else "")

    def _with_leading_comments(self, start: int) -> int:
        for comment in reversed(self.parsed.comments):
            begin, end = self.lines.range(comment.span)
            if end <= start and self.text[end:start].strip(" \t\r") in ("", "\n"):
                start = begin
        return start

    # What ends an element, such as a semicolon.

    @property
    def _end_mark(self) -> str:
        return self.editable.end_mark

    def _without_end(self, written: str) -> str:
        mark = self._end_mark
        return written.removesuffix(mark) if mark else written

    def _behind_end(self, end: int) -> int:
        """Behind what ends the element that ends there."""
        for token in self.parsed.tokens:
            start, stop = self.lines.range(token.span)
            if start >= end and token.kind is not Kind.END:
                return stop if self._end_mark and token.is_symbol(self._end_mark) else end
        return end


def placed(
    read: Read, editable: Editable, lines: Lines
) -> tuple[tuple[Element, ...], tuple[tuple[int, int], ...]]:
    """The elements of a text, and where each stands."""
    elements = editable.elements(read.tree)
    ranges, used = [], 0
    for element in elements:
        ranges.append(lines.range(read.extents[used]))
        used += len(element)
    return elements, tuple(ranges)
