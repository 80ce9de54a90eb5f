"""Sites on loopback: an airport with tabs, a form and pages of arrivals, and a place to leave messages."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

Query = dict[str, str]
Reply = tuple[int, dict[str, str], str]
Route = Callable[[Query, dict[str, str]], "str | Reply"]


@dataclass
class LocalSite:
    """Pages by their paths; `asked` has what was asked for, in order."""

    port: int = 0
    routes: dict[str, Route] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def page(self, path: str, body: str) -> str:
        self.routes[path] = lambda *_: body
        return self.url(path)

    def asked_for(self, path: str) -> int:
        return sum(urlsplit(each).path == path for each in self.asked)


@contextmanager
def serving(certificate: Path | None = None) -> Iterator[LocalSite]:
    """A server; with a certificate, one that speaks TLS."""
    site = LocalSite()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            site.asked.append(self.path)
            self._reply(parts.path, parts.query)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            site.asked.append(f"{self.path}?{body}")
            self._reply(self.path, body)

        def _reply(self, path: str, query: str) -> None:
            route = site.routes.get(path)
            fields = {name: values[0] for name, values in parse_qs(query).items()}
            found = route(fields, dict(self.headers)) if route else (404, {}, "nothing here")
            status, headers, body = found if isinstance(found, tuple) else (200, {}, found)
            sent = body.encode()
            self.send_response(status)
            for name, value in {"content-type": "text/html; charset=utf-8", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    site.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# The airport.

FLIGHTS = {
    ("LHR", "6-12"): [
        ("New York (JFK)", "BA 112", "06:00 AM", "May 21 2013"),
        ("Washington (IAD)", "UA 918", "06:02 AM", "May 21 2013"),
        ("Washington (IAD)", "VS 22", "06:03 AM", "May 21 2013"),
    ],
    ("LHR", "12-18"): [
        ("Vancouver (YVR)", "VS 96", "12:02 PM", "May 21 2013"),
        ("San Francisco (SFO)", "BA 286", "12:07 PM", "May 21 2013"),
    ],
}
_ROWS = 2  # on a page

AIRPORT = """\
<html><head><title>Arrivals</title></head><body>
<a id="panel0" href="#" onclick="document.getElementById('airport').hidden = false; return false">By airport</a>
<form id="flightForm" action="/arrivals"><input name="number"><button>Search</button></form>
<div id="airport" hidden><form id="qbaForm" action="/arrivals">
<input type="hidden" name="kind" value="qba">
<input name="airport"><input name="airline">
<select name="period"><option>6-12</option><option>12-18</option></select>
<button>Search</button></form></div></body></html>
"""


def arrivals(query: Query, _: dict[str, str]) -> str:
    """A page of the table, with a link to the next one."""
    flights = FLIGHTS.get((query.get("airport", ""), query.get("period", "")), [])
    number = int(query.get("page", "1"))
    shown = flights[(number - 1) * _ROWS : number * _ROWS]
    rows = "".join(
        f"<tr><td>{place}</td><td>{flight}</td><td>{time}<div>{day}</div></td></tr>"
        for place, flight, time, day in shown
    )
    following = ""
    if len(flights) > number * _ROWS:
        target = f"/arrivals?airport={query['airport']}&period={query['period']}&page={number + 1}"
        following = f'<a href="{target}">Next ></a>'
    return (
        "<html><head><title>Arrivals</title></head><body>"
        f'<table id="flifo"><tr><th>From</th><th>Flight</th><th>Due</th></tr>{rows}</table>'
        f"{following}</body></html>"
    )


def airport(site: LocalSite) -> str:
    site.page("/", AIRPORT)
    site.routes["/arrivals"] = arrivals
    return site.url()


# The place for messages.

LOGIN = """\
<html><body><form method="post" action="/login"><input id="username" name="u"><input id="password"
 name="p" type="password"><a title="Tweet" href="#" onclick="this.closest('form').submit()">Log in</a></form></body></html>
"""
WRITE = """\
<html><body><form method="post" action="/post"><textarea class="tweetbox big" name="text"></textarea>
<input type="submit" value="Tweet"></form></body></html>
"""


def messages(site: LocalSite, posted: list[str]) -> str:
    def login(query: Query, _: dict[str, str]) -> Reply:
        is_known = (query.get("u"), query.get("p")) == ("user@example.com", "passme")
        cookie = {"set-cookie": "who=user; Path=/"} if is_known else {}
        return 303, {"location": "/write" if is_known else "/session/new", **cookie}, ""

    def write(_: Query, headers: dict[str, str]) -> str:
        return WRITE if "who=user" in headers.get("Cookie", "") else LOGIN

    def post(query: Query, headers: dict[str, str]) -> str:
        if "who=user" in headers.get("Cookie", ""):
            posted.append(query.get("text", ""))
        return f"<html><body><p class='receipt'>no. <b>{len(posted)}</b></p></body></html>"

    site.page("/session/new", LOGIN)
    site.routes |= {"/login": login, "/write": write, "/post": post}
    return site.url("/session/new")
