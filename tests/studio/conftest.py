"""A studio in this process, on a port of its own, and pages that talk to it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from websockets import Origin
from websockets.sync.client import ClientConnection, connect

from cepheid.studio.folder import Folder
from cepheid.studio.limits import Limits
from cepheid.studio.room import Room
from cepheid.studio.server import HOST, server_on

TOKEN = "the-token-of-tests"
PROGRAM = """\
create schema A (id string, x int);
create schema B (id string, x int);

@Name('Pair')
insert into Pair
select a.id as id, a.x as first, b.x as second
from pattern [every a=A -> b=B(b.id = a.id) where timer:within(10 seconds)];

@Name('Big')
insert into Big select id, second from Pair(second > 5);
"""
EVENTS = """\
{"@type": "A", "@time": 1, "id": "k", "x": 1}
{"@type": "B", "@time": 2, "id": "k", "x": 9}
{"@type": "A", "@time": 3, "id": "l", "x": 300}
{"@type": "B", "@time": 4, "id": "l", "x": 3}
{"@time": 20}
"""
# Timers for thousands of years, which give no rows.
ENDLESS = """\
create schema A (x int);
@Name('Tick') insert into Tick select rstream a.x as n
from pattern [a=A -> every timer:interval(1 msec)];
"""
ENDLESS_EVENTS = ['{"@type": "A", "@time": 0, "x": 1}', '{"@time": 60000000000}']
# What is sold was ordered, and paid for in time.
WHY = """\
create schema Order (id int, item string);
create schema Payment (id int, euros int);
create schema Cancel (id int);
@Name('Sold') insert into Sold
select o.item as item
from pattern [every o=Order -> (p=Payment(id = o.id and euros >= 10) and not Cancel(id = o.id))
              where timer:within(10 sec)];
@Name('Good') insert into Good select item from Sold(item = 'book');
"""
WHY_EVENTS = """\
{"@type": "Order", "@time": 1, "id": 1, "item": "book"}
{"@type": "Order", "@time": 2, "id": 2, "item": "lamp"}
{"@type": "Payment", "@time": 5, "id": 1, "euros": 7}
{"@type": "Cancel", "@time": 6, "id": 2}
{"@type": "Payment", "@time": 14, "id": 2, "euros": 30}
"""


class Refused(Exception):
    """A verb answered with problems, or was stopped."""


@dataclass
class Page:
    """One web socket; answers that came for others wait."""

    socket: ClientConnection
    last: int = 0
    heard: dict[int, dict[str, Any]] = field(default_factory=dict)

    def send(self, verb: str, **given: object) -> int:
        self.last += 1
        self.socket.send(json.dumps({"id": self.last, "verb": verb, "with": given}))
        return self.last

    def said(self, id: int) -> dict[str, Any]:
        """The last word on a question."""
        while id not in self.heard:
            message = json.loads(self.socket.recv(60))
            if "progress" not in message:
                self.heard[message["id"]] = message
        return self.heard.pop(id)

    def ask(self, verb: str, **given: object) -> Any:
        said = self.said(self.send(verb, **given))
        if "answer" not in said:
            raise Refused("; ".join(p["message"] for p in said.get("problems", ())) or "stopped")
        return said["answer"]


@dataclass(frozen=True)
class Studio:
    """A running server."""

    port: int
    folder: Path

    @property
    def origin(self) -> str:
        return f"http://{HOST}:{self.port}"

    def url(self, path: str = "/", token: str = TOKEN) -> str:
        return f"{self.origin}{path}?token={token}"

    @contextmanager
    def page(self) -> Iterator[Page]:
        address = f"ws://{HOST}:{self.port}/talk?token={TOKEN}"
        with connect(address, origin=Origin(self.origin), max_size=None) as opened:
            yield Page(opened)


@contextmanager
def running(folder: Path, limits: Limits, *, is_trusted: bool = False) -> Iterator[Studio]:
    listening = socket.socket()
    listening.bind((HOST, 0))
    listening.listen()
    room = Room(Folder.at(folder), is_trusted=is_trusted)
    server = server_on(listening, room, TOKEN, limits)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield Studio(listening.getsockname()[1], folder)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture(scope="package")
def studio(tmp_path_factory: pytest.TempPathFactory, compiled: None) -> Iterator[Studio]:
    """One for all tests, whose files have names of their own."""
    with running(tmp_path_factory.mktemp("studio"), Limits()) as opened:
        yield opened


@pytest.fixture
def page(studio: Studio) -> Iterator[Page]:
    with studio.page() as opened:
        yield opened


def texts(text: str = PROGRAM, file: str = "p.epl") -> list[dict[str, str]]:
    return [{"file": file, "text": text}]
