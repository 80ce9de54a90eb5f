"""Pages that scripts change, in a real Chromium, and what such pages may not do."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page as Tab

import cepheid as cep
from cepheid.errors import CepheidError
from cepheid.web import snapshot
from cepheid.web.evaluation import Given, Scope, evaluate
from cepheid.web.nodes import Page
from cepheid.web.notation import Type
from cepheid.web.printer import print_expression
from cepheid.web.rewriting import shortened
from cepheid.web.static import page_of
from cepheid.web.tree import Expr
from cepheid.web.values import to_text
from tests.effort import examples
from tests.web.conftest import QUICK
from tests.web.local_sites import LocalSite
from tests.web.strategies import pages, typed

pytestmark = pytest.mark.long
TEXTS = ":<R>:<t=normalize-space(.)>"


def texts(found: cep.web.Extraction) -> list[object]:
    return [each["t"] for each in found.records]


class Reading:
    """Wrappers on the site of a test, in the browser of all."""

    def __init__(self, site: LocalSite, browser: cep.web.Browser) -> None:
        self.site = site
        self.browser = browser
        self.settings = QUICK

    def extract(self, text: str, path: str = "/", **variables: str) -> cep.web.Extraction:
        return cep.web.extract(
            cep.web.parse(text),
            self.site.url(path),
            variables=variables,
            browser=self.browser,
            settings=self.settings,
        )

    def refused(self, text: str, path: str = "/") -> tuple[str, str]:
        with pytest.raises(CepheidError) as failed:
            self.extract(text, path)
        (problem,) = failed.value.diagnostics
        return problem.code, problem.message


@pytest.fixture
def reading(site: LocalSite, browser: cep.web.Browser) -> Reading:
    return Reading(site, browser)


# Pages in a browser are what they are to others.


@given(html=pages(), tree=typed(Type.ANY, 2), place=st.integers(0, 4))
@examples(25)
def test_a_browser_shows_the_page_that_is_written_and_finds_in_it_what_we_do(
    tab: Tab, html: str, tree: Expr, place: int
) -> None:
    tab.set_content(html)
    told = tab.evaluate_handle(snapshot.SCRIPT, snapshot.ARGUMENTS).evaluate(snapshot.TEXT)
    shown = snapshot.page_of(told, "u")
    assert outline(shown) == outline(page_of(html, "u"))
    node = [*shown.elements()][min(place, 3)]
    expected = tab.evaluate(
        """([text, place]) => {
          const node = document.querySelectorAll('*')[place];
          try { return document.evaluate(`string(${text})`, node).stringValue; }
          catch (refused) { return null; }
        }""",
        [print_expression(tree), min(place, 3)],
    )
    if expected is None:  # last() and position() outside of predicates
        return
    ours = evaluate(shortened(tree), Scope(node, Given({})))
    assert to_text(ours) == expected, print_expression(tree)


def outline(page: Page) -> list[tuple[str, str, str, int]]:
    return [(str(node.kind), node.name, node.value, node.end) for node in page.flat]


# Scripts.


def test_what_a_script_brings_later_is_waited_for(reading: Reading) -> None:
    script = "setTimeout(() => document.body.innerHTML = '<p>late</p>', 150)"
    reading.site.page("/", f"<body><script>{script}</script></body>")
    assert texts(reading.extract(f"//p{TEXTS}")) == ["late"]


def test_what_a_script_fetches_is_waited_for_also_within_a_star(reading: Reading) -> None:
    reading.site.page(
        "/",
        "<body><p>0</p><button onclick=\"fetch('/more').then((r) => r.text()).then((t) => {"
        " document.querySelector('p').textContent = t; this.remove() })\">more</button></body>",
    )
    reading.site.page("/more", "1")
    assert texts(reading.extract(f"/(//button/{{click /}})*//p{TEXTS}")) == ["0", "1"]


def test_a_page_may_lead_to_another_one_by_itself(reading: Reading) -> None:
    reading.site.page("/", "<body><script>setTimeout(() => location = '/next', 100)</script>")
    reading.site.page("/next", "<p>there</p>")
    assert texts(reading.extract(f"//p{TEXTS}")) == ["there"]


def test_every_action_does_what_people_do(reading: Reading) -> None:
    shown = "document.querySelector('p').textContent"
    reading.site.page(
        "/",
        f"<body><form onsubmit=\"{shown} += ' sent ' + new FormData(this).get('q'); return false\">"
        f"<input name='q'><input type='checkbox' onchange=\"{shown} += ' ' + this.checked\">"
        f"<select onchange=\"{shown} += ' ' + this.value\"><option>a</option><option>b</option>"
        f"</select></form><i onmouseenter=\"{shown} += ' over'\">here</i><p></p></body>",
    )
    found = reading.extract(
        "//input[@name]/{'x y'}/{press enter}/../input[2]/{check}/{uncheck}/../select/{select 'b'}"
        f"/..//option[1]/{{select}}/following::i/{{hover}}/{{wait 10 ms}}/following::p{TEXTS}"
    )
    assert texts(found) == ["sent x y true false b a over"]


def test_styles_are_those_that_are_computed(reading: Reading) -> None:
    reading.site.page(
        "/",
        "<style>.g { color: green }</style><p class='g'>one</p><p>two</p><div class='g'><p>3</p>",
    )
    green = "//p[style::color = 'rgb(0, 128, 0)']"
    assert texts(reading.extract(f"{green}{TEXTS}")) == ["one", "3"]
    assert texts(reading.extract(f"/descendant::{green[2:]}[2]/style::color{TEXTS}")) == [
        "rgb(0, 128, 0)"
    ]


def test_fields_that_nobody_sees_are_none(reading: Reading) -> None:
    reading.site.page(
        "/", "<style>.h {display: none}</style><div class='h'><input></div><input value='seen'>"
    )
    assert texts(reading.extract("//field():<R>:<t=string(@value)>")) == ["seen"]


def test_a_node_that_an_action_takes_away_cannot_be_gone_on_from(reading: Reading) -> None:
    reading.site.page("/", "<body><button onclick='this.remove()'>x</button></body>")
    code, message = reading.refused(f"//button/{{click}}/..{TEXTS}")
    assert (code, message) == ("step-failed", "after {click}, the node is not there any more")


# Forks.


def test_links_of_a_fork_leave_their_page_as_it_is(reading: Reading) -> None:
    links = "".join(f"<a href='/{n}' target='_blank'>{n}</a>" for n in range(9))
    reading.site.page("/", f"<body>{links}</body>")
    for n in range(9):
        reading.site.page(f"/{n}", f"<h1>{n}</h1>")
    assert texts(reading.extract(f"//a/{{click /}}//h1{TEXTS}")) == [*"012345678"]
    assert reading.site.asked_for("/") == 1


def test_a_fork_on_a_page_goes_back_to_that_page_not_to_the_start(reading: Reading) -> None:
    reading.site.page("/", "<a href='/list'>list</a>")
    reading.site.page(
        "/list",
        "".join(
            f"<button onclick=\"document.body.innerHTML='<h1>{n}</h1>'\">{n}</button>"
            for n in range(8)
        ),
    )
    found = reading.extract(f"//a/{{click /}}//button/{{click /}}//h1{TEXTS}")
    assert texts(found) == [*"01234567"]
    assert (reading.site.asked_for("/"), reading.site.asked_for("/list")) == (1, 8)


def test_a_star_goes_on_from_pages_whose_rows_were_followed(reading: Reading) -> None:
    for n in range(3):
        following = f"<b><a href='/{n + 1}'>next</a></b>" if n < 2 else ""
        reading.site.page(f"/{n}", f"<body><i><a href='/row{n}'>row</a></i>{following}</body>")
        reading.site.page(f"/row{n}", f"<h1>{n}</h1>")
    wrapper = f"/(//b/a/{{click /}})*//i/a/{{click /}}//h1{TEXTS}"
    assert texts(reading.extract(wrapper, "/0")) == ["0", "1", "2"]
    assert reading.site.asked_for("/0") == 1


def test_an_action_wrapper_acts_on_one_node_or_not_at_all(reading: Reading) -> None:
    reading.site.page("/", "<a href='/x'>1</a><a href='/x'>2</a>")
    for text, code in (("//a/{click /}", "several-nodes"), ("//b/{click /}", "step-failed")):
        with pytest.raises(cep.RunError) as refused:
            cep.web.act(
                cep.web.parse(text),
                reading.site.url(),
                browser=reading.browser,
                settings=QUICK,
            )
        assert [each.code for each in refused.value.diagnostics] == [code]
    assert not reading.site.asked_for("/x")
    with pytest.raises(cep.ProgramError, match="several-nodes"):
        cep.web.act(cep.web.parse("/(//a/{click /})*"), reading.site.url(), browser=False)


# What pages may not do.


def test_dialogs_windows_and_downloads_are_refused_and_told(reading: Reading) -> None:
    reading.site.page(
        "/",
        "<body><button onclick=\"alert('hi'); window.open('/other');"
        " document.querySelector('a').click()\">x</button>"
        "<a href='/file' download>f</a><p>still here</p></body>",
    )
    reading.site.routes["/file"] = lambda *_: (200, {"content-type": "application/zip"}, "zip")
    found = reading.extract(f"//button/{{click}}/{{wait 300 ms}}/following::p{TEXTS}")
    assert texts(found) == ["still here"]
    assert {each.code for each in found.problems} == {"refused-address"}
    told = " ".join(each.message for each in found.problems)
    assert all(word in told for word in ("dialog", "window", "download"))


def test_private_addresses_are_reached_only_if_the_user_names_them(reading: Reading) -> None:
    port = reading.site.port
    reading.site.page("/", f"<img src='http://127.0.0.1:{port}/secret'><p>x</p>")
    started = cep.web.extract(
        cep.web.parse(f"//p{TEXTS}"),
        f"http://localhost:{port}/",
        browser=reading.browser,
        settings=QUICK,
    )
    assert texts(started) == ["x"]
    assert not reading.site.asked_for("/secret")
    assert "private" in started.problems[0].message
    # What a wrapper says is not the user's word.
    own = cep.web.parse(f'doc("http://127.0.0.1:{port}/")//p{TEXTS}')
    for browser in (reading.browser, False):
        with pytest.raises(cep.RunError, match="private address"):
            cep.web.extract(own, browser=browser, settings=QUICK)
    named = cep.web.Settings(pause=0, allow=(f"127.0.0.1:{port}",))
    assert texts(cep.web.extract(own, browser=reading.browser, settings=named)) == ["x"]


def test_a_redirect_leads_nowhere_that_a_link_may_not(reading: Reading) -> None:
    port = reading.site.port
    target = f"http://127.0.0.1:{port}/secret"
    reading.site.routes["/"] = lambda *_: (302, {"location": target}, "")
    for browser in (reading.browser, False):
        with pytest.raises(cep.RunError, match="private address"):
            cep.web.extract(
                cep.web.parse(f"//p{TEXTS}"),
                f"http://localhost:{port}/",
                browser=browser,
                settings=QUICK,
            )
    assert not reading.site.asked_for("/secret")


def test_robots_are_asked_for_and_honoured(reading: Reading) -> None:
    reading.site.page("/robots.txt", "User-agent: *\nDisallow: /kept\n")
    reading.site.page("/", "<a href='/kept'>x</a><button onclick=\"location='/kept'\">y</button>")
    reading.site.page("/kept", "<p>kept</p>")
    for way in ("//a", "//button"):
        code, message = reading.refused(f"{way}/{{click /}}//p{TEXTS}")
        assert code == "refused-address"
        assert "asks not to read /kept" in message
    assert reading.refused(f"//p{TEXTS}", "/kept")[0] == "refused-address"


# What goes wrong.


def test_a_page_that_never_answers_is_given_up_in_time(reading: Reading) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        hasty = cep.web.Settings(pause=0, timeout=0.5, retries=1, robots=False)
        for browser in (reading.browser, False):
            with pytest.raises(cep.RunError, match=r"page-failed.*cannot be read"):
                cep.web.extract(cep.web.parse(f"//p{TEXTS}"), url, browser=browser, settings=hasty)


def test_a_missing_page_is_an_error(reading: Reading) -> None:
    assert reading.refused(f"//p{TEXTS}", "/none")[0] == "page-failed"


def test_a_wrapper_that_loops_ends(reading: Reading) -> None:
    script = "document.querySelector('p').textContent++"
    reading.site.page("/", f'<body><p>0</p><a href="#" onclick="{script}">next</a></body>')
    reading.settings = cep.web.Settings(pause=0, repeats=5)
    code, message = reading.refused(f"/(//a/{{click /}})*//p{TEXTS}")
    assert code == "endless-star"
    assert "repeated 5 times" in message


def test_a_missing_field_is_named_and_seen_on_a_screenshot(
    reading: Reading, tmp_path: Path
) -> None:
    reading.site.page("/", "<form id='f'><input name='q'></form>")
    reading.settings = cep.web.Settings(pause=0, patience=0.1, failures=str(tmp_path))
    found = reading.extract(f"//form#f\n/select/{{select 'x'}}//p{TEXTS}")
    assert [str(each.span) for each in found.problems] == ["<text>:2:2"]
    assert (tmp_path / "failure_2_2.png").read_bytes().startswith(b"\x89PNG")
    assert 'id="f"' in (tmp_path / "failure_2_2.html.txt").read_text()


def test_cookies_stay_in_the_profile_that_the_user_names(reading: Reading, tmp_path: Path) -> None:
    def visit(_: object, headers: dict[str, str]) -> tuple[int, dict[str, str], str]:
        kept = {"set-cookie": "seen=yes; Max-Age=3600"}
        return 200, kept, f"<p>{headers.get('Cookie', 'new')}</p>"

    reading.site.routes["/"] = visit
    reading.settings = cep.web.Settings(pause=0, profile=str(tmp_path / "me"))
    assert texts(reading.extract(f"//p{TEXTS}")) == ["new"]
    assert texts(reading.extract(f"//p{TEXTS}")) == ["seen=yes"]
    reading.settings = QUICK
    assert texts(reading.extract(f"//p{TEXTS}")) == ["new"]


def test_no_chromium_is_said_in_words() -> None:
    with (
        pytest.raises(cep.UsageError, match="no program 'cromium'"),
        cep.web.Browser.launch(cep.web.Settings(chromium="cromium")),
    ):
        pass
