"""Reports: one page that tells all it should, and whatever stands in names and values stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.core.words import visible
from cepheid.io.causes import causes_of
from cepheid.reports import Limits, report
from cepheid.reports.scale import Scale
from cepheid.reports.timeline import ZOOMS, _apart, _times

EXAMPLES = Path(__file__).parents[2] / "examples"
MOTORBIKE = (EXAMPLES / "motorbike" / "motorbike.epl", EXAMPLES / "motorbike" / "events.jsonl")
PROGRAM = """
create schema A (id string, x int);
@Name('Pair') insert into Pair select a.id as id, b.id as other
from pattern [every a=A(x = 1) -> b=A(x = 2)];
@Name('Twice') insert into Twice select p.id as id from pattern [every p=Pair];
"""
EVENTS = [{"@type": "A", "@time": n, "id": f"e{n}", "x": 1 + n % 2} for n in range(6)]


class Page(HTMLParser):
    """A page as a browser takes it: tags with their attributes, and the texts in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), (tag, attrs)
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def all(self, name: str) -> Iterator[str]:
        """The values of an attribute, in the order of the page."""
        return (value for _, attributes in self.tags if (value := attributes.get(name)))

    def count(self, tag: str, kind: str | None = None) -> int:
        return sum(t == tag and kind in (None, a.get("class")) for t, a in self.tags)


def page_of(program: str = PROGRAM, events: Any = EVENTS, **options: Any) -> Page:
    return Page(report(cep.parse(program, file="p.epl"), events, **options))


@cache
def motorbike() -> Page:
    program, events = MOTORBIKE
    return Page(report(cep.load(program), events))


def test_a_report_tells_what_came_in_and_what_was_found() -> None:
    page = motorbike()
    assert "680 events from events.jsonl gave 125 matches." in page.text
    for part in ("Motorbike680", "Crash104", "AccidentsReport1", "warning[race]", "@EventTime"):
        assert part in page.text
    assert str(EXAMPLES) not in page.text


def test_a_page_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    page = motorbike()
    assert not {"script", "link", "iframe", "object", "img", "base", "form"} & {
        t for t, _ in page.tags
    }
    assert all(href.startswith("#") for href in page.all("href"))
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert not [name for name in ("src", "srcset", "action") if list(page.all(name))]
    css = (files("cepheid.reports") / "page.css").read_text()
    assert not re.search(r"url\(|@import|https?:", css)
    (policy,) = (a["content"] for t, a in page.tags if a.get("http-equiv"))
    assert policy
    assert policy.startswith("default-src 'none';")


def test_every_link_leads_somewhere_and_every_name_is_there_once() -> None:
    page = motorbike()
    ids = list(page.all("id"))
    assert len(set(ids)) == len(ids)
    assert {href.removeprefix("#") for href in page.all("href")} <= set(ids)
    assert {name for names in page.all("aria-labelledby") for name in names.split()} <= set(ids)
    assert set(page.all("for")) <= set(ids)


def test_what_scrolls_can_be_reached_by_keyboard_and_has_a_name() -> None:
    for tag, attributes in motorbike().tags:
        if "scroll" in (attributes.get("class") or "").split() or (
            tag == "pre" and len(attributes)
        ):
            assert attributes.get("tabindex") == "0", attributes
            assert attributes.get("aria-label"), attributes


def test_each_match_has_its_row_its_dot_and_lines_to_what_is_behind_it() -> None:
    page = page_of()
    # Of six events, three begin a pair and the next one ends it; each pair is told twice.
    result = cep.run(cep.parse(PROGRAM), EVENTS, why=True)
    assert result.counts() == {"Pair": 3, "Twice": 3}
    rows = [identity for identity in page.all("id") if identity.startswith("row-")]
    dots = [identity for identity in page.all("id") if identity.startswith("dot-")]
    assert len(rows) == len(dots) == 6
    assert page.count("line", "behind") == sum(len(row.causes) for row in result) == 9
    assert page.count("circle", "match") == 6
    behind = sum(1 for row in result for _ in causes_of(row))
    listed = len(re.findall(r"<li><b>[AP]", report(cep.parse(PROGRAM, file="p.epl"), EVENTS)))
    assert listed == behind
    places = [page.text.index(f"matches of {name}") for name in ("Twice", "Pair")]
    assert places == sorted(places)


def test_what_is_left_out_is_said() -> None:
    page = page_of(limits=Limits(per_type=2, causes=1, lanes=2, ticks=1, characters=4))
    assert page.text.count("Listed: the first 2 of 3.") == 2
    assert page.text.count("Listed: the first 1.") == 4
    assert "1 more type had no room here." in page.text
    assert "for the 4 that are listed below" in page.text
    assert page.count("rect", "bar") > 1
    assert len([i for i in page.all("id") if i.startswith("row-")]) == 4
    long = page_of(events=[{"@type": "A", "@time": 1, "id": "x" * 500, "x": 1}, *EVENTS])
    assert f"{'x' * 200} … (500 characters)" in long.text
    assert "x" * 201 not in long.text


def test_of_a_tree_that_has_just_room_nothing_is_left_out() -> None:
    assert page_of(limits=Limits(causes=3)).text.count("Listed: the first") == 0
    assert page_of(limits=Limits(causes=2)).text.count("Listed: the first 2.") == 3


def test_events_of_one_type_and_time_have_one_line() -> None:
    both = "select a.id as id from pattern [every (a=A(x = 1) and b=A(x = 2))]"
    events = [{"@type": "A", "@time": 1, "id": "e", "x": x} for x in (1, 2)]
    page = page_of(f"create schema A (id string, x int); {both};", events)
    assert page.text.count("2 events behind it") == 1
    assert page.count("line", "behind") == 1


def test_types_that_are_made_of_others_have_room_first() -> None:
    page = page_of(limits=Limits(matches=4))
    assert page.text.count("matches of Twice") == 1
    assert "Listed: the first 1 of 3." in page.text


def test_a_run_that_finds_nothing_says_how_far_it_got() -> None:
    page = page_of(events=EVENTS[:1])
    assert "Nothing was found." in page.text
    assert "how often each step was reached" in page.text
    assert "All at 1970-01-01T00:00:00Z." in page.text
    empty = page_of(events=[])
    assert "There were no events." in empty.text


def test_what_could_not_be_read_is_on_the_page() -> None:
    odd = [*EVENTS, {"@type": "A", "@time": 9, "id": "x", "x": "many"}]
    with pytest.raises(cep.InputError):
        page_of(events=odd)
    page = page_of(events=odd, on_error="skip")
    assert "Left out: 1 record that cannot be read." in page.text
    assert "error[bad-value]" in page.text
    moved = page_of(events=EVENTS[::-1])
    assert "5 events came out of order" in moved.text


def test_programs_with_classes_are_refused() -> None:
    program = cep.load(EXAMPLES / "travel" / "travel.bicepl")
    with pytest.raises(cep.UsageError, match="this program has classes"):
        report(program, [])


# Markup stays text ------------------------------------------------------------------------------------

ODD = "</style></title></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&amp;`"
NAMES = f"""
create schema `A{ODD.replace("`", "")}` (`i{ODD.replace("`", "")}` string);
@Name('S{ODD.replace("'", "").replace('"', "")}') insert into `D{ODD.replace("`", "")}`
select a.`i{ODD.replace("`", "")}` as `o{ODD.replace("`", "")}`
from pattern [every a=`A{ODD.replace("`", "")}`]; // {ODD}
"""


def structure(page: Page) -> list[tuple[str, list[str]]]:
    """What a page is made of, whatever its texts say."""
    return [(tag, sorted(attributes)) for tag, attributes in page.tags]


def test_markup_in_every_name_is_text() -> None:
    name = ODD.replace("`", "")
    events = [{"@type": f"A{name}", "@time": 1, f"i{name}": ODD}]
    text = report(cep.parse(NAMES, file=f"f{name}.epl"), events, title=f"t{ODD}")
    page = Page(text)
    assert "script" not in {tag for tag, _ in page.tags}
    assert "img" not in {tag for tag, _ in page.tags}
    for each in (f"A{name}", f"D{name}", f"o{name}", f"t{ODD}", ODD):
        assert each in page.text
    plain = re.sub(re.escape(name), "", NAMES).replace(ODD, "")
    plain_page = Page(
        report(cep.parse(plain, file="f.epl"), [{"@type": "A", "@time": 1, "i": "x"}], title="t")
    )
    body = [part for part in structure(page) if part[0] not in ("span", "pre", "p")]
    assert body == [part for part in structure(plain_page) if part[0] not in ("span", "pre", "p")]


@given(st.text(max_size=30))
def test_any_value_is_text_and_can_be_written(value: str) -> None:
    events = [{"@type": "A", "@time": n, "id": value, "x": n} for n in (1, 2)]
    text = report(cep.parse(PROGRAM, file="p.epl"), events)
    text.encode("utf-8")
    page, plain = Page(text), page_of(events=[{**event, "id": "v"} for event in events])
    assert structure(page) == structure(plain)
    assert visible(value, plain="") in page.text


def test_what_cannot_be_seen_is_an_escape() -> None:
    odd = "\x1b[31m\x00\u202e\x9b"
    page = page_of(events=[{"@type": "A", "@time": n, "id": odd, "x": n} for n in (1, 2)])
    assert "\\x1b[31m\\x00\\u202e\\x9b" in page.text
    half = [{"@type": "A", "@time": 1, "id": "\ud800", "x": 1}]
    text = report(cep.parse(PROGRAM), half, on_error="skip")
    assert "\\ud800" in text
    text.encode("utf-8")


# Colours ----------------------------------------------------------------------------------------------


def colours(scheme: str) -> dict[str, str]:
    css = (files("cepheid.reports") / "page.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    block = dict(zip(("light", "dark", "print"), blocks, strict=True))[scheme]
    return dict(re.findall(r"--(\w+): (#\w{6})", block))


def luminance(colour: str) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(part) for part in bytes.fromhex(colour[1:]))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


DRAWN = {"tick", "cause", "match", "behind"}


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_colours_have_contrast(scheme: str) -> None:
    found = colours(scheme)
    grounds = [found.pop("ground"), found.pop("panel")]
    found.pop("edge")  # says nothing
    assert len(found) > 10
    for name, colour in found.items():
        least = 3 if name in DRAWN else 4.5
        assert min(contrast(colour, ground) for ground in grounds) >= least, name


# Places in time ---------------------------------------------------------------------------------------

INSTANTS = st.lists(st.integers(-(10**15), 10**15) | st.integers(0, 1_000), min_size=1, max_size=40)


@given(INSTANTS)
def test_a_later_instant_stands_further_right(instants: list[int]) -> None:
    scale = Scale.of(instants)
    assert (scale.first, scale.last) == (min(instants), max(instants))
    places = [scale.place(instant) for instant in sorted(set(instants))]
    assert all(0 <= place <= 100 for place in places)
    assert all(a < b or b - a > -1e-9 for a, b in combinations(places, 2))


def test_a_long_time_without_events_is_a_strip_and_a_regular_one_is_not() -> None:
    second = 1_000_000
    minute = [n * second for n in range(60)]
    scale = Scale.of([*minute, 86_400 * second])
    assert len(scale.strips) == 1
    assert scale.place(59 * second) - scale.place(0) > 80
    assert not Scale.of(minute).strips
    assert not Scale.of([0, 10, 20, 30]).strips
    assert Scale.of([7]).place(7) == 50


@given(INSTANTS)
def test_times_do_not_stand_on_each_other(instants: list[int]) -> None:
    """Neither at the first width nor at the last, and the last time is always written."""
    scale = Scale.of(instants)
    for zoom, count in ZOOMS.items():
        marks = _apart(_times(scale, count), zoom)
        assert marks[-1].text
        written = [mark for mark in marks if mark.text]
        assert all(0 <= mark.left <= mark.place <= mark.right <= 100 for mark in written)
        assert all(one.right < other.left for one, other in pairwise(written))


def test_a_page_of_many_events_stays_small() -> None:
    events = [{"@type": "A", "@time": n, "id": "e", "x": 1 + n % 2} for n in range(20_000)]
    text = report(cep.parse(PROGRAM, file="p.epl"), events)
    assert "20,000 events" in text
    assert "Listed: the first 100 of 10,000." in text
    assert len(text) < 500_000
