"""What may surprise someone who runs a program on Spark: no key, no order, one key for everything.

Ties and shares are looked for among the first rows of each frame only: enough to see what is usual,
and cheap however large the input is.
"""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence

from cepheid.engines.spark.batch import Request, relays
from cepheid.engines.spark.frames import named
from cepheid.engines.spark.stages import Relay
from cepheid.engines.spark.wire import TIME, Wire
from cepheid.errors import Diagnostic, Severity, note, warning

SAMPLE = 5_000  # rows of each frame that are looked at
_FEWEST = 1_000  # events of which a share means something
_LARGE = 0.5
_LOG = logging.getLogger("cepheid.spark")


class CepheidWarning(UserWarning):
    """A finding about a run that goes on nevertheless."""


def tell(finding: Diagnostic) -> None:
    """Warns; what is only worth a note goes to the log 'cepheid.spark'."""
    if finding.severity is Severity.NOTE:
        _LOG.info("%s", finding)
    else:
        warnings.warn(CepheidWarning(str(finding)), stacklevel=3)


def notes_on(request: Request) -> Iterator[Diagnostic]:
    """What is worth knowing about a batch before it runs."""
    found = relays(request)
    yield from notes_on_passes(found)
    for one in (one for relay in found for one in relay):
        wire = Wire(one, request.sources, request.options)
        order_matters = one.key != {} and not wire.has_sequence
        if one.key or order_matters:
            yield from _notes_on_rows(wire, list(_sample(wire)), order_matters=order_matters)


def notes_on_passes(relays: Sequence[Relay]) -> Iterator[Diagnostic]:
    """Which statements one task runs alone, and why."""
    for one in (one for relay in relays for one in relay if one.key is None):
        fact = f"one task takes all events of {', '.join(one.names)}"
        yield note("no-key", fact, hint=one.reason)


def _sample(wire: Wire) -> Iterator[tuple[object, ...]]:
    """The times and keys of some of the events that the tasks will get."""
    keys = wire.key_columns() if wire.key else ()
    for number, reading in enumerate(wire.readings):
        columns = wire.columns_from(number, reading)
        rows = reading.source.frame.select(*(c.alias(n) for n, c in columns.items()))
        for is_wanted, *row in rows.select(wire.is_wanted(reading.source), named(TIME), *keys).take(
            SAMPLE
        ):
            if is_wanted:
                yield tuple(row)


def _notes_on_rows(
    wire: Wire, rows: list[tuple[object, ...]], *, order_matters: bool
) -> Iterator[Diagnostic]:
    if order_matters and len(set(rows)) < len(rows):
        fact = "events of one time are taken by type, then by the values of all their attributes"
        yield warning("ties", fact, hint="name a column that orders them: sequence=")
    if wire.key and len(rows) >= _FEWEST:
        [(_, count)] = Counter(row[1:] for row in rows).most_common(1)
        if count > _LARGE * len(rows):
            fact = f"{count / len(rows):.0%} of the first {len(rows):,} events have the same key"
            yield warning("skew", fact, hint="one task takes all events of a key")
