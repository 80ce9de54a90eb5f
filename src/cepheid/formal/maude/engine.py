"""Running a program by Maude."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.formal.maude.process import Maude
from cepheid.formal.maude.specify import Specification, specify
from cepheid.program.resolved import ResolvedProgram

CHUNK = 2000  # events that Maude gets at a time


def run(
    program: ResolvedProgram,
    events: Sequence[Event],
    start: Instant,
    end: Instant,
    progress: Callable[[int, int], None] | None = None,
) -> list[Event]:
    """The rows of a program over its input, which is in the order of its times."""
    specification = specify(program)
    with Maude() as maude:
        return run_in(maude, specification, events, start, end, progress)


def run_in(
    maude: Maude,
    specification: Specification,
    events: Sequence[Event],
    start: Instant,
    end: Instant,
    progress: Callable[[int, int], None] | None = None,
) -> list[Event]:
    """The same, by a Maude that runs already."""
    maude.load(specification)
    maude.ask("run", start=start)
    rows: list[Event] = []
    for begin in range(0, len(events), CHUNK):
        chunk = events[begin : begin + CHUNK]
        terms = [specification.event_term(e) for e in chunk if specification.takes(e)]
        rows += _fed(maude, specification, terms)
        if progress is not None:
            progress(begin + len(chunk), len(events))
    return rows + _fed(maude, specification, [f"until({end})"])


def _fed(maude: Maude, specification: Specification, terms: Sequence[str]) -> list[Event]:
    if not terms:
        return []
    return specification.rows(maude.ask("feed", inputs=" ".join(terms))["rows"])
