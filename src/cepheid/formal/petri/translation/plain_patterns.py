"""Patterns of events, `every`, `->` and `timer:within`, as the paper draws them.

Each event of a pattern has a place where partial matches wait for it: `control` for the first one,
then `Ev_a1` for those that have a1. A token there has the number of the event that put it there,
and the events it has bound. `next_a1` takes it and the event at hand further, if the condition
holds and the event is a later one; the last such transition is `pattern_NAME`, which gives the row.
`every` puts a fresh token back where its part starts. Inside of `timer:within` tokens also have the
instant of its end, at which `... within` takes them away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cepheid.formal.petri.nets.net import INT, Arc, Priority, Transition
from cepheid.formal.petri.nets.terms import Apply, Const, Term, Var, product
from cepheid.formal.petri.translation.inscriptions import EVENT, Holds, Row
from cepheid.formal.petri.translation.net_builder import NOTHING, Effect, NetBuilder, since
from cepheid.pattern import tree
from cepheid.program.resolved import ResolvedStatement

Tags: TypeAlias = tuple[tuple[str, Var], ...]
OnTrue: TypeAlias = Callable[[], Effect]
OnFail: TypeAlias = Callable[[], Effect]
_PLAIN = (tree.Atom, tree.Every, tree.FollowedBy, tree.Within)
_I, _T, _E, _ARMED = Var("i"), Var("t"), Var("e"), Var("armed")
_TAKEN = Arc("Ev", product(_I, Var("type"), Var("since"), _E))


@dataclass(frozen=True, slots=True)
class Scope:
    """What a partial match has when it comes to some part of a pattern."""

    tags: Tags = ()
    ends: tuple[OnFail, ...] = ()  # of each `timer:within` around it: what its end brings

    @property
    def dues(self) -> tuple[Var, ...]:
        return tuple(Var(f"due{number}") for number, _ in enumerate(self.ends))


def draw_pattern(
    builder: NetBuilder, statement: ResolvedStatement, pattern: tree.Pattern, on_true: OnTrue
) -> None:
    """Draws a pattern of events, `every`, `->` and `timer:within`."""
    drawing = _Drawing(builder, statement, {})
    drawing.draw(pattern, Scope(), on_true, Effect)
    first, periods = first_event(pattern)
    builder.tokens[drawing.waits[id(first)]] = [(0, *map(since, periods)) if periods else 0]


def draw_stream(
    builder: NetBuilder,
    statement: ResolvedStatement,
    atom: tree.Atom,
    found: Callable[[str], Effect],
) -> None:
    """Draws what takes every event of a stream; what it finds depends on the type of the event."""
    drawing = _Drawing(builder, statement, {})
    again = Effect(outputs=(drawing.start(atom, Scope()),))
    drawing.draw_atom(atom, Scope(), lambda: again, starts_runs=True, of_type=found)
    builder.tokens[drawing.waits[id(atom)]] = [0]


def is_plain(pattern: tree.Pattern) -> bool:
    """Whether a pattern can be drawn so: none of its parts ends another one."""
    return all(isinstance(p, _PLAIN) for p in tree.walk(pattern)) and _ends_well(pattern)


def _ends_well(pattern: tree.Pattern, *, is_repeated: bool = False) -> bool:
    """Under `every`, the end of many partial matches is one failure, which tokens do not know."""
    if isinstance(pattern, tree.Within):
        if pattern.period.is_zero or pattern.period.months or pattern.most is not None:
            return False
        if is_repeated and any(isinstance(p, tree.Every) for p in tree.walk(pattern)):
            return False
    is_repeated = is_repeated or isinstance(pattern, tree.Every)
    return all(_ends_well(child, is_repeated=is_repeated) for child in tree.children(pattern))


def first_event(pattern: tree.Pattern) -> tuple[tree.Atom, tuple[int, ...]]:
    """What a pattern waits for when it starts, and the periods of every `timer:within` around it."""
    if isinstance(pattern, tree.Atom):
        return pattern, ()
    first, periods = first_event(next(tree.children(pattern)))
    own = (pattern.period.microseconds,) if isinstance(pattern, tree.Within) else ()
    return first, own + periods


def finishes(pattern: tree.Pattern) -> bool:
    """Whether nothing of a pattern is left once it was true."""
    return not any(isinstance(part, tree.Every) for part in tree.walk(pattern))


def tags_of(pattern: tree.Pattern) -> Tags:
    tags = dict.fromkeys(a.tag for a in tree.atoms(pattern) if a.tag is not None)
    return tuple((tag, _variable(tag)) for tag in tags)


def _variable(tag: str) -> Var:
    """The variable for the event that a tag binds; those of the net itself end otherwise."""
    name = tag if tag.isidentifier() else "".join(c if c.isalnum() else "_" for c in f"tag_{tag}")
    return Var(f"{name}_" if name in _OWN or name.startswith(("due", "old_")) else name)


_OWN = {"n", "t", "e", "i", "q", "k", "c", "d", "armed", "type", "entered", "since", "was"}


@dataclass(slots=True)
class _Drawing:
    builder: NetBuilder
    statement: ResolvedStatement
    waits: dict[int, str]  # where each event of the pattern is waited for

    def draw(self, pattern: tree.Pattern, scope: Scope, on_true: OnTrue, on_fail: OnFail) -> None:
        """Draws a pattern, what its truth brings, and what its failure brings."""
        if isinstance(pattern, tree.Every):
            self.draw_every(pattern.child, scope, on_true)
        elif isinstance(pattern, tree.FollowedBy):
            self.draw_chain(pattern.parts, scope, on_true, on_fail)
        elif isinstance(pattern, tree.Within):
            inside = replace(scope, ends=(*scope.ends, on_fail))
            self.draw(pattern.child, inside, on_true, on_fail)
        else:
            assert isinstance(pattern, tree.Atom)
            self.draw_atom(pattern, scope, on_true)

    def draw_every(self, child: tree.Pattern, scope: Scope, on_true: OnTrue) -> None:
        again = Effect(outputs=(self.start(child, scope),))
        if isinstance(child, tree.Atom):
            starts_runs = not scope.tags
            self.draw_atom(child, scope, lambda: again + on_true(), starts_runs=starts_runs)
        else:
            self.draw(child, scope, lambda: again + on_true(), lambda: again)

    def draw_chain(
        self, parts: tuple[tree.Pattern, ...], scope: Scope, on_true: OnTrue, on_fail: OnFail
    ) -> None:
        first, *rest = parts
        if not rest:
            self.draw(first, scope, on_true, on_fail)
            return
        after = replace(scope, tags=scope.tags + tags_of(first))
        next_one = Effect(outputs=(self.start(rest[0], after),))
        self.draw(first, scope, lambda: next_one, on_fail)
        # A part that goes on keeps the chain alive, whatever fails behind it.
        self.draw_chain(tuple(rest), after, on_true, on_fail if finishes(first) else Effect)

    def start(self, pattern: tree.Pattern, scope: Scope) -> Arc:
        """The arc that starts a pattern: to the place of its first event."""
        first, periods = first_event(pattern)
        dues = [*scope.dues, *(Apply("+", _T, Const(period)) for period in periods)]
        tags = (variable for _, variable in scope.tags)
        return Arc(self.wait(first, scope.tags, len(dues)), product(_I, *dues, *tags))

    def wait(self, atom: tree.Atom, bound: Tags, dues: int) -> str:
        """The place where partial matches wait for an event."""
        if id(atom) not in self.waits:
            name = f"Ev_{bound[-1][0]}" if bound else "control"
            name = f"{self.statement.name}.{name}"
            if name in self.waits.values():
                name += f"_{len(self.waits)}"
            colours = (INT, *(INT for _ in range(dues)), *(EVENT for _ in bound))
            self.waits[id(atom)] = self.builder.place(name, *colours)
        return self.waits[id(atom)]

    def waiting(self, atom: tree.Atom, scope: Scope, dues: Sequence[Var]) -> Arc:
        """A partial match that waits for an event."""
        tags = (variable for _, variable in scope.tags)
        return Arc(self.wait(atom, scope.tags, len(dues)), product(_ARMED, *dues, *tags))

    def draw_atom(
        self,
        atom: tree.Atom,
        scope: Scope,
        on_true: OnTrue,
        *,
        starts_runs: bool = False,
        of_type: Callable[[str], Effect] = lambda _: NOTHING,
    ) -> None:
        waiting = self.waiting(atom, scope, scope.dues)
        effect = on_true()
        event = _E if atom.tag is None else _variable(atom.tag)
        condition: Term = Apply("<", _ARMED, _I)
        if atom.condition is not None:
            holds = Holds(atom.condition, Row(_T, event, scope.tags))
            condition = Apply("andalso", condition, holds)
        own = f"{self.statement.name}.next_{atom.tag or atom.event_type}"
        title = self.builder.unused(effect.title or own)
        types = self.builder.counted_as(atom.event_type)
        for name in types:
            taken = Arc("Ev", product(_I, Const(name), _T, event))
            all_of_it = effect + of_type(name)
            self.builder.add(
                Transition(
                    title if len(types) == 1 else f"{title} {name}",
                    (waiting, taken, *all_of_it.inputs),
                    (taken, *all_of_it.outputs),
                    condition,
                    self.builder.level(self.statement, starts_runs=starts_runs),
                )
            )
        for number, _ in enumerate(scope.ends):
            self.draw_end(atom, scope, number, title)

    def draw_end(self, atom: tree.Atom, scope: Scope, number: int, title: str) -> None:
        """The end of a `timer:within` takes what waits inside; that of an outer one goes first."""
        dues = scope.dues
        waiting = self.waiting(atom, scope, (*dues[:number], _T, *dues[number + 1 :]))
        guard: Term | None = None
        for outer in dues[:number]:
            later = Apply(">", outer, _T)
            guard = later if guard is None else Apply("andalso", guard, later)
        effect = scope.ends[number]()
        unchanged = (Arc("time", _T), _TAKEN)
        self.builder.add(
            Transition(
                f"{title} within {number + 1}" if number else f"{title} within",
                (waiting, *unchanged, *effect.inputs),
                (*unchanged, *effect.outputs),
                guard,
                Priority.P_HIGH,
            )
        )
