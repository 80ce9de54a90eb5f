"""Times that pages write, addresses that may be visited, and how often."""

from __future__ import annotations

import pytest

from cepheid.errors import RunError
from cepheid.web.gate import is_public
from cepheid.web.manners import Manners
from cepheid.web.notation import FUNCTIONS
from cepheid.web.site import address_of, refuse_foreign_file
from cepheid.web.times import LETTERS, seconds_of
from cepheid.web.tree import ActionKind
from tests.docs.pages import ROOT

TIMES = {
    ("2013-05-21T05:00:00Z", None, None): 1369112400,
    ("2013-05-21T06:00", None, "Europe/London"): 1369112400,
    ("21.05.2013 06:00", "dd.MM.yyyy HH:mm", "Europe/London"): 1369112400,
    ("Tue, May 21 2013 6:00 AM", "EEE, MMM d yyyy h:mm a", "Europe/London"): 1369112400,
    ("21 may 13 12:30 p.m.", "d MMMM yy h:mm a", None): 1369139400,
    ("12 AM 1/2/2020", "h a d/M/yyyy", None): 1580515200,
    ("6 o'clock 1/2/2020", "H 'o''clock' d/M/yyyy", None): None,
    ("31.02.2020", "dd.MM.yyyy", None): None,
    ("soon", None, None): None,
    ("13 PM 1/2/2020", "h a d/M/yyyy", None): None,
}


@pytest.mark.parametrize(("given", "seconds"), TIMES.items())
def test_a_time_is_read_by_its_format(
    given: tuple[str, str | None, str | None], seconds: float | None
) -> None:
    assert seconds_of(*given) == seconds


@pytest.mark.parametrize(
    ("format", "fact"),
    [("yyyy-MM", "has no day"), ("QQ", "no field"), ("d d M yyyy", "twice"), ("d M", "no year")],
)
def test_a_format_that_makes_no_time_is_refused(format: str, fact: str) -> None:
    with pytest.raises(ValueError, match=fact):
        seconds_of("1", format)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("::1", False),
        ("::ffff:127.0.0.1", False),
        ("fe80::1%eth0", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
    ],
)
def test_an_address_is_public_or_not(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_files_lead_to_files_beside_them_only() -> None:
    refuse_foreign_file("file:///home/me/a/c/d.html", "file:///home/me/a/b.html")
    for target in ("file:///etc/passwd", "file:///home/me/a/../x.html", "javascript:1"):
        with pytest.raises(RunError, match="a page leads to"):
            refuse_foreign_file(target, "file:///home/me/a/b.html")
    with pytest.raises(RunError, match="a page leads to"):
        refuse_foreign_file("file:///home/me/a/b.html", "http://www.example.org/")
    assert address_of("a b.html").startswith("file:///")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self.rests: list[float] = []

    def rest(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds


def manners(clock: Clock, robots: str, status: int = 200) -> Manners:
    return Manners(lambda _: (status, robots), 2.0, clock=lambda: clock.now, rest=clock.rest)


def test_pages_of_one_host_are_visited_one_after_the_other() -> None:
    clock = Clock()
    visits = manners(clock, "User-agent: cepheid\nCrawl-delay: 5\n")
    for address in ("http://a/1", "http://b/1", "http://a/2", "file:///x"):
        visits.before(address)
        clock.now += 1
    visits.before("http://a/3")
    assert clock.rests == [3.0, 3.0]


def test_robots_that_cannot_be_read_forbid_and_those_that_are_missing_do_not() -> None:
    manners(Clock(), "User-agent: *\nDisallow: /", 404).before("http://a/")
    for robots, status in (("", 503), ("User-agent: *\nDisallow: /", 200)):
        with pytest.raises(RunError, match="robots"):
            manners(Clock(), robots, status).before("http://a/")


def test_the_page_of_the_docs_lists_all_letters_functions_and_actions() -> None:
    page = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
    for letters, (_, says) in LETTERS.items():
        assert f"| `{letters}` | {says} |" in page
    for name, function in FUNCTIONS.items():
        assert not function.says or (f"`{name}(text" in page and function.says in page)
    for kind in set(ActionKind) - {ActionKind.FILL}:
        assert f"`{{{kind}" in page
