"""Code read back: its instructions, how deep its stack gets, whether it is well formed, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.expr.printing import print_expr
from cepheid.matcher.compiling.bytecode import Site
from cepheid.matcher.vm.expressions.instructions import LEFT_DOUBLE, RELATIONS, RIGHT_DOUBLE, Op


@dataclass(frozen=True, slots=True)
class _Shape:
    """The operands of an instruction, how many values it takes from the stack and puts there."""

    operands: tuple[str, ...]
    takes: int
    puts: int


_COMPARISON = ("kind", "relation")
_SHAPES: dict[Op, _Shape] = {
    Op.END: _Shape((), 1, 0),
    Op.CONSTANT: _Shape(("word",), 0, 1),
    Op.NULL: _Shape((), 0, 1),
    Op.POP: _Shape((), 1, 0),
    Op.PICK: _Shape(("depth",), 0, 1),
    Op.NIP: _Shape((), 2, 1),
    Op.EVENT: _Shape((), 0, 1),
    Op.BOUND: _Shape(("tag",), 0, 1),
    Op.ELEMENT: _Shape(("index",), 1, 1),
    Op.SLOT: _Shape(("slot",), 1, 1),
    Op.EVENT_SLOT: _Shape(("slot",), 0, 1),
    Op.BOUND_SLOT: _Shape(("tag", "slot"), 0, 1),
    Op.AGGREGATE: _Shape(("aggregate",), 0, 1),
    Op.CLOCK: _Shape((), 0, 1),
    Op.IS_NEW: _Shape((), 0, 1),
    Op.JUMP: _Shape(("to",), 0, 0),
    Op.JUMP_IF_TRUE: _Shape(("to",), 1, 1),
    Op.JUMP_IF_FALSE: _Shape(("to",), 1, 1),
    Op.JUMP_UNLESS_TRUE: _Shape(("to",), 1, 0),
    Op.JUMP_IF_KNOWN: _Shape(("to",), 1, 1),
    Op.JUMP_IF_POOLED: _Shape(("to",), 1, 1),
    Op.IS_NULL: _Shape((), 1, 1),
    Op.NULL_IF: _Shape(("kind",), 2, 1),
    Op.IN_INTEGERS: _Shape(("count",), 1, 1),
    Op.IN_DOUBLES: _Shape(("count",), 1, 1),
    Op.EVENT_CONSTANT: _Shape((*_COMPARISON, "slot", "word"), 0, 1),
    Op.EVENT_BOUND: _Shape((*_COMPARISON, "slot", "tag", "slot"), 0, 1),
    Op.ASK: _Shape(("site", "count", "flags"), 0, 1),
    Op.BETWEEN: _Shape(("flags",), 3, 1),
    **dict.fromkeys((Op.SAME, Op.COMPARE, Op.CHOOSE), _Shape(_COMPARISON, 2, 1)),
    **dict.fromkeys((Op.AND, Op.OR), _Shape((), 2, 1)),
    **{op: _Shape((), 2, 1) for op in Op if Op.ADD_INT <= op < Op.NOT},
    **{op: _Shape((), 1, 1) for op in Op if Op.NOT <= op < Op.BETWEEN},
}


@dataclass(frozen=True, slots=True)
class Instruction:
    place: int
    op: Op
    operands: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.place + 1 + len(self.operands)

    def named(self, name: str) -> list[int]:
        """The operands of a name."""
        names = _SHAPES[self.op].operands
        return [o for n, o in zip(names, self.operands, strict=False) if n == name]


def instruction(code: Sequence[int], place: int) -> Instruction:
    """The instruction at a place; ValueError where there is none."""
    if not 0 <= place < len(code):
        raise ValueError(f"{place} is outside the code")
    op = Op(code[place])
    count = len(_SHAPES[op].operands)
    if op in (Op.IN_INTEGERS, Op.IN_DOUBLES):
        count += code[place + 1]
    operands = tuple(code[place + 1 : place + 1 + count])
    if len(operands) < count:
        raise ValueError(f"{op.name} at {place} is cut off")
    return Instruction(place, op, operands)


def instructions(code: Sequence[int], begin: int) -> dict[int, tuple[Instruction, int]]:
    """All that can run from a place on, in its order, each with the depth of the stack before it.

    ValueError where code jumps out, takes what is not there, or leaves anything but one value.
    """
    found: dict[int, tuple[Instruction, int]] = {}
    pending = [(begin, 0)]
    while pending:
        place, depth = pending.pop()
        if place in found:
            if found[place][1] != depth:
                raise ValueError(f"the stack at {place} is {depth} or {found[place][1]} deep")
            continue
        here = instruction(code, place)
        found[place] = here, depth
        pending += _successors(here, depth)
    return dict(sorted(found.items()))


def _successors(here: Instruction, depth: int) -> list[tuple[int, int]]:
    shape = _SHAPES[here.op]
    takes = here.operands[1] if here.op == Op.ASK else shape.takes
    needs = here.operands[0] + 1 if here.op == Op.PICK else takes
    if needs > depth:
        raise ValueError(f"{here.op.name} at {here.place} takes {needs} of {depth} values")
    after = depth - takes + shape.puts
    if here.op == Op.END:
        if after != 0:
            raise ValueError(f"the code leaves {depth} values at {here.place}")
        return []
    targets = here.named("to")
    return [(t, after) for t in (*targets, *(() if here.op == Op.JUMP else (here.end,)))]


def check_code(
    code: Sequence[int], begin: int, *, slots: int, tags: int, sites: int, aggregates: int = 0
) -> None:
    """ValueError where the code of an expression is not well formed."""
    known = {"slot": slots, "tag": tags, "site": sites, "aggregate": aggregates}
    for here, _ in instructions(code, begin).values():
        for name, count in known.items():
            if not all(0 <= operand < count for operand in here.named(name)):
                raise ValueError(f"{here.op.name} at {here.place} names an unknown {name}")


def deepest(code: Sequence[int], begin: int) -> int:
    """How many rows of STACK the code of an expression needs."""
    return 1 + max(depth for _, depth in instructions(code, begin).values())


def listing(code: Sequence[int], begin: int, sites: Sequence[Site] = ()) -> str:
    """The code of an expression as text, one instruction a line."""
    lines = []
    for here, _ in instructions(code, begin).values():
        names = _SHAPES[here.op].operands
        shown = [f"{n} {_shown(n, o)}" for n, o in zip(names, here.operands, strict=False)]
        shown += map(str, here.operands[len(names) :])
        if here.op == Op.ASK and here.operands[0] < len(sites):
            shown.append(print_expr(sites[here.operands[0]].expr))
        lines.append(f"{here.place:5} {here.op.name.lower():20}{', '.join(shown)}".rstrip())
    return "\n".join(lines)


def _shown(name: str, operand: int) -> str:
    if name == "relation":
        return next((s for s, relation in RELATIONS.items() if relation == operand), bin(operand))
    if name == "kind":
        sides = ("double" if operand & side else "integer" for side in (LEFT_DOUBLE, RIGHT_DOUBLE))
        return "/".join(sides)
    return str(operand)
