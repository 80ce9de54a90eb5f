"""The values of XPath 1.0 and how they become each other."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from cepheid.web.nodes import Node
from cepheid.web.printer import number_text

Nodes: TypeAlias = list[Node]  # each once, in the order of the document
Value: TypeAlias = Nodes | str | float | bool

BLANKS = " \t\r\n"
_NUMBER = re.compile(rf"[{BLANKS}]*(-?(?:\d+(?:\.\d*)?|\.\d+))[{BLANKS}]*", re.ASCII)
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def to_text(value: Value) -> str:
    if isinstance(value, list):
        return value[0].text if value else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else _text_of_number(value)


def _text_of_number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign = "-" if value < 0 else ""
    return sign + number_text(abs(value))


def to_number(value: Value) -> float:
    if isinstance(value, bool | float):
        return float(value)
    match = _NUMBER.fullmatch(to_text(value))
    return float(match[1]) if match else math.nan


def to_truth(value: Value) -> bool:
    if isinstance(value, float):
        return value != 0 and not math.isnan(value)
    return bool(value)


def in_order(nodes: Sequence[Node]) -> Nodes:
    return sorted(dict.fromkeys(nodes), key=lambda node: node.order)


def compare(operator: str, left: Value, right: Value) -> bool:
    """By the rules of XPath: a set of nodes compares well if one of its nodes does."""
    if isinstance(left, bool) or isinstance(right, bool):
        return _plain(operator, _one(left), _one(right))
    others = _each(right)
    return any(_plain(operator, one, other) for one in _each(left) for other in others)


def _one(value: Value) -> str | float | bool:
    return bool(value) if isinstance(value, list) else value


def _each(value: Value) -> list[str] | list[str | float]:
    return [node.text for node in value] if isinstance(value, list) else [value]


def _plain(operator: str, left: str | float | bool, right: str | float | bool) -> bool:
    if operator in _COMPARE:
        return _COMPARE[operator](to_number(left), to_number(right))
    if isinstance(left, bool) or isinstance(right, bool):
        is_equal = to_truth(left) == to_truth(right)
    elif isinstance(left, float) or isinstance(right, float):
        is_equal = to_number(left) == to_number(right)
    else:
        is_equal = left == right
    return is_equal if operator == "=" else not is_equal


def arithmetic(operator: str, left: float, right: float) -> float:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "div":
            return _divided(left, right)
    if math.isinf(left) or math.isnan(left + right) or right == 0:
        return left if math.isinf(right) and math.isfinite(left) else math.nan
    return math.fmod(left, right)


def _divided(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def rounded(number: float) -> float:
    """To the nearest integer; of two, the greater."""
    if not math.isfinite(number) or number == 0:
        return number
    found = float(math.floor(number + 0.5))
    return math.copysign(found, number) if found == 0 else found
