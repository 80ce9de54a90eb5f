"""What a running stream is doing, from the progress that Spark reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from cepheid.cli.terminal.console import counted
from cepheid.core.time import (
    FIRST_INSTANT,
    MICROSECONDS,
    Instant,
    format_instant,
    parse_instant,
)
from cepheid.engines.spark.stream.job import COUNTS, LATE, REJECTS, ROWS
from cepheid.engines.spark.stream.watermarks import Watermarks
from cepheid.jobs.record import Progress


@dataclass(slots=True)
class Status:
    """Sums over all micro-batches so far, and the state after the last one."""

    watermarks: Watermarks
    events: int = 0
    rows: int = 0
    late: int = 0
    rejects: int = 0
    rate: float = 0.0  # events per second, of the last micro-batch that had any
    newest: Instant | None = None  # of all events
    watermark: Instant | None = None
    moved: Instant | None = None  # when the watermark moved last, by the clock on the wall
    state_rows: int = 0
    state_bytes: int = 0
    last: str = ""  # the time of the last report

    def take(self, reports: Iterable[Mapping[str, Any]]) -> bool:
        """Whether any of the reports is new."""
        new = [report for report in reports if report["timestamp"] > self.last]
        for report in new:
            self._add(report)
        return bool(new)

    def _add(self, report: Mapping[str, Any]) -> None:
        self.last = report["timestamp"]
        count = report["numInputRows"]
        if count:
            self.events += count
            self.rate = report.get("processedRowsPerSecond") or 0.0
        counts = report.get("observedMetrics", {}).get(COUNTS, {})
        self.rows += counts.get(ROWS, 0)
        self.late += counts.get(LATE, 0)
        self.rejects += counts.get(REJECTS, 0)
        operators = report.get("stateOperators", ())
        self.state_rows = sum(operator["numRowsTotal"] for operator in operators)
        self.state_bytes = sum(operator["memoryUsedBytes"] for operator in operators)
        times = report.get("eventTime", {})
        if "max" in times:
            newest = self.watermarks.ours(_milliseconds(times["max"]))
            self.newest = max((t for t in (newest, self.newest) if t is not None), default=None)
        watermark = self.watermarks.ours(_milliseconds(times.get("watermark", _NONE)))
        if watermark is not None and watermark != self.watermark:
            self.watermark = watermark
            self.moved = parse_instant(self.last)

    def progress(self) -> Progress:
        """The same for the record of a job."""
        return Progress(
            events=self.events,
            events_per_second=self.rate,
            rows=self.rows,
            late=self.late,
            rejected=self.rejects,
            watermark=None if self.watermark is None else _shown(self.watermark),
        )

    def facts(self) -> dict[str, str]:
        """What there is to say, in the order in which it is shown."""
        facts = {
            "events": f"{self.events:,}",
            "events/s": f"{self.rate:,.0f}",
            "rows found": f"{self.rows:,}",
            "watermark": "none yet" if self.watermark is None else _shown(self.watermark),
            "held back": self._held(),
            "state": f"{counted(self.state_rows, 'row')}, {_size(self.state_bytes)}",
        }
        facts |= {
            name: f"{count:,}"
            for name, count in (("late", self.late), ("rejected", self.rejects))
            if count
        }
        return facts

    def _held(self) -> str:
        """Events after the watermark wait for it: since when, and what it waits for itself."""
        if self.newest is None:
            return "nothing: no event has a time yet" if self.events else "nothing"
        if self.watermark is not None and self.newest <= self.watermark:
            return "nothing"
        newest = _shown(self.newest)
        if self.watermark is None or self.moved is None:
            return f"all events, up to {newest}; the watermark comes with the next micro-batch"
        held = f"events after the watermark, up to {newest}"
        if self.newest - self.watermarks.delay * 1_000 > self.watermark:
            return f"{held}; it goes on with the next micro-batch"
        since = format_instant(self.moved)
        return f"{held}; it stands since {since}, as no event after {newest} has come"

    def line(self) -> str:
        return "; ".join(f"{name} {value}" for name, value in self.facts().items())

    def table(self) -> Table:
        table = Table.grid(padding=(0, 2, 0, 0))
        for name, value in self.facts().items():
            table.add_row(name, value)
        table.columns[0].style = "dim"
        return table


_NONE = "1970-01-01T00:00:00.000Z"  # what Spark says before there is a watermark


_GREGORIAN = 400 * 365 + 97  # days of four hundred years, after which the calendar repeats


def _milliseconds(text: str) -> int:
    """What Spark writes of a moment; its years may have five digits."""
    year, rest = text.split("-", 1)
    cycles = max(0, int(year) // 400 - 5)
    earlier = parse_instant(f"{int(year) - 400 * cycles:04}-{rest}")
    return (earlier + cycles * _GREGORIAN * MICROSECONDS["days"]) // 1_000


def _shown(instant: Instant) -> str:
    """An instant, which may be before the first that the calendar has."""
    return format_instant(max(instant, FIRST_INSTANT))


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB"):
        if size < 1_000:
            return f"{size:.0f} {unit}"
        size /= 1_000
    return f"{size:,.1f} MB"
