"""The variables of a body: their numbers, their types, and what gives them values."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.core.types import is_open, wider
from cepheid.errors import Diagnostic, Span, error
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Column, Expr, Literal, walk
from cepheid.live.metamodel import Schema
from cepheid.live.queries.resolved import (
    Absence,
    Atom,
    Call,
    Computed,
    Condition,
    Constant,
    Different,
    Extent,
    Mean,
    ObjectType,
    Same,
    Step,
    Tally,
    VariableType,
)


class Variables:
    """Numbered in the order in which they come up; a type that can never fit is reported once."""

    def __init__(self, schema: Schema, problems: list[Diagnostic]) -> None:
        self.schema = schema
        self.problems = problems
        self.names: list[str] = []
        self.types: list[VariableType | None] = []
        self.spans: dict[int, Span | None] = {}
        self.literals: dict[int, Literal] = {}
        self.places: dict[tuple[int, int], Span | None] = {}  # of equalities
        self.forgiven: set[int] = set()  # part of a mistake that was reported
        self._numbers: dict[str, int] = {}
        self._hidden: set[int] = set()

    def fresh(self, name: str) -> int:
        self.names.append(name)
        self.types.append(None)
        return len(self.names) - 1

    def named(self, name: str, span: Span | None = None) -> int:
        if name not in self._numbers:
            self._numbers[name] = self.fresh(name)
        variable = self._numbers[name]
        self.spans.setdefault(variable, span)
        if self.spans[variable] is None:
            self.spans[variable] = span
        return variable

    def find(self, name: str) -> int | None:
        return self._numbers.get(name)

    def is_written(self, variable: int) -> bool:
        """Whether it stands in the text under its name."""
        return self._numbers.get(self.names[variable]) == variable and variable not in self._hidden

    def written(self) -> list[str]:
        return list(self._numbers)

    def forgive(self, *variables: int) -> None:
        self.forgiven.update(variables)

    # Types.

    def note(self, variable: int, type: VariableType, span: Span | None) -> None:
        """One more thing that is known of a variable."""
        known = self.types[variable]
        common = type if known is None else self._common(known, type)
        if common is not None:
            self.types[variable] = common
        elif variable not in self.forgiven:
            self.forgive(variable)
            literal = self.literals.get(variable)
            fact = f"{self._shown(variable)} cannot be {known} and {type}"
            if known == type:
                fact = f"{self._shown(variable)} is {type}, and no object is of that class"
            if literal is not None:
                fact = f"{print_expr(literal)} is {known}, where {type} is needed"
            self.problems.append(error("type-mismatch", fact, span))

    def unify(self, left: int, right: int) -> None:
        one, other = self.types[left], self.types[right]
        span = self.places.get((left, right)) or self.spans.get(left) or self.spans.get(right)
        if other is not None:
            self.note(left, other, span)
        if one is not None and left not in self.forgiven:
            self.note(right, one, span)

    def check_comparable(self, left: int, right: int, span: Span | None) -> None:
        one, other = self.types[left], self.types[right]
        if one is not None and other is not None and self._common(one, other) is None:
            names = f"{self._shown(left)} is {one} and {self._shown(right)} is {other}"
            fact = f"{names}: they are never equal"
            self.problems.append(error("type-mismatch", fact, span))

    def _common(self, one: VariableType, other: VariableType) -> VariableType | None:
        """The type of what is of both types; None where nothing can be."""
        if isinstance(one, ObjectType) and isinstance(other, ObjectType):
            classes = one.classes | other.classes
            if classes and self.schema.are_disjoint(*classes):
                return None
            return ObjectType(classes)
        if isinstance(one, ObjectType) or isinstance(other, ObjectType):
            single = other if isinstance(one, ObjectType) else one
            assert not isinstance(single, ObjectType)
            return (one if isinstance(one, ObjectType) else other) if is_open(single) else None
        return wider(one, other)

    def _shown(self, variable: int) -> str:
        return f"'{self.names[variable]}'"

    def inputs(self, expr: Expr) -> tuple[tuple[str, int], ...]:
        """The variables that a resolved expression names."""
        names = {n.path[0].name for n in walk(expr) if isinstance(n, Column) and n.path}
        return tuple((name, self._numbers[name]) for name in sorted(names))

    def hidden(self, name: str) -> int:
        """A variable for a part of an expression, under a name that no text can have."""
        variable = self.named(name)
        self._hidden.add(variable)
        return variable


def variables_of(atom: Atom) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What an atom needs to be bound, and what it binds then; others of its variables it finds."""
    match atom:
        case Extent(object=variable):
            return (), (variable,)
        case Step(source=source, target=target, with_nulls=False):
            return (), (source, target)
        case Step(source=source, target=target) | Mean(source=source, target=target):
            return (source,), (target,)
        case Call(arguments=arguments):
            return (), arguments
        case Absence(arguments=arguments):
            return arguments, ()
        case Tally(arguments=arguments, result=result):
            return arguments, (result,)
        case Different(left=left, right=right):
            return (left, right), ()
        case Constant(variable=variable):
            return (), (variable,)
        case Condition(inputs=inputs):
            return tuple(v for _, v in inputs), ()
        case Computed(inputs=inputs, result=result):
            return tuple(v for _, v in inputs), (result,)
    raise TypeError(f"{type(atom).__name__} has no rule")


def given_by(atoms: Iterable[Atom]) -> set[int]:
    """The variables that would get values, if all that they depend on had some."""
    found: set[int] = set()
    for atom in atoms:
        if not isinstance(atom, Same):
            found.update(variables_of(atom)[1])
    return found


def bound_by(atoms: Iterable[Atom], known: Iterable[int] = ()) -> set[int]:
    """The variables that get values, one way or another, beside those that have one."""
    bound = set(known)
    grows = True
    pending = list(atoms)
    while grows:
        before = len(bound)
        for atom in pending:
            if isinstance(atom, Same):
                if {atom.left, atom.right} & bound:
                    bound |= {atom.left, atom.right}
                continue
            needed, given = variables_of(atom)
            if bound.issuperset(needed):
                bound.update(given)
        grows = len(bound) > before
    return bound
