"""The automata of complex events: states, what leads from one to another, and timed zones."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from cepheid.cli.terminal.text_table import Column, TextTable
from cepheid.semantics.automaton import Automaton, State, Transition
from cepheid.verbs import Program
from cepheid.verbs.pipeline import automata


def text(program: Program) -> Iterator[RenderableType]:
    found = automata(program.resolve())
    shown = [(name, automaton) for name, automaton in found.items() if automaton is not None]
    for place, (name, automaton) in enumerate(shown):
        yield Text("\n" * bool(place) + name, "bold")
        yield _table(automaton)
    if not shown:
        yield Text("no statement is a complex event: none has an automaton")


def _table(automaton: Automaton) -> TextTable:
    """A row for each transition, by the states that they begin in."""
    names = {state.number: _name(state) for state in automaton.states}
    columns = ("in state", "event", "binds", "leads to", "zones")
    table = TextTable([Column(column) for column in columns])
    for state in automaton.states:
        zones = ", ".join(_zone(automaton, number) for number in state.zones)
        for transition in automaton.transitions:
            if transition.source == state.number:
                bound = ", ".join(f"{name} = {attr}" for name, attr in transition.parameters)
                target = names[transition.target]
                table.add(names[state.number], _event(transition), bound, target, zones)
    return table


def _name(state: State) -> str:
    return str(state.number) if state.kind == "normal" else state.kind


def _event(transition: Transition) -> str:
    if transition.event_type is None:
        return "the end of its zone"
    return f"not: {transition.event_type}" if transition.is_negative else transition.event_type


def _zone(automaton: Automaton, number: int) -> str:
    zone = automaton.zones[number]
    return f"{zone.kind} {zone.period}"


def data(program: Program) -> list[dict[str, object]]:
    return [
        {"name": name, "automaton": None if automaton is None else _described(automaton)}
        for name, automaton in automata(program.resolve()).items()
    ]


def _described(automaton: Automaton) -> dict[str, object]:
    return {
        "states": [
            {"number": s.number, "kind": s.kind, "zones": list(s.zones), "held": s.is_held}
            for s in automaton.states
        ],
        "transitions": [
            {
                "from": t.source,
                "to": t.target,
                "event": t.event_type,
                "binds": dict(t.parameters),
                "forbidden": t.is_negative,
            }
            for t in automaton.transitions
        ],
        "zones": [
            {"kind": z.kind, "period": str(z.period), "states": list(z.states)}
            for z in automaton.zones
        ],
    }
