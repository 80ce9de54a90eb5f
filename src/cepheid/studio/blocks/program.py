"""A program as blocks, one for each declaration, and a change of one as edits of the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cepheid.editing.places import Lines, apply
from cepheid.editing.rewriting import Element, editable_of, edits_for, placed, shown_name
from cepheid.errors import Edit, Span, UsageError
from cepheid.lang.epl.language import EPL
from cepheid.lang.language import Language
from cepheid.program.tree import Context, Declaration, ProgramTree, Statement
from cepheid.studio.blocks.block import (
    DEEPEST,
    Block,
    Path,
    block,
    depth,
    field,
    refuse,
    take_places,
)
from cepheid.studio.blocks.drawing import draw_context, draw_with_places
from cepheid.studio.blocks.reading import declaration_of


@dataclass(frozen=True, slots=True)
class Drawn:
    """A declaration as it is chosen and shown."""

    key: str  # by which it is found again while the text changes
    title: str
    span: Span
    block: Block
    places: tuple[tuple[Path, Span], ...] = ()  # of what is in the block
    is_old: bool = False  # it is not in the text now, which cannot be read as a whole


def draw_program(text: str, language: Language, before: Sequence[Drawn] = ()) -> tuple[Drawn, ...]:
    """What can be read of a text; where something cannot, what is missing stays as it was before."""
    found = tuple(_drawn(text, language))
    if not editable_of(language).parse(text, None).problems:
        return found
    return tuple(_with_missing(found, before))


def _with_missing(found: Sequence[Drawn], before: Sequence[Drawn]) -> Iterator[Drawn]:
    """Each one that is missing behind what it stood behind."""
    known = {each.key for each in found}
    behind: dict[str, list[Drawn]] = {}
    last = ""
    for each in before:
        if each.key in known:
            last = each.key
        else:
            behind.setdefault(last, []).append(replace(each, is_old=True))
    yield from behind.get("", ())
    for each in found:
        yield each
        yield from behind.get(each.key, ())


def _drawn(text: str, language: Language) -> Iterator[Drawn]:
    lines = Lines(text)
    editable = editable_of(language)
    elements, ranges = placed(editable.parse(text, None), editable, lines)
    seen: Counter[str] = Counter()
    for element, (start, end) in zip(elements, ranges, strict=True):
        name = title_of(element[-1])
        kind = f"{type(element[-1]).__name__} {name}"
        seen[kind] += 1
        span = lines.span(start, end)
        drawn = _block_of(element, text[start:end], language)
        places = tuple(take_places(drawn))
        title = name if seen[kind] == 1 else f"{name} ({seen[kind]})"
        yield Drawn(f"{kind} {seen[kind]}", title, span, drawn, places)


def title_of(declaration: Declaration) -> str:
    """What a statement is called, or else what it makes."""
    if isinstance(declaration, Statement) and (note := declaration.annotation("Name")):
        return str(note.value())
    return shown_name(declaration).strip("'")


def _block_of(element: Element, text: str, language: Language) -> Block:
    (first, *more) = element
    if language is EPL and not more and isinstance(first, Statement | Context):
        drawn = draw_context(first) if isinstance(first, Context) else draw_with_places(first)
        if depth(drawn) <= DEEPEST:
            return drawn
    return block("text", {"TEXT": text})


def change(text: str, language: Language, key: str, block: Block) -> tuple[Edit, ...]:
    """The edits after which the text says a block in place of what it said; UsageError if none can."""
    drawn = tuple(_drawn(text, language))
    places = [place for place, each in enumerate(drawn) if each.key == key]
    if not places:
        refuse("this is not in the text now", "mend the text first")
    (place,) = places
    if drawn[place].block == block:
        return ()
    if block.get("type") == "text":
        return _changed_text(text, language, drawn[place].span, field(block, "TEXT"))
    return _changed_statement(text, language, place, block)


def add(text: str, language: Language, block: Block) -> tuple[Edit, ...]:
    """The edits after which the text ends with one more statement."""
    tree = _statements_of(text, language)
    return edits_for(
        text, replace(tree, declarations=(*tree.declarations, declaration_of(block))), EPL
    )


def remove(text: str, language: Language, key: str) -> tuple[Edit, ...]:
    """The edits after which a statement is gone from the text."""
    found = [each.key for each in _drawn(text, language)]
    tree = _statements_of(text, language)
    if key not in found:
        refuse("this is not in the text now")
    kept = (d for d, each in zip(tree.declarations, found, strict=True) if each != key)
    return edits_for(text, replace(tree, declarations=tuple(kept)), EPL)


def _changed_statement(text: str, language: Language, place: int, block: Block) -> tuple[Edit, ...]:
    tree = _statements_of(text, language)
    new = list(tree.declarations)
    new[place] = declaration_of(block)
    return edits_for(text, replace(tree, declarations=tuple(new)), EPL)


def _statements_of(text: str, language: Language) -> ProgramTree:
    if language is not EPL:
        refuse(f"statements in {language.title} are blocks of text")
    return EPL.parse(text, None).tree


def _changed_text(text: str, language: Language, span: Span, new: str) -> tuple[Edit, ...]:
    """The new text as it is, if no more is wrong with the whole one then and it declares as much."""
    edit = Edit(span, new)
    old, after = language.parse(text, None), language.parse(apply(text, (edit,)), None)
    if len(after.problems) > len(old.problems):
        raise UsageError(*after.problems[:1])
    if len(after.tree.declarations) != len(old.tree.declarations):
        refuse("a block holds one declaration", "others have their place in the text")
    return (edit,) if new != _cut(text, span) else ()


def _cut(text: str, span: Span) -> str:
    start, end = Lines(text).range(span)
    return text[start:end]
