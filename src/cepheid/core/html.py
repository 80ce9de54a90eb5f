"""Markup for notebooks: whatever is not made here is text, and stays text.

Colours stand in the elements themselves, as notebooks strip style sheets; they are readable on light
and on dark ground.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

_CELL = "text-align:left;vertical-align:top;padding:1px 8px"
_CODE = "font-family:monospace;white-space:pre;line-height:1.35;overflow-x:auto;margin:0"


class Html(str):
    """Markup that was made here; any other text is escaped."""

    __slots__ = ()


def element(tag: str, *content: object, style: str = "") -> Html:
    """An element; its parts are elements, or values that are shown as texts."""
    head = f' style="{style}"' if style else ""
    return Html(f"<{tag}{head}>{''.join(map(_part, content))}</{tag}>")


def _part(content: object) -> str:
    return content if isinstance(content, Html) else html.escape(str(content))


def together(parts: Iterable[Html]) -> Html:
    return element("div", *parts)


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """Null is an empty cell."""
    title = element("caption", caption, style="text-align:left;font-weight:bold;padding:2px 8px")
    names = element("tr", *(element("th", name, style=_CELL) for name in head))
    lines = (element("tr", *map(_cell, row)) for row in rows)
    return element("table", title, element("thead", names), element("tbody", *lines))


def _cell(value: object) -> Html:
    return element("td", "" if value is None else value, style=_CELL)


def code(*content: object) -> Html:
    return element("pre", *content, style=_CODE)


def mono(*content: object) -> Html:
    """The same for what may be broken into lines."""
    return element("div", *content, style="font-family:monospace")


def coloured(text: object, colour: str) -> Html:
    return element("span", text, style=f"color:{colour}")
