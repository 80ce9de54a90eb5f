"""The gate as a proxy (SOCKS 5), through which a browser has to go: it looks up no names itself."""

from __future__ import annotations

import selectors
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread

from cepheid.errors import RunError
from cepheid.web.gate import Gate

_TIMEOUT = 30.0  # seconds for a connection to be made
_CHUNK = 65_536
_CONNECTED, _FORBIDDEN, _UNREACHABLE, _UNKNOWN = 0, 2, 4, 7
_BY_IPV4, _BY_NAME, _BY_IPV6 = 1, 3, 4


@contextmanager
def serving(gate: Gate) -> Iterator[str]:
    """The address of a proxy that lets through what the gate does."""

    class Handler(_Handler):
        the_gate = gate

    with _Server(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"socks5://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False  # browsers keep connections open as long as they like
    request_queue_size = 128


class _Handler(BaseRequestHandler):
    the_gate: Gate

    def handle(self) -> None:
        with suppress(OSError, EOFError, UnicodeError):  # the last: a name that can be none
            self._serve()

    def _serve(self) -> None:
        browser: socket.socket = self.request
        browser.settimeout(_TIMEOUT)
        _, count = _exactly(browser, 2)
        _exactly(browser, count)  # ways to log in, of which none is needed
        browser.sendall(b"\x05\x00")
        _, command, _, kind = _exactly(browser, 4)
        host = _host(browser, kind)
        (port,) = struct.unpack("!H", _exactly(browser, 2))
        if command != 1:
            _answer(browser, _UNKNOWN)
            return
        try:
            site = self.the_gate.connect(host, port, _TIMEOUT)
        except RunError:
            _answer(browser, _FORBIDDEN)
            return
        except OSError:
            _answer(browser, _UNREACHABLE)
            return
        with site:
            _answer(browser, _CONNECTED)
            _splice(browser, site)


def _exactly(sender: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        piece = sender.recv(count - len(found))
        if not piece:
            raise EOFError
        found += piece
    return found


def _host(browser: socket.socket, kind: int) -> str:
    if kind == _BY_NAME:
        return _exactly(browser, _exactly(browser, 1)[0]).decode("idna")
    family, length = (socket.AF_INET, 4) if kind == _BY_IPV4 else (socket.AF_INET6, 16)
    return socket.inet_ntop(family, _exactly(browser, length))


def _answer(browser: socket.socket, code: int) -> None:
    browser.sendall(bytes([5, code, 0, _BY_IPV4, 0, 0, 0, 0, 0, 0]))


def _splice(one: socket.socket, other: socket.socket) -> None:
    """Passes on what either says until one of them is done."""
    with selectors.DefaultSelector() as ready:
        for each, peer in ((one, other), (other, one)):
            each.settimeout(None)
            ready.register(each, selectors.EVENT_READ, peer)
        while True:
            for key, _ in ready.select():
                assert isinstance(key.fileobj, socket.socket)
                piece = key.fileobj.recv(_CHUNK)
                if not piece:
                    return
                key.data.sendall(piece)
