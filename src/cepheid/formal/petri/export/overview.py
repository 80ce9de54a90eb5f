"""A whole net on a page: a folded box for each unit, a frame for each statement.

Frames stand in columns, each after those whose events it takes; lines between them are events, which
pass through the places `queue` and `Ev` in the net. In a frame, the operators of a pattern are a tree.
Beside each box stand the places that join it to the one above it: with an arrow to the right what the
upper gives and the lower takes, to the left what comes back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from cepheid.drawing.layers import MARGIN, Box, Key, badge, ordered, route_of, text_at
from cepheid.formal.petri.export.drawing import Drawing
from cepheid.formal.petri.export.labels import Label, Rect, size_of
from cepheid.formal.petri.export.units import INPUT, Unit, shared_by, units_of
from cepheid.formal.petri.nets.net import Net

_FEW = 3  # units of a statement that may share a place before it is named once for all
_NAME, _SMALL = 11, 9  # sizes of texts
_BOX, _INDENT, _PAD, _BETWEEN = 32.0, 14.0, 8.0, 8.0
_LANE = 12.0  # for a line that passes a column
_GAP = 34.0  # between columns, beside the texts in it
_WRAP = 46  # characters of a line that names places


@dataclass(frozen=True, slots=True)
class _Row:
    """A unit in its frame, and the places that join it to the others."""

    unit: Unit
    depth: int
    joints: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, str]:
        count, places = len(self.unit.transitions), len(self.unit.places)
        return self.unit.name, f"{_counted(count, 'transition')}, {_counted(places, 'place')}"

    @property
    def width(self) -> float:
        return max(size_of(self.lines[:1], _NAME)[0], size_of(self.lines[1:], _SMALL)[0]) + 2 * _PAD

    @property
    def reach(self) -> float:
        """How far it goes to the right, with the text beside it."""
        beside = size_of(self.joints)[0] + _PAD if self.joints else 0
        return self.depth * _INDENT + self.width + beside

    @property
    def height(self) -> float:
        return max(_BOX, size_of(self.joints)[1] if self.joints else 0) + _BETWEEN


@dataclass(frozen=True, slots=True)
class _Frame:
    """A statement with the parts of its pattern."""

    name: str
    rows: tuple[_Row, ...]
    common: tuple[str, ...]  # lines that name the places which most of its units touch

    @property
    def is_one(self) -> bool:
        return len(self.rows) == 1

    @property
    def width(self) -> float:
        if self.is_one:
            return self.rows[0].width
        head = size_of(self.common)[0] if self.common else 0
        return max(head, *(row.reach for row in self.rows)) + 2 * _PAD

    @property
    def top(self) -> float:
        """The height of what stands above the boxes."""
        return 0.0 if self.is_one else _PAD + (size_of(self.common)[1] if self.common else 0)

    @property
    def height(self) -> float:
        return self.top + sum(row.height for row in self.rows) + (0 if self.is_one else _PAD)

    def row_giving(self, type: str) -> int | None:
        return next((n for n, row in enumerate(self.rows) if type in row.unit.given), None)


def overview(net: Net, tokens: Mapping[str, int] | None = None) -> Drawing:
    """The folded net; of the tokens that stand in a box, by its name, how many there are."""
    units = units_of(net)
    if not units:
        text = f'<text class="common" x="{MARGIN}" y="{MARGIN}">no transition</text>'
        return Drawing((text,), (), (), 6.0 * MARGIN, 2.0 * MARGIN)
    across = [
        place for place, found in shared_by(units).items() if len({u.statement for u in found}) > 1
    ]
    frames = _frames(units, across)
    note = f"blue: events, by way of places that statements share: {', '.join(across)}"
    return _Page(frames, list(_flows(frames)), note if across else "", tokens or {}).drawing()


# Frames.


def _frames(units: Sequence[Unit], across: Collection[str]) -> list[_Frame]:
    by_statement: dict[str, list[Unit]] = {}
    for unit in units:
        by_statement.setdefault(unit.statement, []).append(unit)
    return [_frame(name, found, across) for name, found in by_statement.items()]


def _frame(name: str, units: Sequence[Unit], across: Collection[str]) -> _Frame:
    own = {place: found for place, found in shared_by(units).items() if place not in across}
    common = [place for place, found in own.items() if len(found) > _FEW]
    joined = {place: found for place, found in own.items() if len(found) <= _FEW}
    rows = tuple(_tree(units, joined))
    text = f"most of them share {', '.join(common)}" if common else ""
    return _Frame(name, rows, tuple(_wrapped(text)))


def _wrapped(text: str) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and len(line) + len(word) >= _WRAP:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    if line:
        yield line


def _tree(units: Sequence[Unit], joined: Mapping[str, Sequence[Unit]]) -> Iterator[_Row]:
    """Each unit below the one that starts it, or else the first that shares a place with it."""
    waiting = sorted(units, key=lambda unit: "." in unit.name)
    shown: list[Unit] = []

    def grow(unit: Unit, depth: int) -> Iterator[_Row]:
        waiting.remove(unit)
        yield _Row(unit, depth, tuple(_joints(unit, shown, joined)))
        shown.append(unit)
        for other in units:
            if other in waiting and is_below(other, unit):
                yield from grow(other, depth + 1)

    def is_below(lower: Unit, upper: Unit) -> bool:
        starters = [u for u in units if u is not lower and f"{lower.name}.to_start" in u.given]
        if starters:
            return upper in starters
        return any(upper in found and lower in found for found in joined.values())

    while waiting:
        yield from grow(waiting[0], 1 if shown else 0)


def _joints(
    lower: Unit, shown: Sequence[Unit], joined: Mapping[str, Sequence[Unit]]
) -> Iterator[str]:
    """The places that join a unit to those above it, with the way that tokens take."""
    for place, found in joined.items():
        above = [unit for unit in shown if unit in found]
        if above and lower in found:
            down = place in lower.taken and any(place in unit.given for unit in above)
            up = place in lower.given and any(place in unit.taken for unit in above)
            yield f"{'↔' if down == up else '→' if down else '←'} {place}"


# Events.


@dataclass(frozen=True, slots=True)
class _Flow:
    """Events of a type, from a row of a frame to one of another."""

    type: str
    start: int
    giver: int
    end: int
    row: int


def _flows(frames: Sequence[_Frame]) -> Iterator[_Flow]:
    for end, frame in enumerate(frames):
        for number, row in enumerate(frame.rows):
            for type in row.unit.events:
                giving = [(n, f.row_giving(type)) for n, f in enumerate(frames) if f.name != INPUT]
                makers = [(n, giver) for n, giver in giving if giver is not None and n != end]
                for start, giver in makers or [(0, 0)]:
                    if start != end:
                        yield _Flow(type, start, giver, end, number)


def _levels(count: int, flows: Sequence[_Flow]) -> list[int]:
    """Each frame after those whose events it takes; a cycle ends where it would go on for ever."""
    levels = [0] * count
    for _ in range(count):
        before = list(levels)
        for flow in flows:
            levels[flow.end] = min(max(levels[flow.end], levels[flow.start] + 1), count)
        if levels == before:
            break
    used = sorted(set(levels))
    return [used.index(level) for level in levels]


# The page.


@dataclass(frozen=True, slots=True)
class _Spot:
    x: float
    y: float  # of the top
    width: float  # of the column


class _Page:
    def __init__(
        self,
        frames: Sequence[_Frame],
        flows: Sequence[_Flow],
        note: str,
        tokens: Mapping[str, int],
    ) -> None:
        self.tokens = tokens
        self.frames = frames
        self.flows = flows
        self.note = note
        self.levels = _levels(len(frames), flows)
        self.boxes = {
            f"f:{n}": Box(f"f:{n}", self.levels[n], (frame.name,)) for n, frame in enumerate(frames)
        }
        self.routes = {
            flow: route_of((f"f:{flow.start}", f"f:{flow.end}"), self.boxes)
            for flow in flows
            if self.levels[flow.start] < self.levels[flow.end]
        }
        lanes = [box for route in self.routes.values() for box in route[1:-1]]
        steps = [(a.key, b.key) for route in self.routes.values() for a, b in pairwise(route)]
        self.columns = ordered([*self.boxes.values(), *lanes], steps)
        self.spots: dict[Key, _Spot] = {}
        self.labels: list[Label] = []
        self.nodes: list[Rect] = []

    def drawing(self) -> Drawing:
        width, height = self._place()
        lines = [part for flow in self.flows for part in self._line(flow)]
        boxes = [
            part
            for n, frame in enumerate(self.frames)
            for part in self._drawn(frame, self.spots[f"f:{n}"])
        ]
        note = f'<text class="common" x="{MARGIN}" y="{height - 8:.0f}">{escape(self.note)}</text>'
        texts = [label.drawn() for label in self.labels]
        parts = (*lines, *boxes, *texts, note)
        width = max(width, MARGIN * 2 + len(self.note) * 6.6)
        return Drawing(parts, tuple(self.labels), tuple(self.nodes), width, height)

    def _frame(self, key: Key) -> _Frame:
        return self.frames[int(key.partition(":")[2])]

    def _place(self) -> tuple[float, float]:
        heights = [sum(self._height(box) for box in column) for column in self.columns]
        tallest = max(heights)
        x = float(MARGIN)
        for level, column in enumerate(self.columns):
            x += self._room_before(level)
            widest = max((self._frame(b.key).width for b in column if b.lines), default=0.0)
            y = MARGIN + (tallest - heights[level]) / 2
            for box in column:
                self.spots[box.key] = _Spot(x, y, widest)
                y += self._height(box)
            x += widest
        return x + MARGIN, tallest + 3 * MARGIN

    def _height(self, box: Box) -> float:
        return self._frame(box.key).height + 2 * _BETWEEN if box.lines else _LANE

    def _room_before(self, level: int) -> float:
        """For the texts of the events that come to a column."""
        types = [f.type for f in self.routes if self.levels[f.end] == level]
        return _GAP + size_of(types, _SMALL)[0] if types else _GAP if level else 0.0

    def _middle(self, frame: _Frame, spot: _Spot, row: int) -> float:
        before = sum(r.height for r in frame.rows[:row])
        return spot.y + frame.top + before + _BOX / 2

    def _line(self, flow: _Flow) -> Iterator[str]:
        """From the right side of a frame, between others, to the row that takes the events."""
        start, end = self.spots[f"f:{flow.start}"], self.spots[f"f:{flow.end}"]
        frame = self.frames[flow.end]
        y = self._middle(frame, end, flow.row)
        maker = self.frames[flow.start]
        x0, y0 = start.x + maker.width, self._middle(maker, start, flow.giver)
        points = [(x0, y0)]
        for box in self.routes.get(flow, ())[1:-1]:
            spot = self.spots[box.key]
            points += [(spot.x, spot.y + _LANE / 2), (spot.x + spot.width, spot.y + _LANE / 2)]
        points.append((end.x, y))
        drawn = f"M{x0:.1f},{y0:.1f}"
        for number, ((ax, ay), (bx, by)) in enumerate(pairwise(points)):
            bend = (bx - ax) / 2
            drawn += (
                f" L{bx:.1f},{by:.1f}"
                if number % 2
                else f" C{ax + bend:.1f},{ay:.1f} {bx - bend:.1f},{by:.1f} {bx:.1f},{by:.1f}"
            )
        title = f"<title>{escape(flow.type)}</title>"
        yield f'<path class="arc" marker-end="url(#arrow)" d="{drawn}">{title}</path>'
        place = [f for f in self.flows if (f.end, f.row) == (flow.end, flow.row)]
        types = list(dict.fromkeys(f.type for f in place))
        if place[0] is flow:
            width, height = size_of(types, _SMALL)
            rect = Rect(end.x - 9 - width, y - height - 2, end.x - 9, y - 2)
            self.labels.append(Label(tuple(types), rect, "type", _SMALL))

    def _drawn(self, frame: _Frame, spot: _Spot) -> Iterator[str]:
        if not frame.is_one:
            yield (
                f'<rect class="frame" x="{spot.x:.1f}" y="{spot.y:.1f}" width="{frame.width:.1f}" '
                f'height="{frame.height:.1f}" rx="4"/>'
            )
        if frame.common:
            width, height = size_of(frame.common)
            left, top = spot.x + _PAD, spot.y + 4
            self.labels.append(
                Label(frame.common, Rect(left, top, left + width, top + height), "small")
            )
        inset = 0.0 if frame.is_one else _PAD
        y = spot.y + frame.top
        above: dict[int, float] = {}  # where the last box of each depth ends
        for row in frame.rows:
            x = spot.x + inset + row.depth * _INDENT
            yield from _box(row, x, y)
            if count := self.tokens.get(row.unit.name):
                yield badge(x + row.width, y, count, f"{row.unit.name}: {_counted(count, 'token')}")
            self.nodes.append(Rect(x, y, x + row.width, y + _BOX))
            if row.depth:
                elbow = x - _INDENT / 2
                yield (
                    f'<path class="arc" d="M{elbow:.1f},{above[row.depth - 1]:.1f} '
                    f'V{y + _BOX / 2:.1f} H{x:.1f}"/>'
                )
            above[row.depth] = y + _BOX
            if row.joints:
                width, height = size_of(row.joints)
                left = x + row.width + _PAD
                self.labels.append(Label(row.joints, Rect(left, y, left + width, y + height)))
            y += row.height


def _box(row: _Row, x: float, y: float) -> Iterator[str]:
    """A folded unit; a page may open it."""
    name, inside = row.lines
    middle = x + row.width / 2
    yield f'<a class="unit" href="#{escape(anchor(name))}">'
    yield (
        f'<rect class="transition" x="{x:.1f}" y="{y:.1f}" width="{row.width:.1f}" '
        f'height="{_BOX:.1f}" rx="2"><title>{escape(name)}</title></rect>'
    )
    yield text_at(middle, y + 13, name, "name", _NAME)
    yield text_at(middle, y + 26, inside, "small", _SMALL)
    yield "</a>"


def anchor(name: str) -> str:
    return f"unit-{name.replace(' ', '-')}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
