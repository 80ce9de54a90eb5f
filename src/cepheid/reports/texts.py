"""Values and times as a report shows them: on one line, without what cannot be seen, and not for ever."""

from __future__ import annotations

from cepheid.core.event import Event, Value
from cepheid.core.html import Html, element
from cepheid.core.time import Instant, format_instant
from cepheid.core.words import visible
from cepheid.io.encode import encode_value, to_json


def file_name(path: str) -> str:
    """Without the folders, which are no one's business who reads a report."""
    return shown(path.rstrip("/").rpartition("/")[2] or path)


def shown(text: str) -> str:
    return visible(text, plain="")


def short(text: str, characters: int) -> str:
    """The beginning of a long text, and how long it is."""
    if len(text) <= characters:
        return shown(text)
    return f"{shown(text[:characters])} … ({len(text):,} characters)"


def value_text(value: Value, characters: int) -> str:
    encoded = encode_value(value)
    return short(encoded if isinstance(encoded, str) else to_json(encoded), characters)


def value_html(value: Value, characters: int) -> Html:
    if value is None:
        return element("span", "null", class_="muted")
    return element("span", value_text(value, characters))


def time_html(instant: Instant) -> Html:
    text = format_instant(instant)
    return element("time", text, datetime=text)


def name_of(event: Event) -> str:
    """The type of an event, and what is unusual about it."""
    mark = " (old)" if event.is_old else " (timed out)" if event.is_timeout else ""
    return f"{shown(event.type)}{mark}"
