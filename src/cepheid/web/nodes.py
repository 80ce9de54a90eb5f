"""A page as XPath sees it: nodes in one list, in the order of the document.

It is a picture of a page at one moment. Everything but the root, attributes and styles stands in `flat`,
so that the descendants of a node are a slice of it, and what follows a node is the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from html import escape


class NodeKind(Enum):
    ROOT = auto()
    ELEMENT = auto()
    TEXT = auto()
    COMMENT = auto()
    INSTRUCTION = auto()
    ATTRIBUTE = auto()
    STYLE = auto()  # a computed property of an element


@dataclass(slots=True, eq=False)
class Node:
    """`name` of elements, attributes, styles and instructions; `value` of all but root and elements."""

    kind: NodeKind
    name: str
    value: str
    parent: Node | None
    page: Page
    order: tuple[int, int]  # the place in the document; of an attribute, its place among the others
    children: list[Node] = field(default_factory=list)
    attributes: list[Node] = field(default_factory=list)
    end: int = 0  # the place behind the last descendant
    number: int = -1  # of elements, by which whoever made the page finds them again
    is_visible: bool = True

    @property
    def is_element(self) -> bool:
        return self.kind is NodeKind.ELEMENT

    def attribute(self, name: str) -> str | None:
        return next((each.value for each in self.attributes if each.name == name), None)

    @property
    def text(self) -> str:
        """The string value."""
        if self.kind not in (NodeKind.ELEMENT, NodeKind.ROOT):
            return self.value
        inner = self.page.flat[self.order[0] + 1 : self.end]
        return "".join([node.value for node in inner if node.kind is NodeKind.TEXT])

    def ancestors(self) -> Iterator[Node]:
        """From the parent to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


@dataclass(slots=True, eq=False)
class Page:
    """All nodes of a page; the first is its root."""

    url: str
    flat: list[Node] = field(default_factory=list)
    # The values of a property of all elements, by their numbers; None: nobody computes styles here.
    compute_styles: Callable[[str], Sequence[str]] | None = None
    _styles: dict[str, list[Node]] = field(default_factory=dict)

    @property
    def root(self) -> Node:
        return self.flat[0]

    def elements(self) -> Iterator[Node]:
        return (node for node in self.flat if node.is_element)

    def style_of(self, element: Node, name: str) -> Node | None:
        """A property of an element as a node; all elements have theirs computed at once."""
        if self.compute_styles is None:
            raise StylesUnknown
        if name not in self._styles:
            values = self.compute_styles(name)
            self._styles[name] = [
                Node(NodeKind.STYLE, name, values[each.number], each, self, (each.order[0], -1))
                for each in self.elements()
            ]
        found = self._styles[name][element.number]
        return found if found.value else None

    @property
    def fingerprint(self) -> int:
        """Equal for pages that say the same."""
        return hash((self.url, tuple((node.name, node.value) for node in self.flat)))


class StylesUnknown(Exception):
    """Styles of a page that no browser shows."""


def as_html(page: Page) -> str:
    """The page as a text, for people to look at."""
    pieces: list[str] = []
    open_until: list[Node] = []
    for node in page.flat[1:]:
        while open_until and open_until[-1].end <= node.order[0]:
            pieces.append(f"</{open_until.pop().name}>")
        if node.is_element:
            written = "".join(f' {a.name}="{escape(a.value)}"' for a in node.attributes)
            pieces.append(f"<{node.name}{written}>")
            open_until.append(node)
        else:
            is_text = node.kind is NodeKind.TEXT
            pieces.append(escape(node.value, quote=False) if is_text else f"<!--{node.value}-->")
    pieces += [f"</{node.name}>" for node in reversed(open_until)]
    return "".join(pieces)


class PageBuilder:
    """Makes a page of what a walk over a document tells, in its order."""

    def __init__(self, url: str) -> None:
        self.page = Page(url)
        self._open: list[Node] = []
        self._elements = 0
        self._add(NodeKind.ROOT, "", "")

    def open(self, name: str, attributes: Mapping[str, str], *, is_visible: bool) -> Node:
        node = self._add(NodeKind.ELEMENT, name, "")
        node.number, node.is_visible = self._elements, is_visible
        self._elements += 1
        place = node.order[0]
        node.attributes = [
            Node(NodeKind.ATTRIBUTE, key, value, node, self.page, (place, number))
            for number, (key, value) in enumerate(attributes.items(), start=1)
        ]
        return node

    def close(self) -> None:
        self._open.pop().end = len(self.page.flat)

    def leaf(self, kind: NodeKind, value: str, name: str = "") -> None:
        """A text, a comment or an instruction; texts beside each other are one."""
        siblings = self._open[-1].children
        if kind is NodeKind.TEXT and siblings and siblings[-1].kind is NodeKind.TEXT:
            siblings[-1].value += value
        elif value or kind is not NodeKind.TEXT:
            self._add(kind, name, value)
            self.close()

    def finish(self) -> Page:
        while self._open:
            self.close()
        return self.page

    def _add(self, kind: NodeKind, name: str, value: str) -> Node:
        parent = self._open[-1] if self._open else None
        node = Node(kind, name, value, parent, self.page, (len(self.page.flat), 0))
        self.page.flat.append(node)
        if parent is not None:
            parent.children.append(node)
        self._open.append(node)
        return node
