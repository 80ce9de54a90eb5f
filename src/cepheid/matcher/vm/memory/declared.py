"""Numbers that are declared once, by name, for Python and for compiled code."""

from __future__ import annotations

from enum import EnumMeta, IntEnum
from typing import Any

from numba import types
from numba.core.imputils import lower_constant, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import models, register_model, typeof_impl


class _Meta(EnumMeta):
    """Tells declarations from other enums: compiled code takes their members as plain integers."""


class Declared(IntEnum, metaclass=_Meta):
    """Names that stand for the numbers from zero on, in the order of their declaration."""

    @staticmethod
    def _generate_next_value_(_name: str, _start: int, count: int, _last: list[Any]) -> int:
        return count


# What Numba makes of it. It knows enums, but does not take their members as places in an array.


class _Declaration(types.Opaque):
    def __init__(self, declared: type[Declared]) -> None:
        self.declared = declared
        super().__init__(f"Declared({declared.__qualname__})")


@typeof_impl.register(_Meta)
def _type_of(declared: type[Declared], _context: object) -> _Declaration:
    return _Declaration(declared)


@typeof_impl.register(Declared)
def _type_of_member(_member: Declared, _context: object) -> Any:
    return types.int64


register_model(_Declaration)(models.OpaqueModel)


@infer_getattr
class _Members(AttributeTemplate):
    key = _Declaration

    def generic_resolve(self, declaration: Any, name: str) -> Any:  # type: ignore[override]
        return types.int64 if name in declaration.declared.__members__ else None


@lower_getattr_generic(_Declaration)
def _member(context: Any, _builder: Any, declaration: _Declaration, _value: Any, name: str) -> Any:
    return context.get_constant(types.int64, int(declaration.declared[name]))


@lower_constant(_Declaration)
def _nothing(context: Any, _builder: Any, _type: Any, _value: Any) -> Any:
    return context.get_dummy_value()
