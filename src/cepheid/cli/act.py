"""`cepheid act`: does what waits in an outbox."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.exits import FOUND, GOOD
from cepheid.cli.options import AsJson, PipelineFile
from cepheid.errors import UsageError, error

if TYPE_CHECKING:
    from cepheid.actions import Delivery, Drained, Outcome

_HEADS = ("delivered", "retried", "dead", "waiting")


def act(
    outbox: Annotated[
        str | None,
        typer.Argument(
            metavar="OUTBOX", help="The folder of actions.", show_default="that of the pipeline"
        ),
    ] = None,
    executors: Annotated[
        str | None,
        typer.Option(
            "--executors",
            "-x",
            metavar="FILE",
            help="A TOML file with a table [executors.NAME] for each class of actions.",
            show_default="those of the pipeline",
        ),
    ] = None,
    pipeline: PipelineFile = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would be done; no secret is needed.")
    ] = False,
    once: Annotated[
        bool,
        typer.Option("--once", help="Wait for no retry: what fails is left for the next time."),
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with what comes, until interrupted.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Try the dead letters once more, behind what waits.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Do the actions that wait in an outbox.

    Each class of actions has an executor, which does them in order. What
    fails is tried again, and put among the dead letters at last. After a
    crash, start it again: nothing is lost. The exit code is 1 if actions
    are dead or left.

      cepheid run alarms.epl --events monday.jsonl --outbox outbox
      cepheid act outbox --executors executors.toml --dry-run
      cepheid act outbox --executors executors.toml
      cepheid act    what the pipeline of cepheid.toml wants done
    """
    from cepheid.actions import read_deliveries

    if again and dry_run:
        raise UsageError(error("usage", "--again and --dry-run contradict each other"))
    if follow and (once or dry_run):
        other = "--once" if once else "--dry-run"
        raise UsageError(error("usage", f"--follow and {other} contradict each other"))
    if outbox is None or executors is None:
        from cepheid.cli.pipeline import outbox_and_executors

        outbox, executors = outbox_and_executors(pipeline, outbox, executors)
    elif pipeline is not None:
        raise UsageError(error("usage", "OUTBOX and --executors leave nothing to --pipeline"))
    deliveries = read_deliveries(executors, with_secrets=not dry_run)
    if dry_run:
        _rehearse(outbox, deliveries, as_json=as_json)
        return
    if again:
        _revive(outbox)
    found = _drain(outbox, deliveries, once=once, follow=follow, as_json=as_json)
    is_good = not any(tally.dead or tally.waiting for tally in found.tallies.values())
    raise typer.Exit(GOOD if is_good else FOUND)


def _revive(outbox: str) -> None:
    from cepheid.actions import revive
    from cepheid.cli.terminal.console import counted
    from cepheid.cli.terminal.run_messages import remark

    remark(f"{counted(revive(outbox), 'dead letter')} to be tried again")


def _drain(
    outbox: str, deliveries: dict[str, Delivery], *, once: bool, follow: bool, as_json: bool
) -> Drained:
    from cepheid.actions import Drained, Drainer
    from cepheid.cli.terminal.progress import ProgressBar

    found = Drained()
    with _log_on_standard_error(), ProgressBar(step=16) as progress:
        done = 0

        def on_outcome(outcome: Outcome) -> None:
            nonlocal done
            done += outcome.what != "retried"
            progress(done, None)
            _tell(outcome)

        try:
            with Drainer(outbox, deliveries, found, on_outcome=on_outcome) as drainer:
                drainer.run(once=once, follow=follow)
        finally:
            if found.tallies:
                _print(found, as_json=as_json)
    return found


def _tell(outcome: Outcome) -> None:
    """What did not go well is told at once."""
    from cepheid.cli.terminal.console import err
    from cepheid.cli.terminal.diagnostics import one_line, show
    from cepheid.errors import warning

    action = outcome.action
    if outcome.what == "retried":
        said = f"{action.name}: try {outcome.tries} failed, the next in {outcome.wait:.1f} s"
        err().print(one_line(f"{said}: {outcome.reason}"), soft_wrap=True)
    elif outcome.what == "dead":
        fact = f"'{action.name}' of {action.key} could not be done: {outcome.reason}"
        show([warning("dead-letter", fact)], err())


def _print(found: Drained, *, as_json: bool) -> None:
    from cepheid.cli.terminal.console import err, out
    from cepheid.cli.terminal.diagnostics import one_line, show
    from cepheid.cli.terminal.text_table import Column, TextTable

    counts = {
        name: {head: getattr(tally, head) for head in _HEADS}
        for name, tally in sorted(found.tallies.items())
    }
    if as_json:
        typer.echo(json.dumps(counts, indent=2, ensure_ascii=False))
    else:
        table = TextTable([Column("executor"), *(Column(head, "right") for head in _HEADS)])
        for name, own in counts.items():
            table.add(one_line(name), *(f"{own[head]:,}" for head in _HEADS))
        out().print(table)
    show(found.problems, err())


def _rehearse(outbox: str, deliveries: dict[str, Delivery], *, as_json: bool) -> None:
    from cepheid.actions import rehearse
    from cepheid.cli.terminal.console import counted, err, out
    from cepheid.cli.terminal.diagnostics import one_line, show

    planned, problems = rehearse(outbox, deliveries)
    for action, said in planned:
        if as_json:
            typer.echo(json.dumps({"action": action.row(), "would": said}, ensure_ascii=False))
        else:
            out().print(one_line(f"{action.name}: {said}"), soft_wrap=True)
    show(problems, err())
    err().print(f"{counted(len(planned), 'action')} would be done")


class _OnStandardError(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        from cepheid.cli.terminal.console import err

        err().print(self.format(record), soft_wrap=True)


@contextmanager
def _log_on_standard_error() -> Iterator[None]:
    """What executors log."""
    log, handler = logging.getLogger("cepheid.actions"), _OnStandardError()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
