"""Addresses of edges: `mqtt://host:port/topic`, `udp://host:port`, `shm://name`."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

_PORTS = {"mqtt": 1883}
SCHEMES = ("mqtt", "udp", "shm")


class EdgeError(ValueError):
    """An address that makes no sense, or one where nothing answers."""


@dataclass(frozen=True, slots=True)
class Address:
    scheme: str
    host: str
    port: int
    name: str  # a topic, or a piece of memory

    def __str__(self) -> str:
        if self.scheme == "shm":
            return f"shm://{self.name}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}" + (f"/{self.name}" if self.name else "")


def address_of(text: str) -> Address:
    """EdgeError with what is wrong."""
    try:
        parts = urlsplit(text, allow_fragments=False)  # '#' is a part of topics
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError as wrong:
        raise EdgeError(f"'{text}' is no address: {wrong}") from None
    if parts.scheme not in SCHEMES:
        raise EdgeError(f"'{text}' is no address: it begins with mqtt://, udp:// or shm://")
    if "@" in parts.netloc or parts.query:
        raise EdgeError("an address has neither a user nor options")
    host, name = parts.hostname or "", parts.path.strip("/")
    if parts.scheme == "shm":
        host, name = "", (parts.netloc + parts.path).strip("/")
    if parts.scheme == "udp" and (name or not (host and port)):
        raise EdgeError(f"'{text}' is not a host and a port: udp://127.0.0.1:9000")
    if parts.scheme == "mqtt":
        if not (host and name):
            raise EdgeError(f"'{text}' lacks a host or a topic: mqtt://localhost/sensors/radar")
        _need_topic(text, name)
    if parts.scheme == "shm" and (not name or "/" in name):
        raise EdgeError(f"'{text}' lacks a name: shm://radar")
    return Address(parts.scheme, host, port, name)


def _need_topic(text: str, topic: str) -> None:
    *upper, last = topic.split("/")
    if any("#" in level for level in upper) or ("#" in last and last != "#"):
        raise EdgeError(f"'{text}': '#' stands alone at the end of a topic")
    if any("+" in level and level != "+" for level in (*upper, last)):
        raise EdgeError(f"'{text}': '+' stands alone between two '/' of a topic")
