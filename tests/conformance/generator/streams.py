"""Events in the order of their times."""

from __future__ import annotations

import json

from tests.conformance.generator.expressions import Expressions
from tests.conformance.generator.schemas import ATTRIBUTES, VALUES

GAPS = (1000, 0, 0, 0, 1000, 2000, 500, 3000)  # milliseconds between two events


def stream(
    choice: Expressions, types: tuple[str, ...], *, is_child: bool, nested: bool, counted: bool
) -> str:
    """Events in the order of their times, and some time after the last, so that timers speak."""
    clock, items = 0, []
    for number in range(1, choice.pick(4, 2, 6, 8, 10, 12) + 1):
        type = choice.pick(*types)
        clock += choice.pick(*GAPS)
        names = ATTRIBUTES[type] + (ATTRIBUTES["A"][2:] if is_child and type == "C" else "")
        left_out = ("" if nested else "rim") + ("" if counted else "zdc")
        names = names.translate({ord(name): "" for name in left_out})
        values = {name: choice.pick(*VALUES[name]) for name in names}
        given = ",".join(f"{n}={_json(v)}" for n, v in values.items() if v is not None)
        items.append(f"{type}{number}@{clock}" + (f"{{{given}}}" if given else ""))
    rest = choice.pick(6000, 0, 1000)
    return " ".join([*items, *([f"@{clock + rest}"] if rest else [])])


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
