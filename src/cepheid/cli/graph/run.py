"""`cepheid graph run`: a graph at work, in real time."""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from cepheid.cli.graph.options import (
    File,
    Late,
    Length,
    NoPriorities,
    NoSharing,
    Processors,
    Seed,
    loaded,
    seconds_of,
    wanted,
)
from cepheid.cli.options import write_file
from cepheid.core.whole_file import whole_file
from cepheid.errors import UsageError, error, reason_of

if TYPE_CHECKING:
    from cepheid.realtime.dispatcher import Dispatcher, Trouble
    from cepheid.realtime.graph import Graph
    from cepheid.realtime.machine import Delivery
    from cepheid.realtime.running import Ran

_EVERY = 0.5  # seconds between two looks at a run
_REASONS = 3  # of one operator that are told
_SWITCH = 0.0001  # seconds after which whoever draws gives way to whoever works


def run(
    file: File,
    length: Length = None,
    processors: Processors = None,
    no_sharing: NoSharing = False,
    no_priorities: NoPriorities = False,
    late: Late = None,
    fifo: Annotated[
        bool,
        typer.Option(
            "--fifo", help="Before all other programs (SCHED_FIFO), where that is allowed."
        ),
    ] = False,
    times: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="How long operators take: nothing is begun that cannot be in time.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write what is delivered (JSON Lines), '-' for standard output.",
            show_default=False,
        ),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write every job in the trace format of Chrome (JSON).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run a graph in real time, and tell how soon consumers were served.

    Suppliers push by their rates, from their files, or what comes from their
    addresses. What happens is shown while it runs; Ctrl-C ends it, and what
    was measured until then is told.

      cepheid graph run driving.toml
      cepheid graph run fusion.toml --for 10s --processors 2
      cepheid graph run driving.toml --out warnings.jsonl --trace run.json
    """
    from cepheid.cli.terminal.output import spare
    from cepheid.realtime.calibration import load_times
    from cepheid.realtime.running import run as run_graph

    read = [*filter(None, (file, times))]
    spare("--out", [each for each in (out,) if each not in (None, "-")], read)
    spare("--trace", filter(None, [trace]), read)
    found = loaded(file)
    known = None if times is None else load_times(times)
    graph = wanted(found.graph, no_sharing=no_sharing, no_priorities=no_priorities, late=late)
    with ExitStack() as stack:
        deliver = _writer(out, graph, stack)

        def watch(dispatcher: Dispatcher) -> None:
            stack.enter_context(_stopping(dispatcher))
            stack.enter_context(_shown(dispatcher))

        ran = run_graph(
            graph,
            seconds=seconds_of(length),
            processors=processors or found.processors,
            scheduling="fifo" if fifo else "other",
            seed=seed,
            times=known,
            deliver=deliver,
            with_trace=trace is not None,
            watch=watch,
        )
    if trace is not None:
        from cepheid.realtime.trace import chrome_trace

        write_file(trace, chrome_trace(ran.trace))
    _print(ran, fifo=fifo)
    if _has_failed(ran):
        raise typer.Exit(1)


def _writer(out: str | None, graph: Graph, stack: ExitStack) -> Callable[[Delivery[Any]], None]:
    """What writes deliveries, one a line."""
    if out is None:
        return lambda _: None
    from cepheid.realtime.checking import checked
    from cepheid.realtime.recorded import row_of

    payloads = checked(graph).payloads
    stream = sys.stdout if out == "-" else stack.enter_context(_opened(out))
    if out == "-":  # what functions of users print is no delivery
        stack.enter_context(redirect_stdout(sys.stderr))

    def deliver(delivery: Delivery[Any]) -> None:
        print(json.dumps(row_of(delivery, payloads[delivery.sample.source])), file=stream)

    return deliver


@contextmanager
def _opened(file: str) -> Iterator[TextIO]:
    """A file that is there when the run has ended well; else the old one stays."""
    with ExitStack() as stack:
        try:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            draft = stack.enter_context(whole_file(file))
            stream = stack.enter_context(draft.open("w", encoding="utf-8"))
        except OSError as problem:
            fact = f"cannot write '{file}': {reason_of(problem)}"
            raise UsageError(error("bad-file", fact)) from None
        yield stream


@contextmanager
def _stopping(dispatcher: Dispatcher) -> Iterator[None]:
    """Ctrl-C and a polite kill end a run after the jobs at hand."""
    names = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(name, lambda *_: dispatcher.stop()) for name in names]
    try:
        yield
    finally:
        for name, handler in zip(names, before, strict=True):
            signal.signal(name, handler)


@contextmanager
def _shown(dispatcher: Dispatcher) -> Iterator[None]:
    """A run while it goes on, where someone looks."""
    from rich.live import Live

    from cepheid.cli.graph.live_view import view_of
    from cepheid.cli.terminal.console import err

    console, is_over = err(), Event()

    def look() -> None:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            while not is_over.wait(_EVERY):
                live.update(view_of(dispatcher), refresh=True)

    if not console.is_terminal:
        yield
        return
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        sys.setswitchinterval(before)


def _print(ran: Ran, *, fifo: bool) -> None:
    from cepheid.cli.graph.tables import metrics_table, summary_line
    from cepheid.cli.terminal.console import err

    console = err()
    console.print(metrics_table(ran.metrics))
    console.print(summary_line(ran.metrics), soft_wrap=True)
    if fifo:
        is_first = ran.scheduling == "fifo"
        console.print(
            "scheduled before all other programs (SCHED_FIFO)"
            if is_first
            else "SCHED_FIFO is not allowed here: scheduled like all other programs"
        )
    for name, traffic in ran.traffic.items():
        console.print(f"{name}: {traffic}", soft_wrap=True)
    for line in _told(ran.troubles):
        console.print(line, style="yellow", soft_wrap=True)


def _told(troubles: Sequence[Trouble]) -> Iterator[str]:
    """What went wrong with each operator, the first reasons of many."""
    found: dict[str, Counter[str]] = {}
    for trouble in troubles:
        found.setdefault(trouble.operator, Counter())[trouble.reason] += 1
    for operator, reasons in found.items():
        for reason, count in [*reasons.items()][:_REASONS]:
            yield f"{operator}: {reason}{f' ({count:,} times)' if count > 1 else ''}"
        others = sum([*reasons.values()][_REASONS:])
        if others:
            yield f"{operator}: {others:,} more for {len(reasons) - _REASONS:,} other reasons"


def _has_failed(ran: Ran) -> bool:
    """A consumer got nothing, and something went wrong with what it needs."""
    from cepheid.realtime.graph import behind

    wrong = {trouble.operator for trouble in ran.troubles}
    return any(
        wrong.intersection(each.name for each in behind(ran.graph, [found.consumer]))
        for found in ran.metrics.consumers.values()
        if not found.count
    )
