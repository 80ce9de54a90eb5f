"""Whether a scenario and a program agree, and drawn values as those of an attribute's type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, STRING, DataType, EventType
from cepheid.errors import Diagnostic, error, suggest
from cepheid.program.resolved import ResolvedProgram
from cepheid.simulation.distributions import Numbers
from cepheid.simulation.scenario import Factory
from cepheid.simulation.sources import Scalar

_INTEGERS: dict[DataType | None, Any] = {INT: np.int32, LONG: np.int64}
_REALS: dict[DataType | None, Any] = {FLOAT: np.float32, DOUBLE: np.float64}


def fitting(values: Numbers, type: DataType | None) -> Numbers:
    """Values of an attribute's type: whole numbers are rounded, and end where the type ends."""
    if type in _INTEGERS:
        kind = np.iinfo(_INTEGERS[type])
        whole = np.rint(values) if values.dtype.kind == "f" else values.astype(np.int64)
        if whole.dtype.kind == "f" and kind.bits == 64:
            # The largest long is no double: the next smaller one is.
            whole = np.clip(whole, -(2.0**63), np.nextafter(2.0**63, 0))
        found: Numbers = np.clip(whole, kind.min, kind.max).astype(kind.dtype)
        return found
    if type in _REALS:
        return values.astype(_REALS[type])
    return values.astype(bool if type == BOOLEAN else object)


def problems_of(factory: Factory, program: ResolvedProgram) -> Iterator[Diagnostic]:
    type = program.types.get(factory.type)
    if type is None:
        hint = suggest(factory.type, program.input_types, "event types")
        yield error(
            "unknown-type", f"the scenario makes '{factory.type}', no event type", hint=hint
        )
        return
    if type.is_open:
        fact = f"type '{factory.type}' has no schema"
        yield error("no-schema", fact, hint=f"create schema {factory.type} (...)")
        return
    for name, source in factory.attributes.items():
        yield from _attribute_problems(type, name, source.scalars())


def _attribute_problems(
    type: EventType, name: str, scalars: Sequence[Scalar]
) -> Iterator[Diagnostic]:
    wanted = type.find(name)
    if wanted is None:
        hint = suggest(name, [a.name for a in type.attributes], f"attributes of {type.name}")
        yield error("unknown-attribute", f"no attribute '{name}' in {type.name}", hint=hint)
    elif type.time is not None and type.time.attribute == name:
        fact = f"attribute '{name}' of {type.name} is the time of an event, which `every` decides"
        yield error("bad-scenario", fact)
    elif wanted not in _FITTING:
        fact = f"attribute '{name}' of {type.name} is of type {wanted}, which no scenario makes"
        yield error("bad-scenario", fact)
    else:
        for scalar in scalars:
            if not isinstance(scalar, _FITTING[wanted]) or (
                isinstance(scalar, bool) and wanted != BOOLEAN
            ):
                fact = f"attribute '{name}' of {type.name} is of type {wanted}"
                yield error("bad-scenario", f"{fact}, and {scalar!r} is not")
                return


_FITTING: dict[DataType | None, Any] = {
    STRING: str,
    BOOLEAN: bool,
    **dict.fromkeys((INT, LONG, FLOAT, DOUBLE), int | float),
}
