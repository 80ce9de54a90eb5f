"""`cepheid studio`: programs in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cepheid.errors import UsageError, error

_PARTS = ("fastapi", "uvicorn", "websockets")  # of cepheid[studio]


def studio(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Where programs and events are.", show_default="this folder"
        ),
    ] = Path(),
    port: Annotated[
        int,
        typer.Option(
            metavar="NUMBER", help="The port to listen on.", show_default="any that is free"
        ),
    ] = 0,
    limit: Annotated[float, typer.Option(metavar="SECONDS", help="How long a run may take.")] = 300,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Let programs call the functions.py beside them."),
    ] = False,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address; open no browser.")
    ] = False,
) -> None:
    """Write programs and try them in the browser.

    Shows what is wrong while you type, draws what depends on what, runs
    programs over events, and shows the events behind each match. Only this
    machine can open it, with the address that is printed. Ctrl-C ends it.

      cepheid studio
      cepheid studio alarms/ --port 8700 --no-browser
    """
    _require_parts()
    if not limit > 0:
        raise UsageError(error("usage", f"--limit must be more than 0, not {limit:g}"))
    if not 0 <= port < 2**16:
        raise UsageError(error("usage", f"--port lies between 0 and 65535, not at {port}"))
    from cepheid.studio.folder import Folder
    from cepheid.studio.limits import Limits
    from cepheid.studio.room import Room
    from cepheid.studio.server import serve

    room = Room(Folder.at(folder), is_trusted=trust)

    def opened(address: str) -> None:
        typer.echo(f"The studio is at {address}")
        typer.echo("Ctrl-C ends it.")
        if not no_browser:
            typer.launch(address)

    serve(room, port, Limits(run=limit), opened)


def _require_parts() -> None:
    from importlib.util import find_spec

    missing = [name for name in _PARTS if find_spec(name) is None]
    if missing:
        fact = f"the studio needs what is not installed: {', '.join(missing)}"
        raise UsageError(error("no-studio", fact, hint="`pip install 'cepheid[studio]'`"))
