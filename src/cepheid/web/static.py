"""Pages of a text, read by lxml: what a browser would show of them if it ran no scripts."""

from __future__ import annotations

from typing import Any

from cepheid.errors import UsageError, error
from cepheid.web.nodes import NodeKind, Page, PageBuilder

_HEAD = 1_024  # bytes, in which a page says its encoding
_BYTE_ORDERS = (b"\xff\xfe", b"\xfe\xff")
_EMPTY = "<html><head></head><body></body></html>"  # as browsers show what has nothing in it


def page_of(html: str | bytes, url: str, encoding: str | None = None) -> Page:
    """The page that a text says, as a browser would lay it out before scripts run.

    ValueError where the parser gives a part of it up.
    """
    reader = _lxml()
    parser = reader.HTMLParser(encoding=encoding or _encoding_of(html), huge_tree=True)
    try:
        root = reader.document_fromstring(html or _EMPTY, parser=parser)
    except reader.etree.ParserError:  # there is nothing in it
        root = reader.document_fromstring(_EMPTY)
    if any(each.type_name == "ERR_RESOURCE_LIMIT" for each in parser.error_log):
        raise ValueError("it is nested too deep")
    _group_rows(root)
    builder = PageBuilder(url)
    for each in [*root.itersiblings(preceding=True)][::-1]:
        _add(builder, each, is_visible=True)
    _add(builder, root, is_visible=True)
    for each in root.itersiblings():
        _add(builder, each, is_visible=True)
    return builder.finish()


def _encoding_of(html: str | bytes) -> str | None:
    """That of a page which does not say it; None: lxml finds what is said, or takes what was usual."""
    if isinstance(html, str):
        return None
    if b"charset" in html[:_HEAD].lower() or html.startswith(_BYTE_ORDERS):
        return None
    try:
        html.decode()
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _group_rows(root: Any) -> None:
    """Rows that stand in a table itself get a body, as in every browser."""
    for table in root.iter("table"):
        body = None
        for child in list(table):
            if child.tag != "tr":
                body = None if isinstance(child.tag, str) else body
                continue
            if body is None:
                body = table.makeelement("tbody", {})
                child.addprevious(body)
            body.append(child)


def _lxml() -> Any:
    try:
        import lxml.html
    except ImportError:
        fact = "pages are read without a browser by lxml, which is not installed"
        raise UsageError(error("no-browser", fact, hint="pip install 'cepheid[web]'")) from None
    return lxml.html


def _add(builder: PageBuilder, element: Any, *, is_visible: bool) -> None:
    """An element with all in it; no recursion, since pages may be nested without end."""
    from lxml import etree

    # Elements to open, and None where one is to close.
    todo: list[tuple[Any, bool] | str | None] = [(element, is_visible)]
    while todo:
        task = todo.pop()
        if task is None:
            builder.close()
        elif isinstance(task, str):
            builder.leaf(NodeKind.TEXT, task)
        else:
            each, is_seen = task
            if each.tag is etree.Comment:
                builder.leaf(NodeKind.COMMENT, each.text or "")
            elif isinstance(each.tag, str):
                todo.append(None)
                todo.extend(_begin(builder, each, is_seen))


def _begin(builder: PageBuilder, element: Any, is_visible: bool) -> list[Any]:
    """Opens an element; gives what follows in it, the last first."""
    is_shown = is_visible and not _is_hidden(element)
    builder.open(element.tag, dict(element.attrib), is_visible=is_shown)
    inner: list[Any] = [element.text] if element.text else []
    for child in element:
        inner.append((child, is_shown))
        if child.tail:
            inner.append(child.tail)
    return inner[::-1]


def _is_hidden(element: Any) -> bool:
    style = "".join((element.get("style") or "").lower().split())
    return element.get("hidden") is not None or "display:none" in style
