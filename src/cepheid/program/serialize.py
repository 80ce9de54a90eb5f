"""The JSON form of a program: every node an object that names its class and its fields.

Places in the text, inferred types and fields at their defaults are left out. Types of attributes
are text (`int`, `int[]`, `Position`), nested records without a name are objects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import ModuleType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from cepheid.core.numbers import NOT_FINITE, fits_int, fits_long, write_double
from cepheid.core.time import Period
from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    SCALARS,
    STRING,
    ArrayType,
    Attribute,
    DataType,
    DecimalType,
    EventRef,
    RecordType,
    Scalar,
    scalar_named,
)
from cepheid.errors import ProgramError, error, suggest
from cepheid.expr import tree as expr_tree
from cepheid.expr.python import PythonFunction
from cepheid.pattern import algebra
from cepheid.pattern import tree as pattern_tree
from cepheid.pattern.policy import Policy
from cepheid.pattern.schedule import Schedule
from cepheid.program import actions, classes
from cepheid.program import tree as program_tree
from cepheid.program.functions import given
from cepheid.program.tree import ProgramTree
from cepheid.query import tree as query_tree
from cepheid.sql.text import Sql

FORMAT = 1
_ARRAY = "[]"  # what follows the type of the elements
_DECIMAL = "decimal("  # what its digits follow
_NODE = "node"  # the key under which an object names its class
_SCALAR_TYPES: dict[str, DataType] = {
    **SCALARS,
    ANY.name: ANY,
    NULL.name: NULL,
}


def to_json(tree: ProgramTree) -> dict[str, object]:
    """The program as what `json.dumps` takes."""
    declarations = [_encode(declaration) for declaration in tree.declarations]
    found: dict[str, object] = {"format": FORMAT, "declarations": declarations}
    return {**found, "functions": [str(f) for f in tree.functions]} if tree.functions else found


def from_json(data: object, functions: Iterable[PythonFunction] = ()) -> ProgramTree:
    """The program that `to_json` described; ProgramError where the data describes none.

    Python functions are named there with their types and versions, and must be `given`.
    """
    if not isinstance(data, Mapping):
        raise _problem("program", "the JSON form of a program is an object")
    if data.get("format") != FORMAT:
        shown = data.get("format", "none")
        raise ProgramError(
            error("unsupported", f"program format {shown!r}", hint=f"known formats: {FORMAT}")
        )
    _refuse_unknown(set(data) - {"format"}, {"declarations", "functions"}, "program")
    if "declarations" not in data:
        raise _problem("program", "the field 'declarations' is missing")
    hint = tuple[program_tree.Declaration, ...]
    declarations = _decode(data["declarations"], hint, "declarations")
    wanted = _decode(data.get("functions", []), tuple[str, ...], "functions")
    return ProgramTree(declarations, given(wanted, functions))


def _problem(path: str, fact: str, hint: str | None = None) -> ProgramError:
    return ProgramError(error("bad-file", f"{path}: {fact}", hint=hint))


# -- writing -----------------------------------------------------------------------------------


def _encode(value: object) -> object:
    if isinstance(value, DataType):
        return _encode_type(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {_NODE: type(value).__name__, **dict(_encoded_fields(value))}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": write_double(value)}
    return value


def _encoded_fields(node: Any) -> Iterator[tuple[str, object]]:
    for field in _kept_fields(node.__class__).values():
        value = getattr(node, field.name)
        if field.default is MISSING or value != field.default:
            yield field.name, _encode(value)


def _encode_type(value: DataType) -> object:
    if isinstance(value, Scalar | DecimalType):
        return str(value)
    if isinstance(value, EventRef):
        return {"event": value.name} if _is_ambiguous(value.name) else value.name
    if isinstance(value, ArrayType):
        element = _encode_type(value.element)
        return f"{element}{_ARRAY}" if isinstance(element, str) else {"array": element}
    assert isinstance(value, RecordType)
    return {"record": {a.name: _encode_type(a.type) for a in value.attributes}}


def _is_ambiguous(name: str) -> bool:
    """Whether the name of an event type, as a text, would stand for another type."""
    return name in _SCALAR_TYPES or name.endswith(_ARRAY) or name.startswith(_DECIMAL)


@cache
def _kept_fields(cls: type) -> dict[str, Field[Any]]:
    """The fields that make the node; a literal's type is part of it, others are inferred."""
    inferred = {"span", "places", "written", "python"}
    if issubclass(cls, expr_tree.Expr) and cls is not expr_tree.Literal:
        inferred.add("type")
    return {field.name: field for field in fields(cls) if field.name not in inferred}


# -- reading -----------------------------------------------------------------------------------


def _decode(data: object, hint: Any, path: str) -> Any:
    """The value that the data stands for, which must fit the type hint of its field."""
    if hint is DataType:
        return _decode_type(data, path)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(_decode_choice(data, tuple(one.value for one in hint), path))
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _decode_union(data, get_args(hint), path)
    if origin is not None:
        return _CONTAINERS[origin](data, get_args(hint), path)
    if is_dataclass(hint):
        return _decode_node(data, (hint,), path)
    return _decode_scalar(data, hint, path)


def _decode_union(data: object, options: tuple[Any, ...], path: str) -> object:
    """The option whose JSON form has the shape of the data; nodes tell themselves apart."""
    fitting = [option for option in options if _has_shape(data, option)]
    if not fitting:
        raise _problem(path, f"{_show(data)} does not belong here")
    if isinstance(data, dict) and _NODE in data:
        return _decode_node(data, tuple(fitting), path)
    return _decode(data, fitting[0], path)


def _has_shape(data: object, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (tuple, frozenset):
        return isinstance(data, list)
    if origin is Literal:
        return isinstance(data, str)
    if is_dataclass(hint):
        return isinstance(data, dict) and _NODE in data
    if hint is float:
        return isinstance(data, float) or (isinstance(data, dict) and "float" in data)
    return type(data) is hint


def _decode_tuple(data: object, arguments: tuple[Any, ...], path: str) -> tuple[object, ...]:
    if not isinstance(data, list):
        raise _problem(path, f"{_show(data)} is not a list")
    if arguments[-1] is Ellipsis:
        hints = (arguments[0],) * len(data)
    elif len(arguments) == len(data):
        hints = arguments
    else:
        raise _problem(path, f"a list of {len(arguments)} is needed, not of {len(data)}")
    pairs = zip(data, hints, strict=True)
    return tuple(_decode(item, hint, f"{path}[{i}]") for i, (item, hint) in enumerate(pairs))


def _decode_set(data: object, arguments: tuple[Any, ...], path: str) -> frozenset[object]:
    return frozenset(_decode_tuple(data, (arguments[0], ...), path))


def _decode_choice(data: object, choices: tuple[Any, ...], path: str) -> object:
    if not isinstance(data, str) or data not in choices:
        raise _problem(path, f"{_show(data)} is not one of them", f"choices: {', '.join(choices)}")
    return data


_CONTAINERS: dict[Any, Callable[[object, tuple[Any, ...], str], object]] = {
    tuple: _decode_tuple,
    frozenset: _decode_set,
    Literal: _decode_choice,
}


def _decode_scalar(data: object, hint: Any, path: str) -> object:
    if hint is float and isinstance(data, dict):
        return _decode_special_float(data, path)
    if type(data) is hint and (type(data) is not int or fits_long(data)):
        return data
    raise _problem(path, f"{_show(data)} is not {_SCALAR_NAMES[hint]}")


_SCALAR_NAMES: dict[Any, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number of 64 bits",
    float: "a number with a fraction",
    type(None): "null",
}


def _decode_special_float(data: dict[str, object], path: str) -> float:
    text = data.get("float")
    if len(data) != 1 or not isinstance(text, str) or text not in NOT_FINITE:
        raise _problem(path, f"{_show(data)} is not a number")
    return NOT_FINITE[text]


def _decode_node(data: object, expected: tuple[Any, ...], path: str) -> object:
    if not isinstance(data, dict) or not isinstance(data.get(_NODE), str):
        raise _problem(path, f"{_show(data)} is not an object with a {_NODE!r}")
    cls = _NODES.get(data[_NODE])
    if cls is None or not issubclass(cls, expected):
        known = [name for name, node in _NODES.items() if issubclass(node, expected)]
        fact = f"no node {data[_NODE]!r}" + (" here" if cls else "")
        raise _problem(path, fact, suggest(data[_NODE], known, "nodes"))
    return _build(cls, data, path)


def _build(cls: type, data: dict[str, object], path: str) -> object:
    kept, hints = _kept_fields(cls), _hints(cls)
    _refuse_unknown(set(data) - {_NODE}, set(kept), path)
    missing = [n for n, field in kept.items() if field.default is MISSING and n not in data]
    if missing:
        raise _problem(path, f"the field {missing[0]!r} of {cls.__name__} is missing")
    values: dict[str, Any] = {}
    for name in [name for name in kept if name in data]:
        values[name] = _decode(data[name], hints[name], f"{path}.{name}")
    try:
        node = cls(**values)
    except ValueError as problem:
        raise _problem(path, str(problem)) from None
    if isinstance(node, expr_tree.Literal) and not _is_of_type(node.value, node.type):
        raise _problem(path, f"{_show(node.value)} is not a value of type {node.type}")
    return node


_LITERAL_VALUES: dict[DataType, type | UnionType] = {
    STRING: str,
    BOOLEAN: bool,
    INT: int,
    LONG: int,
    FLOAT: int | float,
    DOUBLE: int | float,
    NULL: type(None),
}  # times and decimals are found out where names are resolved


def _is_of_type(value: object, type: DataType) -> bool:
    if not isinstance(value, _LITERAL_VALUES.get(type, ())):
        return False
    if isinstance(value, bool) or not isinstance(value, int):
        return not isinstance(value, bool) or type == BOOLEAN
    return fits_int(value) if type == INT else fits_long(value)


def _refuse_unknown(names: set[str], known: set[str], path: str) -> None:
    for name in sorted(names - known):
        raise _problem(path, f"no field {name!r}", suggest(name, known, "fields"))


def _decode_type(data: object, path: str) -> DataType:
    if isinstance(data, str):
        if data.endswith(_ARRAY):
            return ArrayType(_decode_type(data.removesuffix(_ARRAY), path))
        try:
            decimal = scalar_named(data) if data.startswith(_DECIMAL) else None
            return _SCALAR_TYPES.get(data) or decimal or EventRef(data)
        except ValueError as problem:
            raise _problem(path, str(problem)) from None
    if isinstance(data, dict) and len(data) == 1:
        [(kind, content)] = data.items()
        if kind == "event" and isinstance(content, str):
            return EventRef(content)
        if kind == "array":
            return ArrayType(_decode_type(content, path))
        if kind == "record" and isinstance(content, dict):
            return RecordType(
                tuple(Attribute(n, _decode_type(t, f"{path}.{n}")) for n, t in content.items())
            )
    raise _problem(path, f"{_show(data)} is not a type")


def _show(data: object) -> str:
    text = repr(data)
    return text if len(text) <= 60 else text[:57] + "..."


# -- the classes -------------------------------------------------------------------------------


# Roots of the hierarchies: what a field may hold, never what stands in a program.
_ROOTS: tuple[type, ...] = (
    expr_tree.Expr,
    pattern_tree.Pattern,
    algebra.Form,
    actions.Action,
    classes.EventClass,
    query_tree.Constraint,
    query_tree.QueryTree,
    program_tree.Window,
    ProgramTree,
)


def _classes_of(module: ModuleType) -> dict[str, type]:
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.__name__
    }


def _node_classes() -> dict[str, type]:
    """Every dataclass of the trees, and what they hold, by name."""
    found: dict[str, type] = {
        cls.__name__: cls for cls in (Attribute, Period, Schedule, Policy, Sql)
    }
    for module in (expr_tree, pattern_tree, algebra, query_tree, actions, classes, program_tree):
        found |= _classes_of(module)
    return {
        name: cls for name, cls in found.items() if cls not in _ROOTS and cls is not ProgramTree
    }


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


_NODES = _node_classes()
