"""The events behind a match, as a tree."""

from __future__ import annotations

from itertools import islice

from cepheid.core.event import Event
from cepheid.core.html import Html, element, joined
from cepheid.core.words import counted
from cepheid.io.causes import Cause, causes_of
from cepheid.reports.content import Limits
from cepheid.reports.texts import name_of, shown, time_html, value_text

_DEEPEST = 12  # levels that have room beside each other


def why(row: Event, limits: Limits) -> Html:
    """Closed until someone asks."""
    behind = counted(len(row.causes), "event")
    if not row.causes:
        return element("p", "No event is behind it: time alone made it so.", class_="muted")
    causes = list(islice(causes_of(row, _DEEPEST), limits.causes + 1))
    is_cut = len(causes) > limits.causes
    tree, _ = _level(causes[: limits.causes], 0, 1, limits)
    note = f"Listed: the first {limits.causes:,}."
    rest = [element("p", note, class_="muted")] if is_cut else []
    return element("details", element("summary", f"Why? {behind} behind it"), tree, *rest)


def _level(causes: list[Cause], start: int, depth: int, limits: Limits) -> tuple[Html, int]:
    """The list of the causes of one depth from a place on, and the place behind it."""
    items: list[Html] = []
    while start < len(causes) and causes[start].depth == depth:
        line, start = _line(causes[start], limits), start + 1
        parts = [line]
        if start < len(causes) and causes[start].depth > depth:
            below, start = _level(causes, start, depth + 1, limits)
            parts.append(below)
        items.append(element("li", *parts))
    return element("ul", *items, class_="tree"), start


def _line(cause: Cause, limits: Limits) -> Html:
    event = cause.event
    values = (
        element("span", f"{shown(name)} = {value_text(value, limits.characters)}", class_="value")
        for name, value in event.items()
        if value is not None
    )
    cut = [element("span", "not followed further here", class_="muted")] if cause.is_cut else []
    parts = [element("b", name_of(event)), time_html(event.instant), *values, *cut]
    return joined(each for part in parts for each in (part, " "))
