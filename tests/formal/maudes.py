"""One Maude for many cases, and what it must agree with."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import pytest

from cepheid.core.event import Event
from cepheid.formal.maude.engine import run_in
from cepheid.formal.maude.process import Maude
from cepheid.formal.maude.specify import specify
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.machine import Machine
from tests.semantics.drive import Shown, show

if find_spec("maude") is None:
    pytest.skip("needs cepheid[maude]", allow_module_level=True)


def reference(
    program: ResolvedProgram, events: Sequence[Event], start: int, end: int
) -> list[Event]:
    machine = Machine(program)
    machine.start(start)
    rows = [row for event in events for row in machine.take(event)]
    return rows + machine.advance(end)


def shown(rows: Sequence[Event]) -> list[Shown]:
    """Rows as data; Maude keeps no causes, and has only one zero."""
    return [
        s._replace(causes=(), values=tuple((n, _one_zero(v)) for n, v in s.values))
        for s in map(show, rows)
    ]


def _one_zero(text: str) -> str:
    return "0.0" if text == "-0.0" else text


def agree(
    maude: Maude, program: ResolvedProgram, events: Sequence[Event], start: int, end: int
) -> list[Event]:
    """Checks that Maude gives the rows of the reference, and gives them."""
    found = run_in(maude, specify(program), events, start, end)
    assert shown(found) == shown(reference(program, events, start, end))
    return found
