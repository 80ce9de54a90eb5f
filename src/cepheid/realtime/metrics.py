"""What is measured of a graph at work: latencies, deliveries in time, load, what was shed, what waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cepheid.realtime.graph import Consumer, Graph, Level, Time
from cepheid.realtime.histogram import Histogram
from cepheid.realtime.machine import Delivery


@dataclass(slots=True)
class Deliveries:
    """Of a consumer."""

    consumer: Consumer
    latencies: Histogram = field(default_factory=Histogram)
    late: int = 0
    timely_bytes: int = 0

    @property
    def count(self) -> int:
        return self.latencies.count

    @property
    def timely(self) -> int:
        return self.count - self.late


@dataclass(slots=True)
class Metrics:
    """`released` counts events by source and cause, which docs/realtime.md lists."""

    consumers: dict[str, Deliveries]
    processors: int
    begin: Time = 0
    end: Time = 0
    busy: Time = 0  # of all processors together
    released: Mapping[tuple[str, str], int] = field(default_factory=dict)
    waiting: Mapping[Level, tuple[int, int, int]] = field(default_factory=dict)
    pushed: int = 0
    executions: int = 0

    @classmethod
    def of(cls, graph: Graph, processors: int) -> Metrics:
        return cls({each.name: Deliveries(each) for each in graph.consumers}, processors)

    def deliver(self, delivery: Delivery[Any], size: int = 0) -> None:
        """A delivery of so many bytes."""
        found = self.consumers[delivery.consumer.name]
        found.latencies.add(delivery.latency)
        if delivery.is_late:
            found.late += 1
        else:
            found.timely_bytes += size

    @property
    def seconds(self) -> float:
        return (self.end - self.begin) / 1_000_000_000

    @property
    def utilisation(self) -> float:
        """How much of the processors' time was used."""
        whole = (self.end - self.begin) * self.processors
        return self.busy / whole if whole else 0.0

    @property
    def timely_throughput(self) -> float:
        """Megabits a second that came in time."""
        sent = sum(each.timely_bytes for each in self.consumers.values())
        return sent * 8 / 1_000_000 / self.seconds if self.seconds else 0.0

    @property
    def left(self) -> int:
        """Jobs that waited when a run ended."""
        return sum(sum(lengths) for lengths in self.waiting.values())

    def lost(self, cause: str) -> int:
        return sum(count for (_, why), count in self.released.items() if why == cause)
