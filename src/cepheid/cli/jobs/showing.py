"""Jobs as people read them: one in a line, or all of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from cepheid.cli.terminal.console import counted, out
from cepheid.cli.terminal.diagnostics import one_line, show
from cepheid.cli.terminal.text_table import Column, TextTable
from cepheid.core.time import format_instant
from cepheid.io.encode import to_json
from cepheid.jobs import Job, State

if TYPE_CHECKING:
    from cepheid.engines.spark.stream.inspection import StreamState

_STYLES = {
    State.RUNNING: "green",
    State.FAILED: "bold red",
    State.LOST: "bold red",
}
_NUMBERS = ("events", "events/s", "rows", "late", "rejected")
_UNUSUAL = ("late", "rejected")  # told where there are any
_JUSTIFY: dict[str, Literal["left", "right"]] = {"watermark": "left"}


def show_table(jobs: Sequence[Job], folder: str) -> None:
    console = out()
    if not jobs:
        console.print(f"no jobs in {one_line(folder)}", soft_wrap=True)
        return
    told = [dict(_progress(job)) for job in jobs]
    # A column that is empty for all takes room from the others.
    names = [name for name in (*_NUMBERS, "watermark") if any(facts.get(name) for facts in told)]
    columns = [Column("job"), Column("state"), Column("since", is_whole=True)]
    table = TextTable([*columns, *(Column(name, _JUSTIFY.get(name, "right")) for name in names)])
    for job, facts in zip(jobs, told, strict=True):
        state = Text(job.state, _STYLES.get(job.state, ""))
        cells = (one_line(facts.get(name, "")) for name in names)
        table.add(one_line(job.name), state, one_line(_second(job.status.since)), *cells)
    console.print(table)
    for job in jobs:
        if job.state is State.FAILED:
            console.print(f"\n{one_line(job.name)}:", soft_wrap=True)
            show(job.status.errors, console)


def _progress(job: Job) -> Iterator[tuple[str, str]]:
    told = job.status.progress
    counts = (told.events, told.events_per_second, told.rows, told.late, told.rejected)
    for name, count in zip(_NUMBERS, counts, strict=True):
        if count or (count is not None and name not in _UNUSUAL):
            yield name, f"{count:,.0f}"
    if told.watermark is not None:
        yield "watermark", told.watermark


def _second(moment: str) -> str:
    """A moment of the record to the second, which is enough for people."""
    date, point, rest = moment.partition(".")
    return f"{date}Z" if point and rest.endswith("Z") else moment


def show_in_full(jobs: Sequence[Job]) -> None:
    console = out()
    for number, job in enumerate(jobs):
        if number:
            console.print()
        table = TextTable([Column("job"), Column(one_line(job.name))])
        for name, text in _facts(job):
            table.add(name, one_line(text))
        console.print(table)
        show(job.status.errors, console)
        if rows := job.latest:
            console.print("\nlatest rows:")
            for row in rows:
                console.print(one_line(row), soft_wrap=True)


def _facts(job: Job) -> Iterator[tuple[str, str]]:
    how = " by force" if job.status.by_force else ""
    yield "state", f"{job.state}{how}"
    yield "since", job.status.since
    yield from _progress(job)
    yield "told", job.status.told
    yield "begun", f"{job.begun}, for the {_ordinal(job.runs)} time"
    yield "command", " ".join(("cepheid", *job.shown_command))
    yield "in", job.home
    yield "program", f"{', '.join(job.program)} ({job.digest})"
    if job.checkpoint is not None:
        yield "checkpoint", job.checkpoint
    yield "process", f"{job.process.number}, Cepheid {job.cepheid}"
    yield "record", str(job.folder)


def show_state(found: StreamState) -> None:
    """What a stream keeps, in lines."""
    console = out()
    for line in _state_lines(found):
        console.print(one_line(line), soft_wrap=True, highlight=False)


def _state_lines(found: StreamState) -> Iterator[str]:
    kept, happened = found.contents, found.happened
    upto = "" if happened is None else f", everything up to {format_instant(happened)} has happened"
    yield f"after micro-batch {found.batch}: {counted(len(found.buckets), 'bucket')}{upto}"
    for match in kept.matches:
        key = f" [{', '.join(map(str, match.key))}]" if match.key else ""
        ends = "" if match.ends is None else f", until {format_instant(match.ends)}"
        yield f"{match.statement}{key} awaits {' or '.join(match.awaits) or 'time'}{ends}"
        for event in match.events:
            tag = f"{event.tag} = " if event.tag else ""
            yield f"  {tag}{event.type} {to_json(event.to_json()['values'])}"
    if kept.matched > len(kept.matches):
        yield f"and {counted(kept.matched - len(kept.matches), 'more partial match')}"
    for window in kept.windows:
        yield f"{window.statement} {window.text}: {counted(window.count, 'row')}"
        yield from (f"  {to_json(row.to_json()['values'])}" for row in window.rows)
    for timer in kept.timers:
        yield f"timer of {timer.statement} at {format_instant(timer.due)}"
    for each in found.waiting:
        yield f"{counted(each.count, 'event')} of {each.type} wait for the watermark"
    yield from kept.words


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")
