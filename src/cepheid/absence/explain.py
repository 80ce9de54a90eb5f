"""From a question to its answer: the rows, or what stood in the way of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheid.absence.answer import Absence, Match, Obstacle, PartialMatch
from cepheid.absence.evidence import Evidence, TextAt, events_of, match_of
from cepheid.absence.inquiry import MOST_PARTS, WORK, Inquiry, inquire
from cepheid.absence.parts import Kind, Lifted
from cepheid.absence.probe import Ran, Reached, Witness, enumerate_events
from cepheid.absence.question import Question
from cepheid.absence.recording import Recording
from cepheid.absence.search import weight
from cepheid.core.event import Event
from cepheid.core.time import Instant, format_instant
from cepheid.core.types import lineage
from cepheid.pattern.tree import Atom
from cepheid.program.resolved import ResolvedStatement

MOST_FOLLOWED = 8  # statements that are asked in turn
MOST_LEVELS = 4  # of statements that derive for statements
MOST_WITNESSES = 1000  # among which the closest is looked for
MOST_SHOWN = 12  # partial matches, the last ones


@dataclass(slots=True)
class Explainer:
    """Answers questions about the statements of one recorded run."""

    recording: Recording
    text_at: TextAt
    most: int = MOST_PARTS
    known: dict[tuple[str, Instant, Instant], Absence] = field(default_factory=dict)
    left_out: bool = False  # whether a derived event was not followed, for want of room

    def explain(self, statement: ResolvedStatement, question: Question) -> Absence:
        return self._explain(statement, question, (), WORK)

    def _explain(
        self,
        statement: ResolvedStatement,
        question: Question,
        path: tuple[str, ...],
        work: int,
    ) -> Absence:
        asked = {"asked": str(question), "first": question.first, "last": question.last}
        rows = tuple(self.recording.rows_of(statement.name, question))
        if rows:
            return Absence(statement.name, **asked, rows=rows)  # type: ignore[arg-type]
        inquiry = inquire(self.recording, statement, question)
        found = inquiry.search(self.most, work)
        reached = inquiry.reached(self.recording.start)
        self.left_out = False
        obstacles = [
            self._obstacle(inquiry, lifted, ran, reached, (*path, statement.name), work)
            for lifted, ran in sorted(found.sets, key=_nearness)
        ]
        return Absence(
            statement.name,
            **asked,  # type: ignore[arg-type]
            obstacles=tuple(obstacles),
            reached=tuple(map(self._partial_match, reached[-MOST_SHOWN:])),
            limits=tuple(self._limits(inquiry, found.tried, found.is_complete)),
        )

    def _limits(self, inquiry: Inquiry, tried: int, is_complete: bool) -> list[str]:
        told = []
        if inquiry.is_cut:
            told.append(
                f"only the last {len(inquiry.events):,} events were looked at,"
                f" from {format_instant(inquiry.events[0].instant)} on"
            )
        if not is_complete:
            told.append(f"sets of more than {max(tried, 0)} parts were not all tried")
        if self.left_out:
            told.append("some events that are derived were not followed")
        return told

    def _obstacle(
        self,
        inquiry: Inquiry,
        lifted: Lifted,
        ran: Ran,
        reached: Sequence[Reached],
        path: tuple[str, ...],
        work: int,
    ) -> Obstacle:
        def follow(atom: Atom, first: Instant, last: Instant) -> tuple[Absence, ...]:
            return self._follow(atom.event_type, first, last, path, work)

        def evidence_of(witness: Witness) -> Evidence:
            return Evidence(inquiry, self.recording, ran, reached, witness, self.text_at, follow)

        def farness(evidence: Evidence) -> tuple[int, Instant, Instant]:
            held = sum(map(evidence.holds, lifted))
            return held, evidence.witness.length, -evidence.witness.instant

        evidence = min(map(evidence_of, ran.witnesses[:MOST_WITNESSES]), key=farness)
        hindrances = tuple(evidence.of(part) for part in inquiry.parts if part in lifted)
        witness = evidence.witness
        return Obstacle(hindrances, witness.instant, match_of(witness), len(ran.witnesses))

    def _follow(
        self, type: str, first: Instant, last: Instant, path: tuple[str, ...], work: int
    ) -> tuple[Absence, ...]:
        """Why each statement that derives such events gave none."""
        program = self.recording.program
        found: list[Absence] = []
        for statement in program.statements:
            if type not in lineage(statement.target, program.types) or statement.name in path:
                continue
            key = statement.name, first, last
            if key not in self.known:
                if len(path) > MOST_LEVELS or len(self.known) >= MOST_FOLLOWED:
                    self.left_out = True
                    continue
                self.known[key] = self._explain(statement, Question(first, last), path, work // 4)
            found.append(self.known[key])
        return tuple(found)

    def _partial_match(self, reached: Reached) -> PartialMatch:
        awaits = reached.awaits
        text = None if awaits is None else self.text_at(awaits.span, awaits)
        return PartialMatch(_shown(reached), text, reached.ended)


def _nearness(found: tuple[Lifted, Ran]) -> tuple[int, int, int, Instant]:
    """What asks for no event that did not come goes first; then the fewest parts; of as many, what is
    least to ask for; then the shortest match."""
    lifted, ran = found
    missing = sum(part.kind is Kind.MISSING for part in lifted)
    length = min(witness.length for witness in ran.witnesses)
    return missing, len(lifted), sum(map(weight, lifted)), length


def _shown(reached: Reached) -> Match:
    """Its events by their tags, those without by their types."""
    told = {tag: bound for tag, bound in reached.binding.items() if not tag.startswith("|")}
    others = [e for tag, b in reached.binding.items() if tag not in told for e in events_of(b)]
    shown = {t: b if isinstance(b, Event) else tuple(b) for t, b in told.items()}
    return {**dict(enumerate_events(others)), **shown}
