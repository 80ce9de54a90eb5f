"""A page of a browser as nodes: one script tells all of it at once, so that a step costs no round trip."""

from __future__ import annotations

import json

from cepheid.web.nodes import NodeKind, Page, PageBuilder

_MOST_NODES = 300_000
# Gives what it found as a text, the elements by their numbers, and a watch for what changes later.
SCRIPT = """
([most]) => {
  const nodes = [], told = [], numbers = new Map();
  const fields = new Set(["input", "select", "textarea", "button"]);
  const shown = (e) => !e.checkVisibility || e.checkVisibility({visibilityProperty: true});
  let count = 0;
  const enter = (node) => {
    if (++count > most) return;
    if (node.nodeType === 1) {
      numbers.set(node, nodes.length);
      nodes.push(node);
      const name = node.localName.toLowerCase(), attributes = [];
      for (const each of node.attributes) attributes.push(each.name, each.value);
      told.push([name, attributes, !fields.has(name) || shown(node) ? 1 : 0]);
    } else if (node.nodeType === 3 || node.nodeType === 4) told.push(node.data);
    else if (node.nodeType === 8) told.push([node.data]);
    else if (node.nodeType === 7) told.push([node.target, node.data]);
  };
  let node = document.firstChild;
  while (node && count <= most) {
    enter(node);
    if (node.firstChild) { node = node.firstChild; continue; }
    for (;;) {
      if (node.nodeType === 1) told.push(0);
      if (node.nextSibling) { node = node.nextSibling; break; }
      node = node.parentNode;
      if (node === document) { node = null; break; }
    }
  }
  const found = {nodes, numbers, text: count > most ? null : JSON.stringify(told), changed: false};
  const watch = new MutationObserver(() => {
    found.changed = true;
    watch.disconnect();
    if (found.wake) found.wake();
  });
  watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
  return found;
}
"""
TEXT = "(found) => { const text = found.text; found.text = null; return text; }"
NUMBERS = "(found, [old, numbers]) => numbers.map((n) => found.numbers.get(old.nodes[n]) ?? -1)"
ELEMENT = "(found, number) => found.nodes[number]"
# The same; what a click on it opens comes in its own tab, not in a window.
CLICKED = """
(found, number) => {
  const element = found.nodes[number];
  for (const each of [element.closest("a"), element.form]) if (each) each.removeAttribute("target");
  return element;
}
"""
STYLES = "(found, name) => found.nodes.map((e) => getComputedStyle(e).getPropertyValue(name))"
CHANGED = """
(found, limit) => found.changed || new Promise((done) => {
  found.wake = () => done(true);
  setTimeout(() => done(found.changed), limit);
})
"""
# A new page without scripts is calm at once.
QUIET = """
([calm, limit, isNew]) => new Promise((done) => {
  const isPlain = isNew && !document.scripts.length && !document.querySelector("[onload], [onerror]");
  if (isPlain) { done(); return; }
  const end = () => { watch.disconnect(); clearTimeout(last); done(); };
  let next = setTimeout(end, calm);
  const last = setTimeout(end, limit);
  const watch = new MutationObserver(() => { clearTimeout(next); next = setTimeout(end, calm); });
  watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
})
"""
ARGUMENTS = [_MOST_NODES]


class TooLarge(Exception):
    """More nodes than anyone would write."""


def page_of(text: str | None, url: str) -> Page:
    """The page that the script has told."""
    if text is None:
        raise TooLarge
    builder = PageBuilder(url)
    for each in json.loads(text):
        match each:
            case 0:
                builder.close()
            case str():
                builder.leaf(NodeKind.TEXT, each)
            case [comment]:
                builder.leaf(NodeKind.COMMENT, comment)
            case [target, data]:
                builder.leaf(NodeKind.INSTRUCTION, data, target)
            case [name, attributes, is_visible]:
                pairs = zip(attributes[::2], attributes[1::2], strict=True)
                builder.open(name, dict(pairs), is_visible=bool(is_visible))
    return builder.finish()
