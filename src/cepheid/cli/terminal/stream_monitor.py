"""What a running stream is doing, from the progress that Spark reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from cepheid.cli.terminal.console import counted
from cepheid.core.time import Instant, format_instant, parse_instant
from cepheid.engines.spark.stream.job import INPUT, ROWS


@dataclass(slots=True)
class Status:
    """Sums over all micro-batches so far, and the state after the last one."""

    delay: int  # microseconds that an event may come late
    events: int = 0
    rows: int = 0
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
        counts = report.get("observedMetrics", {})
        self.rows += counts.get(ROWS, {}).get("rows", 0)
        self.rejects += counts.get(INPUT, {}).get("rejects", 0)
        operators = report.get("stateOperators", ())
        self.state_rows = sum(operator["numRowsTotal"] for operator in operators)
        self.state_bytes = sum(operator["memoryUsedBytes"] for operator in operators)
        times = report.get("eventTime", {})
        if "max" in times:
            newest = parse_instant(times["max"])
            self.newest = newest if self.newest is None else max(self.newest, newest)
        self._move(parse_instant(times.get("watermark", _NONE)))

    def _move(self, spark: Instant) -> None:
        """Spark waits twice as long as the program: what comes in between is reported as late."""
        watermark = spark + self.delay
        if spark > 0 and watermark != self.watermark:
            self.watermark = watermark
            self.moved = parse_instant(self.last)

    def facts(self) -> dict[str, str]:
        """What there is to say, in the order in which it is shown."""
        facts = {
            "events": f"{self.events:,}",
            "events/s": f"{self.rate:,.0f}",
            "rows found": f"{self.rows:,}",
            "watermark": "none yet" if self.watermark is None else format_instant(self.watermark),
            "held back": self._held(),
            "state": f"{counted(self.state_rows, 'row')}, {_size(self.state_bytes)}",
        }
        if self.rejects:
            facts["rejected"] = f"{self.rejects:,}"
        return facts

    def _held(self) -> str:
        """Events after the watermark wait for it; since when is when it moved last."""
        if self.newest is None or (self.watermark is not None and self.newest <= self.watermark):
            return "nothing"
        if self.watermark is None or self.moved is None:
            return f"all events, up to {format_instant(self.newest)}"
        newest, since = format_instant(self.newest), format_instant(self.moved)
        return f"events after the watermark, up to {newest}; it stands since {since}"

    def line(self) -> str:
        return "; ".join(f"{name} {value}" for name, value in self.facts().items())

    def table(self) -> Table:
        table = Table.grid(padding=(0, 2, 0, 0))
        for name, value in self.facts().items():
            table.add_row(name, value)
        table.columns[0].style = "dim"
        return table


_NONE = "1970-01-01T00:00:00.000Z"  # what Spark says before there is a watermark


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB"):
        if size < 1_000:
            return f"{size:.0f} {unit}"
        size /= 1_000
    return f"{size:,.1f} MB"
