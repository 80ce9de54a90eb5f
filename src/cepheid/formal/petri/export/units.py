"""The parts of a net that a picture folds: the input, statements, and the operators of their patterns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepheid.formal.petri.firing.simulation import Simulation
from cepheid.formal.petri.nets.net import Marking, Net, Transition
from cepheid.formal.petri.nets.terms import Const, Product

INPUT = "input and time"
_EVENTS = "Ev"  # the place of the event that is being taken


@dataclass(frozen=True, slots=True)
class Unit:
    """Transitions that belong together, such as those of one operator of a pattern."""

    name: str
    transitions: tuple[Transition, ...]

    @property
    def statement(self) -> str:
        return self.name.partition(".")[0]

    @property
    def taken(self) -> set[str]:
        return {arc.place for t in self.transitions for arc in t.inputs}

    @property
    def given(self) -> set[str]:
        return {arc.place for t in self.transitions for arc in t.outputs}

    @property
    def places(self) -> set[str]:
        return self.taken | self.given

    @property
    def events(self) -> list[str]:
        """The types of events that it waits for."""
        return sorted({type for t in self.transitions for type in _types_of(t)})


def units_of(net: Net) -> list[Unit]:
    """The shared part first, then the statements, each with the parts of its pattern after it."""
    groups: dict[str, list[Transition]] = {INPUT: []}
    for transition in net.transitions:
        groups.setdefault(_owner(transition.name), []).append(transition)
    for name in [name for name in groups if ".control_" in name]:
        _give_to(groups, name)
    ordered = sorted(groups, key=lambda name: list(groups).index(_statement(name, groups)))
    return [Unit(name, tuple(groups[name])) for name in ordered if groups[name]]


def _owner(name: str) -> str:
    """What a transition belongs to: a statement, or a part of its pattern; or nothing, to all."""
    if name.startswith("pattern_"):
        return name.removeprefix("pattern_").split(" ")[0]
    statement, *part = name.split(".")[:-1] or [INPUT]
    return ".".join((statement, *part[:1]))


def _give_to(groups: dict[str, list[Transition]], name: str) -> None:
    """What takes an event to a partial match belongs to the place where that one waits."""
    statement, _, tag = name.partition(".control_")
    step = f"{statement}.next_{tag}"
    own = [t for t in groups.get(statement, ()) if t.name.split(" ")[0] == step]
    groups[name] += own
    if own:
        groups[statement] = [t for t in groups[statement] if t not in own]


def _statement(name: str, groups: Mapping[str, object]) -> str:
    statement = name.partition(".")[0]
    return statement if statement in groups else name


def _types_of(transition: Transition) -> Iterator[str]:
    for arc in transition.inputs:
        if arc.place == _EVENTS and isinstance(arc.term, Product) and len(arc.term.parts) > 1:
            type = arc.term.parts[1]
            if isinstance(type, Const) and isinstance(type.value, str):
                yield type.value


def shared_by(units: Sequence[Unit]) -> dict[str, list[Unit]]:
    """The places that several units touch, with these."""
    touching: dict[str, list[Unit]] = {}
    for unit in units:
        for place in sorted(unit.places):
            touching.setdefault(place, []).append(unit)
    return {place: found for place, found in touching.items() if len(found) > 1}


def unit_of_places(net: Net) -> dict[str, str]:
    """Whose a place is: that of the unit which takes from it, else of the one that gives to it."""
    units = units_of(net)
    owners = {place: unit.name for unit in reversed(units) for place in sorted(unit.given)}
    # Tokens lie where they wait for something: the innermost operator that takes them comes last.
    return owners | {place: unit.name for unit in units for place in sorted(unit.taken)}


def part_of(net: Net, transitions: Collection[Transition]) -> Net:
    """Some transitions, and the places that they touch."""
    touched = {arc.place for t in transitions for arc in (*t.inputs, *t.outputs)}
    return Net(tuple(p for p in net.places if p.name in touched), tuple(transitions))


def touched_part(net: Net, marking: Marking) -> Net:
    """What a run from a marking fires, and the places that it touches."""
    simulation = Simulation(net, marking)
    simulation.run()
    fired = {rule.transition.name for rule in simulation.fired_rules}
    return part_of(net, [t for t in net.transitions if t.name in fired])
