"""What wrappers find on static pages, and in a browser the same."""

from __future__ import annotations

import gc
import ssl
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import cepheid as cep
from cepheid.errors import CepheidError
from cepheid.web.nodes import Page
from tests.web.conftest import QUICK
from tests.web.local_sites import LocalSite, arrivals, serving

Extract = Callable[..., cep.web.Extraction]

PAGE = """\
<html lang="en"><head><title>Flights</title></head><body>
<table id="flifo"><tr><th>From</th><th>Flight</th></tr>
<tr class="late intl"><td>New York</td><td>BA 112</td><td>06:00<div>May 21</div></td></tr>
<tr><td> Rome </td><td>AZ 200</td><td>7</td></tr>
<tr><td>Oslo</td></tr></table>
<form action="/found"><input type="hidden" name="h"><input name="q" value="old"><input name="n" hidden>
<textarea name="t">note</textarea><select name="s"><option value="1">one</option><option>two</option></select>
<input type="checkbox" name="c" value="yes"><input type="radio" name="r" value="a" checked>
<input type="radio" name="r" value="b"><input type="submit" name="go" value="Go"></form>
<p>a<!-- note -->b</p></body></html>
"""
# Each with what its records are.
CASES = {
    "//tr[position() > 1]:<F>[./td[1]:<from=trim(.)>][./td[2]:<no=string(.)>]": [
        {"from": "New York", "no": "BA 112"},
        {"from": "Rome", "no": "AZ 200"},
    ],
    "//tr.late.intl:<F>:<all=normalize-space(.)>": [{"all": "New YorkBA 11206:00May 21"}],
    "//table#flifo//tr[td]:<F>[? ./td[3]:<n=number(.)>]": [{"n": None}, {"n": 7}, {}],
    "//tr[td[2]]:<F>/td:<Cell>:<text=trim(text())>": [
        {"Cell": [{"text": "New York"}, {"text": "BA 112"}, {"text": "06:00"}]},
        {"Cell": [{"text": "Rome"}, {"text": "AZ 200"}, {"text": "7"}]},
    ],
    "//body/(*)*{1,2}/self::tr:<F>": [],
    "//tbody/(*)*{1,1}/self::tr[th]:<F>:<n=count(*)>": [{"n": 2}],
    "//td[1]/(..)*/self::body:<F>:<x='y'>": [{"x": "y"}],
    "//form/field():<F>:<name=string(@name)>": [
        {"name": each} for each in ("q", "t", "s", "c", "r", "r", "go")
    ],
    "//form/descendant::field()[last()]:<F>:<v=string(@value)>": [{"v": "Go"}],
    "//title:<F>:<late=(1 > 2)>:<sum=1 div 4>:<big=3 * 4>": [
        {"late": False, "sum": 0.25, "big": 12}
    ],
    "//p:<F>:<c=string(comment())>:<t=string(text()[2])>": [{"c": " note ", "t": "b"}],
    "//p:<F>:<lang=lang('en')>:<name=local-name(..)>": [{"lang": True, "name": "body"}],
    "//title:<F>:<i=count(id('flifo'))>:<n=namespace-uri()>": [{"i": 1, "n": ""}],
    "//td[. = 'Oslo']:<F>:<before=string(preceding::td[1])>": [{"before": "7"}],
    "//title:<F>:<t=toUnixTime('21.05.2013 06:00', 'dd.MM.yyyy HH:mm', 'Europe/London')>": [
        {"t": 1369112400}
    ],
    "//title:<F>:<t=toUnixTime('2013-05-21T05:00:00Z')>:<v=$v>:<n=$n + 1>": [
        {"t": 1369112400, "v": "x", "n": 3}
    ],
    "//tr[3]/td[3]/preceding-sibling::td:<C>:<t=trim(.)>": [{"t": "Rome"}, {"t": "AZ 200"}],
    "//title:<F>:<t=toUnixTime('soon')>": [{"t": None}],
    "//tr[td]:<F>[td[2] or td:<only=string(.)>]": [{}, {}, {"only": "Oslo"}],
}


def plain(found: cep.web.Extraction) -> list[dict[str, Any]]:
    return [{k: v for k, v in each.items() if k != "@type"} for each in found.records]


@pytest.fixture
def static() -> Extract:
    def extract(text: str, url: str, **variables: str | float) -> cep.web.Extraction:
        wrapper = cep.web.parse(text)
        return cep.web.extract(wrapper, url, variables=variables, browser=False, settings=QUICK)

    return extract


@pytest.fixture
def live(browser: cep.web.Browser) -> Extract:
    def extract(text: str, url: str, **variables: str | float) -> cep.web.Extraction:
        wrapper = cep.web.parse(text)
        return cep.web.extract(wrapper, url, variables=variables, browser=browser, settings=QUICK)

    return extract


@pytest.fixture
def page(tmp_path: Path) -> str:
    (tmp_path / "page.html").write_text(PAGE)
    return str(tmp_path / "page.html")


@pytest.mark.parametrize("text", CASES)
def test_a_static_page_gives_these_records(static: Extract, page: str, text: str) -> None:
    assert plain(static(text, page, v="x", n=2)) == CASES[text]


@pytest.mark.long
def test_a_browser_gives_the_same(live: Extract, static: Extract, page: str) -> None:
    for text, rows in list(CASES.items())[::3]:
        assert plain(live(text, page, v="x", n=2)) == rows, text


def test_a_path_can_be_repeated_to_where_links_lead(static: Extract, site: LocalSite) -> None:
    site.routes["/arrivals"] = arrivals
    start = site.url("/arrivals?airport=LHR&period=6-12")
    rows = "//tr[td]:<F>[td[2]:<no=string(.)>]"
    following = "//a[. = 'Next >']/{click /}"
    all_pages = static(f"/({following})*{rows}", start)
    assert [each["no"] for each in all_pages.records] == ["BA 112", "UA 918", "VS 22"]
    assert [each["no"] for each in static(f"/({following})*{{1,1}}{rows}", start).records] == [
        "VS 22"
    ]
    assert len(static(f"/({following})*{{0,1}}{rows}", start).records) == 3


def test_a_star_ends_where_it_comes_back_to_a_page(static: Extract, site: LocalSite) -> None:
    site.page("/a", "<p>a</p><a href='/b'>next</a>")
    site.page("/b", "<p>b</p><a href='/a'>next</a>")
    found = static("/(//a/{click /})*//p:<P>:<t=string(.)>", site.url("/a"))
    assert [each["t"] for each in found.records] == ["a", "b"]
    assert [each.code for each in found.problems] == ["endless-star"]


def test_pages_that_are_behind_are_forgotten(static: Extract, site: LocalSite) -> None:
    alive: list[int] = []

    def numbered(query: dict[str, str], _: dict[str, str]) -> str:
        number = int(query.get("n", "0"))
        if number in (20, 80):
            gc.collect()
            alive.append(sum(type(each) is Page for each in gc.get_objects()))
        following = f"<a href='/?n={number + 1}'>next</a>" if number < 90 else ""
        return f"<p>{number}</p>{following}"

    site.routes["/"] = numbered
    assert len(static("/(//a/{click /})*//p:<P>:<t=string(.)>", site.url()).records) == 91
    assert alive[1] <= alive[0]


def test_an_action_on_several_nodes_forks(static: Extract, site: LocalSite) -> None:
    site.page("/", "".join(f"<li><b>{n}</b><a href='/{n}'>go</a></li>" for n in "xyz"))
    for n in "xyz":
        site.page(f"/{n}", f"<h1>page {n}</h1>")
    found = static("//li:<Item>[b:<n=string(.)>]/a/{click /}//h1:<title=string(.)>", site.url())
    assert plain(found) == [{"n": n, "title": f"page {n}"} for n in "xyz"]
    assert site.asked_for("/") == 1


def test_simple_forms_are_filled_and_sent_without_a_browser(
    static: Extract, site: LocalSite
) -> None:
    site.page("/", PAGE)
    site.routes["/found"] = lambda query, _: "".join(
        f"<b>{name}={value}</b>" for name, value in sorted(query.items())
    )
    found = static(
        "//input[@name='q']/{$q}/../select/{select 'two'}/..//input[@type='checkbox']/{check}"
        "/../input[@value='b']/{check}/..//input[@type='submit']/{click /}//b:<V>:<v=string(.)>",
        site.url(),
        q="a & b",
    )
    assert [each["v"] for each in found.records] == [
        *("c=yes", "go=Go", "q=a & b", "r=b", "s=two", "t=note")
    ]
    assert site.asked[-1] == "/found?h=&q=a+%26+b&n=&t=note&s=two&c=yes&r=b&go=Go"


def test_what_is_left_out_is_told(static: Extract, page: str) -> None:
    found = static("//tr:<F>[./td[2]:<no=string(.)>][td:<c=.>]", page)
    assert [each["no"] for each in found.records] == ["BA 112", "AZ 200"]
    told = [(each.code, each.message) for each in found.problems]
    assert told == [
        ("row-left-out", "2 nodes made no record: this found nothing there"),
        ("row-left-out", "'c' was there already, 4 times; the first counts"),
    ]


def test_the_step_that_failed_is_named_and_its_page_kept(page: str, tmp_path: Path) -> None:
    settings = cep.web.Settings(failures=str(tmp_path / "kept"))
    wrapper = cep.web.parse("//body\n//table#flifa//tr:<F>[td:<a=.>]", "w.oxpath")
    found = cep.web.extract(wrapper, page, browser=False, settings=settings)
    assert not found.records
    (problem,) = found.problems
    assert problem.code == "step-failed"
    assert problem.message.startswith("//table#flifa found nothing on file://")
    assert str(problem.span) == "w.oxpath:2:3"
    assert "New York" in (tmp_path / "kept" / "failure_2_3.html.txt").read_text()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("//p[style::color = 'red']:<F>:<a=.>", "needs-browser"),
        ("//p:<F>/{hover}", "needs-browser"),
        ("//p:<F>/{click /}", "needs-browser"),
        ("//p:<F>/{check}", "step-failed"),
        ("//select:<F>/{select 'three'}", "step-failed"),
        ("//p:<F>:<t=toUnixTime('x', $v)>", "bad-format"),
    ],
)
def test_what_cannot_be_done_is_said_with_its_place(
    static: Extract, page: str, text: str, code: str
) -> None:
    with pytest.raises(CepheidError) as refused:
        static(text, page, v="qq")
    (problem,) = refused.value.diagnostics
    assert problem.code == code
    assert problem.span is not None


def test_records_are_an_arrow_table_and_lines(static: Extract, page: str, tmp_path: Path) -> None:
    found = static("//tr[td[2]]:<F>[td[1]:<from=trim(.)>]/td:<Cell>:<t=trim(.)>", page)
    table = found.to_arrow()
    assert table.column_names == ["@type", "from", "Cell"]
    assert table.to_pylist()[1]["Cell"][1] == {"t": "AZ 200"}
    found.write(tmp_path / "f.jsonl")
    assert len((tmp_path / "f.jsonl").read_text().splitlines()) == 2
    nothing = static("//b:<F>:<x=.>", page)
    assert nothing.to_arrow().num_rows == 0


BROKEN = {
    b"": [],
    b"\x00": [],
    b"<": [],
    b"<!-- p": [],
    b"<html><html><p>x": ["x"],
    b"<p>" * 3000: [""] * 3000,
    b"<div>" * 1500 + b"<p>x": ["x"],
    b"<p a=1 a=2 =3>x": ["x"],
    b"<?php y ?><svg><p xlink:href='z'>x</p></svg>": ["x"],
    b"<meta charset=nonsense><p>x": ["x"],
    "<p>é\u2192".encode(): ["é\u2192"],
    "<p>é".encode("latin1"): ["é"],
    "<p>é".encode("utf-16"): ["é"],
    "<meta charset=iso-8859-15><p>\u20ac".encode("iso-8859-15"): ["\u20ac"],
}


@pytest.mark.parametrize(("body", "shown"), BROKEN.items(), ids=lambda each: str(each)[:30])
def test_whatever_a_page_is_made_of_is_read(
    static: Extract, tmp_path: Path, body: bytes, shown: list[str]
) -> None:
    (tmp_path / "p.html").write_bytes(body)
    found = static("//p:<P>:<t=string(.)>", str(tmp_path / "p.html"))
    assert [each["t"] for each in found.records] == shown


def test_a_page_of_which_a_part_would_be_lost_is_refused(static: Extract, tmp_path: Path) -> None:
    (tmp_path / "p.html").write_text("<div>" * 3000 + "<p>x")
    with pytest.raises(cep.RunError, match=r"page-failed.*nested too deep"):
        static("//p:<P>:<t=string(.)>", str(tmp_path / "p.html"))


def test_pages_over_tls_are_read_from_whom_they_say_they_are(
    static: Extract, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate = certificate_of("localhost", tmp_path)
    with serving(certificate) as secure:
        secure.page("/", "<p>x</p>")
        url = f"https://localhost:{secure.port}/"
        with pytest.raises(cep.RunError, match=r"page-failed.*certificate"):
            static("//p:<P>:<t=string(.)>", url)
        trusting = ssl.create_default_context(cafile=certificate)
        monkeypatch.setattr(ssl, "create_default_context", lambda: trusting)
        assert static("//p:<P>:<t=string(.)>", url).records == [{"@type": "P", "t": "x"}]
        with pytest.raises(cep.RunError, match=r"page-failed.*certificate"):
            static("//p:<P>:<t=string(.)>", f"https://127.0.0.1:{secure.port}/")


def certificate_of(name: str, folder: Path) -> Path:
    """A certificate that signs itself, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder().subject_name(names).issuer_name(names)
    builder = builder.public_key(key.public_key()).serial_number(1)
    builder = builder.not_valid_before(datetime(2020, 1, 1)).not_valid_after(datetime(2120, 1, 1))  # noqa: DTZ001
    alternatives = x509.SubjectAlternativeName([x509.DNSName(name)])
    signed = builder.add_extension(alternatives, critical=False).sign(key, hashes.SHA256())
    file = folder / "certificate.pem"
    encoded = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file.write_bytes(encoded + signed.public_bytes(serialization.Encoding.PEM))
    return file
