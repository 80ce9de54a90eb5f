"""Where a run is to stop.

A breakpoint on a *type* stops when an event of it, or of a type that inherits from it, happens: before any
statement takes it, or, where none does, when it is derived. One on a *statement* stops when it gives a
row. Both may ask something of the event or row. One on an *age* stops where a partial match, of one
statement or of any, gets as old as that: at the instant when it does, or if nothing happens then, where
it does before anything else happens.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from cepheid.core.event import Event
from cepheid.core.time import Instant, Period
from cepheid.core.types import EventRef, lineage
from cepheid.core.values import shown
from cepheid.errors import Diagnostic, ProgramError, Severity, UsageError, error, suggest
from cepheid.expr.evaluate import Frame, compile_condition
from cepheid.expr.scope import Scope
from cepheid.expr.tree import Expr
from cepheid.expr.typing import resolve_condition
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import expression
from cepheid.lang.common.lexer import Kind, tokenize
from cepheid.program.functions import bound
from cepheid.program.resolved import ResolvedProgram
from cepheid.semantics.inspection.machine import begun
from cepheid.semantics.machine import Machine
from cepheid.semantics.stepping import Step

PLACE = "<condition>"  # the file of findings about one


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A number to call it by, and what it stops at."""

    number: int
    statement: str | None = None
    type: str | None = None
    where: str | None = None
    age: int | None = None  # microseconds
    accepts: Callable[[Event], bool] = field(default=lambda _: True, repr=False, compare=False)

    def stops(self, machine: Machine, step: Step, before: Instant, coming: Instant | None) -> bool:
        """Whether it stops after a step; `before` is what the clock said before that, `coming` what it
        will say after the next one."""
        if self.age is not None:
            return self._is_reached(machine, before, coming)
        if self.type is not None:
            return any(map(self.accepts, self._happening(machine, step)))
        return any(row.statement == self.statement and self.accepts(row) for row in step.rows)

    def _happening(self, machine: Machine, step: Step) -> list[Event]:
        """The events of the type that happen with a step."""
        types = machine.program.types
        untaken = (row for row in step.rows if not machine.consumers.get(row.type))
        events = [row for row in untaken if not (row.is_old or row.is_timeout)]
        if step.event is not None and step.kind != "statement":
            events.append(step.event)
        return [event for event in events if self.type in lineage(event.type, types)]

    def _is_reached(self, machine: Machine, before: Instant, coming: Instant | None) -> bool:
        """Whether a partial match gets that old now, or before the next step; it does so once."""
        assert self.age is not None
        clock = machine.clock
        if before == clock and coming in (None, clock):
            return False  # no time passes
        reached = (begin + self.age for begin in begun(machine, self.statement))
        until = clock if coming is None else coming
        return any((at == clock > before) or clock < at < until for at in reached)

    def to_json(self) -> dict[str, object]:
        names = ("statement", "type", "where")
        found: dict[str, object] = {name: getattr(self, name) for name in names}
        age = None if self.age is None else str(Period(self.age))
        told = {name: value for name, value in {**found, "age": age}.items() if value is not None}
        return {"number": self.number, **told}

    def __str__(self) -> str:
        shown = [f"{name} {value}" for name, value in self.to_json().items() if name != "number"]
        return f"{self.number}: {', '.join(shown)}"


def make_breakpoint(
    program: ResolvedProgram,
    number: int,
    *,
    statement: str | None = None,
    type: str | None = None,
    where: object = None,
    age: int | None = None,
) -> Breakpoint:
    """UsageError where that says nothing, or names what does not exist; ProgramError for a condition."""
    targets = {each.name: each.target for each in program.statements}
    _known(statement, targets, "statement")
    _known(type, program.types, "event type")
    if type is not None and (statement is not None or age is not None):
        _refuse("a breakpoint is on a type, a statement or an age", "set two of them")
    if statement is None and type is None and age is None:
        _refuse("a breakpoint needs a statement, a type or an age", "type='Crash'")
    if where is not None and age is not None:
        _refuse("a breakpoint on an age has no condition", "leave out where")
    if where is None:
        return Breakpoint(number, statement, type, None, age)
    if not isinstance(where, str):
        _refuse(f"a condition is a text, not {shown(where)}", "where='v > 5'")
    about = type if type is not None else targets[statement or ""]
    return Breakpoint(number, statement, type, where, age, _condition(where, about, program))


def _known(name: object, known: Collection[str], what: str) -> None:
    if name is not None and not (isinstance(name, str) and name in known):
        hint = suggest(str(name), known, f"{what}s")
        raise UsageError(error("usage", f"no {what} {name!r}", hint=hint))


def _refuse(fact: str, hint: str) -> NoReturn:
    raise UsageError(error("usage", fact, hint=hint))


def _condition(text: str, type: str, program: ResolvedProgram) -> Callable[[Event], bool]:
    """Whether an event satisfies a condition, as in `Type(condition)`; ProgramError where it is none."""
    try:
        holds = compile_condition(_resolved(_parsed(text), type, program))
    except ProgramError as problem:
        problem.sources = {PLACE: text}
        raise
    return lambda event: holds(Frame(event, now=event.instant))


def _parsed(text: str) -> Expr:
    tokens = tokenize(text, PLACE)
    cursor = Cursor(tokens.tokens)
    _refuse_all(tokens.problems)
    found = expression(cursor)
    if cursor.token.kind is not Kind.END:
        fact = f"'{cursor.token.text}' comes after the condition"
        raise ProgramError(error("syntax", fact, cursor.token.span))
    _refuse_all(cursor.problems)
    return found


def _resolved(condition: Expr, type: str, program: ResolvedProgram) -> Expr:
    functions = {function.name: function for function in program.tree.functions}
    scope = Scope(
        types=program.types,
        tags={},
        current=EventRef(type),
        current_names=frozenset({type}),
        no_aggregates="in a breakpoint",
    )
    problems: list[Diagnostic] = []
    found = resolve_condition(bound(condition, functions), scope, problems)
    _refuse_all(problems)
    return found


def _refuse_all(problems: Sequence[Diagnostic]) -> None:
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if errors:
        raise ProgramError(*errors)
