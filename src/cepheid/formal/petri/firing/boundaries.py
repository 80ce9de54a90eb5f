"""The net of a program between its input events: the tokens that lie there when so many of them are done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.errors import RunError, error
from cepheid.formal.petri.firing.simulation import Simulation
from cepheid.formal.petri.nets.multiset import Colour
from cepheid.formal.petri.nets.net import Marking
from cepheid.formal.petri.translate import RUNAWAY, translate
from cepheid.program.resolved import ResolvedProgram

MOST_EVENTS = 10_000  # a net fires some thousand times a second
_TAKES = "incr_seqn_"  # transitions that take the next event of the input
_PASSES = "tick"


class EventBoundaries:
    """A net that is fired up to the end of an input event, of those that any statement takes.

    Forward it goes on from where it stands; back it begins anew.
    """

    def __init__(
        self, program: ResolvedProgram, events: Sequence[Event], start: Instant, end: Instant
    ) -> None:
        if len(events) > MOST_EVENTS:
            fact = f"these are {len(events):,} events, and nets are fired over {MOST_EVENTS:,}"
            raise RunError(error("too-large", fact, hint="choose a smaller file of events"))
        self.translation = translate(program)
        inputs = dict(self.translation.inputs)
        self._takes = [event.type in inputs for event in events]
        marking = self.translation.marking(events, start, end)
        self.simulation = Simulation(self.translation.net, marking)
        self._counter = [place.name for place in self.translation.net.places].index("in_seqn")

    def after(self, events: int) -> Marking:
        """When so many events of the input are done, with all that they bring on, and no time has passed."""
        wanted = sum(self._takes[:events])
        if self._done > wanted:
            self.simulation.reset()
        self._fire_until(wanted)
        return self.simulation.marking

    @property
    def _done(self) -> int:
        (done,) = self.simulation.bags[self._counter].tokens
        assert isinstance(done, int)
        return done

    def _fire_until(self, wanted: int) -> None:
        simulation, fired, done = self.simulation, 0, self._done
        while (entry := simulation.next()) is not None:
            name = entry[3].transition.name
            if name.startswith(_TAKES) or name == _PASSES:
                done = self._done
                if done == wanted:
                    return
                fired = 0
            if fired > RUNAWAY:
                fact = f"more than {RUNAWAY:,} transitions fired for one event"
                raise RunError(error("runaway", fact, hint="do the statements feed each other?"))
            simulation.apply(entry[3], entry[4])
            fired += 1


@dataclass(frozen=True, slots=True)
class Standing:
    """Tokens of a place that have events: partial matches, windows, what has happened of them."""

    place: str
    tokens: tuple[Colour, ...]


def standing(boundaries: EventBoundaries, marking: Marking) -> Iterator[Standing]:
    """What lies between the input and the results, by place, in the order of the net."""
    translation = boundaries.translation
    others = {"Ev", *dict(translation.inputs).values(), *translation.results}
    for place in translation.net.places:
        if place.name not in others:
            tokens = tuple(token for token in marking[place.name].elements() if _has_event(token))
            if tokens:
                yield Standing(place.name, tokens)


def _has_event(token: object) -> bool:
    return isinstance(token, Event) or (isinstance(token, tuple) and any(map(_has_event, token)))
