"""Who may speak to the studio: pages that it served itself, on this machine, with its token.

Other pages in the same browser can send requests here, and other names can be made to lead to this
machine; so each request and each web socket is asked for the token, for the name that it calls us by, and
for the page that it comes from.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def policy(nonce: str) -> str:
    """What the page may load: its own bundle. The nonce is for the styles that the editor makes."""
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self';"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
        " require-trusted-types-for 'script'; trusted-types 'none'"
    )


class Guard:
    """Lets pass what may pass, and answers all else with 403."""

    def __init__(self, app: ASGIApp, token: str, names: Iterable[str]) -> None:
        self.app, self.token = app, token.encode()
        self.names = frozenset(names)  # by which we are called, with the port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        reason = self._refusal(scope)
        if reason is None:
            await self.app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": reason})
        else:
            refused = PlainTextResponse(f"{reason}\n", 403, HEADERS)
            await refused(scope, receive, send)

    def _refusal(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        host, origin = headers.getlist("host"), headers.getlist("origin")
        if len(host) != 1 or host[0].lower() not in self.names:
            return "This is not the address of the studio."
        is_socket = scope["type"] == "websocket"
        if (origin or is_socket) and origin != [f"http://{host[0]}"]:
            return "Only the studio's own page may ask for this."
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if len(given) != 1 or not hmac.compare_digest(given[0].encode(), self.token):
            return "Open the studio with the whole address that it printed: it ends with a token."
        return None


def _with_headers(send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return wrapped
