"""The automata of complex events: states, what leads from one to another, and timed zones."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from cepheid.cli.terminal.text_table import Column, TextTable
from cepheid.drawing.automaton_words import Words, all_words
from cepheid.errors import Span
from cepheid.pattern.automaton import Completes, Ends, Happens, Transition
from cepheid.verbs import Program
from cepheid.verbs.pipeline import automata

_LONGEST = 26  # letters of a part of the pattern; JSON and pictures have all of it


def text(program: Program) -> Iterator[RenderableType]:
    shown = _shown(program)
    for place, (name, words) in enumerate(shown.items()):
        yield Text("\n" * bool(place) + name, "bold")
        yield _table(words)
    if not shown:
        yield Text("no statement is a complex event: none has an automaton")


def _table(words: Words) -> TextTable:
    """A row for each transition, by the states that they begin in."""
    columns = ("in state", "event", "binds", "leads to", "zones", "comes from")
    table = TextTable([Column(column) for column in columns])
    for state in words.automaton.states:
        zones = ", ".join(map(words.zone, state.zones))
        for transition in words.automaton.transitions:
            if transition.source == state.number:
                table.add(
                    words.state(state.number),
                    words.event(transition),
                    words.binds(transition),
                    words.state(transition.target),
                    zones,
                    _cut(words.origin(transition)),
                )
    return table


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def draw(program: Program) -> str:
    from cepheid.drawing.automaton import to_svg

    return to_svg(_shown(program))


def _shown(program: Program) -> dict[str, Words]:
    return all_words(automata(program.resolve()), program.text_at)


def data(program: Program) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "automaton": None
            if automaton is None
            else _described(Words(automaton, program.text_at)),
        }
        for name, automaton in automata(program.resolve()).items()
    ]


def _described(words: Words) -> dict[str, object]:
    automaton = words.automaton
    return {
        "states": [
            {
                "number": s.number,
                "kind": s.kind,
                "zones": list(s.zones),
                "watches": list(s.watches),
            }
            for s in automaton.states
        ],
        "transitions": [_transition(words, t) for t in automaton.transitions],
        "zones": [
            {
                "kind": z.kind,
                "period": str(z.period),
                "states": list(z.states),
                "written": _written(words, z.span),
            }
            for z in automaton.zones
        ],
        "watches": [
            {
                "automaton": _described(Words(w.automaton, words.text_at)),
                "written": _written(words, w.span),
            }
            for w in automaton.watches
        ],
    }


def _transition(words: Words, transition: Transition) -> dict[str, object]:
    """What it is about comes first; what it does to a token only where it does something."""
    call = words.call(transition)
    found: dict[str, object] = {"from": transition.source, "to": transition.target}
    match transition.trigger:
        case Happens(taken):
            found["event"] = taken.atom.event_type
        case Ends(zone):
            found["end of zone"] = zone
        case Completes(watch):
            found["forbidden"] = watch
    effects = {
        "binds": {} if call is None else dict(call.parameters),
        "enters": list(transition.enters),
        "leaves": list(transition.leaves),
        "sees": list(transition.sees),
        "keeps": list(transition.keeps),
        "forgets": sorted(transition.forgets),
    }
    found |= {name: value for name, value in effects.items() if value}
    return {**found, "written": _written(words, transition.span)}


def _written(words: Words, span: Span | None) -> dict[str, object] | None:
    """The part of the pattern that it comes from."""
    if span is None:
        return None
    place = {"file": span.file, "line": span.line, "column": span.column}
    return {**place, "text": words.text_at(span)}
