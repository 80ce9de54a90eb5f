"""What is known of complex events before they run: how they split, and what they keep."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.analysis.keys import split_of
from cepheid.analysis.retention import retention_of
from cepheid.program.resolved import ResolvedProgram

EVENTS = """
atomicEvent a(p: int, q: int)
atomicEvent b(p: int, q: int)
atomicEvent other(r: int)
"""


def resolved(form: str, context: str = "chronicle") -> ResolvedProgram:
    text = f"{EVENTS}complexEvent c() {{ as {form} context {context} }}"
    return cep.parse(text, language="vepl").resolve()


@pytest.mark.parametrize(
    ("form", "context", "key"),
    [
        ("a(x, _) -> b(x, _)", "chronicle", {"a": "p", "b": "p"}),
        ("a(x, _) -> b(_, x)", "chronicle", {"a": "p", "b": "q"}),
        ("(a(x, y) -> NOT b(x, _))[within 1 second]", "chronicle", {"a": "p", "b": "p"}),
        ("a(x, _) -> b(x, _)", "chronicle global", None),
        ("a(x, _) -> b", "chronicle", None),
        (
            "a(x, _) -> a(_, x)",
            "chronicle",
            None,
        ),  # an event may be the first of one, the last of another
        ("a(x, _) -> NOT b -> a(x, _)", "chronicle", None),
        ("a(x, _) -> b(x, _)", "immediate", None),  # `other` disturbs all
    ],
)
def test_what_splits(form: str, context: str, key: dict[str, str] | None) -> None:
    program = resolved(form, context)
    found = split_of(program.statements[0], program.types).by
    by = None if found is None else {name: path for name, [(path,)] in found.items()}
    assert by == key


@pytest.mark.parametrize(
    ("form", "context", "is_bounded"),
    [
        ("a -> b", "chronicle", False),
        ("(a -> b)[within 1 second]", "chronicle", True),
        ("(a -> b)[holdsFor 1 second]", "chronicle", False),
        ("a -> b", "immediate", False),
        ("a -> b", "strict", True),
        ("a{+} -> b", "strict", False),
        ("a(x, _)", "chronicle", True),
    ],
)
def test_what_is_kept(form: str, context: str, is_bounded: bool) -> None:
    found = retention_of(resolved(form, context).statements[0])
    assert found.is_bounded == is_bounded
    assert set(found.spans.values()) == {None}  # who uses an event depends on all before
