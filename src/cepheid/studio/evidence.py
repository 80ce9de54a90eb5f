"""What simulations, properties and searches have in common: TOML of the page, and events that it is to play."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cepheid.errors import RunError, UsageError, error
from cepheid.io.toml import parse_toml
from cepheid.studio.room import Given, Room

if TYPE_CHECKING:
    from cepheid.simulation.simulate import Simulation

_MOST = 2  # simulations that are kept: the last one, and the one before for other pages
# Bytes of events that a page is given, and sends back to run them, in quotes: a message has room for that.
_LARGEST = 3 * 2**20
_SIMULATIONS = "simulations"


def toml_of(given: Given, name: str, code: str) -> dict[str, object]:
    """A scenario or an environment as it is in the page, saved or not; InputError where it is no TOML."""
    part = given.part(name)
    return parse_toml(part.text("text"), part.text("file"), code)


def playable(lines: Sequence[str], hint: str) -> Sequence[str]:
    """Events as lines of a file; RunError where they are too many for a page."""
    size = sum(len(line.encode(errors="replace")) for line in lines)
    if size > _LARGEST:
        fact = f"{len(lines):,} events are too many to be opened here ({size / 2**20:.0f} MB)"
        raise RunError(error("too-large", fact, hint=hint))
    return lines


def keep_simulation(room: Room, simulation: Simulation) -> int:
    """Its number, by which single runs of it are asked for."""
    kept = _simulations(room)
    number = 1 + max(kept, default=0)
    kept[number] = simulation
    for old in sorted(kept)[:-_MOST]:
        del kept[old]
    return number


def simulation_of(room: Room, given: Given) -> Simulation:
    """UsageError where it is gone."""
    found = _simulations(room).get(given.whole("simulation"))
    if found is None:
        fact = "the studio has let go of this simulation"
        raise UsageError(error("usage", fact, hint="simulate again"))
    return found


def _simulations(room: Room) -> dict[int, Simulation]:
    return room.kept.setdefault(_SIMULATIONS, {})  # type: ignore[return-value]
