"""Forms of the event algebra by chance, as texts from which any of their parts can be left out."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.absence.written import ASKED, Part

CHECKS = ("q > 0", "p < 3")
CONTEXTS = ("chronicle", "immediate", "chronicle global")


@dataclass(frozen=True)
class Left:
    """What is left out, and the number of the call that keeps the name that all others lose."""

    parts: frozenset[Part]
    first: int = -1

    def __contains__(self, part: Part) -> bool:
        return part in self.parts


class Form(ABC):
    @abstractmethod
    def text(self, left: Left, last: bool) -> str | None: ...
    @abstractmethod
    def calls(self) -> Iterator[Call]:
        """Those of the events of a match."""

    @abstractmethod
    def parts(self) -> Iterator[Part]: ...

    @property
    def whole(self) -> str:
        found = self.text(Left(frozenset()), True)
        assert found is not None
        return found


@dataclass(frozen=True)
class Call(Form):
    number: int
    type: str
    name: str | None = None

    def text(self, left: Left, last: bool) -> str | None:
        if ("missing", str(self.number)) in left:
            return ASKED if last else None
        is_renamed = self.name and ("same", "x") in left and self.number != left.first
        return self.written(f"x{self.number}" if is_renamed else self.name)

    def written(self, name: str | None) -> str:
        return f"{self.type}({name or '_'}, _)"

    def calls(self) -> Iterator[Call]:
        yield self

    def parts(self) -> Iterator[Part]:
        yield "missing", str(self.number)


@dataclass(frozen=True)
class Joined(Form):
    """`->`, `AND`, `OR`, with what must not come before a step of a sequence."""

    word: str
    sides: tuple[Form, ...]
    forbidden: tuple[Call | None, ...] = ()

    def text(self, left: Left, last: bool) -> str | None:
        if self.word != "->":
            found = [side.text(left, last) for side in self.sides]
            if self.word == "OR" and None in found:
                return None
            kept = [text for text in found if text is not None]
            if self.word == "AND" and set(kept) == {ASKED}:
                return ASKED  # it comes at once, whatever it is
        else:
            kept = self.in_sequence(left, last)
        joined = f" {self.word} ".join(kept)
        return f"({joined})" if len(kept) > 1 else joined or None

    def in_sequence(self, left: Left, last: bool) -> list[str]:
        kept: list[str] = []
        for side, absent in reversed(list(zip(self.sides, self.forbidden, strict=True))):
            text = side.text(left, last and not [t for t in kept if not t.startswith("NOT")])
            kept = ([text] if text else []) + kept
            if absent is not None and text and ("not", str(absent.number)) not in left:
                kept = [f"NOT {absent.written(absent.name)}", *kept]
        while kept and kept[0].startswith("NOT"):
            kept.pop(0)
        return kept

    def calls(self) -> Iterator[Call]:
        for side in self.sides:
            yield from side.calls()

    def parts(self) -> Iterator[Part]:
        for side, absent in zip(self.sides, self.forbidden, strict=True):
            yield from (("not", str(absent.number)),) if absent else ()
            yield from side.parts()


@dataclass(frozen=True)
class Times(Form):
    call: Call

    def text(self, left: Left, last: bool) -> str | None:
        body = self.call.text(left, last=False)
        return (ASKED if last else None) if body is None else f"({body}){{2}}"

    def calls(self) -> Iterator[Call]:
        yield self.call

    def parts(self) -> Iterator[Part]:
        yield from self.call.parts()


def _count(text: str) -> int:
    return len(re.findall(r"(?<!NOT )\b[abc]\(|Asked", text))


@dataclass(frozen=True)
class Timed(Form):
    number: int
    form: Form
    window: str

    def text(self, left: Left, last: bool) -> str | None:
        inner = self.form.text(left, last)
        if inner is None or ("timer", str(self.number)) in left:
            return inner
        lost = _count(inner) < _count(self.form.whole)
        if re.fullmatch(r"\w+(\(\w+, _\))?", inner) or (lost and "holdsFor" in self.window):
            return inner
        return f"({inner})[{self.window}]"

    def calls(self) -> Iterator[Call]:
        yield from self.form.calls()

    def parts(self) -> Iterator[Part]:
        yield "timer", str(self.number)
        yield from self.form.parts()


@dataclass(frozen=True)
class Complex:
    form: Form
    checks: tuple[str, ...]
    context: str

    def parts(self) -> list[Part]:
        found: list[Part] = []
        if "a" in {call.type for call in self.form.calls()}:
            found += [("condition", check) for check in self.checks]
        if sum(call.name == "x" for call in self.form.calls()) > 1:
            found.append(("same", "x"))
        found += self.form.parts()
        found += [("noise", "")] if self.context == "immediate" else []
        return [*found, ("taken", "")]

    def form_text(self, left: frozenset[Part]) -> str:
        return self.form.text(self.left(left), last=True) or ASKED

    def left(self, parts: frozenset[Part]) -> Left:
        named = (call.number for call in self.form.calls() if call.name == "x")
        return Left(parts, next(named, -1))

    def exists(self, event: dict[str, Any], left: frozenset[Part]) -> bool:
        """Whether an `a` passes the checks that are left."""
        passes = {"q > 0": event["q"] > 0, "p < 3": event["p"] < 3}
        return all(passes[c] for c in self.checks if ("condition", c) not in left)

    def context_text(self, left: frozenset[Part]) -> str:
        return "chronicle" if ("noise", "") in left else self.context

    def program(self, left: frozenset[Part], form: str) -> str:
        checks = " and ".join(c for c in self.checks if ("condition", c) not in left)
        lines = [
            f"atomicEvent a(p: int, q: int) {{ check {checks} }}"
            if checks
            else "atomicEvent a(p: int, q: int)",
            "atomicEvent b(p: int, q: int)",
            "atomicEvent c(p: int, q: int)",
            "atomicEvent Asked(p: int, q: int)",
            f"complexEvent S() {{ as {form} context {self.context_text(left)} }}",
        ]
        return "\n".join(lines)


@st.composite
def forms(draw: DrawFn) -> Complex:
    numbers = iter(range(100))

    def call() -> Call:
        name = draw(st.sampled_from(("x", "x", None)))
        return Call(next(numbers), draw(st.sampled_from("aabc")), name)

    def side() -> Form:
        kind = draw(st.sampled_from(("call", "call", "call", "OR", "AND", "times", "window")))
        if kind in ("OR", "AND"):
            return Joined(kind, (call(), call()), (None, None))
        if kind == "times":
            return Times(call())
        if kind == "window":
            return Timed(
                next(numbers),
                sequence((call(), call())),
                draw(st.sampled_from(("within 1 second", "holdsFor 2 seconds"))),
            )
        return call()

    def sequence(sides: tuple[Form, ...]) -> Form:
        absent = tuple(
            call() if place and draw(st.integers(0, 2)) == 0 else None
            for place in range(len(sides))
        )
        return Joined("->", sides, absent)

    count = draw(st.sampled_from((1, 2, 2, 2, 3)))
    form: Form = side() if count == 1 else sequence(tuple(side() for _ in range(count)))
    if not isinstance(form, Call) and draw(st.integers(0, 3)) == 0:
        form = Timed(next(numbers), form, "within 3 seconds")
    checks = tuple(check for check in CHECKS if draw(st.integers(0, 2)) == 0)
    return Complex(form, checks, draw(st.sampled_from(CONTEXTS)))


@st.composite
def streams(draw: DrawFn, most: int = 6) -> list[dict[str, Any]]:
    second = 0
    events: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(1, most))):
        second += draw(st.sampled_from((0, 1, 1, 2)))
        values = {"p": draw(st.sampled_from((0, 1, 3))), "q": draw(st.integers(0, 1))}
        events.append({"@type": draw(st.sampled_from("aabc")), "@time": second, **values})
    return events
