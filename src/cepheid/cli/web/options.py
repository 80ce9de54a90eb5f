"""Arguments and options that the commands of wrappers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import typer

from cepheid.errors import UsageError, error

WrapperFile: TypeAlias = Annotated[
    str, typer.Argument(metavar="WRAPPER", help="The wrapper (.oxpath).", show_default=False)
]
Url: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="URL",
        help="The page on which it starts, or a file.",
        show_default="what the wrapper says",
    ),
]
Vars: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--var", metavar="NAME=VALUE", help="The value of a variable.", show_default=False
    ),
]
NoBrowser: TypeAlias = Annotated[
    bool, typer.Option("--no-browser", help="Read pages as they come, without scripts.")
]
Allow: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST", help="A host that may have a private address.", show_default=False
    ),
]
IgnoreRobots: TypeAlias = Annotated[
    bool, typer.Option("--ignore-robots", help="Read what robots.txt asks not to, too.")
]
Timeout: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", help="How long a page may take to load.", min=0)
]
Patience: TypeAlias = Annotated[
    float,
    typer.Option(
        metavar="SECONDS", help="How long to wait for scripts that bring what a step needs.", min=0
    ),
]
Pause: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", help="Between two pages of one host.", min=0)
]
Profile: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="FOLDER", help="Keeps cookies and logins.", show_default=False),
]
Failures: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Gets a screenshot and the text of a page on which a step fails.",
        show_default=False,
    ),
]
Chromium: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="PROGRAM", help="The browser.", show_default="the Chromium of this machine"
    ),
]


def variables_of(given: Sequence[str] | None) -> dict[str, str]:
    """Names and values of `--var NAME=VALUE`."""
    found: dict[str, str] = {}
    for each in given or ():
        name, equals, value = each.partition("=")
        if not equals or not name:
            fact = f"'{each}' gives no variable a value"
            raise UsageError(error("usage", fact, hint="write --var NAME=VALUE"))
        found[name] = value
    return found
