"""Nets between input events: what lies there is what the debugger shows at the same places."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

import cepheid as cep
from cepheid.errors import RunError
from cepheid.formal.petri.export.overview import overview
from cepheid.formal.petri.export.units import unit_of_places, units_of
from cepheid.formal.petri.firing.boundaries import EventBoundaries, standing

PROGRAM = """
create schema A (k string);
create schema B (k string);
create schema Unread (k string);
@Name('Pair') insert into Pair
select a.k as k from pattern [every a=A -> b=B(k = a.k) where timer:within(3 sec)];
@Name('Last') select last(k) as k from Pair#length(2);
"""
EVENTS = [
    json.loads(line)
    for line in """\
{"@type": "A", "@time": 0, "k": "x"}
{"@type": "Unread", "@time": 1, "k": "x"}
{"@type": "A", "@time": 1, "k": "y"}
{"@type": "B", "@time": 2, "k": "x"}
{"@type": "A", "@time": 9, "k": "z"}
""".splitlines()
]


def opened() -> tuple[EventBoundaries, cep.Debugger]:
    debugger = cep.debug(cep.parse(PROGRAM), *EVENTS)
    assert debugger.span == (0, 9_000_000)
    return EventBoundaries(debugger.program, debugger.events, *debugger.span), debugger


@pytest.mark.parametrize("order", [range(6), [5, 0, 3, 1, 4, 2]], ids=["on", "anywhere"])
def test_partial_matches_lie_in_the_net_wherever_one_goes(order: list[int]) -> None:
    net, debugger = opened()
    for events in order:
        debugger.go(events)
        found = {each.place: len(each.tokens) for each in standing(net, net.after(events))}
        assert found.get("Pair.Ev_a", 0) == len(debugger.inspect().partial()), events
        rows = net.translation.rows(net.simulation.marking)
        assert len(rows) == len(debugger.rows)


def test_time_does_not_pass_behind_the_last_event_that_is_done() -> None:
    net, _ = opened()
    assert list(net.after(4)["time"]) == [2_000_000]
    assert list(net.after(1)["time"]) == [0]


def test_without_events_a_net_stands_at_its_beginning() -> None:
    debugger = cep.debug(cep.parse(PROGRAM))
    assert debugger.span is None
    net = EventBoundaries(debugger.program, [], 0, 0)
    assert list(standing(net, net.after(0))) == []


def test_too_many_events_are_refused() -> None:
    debugger = cep.debug(cep.parse(PROGRAM), *EVENTS)
    [event, *_] = debugger.events
    with pytest.raises(RunError, match="10,001 events, and nets are fired over 10,000"):
        EventBoundaries(debugger.program, [event] * 10_001, 0, 0)


def test_every_place_belongs_to_a_unit_and_tokens_are_drawn_on_it() -> None:
    net, _ = opened()
    drawn_net = net.translation.net
    owners = unit_of_places(drawn_net)
    assert {*owners} == {place.name for place in drawn_net.places}
    assert {*owners.values()} <= {unit.name for unit in units_of(drawn_net)}
    plain = overview(drawn_net).svg()
    assert "badge" not in plain
    found = overview(drawn_net, {owners["Pair.Ev_a"]: 7, "Nothing": 3}).svg()
    [title] = [
        part.findtext("{*}title")
        for part in ElementTree.fromstring(found).iter()
        if part.get("class") == "badge"
    ]
    assert title == "Pair: 7 tokens"
