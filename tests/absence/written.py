"""Statements by chance, as texts from which any of their parts can be left out.

What is left is written as EPL and run like any program: nothing here knows how the package lifts parts.
A part is a kind and the text that it has in the whole statement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

Part = tuple[str, str]
ASKED = "Asked"
SCHEMAS = """
create schema A (k int, v int);
create schema B (k int, v int);
create schema C (k int, v int);
create schema Asked (k int);
"""


@dataclass(frozen=True)
class Left:
    """What is left out, and the tags that nothing binds any more."""

    parts: frozenset[Part]
    gone: frozenset[str] = frozenset()

    def of(self, conjuncts: tuple[str, ...], kind: str) -> list[str]:
        return [
            text
            for text in conjuncts
            if (kind, text) not in self.parts and not any(f"{tag}." in text for tag in self.gone)
        ]


class Node(ABC):
    @abstractmethod
    def text(self, left: Left, last: bool) -> str | None: ...
    @abstractmethod
    def parts(self) -> Iterator[Part]: ...
    @abstractmethod
    def tags(self) -> Iterator[str]: ...

    @property
    def whole(self) -> str:
        found = self.text(Left(frozenset()), True)
        assert found is not None
        return found


@dataclass(frozen=True)
class Step(Node):
    tag: str
    type: str
    conjuncts: tuple[str, ...] = ()

    def text(self, left: Left, last: bool) -> str | None:
        if ("missing", self.whole_text) in left.parts:
            return ASKED if last else None
        conditions = " and ".join(left.of(self.conjuncts, "condition"))
        return f"{self.tag}={self.type}({conditions})" if conditions else f"{self.tag}={self.type}"

    @property
    def whole_text(self) -> str:
        inside = f"({' and '.join(self.conjuncts)})" if self.conjuncts else ""
        return f"{self.tag}={self.type}{inside}"

    def parts(self) -> Iterator[Part]:
        yield from (("condition", text) for text in self.conjuncts)
        yield "missing", self.whole_text

    def tags(self) -> Iterator[str]:
        yield self.tag


@dataclass(frozen=True)
class Timer(Node):
    seconds: int

    def text(self, left: Left, last: bool) -> str | None:
        whole = f"timer:interval({self.seconds} sec)"
        return (ASKED if last else None) if ("timer", whole) in left.parts else whole

    def parts(self) -> Iterator[Part]:
        yield "timer", f"timer:interval({self.seconds} sec)"

    def tags(self) -> Iterator[str]:
        yield from ()


@dataclass(frozen=True)
class Within(Node):
    node: Node
    seconds: int

    def text(self, left: Left, last: bool) -> str | None:
        inner = self.node.text(left, last)
        if inner is None or ("timer", self.own) in left.parts:
            return inner
        return f"{inner} where timer:within({self.seconds} sec)"

    @property
    def own(self) -> str:
        return f"{self.node.whole} where timer:within({self.seconds} sec)"

    def parts(self) -> Iterator[Part]:
        yield "timer", self.own
        yield from self.node.parts()

    def tags(self) -> Iterator[str]:
        yield from self.node.tags()


@dataclass(frozen=True)
class Without(Node):
    """`P and not Q`"""

    node: Node
    forbidden: Step

    def text(self, left: Left, last: bool) -> str | None:
        inner = self.node.text(left, last)
        is_lifted = ("not", f"not {self.forbidden.whole_text}") in left.parts
        looks_at_gone = any(f"{tag}." in self.forbidden.whole_text for tag in left.gone)
        if inner is None or is_lifted or looks_at_gone:
            return inner
        return f"({inner} and not {self.forbidden.whole_text})"

    def parts(self) -> Iterator[Part]:
        yield from self.node.parts()
        yield "not", f"not {self.forbidden.whole_text}"

    def tags(self) -> Iterator[str]:
        yield from self.node.tags()


@dataclass(frozen=True)
class Two(Node):
    """`P and Q`, or `P or Q`."""

    word: str
    sides: tuple[Node, Node]

    def text(self, left: Left, last: bool) -> str | None:
        found = [side.text(left, last) for side in self.sides]
        if self.word == "or" and None in found:
            return None
        kept = [text for text in found if text is not None]
        return f"({f' {self.word} '.join(kept)})" if len(kept) > 1 else next(iter(kept), None)

    def parts(self) -> Iterator[Part]:
        for side in self.sides:
            yield from side.parts()

    def tags(self) -> Iterator[str]:
        for side in self.sides:
            yield from side.tags()


@dataclass(frozen=True)
class Times(Node):
    """`[n] P`, or `P until Q`."""

    node: Step
    count: int
    end: Step | None = None

    def text(self, left: Left, last: bool) -> str | None:
        body = self.node.text(left, last=False)
        if self.end is None:
            return (ASKED if last else None) if body is None else f"[{self.count}] {body}"
        end = self.end.text(left, last)
        if end is not None:
            return end if body is None else f"({body} until {end})"
        return None

    def parts(self) -> Iterator[Part]:
        yield from self.node.parts()
        yield from self.end.parts() if self.end else ()

    def tags(self) -> Iterator[str]:
        yield from self.node.tags()
        yield from self.end.tags() if self.end else ()


@dataclass(frozen=True)
class Sequence(Node):
    """The whole pattern: `every (P -> Q)`, `every P -> Q` or `P -> Q`; also of one step."""

    steps: tuple[Node, ...]
    every: str  # "all", "first" or "none"

    def text(self, left: Left, last: bool) -> str | None:
        if len(self.steps) == 1:
            one = self.steps[0].text(left, last=True)
            is_repeated = self.every != "none" or ("once", self.steps[0].whole) in left.parts
            return f"every {one}" if is_repeated and one != ASKED else one
        found: list[str | None] = []
        ends = last
        for step in reversed(self.steps):
            found.insert(0, step.text(left, ends))
            ends = ends and found[0] is None
        own = [("once", step.whole) for step in self.steps]
        spread = self.every == "all" and any(part in left.parts for part in own)
        again = spread
        kept: list[str] = []
        for place, (text, part) in enumerate(zip(found, own, strict=True)):
            begins = self.every == "first" and place == 0
            again = again or part in left.parts or begins
            if text is not None:
                kept.append(f"every {text}" if again and text != ASKED else text)
                again = False
        joined = " -> ".join(kept)
        is_whole = self.every == "all" and not spread and joined not in ("", ASKED)
        return f"every ({joined})" if is_whole else joined or None

    def parts(self) -> Iterator[Part]:
        if len(self.steps) == 1:
            yield from (("once", self.steps[0].whole),) if self.every == "none" else ()
        else:
            for place, step in enumerate(self.steps):
                is_every = self.every == "first" and place == 0
                can_fail = place > 0 and isinstance(step, Within | Without)
                if not is_every and not can_fail and not isinstance(step, Timer):
                    yield "once", step.whole
        for step in self.steps:
            yield from step.parts()

    def tags(self) -> Iterator[str]:
        for step in self.steps:
            yield from step.tags()


@dataclass(frozen=True)
class Statement:
    pattern: Sequence
    where: tuple[str, ...] = ()
    having: tuple[str, ...] = ()
    window: str = ""
    output: str = ""

    def parts(self) -> list[Part]:
        found = [*self.pattern.parts()]
        found += [("where", text) for text in self.where]
        found += [("having", text) for text in self.having]
        found += [("window", self.window[1:])] if self.window else []
        found += [("output", self.output)] if self.output else []
        return found

    def text(self, parts: frozenset[Part] = frozenset()) -> str:
        left = Left(parts)
        while True:
            pattern = self.pattern.text(left, last=True) or ASKED
            gone = frozenset(tag for tag in self.pattern.tags() if f"{tag}=" not in pattern)
            if gone <= left.gone:
                break
            left = Left(parts, left.gone | gone)
        where = " and ".join(left.of(self.where, "where"))
        having = " and ".join(left.of(self.having, "having"))
        lines = [
            SCHEMAS,
            "@Name('S') select count(*) as n" if self.having else "@Name('S') select 1 as n",
            f"from pattern [{pattern}]",
            self.window if self.window and ("window", self.window[1:]) not in parts else "",
            f"where {where}" if where else "",
            f"having {having}" if having else "",
            self.output if ("output", self.output) not in parts else "",
        ]
        return "\n".join(line for line in lines if line) + ";"


@st.composite
def steps(draw: DrawFn, tag: str, before: tuple[str, ...] = ()) -> Step:
    own = [f"{tag}.v > {draw(st.integers(0, 2))}", f"{tag}.k = {draw(st.integers(0, 1))}"]
    others = [f"{tag}.k = {other}.k" for other in before]
    conjuncts = draw(st.lists(st.sampled_from(own + 2 * others), unique=True, max_size=2))
    return Step(tag, draw(st.sampled_from("AABC")), tuple(conjuncts))


@st.composite
def nodes(draw: DrawFn, number: int, before: tuple[str, ...]) -> Node:
    tag, other = f"x{number}", f"y{number}"
    step = draw(steps(tag, before))
    kinds = ("step",) * 4 + (
        "within",
        "within",
        "not",
        "not",
        "and",
        "or",
        "times",
        "until",
        "timer",
    )
    kind = draw(st.sampled_from(kinds))
    if kind == "timer" and number:
        return Timer(draw(st.integers(1, 2)))
    if kind == "within":
        return Within(step, draw(st.integers(1, 3)))
    if kind == "not":
        return Without(step, draw(steps(other, (*before,))))
    if kind in ("and", "or"):
        return Two(kind, (step, draw(steps(other, before))))
    if kind == "times":
        return Times(step, 2)
    if kind == "until":
        return Times(step, 0, draw(steps(other, before)))
    return step


def certain_tags(node: Node) -> tuple[str, ...]:
    """Those that are bound to one event."""
    inner = node.node if isinstance(node, Within | Without) else node
    return (inner.tag,) if isinstance(inner, Step) else ()


@st.composite
def statements(draw: DrawFn, most_parts: int = 7) -> Statement:
    before: tuple[str, ...] = ()
    found: list[Node] = []
    for number in range(draw(st.sampled_from((1, 2, 2, 2, 3)))):
        node = draw(nodes(number, before))
        found.append(node)
        before += certain_tags(node)
    every = draw(st.sampled_from(("first", "first", "all", "none")))
    pattern = Sequence(tuple(found), every)
    where = (f"{before[0]}.v < 3",) if before and draw(st.integers(0, 4)) == 0 else ()
    having = ("count(*) > 1",) if draw(st.integers(0, 4)) == 0 else ()
    window = draw(st.sampled_from(("", "", "", "", "#length_batch(2)", "#time(1 sec)")))
    output = draw(st.sampled_from(("", "", "", "", "", "output every 2 events")))
    statement = Statement(pattern, where, having, window, output)
    while len(statement.parts()) > most_parts and len(statement.pattern.steps) > 1:
        kept = Sequence(statement.pattern.steps[:-1], every)
        statement = Statement(kept, (), having, "", output)
    return statement


@st.composite
def streams(draw: DrawFn, most: int = 6) -> list[dict[str, Any]]:
    second = 0
    events: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(1, most))):
        second += draw(st.sampled_from((0, 1, 1, 2)))
        values = {"k": draw(st.integers(0, 1)), "v": draw(st.integers(0, 3))}
        events.append({"@type": draw(st.sampled_from("AABC")), "@time": second, **values})
    return events
