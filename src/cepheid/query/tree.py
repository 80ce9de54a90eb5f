"""Graph queries as data: what a text or a Python program says, before names are looked up.

A query has parameters and one or more bodies; its matches are the values of its parameters for
which at least one body holds. A body holds where values of its variables exist for which all its
constraints do. Places in the text never take part in equality.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.core.checks import need
from cepheid.core.located import Located
from cepheid.errors import Severity
from cepheid.expr.tree import Expr, Literal, Ref, walk

ANYTHING = "_"  # a variable of this name is another one each time


@dataclass(frozen=True, slots=True)
class Variable(Located):
    name: str

    @property
    def may_stand_alone(self) -> bool:
        """Whether it says itself that it is used once."""
        return self.name.startswith("_")


Term: TypeAlias = Variable | Literal


# Constraints.


@dataclass(frozen=True, slots=True)
class Constraint(Located):
    """The root of all constraints."""


@dataclass(frozen=True, slots=True)
class IsA(Constraint):
    """`Class(x)`: an object of a class, or of one that inherits from it."""

    type: str
    term: Term


@dataclass(frozen=True, slots=True)
class Edge(Constraint):
    """`Class.feature(x, y)`, `Class.feature.feature(x, y)`: from an object along its features.

    An attribute without a value leads nowhere.
    """

    type: str
    features: tuple[str, ...]
    source: Term
    target: Term

    def __post_init__(self) -> None:
        need(bool(self.features), "an edge needs a feature")


@dataclass(frozen=True, slots=True)
class Equality(Constraint):
    """`x == y`, `x != y`: the same object, or equal values."""

    left: Term
    right: Term
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Find(Constraint):
    """`find q(x, y)`, or transitively `find q+(x, y)`: through one or more matches of q."""

    query: str
    arguments: tuple[Term, ...]
    transitive: bool = False


@dataclass(frozen=True, slots=True)
class Negation(Constraint):
    """`neg find q(x, _)`: no such match."""

    find: Find


@dataclass(frozen=True, slots=True)
class Count(Constraint):
    """`n == count find q(x, _)`: how many such matches, which may be none."""

    result: Term
    find: Find


@dataclass(frozen=True, slots=True)
class Check(Constraint):
    """`check(condition)`: true, neither false nor null."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Eval(Constraint):
    """`x == eval(expression)`: the value of the expression, unless it is null."""

    result: Term
    expr: Expr


# Queries.


@dataclass(frozen=True, slots=True)
class Body(Located):
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True)
class Parameter(Located):
    """A parameter, with the name of a class or of a data type unless the bodies say enough."""

    name: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Rule(Located):
    """`@Constraint`: the matches of the query are what must not be.

    The key is those parameters that a violation is told of. In the message, `$x.feature$` stands
    for the value of an attribute, `$x$` for an object or value itself.
    """

    key: tuple[str, ...]
    message: str
    severity: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True)
class Query(Located):
    name: str
    parameters: tuple[Parameter, ...]
    bodies: tuple[Body, ...]
    is_private: bool = False  # of use to other queries only
    rule: Rule | None = None

    def __post_init__(self) -> None:
        need(bool(self.bodies), "a query needs a body")


@dataclass(frozen=True, slots=True)
class QueryTree:
    """All queries of a text, in its order."""

    queries: tuple[Query, ...]


def found_by(constraint: Constraint) -> Find | None:
    """The call of another query in a constraint, if there is one."""
    if isinstance(constraint, Find):
        return constraint
    return constraint.find if isinstance(constraint, Negation | Count) else None


def terms(constraint: Constraint) -> Iterator[Term]:
    """All terms of a constraint in the order of the text; names in expressions are variables, too."""
    match constraint:
        case IsA(term=term):
            yield term
        case Edge(source=source, target=target):
            yield from (source, target)
        case Equality(left=left, right=right):
            yield from (left, right)
        case Find(arguments=arguments):
            yield from arguments
        case Negation(find=find):
            yield from find.arguments
        case Count(result=result, find=find):
            yield from (result, *find.arguments)
        case Check(condition=expr):
            yield from _named(expr)
        case Eval(result=result, expr=expr):
            yield from (result, *_named(expr))


def _named(expr: Expr) -> Iterator[Variable]:
    for node in walk(expr):
        if isinstance(node, Ref):
            yield Variable(node.parts[0].name, span=node.span)
