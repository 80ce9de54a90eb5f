"""What all edges share: who gets what comes from an address, what is sent to one, and what is counted."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

from cepheid.errors import UsageError, error
from cepheid.realtime.arrivals import Arrival
from cepheid.realtime.edges.wire import Format, Rejected
from cepheid.realtime.graph import Time
from cepheid.realtime.machine import Delivery, Sample
from cepheid.realtime.operators.kind import Array
from cepheid.realtime.payload import Payload
from cepheid.realtime.recorded import fitted

LOOK: Time = (
    250_000  # how long an edge where nothing was is left alone, so that processors may rest
)
MOST = 64  # messages that are taken at once, before there is time for jobs


@dataclass(slots=True)
class Traffic:
    """What came for a supplier, or left for a consumer."""

    received: int = 0
    rejected: int = 0  # for they are no events of the supplier
    sent: int = 0  # as far as this machine knows
    lost: int = 0  # for nobody took them in time, or they could not be sent
    reason: str | None = None  # of the first that was rejected, or could not be sent

    def __str__(self) -> str:
        counts = {
            "received": self.received,
            "sent": self.sent,
            "rejected": self.rejected,
            "lost": self.lost,
        }
        told = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        return f"{told or 'nothing came or went'}{f' ({self.reason})' if self.reason else ''}"

    def reject(self, reason: str) -> None:
        self.rejected += 1
        self.reason = self.reason or reason

    def lose(self, reason: str) -> None:
        self.lost += 1
        self.reason = self.reason or reason


class Intake:
    """The suppliers of an address, each of which is offered all that comes.

    An event is valid from its creation on, which its sender knows. Clocks of two machines differ, though:
    so the sender's time counts where it has the clock of this machine, and that of the arrival elsewhere.
    No event is created after it has arrived.
    """

    def __init__(self, payloads: Mapping[str, Payload]) -> None:
        self.traffic = {name: Traffic() for name in payloads}
        self.formats = [Format(each) for each in payloads.values()]
        self._takers = list(zip(payloads, self.formats, self.traffic.values(), strict=True))

    def take(
        self, message: bytes | memoryview, now: Time, *, is_local: bool = False
    ) -> Iterator[Arrival]:
        for name, format, traffic in self._takers:
            try:
                head, value = format.decode(message)
            except Rejected as wrong:
                traffic.reject(str(wrong))
                continue
            traffic.received += 1
            begin = min(head.begin, now) if is_local and head is not None else now
            yield Arrival(begin, name, value)

    def reject(self, reason: str) -> None:
        for each in self.traffic.values():
            each.reject(reason)

    def tell(self, reason: str) -> None:
        for each in self.traffic.values():
            each.reason = each.reason or reason

    def lose(self, count: int) -> None:
        for each in self.traffic.values():
            each.lost += count


class Sink(ABC):
    """Sends events to an address. It never waits: what cannot be sent at once is lost, and counted."""

    def __init__(self, payload: Payload) -> None:
        self.traffic = Traffic()
        self._format = Format(payload)
        self._number = 0

    def send(self, delivery: Delivery[Array]) -> None:
        self._count(self._send(delivery.sample, is_late=delivery.is_late))

    def send_value(self, value: Any, begin: Time | None = None) -> None:
        """As a supplier does: an event with its time of creation, by default now."""
        import numpy as np

        payload = self._format.payload
        try:
            array = fitted(payload, np.atleast_1d(np.asarray(value)))
        except (TypeError, ValueError) as wrong:
            raise _misfit(payload, f": {wrong}") from None
        if array.shape != (payload.size,):
            raise _misfit(payload)
        try:
            begin = index(time.time_ns() if begin is None else begin)
        except TypeError:
            fact = f"an event begins at whole nanoseconds, as time.time_ns() tells, not {begin!r}"
            raise UsageError(error("usage", fact)) from None
        self._number += 1
        self._count(self._send(Sample("", self._number, begin, 0, begin, array), is_late=False))

    @abstractmethod
    def _send(self, sample: Sample[Array], *, is_late: bool) -> str | None:
        """Why it could not be sent; None where it was."""

    @abstractmethod
    def close(self) -> None: ...

    def _count(self, problem: str | None) -> None:
        if problem is None:
            self.traffic.sent += 1
        else:
            self.traffic.lose(problem)

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _misfit(payload: Payload, wrong: str = "") -> UsageError:
    return UsageError(
        error("usage", f"a value that is sent as {payload} is an array of that{wrong}")
    )
