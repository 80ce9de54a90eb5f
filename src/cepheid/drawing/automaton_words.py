"""What the parts of an automaton are called, in tables and in pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.errors import Span
from cepheid.pattern.algebra import Taken
from cepheid.pattern.automaton import Automaton, Completes, Ends, Happens, Transition, Watch

TextAt: TypeAlias = Callable[[Span | None], str]


@dataclass(frozen=True, slots=True)
class Words:
    automaton: Automaton
    text_at: TextAt  # what is written at a place; nothing if it is unknown

    def state(self, number: int) -> str:
        kind = self.automaton.states[number].kind
        return str(number) if kind == "normal" else kind

    def event(self, transition: Transition) -> str:
        match transition.trigger:
            case Happens(call):
                return call.atom.event_type
            case Ends(zone):
                return f"after {self.automaton.zones[zone].period}"
            case Completes(watch):
                return f"not: {self.watch(self.automaton.watches[watch])}"

    def watch(self, watch: Watch) -> str:
        """An event by its type, everything else as it is written."""
        if watch.call is not None:
            return watch.call.atom.event_type
        text = self.text_at(watch.span).removeprefix("NOT").strip()
        return text or f"what is forbidden ({watch.number + 1})"

    def call(self, transition: Transition) -> Taken | None:
        """The event that it is about, if it is one."""
        match transition.trigger:
            case Happens(call):
                return call
            case Completes(watch):
                return self.automaton.watches[watch].call
        return None

    def binds(self, transition: Transition) -> str:
        call = self.call(transition)
        pairs = () if call is None else call.parameters
        return ", ".join(f"{name} = {attribute}" for name, attribute in pairs)

    def zone(self, number: int) -> str:
        zone = self.automaton.zones[number]
        return f"{zone.kind} {zone.period}"

    def origin(self, transition: Transition) -> str:
        """The part of the pattern that it comes from, with its place."""
        span, text = transition.span, self.text_at(transition.span)
        return f"{span.line}:{span.column} {text}" if span is not None and text else ""


def all_words(automata: Mapping[str, Automaton | None], text_at: TextAt) -> dict[str, Words]:
    """Of all automata by their names, each before those of what it forbids, but for single events."""
    found: dict[str, Words] = {}
    for name, automaton in automata.items():
        if automaton is not None:
            found |= {name: Words(automaton, text_at), **dict(_forbidden(name, automaton, text_at))}
    return found


def _forbidden(name: str, automaton: Automaton, text_at: TextAt) -> Iterator[tuple[str, Words]]:
    words = Words(automaton, text_at)
    for watch in automaton.watches:
        if watch.call is None:
            title = f"{name}, not: {words.watch(watch)}"
            yield title, Words(watch.automaton, text_at)
            yield from _forbidden(title, watch.automaton, text_at)
