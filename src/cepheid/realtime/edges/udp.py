"""Events as datagrams, one in each."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from struct import unpack_from
from typing import Any

from cepheid.errors import reason_of
from cepheid.realtime.arrivals import Arrival
from cepheid.realtime.edges.addresses import Address, EdgeError
from cepheid.realtime.edges.traffic import LOOK, MOST, Intake, Sink
from cepheid.realtime.graph import Time
from cepheid.realtime.machine import Sample
from cepheid.realtime.operators.kind import Array
from cepheid.realtime.payload import Payload

MOST_BYTES = 65_507  # of a datagram
_ROOM = 4 << 20  # bytes that may wait in the system while a processor is busy; it may grant less
_LEFT = 100_000  # datagrams that are counted at the end; whoever floods a port is not waited for
# Linux counts the datagrams that found no room.
_MEMORY_INFO, _MEMORY_WORDS, _DROPS = 55, 9, 8


class UdpFeed:
    """What arrives at a port of this machine."""

    def __init__(self, address: Address, intake: Intake) -> None:
        family, place = _resolved(address)
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.settimeout(0)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _ROOM)
        try:
            self._socket.bind(place)
        except OSError as problem:
            self._socket.close()
            raise EdgeError(f"{address} cannot be listened to: {reason_of(problem)}") from None
        self._intake = intake
        self._buffer = memoryview(bytearray(65_536))
        self._due: Time = 0
        self._dropped = 0

    def due(self) -> Time | None:
        return self._due

    def poll(self, now: Time) -> Sequence[Arrival]:
        found: list[Arrival] = []
        self._due = now + LOOK
        for taken in range(MOST):
            try:
                length, sender = self._socket.recvfrom_into(self._buffer)
            except BlockingIOError:
                if taken:
                    self._count_dropped()
                return found
            is_local = _is_local(sender[0])
            found += self._intake.take(self._buffer[:length], now, is_local=is_local)
        self._due = now  # there may be more
        self._count_dropped()
        return found

    def _count_dropped(self) -> None:
        with suppress(OSError):  # other systems do not tell
            info = self._socket.getsockopt(socket.SOL_SOCKET, _MEMORY_INFO, _MEMORY_WORDS * 4)
            dropped = unpack_from(f"{_MEMORY_WORDS}I", info)[_DROPS]
            self._intake.lose(dropped - self._dropped)
            self._dropped = dropped

    def close(self) -> None:
        """What came and was not taken any more is lost."""
        with suppress(OSError):
            for _ in range(_LEFT):
                self._socket.recv_into(self._buffer)
                self._intake.lose(1)
        self._count_dropped()
        self._socket.close()


class UdpSink(Sink):
    def __init__(self, address: Address, payload: Payload) -> None:
        super().__init__(payload)
        family, place = _resolved(address)
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.settimeout(0)
        try:
            self._socket.connect(place)  # so that it is told where nobody listens
        except OSError as problem:
            self._socket.close()
            raise EdgeError(f"{address} cannot be reached: {reason_of(problem)}") from None

    def _send(self, sample: Sample[Array], *, is_late: bool) -> str | None:
        try:
            self._socket.send(self._format.encode(sample, is_late=is_late))
        except OSError as problem:
            return reason_of(problem)
        return None

    def close(self) -> None:
        self._socket.close()


def _resolved(address: Address) -> tuple[int, Any]:
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_DGRAM)
    except OSError as problem:
        raise EdgeError(f"there is no host '{address.host}': {reason_of(problem)}") from None
    family, _, _, _, place = found[0]
    return family, place


def _is_local(host: str) -> bool:
    return host.startswith("127.") or host == "::1"
