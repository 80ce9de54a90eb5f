"""Forms of pages that no browser shows: what is filled in, and the address that sends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode, urlsplit, urlunsplit

from cepheid.errors import Diagnostic, RunError, error
from cepheid.web.nodes import Node, Page
from cepheid.web.site import joined
from cepheid.web.tree import Action, ActionKind

_BUTTONS = {"submit", "image", "button", "reset"}
_TICKED = {"checkbox", "radio"}
_UNWRITTEN = _BUTTONS | _TICKED | {"hidden", "file"}


@dataclass(frozen=True, slots=True)
class StaticView:
    """A page and what was filled in, by the numbers of its elements."""

    page: Page
    texts: Mapping[int, str] = field(default_factory=dict)
    ticks: Mapping[int, bool] = field(default_factory=dict)
    chosen: Mapping[int, int] = field(default_factory=dict)  # of lists: the option


def needs_browser(action: Action, what: str) -> RunError:
    hint = "leave --no-browser out"
    return RunError(error("needs-browser", f"{what} without a browser", action.span, hint))


def filled(view: StaticView, node: Node, action: Action, text: str | None) -> StaticView:
    """The view after an action that stays on its page."""
    match action.kind:
        case ActionKind.FILL if _is_text_field(node):
            return replace(view, texts={**view.texts, node.number: text or ""})
        case ActionKind.SELECT:
            option = _option(node, action, text)
            return replace(
                view, chosen={**view.chosen, _list_of(option, action).number: option.number}
            )
        case ActionKind.CHECK | ActionKind.UNCHECK if _type(node) in _TICKED:
            return replace(view, ticks=_ticked(view, node, action.kind is ActionKind.CHECK))
        case ActionKind.WAIT:
            return view  # nothing changes by itself
        case ActionKind.FILL | ActionKind.CHECK | ActionKind.UNCHECK:
            raise RunError(unfit(node, action))
    raise needs_browser(action, f"'{action.kind}' does nothing")


def unfit(node: Node, action: Action) -> Diagnostic:
    fact = f"'{action.kind}' does not fit a node '{node.name}'"
    return error("step-failed", fact, action.span)


def _is_text_field(node: Node) -> bool:
    return node.name == "textarea" or (node.name == "input" and _type(node) not in _UNWRITTEN)


def _type(node: Node) -> str:
    return (node.attribute("type") or ("submit" if node.name == "button" else "text")).lower()


def _option(node: Node, action: Action, text: str | None) -> Node:
    """The option itself, or the one of a list that a text names, by its label or its value."""
    if text is None:
        return node
    for option in _inside(node, "option"):
        if text in (" ".join(option.text.split()), option.attribute("value")):
            return option
    raise RunError(error("step-failed", f"the list has no option {text!r}", action.span))


def _list_of(option: Node, action: Action) -> Node:
    found = next((each for each in option.ancestors() if each.name == "select"), None)
    if option.name != "option" or found is None:
        raise RunError(unfit(option, action))
    return found


def _ticked(view: StaticView, node: Node, is_on: bool) -> Mapping[int, bool]:
    """Of radio buttons of one name, one is on."""
    others: dict[int, bool] = {}
    form = _form(node)
    if is_on and _type(node) == "radio" and form is not None:
        name = node.attribute("name")
        same = (each for each in _inside(form, "input") if each.attribute("name") == name)
        others = {each.number: False for each in same if _type(each) == "radio"}
    return {**view.ticks, **others, node.number: is_on}


def target_of(view: StaticView, node: Node, action: Action) -> str:
    """The address to which a click on a link, or on the button of a simple form, leads."""
    link = next(
        (e for e in (node, *node.ancestors()) if e.name == "a" and e.attribute("href")), None
    )
    if link is not None:
        return joined(_base(view.page), (link.attribute("href") or "").strip())
    form, is_button = _form(node), node.name in ("button", "input") and _type(node) in _BUTTONS
    if form is None or not is_button or _type(node) in ("button", "reset"):
        raise needs_browser(action, f"a click on a node '{node.name}' does nothing")
    if (form.attribute("method") or "get").lower() != "get":
        raise needs_browser(action, "a form that posts cannot be sent")
    target = joined(_base(view.page), form.attribute("action") or view.page.url)
    return urlunsplit(urlsplit(target)._replace(query=urlencode([*_sent(view, form, node)])))


def _base(page: Page) -> str:
    found = next((e.attribute("href") for e in page.elements() if e.name == "base"), None)
    return joined(page.url, found or "")


def _form(node: Node) -> Node | None:
    return next((each for each in node.ancestors() if each.name == "form"), None)


def _inside(node: Node, *names: str) -> Iterator[Node]:
    inner = node.page.flat[node.order[0] + 1 : node.end]
    return (each for each in inner if each.is_element and each.name in names)


def _sent(view: StaticView, form: Node, button: Node) -> Iterator[tuple[str, str]]:
    """Names and values as a browser would send them."""
    for field_ in _inside(form, "input", "textarea", "select", "button"):
        name = field_.attribute("name")
        if not name or field_.attribute("disabled") is not None:
            continue
        if field_.name == "select":
            yield from ((name, value) for value in _values_of_list(view, field_))
        elif field_.name == "textarea":
            yield name, view.texts.get(field_.number, field_.text)
        elif _type(field_) in _TICKED:
            if view.ticks.get(field_.number, field_.attribute("checked") is not None):
                yield name, field_.attribute("value") or "on"
        elif field_ is button or _type(field_) not in _BUTTONS:
            yield name, view.texts.get(field_.number, field_.attribute("value") or "")


def _values_of_list(view: StaticView, list: Node) -> Iterator[str]:
    options = [*_inside(list, "option")]
    chosen = [each for each in options if each.number == view.chosen.get(list.number)]
    selected = [each for each in options if each.attribute("selected") is not None]
    takes_many = list.attribute("multiple") is not None
    for option in chosen or selected or ([] if takes_many else options[:1]):
        value = option.attribute("value")
        yield " ".join(option.text.split()) if value is None else value
