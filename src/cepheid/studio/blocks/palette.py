"""The tools to draw with, by kind; event types of the program join them in the page.

The kinds and tools are those of the palette of MEdit4CEP, with what EPL has besides. What that calls a
link is that blocks snap into and below one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cepheid.studio.blocks.block import EXPRESSION, Block, block
from cepheid.studio.blocks.expressions import AGGREGATES, ARITHMETIC, COMPARISONS
from cepheid.studio.blocks.shapes import SHAPES


@dataclass(frozen=True, slots=True)
class Category:
    title: str
    style: str
    tools: tuple[Block, ...]
    # What the page adds: event types, "simple" or "complex" ones, or the "properties" of the events of a statement.
    more: Literal["", "simple", "complex", "properties"] = ""


def _empty() -> Block:
    return block(EXPRESSION, {"TEXT": ""})


def _between(type: str, operator: str) -> Block:
    return block(type, {"OP": operator}, A=_empty(), B=_empty())


def _aggregate(function: str) -> Block:
    return block("aggregate", {"FUNCTION": function}, A=_empty())


def _conditioned(type: str) -> Block:
    return block(type, CONDITION=_empty())


PALETTE = (
    Category(
        "Values",
        "values",
        tuple(block("value", {"TEXT": text}) for text in ("1", "'text'", "true")),
    ),
    Category("Simple events", "events", (), more="simple"),
    Category("Properties", "properties", (), more="properties"),
    Category(
        "Complex events",
        "complex",
        (block("item", EXPR=_empty()), block("all")),
        more="complex",
    ),
    Category(
        "Timers",
        "timers",
        tuple(map(block, ("interval", "schedule", "within", "within_most"))),
    ),
    Category(
        "Patterns",
        "operators",
        (
            *map(block, ("every", "every_distinct", "followed_by", "repeat", "range", "until")),
            _conditioned("while"),
        ),
    ),
    Category(
        "Logic",
        "logic",
        (
            *map(block, ("all_of", "any_of", "absent")),
            _between("logic", "and"),
            _between("logic", "or"),
            block("negation", A=_empty()),
        ),
    ),
    Category("Comparison", "comparison", tuple(_between("compare", op) for op in COMPARISONS)),
    Category("Arithmetic", "arithmetic", tuple(_between("arithmetic", op) for op in ARITHMETIC)),
    Category("Aggregation", "aggregation", tuple(map(_aggregate, AGGREGATES))),
    Category(
        "Data windows",
        "windows",
        tuple(
            map(block, ("time_window", "time_batch", "length_window", "length_batch", "keep_all"))
        ),
    ),
    Category(
        "Clauses",
        "clauses",
        (
            _conditioned("where"),
            block("group_by"),
            _conditioned("having"),
            *map(block, ("output", "order_by", "limit")),
            *map(block, ("reports", "inserts", "distinct")),
        ),
    ),
    Category(
        "Actions",
        "actions",
        (
            block("action", {"NAME": "mail", "WITH": "to='', subject=''"}),
            block("action", {"NAME": "post", "WITH": "text=''"}),
        ),
    ),
    Category("Contexts", "contexts", (block("context"), block("key"))),
)


def tools_of(category: Category) -> dict[str, object]:
    """A category as the page shows it, each tool with what it is for."""
    abouts = {shape.type: shape.about for shape in SHAPES}
    return {
        "title": category.title,
        "style": category.style,
        "more": category.more,
        "tools": [{"block": tool, "about": abouts[tool["type"]]} for tool in category.tools],
    }
