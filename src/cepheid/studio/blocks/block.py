"""A block as data, in the form that Blockly saves and loads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from cepheid.errors import Span, UsageError, error

Block: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]  # from the topmost block: inputs, and `next` for what is below
DEEPEST = 250  # levels of the data of a block; what goes deeper is one block of text


def block(type: str, fields: Mapping[str, object] = {}, **inputs: Block | None) -> Block:
    """Inputs that are None stay empty."""
    made: Block = {"type": type}
    if fields:
        made["fields"] = dict(fields)
    filled = {name: _input(inner) for name, inner in inputs.items() if inner is not None}
    if filled:
        made["inputs"] = filled
    return made


def _input(inner: Block) -> dict[str, Block]:
    """A text of an expression is a shadow: what is drawn onto it covers it."""
    return {"shadow" if inner["type"] == EXPRESSION else "block": inner}


EXPRESSION = "expression"


def stack(blocks: Sequence[Block]) -> Block | None:
    """One below the other."""
    below: Block | None = None
    for each in reversed(blocks):
        below = {**each, "next": {"block": below}} if below else each
    return below


# Where the text says what a block stands for: in the blocks while they are made, and beside them then.

_PLACE = "place"


def at(span: Span | None, made: Block) -> Block:
    return {**made, _PLACE: span} if span is not None else made


def take_places(of: Block) -> Iterator[tuple[Path, Span]]:
    """The places of a block and of all in it, which do not have them any more."""
    waiting: list[tuple[Path, Block]] = [((), of)]
    while waiting:
        path, each = waiting.pop()
        span = each.pop(_PLACE, None)
        if span is not None:
            yield path, span
        for name, filled in each.get("inputs", {}).items():
            waiting += (((*path, name), inner) for inner in filled.values())
        if "next" in each:
            waiting.append(((*path, "next"), each["next"]["block"]))


# Reading, where nothing is taken for granted: a page may say anything.


def refuse(fact: str, hint: str | None = None) -> NoReturn:
    raise UsageError(error("usage", fact, hint=hint))


def field(of: Block, name: str) -> str:
    value = _mapping(of.get("fields", {})).get(name, "")
    if not isinstance(value, str | int) or isinstance(value, bool):
        refuse(f"'{name}' of a block must be a text")
    return str(value).strip()


def inner(of: Block, name: str) -> Block | None:
    """What is in an input; a shadow counts where nothing covers it."""
    filled = _mapping(_mapping(of.get("inputs", {})).get(name, {}))
    found = filled.get("block") or filled.get("shadow")
    return None if found is None else _block(found)


def stacked(of: Block, name: str) -> Iterator[Block]:
    """The blocks in an input, from the top."""
    found = inner(of, name)
    while found is not None:
        yield found
        below = _mapping(found.get("next", {})).get("block")
        found = None if below is None else _block(below)


def depth(of: Block) -> int:
    """How far the data of a block goes down; found without going down by calls."""
    level: list[Any] = [of]
    deepest = 0
    while level:
        deepest += 1
        level = [part for each in level for part in _parts(each) if isinstance(part, dict | list)]
    return deepest


def _parts(of: Any) -> Iterable[Any]:
    return of.values() if isinstance(of, dict) else of


def _block(found: object) -> Block:
    found = _mapping(found)
    if not isinstance(found.get("type"), str):
        refuse("a block has no type")
    return found


def _mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        refuse("this is not what blocks are saved as")
    return value
