"""How pages are visited."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.core.checks import need


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How pages are visited; times are seconds."""

    timeout: float = 30.0  # for a page to load, or an element to be ready for an action
    patience: float = 2.0  # for scripts to show what a step looks for
    pause: float = 1.0  # between two pages of one host
    retries: int = 2  # of pages that do not load
    robots: bool = True  # whether robots.txt is honoured
    allow: tuple[str, ...] = ()  # hosts that may have private addresses
    repeats: int = 1_000  # of a star without bounds, before it counts as endless
    profile: str | None = None  # a folder that keeps cookies and logins
    failures: str | None = None  # a folder for screenshots and pages of what failed
    chromium: str | None = None  # the program, where it is not found

    def __post_init__(self) -> None:
        for name in ("timeout", "patience", "pause", "retries", "repeats"):
            need(getattr(self, name) >= 0, f"{name} is never negative")
