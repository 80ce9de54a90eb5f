"""A question about one statement: over which events it is tried, and what is found."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from cepheid.absence.parts import Kind, Lifted, Part
from cepheid.absence.probe import Budget, BudgetSpent, Ran, Reached, looked_at, try_without
from cepheid.absence.question import Question
from cepheid.absence.recording import Recording
from cepheid.absence.search import Found, minimal_sets, one_set
from cepheid.absence.statements import lift, parts_of
from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.expr.tree import Expr
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.tree import PatternSource
from cepheid.semantics.statement import CompiledStatement

MOST_PARTS = 3  # in a set, of which all are tried
WORK = 400_000  # what a question may cost; see `probe.Budget`
LAST_EVENTS = 300  # of a pattern; without timers, its partial matches are as many
LAST_ROWS = 20_000  # of what keeps windows or counts, for whose values all events matter


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A statement, the question, and the events that it took up to then."""

    program: ResolvedProgram
    statement: ResolvedStatement
    question: Question
    start: Instant
    events: Sequence[Event]
    earlier: Sequence[Event] = ()  # events before, which are not looked at

    @property
    def is_cut(self) -> bool:
        return bool(self.earlier)

    @property
    def parts(self) -> tuple[Part, ...]:
        return parts_of(self.statement)

    def variant(self, lifted: Lifted) -> Hashable:
        left = lift(self.statement, lifted)
        return (
            left.pattern,
            left.event_type,
            left.condition,
            left.where,
            left.having,
            left.context,
            left.tree,
            Part(Kind.TAKEN) in lifted,
        )

    def attempt(self, lifted: Lifted, budget: Budget) -> Ran:
        shown = tuple(
            dict.fromkeys(
                node
                for part in lifted
                if part.kind is Kind.HAVING and isinstance(part.node, Expr)
                for node in looked_at(part.node)
            )
        )
        return try_without(
            self.program,
            lift(self.statement, lifted),
            lifted,
            self.question,
            self.start,
            self.events,
            budget,
            shown,
        )

    def reached(self, begin: Instant, work: int = WORK) -> Sequence[Reached]:
        """How far partial matches of the statement as it is came, from the beginning of the run on."""
        whole = replace(self, start=begin, events=[*self.earlier, *self.events], earlier=())
        for inquiry in (whole, self):
            with suppress(BudgetSpent):
                return inquiry.attempt(frozenset(), Budget(work)).reached
        return ()

    def search(self, most: int = MOST_PARTS, work: int = WORK) -> Found:
        budget = Budget(work)
        found = minimal_sets(
            self.parts, self.variant, lambda lifted: self.attempt(lifted, budget), most
        )
        if found.sets:
            return found
        each = max(work // (4 * len(self.parts)), 1)
        one = one_set(self.parts, lambda lifted: self.attempt(lifted, Budget(each)))
        return Found((one,), found.tried, is_complete=False)


def inquire(recording: Recording, statement: ResolvedStatement, question: Question) -> Inquiry:
    """The last events before the question, as many as needed for the statement to give no row."""
    plan = CompiledStatement(statement, statement.rank, recording.program.types)
    taken = recording.taken_by(plan, question)
    keeps = statement.tree.window is not None or statement.having is not None
    count = (
        LAST_ROWS if keeps or not isinstance(statement.tree.source, PatternSource) else LAST_EVENTS
    )
    while True:
        earlier, events = taken[:-count], taken[-count:]
        begin = events[0].instant if earlier else recording.start
        asked = replace(question, first=max(question.first, begin)) if earlier else question
        start = min(begin, asked.first)
        inquiry = Inquiry(recording.program, statement, asked, start, events, earlier)
        if not earlier or not _gives_row(inquiry):
            return inquiry
        count *= 4


def _gives_row(inquiry: Inquiry) -> bool:
    try:
        return bool(inquiry.attempt(frozenset(), Budget(WORK)).witnesses)
    except BudgetSpent:
        return False
