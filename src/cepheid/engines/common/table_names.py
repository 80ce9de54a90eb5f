"""Tables of the Spark session among the sources of events: 'table:NAME'."""

from __future__ import annotations

_TABLE = "table:"


def is_table(source: object) -> bool:
    """Whether a source of events names a table of the Spark session."""
    return isinstance(source, str) and source.startswith(_TABLE)


def name_of_table(source: object) -> str:
    return str(source).removeprefix(_TABLE)
