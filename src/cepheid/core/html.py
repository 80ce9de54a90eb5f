"""Markup: whatever is not made here is text, and stays text.

For notebooks colours stand in the elements themselves, as those strip style sheets; they are readable
on light and on dark ground.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

_CELL = "text-align:left;vertical-align:top;padding:1px 8px"
_CODE = "font-family:monospace;white-space:pre;line-height:1.35;overflow-x:auto;margin:0"


class Html(str):
    """Markup that was made here; any other text is escaped."""

    __slots__ = ()


def element(tag: str, *content: object, **attributes: object) -> Html:
    """An element; its parts are elements, or values that are shown as texts.

    Attributes that are words of Python end in `_` (`class_`), and `_` stands for `-`; those without a
    value are left out.
    """
    return Html(f"{void(tag, **attributes)}{joined(content)}</{tag}>")


def void(tag: str, **attributes: object) -> Html:
    """An element that has no content and no end."""
    told = (
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None and value != ""
    )
    return Html(f"<{tag}{''.join(told)}>")


def joined(parts: Iterable[object]) -> Html:
    """One after the other, without anything around them."""
    return Html("".join(map(_part, parts)))


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
