"""What a page's host may ask of its visitors: not too often, and not what robots.txt keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic, sleep
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

from cepheid.errors import RunError, error

AGENT = "cepheid"

Fetch = Callable[[str], tuple[int, str]]  # of an address: the status and the text


@dataclass(slots=True)
class Manners:
    """Asked before each visit; `fetch` reads robots.txt."""

    fetch: Fetch
    pause: float
    honours_robots: bool = True
    clock: Callable[[], float] = monotonic
    rest: Callable[[float], None] = sleep
    _last: dict[str, float] = field(default_factory=dict)
    _rules: dict[str, RobotFileParser] = field(default_factory=dict)

    def before(self, address: str) -> None:
        """Waits for the host's sake; RunError where robots.txt asks to stay away."""
        host = urlsplit(address).netloc
        rules = self.permit(address)
        if host:
            wish = rules.crawl_delay(AGENT) if rules is not None else None
            self._rest(host, max(self.pause, float(wish or 0)))

    def permit(self, address: str) -> RobotFileParser | None:
        """The rules of a host that has some; RunError where they forbid this address."""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not self.honours_robots:
            return None
        rules = self._rules_of(f"{parts.scheme}://{parts.netloc}")
        if not rules.can_fetch(AGENT, address):
            fact = f"robots.txt of {parts.netloc} asks not to read {parts.path or '/'}"
            hint = "with the owner's consent: --ignore-robots"
            raise RunError(error("refused-address", fact, hint=hint))
        return rules

    def _rest(self, host: str, pause: float) -> None:
        last = self._last.get(host)
        if last is not None and (left := last + pause - self.clock()) > 0:
            self.rest(left)
        self._last[host] = self.clock()

    def _rules_of(self, origin: str) -> RobotFileParser:
        if origin not in self._rules:
            rules = RobotFileParser()
            status, text = self.fetch(f"{origin}/robots.txt")
            if status >= 500:
                fact = f"robots.txt of {origin} cannot be read: status {status}"
                raise RunError(error("refused-address", fact))
            # What is not there forbids nothing.
            rules.parse(text.splitlines() if status < 400 else [])
            self._rules[origin] = rules
        return self._rules[origin]
