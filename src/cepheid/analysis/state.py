"""State that grows for ever, and keys that are missing.

- A statement whose state *grows* (see `retention`) is a warning, unless what it waits for comes
  with every event that starts another wait: then only so many runs live as the pattern has steps.
- Where conditions on the attribute that holds the time leave a run no chance after some time, it is
  a note: no engine drops a run because of its conditions, but `timer:within` does, and the matches
  stay the same.
- `every (a=A -> b=B(b.ts - a.ts <= 5))` follows one match at a time. Where such a condition leaves it
  no chance any more, it waits for ever and never begins anew: a warning.
- A pattern that compares its events by an attribute, or a grouping, whose events no key splits, is
  a note with the context that would split them. That is another program, perhaps the one meant.

What is seen: what `retention`, `keys` and `logic` see. What is not seen: that events of a type stop
coming, that keys are few, how much memory a bounded state takes, what ends runs of very long sequences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cepheid.analysis.keys import split_of
from cepheid.analysis.lifetimes import waiting_runs
from cepheid.analysis.matches import Feeds, World, longest_run
from cepheid.analysis.plan import likely_context
from cepheid.analysis.retention import retention_of
from cepheid.analysis.solver import Formula, SymbolicEvent
from cepheid.analysis.traps import has_true_at_once
from cepheid.core.time import Period
from cepheid.core.types import lineage
from cepheid.errors import Diagnostic, note, warning
from cepheid.expr.tree import Expr
from cepheid.pattern.algebra import Occurrence
from cepheid.pattern.tree import Absent, AllOf, Atom, Every, FollowedBy, Pattern, atoms
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedStatement

_MOST_STEPS = 50  # of a sequence that are followed one by one


def find(graph: Graph) -> Iterator[Diagnostic]:
    feeds = Feeds(graph)
    for statement in graph.statements:
        grows = retention_of(statement).grows
        if (
            grows is not None
            and not _is_explained(statement)
            and not _replaces_runs(feeds, statement)
        ):
            yield _growing(feeds, statement, grows)
        yield from _stuck(feeds, statement)
        yield from _missing_key(graph, statement)


def _is_explained(statement: ResolvedStatement) -> bool:
    """Whether a `not` that is true at once makes it look so, of which `traps` tells."""
    pattern = statement.pattern
    is_form = pattern is None or isinstance(pattern, Occurrence)
    return not is_form and pattern is not None and has_true_at_once(pattern)


def _growing(feeds: Feeds, statement: ResolvedStatement, grows: str) -> Diagnostic:
    waits = isinstance(statement.pattern, FollowedBy) and waiting_runs(statement.pattern)
    longest = longest_run(feeds, statement) if waits == grows else None
    span = statement.tree.source.span or statement.tree.span
    if longest is not None:
        period = Period(longest)
        fact = (
            f"runs of '{statement.name}' are kept for ever, though by conditions on the time they can"
            f" complete for {period} only"
        )
        hint = f"`where timer:within({period})` around what follows their start drops them"
        return note("unbounded-state", fact, span, f"{hint}; the matches stay the same")
    fact = f"the state of '{statement.name}' grows without bound: {grows}"
    return warning("unbounded-state", fact, span)


def _stuck(feeds: Feeds, statement: ResolvedStatement) -> Iterator[Diagnostic]:
    """Only where nothing but the next event moves the pattern on: neither a guard nor `and not`."""
    steps = statement.pattern.child if isinstance(statement.pattern, Every) else None
    if not isinstance(steps, FollowedBy) or not all(isinstance(s, Atom) for s in steps.parts):
        return
    # What `where` refuses is a match all the same.
    longest = longest_run(feeds, replace(statement, where=None, having=None))
    if longest is not None:
        fact = (
            f"'{statement.name}' waits for ever once its time is up: it follows one match at a time,"
            f" which by conditions on the time can be complete for {Period(longest)} only"
        )
        hint = f"`every (... where timer:within({Period(longest)}))` begins anew after that"
        yield warning("stuck", fact, statement.tree.source.span or statement.tree.span, hint)


def _missing_key(graph: Graph, statement: ResolvedStatement) -> Iterator[Diagnostic]:
    split = split_of(statement, graph.program.types)
    context = likely_context(statement)
    if split.by is None and context is not None:
        fact = f"no key splits the events of '{statement.name}': {split.reason}"
        yield note("no-key", fact, statement.tree.source.span or statement.tree.span, context)


# Bounds that the pattern alone does not show.


def _replaces_runs(feeds: Feeds, statement: ResolvedStatement) -> bool:
    """Whether every event that starts a run moves on, or ends, each run that waits."""
    pattern = statement.pattern
    if not isinstance(pattern, FollowedBy):
        return False
    first, *rest = pattern.parts
    if not (isinstance(first, Every) and isinstance(first.child, Atom)):
        return False
    start = first.child
    taken = lineage(start.event_type, feeds.types)
    if len(rest) > _MOST_STEPS or not all(_is_one_step(part) for part in rest):
        return False
    if any(atom.event_type not in taken for part in rest for atom in atoms(part)):
        return False
    return _Replacing(World(feeds), start).all(rest)


def _is_one_step(part: Pattern) -> bool:
    """`b=B`, or `b=B and not C`."""
    sides = part.parts if isinstance(part, AllOf) else (part,)
    events = [side for side in sides if isinstance(side, Atom)]
    others = [side for side in sides if not isinstance(side, Atom)]
    are_absent = all(isinstance(s, Absent) and isinstance(s.child, Atom) for s in others)
    return len(events) == 1 and are_absent


class _Replacing:
    """Follows a run step by step and asks whether an event that starts another leaves it be."""

    def __init__(self, world: World, start: Atom) -> None:
        self.solver = world.solver
        self.start = start
        self.events: dict[str | None, SymbolicEvent] = {}
        self.held: list[Formula] = []
        self._take(start)

    def all(self, parts: list[Pattern]) -> bool:
        for part in parts:
            event = SymbolicEvent(self.solver.instant())
            starts = self._holds(self.start.condition, event)
            moves = [self._holds(atom.condition, event) for atom in atoms(part)]
            if self.solver.can_hold(
                [*self.held, starts, self.solver.z3.Not(self.solver.z3.Or(*moves))]
            ):
                return False
            self._take(next(a for a in atoms(part)))
        return True

    def _take(self, atom: Atom) -> None:
        event = SymbolicEvent(self.solver.instant())
        self.held.append(self._holds(atom.condition, event))
        if atom.tag is not None:
            self.events[atom.tag] = event

    def _holds(self, condition: Expr | None, event: SymbolicEvent) -> Formula:
        if condition is None:
            return self.solver.z3.BoolVal(val=True)
        return self.solver.holds(condition, {**self.events, None: event})
