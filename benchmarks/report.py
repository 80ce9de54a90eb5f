"""Figures, and how they are shown: a table for people, JSON for programs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from benchmarks.pairs import Ratios

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Goal:
    """What a ratio ought to be."""

    bound: Literal["at least", "at most"]
    value: float

    def is_met(self, ratio: float) -> bool:
        return ratio >= self.value if self.bound == "at least" else ratio <= self.value

    def __str__(self) -> str:
        return f"{self.bound} {self.value:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A ratio, what it was made of, and what else is to be said; without a ratio, why there is none."""

    name: str
    ratio: float | None
    goal: Goal | None = None
    of: dict[str, float] = field(default_factory=dict)  # what was measured, by its unit
    note: str = ""
    is_wrong: bool = False  # results were not what they should be
    interval: tuple[float, float] | None = None  # in which the ratio lies, nineteen times of twenty
    is_strict: bool = False  # all of the interval is to meet the goal

    @classmethod
    def of_pairs(
        cls,
        name: str,
        found: Ratios,
        goal: Goal | None,
        *,
        names: tuple[str, str] = ("seconds", "beside"),
        is_strict: bool = False,
    ) -> Figure:
        """The ratio of two times that were measured in turn."""
        times = zip(names, (found.ours, found.theirs), strict=True)
        return cls(
            name=name,
            ratio=found.median,
            goal=goal,
            of={**{n: statistics.median(t) for n, t in times}, "pairs": len(found.ours)},
            interval=found.interval,
            is_strict=is_strict,
        )

    @property
    def verdict(self) -> str:
        if self.is_wrong:
            return "wrong"
        if self.ratio is None:
            return "not measured"
        if self.goal is None:
            return ""
        judged = self.interval if self.is_strict and self.interval else (self.ratio,)
        return "met" if all(map(self.goal.is_met, judged)) else "missed"


_STYLES = {"met": "green", "missed": "yellow", "wrong": "bold red", "not measured": "dim"}


def show(title: str, figures: Sequence[Figure], console: Console) -> None:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("figure", overflow="fold")
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("95 percent", no_wrap=True)
    table.add_column("goal", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("measured", overflow="fold")
    for figure in figures:
        measured = [f"{name} {_number(value)}" for name, value in figure.of.items()]
        style = _STYLES.get(figure.verdict, "")
        table.add_row(
            figure.name,
            "" if figure.ratio is None else f"{figure.ratio:.3g}",
            "" if figure.interval is None else "{:.3g} to {:.3g}".format(*figure.interval),
            "" if figure.goal is None else str(figure.goal),
            f"[{style}]{figure.verdict}[/]" if style else "",
            "; ".join([*measured, *([figure.note] if figure.note else [])]),
        )
    console.print(table)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"


def save(machine: dict[str, object], figures: Mapping[str, Sequence[Figure]]) -> Path:
    """Everything, as a JSON file named after the time."""
    now = datetime.now(UTC)
    document = {
        "time": now.isoformat(timespec="seconds"),
        "machine": machine,
        "benchmarks": {
            name: [asdict(figure) | {"verdict": figure.verdict} for figure in found]
            for name, found in figures.items()
        },
    }
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{now:%Y%m%dT%H%M%S}.json"
    file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return file
