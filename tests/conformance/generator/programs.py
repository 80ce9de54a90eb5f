"""Programs, each with a stream for it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import cepheid as cep
from cepheid.core.types import EventType
from cepheid.errors import Severity
from tests import effort
from tests.conformance.generator.expressions import Expressions
from tests.conformance.generator.plain_statements import PlainStatements, StatementsInARow
from tests.conformance.generator.schemas import CHILD, COUNTED, HELD, INPUTS, RECORDS, SCHEMAS
from tests.conformance.generator.statements import Statements
from tests.conformance.generator.streams import stream
from tests.conformance.scenarios import FUNCTIONS, Example

CYCLE = "insert into D select k, v + 1L as v from D(v < 3);"  # it ends


@st.composite
def examples(
    draw: DrawFn, *, plain: bool = False, in_a_row: bool = False, nested: bool = True
) -> Example:
    """A program and a stream for it; plain ones have statements side by side, which run in lanes, or
    `in_a_row`: they take what others derive, too.

    Nested are those whose events hold records and arrays. Events of some hold times and decimals.
    """
    plain = plain or in_a_row
    nested = nested and not plain
    choice = Expressions(draw)
    inputs = INPUTS[: choice.pick(2, 1, 3)]
    is_child = len(inputs) == 3 and choice.pick(False, True)
    # In a row it stands for what runs apart: a cycle, which others may take, too.
    has_declared = choice.happens(4) if in_a_row else not plain and choice.happens(3)
    known = (*inputs, *(["D"] if has_declared else []))
    texts = [CHILD if name == "C" and is_child else SCHEMAS[name] for name in known]
    if nested:
        texts = [*(RECORDS[name] for name in inputs if name in RECORDS), *texts]
    else:
        texts = [HELD.sub("", text) for text in texts]
    counted = choice.happens(4)
    if not counted:
        texts = [COUNTED.sub("", text) for text in texts]
    derived: list[str] = []
    for number in range(1, choice.pick(1, 2, 2, 3, 4) + 1):
        types = _types("\n".join(texts))
        among = inputs if plain and not in_a_row else (*known, *derived * 3)
        target = choice.pick(f"O{number}", f"O{number}", None)
        if has_declared and not in_a_row and choice.happens(3):
            target, among = "D", inputs
        is_plain = plain or (target != "D" and choice.happens(5))
        make = PlainStatements if is_plain else Statements
        if in_a_row:
            make = StatementsInARow
        texts.append(make(draw, number, types, among).statement(target))
        if target not in (None, "D"):
            derived.append(str(target))
    if has_declared and choice.happens(2 if in_a_row else 4):
        texts.append(CYCLE)
    events = stream(choice, (*inputs, *known), is_child=is_child, nested=nested, counted=counted)
    return Example("\n".join(texts), events)


@lru_cache(10_000)
def _types(text: str) -> Mapping[str, EventType]:
    program = cep.parse(text, functions=FUNCTIONS).resolve()
    wrong = [p for p in program.problems if p.severity is Severity.ERROR]
    assert not wrong, (text, wrong)
    return program.types


class EnoughExamples(Exception):
    """Ends the search, as Hypothesis has no other way."""


def different(count: int) -> tuple[Example, ...]:
    """So many examples, no two alike."""
    found: dict[Example, None] = {}

    @settings(effort.examples(1), max_examples=3 * count, database=None, phases=[Phase.generate])
    @given(examples())
    def collect(example: Example) -> None:
        if len(found) == count:
            raise EnoughExamples
        found[example] = None

    with suppress(EnoughExamples):
        collect()
    assert len(found) == count
    return tuple(found)
