"""Generated programs give the rows of the reference on every engine."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests import effort
from tests.conformance.compare import agree
from tests.conformance.engines import ENGINES, REFERENCE
from tests.conformance.filters import filters
from tests.conformance.generator import examples
from tests.conformance.occurrences import (
    chains,
    followed_by_tokens,
    is_followed_by_tokens,
    occurrences,
    tokens,
)
from tests.conformance.scenarios import Example

# Generated programs derive events without keys, and are told so.
# How many examples each engine gets: the slower it is, the fewer.
COUNTS = {
    "reference, restarted": 40,
    "local, records": 300,
    "local, columns": 150,
    "local, restarted": 60,
    "local, tables": 150,
    "compiled": 80,
    "compiled, in batches": 120,
    "automaton": 20,  # what is no complex event runs on the reference
    "automaton, restarted": 10,
    "petri": 40,
    "maude": 100,
}
IN_LANES = {"local, columns": 100, "lanes": 100, "lanes, in batches": 100}


@pytest.mark.parametrize("name", COUNTS)
def test_generated_programs_give_the_rows_of_the_reference(name: str) -> None:
    @effort.examples(COUNTS[name])
    @given(examples(nested=name != "maude"))  # which has no records
    def search(example: Example) -> None:
        agree(ENGINES[name], example)

    search()


@pytest.mark.parametrize("name", IN_LANES)
def test_statements_side_by_side_give_the_rows_of_the_reference(name: str) -> None:
    @effort.examples(IN_LANES[name])
    @given(examples(plain=True))
    def search(example: Example) -> None:
        agree(ENGINES[name], example)

    search()


IN_A_ROW = {
    "local, columns": 150,
    "local, tables": 100,
    "lanes in a row": 200,
    "lanes in a row, in batches": 200,
}


@pytest.mark.parametrize("name", IN_A_ROW)
def test_statements_in_a_row_give_the_rows_of_the_reference(name: str) -> None:
    @effort.examples(IN_A_ROW[name])
    @given(examples(in_a_row=True))
    def search(example: Example) -> None:
        agree(ENGINES[name], example)

    search()


FILTERS = {
    "local, columns": 150,
    "local, tables": 50,
    "local, records": 50,
    "lanes": 100,
    "lanes in a row, in batches": 150,
}


@pytest.mark.parametrize("name", FILTERS)
def test_many_filters_give_the_rows_of_the_reference(name: str) -> None:
    @effort.examples(FILTERS[name])
    @given(filters())
    def search(example: Example) -> None:
        agree(ENGINES[name], example)

    search()


OCCURRENCES = {
    "reference, restarted": 60,
    "local, records": 60,
    "local, columns": 60,
    "local, restarted": 30,
    "local, tables": 30,
    "automaton": 300,
    "automaton, restarted": 100,
}


@pytest.mark.parametrize("name", OCCURRENCES)
def test_generated_complex_events_give_the_rows_of_the_reference(name: str) -> None:
    @effort.examples(OCCURRENCES[name])
    @given(occurrences())
    def search(example: Example) -> None:
        assert agree(ENGINES[name], example)

    search()


@pytest.mark.parametrize("name", IN_LANES)
def test_chains_of_complex_events_give_the_rows_of_the_reference(name: str) -> None:
    @effort.examples(IN_LANES[name])
    @given(chains())
    def search(example: Example) -> None:
        assert agree(ENGINES[name], example)

    search()


FOLLOWED = {**IN_LANES, "local, records": 30, "local, restarted": 30, "automaton": 30}


@pytest.mark.parametrize("name", FOLLOWED)
def test_complex_events_followed_by_tokens_give_the_rows_of_the_reference(name: str) -> None:
    @effort.examples(FOLLOWED[name])
    @given(followed_by_tokens())
    def search(example: Example) -> None:
        assert agree(ENGINES[name], example)

    search()


def test_most_programs_made_for_tokens_are_compiled_and_many_of_them_match() -> None:
    compiled: list[Example] = []
    seen: list[Example] = []

    @effort.examples(100)
    @given(tokens())
    def collect(example: Example) -> None:
        seen.append(example)
        if is_followed_by_tokens(example):
            compiled.append(example)

    collect()
    assert len(compiled) > len(seen) * 0.7
    assert effort.IS_QUICK or sum(map(bool, map(REFERENCE.rows, compiled))) > len(compiled) * 0.1


def test_every_engine_gets_generated_programs() -> None:
    assert {*COUNTS, *IN_LANES, *IN_A_ROW} == ENGINES.keys() - {REFERENCE.name}
