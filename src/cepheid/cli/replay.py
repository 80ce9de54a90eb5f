"""`cepheid replay`: what a program would have done, as if it happened now."""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.options import ManyValues, Programs, load, one_of
from cepheid.cli.run import AfterFreeze, Chronon, Outages, Window, time_of
from cepheid.errors import UsageError, error

if TYPE_CHECKING:
    from cepheid.verbs.replay import Replay


class ReplayCommand(ManyValues):
    many = ("--history", "--break")


History = Annotated[
    list[str],
    typer.Option(
        "--history",
        metavar="FILE...",
        help="Files of what was detected when, folders or globs.",
        show_default=False,
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TIME",
        help="Where to begin: ISO 8601 or seconds. What was before it counts.",
        show_default="first detection",
    ),
]
To = Annotated[
    str | None, typer.Option("--to", metavar="TIME", help="Where to end.", show_default="the end")
]
Speed = Annotated[
    str,
    typer.Option(metavar="NUMBERx", help="How fast time passes: 1x, 60x, or max."),
]
Step = Annotated[
    str | None,
    typer.Option(
        metavar="PERIOD",
        help="How far a step goes; begins with a pause. Without a terminal, one step is all.",
        show_default="to the next change",
    ),
]
Break = Annotated[
    list[str] | None,
    typer.Option(
        "--break",
        metavar="NAME...",
        help="Stop where this action is taken, or this class changes.",
        show_default=False,
    ),
]
Form = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="NAME",
        help="screen, or jsonl: one line for each round in which something happens.",
        show_default="screen on a terminal, else jsonl",
    ),
]


def replay(
    programs: Programs,
    history: History,
    chronon: Chronon,
    begin: From = None,
    end: To = None,
    speed: Speed = "60x",
    step: Step = None,
    breaks: Break = None,
    outages: Outages = None,
    window: Window = "buffering",
    after_freeze: AfterFreeze = "refuse",
    format: Form = None,
) -> None:
    """Run through a history as if it happened now.

    Shows what is known at each time, what is still to be detected, and the
    actions as they arise. Keys pause, step, go back and change the speed.

      cepheid replay travel.bicepl --history history.jsonl --chronon 1m
      cepheid replay travel.bicepl --history history.jsonl --chronon 1m \\
          --from 2013-01-10T18:59:00Z --step 60s --break publishOnTwitter
      cepheid replay ... --format jsonl --speed max
    """
    from cepheid.cli.terminal import run_messages
    from cepheid.cli.terminal.progress import ProgressBar
    from cepheid.verbs.replay import replay as replayed

    kinds = ("screen", "jsonl")
    form = one_of(kinds, format or ("screen" if sys.stdout.isatty() else "jsonl"), "--format")
    factor = _speed(speed)
    program = load(programs)
    with ProgressBar() as progress:
        found = replayed(
            program,
            *history,
            chronon=chronon or "",
            start=None if begin is None else time_of(begin, "--from"),
            end=None if end is None else time_of(end, "--to"),
            step=step,
            outages=outages or (),
            window=window,
            after_freeze=after_freeze,
            progress=progress,
        )
    for name in breaks or ():
        found.expect(name)
    if form == "jsonl":
        _print(found, breaks or (), is_step=step is not None)
    else:
        _play(found, breaks or (), speed=factor, is_paused=step is not None)
    run_messages.on_refused(found.refused)


def _speed(text: str) -> float:
    from cepheid.cli.terminal.player import MAX

    if text == "max":
        return MAX
    match = re.fullmatch(r"(\d+(?:\.\d+)?)x?", text)
    if match is None or float(match[1]) == 0:
        raise UsageError(error("usage", f"'{text}' is no speed", hint="write 60x, or max"))
    return float(match[1])


def _print(found: Replay, breaks: list[str] | tuple[()], *, is_step: bool) -> None:
    """Round by round; nobody can go on after a pause, so that a step or a stop is the end."""
    from cepheid.io.encode import to_json

    moments = found.enter(breaks)
    if not (moments and moments[-1].names & set(breaks)):
        moments += found.step(breaks) if is_step else found.move(found.end, breaks)
    for moment in moments:
        typer.echo(to_json(found.to_json(moment)))


def _play(found: Replay, breaks: list[str] | tuple[()], *, speed: float, is_paused: bool) -> None:
    from rich.live import Live

    from cepheid.actions.clock import SystemClock
    from cepheid.cli.terminal.console import out
    from cepheid.cli.terminal.keys import Keys, NoKeys, TerminalKeys, has_keys
    from cepheid.cli.terminal.player import Player
    from cepheid.cli.terminal.replay_screen import ReplayScreen

    with ExitStack() as stack:
        keys: Keys = stack.enter_context(TerminalKeys()) if has_keys() else NoKeys()
        live = Live(console=out(), screen=True, auto_refresh=False)
        stack.enter_context(live)
        Player(
            found,
            speed=speed,
            is_paused=is_paused,
            stop=breaks,
            keys=keys,
            clock=SystemClock(),
            draw=lambda player: live.update(ReplayScreen(player), refresh=True),
        ).play()
    _say_where(found)


def _say_where(found: Replay) -> None:
    """What is left when the screen is gone."""
    from cepheid.cli.terminal.console import counted, err
    from cepheid.core.time import SECOND, format_instant

    done = counted(len(found.rows()), "action")
    where = format_instant(max(found.time, found.begin) // SECOND * SECOND)
    err().print(f"at {where}: {done}, {len(found.waiting()):,} detections to come")
