"""Pages without a browser: no scripts, no styles; links and simple forms."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.errors import RunError, error
from cepheid.web import static
from cepheid.web.fetching import Fetcher
from cepheid.web.forms import StaticView, filled, target_of
from cepheid.web.gate import Gate
from cepheid.web.nodes import Node, as_html
from cepheid.web.settings import Settings
from cepheid.web.site import View, refuse_foreign_file
from cepheid.web.tree import Action, ActionKind


class StaticSite:
    """The pages that a run visits."""

    def __init__(self, gate: Gate, settings: Settings) -> None:
        self._fetcher = Fetcher(gate, settings)
        self._start: str | None = None

    def open(self, address: str) -> StaticView:
        self._start = address
        return self._load(address)

    def act(
        self, view: View, node: Node, action: Action, text: str | None, *, is_last: bool
    ) -> tuple[StaticView, Node | None]:
        assert isinstance(view, StaticView)
        if action.kind is not ActionKind.CLICK:
            return filled(view, node, action, text), node
        target = target_of(view, node, action)
        refuse_foreign_file(target, self._start or target)
        return self._load(target), None

    def refresh(self, view: View, nodes: Sequence[Node], seconds: float) -> None:
        return None

    def picture(self, view: View) -> tuple[None, str]:
        return None, as_html(view.page)

    def _load(self, address: str) -> StaticView:
        answer = self._fetcher.page(address.partition("#")[0])
        try:
            return StaticView(static.page_of(answer.body, answer.address, answer.encoding))
        except (LookupError, ValueError) as problem:
            raise RunError(error("page-failed", f"{address} cannot be read: {problem}")) from None
