"""Programs in VEPL by chance, with events for them."""

from __future__ import annotations

import re
from contextlib import suppress

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from cepheid.matcher.lanes.plan import lanes_of
from cepheid.matcher.lanes.token_plan import Tokens
from tests import effort
from tests.algebra.generators import forms
from tests.conformance.generator import EnoughExamples
from tests.conformance.scenarios import Example

CONTEXTS = tuple(
    f"{name}{scope}" for name in ("chronicle", "immediate", "strict") for scope in ("", " global")
)
SCHEMAS = "".join(
    f"atomicEvent {name}(id: string, k: string, v: int, ts: long)\n" for name in "ABCD"
)
CHECKED = SCHEMAS.replace("\natomicEvent D", " { check k != 'y' }\natomicEvent D")
CALLED = "".join(
    f"complexEvent {name}(x: string, y: string) {{ as {form} }}\n"
    for name, form in {
        "pair": "A(_, x, _, _) -> B(y, x, _, _)",
        "many": "A(_, x, _, _){2} -> B(y, x, _, _)",
        "lone": "A -> NOT B(_, x, _, _) -> C(y, x, _, _)",
    }.items()
)
_CALL = re.compile(r"\b([abcd])\b(?:\((\w+), _\))?")


@st.composite
def occurrences(draw: DrawFn, contexts: tuple[str, ...] = CONTEXTS) -> Example:
    """Up to three complex events over one stream."""
    count = draw(st.integers(1, 3))
    texts = [
        _complex_event(f"O{n}", draw(forms(2)), draw(st.sampled_from(contexts)))
        for n in range(count)
    ]
    called = [CALLED] if re.search("pair|many|lone", "".join(texts)) else []
    return Example("".join([CHECKED, *texts, *called]), draw(_events()), language="vepl")


@st.composite
def chains(draw: DrawFn) -> Example:
    """Complex events that take whole batches: one event after the other, by a key or without."""
    texts = []
    for number in range(draw(st.integers(1, 2))):
        types = draw(st.permutations("ABCD"))[: draw(st.integers(2, 4))]
        key = draw(st.sampled_from(("x", "x", "_")))
        calls = [
            f"{name}({shown}, {key}, _, _)" for name, shown in zip(types, "ijjj", strict=False)
        ]
        context = draw(st.sampled_from(CONTEXTS[::2] if key == "x" else CONTEXTS))
        head = f"complexEvent O{number}(i: string, x: string)"
        form = " -> ".join([calls[0], *(call.replace("(j", "(_") for call in calls[1:])])
        texts.append(f"{head} {{ as {form} context {context} }}\n")
    shown = "x" if all("x, _, _)" in text for text in texts) else "i"
    texts = [text.replace("(i: string, x: string)", f"({shown}: string)") for text in texts]
    return Example("".join([SCHEMAS, *texts]), draw(_events()), language="vepl")


@st.composite
def token_forms(draw: DrawFn, calls: st.SearchStrategy[str], depth: int) -> str:
    """Forms in which one event can mostly be used in one way."""
    kinds = ("call", "->", "->", "AND", "OR", "times", "any", "window", "part", "not")
    kind = draw(st.sampled_from(kinds)) if depth else "call"
    inner = token_forms(calls, depth - 1)
    if kind in ("->", "AND", "OR"):
        parts = draw(st.lists(inner, min_size=2, max_size=3))
        return f" {kind} ".join(f"({part})" for part in parts)
    if kind == "times":
        return f"({draw(inner)}){{{draw(st.sampled_from(('2', '3', '1:2', '+', '2:*')))}}}"
    if kind == "any":
        return f"({draw(inner)}){{{draw(st.sampled_from('*+'))}}} -> ({draw(inner)})"
    if kind in ("window", "part"):
        length = draw(
            st.sampled_from(("within 1 second", "within 3 seconds", "holdsFor 2 seconds"))
        )
        whole = f"(({draw(inner)}) -> ({draw(inner)}))[{length}]"
        return whole if kind == "window" else f"{whole} -> ({draw(inner)})"
    if kind == "not":
        absent = " OR ".join(draw(st.lists(calls, min_size=1, max_size=2)))
        return f"({draw(inner)}) -> NOT ({absent}) -> ({draw(inner)})"
    return draw(calls)


@st.composite
def _token_event(draw: DrawFn, name: str, contexts: tuple[str, ...]) -> str:
    """A complex event in which all calls of a type are alike, but for one that tells who it is."""
    keys = draw(st.sampled_from((("x",), ("x",), ("_",), ("x", "_"), ("x, y",))))
    values = st.sampled_from(("_", "_", "_", "y"))
    arguments = {}
    for letter in "ABCD":
        key = draw(st.sampled_from(keys))
        arguments[letter] = f"{key}, _" if "y" in key else f"{key}, {draw(values)}, _"
    calls = st.sampled_from("AABBC").map(lambda letter: f"{letter}(_, {arguments[letter]})")
    shown = f"{draw(st.sampled_from('DDDC'))}(i, {arguments['D']})"
    form = draw(token_forms(calls, draw(st.sampled_from((1, 1, 2)))))
    wholes = (f"{shown} -> ({form})", f"({form}) -> {shown}", f"({form}) AND {shown}")
    whole = draw(st.sampled_from(wholes))
    head = f"complexEvent {name}(i: string, x: string, y: int)"
    return f"{head} {{ as {whole} context {draw(st.sampled_from(contexts))} }}\n"


def is_followed_by_tokens(example: Example) -> bool:
    plan = lanes_of(example.resolved)
    return plan is not None and any(isinstance(one, Tokens) for one in plan.statements)


@st.composite
def tokens(draw: DrawFn, contexts: tuple[str, ...] = CONTEXTS) -> Example:
    """Complex events beyond chains that take whole batches: one token is one partial match."""
    count = draw(st.sampled_from((1, 1, 1, 2)))
    texts = [draw(_token_event(f"O{n}", contexts)) for n in range(count)]
    schemas = draw(st.sampled_from((SCHEMAS, CHECKED)))
    return Example("".join([schemas, *texts]), draw(_events(valued=True)), language="vepl")


def followed_by_tokens(contexts: tuple[str, ...] = CONTEXTS) -> st.SearchStrategy[Example]:
    return tokens(contexts).filter(is_followed_by_tokens)


def different(count: int, kind: st.SearchStrategy[Example]) -> tuple[Example, ...]:
    """So many examples of a kind, no two alike."""
    found: dict[Example, None] = {}

    @settings(effort.examples(3 * count), database=None, phases=[Phase.generate])
    @given(kind)
    def collect(example: Example) -> None:
        if len(found) == count:
            raise EnoughExamples
        found[example] = None

    with suppress(EnoughExamples):
        collect()
    assert len(found) == count
    return tuple(found)


def _complex_event(name: str, form: str, context: str) -> str:
    """Events are found by their keys, and the ids of some of them are shown."""
    shown = _CALL.sub(lambda call: f"{call[1].upper()}(i, {call[2] or '_'}, _, _)", form, count=1)
    whole = _CALL.sub(lambda call: f"{call[1].upper()}(_, {call[2] or '_'}, _, _)", shown)
    return f"complexEvent {name}(i: string, x: string) {{ as {whole} context {context} }}\n"


@st.composite
def _events(draw: DrawFn, *, valued: bool = False) -> str:
    time, shown = 0, []
    for number in range(draw(st.integers(10, 30) if valued else st.integers(2, 14))):
        time += draw(st.sampled_from((0, 1000, 1000, 2000)))
        keys = ['k="x"'] * (5 if valued else 2) + ['k="y"', ""]
        values = ["v=1", "v=1", "v=1", "v=2", ""] if valued else [""]
        given = [draw(st.sampled_from(keys)), draw(st.sampled_from(values))]
        attributes = ",".join(filter(None, given))
        types = "AABBCDD" if valued else "AABBCD"
        shown.append(
            f"{draw(st.sampled_from(types))}{number}@{time}"
            + (f"{{{attributes}}}" if attributes else "")
        )
    return " ".join([*shown, f"@{time + 5000}"])
