"""Conditions and arguments of statements, over the old and the new version of an event.

They are resolved once; for a chronon they become expressions over the relation of rounds.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from cepheid.core.types import (
    ANY,
    BOOLEAN,
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    is_open,
)
from cepheid.errors import Diagnostic, ProgramError, Span, suggest
from cepheid.sql.dialect import (
    PRIMITIVES,
    SIDES,
    TimeLiteral,
    parse_condition,
    parse_value,
    too_deep,
)
from cepheid.sql.nodes import PERIOD, Message, Now, Primitive, any_of, both, column, shifted
from cepheid.sql.now import Crossing, Side, has_now, instants, is_now, time_beside_now
from cepheid.sql.places import Places
from cepheid.sql.rounds import FLIPPED, Rounds
from cepheid.sql.tables import Table
from cepheid.sql.text import Sql
from cepheid.sql.typer import Typed, Typer, seconds

__all__ = [
    "Crossing",
    "ResolvedArgument",
    "ResolvedCondition",
    "argument_tree",
    "clears_toggle_tree",
    "condition_tree",
    "differs_tree",
    "resolve_argument",
    "resolve_condition",
    "sets_toggle_tree",
]


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedCondition:
    """A condition over columns of `new` and `old`; primitives and comparisons of times are leaves.

    `primitives` are the names of its atoms; LATE with delays is `LATE()`. `named` are the attributes in it.
    """

    tree: exp.Expr
    primitives: frozenset[str]
    crossings: tuple[Crossing, ...]
    named: Mapping[str, Span]


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedArgument:
    """An argument of an action, over the same columns."""

    tree: exp.Expr
    type: DataType
    named: Mapping[str, Span]


def resolve_condition(
    condition: Sql, table: Table
) -> tuple[ResolvedCondition | None, list[Diagnostic]]:
    """A condition of a class's statement, or all that is wrong with it."""
    scope, problems = _Versions(table, is_condition=True), list[Diagnostic]()
    try:
        tree = Typer(Places(condition), scope, problems).condition(parse_condition(condition))
    except ProgramError as problem:
        return None, list(problem.diagnostics)
    except RecursionError:
        return None, [too_deep(Places(condition))]
    if problems:
        return None, list(dict.fromkeys(problems))
    atoms = list(tree.find_all(Primitive))
    crossings = dict.fromkeys([*(c for atom in atoms for c in _crossed(atom)), *scope.crossings])
    labels = frozenset(map(_label, atoms))
    return ResolvedCondition(tree, labels, tuple(crossings), scope.named), []


def resolve_argument(
    argument: Sql, table: Table
) -> tuple[ResolvedArgument | None, list[Diagnostic]]:
    """An argument of an action, or all that is wrong with it."""
    scope, problems = _Versions(table, is_condition=False), list[Diagnostic]()
    try:
        typer = Typer(Places(argument), scope, problems)
        tree, type_ = typer.read(parse_value(argument))
    except ProgramError as problem:
        return None, list(problem.diagnostics)
    except RecursionError:
        return None, [too_deep(Places(argument))]
    if problems:
        return None, list(dict.fromkeys(problems))
    if type_ == PERIOD:
        tree, type_ = seconds(tree), DOUBLE
    return ResolvedArgument(tree, type_, scope.named), []


def condition_tree(condition: ResolvedCondition, chronon: int) -> exp.Expr:
    """The condition over the relation, for a chronon in microseconds."""
    return Rounds(chronon).say(condition.tree)


def argument_tree(argument: ResolvedArgument, chronon: int) -> exp.Expr:
    """The argument over the relation; NOW is the instant of the round."""
    return Rounds(chronon).say(argument.tree)


def sets_toggle_tree(conditions: Iterable[ResolvedCondition], chronon: int) -> exp.Expr | None:
    """Whether an ONTIME or LATE of any of them holds, fired or not; None where there is none."""
    return _any_atom(conditions, chronon, ("ONTIME", "LATE"))


def clears_toggle_tree(conditions: Iterable[ResolvedCondition], chronon: int) -> exp.Expr | None:
    """Whether a CANCELLATION or POSTPONE of any of them holds; None where there is none."""
    return _any_atom(conditions, chronon, ("CANCELLATION", "POSTPONE"))


def _any_atom(
    conditions: Iterable[ResolvedCondition], chronon: int, names: tuple[str, ...]
) -> exp.Expr | None:
    rounds = Rounds(chronon)
    atoms = (atom for c in conditions for atom in c.tree.find_all(Primitive) if atom.name in names)
    found = [rounds.primitive(atom, may_repeat=True) for atom in dict.fromkeys(atoms)]
    return any_of(*found) if found else None


def differs_tree(table: Table, chronon: int) -> exp.Expr:
    """Whether two versions differ, where both are there; their detection times do not matter."""
    return Rounds(chronon).differs(table)


# Primitives


def _label(atom: Primitive) -> str:
    return f"{atom.name}()" if "low" in atom.args else atom.name


_SIDES_OF: dict[str, tuple[Side, ...]] = {
    "ONTIME": ("new",),
    "LATE": ("new",),
    "FUTURE": ("new", "old"),
    "FUTURECANCEL": ("old",),
    "REVOCATION": ("old",),
    "RETROACTIVECHANGE": ("new", "old"),
    "POSTPONE": ("new", "old"),
}


def _crossed(atom: Primitive) -> Iterator[Crossing]:
    offsets = (atom.args["low"], atom.args["high"]) if "low" in atom.args else (0,)
    for side in _SIDES_OF.get(atom.name, ()):
        for offset in offsets:
            yield Crossing(side, "occ", offset)


# Names


class _Versions:
    """What names stand for in a condition or an argument."""

    def __init__(self, table: Table, *, is_condition: bool) -> None:
        self.table = table
        self.is_condition = is_condition
        self.crossings: dict[Crossing, None] = {}
        self.named: dict[str, Span] = {}  # attributes, each with its first place

    def column(self, typer: Typer, node: exp.Column) -> Typed:
        if not node.table:
            return self._word(typer, node)
        if node.table.upper() not in SIDES:
            fact = f"nothing here is called '{node.table}'"
            hint = "conditions and actions know NEW and OLD"
            return typer.report("unknown-name", fact, node.args["table"], hint)
        found = self.table.find(node.name)
        if found is None:
            fact = f"'{self.table.name}' has no attribute '{node.name}'"
            known = suggest(node.name, self.table.columns)
            return typer.report("unknown-attribute", fact, node.this, known)
        if found[0] in self.table.attributes:
            self.named.setdefault(found[0], typer.places.of(node))
        return column(*found, node.table.lower()), found[1]

    def _word(self, typer: Typer, node: exp.Column) -> Typed:
        word = node.name.upper()
        if word in SIDES:
            return column("occ", TIMESTAMP, word.lower()), TIMESTAMP
        if word in PRIMITIVES:
            return self._primitive(typer, node, Primitive(this=word))
        if word == "NOW":
            return self._misplaced(typer, node) if self.is_condition else (Now(), TIMESTAMP)
        if found := self.table.find(node.name):
            fact, here = f"it is not said whose '{node.name}' is meant", found[0]
            return typer.report("unknown-name", fact, node, f"write NEW.{here} or OLD.{here}")
        known = (*PRIMITIVES, *SIDES, "NOW")
        fact = f"nothing here is called '{node.name}'"
        return typer.report("unknown-name", fact, node, suggest(node.name, known))

    def _primitive(self, typer: Typer, node: exp.Expr, found: Primitive) -> Typed:
        if self.is_condition:
            return found, BOOLEAN
        return typer.report("misplaced-primitive", f"{found.name} stands in conditions only", node)

    def call(self, typer: Typer, node: exp.Anonymous) -> Typed | None:
        """`LATE(0s, 1h)`."""
        word = node.name.upper()
        if word not in PRIMITIVES:
            return None
        if word != "LATE":
            return typer.report("wrong-arguments", f"{word} has no arguments", node)
        delays = [p.microseconds for p in node.expressions if isinstance(p, TimeLiteral)]
        if len(delays) != 2 or len(node.expressions) != 2:
            fact = "LATE has two lengths of time, or no arguments"
            return typer.report("wrong-arguments", fact, node, "for example LATE(0s, 1h)")
        atom = Primitive(this="LATE", low=delays[0], high=delays[1])
        return self._primitive(typer, node, atom)

    def subquery(self, typer: Typer, node: exp.Expr) -> Typed:
        return typer.refuse("a subquery here", node, "derive a class with it")

    def aggregate(self, typer: Typer, node: exp.Expr) -> bool:
        fact = f"'{typer.places.word(node)}' needs rows; here is one event"
        typer.report("misplaced-aggregate", fact, node, "derive a class with it")
        return False

    # NOW

    def compare(self, typer: Typer, node: exp.Expr) -> Typed | None:
        """A comparison with NOW; all others mean what they mean in SQL."""
        if not self.is_condition or not has_now(node):
            return None
        found = time_beside_now(node)
        if found is None or isinstance(node, (exp.NullSafeEQ, exp.NullSafeNEQ)):
            return self._misplaced(typer, next(filter(is_now, node.walk())))
        sign, written, offset = found
        time, type_ = typer.read(written)
        if not typer.expect(type_, (TIMESTAMP,), written):
            return exp.Null(), ANY
        time = shifted(time, offset)
        crossings = dict.fromkeys(instants(time))
        if not crossings:
            hint = "compare NOW with a time of the event"
            return typer.refuse("a comparison of NOW with a fixed time", written, hint)
        self.crossings |= crossings
        operator = type(node)
        operator = operator if sign == 1 else FLIPPED.get(operator, operator)
        return both(Now(), time, operator, BOOLEAN), BOOLEAN

    def _misplaced(self, typer: Typer, node: exp.Expr) -> Typed:
        hint = "compare it with a time of the event, as in NOW > NEW.occ + 1h"
        fact = "NOW can stand only in a comparison of two times"
        return typer.report("misplaced-now", fact, node, hint)

    # Messages

    def format(self, typer: Typer, node: exp.Expr) -> Typed:
        """`format('...', value, ...)`: %s text, %n number, %t time, %% percent."""
        template = node.this
        if not (isinstance(template, exp.Literal) and template.is_string):
            return typer.refuse("a format that is not written out", node)
        marks = [m for m in _MARK.findall(template.name) if m != "%"]
        unknown = [m for m in marks if m not in _FITTING]
        if unknown:
            hint = "marks: %s text, %n number, %t time, %% percent"
            fact = f"'%{unknown[0]}' is no mark of a format"
            return typer.report("bad-format", fact, template, hint)
        if len(marks) != len(node.expressions):
            fact = f"the format has {len(marks)} marks for {len(node.expressions)} values"
            return typer.report("wrong-arguments", fact, node)
        pairs = zip(marks, node.expressions, strict=True)
        values = [typer.value(part, *_FITTING[mark]) for mark, part in pairs]
        kinds = "".join("s" if is_open(type_) else _LETTERS[type_] for _, type_ in values)
        parts = [found for found, _ in values]
        return Message(this=template.name, kinds=kinds, expressions=parts), STRING


_MARK = re.compile(r"%(.?)", re.DOTALL)
_FITTING: dict[str, tuple[DataType, ...]] = {
    "s": (STRING, BOOLEAN, LONG, DOUBLE, TIMESTAMP),
    "n": (LONG, DOUBLE),
    "t": (TIMESTAMP,),
}
_LETTERS: dict[DataType, str] = {STRING: "s", BOOLEAN: "b", LONG: "i", DOUBLE: "d", TIMESTAMP: "t"}
