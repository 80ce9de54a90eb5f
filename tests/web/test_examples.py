"""The examples 3.1 and 3.2 of the paper, on sites of our own."""

from __future__ import annotations

import pytest

import cepheid as cep
from tests.web.conftest import QUICK
from tests.web.local_sites import LocalSite, airport, messages

pytestmark = pytest.mark.long
ARRIVALS = """\
//a#panel0/{click /}//form#qbaForm/descendant::field()[1]/{$airport}
/following::field()[2]//option/{select}/following::field()[1]/{click /}
/(/descendant::a[string(.) = 'Next >'][1]/{click /})*
//table#flifo//tr[position() > 1]/self():<FlightArrival>
  [./td[1]:<fromLoc=string(.)>]
  [./td[2]:<flightNo=string(.)>]
  [./td[3]/div:<flightDay=string(.)>]
  [./td[3]:<occ=toUnixTime(concat(text(), ' ', div), 'hh:mm a MMM d yyyy', 'Europe/London')>]
"""
POST = """\
//input#username/{"user@example.com"}
/following::input#password/{"passme"}
/following::a[@title="Tweet"]/{click /}
//textarea.tweetbox/{$p1}
/following::input[@value="Tweet"]/{click /}
//p.receipt:<Receipt>[b:<number=number(.)>]
"""


def test_flights_of_all_times_and_pages_become_records(
    site: LocalSite, browser: cep.web.Browser
) -> None:
    found = cep.web.extract(
        cep.web.parse(ARRIVALS),
        airport(site),
        variables={"airport": "LHR"},
        browser=browser,
        settings=QUICK,
    )
    assert [(each["flightNo"], each["fromLoc"], each["occ"]) for each in found.records] == [
        ("BA 112", "New York (JFK)", 1369112400),
        ("UA 918", "Washington (IAD)", 1369112520),
        ("VS 22", "Washington (IAD)", 1369112580),
        ("VS 96", "Vancouver (YVR)", 1369134120),
        ("BA 286", "San Francisco (SFO)", 1369134420),
    ]
    assert {each["@type"] for each in found.records} == {"FlightArrival"}
    assert not found.problems


def test_a_message_is_posted_once_and_its_receipt_is_read(
    site: LocalSite, browser: cep.web.Browser
) -> None:
    posted: list[str] = []
    found = cep.web.act(
        cep.web.parse(POST),
        messages(site, posted),
        variables={"p1": "landed"},
        browser=browser,
        settings=QUICK,
    )
    assert posted == ["landed"]
    assert found.records == [{"@type": "Receipt", "number": 1}]
