"""What the functions of the language give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.errors import RunError, Span, error
from cepheid.web.nodes import Node, NodeKind
from cepheid.web.times import seconds_of
from cepheid.web.values import BLANKS, Nodes, Value, in_order, rounded, to_number, to_text, to_truth


@dataclass(frozen=True, slots=True)
class Asked:
    """Where a function is called."""

    node: Node
    position: int
    size: int
    span: Span | None


Function = Callable[..., Value]


def _of_node(asked: Asked, nodes: tuple[Nodes, ...]) -> Node | None:
    """The node that a function is about: the first of its argument, or the one at hand."""
    if not nodes:
        return asked.node
    return nodes[0][0] if nodes[0] else None


def _name(asked: Asked, *nodes: Nodes) -> str:
    node = _of_node(asked, nodes)
    return node.name if node else ""


def _text(asked: Asked, *given: Value) -> str:
    return to_text(given[0]) if given else asked.node.text


def _id(asked: Asked, given: Value) -> Nodes:
    texts = [node.text for node in given] if isinstance(given, list) else [to_text(given)]
    wanted = {word for text in texts for word in text.split()}
    found: dict[str, Node] = {}
    for node in asked.node.page.elements():
        id = node.attribute("id")
        if id in wanted:
            found.setdefault(id, node)
    return in_order([*found.values()])


def _substring(text: Value, start: Value, *length: Value) -> str:
    first = rounded(to_number(start))
    end = first + rounded(to_number(length[0])) if length else math.inf
    # Not a number is neither before nor behind any place, so that nothing is taken.
    characters = enumerate(to_text(text), start=1)
    return "".join([each for place, each in characters if place >= first and place < end])


def _before(text: Value, mark: Value) -> str:
    before, found, _ = to_text(text).partition(to_text(mark)) if to_text(mark) else ("", "", "")
    return before if found else ""


def _after(text: Value, mark: Value) -> str:
    if not to_text(mark):
        return to_text(text)
    return to_text(text).partition(to_text(mark))[2]


def _translate(text: Value, old: Value, new: Value) -> str:
    into: dict[int, str | None] = {}
    for place, character in enumerate(to_text(old)):
        other = to_text(new)[place : place + 1]
        into.setdefault(ord(character), other or None)
    return to_text(text).translate(into)


def _lang(asked: Asked, wanted: Value) -> bool:
    for node in (asked.node, *asked.node.ancestors()):
        found = node.attribute("lang") if node.is_element else None
        if found is not None:
            language = to_text(wanted).lower()
            return found.lower() == language or found.lower().startswith(f"{language}-")
    return False


def _local_name(asked: Asked, *nodes: Nodes) -> str:
    node = _of_node(asked, nodes)
    kinds = (NodeKind.TEXT, NodeKind.COMMENT, NodeKind.ROOT)
    return "" if node is None or node.kind in kinds else node.name


def _unix_time(asked: Asked, text: Value, *rest: Value) -> float:
    try:
        found = seconds_of(to_text(text), *map(to_text, rest))
    except ValueError as problem:
        raise RunError(error("bad-format", str(problem), asked.span)) from None
    return math.nan if found is None else found


def _number(asked: Asked, *given: Value) -> float:
    return to_number(given[0] if given else asked.node.text)


# Of the place of the call and the values of the arguments.
_OF_PLACES: dict[str, Function] = {
    "id": _id,
    "lang": _lang,
    "last": lambda asked: float(asked.size),
    "local-name": _local_name,
    "name": _name,
    "normalize-space": lambda asked, *text: " ".join(_words(_text(asked, *text))),
    "number": _number,
    "position": lambda asked: float(asked.position),
    "string": _text,
    "string-length": lambda asked, *text: float(len(_text(asked, *text))),
    "toUnixTime": _unix_time,
}
# Of these values alone.
_OF_VALUES: dict[str, Function] = {
    "boolean": to_truth,
    "ceiling": lambda number: _whole(math.ceil, to_number(number)),
    "concat": lambda *texts: "".join(map(to_text, texts)),
    "contains": lambda text, part: to_text(part) in to_text(text),
    "count": lambda nodes: float(len(nodes)),
    "false": lambda: False,
    "floor": lambda number: _whole(math.floor, to_number(number)),
    "namespace-uri": lambda *_: "",
    "not": lambda value: not to_truth(value),
    "round": lambda number: rounded(to_number(number)),
    "starts-with": lambda text, start: to_text(text).startswith(to_text(start)),
    "substring": _substring,
    "substring-after": _after,
    "substring-before": _before,
    "sum": lambda nodes: math.fsum(to_number(node.text) for node in nodes),
    "translate": _translate,
    "trim": lambda text: to_text(text).strip(),
    "true": lambda: True,
}


def call(name: str, asked: Asked, values: Sequence[Value]) -> Value:
    """What a function gives for these values, at this place."""
    of_place = _OF_PLACES.get(name)
    return of_place(asked, *values) if of_place else _OF_VALUES[name](*values)


_BLANK = dict.fromkeys(map(ord, BLANKS), " ")


def _words(text: str) -> list[str]:
    """What blanks of XML keep apart; other blanks, such as one that breaks no line, are letters."""
    return [word for word in text.translate(_BLANK).split(" ") if word]


def _whole(function: Callable[[Any], int], number: float) -> float:
    return float(function(number)) if math.isfinite(number) else number
