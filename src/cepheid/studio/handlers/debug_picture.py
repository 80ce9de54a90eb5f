"""`debug-picture`: where partial matches stand, as tokens on automata or in the folded net."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cepheid.debugging.tokens import tokens_of
from cepheid.drawing.automaton import to_svg
from cepheid.drawing.automaton_words import all_words
from cepheid.errors import UsageError, error
from cepheid.formal.petri.export.overview import overview
from cepheid.formal.petri.export.units import unit_of_places
from cepheid.formal.petri.firing.boundaries import EventBoundaries, Standing
from cepheid.formal.petri.firing.boundaries import standing as standing_in
from cepheid.formal.petri.firing.stepping import show
from cepheid.studio.pictures import picture_of
from cepheid.studio.room import Given, Room, Verb
from cepheid.studio.sessions import Session, session_of
from cepheid.verbs.pipeline import automata

_SHOWN = 20  # tokens of a place
_LONGEST = 300  # characters of one


def debug_picture(room: Room, given: Given) -> object:
    """`on` says on what: `automaton` or `net`; each with a list of who stands where."""
    session, on = session_of(room, given), given.text("on")
    if on == "automaton":
        return _on_automata(session)
    if on == "net":
        return _in_net(session)
    raise UsageError(error("usage", f"nothing to draw is called '{on[:40]}'"))


def _on_automata(session: Session) -> object:
    program, position = session.program, session.debugger.position
    words = all_words(automata(program.resolve()), program.text_at)
    if not words:
        fact = "no statement is a complex event: none has an automaton"
        raise UsageError(error("usage", fact, hint="patterns of EPL show where they stand"))
    walker = session.on_automata()
    walker.go(position.events, position.step)
    tokens = tokens_of(walker.inspect())
    standing: list[dict[str, object]] = [
        {"where": f"{name}, state {words[name].state(state)}", "count": count, "tokens": []}
        for name, states in tokens.items()
        for state, count in sorted(states.items())
    ]
    picture = picture_of(to_svg(words, tokens))
    return {"picture": picture, "at": None, "standing": standing}


def _in_net(session: Session) -> object:
    """Nets have no places within an event: the one that is being taken is not done."""
    net, events = session.net(), session.debugger.position.events
    marking = net.after(events)
    found = list(standing_in(net, marking))
    drawn = overview(net.translation.net, _by_unit(net, found))
    return {
        "picture": picture_of(drawn.svg()),
        "at": events,
        "standing": [
            {
                "where": each.place,
                "count": len(each.tokens),
                "tokens": list(_texts(each)),
            }
            for each in found
        ],
    }


def _by_unit(net: EventBoundaries, found: list[Standing]) -> Counter[str]:
    owners, counts = unit_of_places(net.translation.net), Counter[str]()
    for each in found:
        counts[owners[each.place]] += len(each.tokens)
    return counts


def _texts(found: Standing) -> Iterator[str]:
    for token in found.tokens[:_SHOWN]:
        text = show(token)
        yield text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


DEBUG_PICTURE = Verb("debug-picture", debug_picture, "debug")
