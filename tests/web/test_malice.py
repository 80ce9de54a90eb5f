"""Pages that lead to what is no address, or to an address that hides another one."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from threading import Event, Thread
from urllib.parse import urlsplit

import pytest

import cepheid as cep
from cepheid.errors import RunError, UsageError
from cepheid.web.gate import Gate, is_public
from cepheid.web.site import address_of, joined
from cepheid.web.socks import serving as proxy_of
from tests.web.conftest import QUICK
from tests.web.local_sites import LocalSite, Reply

TITLE = "//h1:<Page>[.:<title=string(.)>]"
NO_ADDRESSES = ("http://[::1", f"http://{'a' * 70}.com/", "http://..:80/", "http://a:b:c/")
WAYS = ("redirect", "link", "base", "form", "robots")


def titles(address: str, wrapper: str) -> list[object]:
    found = cep.web.extract(cep.web.parse(wrapper), address, browser=False, settings=QUICK)
    return [record["title"] for record in found.records]


def leading_to(site: LocalSite, address: str, way: str) -> str:
    """The address of a page that leads there, when its link or button is clicked."""
    site.page("/base", f'<base href="{address}"><a href="x">on</a>')
    site.page("/link", f'<a href="{address}">on</a>')
    site.page("/form", f'<form action="{address}"><button>on</button></form>')

    def redirect(*_: object) -> Reply:
        return 302, {"location": address}, ""

    site.routes["/robots.txt" if way == "robots" else "/redirect"] = redirect
    return site.url(f"/{way}")


@pytest.mark.parametrize("address", NO_ADDRESSES)
@pytest.mark.parametrize("way", WAYS[:-1])
def test_what_is_no_address_is_told(site: LocalSite, way: str, address: str) -> None:
    clicks = {"link": "//a/{click /}", "base": "//a/{click /}", "form": "//button/{click /}"}
    with pytest.raises(RunError, match=r"cannot be read|is no address"):
        titles(leading_to(site, address, way), f"{clicks.get(way, '')}{TITLE}")


@pytest.mark.parametrize("address", NO_ADDRESSES)
def test_rules_for_visitors_that_are_nowhere_forbid_nothing(site: LocalSite, address: str) -> None:
    leading_to(site, address, "robots")
    assert titles(site.page("/", "<h1>Here</h1>"), TITLE) == ["Here"]


def test_a_user_hears_what_is_no_address() -> None:
    with pytest.raises(UsageError, match="is no address"):
        address_of("http://[::1")
    with pytest.raises(RunError, match="is no address"):
        joined("http://www.example.org/", "//[")


@pytest.mark.parametrize(
    "link", ["über uns", "%C3%BCber uns", "über%20uns", "über uns?größe=ü&x=%26"]
)
def test_links_are_asked_for_as_browsers_do(site: LocalSite, link: str) -> None:
    site.page("/%C3%BCber%20uns", "<h1>We</h1>")
    start = site.page("/", f'<a href="{link}">on</a>')
    assert titles(start, f"//a/{{click /}}{TITLE}") == ["We"]
    assert urlsplit(site.asked[-1]).query == ("gr%C3%B6%C3%9Fe=%C3%BC&x=%26" if "?" in link else "")


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("64:ff9b::10.0.0.1", False),
        ("64:ff9b::8.8.8.8", True),
        ("2002:7f00:1::", False),
        ("2002:0808:0808::", True),
        ("::127.0.0.1", False),
        ("::", False),
        ("::ffff:8.8.8.8", True),
    ],
)
def test_an_address_that_leads_to_another_one_is_judged_by_that(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_a_host_is_private_if_one_of_its_addresses_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(*_: object, **__: object) -> list[object]:
        return [(0, 0, 0, "", (each, 80)) for each in ("93.184.216.34", "10.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    gate = Gate()
    with pytest.raises(RunError, match=r"private address 10\.0\.0\.1"):
        gate.connect("www.example.org", 80, 1)
    assert len(gate.refused) == 1


@pytest.mark.parametrize("name", [b"\xff", b"a" * 200, b"xn--\x80", b"..", b"\0"])
def test_the_proxy_outlives_names_that_are_none(
    name: bytes, site: LocalSite, capfd: pytest.CaptureFixture[str]
) -> None:
    def asked(named: bytes) -> int:
        with socket.create_connection(("127.0.0.1", port), 10) as browser:
            length = bytes([len(named)])
            browser.sendall(b"\x05\x01\x00\x05\x01\x00\x03" + length + named)
            browser.sendall(struct.pack("!H", site.port))
            said = b""
            while piece := browser.recv(12):
                said += piece
                if len(said) == 12:
                    break
            return said[3] if len(said) > 3 else -1

    with proxy_of(Gate(["127.0.0.1"])) as proxy:
        port = urlsplit(proxy).port or 0
        assert asked(name) != 0
        assert asked(b"127.0.0.1") == 0
    assert "Traceback" not in capfd.readouterr().err


def test_a_redirect_leads_nowhere_that_robots_txt_keeps(site: LocalSite) -> None:
    site.page("/robots.txt", "User-agent: *\nDisallow: /kept\n")
    site.page("/kept", "<h1>Kept</h1>")
    site.routes["/"] = lambda *_: (302, {"location": "/kept"}, "")
    with pytest.raises(RunError, match="asks not to read /kept"):
        titles(site.url(), TITLE)
    assert not site.asked_for("/kept")


def test_a_download_is_no_page(site: LocalSite) -> None:
    site.routes["/"] = lambda *_: (200, {"content-disposition": "attachment"}, "<h1>No</h1>")
    with pytest.raises(RunError, match="is no page"):
        titles(site.url(), TITLE)


@pytest.mark.parametrize(("status", "times"), [(404, 1), (499, 1), (500, 3), (503, 3)])
def test_what_a_site_may_mend_is_asked_for_again(site: LocalSite, status: int, times: int) -> None:
    site.routes["/"] = lambda *_: (status, {}, "")
    stubborn = cep.web.Settings(pause=0, retries=2)
    with pytest.raises(RunError, match=f"status {status}"):
        cep.web.extract(cep.web.parse(TITLE), site.url(), browser=False, settings=stubborn)
    assert site.asked_for("/") == times


def test_a_page_that_comes_in_drops_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drop() -> None:
            visitor, _ = server.accept()
            with visitor, suppress(OSError):  # until nobody listens any more
                visitor.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
                while not has_gone.wait(0.02):
                    visitor.sendall(b"x")

        has_gone = Event()
        dropping = Thread(target=drop)
        dropping.start()
        hasty = cep.web.Settings(pause=0, timeout=0.5, retries=0, robots=False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        try:
            with pytest.raises(RunError, match="cannot be read: timed out"):
                cep.web.extract(cep.web.parse(TITLE), url, browser=False, settings=hasty)
        finally:
            has_gone.set()
            dropping.join()


def test_a_page_that_breaks_off_is_told(site: LocalSite) -> None:
    site.routes["/"] = lambda *_: (200, {"content-length": "999"}, "<h1>Half</h1>")
    with pytest.raises(RunError, match="cannot be read: it broke off"):
        titles(site.url(), TITLE)
