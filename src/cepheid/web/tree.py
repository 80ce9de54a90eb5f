"""Wrappers as data: XPath 1.0, and what OXPath adds to it.

A wrapper is one path. Its parts are steps of XPath, actions, and stars that repeat a path; steps carry
predicates and markers, which say what becomes a record and what its attributes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cepheid.core.checks import need
from cepheid.core.located import Located
from cepheid.core.time import Period

AXES: Final = (
    "ancestor",
    "ancestor-or-self",
    "attribute",
    "child",
    "descendant",
    "descendant-or-self",
    "following",
    "following-sibling",
    "namespace",
    "parent",
    "preceding",
    "preceding-sibling",
    "self",
    "style",
)
# From the loosest to the tightest.
OPERATORS: Final = (
    ("or",),
    ("and",),
    ("=", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "div", "mod"),
)
UNION: Final = "|"
_BINARY = {UNION, *(operator for level in OPERATORS for operator in level)}


@dataclass(frozen=True, slots=True)
class Expr(Located):
    """The root of all expressions."""


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    value: str

    def __post_init__(self) -> None:
        need(not {'"', "'"} <= set(self.value), "no literal holds both kinds of quotes")


@dataclass(frozen=True, slots=True)
class Number(Expr):
    value: float

    def __post_init__(self) -> None:
        need(math.isfinite(self.value) and self.value >= 0, "a number is finite, its sign apart")


@dataclass(frozen=True, slots=True)
class Variable(Expr):
    name: str


@dataclass(frozen=True, slots=True)
class Call(Expr):
    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Negate(Expr):
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    operator: str
    left: Expr
    right: Expr

    def __post_init__(self) -> None:
        need(self.operator in _BINARY, f"no operator {self.operator!r}")


@dataclass(frozen=True, slots=True)
class Predicate(Located):
    """A condition on nodes; an optional one keeps all of them, for what its markers extract."""

    condition: Expr
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class RecordMarker(Located):
    """`:<Flight>`: each node makes a record."""

    type: str


@dataclass(frozen=True, slots=True)
class AttributeMarker(Located):
    """`:<from=string(.)>`: each node gives its record an attribute."""

    name: str
    value: Expr


Qualifier = Predicate | RecordMarker | AttributeMarker


@dataclass(frozen=True, slots=True)
class Filtered(Expr):
    """`(//a)[1]`: predicates over a whole set of nodes."""

    subject: Expr
    predicates: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        need(bool(self.predicates), "a filter has predicates")


class TestKind(StrEnum):
    NAME = "name"
    NODE = "node"
    TEXT = "text"
    COMMENT = "comment"
    INSTRUCTION = "processing-instruction"
    FIELD = "field"  # a form field that people can see


@dataclass(frozen=True, slots=True)
class Test(Located):
    """What nodes a step takes: `tr`, `*`, `text()`, `input#name`, `li.next`."""

    kind: TestKind = TestKind.NAME
    name: str | None = None  # None: any; of an instruction its target
    id: str | None = None
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        is_named = self.kind in (TestKind.NAME, TestKind.INSTRUCTION)
        need(is_named or self.name is None, "only elements and instructions have names")
        is_element = self.kind in (TestKind.NAME, TestKind.FIELD)
        need(is_element or not (self.id or self.classes), "only elements have classes")


ANY_NODE = Test(TestKind.NODE)


@dataclass(frozen=True, slots=True)
class Step(Located):
    axis: str
    test: Test
    qualifiers: tuple[Qualifier, ...] = ()

    def __post_init__(self) -> None:
        need(self.axis in AXES, f"no axis {self.axis!r}")


class ActionKind(StrEnum):
    CLICK = "click"
    FILL = "fill"  # a text alone
    SELECT = "select"  # an option, or of a list the one that a text names
    CHECK = "check"
    UNCHECK = "uncheck"
    HOVER = "hover"
    PRESS = "press"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Action(Located):
    """What is done to the nodes found so far.

    An absolute one (`{click /}`) goes on at the root of the page that comes of it.
    """

    kind: ActionKind
    is_absolute: bool = False
    text: Literal | Variable | None = None  # to fill in, or of the option to select
    key: str | None = None  # to press
    period: Period | None = None  # to wait

    def __post_init__(self) -> None:
        takes_text = self.kind is ActionKind.FILL or (
            self.kind is ActionKind.SELECT and self.text is not None
        )
        need((self.text is not None) == takes_text, f"{self.kind} and its text do not fit")
        need((self.key is not None) == (self.kind is ActionKind.PRESS), "a key is pressed")
        need((self.period is not None) == (self.kind is ActionKind.WAIT), "a wait has a length")


@dataclass(frozen=True, slots=True)
class Star(Located):
    """`(path)*{least,most}`: what comes of walking the path any number of times, one after another."""

    path: Path
    least: int = 0
    most: int | None = None  # None: until it leads nowhere

    def __post_init__(self) -> None:
        need(self.least >= 0, "nothing is repeated fewer than no times")
        need(self.most is None or self.most >= max(self.least, 1), "a star that never repeats")


Part = Step | Action | Star


@dataclass(frozen=True, slots=True)
class Path(Expr):
    """Steps from the root of the page, from what an expression gives, or from the node at hand."""

    is_absolute: bool
    parts: tuple[Part, ...]
    start: Expr | None = None

    def __post_init__(self) -> None:
        need(bool(self.parts) or self.is_absolute, "a path leads somewhere")
        need(not (self.is_absolute and self.start), "a path has one start")


@dataclass(frozen=True, slots=True)
class Wrapper(Located):
    """A path over pages, and the address of the page on which it starts, if it says one."""

    path: Path
    address: Literal | Variable | None = None


DESCENDANTS = Step("descendant-or-self", ANY_NODE)  # which `//` stands for


def children(tree: Located) -> Iterator[Located]:
    """The parts of a tree, from left to right."""
    match tree:
        case Wrapper(path=path, address=address):
            yield from filter(None, (address, path))
        case Path(parts=parts, start=start):
            yield from filter(None, (start, *parts))
        case Star(path=path):
            yield path
        case Step(qualifiers=qualifiers):
            yield from qualifiers
        case Action(text=text) if text is not None:
            yield text
        case Predicate(condition=part) | AttributeMarker(value=part) | Negate(operand=part):
            yield part
        case Filtered(subject=subject, predicates=predicates):
            yield from (subject, *predicates)
        case Call(arguments=arguments):
            yield from arguments
        case Binary(left=left, right=right):
            yield from (left, right)
        case _:
            pass


def all_parts(tree: Located) -> Iterator[Located]:
    """A tree and everything in it, in the order of the text."""
    yield tree
    for part in children(tree):
        yield from all_parts(part)


def height(tree: Located) -> int:
    """How many parts lie inside one another; whoever recurses over a tree needs as much room."""
    highest = 0
    todo = [(tree, 1)]
    while todo:
        part, depth = todo.pop()
        highest = max(highest, depth)
        todo.extend((each, depth + 1) for each in children(part))
    return highest
