"""The tables that queries and conditions see: one for each class of events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cepheid.core.types import DOUBLE, FLOAT, INT, LONG, TIMESTAMP, Attribute, DataType

# Engines hold two kinds of numbers, whatever the declaration says.
_HELD: Mapping[DataType, DataType] = MappingProxyType({INT: LONG, FLOAT: DOUBLE})


@dataclass(frozen=True, slots=True)
class Table:
    """A class by its name: the columns are its attributes, then `occ` and `det`."""

    name: str
    columns: Mapping[str, DataType]

    def find(self, name: str) -> tuple[str, DataType] | None:
        """A column in its declared spelling; as everywhere in SQL, case does not matter."""
        wanted = name.lower()
        for declared, type in self.columns.items():
            if declared.lower() == wanted:
                return declared, held(type)
        return None

    @property
    def held(self) -> dict[str, DataType]:
        """All columns with the types of what engines hold."""
        return {n: held(t) for n, t in self.columns.items()}

    @property
    def attributes(self) -> dict[str, DataType]:
        return {n: t for n, t in self.held.items() if n not in ("occ", "det")}


def table(name: str, attributes: Iterable[Attribute]) -> Table:
    """The table of a class with these attributes."""
    declared = {a.name: a.type for a in attributes}
    return Table(name, MappingProxyType({**declared, "occ": TIMESTAMP, "det": TIMESTAMP}))


def held(type: DataType) -> DataType:
    """The type as which engines hold the values of a declared one."""
    return _HELD.get(type, type)
