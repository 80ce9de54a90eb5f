"""Statements that run event by event, beside others that take whole batches."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.matcher.columns.lookup import ColumnLookup
from cepheid.matcher.lanes.eligibility import is_shown
from cepheid.matcher.operator import columns_of
from cepheid.pattern.tree import Interval, IntervalOf, Pattern, Within, WithinOf, walk
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement


@dataclass(frozen=True, slots=True)
class OnMachine:
    """A statement that the compiled machine runs, with everything that it can."""

    statement: ResolvedStatement
    can_be_fed: bool  # with what others derive


def on_machine_of(
    statement: ResolvedStatement, program: ResolvedProgram, places: ColumnLookup
) -> OnMachine | None:
    """The statement as one of the machine's, if its rows are like those of lanes: new and of plain values."""
    types = places.derived.get(statement.target)
    tells_new = statement.tree.stream == statement.tree.insert_stream == "istream"
    if types is None or not tells_new or not all(map(is_shown, types.values())):
        return None
    asked = columns_of(program.part([statement.name]))
    is_plain = all(is_shown(column.data_type) for column in asked)
    return OnMachine(statement, is_plain and not _may_be_due_at_once(statement.pattern))


def _may_be_due_at_once(pattern: Pattern | None) -> bool:
    """Whether a timer may fall due at the instant at which it is armed: before what is derived there."""
    for node in walk(pattern) if pattern is not None else ():
        match node:
            case IntervalOf() | WithinOf():
                return True
            case Interval(period) | Within(_, period) if period.is_zero:
                return True
    return False
