"""From a program to a specification.

A specification is the prelude (`cepheid.maude`) and a module with what belongs to the program: a
constructor for each event type, a constant for each statement with equations for its clauses, and a
rule for each statement, which lets it take an event, and another for its timers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.core.types import EventRef, EventType, lineage
from cepheid.errors import Diagnostic, ProgramError
from cepheid.formal.maude.clauses import Clauses
from cepheid.formal.maude.expressions import Beforehand, Translator, Unable
from cepheid.formal.maude.gaps import gap, gaps, unknown_kinds
from cepheid.formal.maude.names import Names, prelude
from cepheid.formal.maude.values import Layout, Reader, Term, event_of, value_term
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement

MODULE = "CEP-PROGRAM"
_ORDERED_AGENDA = "op __ : Agenda Agenda -> Agenda [ctor assoc id: nobody] ."
_OPEN_AGENDA = "op __ : Agenda Agenda -> Agenda [ctor assoc comm id: nobody] ."
_VARIABLES = """\
  var event : Event .  var tags : Binding .  var now : Int .  var isNew : Bool .
  var aggregates : Values .  var machine : Machine .  var agenda : Agenda .  var later : Later .
  var origins : Origins .  var inputs : Inputs ."""


_RULE = re.compile(r"^  (c?)rl \[[^\]]*\] :", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Specification:
    """A program for Maude, and how events get in and results out."""

    program: ResolvedProgram
    text: str  # of the program's own module
    constructors: Mapping[str, str]  # of the types
    layouts: Mapping[str, Layout]  # by constructor
    statements: Mapping[str, ResolvedStatement]  # by constant
    beforehand: tuple[Beforehand, ...]

    def source(self) -> str:
        """The whole text that Maude reads."""
        return "\n".join(self.parts())

    def parts(self, *, any_order: bool = False, by_rules: bool = True) -> tuple[str, str]:
        """The part that all programs share, and the program's own.

        `any_order` leaves the order of statements of one priority open; without `by_rules`,
        statements do their work by equations, so that a search sees no state between them.
        """
        shared = prelude()
        if any_order:
            shared = shared.replace(_ORDERED_AGENDA, _OPEN_AGENDA)
        if by_rules:
            return shared, self.text
        return _as_equations(shared), _as_equations(self.text)

    def takes(self, event: Event) -> bool:
        """Whether there is a term for an event; what no statement takes has none."""
        return event.type in self.constructors

    def event_term(self, event: Event) -> str:
        """An input event, with what was evaluated beforehand."""
        constructor = self.constructors[event.type]
        values = [event.values_.get(name) for name in self.layouts[constructor].attributes]
        own = lineage(event.type, self.program.types)
        values += [b.value(event) for b in self.beforehand if b.event_type in own]
        return f"{constructor}({', '.join([str(event.instant), *map(value_term, values)])})"

    def command(self, events: Sequence[Event], start: Instant, end: Instant) -> str:
        """What lets Maude run the program over its input."""
        inputs = [self.event_term(event) for event in events if self.takes(event)]
        listed = "\n  ".join([*inputs, f"until({end})"])
        return f"rewrite feed(initial({start}),\n  {listed}) .\n"

    def deriving(self, event_type: str) -> list[str]:
        """The constants of the statements that derive a type."""
        return [c for c, statement in self.statements.items() if statement.target == event_type]

    def rows(self, results: str) -> list[Event]:
        """The rows that a term stands for."""
        return [] if results == "noResult" else [self._row(r) for r in Reader(results).terms()]

    def _row(self, result: Term) -> Event:
        """`new` or `old`, the statement, and the event."""
        constant, term = result.arguments
        found = event_of(term, self.layouts)
        name, is_old = self.statements[constant.name].name, result.name == "old"
        return Event(found.type, found.instant, found.values_, 0, name, is_old=is_old)


def _as_equations(text: str) -> str:
    return _RULE.sub(r"  \1eq", text).replace("\n    => ", "\n    = ")


def _comment(text: str) -> str:
    """On one line, whatever names and literals hold."""
    return "*** " + " ".join(text.split())


def specify(program: ResolvedProgram) -> Specification:
    """The specification of a program; ProgramError names everything that cannot be said in Maude."""
    if unknown := unknown_kinds(program):
        raise ProgramError(*unknown)
    writer = _Writer(program)
    text = writer.module()
    problems = [*gaps(program), *writer.problems]
    if problems:
        raise ProgramError(*problems)
    constructors = {name: writer.names.of("", name) for name in writer.types}
    return Specification(
        program,
        text,
        constructors,
        {
            constructors[name]: Layout(name, tuple(a.name for a in type.attributes))
            for name, type in writer.types.items()
        },
        {writer.constant(s): s for s in program.statements},
        tuple(writer.translator.beforehand),
    )


class _Writer:
    """Writes the module of a program."""

    def __init__(self, program: ResolvedProgram) -> None:
        self.program = program
        self.names = Names()
        self.types = _types(program)
        derived = {s.target for s in program.statements}
        inputs = frozenset(name for name in program.types if name not in derived)
        self.translator = Translator(program.types, inputs, self.names)
        self.problems: list[Diagnostic] = []

    def module(self) -> str:
        statements = sorted(self.program.statements, key=lambda s: s.rank)
        clauses = ["\n".join(self.statement(s)) for s in statements]
        types = "\n".join(self.event_types())  # after the clauses, which may add attributes
        order = "\n".join(self.order(statements))
        head = "*** " + "-" * 93 + "\n*** The program."
        parts = (
            f"{head}\n\nmod {MODULE} is\n  including CEP-MACHINE .\n{_VARIABLES}",
            f"  *** Event types.\n{types}",
            f"  *** Who takes what, by priority and then in the order of the text.\n{order}",
            *clauses,
        )
        return "\n\n".join(parts) + "\nendm\n"

    def constant(self, statement: ResolvedStatement) -> str:
        return self.names.of("@", statement.name)

    def event_types(self) -> Iterator[str]:
        accessors: dict[str, list[str]] = {}
        for name, type in self.types.items():
            constructor, constant = self.names.of("", name), self.names.of("#", name)
            own = lineage(name, self.program.types)
            added = [b for b in self.translator.beforehand if b.event_type in own]
            attributes = [a.name for a in type.attributes] + [b.name for b in added]
            sorts = " ".join(["Int", *["Value"] * len(attributes)])
            variables = ", ".join(["now", *(f"V{n}:Value" for n in range(len(attributes)))])
            term = f"{constructor}({variables})"
            yield f"  op {constructor} : {sorts} -> Event [ctor] ."
            yield "    " + _comment(", ".join(["instant", *attributes]))
            yield from ("    " + _comment(f"evaluated beforehand: {b}") for b in added)
            yield f"  op {constant} : -> Type [ctor] ."
            yield f"  eq typeOf({term}) = {constant} ."
            yield f"  eq timeOf({term}) = now ."
            yield f"  eq dated({term}, T:Int) = {constructor}(T:Int{variables.removeprefix('now')}) ."
            for ancestor in sorted(type.ancestors & self.types.keys()):
                yield f"  eq {constant} isA {self.names.of('#', ancestor)} = true ."
            for place, attribute in enumerate(attributes):
                accessor = self.names.of(".", attribute)
                accessors.setdefault(accessor, []).append(f"({term} {accessor}) = V{place}:Value")
        for accessor, equations in accessors.items():
            yield f"  op _{accessor} : Value -> Value [prec 20] ."
            yield from (f"  eq {equation} ." for equation in equations)
            yield f"  eq (V:Value {accessor}) = null [owise] ."

    def order(self, statements: Sequence[ResolvedStatement]) -> Iterator[str]:
        for statement in statements:
            yield f"  op {self.constant(statement)} : -> Statement [ctor] ."
        soup = " & ".join(f"stmt({self.constant(s)}, 1, noTimer, noPart)" for s in statements)
        yield f"  eq statements = {soup or 'noStatement'} ."
        yield f"  eq everyone = {self.agenda(statements)} ."
        for name in self.types:
            takers = [s for s in statements if taken(s, name, self.program)]
            if takers:
                yield f"  eq takers({self.names.of('#', name)}) = {self.agenda(takers)} ."

    def agenda(self, statements: Iterable[ResolvedStatement]) -> str:
        term = "noLater"
        groups = groupby(statements, key=lambda s: s.tree.priority)
        for group in reversed([list(group) for _, group in groups]):
            term = f"(({' '.join(map(self.constant, group))}) ;; {term})"
        return term

    def statement(self, statement: ResolvedStatement) -> Iterator[str]:
        """The equations and the rules of a statement."""
        name = self.constant(statement)
        label = name.removeprefix("@")
        yield "  " + _comment(f"statement {statement.name}")
        clauses = Clauses(statement, name, self.program, self.names, self.translator)
        for part in clauses.parts():
            try:
                yield from part
            except Unable as unable:
                self.problems.append(gap(statement, f"'{unable}'", unable.expr.span))
        yield from _rule(
            label,
            f"{{ machine | take(event, origins, ({name} agenda), later) | inputs }}",
            f"{{ react({name}, event, origins, machine) | take(event, origins, agenda, later) | inputs }}",
        )
        yield from _rule(
            f"{label}-time",
            f"{{ machine | ring(({name} agenda), later) | inputs }}",
            f"{{ wake({name}, machine) | ring(agenda, later) | inputs }}",
        )


def _rule(label: str, before: str, after: str) -> Iterator[str]:
    yield f"  rl [{label}] :"
    yield f"    {before}"
    yield f"    => {after} ."


def taken(statement: ResolvedStatement, name: str, program: ResolvedProgram) -> list[str]:
    """The types of a statement that an event of a type counts as."""
    own = lineage(name, program.types)
    return [declared for declared in statement.inputs if declared in own]


def _types(program: ResolvedProgram) -> dict[str, EventType]:
    """The types that statements take or derive, their kinds, and what those hold."""
    used = {name for s in program.statements for name in (*s.inputs, s.target)}
    size = 0
    while len(used) > size:
        size = len(used)
        used |= {name for name in program.types if used & lineage(name, program.types)}
        used |= {above for name in used for above in program.types[name].ancestors}
        used |= {held for name in used for held in _held(program.types[name])}
    return {name: type for name, type in program.types.items() if name in used}


def _held(type: EventType) -> Iterator[str]:
    """The types of the events that an event holds."""
    for attribute in type.attributes:
        held = getattr(attribute.type, "element", attribute.type)
        if isinstance(held, EventRef):
            yield held.name
