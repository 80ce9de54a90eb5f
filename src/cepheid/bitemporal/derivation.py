"""From the rows of a query to the events of a complex class: one for each key, or none at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import cast

from cepheid.bitemporal.repository import Row, View
from cepheid.bitemporal.rounds import Number, Rounds
from cepheid.bitemporal.tables import RowReader
from cepheid.core.event import Value
from cepheid.core.time import Instant, format_instant
from cepheid.errors import RunError, error
from cepheid.io.encode import to_json
from cepheid.program.classes import ComplexClass, EventClass


def view_of(
    declared: ComplexClass, rows: Iterable[Row], rounds: Rounds, round: Number | None
) -> View:
    """The rows by key. Those that differ in how they were learnt only are one; others are an error.

    What has no detection time is made of no events, such as a count of none, and is none itself.
    """
    view: View = {}
    key_of = RowReader(declared).key
    for row in rows:
        if cast("Instant | None", row.det) is None:
            continue
        key = key_of(row)
        if None in key or row.occ is None:
            raise _incomplete(declared, row, rounds, round)
        known = view.get(key)
        if known is not None and (known.values, known.occ) != (row.values, row.occ):
            raise _ambiguous(declared, (known, row), rounds, round)
        view[key] = row if known is None else _latest(known, row)
    return view


def _latest(one: Row, other: Row) -> Row:
    det, expires = max(one.det, other.det), max(one.expires, other.expires)
    return Row(one.values, one.occ, det, expires)


def _incomplete(declared: ComplexClass, row: Row, rounds: Rounds, round: Number | None) -> RunError:
    when = _when(rounds, round)
    what = "an occurrence time" if row.occ is None else "a whole key"
    fact = f"{declared.name} has an event without {what}{when}: {shown_row(declared, row)}"
    null = (
        "the time after OCCURRING AT" if row.occ is None else f"a part of {', '.join(declared.key)}"
    )
    hint = f"{null} is null; a query can leave out rows where it is"
    return RunError(error("missing-key", fact, declared.span, hint))


def _ambiguous(
    declared: ComplexClass, rows: tuple[Row, Row], rounds: Rounds, round: Number | None
) -> RunError:
    one, other = sorted(shown_row(declared, row) for row in rows)
    fact = f"{declared.name} has two events of one key{_when(rounds, round)}: {one} and {other}"
    hint = "add to the ID what tells them apart, or let the query choose one"
    return RunError(error("ambiguous-key", fact, declared.span, hint))


@contextmanager
def asked_in(declared: EventClass, what: str, rounds: Rounds, round: Number) -> Iterator[None]:
    """SQL that fails on values: whose it is, and in which round."""
    try:
        yield
    except RunError as failure:
        problem = failure.diagnostics[0]
        if problem.code != "sql-failed" or problem.span is not None:
            raise
        fact = f"{what} of {declared.name}{_when(rounds, round)}: {problem.message}"
        raise RunError(error("sql-failed", fact, declared.span, problem.hint)) from None


def _when(rounds: Rounds, round: Number | None) -> str:
    return "" if round is None else f" in the round of {format_instant(rounds.instant(round))}"


def shown_row(declared: ComplexClass, row: Row) -> str:
    """A row as messages show it."""
    values: dict[str, Value] = {
        attribute.name: value
        for attribute, value in zip(declared.attributes, row.values, strict=True)
    }
    occ = None if row.occ is None else format_instant(row.occ)
    return to_json({**values, "occ": occ})
