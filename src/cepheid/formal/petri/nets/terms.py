"""Inscriptions as trees: what stands on arcs and in guards.

A term has variables, and a value for every binding of them. For speed, terms become Python source;
`Names` keeps the values that the source refers to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cepheid.core.checks import need
from cepheid.formal.petri.nets.multiset import Colour


class Names:
    """The values that a piece of source needs, by the names it has for them."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}

    def of(self, value: object) -> str:
        name = f"g{len(self.values)}"
        self.values[name] = value
        return name


class Term(ABC):
    """The root of the inscriptions."""

    __slots__ = ()

    @abstractmethod
    def python(self, names: Names) -> str:
        """A Python expression for its value, in which variable x is called `v_x`."""

    @abstractmethod
    def variables(self) -> Iterator[str]: ...


@dataclass(frozen=True, slots=True)
class Var(Term):
    name: str

    def __post_init__(self) -> None:
        need(self.name.isidentifier(), f"{self.name!r} is no name for a variable")

    def python(self, names: Names) -> str:
        return f"v_{self.name}"

    def variables(self) -> Iterator[str]:
        yield self.name

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Const(Term):
    value: Colour

    def python(self, names: Names) -> str:
        return repr(self.value) if type(self.value) in (int, bool, str) else names.of(self.value)

    def variables(self) -> Iterator[str]:
        return iter(())

    def __str__(self) -> str:
        return f'"{self.value}"' if isinstance(self.value, str) else str(self.value)


@dataclass(frozen=True, slots=True)
class Product(Term):
    """A tuple of terms."""

    parts: tuple[Term, ...]

    def python(self, names: Names) -> str:
        return f"({''.join(part.python(names) + ', ' for part in self.parts)})"

    def variables(self) -> Iterator[str]:
        for part in self.parts:
            yield from part.variables()

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parts))})"


# The operators of inscriptions: how CPN ML writes them, and how Python does.
OPERATORS = {
    "+": "+",
    "-": "-",
    "*": "*",
    "div": "//",
    "mod": "%",
    "=": "==",
    "<>": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "andalso": "and",
    "orelse": "or",
}


@dataclass(frozen=True, slots=True)
class Apply(Term):
    """An operator between two terms."""

    operator: str
    left: Term
    right: Term

    def __post_init__(self) -> None:
        need(self.operator in OPERATORS, f"no operator {self.operator!r}")

    def python(self, names: Names) -> str:
        left, right = self.left.python(names), self.right.python(names)
        return f"({left} {OPERATORS[self.operator]} {right})"

    def variables(self) -> Iterator[str]:
        yield from self.left.variables()
        yield from self.right.variables()

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


@dataclass(frozen=True, slots=True)
class If(Term):
    condition: Term
    then: Term
    otherwise: Term

    def python(self, names: Names) -> str:
        then, condition = self.then.python(names), self.condition.python(names)
        return f"({then} if {condition} else {self.otherwise.python(names)})"

    def variables(self) -> Iterator[str]:
        for term in (self.condition, self.then, self.otherwise):
            yield from term.variables()

    def __str__(self) -> str:
        return f"(if {self.condition} then {self.then} else {self.otherwise})"


@dataclass(frozen=True, slots=True)
class Function:
    """A function that inscriptions may call: its name, and what it computes."""

    name: str
    compute: Callable[..., object]


@dataclass(frozen=True, slots=True)
class Defined(Function):
    """A function that a net brings along, by a term over its parameters."""

    parameters: tuple[str, ...]
    body: Term


@dataclass(frozen=True, slots=True)
class Applied(Function):
    """A general function that is given other functions first."""

    general: str
    functions: tuple[Function, ...]


def define(name: str, parameters: tuple[Var, ...], body: Term) -> Defined:
    names = Names()
    heads = ", ".join(parameter.python(names) for parameter in parameters)
    source = f"lambda {heads}: {body.python(names)}"
    return Defined(name, eval(source, dict(names.values)), tuple(p.name for p in parameters), body)


@dataclass(frozen=True, slots=True)
class Items(Term):
    """A list of terms."""

    items: tuple[Term, ...]

    def python(self, names: Names) -> str:
        return f"({''.join(item.python(names) + ', ' for item in self.items)})"

    def variables(self) -> Iterator[str]:
        for item in self.items:
            yield from item.variables()

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}]"


@dataclass(frozen=True, slots=True)
class Call(Term):
    function: Function
    arguments: tuple[Term, ...]

    def python(self, names: Names) -> str:
        arguments = ", ".join(term.python(names) for term in self.arguments)
        return f"{names.of(self.function.compute)}({arguments})"

    def variables(self) -> Iterator[str]:
        for term in self.arguments:
            yield from term.variables()

    def __str__(self) -> str:
        return f"{self.function.name}({', '.join(map(str, self.arguments))})"


def call(function: Function, *arguments: Term) -> Call:
    return Call(function, arguments)


def plus(term: Term, number: int) -> Term:
    """So much more; nothing to add changes nothing."""
    if not number:
        return term
    return Apply("+" if number > 0 else "-", term, Const(abs(number)))


def negation(term: Term) -> Term:
    return Apply("=", term, Const(value=False))


def both(*terms: Term | None) -> Term | None:
    """All of some guards; None is no guard."""
    found: Term | None = None
    for term in terms:
        if term is not None:
            found = term if found is None else Apply("andalso", found, term)
    return found


def product(*parts: Term) -> Term:
    """A tuple; of one term, that term."""
    return parts[0] if len(parts) == 1 else Product(parts)


def functions_in(term: Term) -> Iterator[Function]:
    """All functions that a term calls."""
    if isinstance(term, Call):
        yield term.function
    for name in getattr(term, "__dataclass_fields__", ()):
        value = getattr(term, name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Term):
                yield from functions_in(part)
