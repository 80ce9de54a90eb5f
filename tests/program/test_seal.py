"""Saved states say who saved them, in a line that people can read, and are refused with a reason."""

from __future__ import annotations

import json

import pytest

import cepheid as cep
from cepheid.errors import RunError
from cepheid.program import seal
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.seal import Seal


def program(text: str = "create schema A (v int); select v from A;") -> ResolvedProgram:
    return cep.parse(text).resolve()


def fact(ours: Seal, state: bytes) -> str:
    with pytest.raises(RunError) as refused:
        ours.open(state)
    (problem,) = refused.value.diagnostics
    assert problem.code == "bad-state"
    return problem.message


def fields(state: bytes) -> dict[str, str]:
    line = state.partition(b"\n")[0].decode()
    assert line.startswith("cepheid-state ")
    found: dict[str, str] = json.loads(line.removeprefix("cepheid-state "))
    return found


def test_a_state_is_what_was_closed_and_says_who_closed_it() -> None:
    state = Seal("bucket", "3", program()).close(b"all\nthat")
    assert Seal("bucket", "3", program()).open(state) == b"all\nthat"
    assert fields(state).keys() == {"format", "cepheid", "program"}
    assert (fields(state)["format"], fields(state)["cepheid"]) == ("bucket 3", cep.__version__)


def test_a_state_of_another_program_is_refused_with_both_digests() -> None:
    state = Seal("bucket", "3", program()).close(b"x")
    ours = Seal("bucket", "3", program("create schema A (v long); select v from A;"))
    theirs, mine = fields(state)["program"], fields(ours.close(b""))["program"]
    assert f"by another program: {theirs}, not {mine} (" in fact(ours, state)


def test_a_state_of_another_part_of_the_program_is_refused() -> None:
    """Parts have the text and the types of the whole: only their statements tell them apart."""
    whole = program("""
        create schema A (v int);
        @Name('X') select v from A;
        @Name('Y') select v from A;
    """)
    state = Seal("bucket", "3", whole.part(["X"])).close(b"x")
    assert "by another program" in fact(Seal("bucket", "3", whole.part(["Y"])), state)


def test_a_state_of_a_program_whose_types_were_given_otherwise_is_refused() -> None:
    """The text is the same, but what its events look like was not said there."""

    def seal_of(type: str) -> Seal:
        given = cep.parse("select v from A;", types={"A": {"v": type}})
        return Seal("bucket", "3", given.resolve())

    state = seal_of("int").close(b"x")
    assert seal_of("int").open(state) == b"x"
    assert "by another program" in fact(seal_of("long"), state)


def test_a_state_of_another_format_is_refused_with_both_formats_and_versions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(seal, "__version__", "0.0.1")
        state = Seal("bucket", "2", program()).close(b"x")
    told = fact(Seal("bucket", "3", program()), state)
    assert "in another format: bucket 2, not bucket 3" in told
    assert f"by Cepheid 0.0.1, and this is {cep.__version__}" in told


def test_another_cepheid_reads_a_state_of_the_same_format(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(seal, "__version__", "0.0.1")
        state = Seal("bucket", "3", program()).close(b"x")
    assert Seal("bucket", "3", program()).open(state) == b"x"


@pytest.mark.parametrize("state", [b"cepheid-state" + bytes(64), b"cepheid-bucket\x02" + bytes(9)])
def test_states_without_a_readable_line_are_refused_as_older(state: bytes) -> None:
    assert "saved by an older Cepheid" in fact(Seal("bucket", "3", program()), state)


def test_a_state_that_is_cut_off_is_damaged_wherever_it_ends() -> None:
    ours = Seal("bucket", "3", program())
    state = ours.close(b"payload")
    assert {fact(ours, state[:end]) for end in range(1, len(state))} == {
        "the saved state is damaged"
    }


def test_a_line_that_is_nested_without_end_is_refused() -> None:
    state = b"cepheid-state {" + b'"a":{' * 100_000 + b"\n"
    assert "damaged" in fact(Seal("bucket", "3", program()), state)


def test_bytes_that_are_damaged_anywhere_are_refused() -> None:
    ours = Seal("bucket", "3", program())
    state = ours.close(b"payload")
    for place in range(len(state)):
        fact(ours, state[:place] + bytes([state[place] ^ 1]) + state[place + 1 :])
        fact(ours, state[:place])
    assert fact(ours, b"") == "these bytes are no saved state"
