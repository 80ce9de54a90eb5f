"""Forms and streams by chance, from a small alphabet."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from cepheid.core.event import Event, Value
from tests.algebra.forms import CALLED

NAMES = ("x", "x", "y", "_")
SECOND = 1_000_000


@st.composite
def calls(draw: DrawFn) -> str:
    name: str = draw(st.sampled_from((*"aabbcaabb", *CALLED)))
    if len(name) == 1 and draw(st.booleans()):
        return name
    return f"{name}({draw(st.sampled_from(NAMES))}, _)"


@st.composite
def forms(draw: DrawFn, depth: int = 2, *, timely: bool = True) -> str:
    """A form that makes sense; `timely` if the end of a window may complete a part of it."""
    if depth == 0:
        return draw(calls())
    inner = forms(depth - 1, timely=timely)
    kinds = ("call", "->", "->", "OR", "AND", "times", "any", "window", "not", "end")
    kind = draw(st.sampled_from(kinds))
    if kind in ("->", "OR", "AND"):
        parts = draw(st.lists(inner, min_size=2, max_size=3))
        return f" {kind} ".join(f"({part})" for part in parts)
    if kind == "times":
        count = draw(st.sampled_from(("2", "1:2", "+", "2:*")))
        return f"(({draw(inner)}) OR {draw(calls())}){{{count}}}"
    if kind == "any":
        return f"(({draw(inner)}){{*}} -> {draw(calls())})"
    if kind == "window":
        length = draw(
            st.sampled_from(("within 2 seconds", "within 4 seconds", "holdsFor 2 seconds"))
        )
        return f"(({draw(inner)}) -> {draw(calls())})[{length}]"
    if kind == "not":
        absent = draw(forms(depth - 1, timely=False))
        return f"({draw(calls())} -> NOT ({absent}) -> {draw(calls())})"
    if kind == "end" and timely:
        absent = draw(forms(depth - 1, timely=False))
        operator = draw(st.sampled_from(("->", "AND")))
        return f"({draw(calls())} {operator} NOT ({absent}))[within 2 seconds]"
    return draw(calls())


@st.composite
def streams(draw: DrawFn, most: int = 6) -> list[Event]:
    events: list[Event] = []
    instant = 0
    for number in range(draw(st.integers(0, most))):
        instant += draw(st.sampled_from((0, 1, 1, 2))) * SECOND
        values: dict[str, Value] = {
            "p": draw(st.sampled_from((1, 1, 2, None))),
            "q": draw(st.sampled_from((1, 2))),
        }
        events.append(Event(draw(st.sampled_from("aabbcd")), instant, values, number))
    return events
