"""The way out: every connection goes through here, and private addresses only if the user named them.

A name is looked up once, and the connection goes to the address that was judged: a name that points
somewhere else a moment later leads nowhere else.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import ip_address

from cepheid.errors import Diagnostic, RunError, error


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
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
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
    found = ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_global and not found.is_multicast
