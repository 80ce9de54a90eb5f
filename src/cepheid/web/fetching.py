"""Pages and robots.txt over HTTP, without a browser."""

from __future__ import annotations

import http.client
import ssl
import string
from dataclasses import dataclass
from email.message import Message
from http.cookiejar import CookieJar, LoadError, LWPCookieJar
from pathlib import Path
from time import monotonic
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from urllib.request import (
    HTTPCookieProcessor,
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
)

from cepheid import __version__
from cepheid.errors import RunError, UsageError, error, reason_of
from cepheid.web.gate import Gate
from cepheid.web.manners import AGENT, Manners
from cepheid.web.settings import Settings

_LARGEST = 64_000_000  # bytes of a page
_PIECE = 2**16
_PAGES = {"text/html", "application/xhtml+xml", "text/plain", ""}


@dataclass(frozen=True, slots=True)
class Answer:
    """What an address gave, and where it finally was."""

    address: str
    body: bytes
    encoding: str | None


class Fetcher:
    """Reads pages; cookies last as long as it, or, with a profile, for ever."""

    def __init__(self, gate: Gate, settings: Settings) -> None:
        self.settings = settings
        self.manners = Manners(self._robots, settings.pause, settings.robots)
        self._jar = LWPCookieJar(_cookies_file(settings.profile))
        if settings.profile is not None:
            try:
                self._jar.load(ignore_discard=True)
            except FileNotFoundError:
                pass
            except (LoadError, OSError) as problem:
                fact = f"cannot read the cookies in '{settings.profile}': {problem}"
                raise UsageError(error("bad-file", fact)) from None
        self._opener = _director(gate, self._jar, _Redirects(self.manners))
        self._plain = _director(gate, self._jar, HTTPRedirectHandler())

    def page(self, address: str) -> Answer:
        """A page; RunError with its reason where it cannot be read."""
        if urlsplit(address).scheme == "file":
            return _file(address)
        reason = ""
        for _ in range(self.settings.retries + 1):
            self.manners.before(address)
            try:
                return self._read(address)
            except HTTPError as problem:
                problem.close()
                reason = f"status {problem.code} {problem.reason}"
                if problem.code < 500:
                    break
            except (
                OSError,
                http.client.HTTPException,
                ValueError,
            ) as problem:  # the last: no address
                reason = reason_of(problem) if isinstance(problem, OSError) else str(problem)
        raise RunError(error("page-failed", f"{address} cannot be read: {reason}"))

    def _read(self, address: str) -> Answer:
        with self._opener.open(_request(address), timeout=self.settings.timeout) as response:
            kind = response.headers.get_content_type() if "content-type" in response.headers else ""
            if kind not in _PAGES or _is_download(response.headers):
                fact = f"{address} is no page but {kind or 'a download'}"
                raise RunError(error("page-failed", fact))
            body = _body(response, address, monotonic() + self.settings.timeout)
            if self.settings.profile is not None:
                Path(self.settings.profile).mkdir(parents=True, exist_ok=True)
                self._jar.save(ignore_discard=True)
            return Answer(response.url, body, response.headers.get_content_charset())

    def _robots(self, address: str) -> tuple[int, str]:
        try:
            with self._plain.open(_request(address), timeout=self.settings.timeout) as response:
                return response.status, response.read(_LARGEST).decode("utf-8", "replace")
        except HTTPError as problem:
            problem.close()
            return problem.code, ""
        except (OSError, http.client.HTTPException, ValueError):
            return 404, ""  # the page itself will say what is wrong


def _request(address: str) -> Request:
    """As browsers ask for it: what no address may have is escaped."""
    parts = urlsplit(address)
    path, query = (quote(part, string.punctuation) for part in (parts.path, parts.query))
    asked = urlunsplit(parts._replace(path=path, query=query))
    return Request(asked, headers={"User-Agent": f"{AGENT}/{__version__}"})


def _cookies_file(profile: str | None) -> str | None:
    return None if profile is None else str(Path(profile) / "cookies.txt")


def _body(response: http.client.HTTPResponse, address: str, until: float) -> bytes:
    """All of it: OSError where it breaks off, or comes in drops for too long."""
    pieces, size = list[bytes](), 0
    while piece := response.read1(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > _LARGEST:
            fact = f"{address} is larger than {_LARGEST:,} bytes"
            raise RunError(error("page-failed", fact))
        if monotonic() > until:
            raise TimeoutError("timed out")
    if response.length:
        raise ConnectionError("it broke off")
    return b"".join(pieces)


def _is_download(headers: Message) -> bool:
    return (headers.get_content_disposition() or "") == "attachment"


def _file(address: str) -> Answer:
    path = Path(unquote(urlsplit(address).path))
    try:
        return Answer(address, path.read_bytes(), None)
    except FileNotFoundError:
        raise UsageError(error("missing-file", f"no file '{path}'")) from None
    except OSError as problem:
        fact = f"cannot read '{path}': {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None


def _director(gate: Gate, jar: CookieJar, redirects: HTTPRedirectHandler) -> OpenerDirector:
    """Only these: neither files nor FTP, and no proxies of the environment.

    Handlers know their director, so that each has its own.
    """
    found = OpenerDirector()
    for handler in (
        _Http(gate),
        _Https(gate),
        HTTPCookieProcessor(jar),
        HTTPDefaultErrorHandler(),
        HTTPErrorProcessor(),
        redirects,
    ):
        found.add_handler(handler)
    return found


class _Redirects(HTTPRedirectHandler):
    """To where one may go; hosts are judged again, and so is robots.txt."""

    def __init__(self, manners: Manners) -> None:
        self.manners = manners

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        self.manners.before(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Http(HTTPHandler):
    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.gate = gate

    def http_open(self, req: Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, req)

    def _connection(self, host: str, **options: Any) -> http.client.HTTPConnection:
        return _Plain(self.gate, host, **options)


class _Https(HTTPSHandler):
    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.gate = gate

    def https_open(self, req: Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, req)

    def _connection(self, host: str, **options: Any) -> http.client.HTTPConnection:
        return _Secure(self.gate, host, **options)


class _Plain(http.client.HTTPConnection):
    def __init__(self, gate: Gate, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self.gate = gate

    def connect(self) -> None:
        self.sock = self.gate.connect(self.host, self.port, self.timeout)


class _Secure(_Plain):
    default_port = 443

    def connect(self) -> None:
        super().connect()
        context = ssl.create_default_context()
        self.sock = context.wrap_socket(self.sock, server_hostname=self.host)
