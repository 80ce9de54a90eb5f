"""Posts an action to a web hook as JSON, with its key in the header `Idempotency-Key`."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes, urlsplit

from cepheid.actions.action import Action, encode_line
from cepheid.actions.delivery import HIDDEN, DeliveryFailed
from cepheid.actions.settings import Settings
from cepheid.core.templates import Template
from cepheid.errors import reason_of

if TYPE_CHECKING:
    from http.client import HTTPConnection

# What may be different the next time, beside all that is the server's fault (5xx).
_PASSING = {408, 409, 425, 429}
_READ = 1 << 16  # bytes of an answer
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class WebHook:
    """`body` are the members of what is posted, by default the row of the action."""

    url: str = field(repr=False)
    body: tuple[tuple[str, Template], ...] = ()
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    timeout: float = 10.0
    is_secret: bool = False  # whether the URL is

    @classmethod
    def read(cls, settings: Settings) -> WebHook:
        is_secret = settings.has("url_env")
        url = settings.secret("url") if is_secret else settings.text("url")
        if url and _is_no_url(url):
            settings.wrong("url", "this is no URL of http or https")
            url = ""
        url, credentials = _without_credentials(url)
        if credentials and not is_secret:
            settings.wrong(
                "url", "a file has no place for secrets; use url_env, token_env or headers_env"
            )
        token = settings.secret("token", required=False)
        headers = [*settings.pairs("headers"), *settings.secrets("headers_env")]
        if token and credentials:
            settings.wrong("url", "it names who calls, and so does the token")
        if token or credentials:
            headers.append(("Authorization", f"Bearer {token}" if token else credentials))
        for name, value in headers:
            if not _HEADER.fullmatch(name) or not _is_header_value(value):
                settings.wrong("headers", f"a header '{name}' cannot have this name or value")
        body = settings.templates("body")
        return cls(url, body, tuple(headers), settings.seconds("timeout", 10.0), is_secret)

    def deliver(self, action: Action, now: float) -> None:
        from http.client import HTTPException

        connection, path = self._connection()
        try:
            connection.request("POST", path, self._body(action), self._headers(action))
            answer = connection.getresponse()
            text = answer.read(_READ)
        except (OSError, HTTPException) as problem:
            known = reason_of(problem) if isinstance(problem, OSError) else None
            reason = known or str(problem) or type(problem).__name__
            raise DeliveryFailed(f"no answer: {reason}") from None
        finally:
            connection.close()
        if not 200 <= answer.status < 300:
            after = _seconds(answer.getheader("Retry-After"), now)
            is_passing = answer.status >= 500 or answer.status in _PASSING
            reason = f"HTTP {answer.status} {answer.reason}".rstrip()
            said = text.decode(errors="replace").strip()
            raise DeliveryFailed(
                f"{reason}: {said}" if said else reason, permanent=not is_passing, after=after
            )

    def describe(self, action: Action) -> str:
        url = HIDDEN if self.is_secret else self.url
        return f"post to {url}: {self._body(action).decode().rstrip()}"

    def _connection(self) -> tuple[HTTPConnection, str]:
        from http.client import HTTPConnection, HTTPSConnection

        url = urlsplit(self.url)
        kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
        path = quote(url.path or "/", safe="/%:@!$&'()*+,;=~") + (
            f"?{url.query}" if url.query else ""
        )
        return kind(url.hostname or "", url.port, timeout=self.timeout), path

    def _body(self, action: Action) -> bytes:
        members = {name: value.value(action.names) for name, value in self.body}
        return encode_line(members or action.row())

    def _headers(self, action: Action) -> dict[str, str]:
        return {
            "Content-Type": "application/json",
            "User-Agent": "cepheid",
            "Idempotency-Key": quote(action.key, safe="/:,-_.+%"),
            **dict(self.headers),
        }


def _is_header_value(value: str) -> bool:
    try:
        value.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return value.isprintable()


def _is_no_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_known = None
    return not is_known or not url.isascii() or not url.isprintable() or " " in url


def _without_credentials(url: str) -> tuple[str, str]:
    """The URL as it may be shown and looked up, and the header that says who calls, or nothing."""
    parts = urlsplit(url)
    known, _, place = parts.netloc.rpartition("@")
    if not known:
        return url, ""
    said = unquote_to_bytes(known if ":" in known else f"{known}:")
    return parts._replace(netloc=place).geturl(), f"Basic {b64encode(said).decode()}"


def _seconds(retry_after: str | None, now: float) -> float | None:
    """How long a receiver wants us to wait: seconds, or the time when to return."""
    if retry_after is None:
        return None
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, float(int(retry_after)))
    except ValueError:
        pass
    except OverflowError:
        return None
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - now)
    except (ValueError, OverflowError):
        return None
