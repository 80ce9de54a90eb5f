"""Options that say where events have what, and what is done with what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from cepheid.cli.options import one_of
from cepheid.errors import UsageError, error

TimeColumn = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="The column, or key, that holds the time.",
        show_default="@EventTime, else @time",
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What numbers count that are times: seconds, milliseconds, microseconds, and so on.",
        show_default="seconds",
    ),
]
TypeColumn = Annotated[
    str | None,
    typer.Option(
        "--type-column",
        metavar="COLUMN",
        help="The column that holds the event type.",
        show_default="@type, else the file's name",
    ),
]
SequenceColumn = Annotated[
    str | None,
    typer.Option(
        "--sequence",
        metavar="COLUMN",
        help="The column that orders events of one time.",
        show_default="their order",
    ),
]
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="COLUMN=ATTRIBUTE",
        help="A column that is an attribute under another name: --map card_no=card.",
        show_default=False,
    ),
]
Optional = Annotated[
    list[str] | None,
    typer.Option(
        "--optional",
        metavar="NAME",
        help="An attribute that may be missing in all events: card, or Payment.card.",
        show_default=False,
    ),
]
Extra = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What to do with columns that the schema does not have: ignore, or error.",
    ),
]


def renaming(pairs: Sequence[str] | None) -> dict[str, str]:
    """What `--map` says; UsageError where it is no pair of names."""
    found: dict[str, str] = {}
    for pair in pairs or ():
        column, _, attribute = pair.partition("=")
        if not column or not attribute:
            hint = "--map card_no=card: the column, then the attribute"
            raise UsageError(error("usage", f"--map: {pair!r} is no pair of names", hint=hint))
        if column in found:
            raise UsageError(error("usage", f"--map: the column {column!r} is named twice"))
        found[column] = attribute
    return found


def extra_of(name: str) -> Literal["ignore", "error"]:
    """The value of `--extra`."""
    return one_of(("ignore", "error"), name, "--extra")
