"""Pictures of automata, a panel for each.

States are circles: an arrow leads into the initial one, the final one has a double line, the trap a
cross. What must not happen is dashed. Each timed zone has a colour, and the states in it a ring of
that colour. Where the pointer rests on a line, there is the part of the pattern that it comes from.
Tokens that stand in a state are a number beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from cepheid.core.words import counted
from cepheid.drawing.automaton_words import Words
from cepheid.drawing.layers import (
    MARGIN,
    Box,
    Edge,
    Key,
    Placed,
    badge,
    ordered,
    place_boxes,
    text_at,
)
from cepheid.pattern.automaton import Automaton, Ends, State, Transition

_RADIUS, _RING = 16.0, 5.0
_ROW, _LETTER, _LINE = 104.0, 6.2, 12.0
_LONGEST, _MOST = 30, 3  # letters of a label, and labels of a line; the rest is in its title
_ALONG, _DOWN = (
    0.38,
    0.28,
)  # where a label is: lines that begin together have parted, none has crossed
_SAG = 34.0  # how far a line to the state before hangs down
_COLOURS = ("#f2a65a", "#6fb1e0", "#8ccf7e", "#c39bd3", "#e8c547", "#e07a7a")


@dataclass(frozen=True, slots=True)
class Line:
    """All transitions of one kind between two states."""

    edge: Edge
    transitions: tuple[Transition, ...]
    labels: tuple[str, ...]
    title: str

    @property
    def kind(self) -> str:
        return "never" if self.transitions[0].is_negative else "edge"


@dataclass(frozen=True, slots=True)
class Circle:
    """A state where it is drawn."""

    state: State
    x: float
    y: float

    @property
    def reach(self) -> float:
        """From its middle to the outside of its rings."""
        return _RADIUS + _RING * len(self.state.zones) + 4 * (self.state.kind == "final")

    def beside(self, side: int, *, is_back: bool) -> tuple[float, float]:
        """Where a line touches it, on its right (1) or left (-1); what leads back does so below."""
        part = 0.72 if is_back else 1.0
        return self.x + side * part * self.reach, self.y + is_back * 0.72 * self.reach


def to_svg(
    automata: Mapping[str, Words], tokens: Mapping[str, Mapping[int, int]] | None = None
) -> str:
    """A picture that needs no other tool; of the tokens in each state, how many there are."""
    parts: list[str] = []
    top, widest = float(MARGIN), 300.0
    for name, words in automata.items():
        drawn, width, height = _panel(name, words, (tokens or {}).get(name, {}))
        parts += [f'<g transform="translate(0,{top:.0f})">', *drawn, "</g>"]
        top += height + MARGIN
        widest = max(widest, width)
    return "\n".join([_head(widest, top), *parts, "</svg>", ""])


def _head(width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif">\n'
        "<style>.edge,.never{fill:none;stroke:#78889b;stroke-width:1.2}"
        " .never{stroke:#b3452c;stroke-dasharray:5 3} .state{fill:#fff;stroke:#34495e;stroke-width:1.4}"
        " .trap{fill:#f3f4f6} text{fill:#1b2733} .small{fill:#5f6f80} .not{fill:#b3452c}"
        " .time{fill:#5f6f80;font-style:italic} .halo{stroke:#fff;stroke-width:4px}"
        " .panel{font-size:16px;font-weight:bold}</style>\n"
        f"<defs>{_arrow('arrow', '#78889b')}{_arrow('never', '#b3452c')}</defs>\n"
        '<rect width="100%" height="100%" fill="#fff"/>'
    )


def _arrow(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"'
        f' orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
    )


def _panel(name: str, words: Words, tokens: Mapping[int, int]) -> tuple[list[str], float, float]:
    """What is drawn of an automaton, and how wide and high it is."""
    lines = _lines(words)
    levels = _levels(words.automaton)
    drawn = {end for line in lines for end in line.edge} | {_key(0)}
    states = [state for state in words.automaton.states if _key(state.number) in drawn]
    routes = {line: _route(line.edge, levels) for line in lines if line.edge[0] != line.edge[1]}
    # A box is as wide as five letters; states are circles in it.
    boxes = [Box(_key(s.number), levels[_key(s.number)], (" " * 5,)) for s in states]
    lanes = [box for route in routes.values() for box in route[1:-1]]
    steps = [
        (one.key, other.key) if one.level < other.level else (other.key, one.key)
        for route in routes.values()
        for one, other in pairwise(route)
    ]
    columns = ordered([*boxes, *lanes], steps)
    longest = max((len(label) for line in lines for label in line.labels), default=0)
    placed, width, height = place_boxes(columns, _ROW, max(70.0, _LETTER * longest + 60))
    circles = {
        _key(s.number): Circle(s, _middle(placed[_key(s.number)]), placed[_key(s.number)].y)
        for s in states
    }
    parts = [f'<text class="panel" x="{MARGIN}" y="16">{escape(name)}</text>', _begin(circles)]
    for line in lines:
        route = [placed[box.key] for box in routes.get(line, ())]
        parts.append(_line(line, route, circles) if route else _loop(line, circles))
    parts += [_circle(circle, words) for circle in circles.values()]
    parts += [_tokens(circles[_key(s)], count) for s, count in tokens.items() if _key(s) in circles]
    legend = _legend(words)
    parts += [f'<g transform="translate({MARGIN},{height:.0f})">', *legend.parts, "</g>"]
    return parts, max(width, legend.width), height + legend.height


def _key(number: int) -> Key:
    return f"state:{number}"


def _middle(place: Placed) -> float:
    return place.x + place.width / 2


def _lines(words: Words) -> list[Line]:
    together: dict[tuple[Edge, bool], list[Transition]] = {}
    for transition in words.automaton.transitions:
        edge = _key(transition.source), _key(transition.target)
        together.setdefault((edge, transition.is_negative), []).append(transition)
    return [
        Line(edge, tuple(found), _labels(words, found), _title(words, found))
        for (edge, _), found in together.items()
    ]


def _labels(words: Words, transitions: Sequence[Transition]) -> tuple[str, ...]:
    labels = list(dict.fromkeys(_cut(_label(words, t)) for t in transitions))
    more = len(labels) - _MOST
    return (*labels[:_MOST], f"and {more} more") if more > 0 else tuple(labels)


def _label(words: Words, transition: Transition) -> str:
    """`a(x, y)`: the event with the names that it binds."""
    call = words.call(transition)
    names = ", ".join(name for name, _ in call.parameters) if call is not None else ""
    return f"{words.event(transition)}({names})" if names else words.event(transition)


def _title(words: Words, transitions: Sequence[Transition]) -> str:
    texts = (words.origin(t) or words.event(t) for t in transitions)
    return "\n".join(dict.fromkeys(texts))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


# Places ---------------------------------------------------------------------------------------


def _levels(automaton: Automaton) -> dict[Key, int]:
    """How many transitions lead to a state on the longest way that does not come back."""
    steps: dict[int, list[int]] = {state.number: [] for state in automaton.states}
    for transition in automaton.transitions:
        steps[transition.source].append(transition.target)
    order, back = _search(steps)
    levels = dict.fromkeys(steps, 0)
    for source in order:
        for target in steps[source]:
            if (source, target) not in back:
                levels[target] = max(levels[target], levels[source] + 1)
    return {_key(number): level for number, level in levels.items()}


def _search(steps: Mapping[int, Sequence[int]]) -> tuple[list[int], set[tuple[int, int]]]:
    """States in an order in which only some steps lead back, and these steps; depth first."""
    found: list[int] = []
    back: set[tuple[int, int]] = set()
    known, path = {0}, [(0, iter(steps[0]))]
    open_ = {0}
    while path:
        state, targets = path[-1]
        for target in targets:
            if target in open_:
                back.add((state, target))
            elif target not in known:
                known.add(target)
                open_.add(target)
                path.append((target, iter(steps[target])))
                break
        else:
            path.pop()
            open_.discard(state)
            found.append(state)
    return found[::-1], back


def _route(edge: Edge, levels: Mapping[Key, int]) -> list[Box]:
    """The states at both ends, and a place of its own in each level between them."""
    start, end = edge
    step = 1 if levels[start] < levels[end] else -1
    between = range(levels[start] + step, levels[end], step)
    lanes = (Box(f"{start} to {end}@{level}", level) for level in between)
    return [Box(start, levels[start]), *lanes, Box(end, levels[end])]


# SVG ------------------------------------------------------------------------------------------


def _begin(circles: Mapping[Key, Circle]) -> str:
    initial = circles[_key(0)]
    end = initial.x - initial.reach
    drawn = f"M{end - 24:.1f},{initial.y:.1f} L{end:.1f},{initial.y:.1f}"
    return f'<path class="edge" marker-end="url(#arrow)" d="{drawn}"/>'


def _line(line: Line, places: Sequence[Placed], circles: Mapping[Key, Circle]) -> str:
    """A smooth line between two states, which has its own places in the levels between them."""
    start, end = (circles[key] for key in line.edge)
    is_back = end.x < start.x
    side, sag = (-1, _SAG) if is_back else (1, 0.0)
    (x, y), goal = start.beside(side, is_back=is_back), end.beside(-side, is_back=is_back)
    drawn, labelled = f"M{x:.1f},{y:.1f}", None
    for place in places[1:-1]:
        near, far = (place.right, place.x) if is_back else (place.x, place.right)
        drawn += f"{_bend(x, y, near, place.y)} L{far:.1f},{place.y:.1f}"
        labelled = labelled or (_middle(place), place.y)
        x, y = far, place.y
    if labelled is None:
        labelled = x + _ALONG * (goal[0] - x), y + _DOWN * (goal[1] - y) + 0.7 * sag
    drawn += _bend(x, y, *goal, sag if len(places) == 2 else 0.0)
    return _path(line, drawn) + _label_at(*labelled, line)


def _bend(x: float, y: float, to_x: float, to_y: float, sag: float = 0.0) -> str:
    bend = (to_x - x) / 2
    return (
        f" C{x + bend:.1f},{y + sag:.1f} {to_x - bend:.1f},{to_y + sag:.1f} {to_x:.1f},{to_y:.1f}"
    )


def _loop(line: Line, circles: Mapping[Key, Circle]) -> str:
    """Above the state that it leads back to."""
    at = circles[line.edge[0]]
    top = at.y - at.reach * 0.94
    drawn = (
        f"M{at.x - 6:.1f},{top:.1f} C{at.x - 26:.1f},{top - 34:.1f} {at.x + 26:.1f},{top - 34:.1f} "
        f"{at.x + 6:.1f},{top:.1f}"
    )
    return _path(line, drawn) + _label_at(at.x, top - 26, line)


def _path(line: Line, drawn: str) -> str:
    arrow = "never" if line.kind == "never" else "arrow"
    title = f"<title>{escape(line.title)}</title>"
    return f'<path class="{line.kind}" marker-end="url(#{arrow})" d="{drawn}">{title}</path>'


def _label_at(x: float, y: float, line: Line) -> str:
    """Above a line, and white below, so that other lines do not run through the text."""
    first = line.transitions[0]
    kind = "not" if first.is_negative else "time" if isinstance(first.trigger, Ends) else "name"
    parts = []
    for number, label in enumerate(line.labels):
        at = x, y - 4 - (len(line.labels) - 1 - number) * _LINE, label
        parts += [text_at(*at, "halo", 11), text_at(*at, kind, 11)]
    return "".join(parts)


def _circle(circle: Circle, words: Words) -> str:
    state, x, y = circle.state, circle.x, circle.y
    parts = []
    for number, zone in reversed([*enumerate(state.zones, start=1)]):
        radius = _RADIUS + number * _RING
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{_colour(zone)}">'
            f"<title>{escape(words.zone(zone))}</title></circle>"
        )
    radii = (_RADIUS + 4, _RADIUS) if state.kind == "final" else (_RADIUS,)
    kind = "state trap" if state.kind == "trap" else "state"
    parts += [f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"/>' for r in radii]
    if state.kind == "normal":
        parts.append(text_at(x, y + 4, str(state.number), "name", 12))
    else:
        parts.append(text_at(x, y + circle.reach + 13, state.kind, "small", 11))
    if state.kind == "trap":
        parts.append(text_at(x, y + 5, "✕", "not", 14))
    return "".join(parts)


def _tokens(circle: Circle, count: int) -> str:
    x, y = circle.x + 0.8 * circle.reach, circle.y - 0.8 * circle.reach
    return badge(x, y, count, counted(count, "token"))


def _colour(zone: int) -> str:
    return _COLOURS[zone % len(_COLOURS)]


@dataclass(frozen=True, slots=True)
class Legend:
    parts: list[str]
    width: float
    height: float


def _legend(words: Words) -> Legend:
    """A line for each zone."""
    parts, texts = [], []
    for number, zone in enumerate(words.automaton.zones):
        y = 20.0 * number + 10
        late = "later" if zone.kind == "within" else "earlier"
        texts.append(f"{words.zone(number)}; what is {late} leads to the trap")
        parts.append(
            f'<circle cx="8" cy="{y:.1f}" r="7" fill="{_colour(number)}"/>'
            f'<text class="small" x="22" y="{y + 4:.1f}" font-size="11">{escape(texts[-1])}'
            f"<title>{escape(words.text_at(zone.span))}</title></text>"
        )
    widest = max((len(text) for text in texts), default=0) * _LETTER + 22 + 2 * MARGIN
    return Legend(parts, widest, 20.0 * len(texts))
