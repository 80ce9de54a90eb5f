"""Pages in a real browser, by Playwright.

A view is a picture of a page together with the way to it: the address that was loaded last, and what was
done there since. As long as nothing else was done in its tab, actions on it happen there; else its page is
loaded again, from that address and not from the start of the wrapper. Links that are needed again later
are opened in a tab of their own, so that their page stays as it is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import ReferenceType, ref

from cepheid.errors import RunError, UsageError, error
from cepheid.web import snapshot
from cepheid.web.fetching import Fetcher
from cepheid.web.gate import Gate
from cepheid.web.nodes import Node, Page, StylesUnknown, as_html
from cepheid.web.settings import Settings
from cepheid.web.site import View, joined, refuse_foreign_file
from cepheid.web.socks import serving
from cepheid.web.tree import Action, ActionKind

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import (
        BrowserContext,
        Dialog,
        Download,
        ElementHandle,
        JSHandle,
        Request,
        Response,
    )
    from playwright.sync_api import Page as Tab

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # Nothing past the gate.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
_MOST_TABS = 6
_CALM = 25  # milliseconds without a change, after which a page counts as done
_RESTLESS = 1_000  # milliseconds after which one that never is calm counts, too
_AWAITED = {"document", "fetch", "script", "xhr"}  # kinds of requests that change what a page says


class Browser:
    """A Chromium that serves one run after the other; each has its own cookies."""

    def __init__(self, chromium: Chromium) -> None:
        self.chromium = chromium

    @classmethod
    @contextmanager
    def launch(cls, settings: Settings | None = None) -> Iterator[Browser]:
        """One that ends with the block."""
        program = _program(settings.chromium if settings else None)
        try:
            from playwright.sync_api import Error, sync_playwright
        except ImportError:
            fact, hint = "Playwright is not installed", "pip install 'cepheid[web]'"
            raise UsageError(error("no-browser", fact, hint=f"{hint}, or --no-browser")) from None
        with sync_playwright() as playwright:
            try:
                chromium = playwright.chromium.launch(
                    executable_path=program,
                    args=list(_FLAGS),
                    # Chromium refuses to keep pages in its sandbox for root.
                    chromium_sandbox=os.geteuid() != 0 if hasattr(os, "geteuid") else True,
                )
            except Error as problem:
                fact = f"no Chromium starts: {_reason(problem)}"
                hint = "install chromium, name it by --chromium, or read without: --no-browser"
                raise UsageError(error("no-browser", fact, hint=hint)) from None
            try:
                yield cls(chromium)
            finally:
                chromium.close()

    @contextmanager
    def site(self, gate: Gate, settings: Settings) -> Iterator[BrowserSite]:
        """The pages of one run."""
        kept = None if settings.profile is None else Path(settings.profile) / "browser.json"
        with serving(gate) as proxy:
            context = self.chromium.new_context(
                proxy={"server": proxy},
                accept_downloads=False,
                service_workers="block",
                storage_state=kept if kept is not None and kept.exists() else None,
            )
            try:
                yield BrowserSite(context, gate, settings)
                if kept is not None:
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    context.storage_state(path=kept)
            finally:
                context.close()


def _program(named: str | None) -> str | None:
    """The Chromium to start; None: the one that Playwright has installed, if any."""
    if named is not None:
        found = shutil.which(named)
        if found is None:
            raise UsageError(error("no-browser", f"no program '{named}'"))
        return found
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)


def _reason(problem: Exception) -> str:
    """The first line of what Playwright says, without the name of its function."""
    line = str(problem).partition("\n")[0]
    return line.partition(": ")[2] or line


@dataclass(frozen=True, slots=True)
class Done:
    """An action on an element, found again by its place among the elements of its page."""

    path: tuple[int, ...]
    action: Action
    text: str | None


@dataclass(slots=True)
class LiveTab:
    """A tab, the view that it shows, and what happens in it."""

    tab: Tab
    shows: ReferenceType[BrowserView] | None = None
    picture: JSHandle | None = None  # of the page as it is now
    seen: Page | None = None  # the same as nodes
    documents: int = 0  # how many it has loaded
    calm: int = 0  # the last of them that was
    method: str = "GET"  # by which the last one was asked for
    status: int = 200
    awaited: set[Request] = field(default_factory=set)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class BrowserView:
    page: Page
    tab: LiveTab
    base: str | None  # the address of its document; None: it came of a form that was posted
    done: tuple[Done, ...] = ()  # since then


class BrowserSite:
    """The tabs of a run."""

    def __init__(self, context: BrowserContext, gate: Gate, settings: Settings) -> None:
        self._context = context
        self._gate = gate
        self._settings = settings
        self._manners = Fetcher(gate, settings).manners
        self._tabs: list[LiveTab] = []
        self._start: str | None = None
        context.set_default_timeout(settings.timeout * 1_000)

    # What the walk asks for.

    def open(self, address: str) -> BrowserView:
        self._start = address
        return self._load(self._free_tab(), address)

    def act(
        self, view: View, node: Node, action: Action, text: str | None, *, is_last: bool
    ) -> tuple[BrowserView, Node | None]:
        assert isinstance(view, BrowserView)
        if not node.is_element:
            if action.kind is not ActionKind.WAIT:
                fact = f"'{action.kind}' needs an element"
                raise RunError(error("step-failed", fact, action.span))
            return self._wait(view, node, action)
        link = _link(node) if action.kind is ActionKind.CLICK else None
        if link is not None:
            refuse_foreign_file(link, self._start or link)
            if not is_last:
                return self._load(self._free_tab(), link), None
            self._manners.before(link)
        live = self._live(view)
        arrived = self._do(live, self._number(live, view, node), action, text)
        done = Done(_path(node), action, text)
        return self._after(view, live, done, arrived, is_known=link is not None)

    def refresh(
        self, view: View, nodes: Sequence[Node], seconds: float
    ) -> tuple[BrowserView, list[Node]] | None:
        assert isinstance(view, BrowserView)
        live = view.tab
        if seconds <= 0 or live.shows is None or live.shows() is not view:
            return None
        if not self._has_changed(live, seconds):
            return None
        old, documents = live.picture, live.documents
        self._settle(live)
        is_new = live.documents != documents
        after = self._view(live, live.tab.url if is_new else view.base, () if is_new else view.done)
        found = [self._again(live, old, node, after.page) for node in nodes]
        if None in found:
            return None
        return after, [node for node in found if node is not None]

    def picture(self, view: View) -> tuple[bytes | None, str]:
        from playwright.sync_api import Error

        assert isinstance(view, BrowserView)
        try:
            shot = view.tab.tab.screenshot(full_page=True, timeout=5_000)
        except Error:  # the page is gone, or never was
            return None, as_html(view.page)
        return shot, as_html(view.page)

    # Pages.

    def _free_tab(self) -> LiveTab:
        """A tab whose page nobody needs any more, or a new one in the place of the oldest."""
        for each in self._tabs:
            if each.shows is None or each.shows() is None:
                self._tabs.remove(each)
                self._tabs.append(each)
                return each
        if len(self._tabs) >= _MOST_TABS:
            self._tabs.pop(0).tab.close()
        live = LiveTab(self._context.new_page())
        _listen(live, self._gate)
        self._tabs.append(live)
        return live

    def _load(self, live: LiveTab, address: str) -> BrowserView:
        from playwright.sync_api import Error

        live.shows = None
        reason = ""
        for _ in range(self._settings.retries + 1):
            self._manners.before(address)
            refused, live.status = len(self._gate.refused), 200
            try:
                live.tab.goto(address, wait_until="load")
            except Error as problem:
                if len(self._gate.refused) > refused and "ERR_SOCKS" in str(problem):
                    raise RunError(self._gate.refused[-1]) from None
                reason = _reason(problem)
                if "Download is starting" in reason:
                    break
                continue
            if live.status < 500:
                break
        else:
            reason = reason or f"status {live.status}"
            raise RunError(error("page-failed", f"{address} cannot be read: {reason}"))
        if "Download" in reason:
            raise RunError(error("page-failed", f"{address} is no page but a download"))
        if live.tab.url != address:  # it led on
            self._manners.permit(live.tab.url)
        self._settle(live)
        return self._view(live, live.tab.url)

    def _view(self, live: LiveTab, base: str | None, done: tuple[Done, ...] = ()) -> BrowserView:
        """What a tab shows now, as a view."""
        if live.status >= 400:
            fact = f"{live.tab.url} cannot be read: status {live.status}"
            raise RunError(error("page-failed", fact))
        page = self._look(live)
        view = BrowserView(page, live, base, done)
        live.shows = itself = ref(view)
        page.compute_styles = lambda name: self._styles(itself(), name)
        return view

    def _look(self, live: LiveTab) -> Page:
        """All nodes of a tab, in two round trips."""
        from playwright.sync_api import Error

        for is_last in (False, False, True):
            try:
                live.picture = live.tab.evaluate_handle(snapshot.SCRIPT, snapshot.ARGUMENTS)
                live.seen = snapshot.page_of(live.picture.evaluate(snapshot.TEXT), live.tab.url)
            except snapshot.TooLarge:
                fact = f"{live.tab.url} is too large to be read"
                raise RunError(error("page-failed", fact)) from None
            except Error as problem:  # the page went on to another one at this moment
                if is_last:
                    fact = f"{live.tab.url} cannot be read: {_reason(problem)}"
                    raise RunError(error("page-failed", fact)) from None
                self._settle(live)
            else:
                return live.seen
        raise AssertionError

    def _settle(self, live: LiveTab) -> None:
        """Until the page has loaded, what it asked for has come, and nothing changes for a moment."""
        from playwright.sync_api import Error

        until = monotonic() + self._settings.patience
        while True:
            try:
                live.tab.wait_for_load_state("load")
                is_new = live.documents != live.calm
                live.tab.evaluate(snapshot.QUIET, [_CALM, _RESTLESS, is_new])
                live.calm = live.documents
            except Error as problem:
                if monotonic() > until:
                    fact = f"{live.tab.url} does not load: {_reason(problem)}"
                    raise RunError(error("page-failed", fact)) from None
                continue
            if not live.awaited or monotonic() > until:
                return

    def _has_changed(self, live: LiveTab, seconds: float) -> bool:
        from playwright.sync_api import Error

        assert live.picture is not None
        try:
            return bool(live.picture.evaluate(snapshot.CHANGED, seconds * 1_000))
        except Error:  # another page
            return True

    def _again(self, live: LiveTab, old: JSHandle | None, node: Node, page: Page) -> Node | None:
        """Where a node of the page as it was is now."""
        from playwright.sync_api import Error

        if node.parent is None:
            return page.root
        if not node.is_element or old is None or live.picture is None:
            return None
        try:
            (number,) = live.picture.evaluate(snapshot.NUMBERS, [old, [node.number]])
        except Error:  # it was another document
            return None
        return None if number < 0 else next(e for e in page.elements() if e.number == number)

    def _styles(self, view: BrowserView | None, name: str) -> list[str]:
        if view is None:
            raise StylesUnknown
        live = self._live(view)
        assert live.picture is not None
        found = live.picture.evaluate(snapshot.STYLES, name)
        return [str(each) for each in found]

    # Actions.

    def _live(self, view: BrowserView) -> LiveTab:
        """A tab that shows a view; if there is none, its page is loaded again and all done again there."""
        live = view.tab
        if live.shows is not None and live.shows() is view and not live.tab.is_closed():
            return live
        if view.base is None:
            fact = f"{view.page.url} came of a form that was posted, which is not done twice"
            raise RunError(error("step-failed", fact))
        live = self._free_tab()
        self._load(live, view.base)
        for each in view.done:
            assert live.seen is not None
            self._do(live, _located(live.seen, each.path, each.action), each.action, each.text)
            self._settle(live)
            self._look(live)
        live.shows = ref(view)
        object.__setattr__(view, "tab", live)
        return live

    def _number(self, live: LiveTab, view: BrowserView, node: Node) -> int:
        """The number of an element in the tab, which may show the page a second time."""
        if live.seen is view.page or live.seen is None:
            return node.number
        return _located(live.seen, _path(node), None)

    def _after(
        self,
        view: BrowserView,
        live: LiveTab,
        done: Done,
        old: tuple[JSHandle, int],
        *,
        is_known: bool,
    ) -> tuple[BrowserView, Node | None]:
        """The view after an action, and where its node is then."""
        picture, documents = old
        node_number = _located(live.seen, done.path, None) if live.seen else -1
        live.shows = None
        self._settle(live)
        if live.documents == documents:
            after = self._view(live, view.base, (*view.done, done))
            node = self._moved(live, picture, node_number, after.page)
            picture.dispose()
            return after, node
        refuse_foreign_file(live.tab.url, self._start or live.tab.url)
        if not is_known:
            self._manners.before(live.tab.url)
        base = live.tab.url if live.method == "GET" else None
        return self._view(live, base), None

    def _moved(self, live: LiveTab, old: JSHandle, number: int, page: Page) -> Node | None:
        assert live.picture is not None
        (now,) = live.picture.evaluate(snapshot.NUMBERS, [old, [number]])
        return None if now < 0 else next(each for each in page.elements() if each.number == now)

    def _wait(
        self, view: BrowserView, node: Node, action: Action
    ) -> tuple[BrowserView, Node | None]:
        """Some time passes; only the root and elements are found again."""
        live = self._live(view)
        old, documents = live.picture, live.documents
        _pause(live, action)
        self._settle(live)
        is_same = live.documents == documents
        base = view.base if is_same else live.tab.url
        after = self._view(live, base, view.done if is_same else ())
        return after, self._again(live, old, node, after.page)

    def _do(
        self, live: LiveTab, number: int, action: Action, text: str | None
    ) -> tuple[JSHandle, int]:
        """Does it; gives the page as it was before, and how many documents there were."""
        from playwright.sync_api import Error

        assert live.picture is not None
        before = live.picture, live.documents
        live.status = 200
        try:
            is_click = action.kind is ActionKind.CLICK
            found = snapshot.CLICKED if is_click else snapshot.ELEMENT
            element = live.picture.evaluate_handle(found, number).as_element()
            assert element is not None
            _perform(live, element, action, text)
        except Error as problem:
            fact = f"'{action.kind}' cannot be done on {live.tab.url}: {_reason(problem)}"
            raise RunError(error("step-failed", fact, action.span)) from None
        return before


def _listen(live: LiveTab, gate: Gate) -> None:
    """Keeps account of what a tab loads; what it asks of a user is refused."""
    tab = live.tab

    def refuse(what: str) -> None:
        gate.refused.append(error("refused-address", f"{urlsplit(tab.url).netloc} {what}"))

    def on_dialog(dialog: Dialog) -> None:
        refuse("opened a dialog, which was dismissed")
        dialog.dismiss()

    def on_download(_: Download) -> None:
        refuse("offered a download, which was refused")

    def on_popup(popup: Tab) -> None:
        refuse("opened a window, which was closed")
        popup.close()

    def on_request(request: Request) -> None:
        if request.resource_type in _AWAITED:
            live.awaited.add(request)
        if request.is_navigation_request() and request.frame == tab.main_frame:
            live.method = request.method

    def on_response(response: Response) -> None:
        request = response.request
        if request.is_navigation_request() and request.frame == tab.main_frame:
            live.status = response.status

    def on_end(request: Request) -> None:
        live.awaited.discard(request)

    def on_document(_: Tab) -> None:
        live.documents += 1

    tab.on("dialog", on_dialog)
    tab.on("download", on_download)
    tab.on("popup", on_popup)
    tab.on("request", on_request)
    tab.on("response", on_response)
    tab.on("requestfinished", on_end)
    tab.on("requestfailed", on_end)
    tab.on("domcontentloaded", on_document)


def _perform(live: LiveTab, element: ElementHandle, action: Action, text: str | None) -> None:
    match action.kind:
        case ActionKind.CLICK:
            element.click()
        case ActionKind.FILL:
            element.fill(text or "")
        case ActionKind.SELECT:
            _select(element, text)
        case ActionKind.CHECK:
            element.check()
        case ActionKind.UNCHECK:
            element.uncheck()
        case ActionKind.HOVER:
            element.hover()
        case ActionKind.PRESS:
            element.press(action.key or "")
        case ActionKind.WAIT:
            _pause(live, action)


def _select(element: ElementHandle, text: str | None) -> None:
    if text is not None:
        known = element.evaluate("(e, t) => [...e.options].some((o) => o.label.trim() === t)", text)
        element.select_option(**({"label": text} if known else {"value": text}))  # type: ignore[arg-type]
        return
    owner = element.evaluate_handle("(e) => e.closest('select')").as_element()
    if owner is None:
        from playwright.sync_api import Error

        raise Error("select: the node is no option of a list")
    owner.select_option(element=element)


def _pause(live: LiveTab, action: Action) -> None:
    assert action.period is not None
    live.tab.wait_for_timeout(action.period.microseconds / 1_000)


def _link(node: Node) -> str | None:
    """Where a plain link leads: one to another page, that runs no script of its own."""
    found = next((e for e in (node, *node.ancestors()) if e.name == "a"), None)
    href = found.attribute("href") if found is not None else None
    if found is None or href is None or found.attribute("onclick") is not None:
        return None
    try:
        target = joined(_base(node.page), href.strip())
    except RunError:  # the browser will do with it what it does
        return None
    is_page = urlsplit(target).scheme in ("http", "https", "file")
    return target if is_page and not href.strip().startswith("#") else None


def _base(page: Page) -> str:
    found = next((e.attribute("href") for e in page.elements() if e.name == "base"), None)
    return joined(page.url, found or "")


def _path(node: Node) -> tuple[int, ...]:
    """The places of an element and of those around it among their siblings."""
    places: list[int] = []
    while node.parent is not None:
        siblings = [each for each in node.parent.children if each.is_element]
        places.append(siblings.index(node))
        node = node.parent
    return tuple(reversed(places))


def _located(page: Page, path: Sequence[int], action: Action | None) -> int:
    node = page.root
    for place in path:
        siblings = [each for each in node.children if each.is_element]
        if place >= len(siblings):
            fact = f"{page.url} is another page than it was a moment ago"
            raise RunError(error("step-failed", fact, action.span if action else None))
        node = siblings[place]
    return node.number
