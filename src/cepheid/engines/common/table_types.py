"""Event types without a schema, from the tables that hold their events."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.core.types import EventType
from cepheid.engines.common.intake import with_types
from cepheid.io.columns.exact import refuse
from cepheid.io.columns.inference import found_type
from cepheid.io.sources import Table
from cepheid.program.resolved import ResolvedProgram


def typed_by_tables(program: ResolvedProgram, sources: Sequence[Table]) -> ResolvedProgram:
    """The program with all types known, those without a schema from their tables."""
    unknown = {name for name, type in program.types.items() if type.is_open}
    found: dict[str, EventType] = {}
    for source in sources if unknown else ():
        type = found_type(source.data, source.type, unknown, source.placement)
        if type is not None and found.setdefault(type.name, type) != type:
            refuse(f"several tables of {type.name}")
    return with_types(program, found) if found else program
