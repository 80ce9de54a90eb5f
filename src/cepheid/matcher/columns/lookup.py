"""Where a program finds the attributes of its events, and what its rows have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cepheid.core.once import once
from cepheid.core.types import DataType, lineage
from cepheid.matcher.operator import Column, columns_of, derived_types
from cepheid.program.resolved import ResolvedProgram


class ColumnLookup:
    """What is known of the columns of a program; `lookup_of` finds it out once."""

    def __init__(self, program: ResolvedProgram) -> None:
        self.derived: Mapping[str, Mapping[str, DataType]] = derived_types(program)
        self._lineages = {name: lineage(name, program.types) for name in program.types}
        self._kinds: dict[str, list[str]] = {}
        for name, lines in self._lineages.items():
            for line in lines:
                self._kinds.setdefault(line, []).append(name)
        self._columns: dict[str, list[Column]] = {}
        for column in columns_of(program):
            self._columns.setdefault(column.attribute, []).append(column)
        self._known: dict[tuple[str, str], list[Column]] = {}

    def kinds_of(self, event_type: str) -> Sequence[str]:
        """The types whose events are events of a type."""
        return self._kinds.get(event_type, ())

    def has_one(self, event_type: str, attribute: str) -> bool:
        """Whether one column has an attribute of all kinds of a type."""
        return len(self._found(event_type, attribute)) == 1

    def column(self, event_type: str, attribute: str) -> Column:
        """Where the values of an attribute are that has one place."""
        [column] = self._found(event_type, attribute)
        return column

    def _found(self, event_type: str, attribute: str) -> list[Column]:
        found = self._known.get((event_type, attribute))
        if found is None:
            columns = self._columns.get(attribute, ())
            found = [c for c in columns if any(event_type in self._lineages[n] for n in c.types)]
            self._known[event_type, attribute] = found
        return found


@once
def lookup_of(program: ResolvedProgram) -> ColumnLookup:
    return ColumnLookup(program)
