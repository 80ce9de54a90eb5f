"""Why there is no row, as a tree: what stood in the way, at which match, and what is behind that."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from cepheid.absence.answer import Absence, Hindrance, Match, Obstacle, PartialMatch
from cepheid.absence.parts import Kind
from cepheid.cli.terminal.console import counted
from cepheid.cli.terminal.diagnostics import one_line
from cepheid.cli.terminal.tables import event_line
from cepheid.core.event import Event
from cepheid.core.time import format_instant

MOST_ROWS = 3
NEAREST = 3  # obstacles that are shown unless all are wanted
_LONGEST = 72  # of a text of the program


def print_absence(absence: Absence, console: Console, most: int) -> None:
    """`most` obstacles, and of what is behind them the nearest, unless all are wanted."""
    console.print(_tree(absence, most, is_top=True))


def _tree(absence: Absence, most: int, *, is_top: bool) -> Tree:
    name, asked = one_line(absence.statement), absence.asked
    if absence.rows:
        said = f"{name} gave {counted(len(absence.rows), 'row')} {asked}"
        said += "" if is_top else ", of which none fits"
        top = Tree(Text(said, "bold"), guide_style="dim")
        for row in absence.rows[:MOST_ROWS]:
            top.add(event_line(row, ""))
        _more(top, len(absence.rows) - MOST_ROWS, "row")
        return top
    top = Tree(Text(f"{name} gave no row {asked}", "bold"), guide_style="dim")
    for obstacle in absence.obstacles[:most]:
        top.add(_obstacle(obstacle, most))
    _more(top, len(absence.obstacles) - most, "way", "--all shows them")
    if is_top and absence.reached:
        under_way = top.add(Text("how far matches came"))
        for reached in absence.reached[-most:]:
            under_way.add(_reached(reached))
    for limit in absence.limits if is_top else ():
        top.add(Text(limit, "dim"))
    return top


def _more(tree: Tree, count: int, noun: str, hint: str = "") -> None:
    if count > 0:
        tree.add(Text(f"{count} more {noun}{'s' * (count > 1)}{hint and f' ({hint})'}", "dim"))


def _obstacle(obstacle: Obstacle, most: int) -> Tree:
    """One hindrance is told in a line, several below what they have in common."""
    first, *others = obstacle.hindrances
    at = format_instant(obstacle.instant)
    head = Text.assemble("but for ", _hindrance(first))
    for other in others:
        head.append("\nand ")
        head.append_text(_hindrance(other))
    tree = Tree(head, guide_style="dim")
    if obstacle.match:
        matches = f", one of {obstacle.matches:,}" if obstacle.matches > 1 else ""
        match = tree.add(Text(f"this would have matched at {at}{matches}", "dim"))
        for line in _match(obstacle.match):
            match.add(line)
    for hindrance in obstacle.hindrances:
        for absence in hindrance.followed:
            tree.add(_tree(absence, most if most > NEAREST else 1, is_top=False))
    return tree


_WORDS = {
    Kind.MISSING: "an event",
    Kind.TIMER: "",
    Kind.NOT: "",
    Kind.ONCE: "one at a time:",
    Kind.TAKEN: "each event once:",
    Kind.NOISE: "no other events:",
    Kind.SAME: "the same value:",
}


def _hindrance(hindrance: Hindrance) -> Text:
    word = _WORDS.get(hindrance.kind, str(hindrance.kind))
    text = one_line(" ".join(hindrance.text.split()))
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    place = f"  {hindrance.span}" if hindrance.span else ""
    return Text.assemble(
        f"{word} " if word else "", (text, "yellow"), ": ", one_line(hindrance.fact), (place, "dim")
    )


def _reached(reached: PartialMatch) -> Text:
    lines = list(_match(reached.match))
    line = Text("; ").join(lines)
    if reached.ended is not None:
        line.append(f", ended at {format_instant(reached.ended)}")
    elif reached.awaits is not None:
        line.append(f", awaits {one_line(' '.join(reached.awaits.split()))}")
    return line


def _match(match: Match) -> Iterator[Text]:
    for name, bound in match.items():
        for event in (bound,) if isinstance(bound, Event) else bound:
            is_named = name != event.type and not name.startswith(f"{event.type} ")
            yield Text.assemble(f"{name} = " if is_named else "", event_line(event, ""))
