"""The way out: every connection goes through here, and private addresses only if the user named them.

A name is looked up once, and the connection goes to the address that was judged: a name that points
somewhere else a moment later leads nowhere else.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from cepheid.errors import Diagnostic, RunError, error

# Networks whose addresses have an old one in their last four bytes (RFC 6052, RFC 4291).
_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))


class Gate:
    """Opens connections to public addresses, and to those of hosts that the user named."""

    def __init__(self, named: Iterable[str] = ()) -> None:
        self.named = {name.lower() for name in named}
        self.refused: list[Diagnostic] = []

    def name(self, host: str | None) -> None:
        """The user asked for this host."""
        if host:
            self.named.add(host.lower())

    def connect(self, host: str, port: int, timeout: float | None) -> socket.socket:
        """OSError where nobody answers; RunError where nobody may ask."""
        try:
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError:  # what no name of a host can be
            raise OSError(f"'{host}' is no host") from None
        self._judge(host, port, [str(each[4][0]) for each in addresses])
        failed: OSError | None = None
        for family, kind, protocol, _, address in addresses:
            found = socket.socket(family, kind, protocol)
            found.settimeout(timeout)
            try:
                found.connect(address)
            except OSError as problem:
                found.close()
                failed = problem
            else:
                return found
        raise failed or OSError(f"no address of {host}")

    def _judge(self, host: str, port: int, addresses: Iterable[str]) -> None:
        if host.lower() in self.named or f"{host.lower()}:{port}" in self.named:
            return
        private = next((each for each in addresses if not is_public(each)), None)
        if private is not None:
            fact = f"'{host}' has the private address {private}"
            hint = f"if you mean it, name it: --allow {host}"
            refusal = error("refused-address", fact, hint=hint)
            self.refused.append(refusal)
            raise RunError(refusal)


def is_public(address: str) -> bool:
    found = _meant(ip_address(address.partition("%")[0]))
    return found.is_global and not found.is_multicast


def _meant(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The old address to which a new one only leads, through whatever translates it."""
    if isinstance(address, IPv4Address):
        return address
    if any(address in network for network in _TRANSLATED):
        return IPv4Address(int(address) % 2**32)
    return address.ipv4_mapped or address.sixtofour or address
