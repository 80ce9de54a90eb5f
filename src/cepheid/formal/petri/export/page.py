"""Pictures of nets: the folded net, with some of its boxes open, as SVG or as a page that opens them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

from cepheid.errors import UsageError, error, suggest
from cepheid.formal.petri.export.drawing import Drawing, drawn_panel
from cepheid.formal.petri.export.overview import anchor, overview
from cepheid.formal.petri.export.panels import Panel, panels
from cepheid.formal.petri.nets.net import Marking, Net

ALL = "all"


def to_svg(net: Net, marking: Marking, unfold: Collection[str] = ()) -> str:
    """The folded net, and below it the boxes that are to be open."""
    drawings = [overview(net)]
    drawings += [drawn_panel(panel, marking) for panel in _chosen(panels(net), unfold)]
    return _below(drawings).svg()


def to_html(net: Net, marking: Marking, unfold: Collection[str] = ()) -> str:
    """A page that opens a box where it is clicked; it needs no other file."""
    found = panels(net)
    is_open = {panel.title for panel in _chosen(found, unfold)}
    details = [_details(p, marking, is_open=p.title in is_open) for p in found]
    return "\n".join([_HEAD, overview(net).svg(), *details, _SCRIPT, "</body></html>", ""])


def _chosen(found: Sequence[Panel], unfold: Collection[str]) -> list[Panel]:
    """By the name of a box, or of a statement with all of its boxes."""
    names = [panel.title for panel in found]
    known = {*names, *(name.partition(".")[0] for name in names), ALL}
    for name in unfold:
        if name not in known:
            hint = suggest(name, sorted(known), "boxes")
            raise UsageError(error("usage", f"no box '{name}' in this net", hint=hint))
    wanted = {*unfold}
    return [
        panel
        for panel in found
        if ALL in wanted or not wanted.isdisjoint({panel.title, panel.title.partition(".")[0]})
    ]


def _below(drawings: Sequence[Drawing]) -> Drawing:
    """One below the other."""
    parts: list[str] = []
    top = 0.0
    for drawing in drawings:
        parts += [f'<g transform="translate(0,{top:.0f})">', *drawing.parts, "</g>"]
        top += drawing.height
    return Drawing(tuple(parts), (), (), max(d.width for d in drawings), top)


def _details(panel: Panel, marking: Marking, *, is_open: bool) -> str:
    state = " open" if is_open else ""
    return (
        f'<details id="{escape(anchor(panel.title))}"{state}>'
        f"<summary>{escape(panel.title)}</summary>\n{drawn_panel(panel, marking).svg()}</details>"
    )


_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>A program as a Petri net</title>
<style>
body{margin:0;font-family:Helvetica,Arial,sans-serif}
details{border-top:1px solid #c8d2dc}
summary{padding:6px 24px;cursor:pointer}
details svg{display:block}
</style></head><body>"""
_SCRIPT = """<script>
for (const box of document.querySelectorAll("a.unit")) {
  box.addEventListener("click", () => {
    document.getElementById(box.getAttribute("href").slice(1)).open = true;
  });
}
</script>"""
