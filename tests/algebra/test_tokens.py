"""Tokens that walk over automata."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.semantics import residuals
from cepheid.semantics.bindings import Env
from tests.algebra.forms import SCHEMAS

TEXT = f"""{SCHEMAS}
complexEvent found(x: int) {{
    as (a(x, _) -> NOT (b(x, _) -> c(x, _)) -> (a(x, _) AND b(x, _)){{2}})[within 9 seconds]
}}
complexEvent silent(x: int) {{ as (a(x, _) -> NOT b(x, _))[within 2 seconds] }}
"""
EVENTS = [{"@type": t, "@time": n, "p": 1, "q": 1} for n, t in enumerate("aababaccd")]


def test_tokens_ask_no_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """What leads a token on stands in its automaton, and nowhere else."""
    program = cep.parse(TEXT, language="vepl")
    expected = list(cep.run(program, EVENTS, engine="reference"))
    assert {row.type for row in expected} == {"found", "silent"}

    def asked(*_: object) -> None:
        raise AssertionError("an operator was asked")

    for kind in [residuals.Rest, *residuals.Rest.__subclasses__()]:
        for question in ("take", "miss", "wake"):
            monkeypatch.setattr(kind, question, asked)
    assert list(cep.run(program, EVENTS, engine="automaton")) == expected
    with pytest.raises(AssertionError, match="an operator was asked"):
        cep.run(program, EVENTS, engine="reference")


def test_a_state_of_one_engine_is_refused_by_the_other() -> None:
    program = cep.parse(TEXT, language="vepl")
    session = cep.open(program, engine="automaton")
    session.send("a", {"p": 1, "q": 1}, time=0)
    with pytest.raises(cep.RunError, match="format"):
        cep.open(program, engine="reference", state=session.save())


def test_statements_in_other_languages_run_beside_tokens() -> None:
    vepl = cep.parse(TEXT, language="vepl")
    epl = cep.parse("@Name('Twice') select a.x as x from pattern [every a=silent -> b=silent];")
    program = cep.Program(vepl.tree + epl.tree)
    rows = [list(cep.run(program, EVENTS, engine=name)) for name in ("reference", "automaton")]
    assert "Twice" in {row.type for row in rows[0]}
    assert rows[0] == rows[1]


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
    assert env(bound, vetoes).forgetting(frozenset({"x"})) == expected
