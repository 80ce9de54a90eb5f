"""`cepheid web try` and `cepheid web extract`: what a wrapper finds."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cepheid.cli.exits import FOUND
from cepheid.cli.options import write_file
from cepheid.cli.web.options import (
    Allow,
    Chromium,
    Failures,
    IgnoreRobots,
    NoBrowser,
    Patience,
    Pause,
    Profile,
    Timeout,
    Url,
    Vars,
    WrapperFile,
    variables_of,
)
from cepheid.core.words import counted

if TYPE_CHECKING:
    from cepheid.cli.terminal.text_table import TextTable
    from cepheid.web import Extraction

_MOST_ROWS = 1_000  # of a table


def extract(
    wrapper: WrapperFile,
    url: Url = None,
    var: Vars = None,
    no_browser: NoBrowser = False,
    out: Annotated[
        str,
        typer.Option(metavar="FILE", help="Where the records go (JSON Lines), '-' for here."),
    ] = "-",
    allow: Allow = None,
    ignore_robots: IgnoreRobots = False,
    timeout: Timeout = 30.0,
    patience: Patience = 2.0,
    pause: Pause = 1.0,
    profile: Profile = None,
    failures: Failures = None,
    chromium: Chromium = None,
) -> None:
    """Write what a wrapper finds as JSON Lines.

    What was left out, and steps that found nothing, are told on standard
    error. The exit code is 1 if there is no record.

      cepheid web extract arrivals.oxpath https://www.example.org --var airport=LHR
      cepheid web extract arrivals.oxpath page.html --no-browser --out arrivals.jsonl
    """
    from cepheid.cli.terminal.output import spare

    spare("--out", [out] if out != "-" else [], [wrapper])
    found = _extraction(
        wrapper,
        url,
        var,
        no_browser=no_browser,
        allow=tuple(allow or ()),
        robots=not ignore_robots,
        timeout=timeout,
        patience=patience,
        pause=pause,
        profile=profile,
        failures=failures,
        chromium=chromium,
    )
    if out == "-":
        sys.stdout.write(found.to_jsonl())
    else:
        write_file(out, found.to_jsonl())
    _end(found)


def try_wrapper(
    wrapper: WrapperFile,
    url: Url = None,
    var: Vars = None,
    no_browser: NoBrowser = False,
    allow: Allow = None,
    ignore_robots: IgnoreRobots = False,
    timeout: Timeout = 30.0,
    patience: Patience = 2.0,
    pause: Pause = 1.0,
    profile: Profile = None,
    failures: Failures = None,
    chromium: Chromium = None,
) -> None:
    """Show what a wrapper finds as tables, and how far each of its steps got.

    cepheid web try arrivals.oxpath https://www.example.org --var airport=LHR
    cepheid web try arrivals.oxpath page.html --no-browser
    """
    from cepheid.cli.terminal.console import out as console

    found = _extraction(
        wrapper,
        url,
        var,
        no_browser=no_browser,
        allow=tuple(allow or ()),
        robots=not ignore_robots,
        timeout=timeout,
        patience=patience,
        pause=pause,
        profile=profile,
        failures=failures,
        chromium=chromium,
    )
    for type in dict.fromkeys(record["@type"] for record in found.records):
        own = [record for record in found.records if record["@type"] == type]
        console().print(_table(type, own))
        console().print()
    console().print(_steps(found))
    _end(found)


def _extraction(
    wrapper: str, url: str | None, var: list[str] | None, *, no_browser: bool, **settings: Any
) -> Extraction:
    from cepheid import web

    return web.extract(
        web.load(wrapper),
        url,
        variables=variables_of(var),
        browser=not no_browser,
        settings=web.Settings(**settings),
    )


def _end(found: Extraction) -> None:
    from cepheid.cli.terminal.console import err
    from cepheid.cli.terminal.diagnostics import show

    sys.stdout.flush()
    show(found.problems, err())
    if not found.records:
        err().print("no records")
        raise typer.Exit(FOUND)


def _table(type: str, records: list[dict[str, Any]]) -> TextTable:
    from rich.text import Text

    from cepheid.cli.terminal.diagnostics import one_line
    from cepheid.cli.terminal.tables import plain
    from cepheid.cli.terminal.text_table import Column, TextTable

    names = [name for name in dict.fromkeys(n for r in records for n in r) if name != "@type"]
    numbers = {n for n in names if all(_is_number(record.get(n)) for record in records)}
    columns = [Column(one_line(n), "right" if n in numbers else "left") for n in names]
    more = len(records) - _MOST_ROWS
    rest = f", {more:,} more not shown" if more > 0 else ""
    table = TextTable(columns, f"{one_line(type)} ({counted(len(records), 'record')}{rest})")
    for record in records[:_MOST_ROWS]:
        values = [record.get(name) for name in names]
        table.add(*(Text("null", "dim") if v is None else plain(v) for v in values))
    return table


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _steps(found: Extraction) -> TextTable:
    from cepheid.cli.terminal.diagnostics import one_line
    from cepheid.cli.terminal.text_table import Column, TextTable

    table = TextTable([Column("step"), Column("times", "right"), Column("nodes", "right")])
    for step in found.steps:
        table.add(one_line(step.text), f"{step.times:,}", f"{step.nodes:,}")
    return table
