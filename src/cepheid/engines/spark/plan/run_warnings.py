"""What may surprise someone who runs a program on Spark: no key, no order, one key for everything.

Ties and shares are looked for among the first rows of each frame only: enough to see what is usual,
and cheap however large the input is.
"""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence

from cepheid.engines.spark.batch.query import Request, pipelines
from cepheid.engines.spark.codec.event_encoder import TIME, EventEncoder
from cepheid.engines.spark.codec.input_columns import named
from cepheid.engines.spark.plan.passes import Pipeline
from cepheid.errors import Diagnostic, Severity, note, warning

SAMPLE = 5_000  # rows of each frame that are looked at
_FEWEST = 1_000  # events of which a share means something
_LARGE = 0.5
_LOG = logging.getLogger("cepheid.spark")


class CepheidWarning(UserWarning):
    """A finding about a run that goes on nevertheless."""


def emit(finding: Diagnostic) -> None:
    """Warns; what is only worth a note goes to the log 'cepheid.spark'."""
    if finding.severity is Severity.NOTE:
        _LOG.info("%s", finding)
    else:
        warnings.warn(CepheidWarning(str(finding)), stacklevel=3)


def warnings_on(request: Request) -> Iterator[Diagnostic]:
    """What is worth knowing about a batch before it runs."""
    found = pipelines(request)
    yield from notes_on_keys(found)
    for one in (one for pipeline in found for one in pipeline):
        encoder = EventEncoder(one, request.sources, request.options)
        order_matters = one.key != {} and not encoder.has_sequence
        if one.key or order_matters:
            yield from _notes_on_rows(encoder, list(_sample(encoder)), order_matters=order_matters)


def notes_on_keys(pipelines: Sequence[Pipeline]) -> Iterator[Diagnostic]:
    """Which statements one task runs alone, and why."""
    for one in (one for pipeline in pipelines for one in pipeline if one.key is None):
        fact = f"one task takes all events of {', '.join(one.names)}"
        yield note("no-key", fact, hint=one.reason)


def _sample(encoder: EventEncoder) -> Iterator[tuple[object, ...]]:
    """The times and keys of some of the events that the tasks will get."""
    keys = encoder.key_columns() if encoder.key else ()
    for number, reading in enumerate(encoder.readings):
        columns = encoder.columns_from(number, reading)
        rows = reading.source.frame.select(*(c.alias(n) for n, c in columns.items()))
        for is_wanted, *row in rows.select(
            encoder.is_wanted(reading.source), named(TIME), *keys
        ).take(SAMPLE):
            if is_wanted:
                yield tuple(row)


def _notes_on_rows(
    encoder: EventEncoder, rows: list[tuple[object, ...]], *, order_matters: bool
) -> Iterator[Diagnostic]:
    if order_matters and len(set(rows)) < len(rows):
        fact = "events of one time are taken by type, then by the values of all their attributes"
        yield warning("ties", fact, hint="name a column that orders them: sequence=")
    if encoder.key and len(rows) >= _FEWEST:
        [(_, count)] = Counter(row[1:] for row in rows).most_common(1)
        if count > _LARGE * len(rows):
            fact = f"{count / len(rows):.0%} of the first {len(rows):,} events have the same key"
            yield warning("skew", fact, hint="one task takes all events of a key")
