"""Who may speak to the studio, and how much."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets import Origin
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from cepheid.studio.limits import Bucket, Limits
from cepheid.studio.server import HOST
from tests.studio.conftest import TOKEN, Page, Studio, running

PATHS = ("/", "/studio.js", "/studio.css", "/icon.svg")


def get(
    studio: Studio, path: str = "/", token: str | None = TOKEN, **headers: str
) -> httpx.Response:
    query = {} if token is None else {"token": token}
    return httpx.get(f"{studio.origin}{path}", params=query, headers=headers)


@pytest.mark.parametrize("path", PATHS)
def test_the_page_and_its_parts_come_with_the_token_and_not_without(
    studio: Studio, path: str
) -> None:
    assert get(studio, path).status_code == 200
    for token in (None, "", "wrong", TOKEN[:-1], f"{TOKEN}x", "ü"):
        refused = get(studio, path, token)
        assert refused.status_code == 403
        assert TOKEN not in refused.text


def test_a_token_that_is_given_twice_is_none(studio: Studio) -> None:
    assert httpx.get(f"{studio.url()}&token=other").status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example"]
)
def test_other_names_for_this_machine_are_refused(studio: Studio, host: str) -> None:
    assert get(studio, host=host).status_code == 403


def test_the_name_localhost_is_this_machine(studio: Studio) -> None:
    assert get(studio, host=f"localhost:{studio.port}").status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://{own}", "http://localhost:1"]
)
def test_other_pages_are_refused(studio: Studio, origin: str) -> None:
    named = origin.format(own=f"{HOST}:{studio.port}")
    assert get(studio, origin=named).status_code == 403
    assert get(studio, origin=studio.origin).status_code == 200
    with (
        pytest.raises(InvalidStatus),
        connect(f"ws://{HOST}:{studio.port}/talk?token={TOKEN}", origin=Origin(named)),
    ):
        pass


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_web_socket_needs_the_token_and_an_origin(studio: Studio, token: str) -> None:
    with (
        pytest.raises(InvalidStatus),
        connect(f"ws://{HOST}:{studio.port}/talk?token={token}", origin=Origin(studio.origin)),
    ):
        pass
    with pytest.raises(InvalidStatus), connect(f"ws://{HOST}:{studio.port}/talk?token={TOKEN}"):
        pass


def test_the_page_may_load_its_own_bundle_and_nothing_else(studio: Studio) -> None:
    first, second = get(studio), get(studio)
    policy = first.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert "unsafe" not in policy
    assert policy != second.headers["content-security-policy"]  # a nonce is used once
    assert first.headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in first.headers


@pytest.mark.parametrize(
    "path", ["/docs", "/openapi.json", "/index.html", "/server.py", "/%2e%2e/server.py"]
)
def test_there_is_nothing_else(studio: Studio, path: str) -> None:
    assert get(studio, path).status_code == 404


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[Studio]:
    with running(tmp_path, Limits(message=2_000, burst=20, rate=0.001, pages=2)) as opened:
        yield opened


def test_a_message_that_is_too_large_ends_its_page_alone(narrow: Studio) -> None:
    with narrow.page() as page, narrow.page() as other:
        page.send("files", more="x" * 3_000)
        with pytest.raises(ConnectionClosed):
            page.socket.recv(10)
        assert other.ask("files") == {"files": [], "more": False}


def ask_often(page: Page) -> None:
    for _ in range(200):
        page.ask("files")


def test_a_flood_of_messages_ends_its_page_alone(narrow: Studio) -> None:
    with narrow.page() as page, narrow.page() as other:
        with pytest.raises(ConnectionClosed) as closed:
            ask_often(page)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.reason == "too many messages"
        assert other.ask("files") == {"files": [], "more": False}


def test_more_pages_than_there_is_room_for_are_sent_away(narrow: Studio) -> None:
    with narrow.page() as one, narrow.page() as two, narrow.page() as third:
        with pytest.raises(ConnectionClosed):
            third.socket.recv(10)
        assert one.ask("files") == two.ask("files")
    with narrow.page() as later:
        assert later.ask("files")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "nonsense",
        "{}",
        '{"id": "1", "verb": "files"}',
        '{"id": 1, "verb": 2}',
        "[" * 1_900,
    ],
)
def test_what_is_no_message_ends_its_page(narrow: Studio, text: str) -> None:
    with narrow.page() as page:
        page.socket.send(text)
        with pytest.raises(ConnectionClosed):
            page.socket.recv(10)


def test_bytes_are_no_message(narrow: Studio) -> None:
    with narrow.page() as page:
        page.socket.send(json.dumps({"id": 1, "verb": "files"}).encode())
        with pytest.raises(ConnectionClosed):
            page.socket.recv(10)


def test_a_bucket_lets_through_a_burst_and_then_the_rate() -> None:
    bucket = Bucket(3, 2.0, now=10.0)
    assert [bucket.take(10.0) for _ in range(4)] == [True, True, True, False]
    assert [bucket.take(10.5), bucket.take(10.5)] == [True, False]
    assert [bucket.take(100.0) for _ in range(4)] == [True, True, True, False]
