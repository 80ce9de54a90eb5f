"""What a run needs of pages: the seam between wrappers and those who show pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urljoin, urlsplit

from cepheid.errors import RunError, UsageError, error
from cepheid.web.nodes import Node, Page
from cepheid.web.tree import Action


class View(Protocol):
    """A page as it was at one moment, with what its site needs to act on it later."""

    @property
    def page(self) -> Page: ...


class Site(Protocol):
    """Pages that can be opened and acted on."""

    def open(self, address: str) -> View: ...

    def act(
        self, view: View, node: Node, action: Action, text: str | None, *, is_last: bool
    ) -> tuple[View, Node | None]:
        """What a page becomes by an action, and where the node is then; None: not there any more.

        Unless it is the last that happens to this view, the view can be acted on again.
        """
        ...

    def refresh(
        self, view: View, nodes: Sequence[Node], seconds: float
    ) -> tuple[View, list[Node]] | None:
        """The page, and these nodes, once something in it has changed; None: nothing has, by then."""
        ...

    def picture(self, view: View) -> tuple[bytes | None, str]:
        """A screenshot, where there are any, and the page as HTML."""
        ...


def address_of(place: str) -> str:
    """An address of what people write: a URL, or the path of a file."""
    try:
        parts = urlsplit(place)
    except ValueError as problem:
        raise UsageError(error("usage", f"'{place}' is no address: {problem}")) from None
    if parts.scheme in ("http", "https"):
        if not parts.hostname:
            raise UsageError(error("usage", f"'{place}' names no host"))
        return place
    if parts.scheme == "file":
        return place
    if "://" in place:
        fact = f"'{place}' is no address of a page"
        raise UsageError(error("usage", fact, hint="http://..., https://..., or a file"))
    return Path(place).resolve().as_uri()


def joined(base: str, link: str) -> str:
    """Where a link of a page leads; RunError where it is no address."""
    try:
        target = urljoin(base, link)
        urlsplit(target)
    except ValueError:
        raise RunError(
            error("page-failed", f"a page leads to '{link}', which is no address")
        ) from None
    return target


def refuse_foreign_file(address: str, start: str) -> None:
    """Files are for pages that the user keeps: a page of the web leads to none, a file to its folder."""
    if urlsplit(address).scheme in ("http", "https"):
        return
    home, target = _folder(start), _folder(address)
    if home is None or target is None or not target.is_relative_to(home):
        raise RunError(error("refused-address", f"a page leads to {address}"))


def _folder(address: str) -> Path | None:
    parts = urlsplit(address)
    return Path(unquote(parts.path)).resolve().parent if parts.scheme == "file" else None
