"""Receivers of actions on this machine: a web server and a mail server, both real."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def key(self) -> str:
        return self.headers["idempotency-key"]


@dataclass(frozen=True, slots=True)
class Answer:
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Web:
    """Remembers what was posted; `answer` is asked what to say, None closes the connection."""

    def __init__(self, answer: Callable[[Request], Answer | None]) -> None:
        self.requests: list[Request] = []
        self.answer = answer
        self.after: Callable[[], None] = lambda: None  # an answer was sent

        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                names = {name.lower(): value for name, value in self.headers.items()}
                request = Request(self.path, names, body)
                web.requests.append(request)
                said = web.answer(request)
                if said is not None:
                    self.send_response(said.status)
                    for name, value in (*said.headers, ("Content-Length", str(len(said.body)))):
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(said.body)
                    self.wfile.flush()
                    web.after()

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def web(answer: Callable[[Request], Answer | None] = lambda _: Answer()) -> Iterator[Web]:
    receiver = Web(answer)
    thread = Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        thread.join()
        receiver.server.server_close()


@dataclass
class Mails:
    """Remembers mails; refuses recipients that start with 'refuse'."""

    port: int = 0
    messages: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    refusal: str = "550 nobody of that name"
    answer: str = "250 OK"  # to a mail
    farewell: str = "221 Bye"

    async def handle_RCPT(  # noqa: N802 (the name that is asked for)
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        if address.startswith("refuse"):
            return self.refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        message = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(message, EmailMessage)
        self.messages.append(message)
        self.recipients.append(list(envelope.rcpt_tos))
        return self.answer

    async def handle_QUIT(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        return self.farewell


@contextmanager
def mails(password: str | None = None) -> Iterator[Mails]:
    """A mail server; with a password one that wants to have it from the user 'me'."""
    received = Mails()

    def authenticate(
        server: Any, session: Any, envelope: Any, mechanism: str, data: object
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        is_right = data == LoginPassword(b"me", (password or "").encode())
        return AuthResult(success=is_right, handled=False)

    login: dict[str, Any] = (
        {"authenticator": authenticate, "auth_required": True, "auth_require_tls": False}
        if password
        else {}
    )
    controller = _OnAnyPort(received, hostname="127.0.0.1", port=0, **login)
    controller.start()
    try:
        received.port = controller.port
        yield received
    finally:
        controller.stop()


class _OnAnyPort(Controller):
    def _trigger_server(self) -> None:
        """The system finds a free port, which is known when the server listens."""
        server: Any = self.server
        self.port = server.sockets[0].getsockname()[1]
        super()._trigger_server()  # type: ignore[no-untyped-call]
