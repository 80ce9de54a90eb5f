"""How long windows keep the events of classes, and how that was worked out."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from cepheid.cli.terminal.text_table import Column, TextTable
from cepheid.core.time import Period
from cepheid.verbs import Program
from cepheid.verbs.pipeline import live


def text(program: Program) -> Iterator[RenderableType]:
    derived = live(program.resolve())
    if not derived:
        yield Text("no life spans: they are worked out for classes of programs that can run")
        return
    names = ("class", "what", "is", "because")
    table = TextTable([Column(name) for name in names])
    last = None
    for found in derived:
        name = "" if found.name == last else found.name
        last = found.name
        table.add(name, found.what, str(Period(found.time)), found.because)
    yield table


def data(program: Program) -> dict[str, object]:
    """Of each class its times, as periods and in microseconds."""
    classes: dict[str, dict[str, object]] = {}
    for found in live(program.resolve()):
        times = classes.setdefault(found.name, {"class": found.name})
        times[found.what.replace(" ", "_")] = {
            "period": str(Period(found.time)),
            "microseconds": found.time,
            "because": found.because,
        }
    return {"classes": list(classes.values())}
