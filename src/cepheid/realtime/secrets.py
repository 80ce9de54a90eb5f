"""What should stand in no file: keys and passwords, which a file may name instead of telling them."""

from __future__ import annotations

import os


def secret(text: str) -> str:
    """The text itself, or that of a variable of the environment, `$NAME`; ValueError where it is not set."""
    if not text.startswith("$"):
        return text
    found = os.environ.get(text[1:])
    if found is None:
        raise ValueError(f"names the variable {text[1:]}, which is not set")
    return found
