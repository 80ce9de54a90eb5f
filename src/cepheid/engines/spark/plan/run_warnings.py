"""What may surprise someone who runs a program on Spark: no key, no order, one key for everything.

Ties and shares are looked for among the first rows of each frame only: enough to see what is usual,
and cheap however large the input is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cepheid.engines.spark.codec.event_encoder import EventEncoder
from cepheid.engines.spark.codec.event_layout import TIME
from cepheid.engines.spark.codec.input_columns import zoneless_columns
from cepheid.engines.spark.codec.sql_columns import field
from cepheid.engines.spark.plan.plan import Plan
from cepheid.errors import Diagnostic, note, warning

SAMPLE = 5_000  # rows of each frame that are looked at
_FEWEST = 1_000  # events of which a share means something
_LARGE = 0.5


def warnings_on(plan: Plan) -> Iterator[Diagnostic]:
    """What is worth knowing about a request before it runs; of a stream no row is looked at."""
    yield from _other_zone(plan)
    for one in plan.passes:
        if one.logical.key is None:
            fact = f"one task takes all events of {', '.join(one.names)}"
            yield note("no-key", fact, hint=one.logical.reason)
    if plan.request.watermark is not None:
        return
    for one in plan.passes:
        key = one.logical.key
        order_matters = key != {} and not one.layout.has_sequence
        if key or order_matters:
            rows = list(_sample(one.encoder))
            yield from _warnings_on_rows(rows, is_keyed=bool(key), order_matters=order_matters)


_UTC = frozenset({"UTC", "ETC/UTC", "GMT", "ETC/GMT", "Z", "+00:00", "UTC+0", "ZULU"})


def _other_zone(plan: Plan) -> Iterator[Diagnostic]:
    """Whoever works in another zone may mean it where a time names none."""
    request = plan.request
    for source in request.sources:
        columns = zoneless_columns(source, request.program)
        if source.files is not None or source.placement.zone is not None or not columns:
            continue
        zone = source.frame.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
        if zone.upper() not in _UTC:
            fact = f"times in '{columns[0]}' of {source} name no zone and are taken as UTC"
            hint = f"the session's zone is {zone}: say zone='{zone}', or zone='UTC'"
            yield warning("zone", fact, hint=hint)


def _sample(encoder: EventEncoder) -> Iterator[tuple[object, ...]]:
    """The times and keys of some of the events that the tasks will get."""
    keys = encoder.key_columns() if encoder.key else ()
    for number, reading in enumerate(encoder.readings):
        columns = encoder.columns_from(number, reading)
        rows = reading.source.frame.selectExpr(*(c.named(n) for n, c in columns.items()))
        asked = (encoder.is_wanted(reading.source), field(TIME), *keys)
        for is_wanted, *row in rows.selectExpr(*(column.text for column in asked)).take(SAMPLE):
            if is_wanted:
                yield tuple(row)


def _warnings_on_rows(
    rows: list[tuple[object, ...]], *, is_keyed: bool, order_matters: bool
) -> Iterator[Diagnostic]:
    if order_matters and len(set(rows)) < len(rows):
        fact = "events of one time are taken by type, then by the values of all their attributes"
        yield warning("ties", fact, hint="name a column that orders them: sequence=")
    if is_keyed and len(rows) >= _FEWEST:
        [(_, count)] = Counter(row[1:] for row in rows).most_common(1)
        if count > _LARGE * len(rows):
            fact = f"{count / len(rows):.0%} of the first {len(rows):,} events have the same key"
            yield warning("skew", fact, hint="one task takes all events of a key")
