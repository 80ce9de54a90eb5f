"""Bytes of messages as texts."""

from __future__ import annotations


def text_of(data: bytes | str | None) -> str | None:
    """Bytes that are no UTF-8 become escapes, which no JSON has, so that such a text is rejected."""
    return data.decode("utf-8", "backslashreplace") if isinstance(data, bytes) else data
