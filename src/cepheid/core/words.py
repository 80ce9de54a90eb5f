"""Words for people: texts that others wrote, which must not rule what they are shown on, and counts."""

from __future__ import annotations


def visible(text: str, plain: str = "\n\t") -> str:
    """The text with escapes in place of what cannot be printed, but for these characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in plain else repr(c)[1:-1] for c in text)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
