"""The command `cepheid`: its commands, and how every failure ends."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated

import typer

from cepheid.cli.act import act
from cepheid.cli.as_of import AsOfCommand, as_of
from cepheid.cli.check import check
from cepheid.cli.debug import DebugCommand, debug
from cepheid.cli.exits import GOOD, code_of_failure
from cepheid.cli.explain import explain
from cepheid.cli.export import ExportCommand, export
from cepheid.cli.format import format_programs
from cepheid.cli.graph.app import app as graph
from cepheid.cli.interrupt import INTERRUPTED, READER_GONE
from cepheid.cli.jobs.app import app as jobs
from cepheid.cli.live import live
from cepheid.cli.lsp import lsp
from cepheid.cli.new import new
from cepheid.cli.petri import app as petri
from cepheid.cli.replay import ReplayCommand, replay
from cepheid.cli.report import ReportCommand, report
from cepheid.cli.run import RunCommand, run
from cepheid.cli.search import search
from cepheid.cli.simulate import simulate
from cepheid.cli.stream import run_stream
from cepheid.cli.studio import studio
from cepheid.cli.terminal.console import err, guard_terminal
from cepheid.cli.terminal.help import PlainCommand, PlainGroup
from cepheid.cli.test import run_cases
from cepheid.cli.verify import verify
from cepheid.cli.web.app import app as web
from cepheid.cli.why_not import WhyNotCommand, why_not
from cepheid.errors import CepheidError, Diagnostic, error, reason_of

app = typer.Typer(
    name="cepheid",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    cls=PlainGroup,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", cls=RunCommand)(run)
app.command("why-not", cls=WhyNotCommand)(why_not)
app.command("stream", cls=PlainCommand)(run_stream)
app.command("live", cls=PlainCommand)(live)
app.command("as-of", cls=AsOfCommand)(as_of)
app.command("replay", cls=ReplayCommand)(replay)
app.command("debug", cls=DebugCommand)(debug)
app.command("act", cls=PlainCommand)(act)
app.command("check", cls=PlainCommand)(check)
app.command("simulate", cls=PlainCommand)(simulate)
app.command("verify", cls=PlainCommand)(verify)
app.command("format", cls=PlainCommand)(format_programs)
app.command("lsp", cls=PlainCommand)(lsp)
app.command("explain", cls=PlainCommand)(explain)
app.command("report", cls=ReportCommand)(report)
app.command("export", cls=ExportCommand)(export)
app.command("search", cls=PlainCommand)(search)
app.add_typer(petri, name="petri")
app.add_typer(graph, name="graph")
app.add_typer(jobs, name="jobs")
app.add_typer(web, name="web")
app.command("studio", cls=PlainCommand)(studio)
app.command("new", cls=PlainCommand)(new)
app.command("test", cls=PlainCommand)(run_cases)


def _version(is_wanted: bool) -> None:
    if is_wanted:
        from cepheid import __version__

        typer.echo(f"cepheid {__version__}")
        raise typer.Exit


@app.callback()
def cepheid(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Complex event processing: find patterns in streams of events.

    A program says which patterns matter and what to derive from them;
    events come from files or standard input. New here? This makes a small
    program with events, runs it and tests it:

      cepheid new demo
      cepheid run demo/demo.epl --events demo/events.jsonl
      cepheid test demo
    """


def main(args: Sequence[str] | None = None) -> int:
    """Runs a command and gives its exit code; people's mistakes never show a traceback."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What UTF-8 cannot hold, half of a surrogate pair, becomes an escape as in JSON.
            stream.reconfigure(errors="backslashreplace")
    guard_terminal()
    _show_what_takes_long()
    try:
        code = _run(args)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _give_up_output()
        return READER_GONE
    except OSError as problem:
        # Whatever opens a file answers for it itself; what is left is standard output.
        _give_up_output()
        reason = reason_of(problem)
        return _failed(error("bad-file", f"cannot write the output: {reason}"))


def _open_closed_streams() -> None:
    """A stream that the caller closed (`>&-`) is None in Python; here it is an empty one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


class _OnStandardError(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        err().print(record.getMessage())


def _show_what_takes_long() -> None:
    log = logging.getLogger("cepheid.matcher")
    if not log.handlers:
        log.addHandler(_OnStandardError())
        log.setLevel(logging.INFO)


@cache
def _command() -> Callable[..., object]:
    """All commands with their options, which take long to make of functions: once in a process."""
    return typer.main.get_command(app)


def _run(args: Sequence[str] | None) -> int:
    try:
        _command()(args=args, prog_name="cepheid")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # which Typer takes for a failure
            raise end.__context__ from None
        return end.code if isinstance(end.code, int) else GOOD
    except CepheidError as failure:
        return _failed(*failure.diagnostics)
    except RecursionError:
        return _failed(error("too-deep", "a row has values that are nested too deep to write them"))
    return GOOD


def _failed(*problems: Diagnostic) -> int:
    from cepheid.cli.terminal.diagnostics import show
    from cepheid.jobs.reporting import listener

    listener().failed(problems)
    sys.stdout.flush()
    show(problems, err())
    return code_of_failure(problems)


def _give_up_output() -> None:
    """Nothing can be written any more; Python must not complain when it flushes at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
