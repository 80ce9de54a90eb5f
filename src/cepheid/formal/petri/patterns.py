"""From the source of a statement to the part of the net that finds its rows.

Each event of a pattern has a place where partial matches wait for it: `control` for the first one,
then `Ev_a1` for those that have a1. A token there has the number of the event that put it there,
and the events it has bound. `next_a1` takes it and the event at hand further, if the condition
holds and the event is a later one; the last such transition is `pattern_NAME`, which gives the row.
`every` puts a fresh token back where its part starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.formal.petri.inscriptions import EVENT, Holds, Row
from cepheid.formal.petri.net import INT, Arc, ProductOf, Transition
from cepheid.formal.petri.sheet import Sheet
from cepheid.formal.petri.terms import Apply, Const, Term, Var, product
from cepheid.formal.petri.windows import Effect, results_of
from cepheid.pattern import tree
from cepheid.program.resolved import ResolvedStatement

Tags: TypeAlias = tuple[tuple[str, Var], ...]
OnTrue: TypeAlias = Callable[[], Effect]
_I, _T, _E, _ARMED = Var("i"), Var("t"), Var("e"), Var("armed")


def translate_source(sheet: Sheet, statement: ResolvedStatement) -> None:
    """Draws a whole statement."""
    if statement.pattern is not None:
        pattern = statement.pattern
        row = Row(_T, None, _tags(pattern))
    else:  # a stream is a pattern that takes every event, and calls none by a name
        assert statement.event_type is not None
        pattern = tree.Every(tree.Atom(statement.event_type, None, statement.condition))
        row = Row(_T, _E)
    drawing = _Drawing(sheet, statement, {})
    drawing.draw(pattern, (), lambda: results_of(sheet, statement, row), starts_runs=False)
    sheet.tokens[drawing.start(pattern, (), Const(0)).place] = [(0,)]


def _tags(pattern: tree.Pattern) -> Tags:
    tags = dict.fromkeys(a.tag for a in tree.atoms(pattern) if a.tag is not None)
    return tuple((tag, _variable(tag)) for tag in tags)


def _variable(tag: str) -> Var:
    """The variable for the event that a tag binds; the net has a few of its own."""
    name = tag if tag.isidentifier() else "".join(c if c.isalnum() else "_" for c in f"tag_{tag}")
    return Var(f"{name}_" if name in _OWN else name)


_OWN = {"n", "t", "e", "i", "q", "k", "c", "armed", "type", "entered", "end", "time_interval"}


@dataclass(slots=True)
class _Drawing:
    sheet: Sheet
    statement: ResolvedStatement
    waits: dict[int, str]  # where each event of the pattern is waited for

    def draw(
        self, pattern: tree.Pattern, bound: Tags, on_true: OnTrue, *, starts_runs: bool
    ) -> None:
        """Draws a pattern that is started with some tags bound."""
        if isinstance(pattern, tree.Every):
            child = pattern.child
            is_first = isinstance(child, tree.Atom) and not bound
            again = Effect(outputs=(self.start(child, bound, _I),))
            self.draw(child, bound, lambda: again + on_true(), starts_runs=is_first)
        elif isinstance(pattern, tree.FollowedBy):
            self.draw_chain(pattern.parts, bound, on_true)
        else:
            assert isinstance(pattern, tree.Atom)
            self.draw_atom(pattern, bound, on_true, starts_runs=starts_runs)

    def draw_chain(self, parts: tuple[tree.Pattern, ...], bound: Tags, on_true: OnTrue) -> None:
        first, *rest = parts
        if not rest:
            self.draw(first, bound, on_true, starts_runs=False)
            return
        after = bound + _tags(first)
        next_one = Effect(outputs=(self.start(rest[0], after, _I),))
        self.draw(first, bound, lambda: next_one, starts_runs=False)
        self.draw_chain(tuple(rest), after, on_true)

    def start(self, pattern: tree.Pattern, bound: Tags, taken: Term) -> Arc:
        """The arc that starts a pattern: to the place of its first event."""
        first = next(tree.atoms(pattern))
        return Arc(self.wait(first, bound), product(taken, *(variable for _, variable in bound)))

    def wait(self, atom: tree.Atom, bound: Tags) -> str:
        """The place where partial matches wait for an event."""
        if id(atom) not in self.waits:
            name = f"Ev_{bound[-1][0]}" if bound else "control"
            name = f"{self.statement.name}.{name}"
            if name in self.waits.values():
                name += f"_{len(self.waits)}"
            colours = ProductOf((INT, *(EVENT for _ in bound)))
            self.waits[id(atom)] = self.sheet.place(name, colours)
        return self.waits[id(atom)]

    def draw_atom(
        self, atom: tree.Atom, bound: Tags, on_true: OnTrue, *, starts_runs: bool
    ) -> None:
        waiting = self.start(atom, bound, _ARMED)
        effect = on_true()
        event = Var("e") if atom.tag is None else _variable(atom.tag)
        condition: Term = Apply("<", _ARMED, _I)
        if atom.condition is not None:
            condition = Apply("andalso", condition, Holds(atom.condition, Row(_T, event, bound)))
        types = self.sheet.counted_as(atom.event_type)
        level = self.sheet.level(self.statement, starts_runs=starts_runs)
        for name in types:
            taken = Arc("Ev", product(_I, Const(name), _T, event))
            title = effect.title or f"{self.statement.name}.next_{atom.tag or atom.event_type}"
            self.sheet.add(
                Transition(
                    title if len(types) == 1 else f"{title} {name}",
                    (waiting, taken, *effect.inputs),
                    (taken, *effect.outputs),
                    condition,
                    level,
                )
            )
