"""Blocks of expressions as EPL. Programs are drawn with a line for each; who draws may take them apart."""

from __future__ import annotations

from cepheid.studio.blocks import lines
from cepheid.studio.blocks.block import EXPRESSION, Block, field, inner, refuse

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
ARITHMETIC = ("+", "-", "*", "/", "%")
AGGREGATES = ("avg", "count", "max", "min", "sum")
_BETWEEN = {"compare": COMPARISONS, "arithmetic": ARITHMETIC, "logic": ("and", "or")}


def condition(block: Block, what: str) -> str:
    """That of a block; empty where there is none."""
    found = inner(block, "CONDITION")
    return "" if found is None else expression_of(found, what)


def expression_of(block: Block, what: str) -> str:
    """Empty where nothing was written yet."""
    kind = block["type"]
    if kind in (EXPRESSION, "property", "value"):
        text = field(block, "TEXT")
        return lines.expression(text, what) if text else ""
    if kind in _BETWEEN:
        return _between(block, what)
    if kind == "negation":
        return f"not ({_operand(block, 'A', what)})"
    if kind != "aggregate":
        refuse(f"'{kind}' is no expression")
    return _aggregate(block, what)


def _aggregate(block: Block, what: str) -> str:
    function = _chosen(block, "FUNCTION", AGGREGATES)
    found = inner(block, "A")
    text = "" if found is None else expression_of(found, what)
    return f"{function}({text or ('*' if function == 'count' else _missing(what))})"


def _between(block: Block, what: str) -> str:
    operator = _chosen(block, "OP", _BETWEEN[block["type"]])
    return f" {operator} ".join(_side(block, name, what) for name in ("A", "B"))


def _side(block: Block, name: str, what: str) -> str:
    """In parentheses; `and` in `and`, and `or` in `or`, go on with the chain."""
    text, found = _operand(block, name, what), inner(block, name)
    is_chain = found is not None and found["type"] == block["type"] == "logic"
    if is_chain and found is not None and field(found, "OP") == field(block, "OP"):
        return text
    return f"({text})"


def _operand(block: Block, name: str, what: str) -> str:
    found = inner(block, name)
    return ("" if found is None else expression_of(found, what)) or _missing(what)


def _missing(what: str) -> str:
    refuse(f"{what}: an expression is missing")


def _chosen(block: Block, name: str, known: tuple[str, ...]) -> str:
    found = field(block, name)
    if found not in known:
        refuse(f"'{found}' is none of {', '.join(known)}")
    return found
