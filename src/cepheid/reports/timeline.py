"""What happened when: a lane for each type, matches with lines to the events behind them.

All places in time are percentages, so that the drawing is as wide as the page, and wider where one
looks closer. It needs no script.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from cepheid.core.event import Event
from cepheid.core.html import Html, element, joined, void
from cepheid.core.time import MICROSECONDS, Instant, TimeUnit, format_instant
from cepheid.core.words import counted
from cepheid.reports.content import Content
from cepheid.reports.scale import Piece, Scale
from cepheid.reports.texts import name_of, shown

_LANE = 44  # pixels; the style sheet has the same for the names beside the lanes
_AXIS = 26
_BARS = 240
_NARROWEST, _CHARACTER = 576, 7  # pixels: of the drawing in the style sheet, of a letter of a time
ZOOMS = {1: 6, 4: 24, 16: 96}  # how much wider, and how many times are written then
_ROUND: dict[TimeUnit, tuple[int, ...]] = {
    "microseconds": (1, 2, 5, 10, 20, 50, 100, 200, 500),
    "milliseconds": (1, 2, 5, 10, 20, 50, 100, 200, 500),
    "seconds": (1, 2, 5, 10, 15, 30),
    "minutes": (1, 2, 5, 10, 15, 30),
    "hours": (1, 2, 3, 6, 12),
    "days": (1, 2, 7, 14, 30, 90, 365, 3_650, 36_500),
}
_STEPS = tuple(n * MICROSECONDS[unit] for unit, counts in _ROUND.items() for n in counts)


def timeline(content: Content, numbers: Mapping[int, int]) -> Html:
    """`numbers` has those of the matches on the page, by the identities of their rows."""
    lanes = _lanes(content)
    if not lanes:
        return element("p", "There were no events.")
    scale = Scale.of(chain.from_iterable(lanes.values()))
    names = list(lanes)[: content.limits.lanes]
    levels = {name: (place + 0.5) * _LANE for place, name in enumerate(names)}
    height = len(names) * _LANE + _AXIS
    drawn = [
        *_axis(scale, len(names) * _LANE),
        *(_lane(lanes[name], scale, levels[name], content.limits.ticks) for name in names),
        *_matches(content, scale, levels, numbers),
    ]
    svg = element(
        "svg", *drawn, height=height, width="100%", role="group", aria_label="events in time"
    )
    left_out = len(lanes) - len(names)
    note = f"{counted(left_out, 'more type')} had no room here."
    return joined(
        (
            element("p", _extent(scale), class_="muted"),
            element(
                "div",
                _zoom(),
                element("ul", *(_label(name, len(lanes[name])) for name in names), class_="lanes"),
                element(
                    "div", svg, class_="scroll", tabindex=0, role="region", aria_label="timeline"
                ),
                class_="timeline",
            ),
            *([element("p", note, class_="muted")] if left_out else []),
            element("p", _legend(content), class_="muted"),
        )
    )


def _lanes(content: Content) -> dict[str, Sequence[Instant]]:
    """The instants of each type: what came in first, then what was found."""
    found: dict[str, list[Instant]] = {name: list(of) for name, of in content.instants.items()}
    for name in content.result.derived:
        found.setdefault(name, [])
    for row in content.result:
        found.setdefault(row.type, []).append(row.instant)
    return {name: instants for name, instants in found.items() if instants}


def _extent(scale: Scale) -> str:
    first, last = format_instant(scale.first), format_instant(scale.last)
    return f"From {first} to {last}." if first != last else f"All at {first}."


def _legend(content: Content) -> str:
    total, listed = len(content.result), sum(map(len, content.rows.values()))
    part = "" if total == listed else f", for the {listed:,} that are listed below"
    return (
        f"Strokes are events; bars say how many there are where strokes would be too many. Dots are"
        f" matches and the events behind them, with a line from one to the other{part}. A dot of a"
        f" match leads to its row below, and the number of a row back to its dot. Times are UTC, and a strip stands for a long time without events."
    )


def _zoom() -> Html:
    """Radio buttons, by which the style sheet makes the drawing wider."""
    buttons = (
        joined(
            (
                void(
                    "input",
                    type="radio",
                    name="zoom",
                    id=f"zoom-{zoom}",
                    **({"checked": "checked"} if zoom == 1 else {}),
                ),
                element("label", f"{zoom}\N{MULTIPLICATION SIGN}", for_=f"zoom-{zoom}"),
            )
        )
        for zoom in ZOOMS
    )
    return element("fieldset", element("legend", "width"), *buttons, class_="zoom")


def _label(name: str, count: int) -> Html:
    title = shown(name)
    return element(
        "li",
        element("span", title, class_="name", title=title),
        element("span", f"{count:,}", class_="muted"),
    )


def _lane(instants: Sequence[Instant], scale: Scale, y: float, ticks: int) -> Html:
    ground = element("line", x1="0%", x2="100%", y1=y, y2=y, class_="ground")
    return joined((ground, *(_marks(instants, scale, y, ticks))))


def _marks(instants: Sequence[Instant], scale: Scale, y: float, ticks: int) -> Iterator[Html]:
    if len(instants) <= ticks:
        for instant in dict.fromkeys(instants):
            x = _percent(scale.place(instant))
            yield element("line", x1=x, x2=x, y1=y - 9, y2=y + 9, class_="tick")
        return
    bars = Counter(int(scale.place(instant) * _BARS // 100) for instant in instants)
    most = max(bars.values())
    for bar, count in sorted(bars.items()):
        size = 2 + 30 * count / most
        yield element(
            "rect",
            element("title", counted(count, "event")),
            x=_percent(100 * bar / _BARS),
            width=_percent(100 / _BARS),
            y=f"{y - size / 2:.1f}",
            height=f"{size:.1f}",
            class_="bar",
        )


def _matches(
    content: Content, scale: Scale, levels: Mapping[str, float], numbers: Mapping[int, int]
) -> Iterator[Html]:
    """Lines under all dots, and dots of matches over those of what is behind them."""
    rows = [row for of in content.rows.values() for row in of if row.type in levels]
    dotted: set[tuple[str, Instant]] = set()
    for row in rows:
        x, y = _percent(scale.place(row.instant)), levels[row.type]
        drawn: list[Html] = []
        for cause in _distinct(row.causes[: content.limits.causes]):
            if cause.type in levels:
                from_x, from_y = _percent(scale.place(cause.instant)), levels[cause.type]
                drawn.append(element("line", x1=from_x, y1=from_y, x2=x, y2=y, class_="behind"))
                if (cause.type, cause.instant) not in dotted:
                    dotted.add((cause.type, cause.instant))
                    drawn.append(_dot(cause, from_x, from_y, 4, "cause"))
        number = numbers[id(row)]
        leads = element("a", _dot(row, x, y, 6, "match"), href=f"#row-{number}", tabindex=-1)
        yield element("g", *drawn, leads, id=f"dot-{number}", class_="found")


def _distinct(causes: Iterable[Event]) -> Iterator[Event]:
    """Of events of one type and time one is enough: their lines are the same."""
    return iter({(cause.type, cause.instant): cause for cause in causes}.values())


def _dot(event: Event, x: str, y: float, radius: int, kind: str) -> Html:
    title = element("title", f"{name_of(event)} {format_instant(event.instant)}")
    return element("circle", title, cx=x, cy=y, r=radius, class_=kind)


# Times ------------------------------------------------------------------------------------------------


def _axis(scale: Scale, y: float) -> Iterator[Html]:
    """Times at round numbers, more of them where the drawing is wider, and strips where time was left out."""
    for before, after in scale.strips:
        length = _length(after.first - before.last)
        yield element(
            "rect",
            element("title", f"{length} without events"),
            x=_percent(before.right),
            width=_percent(after.left - before.right),
            y=0,
            height=y,
            class_="strip",
        )
        middle = _percent((before.right + after.left) / 2)
        yield element("text", "⋯", x=middle, y=y / 2, text_anchor="middle", class_="gap")
    for zoom, count in ZOOMS.items():
        marks = (mark.drawn(y) for mark in _apart(_times(scale, count), zoom))
        yield element("g", *marks, class_=f"axis axis-{zoom}")


@dataclass(frozen=True, slots=True)
class Mark:
    """A time at its place; `left` and `right` are where its text ends, where the drawing is narrowest."""

    place: float
    text: str
    anchor: str
    left: float
    right: float

    @classmethod
    def of(cls, place: float, text: str, zoom: int) -> Mark:
        """Under its line; near the edges beside it."""
        width = 100 * _CHARACTER * len(text) / (_NARROWEST * zoom)
        if place < width / 2:
            return cls(place, text, "start", place, place + width)
        if place > 100 - width / 2:
            return cls(place, text, "end", place - width, place)
        return cls(place, text, "middle", place - width / 2, place + width / 2)

    def drawn(self, y: float) -> Html:
        x = _percent(self.place)
        line = element("line", x1=x, x2=x, y1=0, y2=y + 4, class_="grid")
        text = element("text", self.text, x=x, y=y + 18, text_anchor=self.anchor)
        return joined((line, text if self.text else ""))


def _apart(times: Iterable[tuple[float, str]], zoom: int) -> list[Mark]:
    """The same without texts that would stand on others; the last one stays."""
    kept: list[Mark] = []
    free = 100.0  # up to here there is no text yet
    for place, text in reversed(list(times)):
        mark = Mark.of(place, text, zoom)
        if mark.right <= free:
            free = mark.left - 100 * _CHARACTER / (_NARROWEST * zoom)
        else:
            mark = replace(mark, text="")
        kept.append(mark)
    return kept[::-1]


def _times(scale: Scale, count: int) -> Iterator[tuple[float, str]]:
    """Places and what is written there: the day only where it is another one than before."""
    day = format_instant(scale.first)[:10]
    for piece in scale.pieces:
        step, instants = _round_times(piece, count)
        for instant in instants:
            date, _, clock = format_instant(instant).removesuffix("Z").partition("T")
            if step >= MICROSECONDS["days"]:
                text = date
            else:
                clock = clock[:5] if step >= MICROSECONDS["minutes"] else clock
                text = clock if date == day else f"{date[5:]} {clock}"
            day = date
            yield piece.place(instant), text


def _round_times(piece: Piece, count: int) -> tuple[int, Sequence[Instant]]:
    """As many as the share of the width of a piece has room for, and how far they are apart."""
    share = max(count * (piece.right - piece.left) / 100, 1)
    length = piece.last - piece.first
    step = next((step for step in _STEPS if length / step <= share), 0)
    first = -(-piece.first // step) * step if step else piece.first
    if not step or first > piece.last:
        return step, [piece.first]
    return step, range(first, piece.last + 1, step)


def _length(microseconds: int) -> str:
    """About how long, in the largest unit of which it is several."""
    units = tuple(reversed(_ROUND))
    unit = next((unit for unit in units if microseconds >= 2 * MICROSECONDS[unit]), units[-1])
    return f"{microseconds / MICROSECONDS[unit]:,.0f} {unit}"


def _percent(place: float) -> str:
    return f"{place:.3f}%"
