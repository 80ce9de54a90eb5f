"""Tokens that walk over automata."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.pattern.algebra import Occurrence
from cepheid.semantics import residuals
from cepheid.semantics.bindings import Env
from cepheid.semantics.construction import automaton_of
from cepheid.semantics.tokens import Board
from tests.algebra.forms import SCHEMAS, program, stream

TEXT = f"""{SCHEMAS}
complexEvent found(x: int) {{
    as (a(x, _) -> NOT (b(x, _) -> c(x, _)) -> (a(x, _) AND b(x, _)){{2}})[within 9 seconds]
}}
complexEvent silent(x: int) {{ as (a(x, _) -> NOT b(x, _))[within 2 seconds] }}
"""
EVENTS = [{"@type": t, "@time": n, "p": 1, "q": 1} for n, t in enumerate("aababaccd")]


def test_tokens_ask_no_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """What leads a token on stands in its automaton, and nowhere else."""
    both = cep.parse(TEXT, language="vepl")
    expected = list(cep.run(both, EVENTS, engine="reference"))
    assert {row.type for row in expected} == {"found", "silent"}

    def asked(*_: object) -> None:
        raise AssertionError("an operator was asked")

    for kind in [residuals.Rest, *residuals.Rest.__subclasses__()]:
        for question in ("take", "miss", "wake"):
            monkeypatch.setattr(kind, question, asked)
    assert list(cep.run(both, EVENTS, engine="automaton")) == expected
    with pytest.raises(AssertionError, match="an operator was asked"):
        cep.run(both, EVENTS, engine="reference")


def test_a_state_of_one_engine_is_refused_by_the_other() -> None:
    both = cep.parse(TEXT, language="vepl")
    session = cep.open(both, engine="automaton")
    session.send("a", {"p": 1, "q": 1}, time=0)
    with pytest.raises(cep.RunError, match="format"):
        cep.open(both, engine="reference", state=session.save())


def test_statements_in_other_languages_run_beside_tokens() -> None:
    vepl = cep.parse(TEXT, language="vepl")
    epl = cep.parse("@Name('Twice') select a.x as x from pattern [every a=silent -> b=silent];")
    both = cep.Program(vepl.tree + epl.tree)
    rows = [list(cep.run(both, EVENTS, engine=name)) for name in ("reference", "automaton")]
    assert "Twice" in {row.type for row in rows[0]}
    assert rows[0] == rows[1]


def test_what_is_lost_is_not_kept() -> None:
    pattern = program("(a -> b)[holdsFor 2 seconds]").statements[0].pattern
    assert isinstance(pattern, Occurrence)
    board = Board(automaton_of(pattern, program("a").types))
    first, early = stream("a b")
    [waiting] = board.spread((), first)
    assert [token.is_lost for token in waiting.take(early)] == [True]
    assert board.spread([waiting], early) == (waiting,)


@pytest.mark.parametrize(
    ("bound", "vetoes", "after"),
    [
        # Other values were bound than those that were forbidden together: that is settled.
        ({"x": 1, "y": 2}, [{"x": 3}], ({"y": 2}, [])),
        # The same were, and what else was forbidden with them still is.
        ({"x": 1}, [{"x": 1, "y": 2}], ({}, [{"y": 2}])),
        # A name that was never bound stands for any value.
        ({}, [{"x": 1, "y": 2}], ({}, [{"y": 2}])),
        ({"y": 2}, [{"x": 1, "y": 2}], None),
        ({}, [{"x": 1}], None),
        # One of several names with another value is enough.
        ({"x": 1, "z": 2}, [{"x": 1, "z": 3, "y": 2}], ({}, [])),
        # What has nothing to do with the name stays.
        ({"x": 1}, [{"y": 2}], ({}, [{"y": 2}])),
    ],
)
def test_a_name_that_is_forgotten_settles_what_was_forbidden_of_it(
    bound: dict[str, int],
    vetoes: list[dict[str, int]],
    after: tuple[dict[str, int], list[dict[str, int]]] | None,
) -> None:
    def env(bound: dict[str, int], vetoes: list[dict[str, int]]) -> Env:
        return Env(tuple(bound.items()), tuple(tuple(veto.items()) for veto in vetoes))

    expected = None if after is None else env(*after)
    assert env(bound, vetoes).forgetting(frozenset({"x", "z"})) == expected
