"""What `cepheid explain` can show of a program, a file for each stage.

Every stage has `text`, for people, and `data`, for `--json`; some can be drawn, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType

from cepheid.cli.stages import (
    automaton,
    declarations,
    graph,
    lifespans,
    matcher,
    memory,
    normal,
    overview,
    plan,
    statements,
    types,
)
from cepheid.verbs import Program


@dataclass(frozen=True, slots=True)
class Stage:
    text: Callable[[Program], Iterable[RenderableType]]
    data: Callable[[Program], Any]
    draw: Callable[[Program], str] | None = None  # as SVG


OVERVIEW = Stage(overview.text, overview.data)
STAGES = {
    "parse": Stage(declarations.text, declarations.data),
    "program": Stage(statements.text, statements.data),
    "types": Stage(types.text, types.data),
    "graph": Stage(graph.text, graph.data, graph.draw),
    "normal": Stage(normal.text, normal.data),
    "automaton": Stage(automaton.text, automaton.data, automaton.draw),
    "plan": Stage(plan.text, plan.data),
    "lifespans": Stage(lifespans.text, lifespans.data),
    "matcher": Stage(matcher.text, matcher.data),
    "memory": Stage(memory.text, memory.data),
}
