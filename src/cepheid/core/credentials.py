"""Addresses without the names and passwords in them, which are not for everyone who reads a message."""

from __future__ import annotations

import re

_CREDENTIALS = re.compile(r"(?<=://)[^\s/@'\"]+(?=@)")


def without_credentials(text: str) -> str:
    """The same text, as long as it was."""
    return _CREDENTIALS.sub(lambda found: "*" * len(found[0]), text)
