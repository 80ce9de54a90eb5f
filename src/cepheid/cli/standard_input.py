"""Standard input through a session: rows appear while events arrive."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from cepheid.actions import RowActions
from cepheid.cli.action_sink import ActionSink
from cepheid.cli.terminal import run_messages
from cepheid.cli.terminal.console import err
from cepheid.cli.terminal.diagnostics import show
from cepheid.cli.terminal.output import Output, line_of, write
from cepheid.core.event import Event
from cepheid.engines.common.clock import Time
from cepheid.engines.common.judging import (
    missing_attributes,
    missing_columns,
    rules_for,
    unfed_types,
)
from cepheid.engines.common.session import Session
from cepheid.errors import Diagnostic, InputError, LateEvent, Severity, error, reason_of
from cepheid.io import Record, read_records
from cepheid.io.source import NOWHERE, Placement, Renamings
from cepheid.verbs import Program, steps_of


class Feed:
    """Hands standard input to a session and counts what it has to leave out."""

    def __init__(
        self,
        program: Program,
        session: Session,
        *,
        skips_errors: bool,
        drops_late: bool,
        placement: Placement = NOWHERE,
        until: Time | None = None,
        optional: Collection[str] = (),
    ) -> None:
        self.placement = placement
        self.until = until  # the clock runs on to it
        self.rules = rules_for(session.runner.program, optional)
        self.seen: dict[str, set[str]] = {}  # attributes by type
        self.renamings = Renamings()
        self.program = program
        self.session = session
        self.skips_errors = skips_errors
        self.drops_late = drops_late
        self.taken = 0
        self.skipped = 0
        self.dropped = 0

    def rows(self, on_rows: Callable[[Sequence[Event]], None]) -> Iterator[Event]:
        """All rows; those of an event are told before they come."""
        for record in self.records():
            rows = self.feed(record)
            on_rows(rows)
            yield from rows
        if self.until is not None:
            rows = self.session.advance(self.until)
            on_rows(rows)
            yield from rows

    def notes(self) -> list[Diagnostic]:
        """What there is to say of all that came; too late for an error."""
        program = self.session.runner.program
        missing = missing_attributes(program, self.seen, self.rules.optional)
        warned = [replace(problem, severity=Severity.WARNING) for problem in missing]
        warned += missing_columns(self.renamings)
        return [*self.session.notes, *warned, *unfed_types(program, self.seen)]

    def feed(self, record: Record) -> Sequence[Event]:
        self.renamings.see(record.placement, record.given)
        if record.type is not None and record.type in self.session.runner.program.types:
            self.seen.setdefault(record.type, set()).update(record.present)
        try:
            rows = self.session.feed(record)
            self.taken += record.type is not None
            return rows
        except LateEvent as late:
            self.drop(late)
        except InputError as refused:
            self.skip(*refused.diagnostics)
        return ()

    def records(self) -> Iterator[Record]:
        try:
            yield from read_records("-", on_problem=self.skip, placement=self.placement)
        except OSError as problem:
            fact = f"cannot read standard input: {reason_of(problem)}"
            raise InputError(error("bad-file", fact)) from None

    def drop(self, late: LateEvent) -> None:
        if not self.drops_late:
            raise late
        self.dropped += 1

    def skip(self, *problems: Diagnostic) -> None:
        """Shows the first problems when they come: the input may never end."""
        if not self.skips_errors:
            raise InputError(*problems)
        self.skipped += 1
        if self.skipped <= run_messages.SHOWN:
            show(problems, err())


def print_stream(feed: Feed, chosen: Sequence[str], output: Output, outbox: str | None) -> None:
    """JSON Lines row by row; any other form when the input has ended."""
    found: list[Event] = []
    counts: Counter[str] = Counter()
    types = feed.session.runner.program.types
    made = RowActions(feed.program)
    with ActionSink(outbox) as sink:
        for row in feed.rows(lambda rows: sink.put(a for r in rows for a in made.of(r))):
            counts[row.type] += 1
            if row.type not in chosen:
                continue
            if output.streams:
                sys.stdout.write(line_of(row, output) + "\n")
                sys.stdout.flush()
            else:
                found.append(row)
    if not output.streams:
        write(found, chosen, types, output)
    if output.is_table:
        run_messages.on_types(counts, types, feed.taken)
    run_messages.on_notes(feed.notes())
    run_messages.on_dropped(feed.dropped)
    run_messages.on_skipped(feed.skipped)
    if not any(counts[type] for type in chosen):
        run_messages.on_nothing(feed.taken, steps_of(feed.program, feed.session.runner.reached()))
