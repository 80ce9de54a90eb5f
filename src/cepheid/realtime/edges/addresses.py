"""Addresses of edges: `mqtt://host:port/topic`, `udp://host:port`, `shm://name`.

`mqtts://user:password@host/topic` is a broker that wants to know who one is, over TLS. Who sees an address
as a text sees no password.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

_PORTS = {"mqtt": 1883, "mqtts": 8883}
_BROKERS = tuple(_PORTS)
_SCHEMES = (*_BROKERS, "udp", "shm")


class EdgeError(ValueError):
    """An address that makes no sense, or one where nothing answers."""


@dataclass(frozen=True, slots=True)
class Address:
    scheme: str
    host: str
    port: int
    name: str  # a topic, or a piece of memory
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def is_of_broker(self) -> bool:
        return self.scheme in _BROKERS

    @property
    def is_secure(self) -> bool:
        return self.scheme == "mqtts"

    def __str__(self) -> str:
        if self.scheme == "shm":
            return f"shm://{self.name}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}" + (f"/{self.name}" if self.name else "")


def address_of(text: str) -> Address:
    """EdgeError with what is wrong; it tells no password."""
    try:
        parts = urlsplit(text, allow_fragments=False)  # '#' is a part of topics
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError as wrong:
        raise EdgeError(f"this is no address: {wrong}") from None
    if parts.scheme not in _SCHEMES:
        raise EdgeError("an address begins with mqtt://, mqtts://, udp:// or shm://")
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    if parts.query:
        raise EdgeError(f"'{shown}' has options, and an address has none")
    if parts.scheme in _BROKERS:
        return _broker(parts, port, shown)
    if "@" in parts.netloc:
        raise EdgeError(f"'{shown}' asks nobody for a user: only MQTT brokers do")
    host, name = parts.hostname or "", parts.path.strip("/")
    if parts.scheme == "shm":
        host, name = "", (parts.netloc + parts.path).strip("/")
        if not name or "/" in name:
            raise EdgeError(f"'{shown}' lacks a name: shm://radar")
    elif name or not (host and port):
        raise EdgeError(f"'{shown}' is not a host and a port: udp://127.0.0.1:9000")
    return Address(parts.scheme, host, port, name)


def _broker(parts: SplitResult, port: int, shown: str) -> Address:
    host, topic = parts.hostname or "", parts.path.strip("/")
    if not (host and topic):
        raise EdgeError(f"'{shown}' lacks a host or a topic: mqtt://localhost/sensors/radar")
    _need_topic(shown, topic)
    user = None if parts.username is None else unquote(parts.username)
    password = None if parts.password is None else unquote(parts.password)
    if password is not None and not user:
        raise EdgeError(f"'{shown}' has a password, and no user")
    return Address(parts.scheme, host, port, topic, user or None, password)


def _need_topic(text: str, topic: str) -> None:
    *upper, last = topic.split("/")
    if any("#" in level for level in upper) or ("#" in last and last != "#"):
        raise EdgeError(f"'{text}': '#' stands alone at the end of a topic")
    if any("+" in level and level != "+" for level in (*upper, last)):
        raise EdgeError(f"'{text}': '+' stands alone between two '/' of a topic")
