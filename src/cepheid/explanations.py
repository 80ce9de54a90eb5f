"""What each code of a finding means: its cause, an example and what to do, from `codes.md`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_SECTION = re.compile(
    r"^## (?P<code>[\w-]+)\n(?P<cause>.+?)\n\n```(?P<language>\w+)\n(?P<example>.*?)```\n\n(?P<fix>.+?)\n*\Z",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a finding is there, a text that has it, and how to get rid of it."""

    code: str
    cause: str
    language: str  # of the example; 'text' is what Cepheid says
    example: str
    fix: str


@cache
def explanations() -> dict[str, Explanation]:
    """One for each code."""
    text = (files("cepheid") / "codes.md").read_text(encoding="utf-8")
    sections = (
        _SECTION.match(part) for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    )
    return {found["code"]: Explanation(**found.groupdict()) for found in sections if found}
