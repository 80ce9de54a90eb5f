"""Transitions compiled: how the bindings that a new token makes possible are found.

A binding that was not there before needs a token that was not there before. So each input arc has a
*join*: given a new token for that arc, it looks for the tokens of the other arcs, by their known
parts in an index wherever there are any, and yields the bindings for which the guard holds. A
binding is a tuple of values in the order of `Rule.variables`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.formal.petri.nets.multiset import Colour
from cepheid.formal.petri.nets.net import Arc, Net, Transition
from cepheid.formal.petri.nets.terms import Names, Product, Term, Var

Values: TypeAlias = tuple[Colour, ...]


class Bag:
    """The tokens of a place while a net runs, oldest first, and where to find them.

    `born` numbers tokens by their arrival. An index has for each value of some parts of a product
    the tokens with these parts.
    """

    __slots__ = ("born", "indexes", "size", "tokens")

    def __init__(self, keys: Sequence[tuple[int, ...]]) -> None:
        self.tokens: dict[Colour, int] = {}
        self.born: dict[Colour, int] = {}
        self.indexes: list[tuple[tuple[int, ...], Index]] = [(key, {}) for key in keys]
        self.size = 0

    def add(self, token: Colour, count: int, now: int) -> None:
        self.size += count
        if token in self.tokens:
            self.tokens[token] += count
            return
        self.tokens[token] = count
        self.born[token] = now
        for key, index in self.indexes:
            index.setdefault(tuple([token[i] for i in key]), {})[token] = None  # type: ignore[index]

    def remove(self, token: Colour, count: int) -> None:
        self.size -= count
        left = self.tokens[token] - count
        if left:
            self.tokens[token] = left
            return
        del self.tokens[token], self.born[token]
        for key, index in self.indexes:
            value = tuple([token[i] for i in key])  # type: ignore[index]
            found = index[value]
            del found[token]
            if not found:
                del index[value]


Index: TypeAlias = dict[tuple[Colour, ...], dict[Colour, None]]
Join: TypeAlias = Callable[[Colour, Sequence[Bag]], Iterable[Values]]


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A transition, ready to fire."""

    transition: Transition
    priority: int
    variables: tuple[str, ...]
    joins: tuple[tuple[int, Join], ...]  # a place, and what a new token in it makes possible
    # When the token of the first input arrived, or None if not all inputs have their tokens.
    ready: Callable[[Values, Sequence[Bag]], int | None]
    # Takes and gives tokens, from a number of arrivals on; the new tokens with their places.
    fire: Callable[[Values, Sequence[Bag], int], tuple[tuple[int, Colour], ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    rules: tuple[Rule, ...]
    keys: tuple[tuple[tuple[int, ...], ...], ...]  # of each place: the indexes that joins use

    def bags(self) -> list[Bag]:
        return [Bag(keys) for keys in self.keys]


def compile_net(net: Net) -> Rules:
    places = {place.name: number for number, place in enumerate(net.places)}
    keys: list[list[tuple[int, ...]]] = [[] for _ in places]
    rules = tuple(_compile(transition, places, keys) for transition in net.transitions)
    return Rules(rules, tuple(map(tuple, keys)))


def _compile(
    transition: Transition, places: dict[str, int], keys: list[list[tuple[int, ...]]]
) -> Rule:
    variables = tuple(dict.fromkeys(transition.variables()))
    names = Names()
    source = [
        *_ready_function(transition, variables, places, names),
        *_fire_function(transition, variables, places, names),
    ]
    for number in range(len(transition.inputs)):
        source += _Joining(transition, places, keys, names).function(number, variables)
    scope = dict(names.values)
    exec("\n".join(source), scope)
    inputs = enumerate(transition.inputs)
    return Rule(
        transition,
        int(transition.priority),
        variables,
        tuple((places[arc.place], scope[f"join{n}"]) for n, arc in inputs),  # type: ignore[misc]
        scope["ready"],  # type: ignore[arg-type]
        scope["fire"],  # type: ignore[arg-type]
    )


def _ready_function(
    transition: Transition, variables: Sequence[str], places: dict[str, int], names: Names
) -> list[str]:
    lines = ["def ready(b, bags):", f"    {_tuple(variables)} = b"]
    tokens = [arc.term.python(names) for arc in transition.inputs]
    lines += [f"    i{number} = {token}" for number, token in enumerate(tokens)]
    for number, arc in enumerate(transition.inputs):
        # What this arc needs, and whatever others need of the same token.
        count = str(arc.count)
        for other, rival in enumerate(transition.inputs):
            if other != number and rival.place == arc.place:
                count += f" + {rival.count} * (i{other} == i{number})"
        present = f"bags[{places[arc.place]}].tokens.get(i{number}, 0)"
        lines.append(f"    if {present} < {count}: return None")
    first = places[transition.inputs[0].place]
    return [*lines, f"    return bags[{first}].born[i0]"]


def _fire_function(
    transition: Transition, variables: Sequence[str], places: dict[str, int], names: Names
) -> list[str]:
    """Tokens that are taken and given back unchanged stay where they are."""
    outputs = list(transition.outputs)
    lines = ["def fire(b, bags, now):", f"    {_tuple(variables)} = b"]
    for arc in transition.inputs:
        if arc in outputs:
            outputs.remove(arc)
        else:
            bag, token = f"bags[{places[arc.place]}]", arc.term.python(names)
            lines.append(f"    {bag}.remove({token}, {arc.count})")
    new = []
    for number, arc in enumerate(outputs):
        place = places[arc.place]
        lines.append(f"    o{number} = {arc.term.python(names)}")
        lines.append(f"    bags[{place}].add(o{number}, {arc.count}, now + {number + 1})")
        new.append(f"({place}, o{number}), ")
    return [*lines, f"    return ({''.join(new)})"]


def _tuple(variables: Sequence[str]) -> str:
    return f"({''.join(f'v_{name}, ' for name in variables)})"


class _Joining:
    """Writes the source of joins: nested loops, each over as few tokens as what is known allows."""

    def __init__(
        self,
        transition: Transition,
        places: dict[str, int],
        keys: list[list[tuple[int, ...]]],
        names: Names,
    ) -> None:
        self.transition = transition
        self.places = places
        self.keys = keys
        self.names = names
        self.bound: set[str] = set()
        self.lines: list[str] = []
        self.waiting: list[tuple[Term, str]] = []  # conditions whose variables are not known yet
        self.depth = 1
        self.locals = 0

    def function(self, first: int, variables: Sequence[str]) -> list[str]:
        self.lines = [f"def join{first}(token, bags):"]
        self.line("for _ in (0,):")  # so that `continue` leaves it
        self.depth += 1
        arcs = list(self.transition.inputs)
        self.match(arcs.pop(first).term, "token")
        while arcs:
            arc = max(arcs, key=self.known_parts)
            arcs.remove(arc)
            self.seek(arc)
        if self.transition.guard is not None:
            self.require(self.transition.guard.python(self.names))
        found = _tuple(variables)
        if self.depth > 2:
            self.line(f"yield {found}")
        else:  # one binding at most; a tuple costs less than a generator
            self.line(f"return ({found},)")
            self.lines.append("    return ()")
        return self.lines

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def require(self, condition: str) -> None:
        self.line(f"if not {condition}: continue")

    def fresh(self) -> str:
        self.locals += 1
        return f"t{self.locals}"

    def is_known(self, term: Term) -> bool:
        return self.bound.issuperset(term.variables())

    def known_parts(self, arc: Arc) -> float:
        """How much of an arc's token is known: all of it, so many parts, nothing."""
        if self.is_known(arc.term):
            return float("inf")
        return len(self.key_of(arc.term))

    def key_of(self, term: Term) -> tuple[int, ...]:
        parts = term.parts if isinstance(term, Product) else ()
        return tuple(i for i, part in enumerate(parts) if self.is_known(part))

    def seek(self, arc: Arc) -> None:
        place = self.places[arc.place]
        if self.is_known(arc.term):
            self.require(f"{arc.term.python(self.names)} in bags[{place}].tokens")
            return
        token = self.fresh()
        self.line(f"for {token} in {self.candidates(place, arc.term)}:")
        self.depth += 1
        self.match(arc.term, token, self.key_of(arc.term))

    def candidates(self, place: int, term: Term) -> str:
        """The tokens to try: a copy, because the net goes on while the join waits."""
        key = self.key_of(term)
        if not key:
            return f"tuple(bags[{place}].tokens)"
        assert isinstance(term, Product)
        if key not in self.keys[place]:
            self.keys[place].append(key)
        values = Product(tuple(term.parts[i] for i in key)).python(self.names)
        number = self.keys[place].index(key)
        return f"tuple(bags[{place}].indexes[{number}][1].get({values}, ()))"

    def match(self, term: Term, value: str, found_by: tuple[int, ...] = ()) -> None:
        """Binds the variables of a term so that it has a value, and requires the rest."""
        self.take_apart(term, value, found_by)
        for waiting in tuple(self.waiting):
            if self.is_known(waiting[0]):
                self.waiting.remove(waiting)
                self.require(f"{waiting[0].python(self.names)} == {waiting[1]}")

    def take_apart(self, term: Term, value: str, found_by: tuple[int, ...] = ()) -> None:
        if isinstance(term, Var) and term.name not in self.bound:
            self.bound.add(term.name)
            self.line(f"v_{term.name} = {value}")
        elif isinstance(term, Product) and term.parts:
            parts = [self.fresh() for _ in term.parts]
            self.line(f"{', '.join(parts)}, = {value}")
            for place, (part, name) in enumerate(zip(term.parts, parts, strict=True)):
                if place not in found_by:
                    self.take_apart(part, name)
        else:
            self.waiting.append((term, value))
