"""What was so instead of what a part of a statement asks for, at the match that it kept from being one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cepheid.absence.answer import Absence, Hindrance, Match
from cepheid.absence.inquiry import Inquiry
from cepheid.absence.parts import Kind, Part, Path
from cepheid.absence.patterns import at_path, atom_paths, tag_of
from cepheid.absence.probe import Ran, Reached, Started, Witness, enumerate_events, looked_at
from cepheid.absence.recording import Recording
from cepheid.core.event import Event, Value
from cepheid.core.time import Instant, Period, format_instant
from cepheid.core.types import lineage
from cepheid.errors import Span
from cepheid.expr.evaluate import Frame, compile_expr
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Aggregate, Column, Expr
from cepheid.io.encode import encode_value, to_json
from cepheid.pattern.algebra import Never, Occurrence, Taken, Timed, positive, walk_taken
from cepheid.pattern.tree import Atom, Pattern, Within, WithinOf, atoms
from cepheid.program.tree import LengthBatch

TextAt: TypeAlias = Callable[[Span | None, Expr | Pattern | None], str]
Told: TypeAlias = tuple[str, Sequence[Event]]  # the fact, and the events that it concerns
Follow: TypeAlias = Callable[[Atom, Instant, Instant], tuple[Absence, ...]]


def match_of(witness: Witness) -> Match:
    """The events of a match by their tags; without tags, by their types."""
    shown: dict[str, Event | tuple[Event, ...]] = {}
    for tag, bound in witness.binding.items():
        if not tag.startswith("|"):
            shown[tag] = bound if isinstance(bound, Event) else tuple(bound)
    named = (
        {id(e) for bound in witness.binding.values() for e in events_of(bound)} if shown else set()
    )
    rest = (
        [event for event in witness.causes if id(event) not in named] if named else witness.causes
    )
    return {**dict(enumerate_events(rest)), **shown}


def events_of(bound: Event | Sequence[Event]) -> Sequence[Event]:
    return [bound] if isinstance(bound, Event) else bound


@dataclass(frozen=True, slots=True)
class Evidence:
    """Tells hindrances of one witness."""

    inquiry: Inquiry
    recording: Recording
    ran: Ran
    under_way: Sequence[Reached]  # in the statement as it is
    witness: Witness
    text_at: TextAt
    follow: Follow

    def of(self, part: Part) -> Hindrance:
        fact, events = self._told(part)
        followed = self._followed(part) if part.kind is Kind.MISSING else ()
        return Hindrance(part.kind, self._text(part), fact, part.span, tuple(events), followed)

    def _text(self, part: Part) -> str:
        """What the text says; of a period, not what it is the period of."""
        match part.node:
            case Within(_, period) if part.kind is Kind.TIMER:
                return f"timer:within({period})"
            case Timed(_, period, kind):
                return f"[{kind} {period}]"
        return self.text_at(part.span, part.node)

    def _told(self, part: Part) -> Told:
        tell = _TOLD_BY.get(part.kind)
        return (_PLAIN[part.kind], ()) if tell is None else tell(self, part)

    # -- conditions --

    def _condition(self, part: Part) -> Told:
        assert isinstance(part.node, Expr)
        tag = self._tag(part)
        if part.kind is Kind.HAVING:
            event = next(iter(self.witness.causes), None)
            frame = Frame(event, tags=self.witness.binding, now=self.witness.instant)
            return self._values(part.node, frame, tag), self.witness.causes[:1]
        for frame, events in self._frames(part):
            if compile_expr(part.node)(frame) is not True:
                return self._values(part.node, frame, tag), events
        return "it held here, and kept a match before from coming about", ()

    def holds(self, part: Part) -> bool:
        """Whether a condition held at this match, in spite of standing in the way."""
        if part.kind not in (Kind.CONDITION, Kind.WHERE):
            return False
        condition = compile_expr(part.node)  # type: ignore[arg-type]
        return all(condition(frame) is True for frame, _ in self._frames(part))

    def _tag(self, part: Part) -> str | None:
        """What the event at hand is called in the text."""
        pattern = self.inquiry.statement.pattern
        if pattern is None or isinstance(pattern, Occurrence) or part.kind is not Kind.CONDITION:
            return None
        atom = at_path(pattern, part.path)
        return atom.tag if isinstance(atom, Atom) else None

    def _frames(self, part: Part) -> Iterator[tuple[Frame, Sequence[Event]]]:
        """What the condition may have been asked about."""
        now, tags = self.witness.instant, self.witness.binding
        statement = self.inquiry.statement
        if statement.pattern is None or isinstance(statement.pattern, Occurrence):
            types = self.recording.program.types
            for event in self.witness.causes:
                if not part.name or part.name in lineage(event.type, types):
                    yield Frame(event, now=event.instant), (event,)
        elif part.kind is Kind.CONDITION:
            atom = at_path(statement.pattern, part.path)
            assert isinstance(atom, Atom)
            for event in events_of(tags.get(tag_of(atom, part.path), ())):
                yield Frame(event, tags=tags, now=event.instant), (event,)
        else:
            yield Frame(tags=tags, now=now), ()

    def _values(self, condition: Expr, frame: Frame, tag: str | None) -> str:
        """The values that it looks at, each with its name."""
        found = [
            f"{print_expr(_called(e, tag))} = {_plain(self._value(e, frame))}"
            for e in looked_at(condition)
        ]
        return ", ".join(found) or "it is never true"

    def _value(self, expr: Expr, frame: Frame) -> Value:
        if expr in self.witness.values or isinstance(expr, Aggregate):
            return self.witness.values.get(expr)
        return compile_expr(expr)(frame)

    def _same(self, part: Part) -> Told:
        pattern = self.inquiry.statement.pattern
        assert isinstance(pattern, Occurrence)
        places = {
            (taken.atom.event_type, attribute)
            for taken in positive(pattern.form)
            for name, attribute in taken.parameters
            if name == part.name
        }
        types = self.recording.program.types
        told: dict[str, None] = {}
        for name, event in enumerate_events(self.witness.causes):
            for type, attribute in sorted(places):
                if type in lineage(event.type, types):
                    told[f"{_plain(event.values_.get(attribute))} in {name}"] = None
        return f"{part.name} is {', '.join(told)}", self.witness.causes

    # -- time --

    def _timer(self, part: Part) -> Told:
        node = part.node
        if isinstance(node, Timed):
            return self._length(node), self.witness.causes
        if not isinstance(node, Within | WithinOf):
            return "this time had not come", ()
        bound = [
            event
            for path, atom in atom_paths(node.child, (*part.path, 0))
            for event in events_of(self.witness.binding.get(tag_of(atom, path), ()))
        ]
        began = self._began(part, min((e.instant for e in bound), default=self.witness.instant))
        if began is None or isinstance(node, WithinOf):
            return "the time was over", bound
        due = node.period.after(began)
        late = [event for event in bound if event.instant >= due]
        over = f"{node.period} were over at {format_instant(due)}"
        if not late:
            return f"{over}; in time would have been before", ()
        by = Period(late[0].instant - due)
        name = next(n for n, event in self._named() if event is late[0])
        how = "at that instant" if by.is_zero else f"{by} later"
        return f"{over}; {name} came {how}", late

    def _began(self, part: Part, before: Instant) -> Instant | None:
        """When the guard began that would have had to last longer."""

        def is_it(started: Started) -> bool:
            is_of_match = all(self.witness.binding.get(t) is e for t, e in started.begin.items())
            is_in_time = started.instant <= before
            return is_in_time and is_of_match and started.guard.span == part.span

        return max((each.instant for each in self.ran.started if is_it(each)), default=None)

    def _length(self, window: Timed) -> str:
        length = Period(self.witness.length)
        if window.kind == "holdsFor":
            return f"the events are {length} apart, and must be {window.period} at least"
        return f"the events are {length} apart, and may be {window.period} at most"

    # -- other events --

    def _between(self, last: Instant | None = None) -> Iterator[Event]:
        """The events from the first of the match up to the row, or later, without its own."""
        own = set(map(id, self.witness.causes))
        first = min((e.instant for e in self.witness.causes), default=self.inquiry.question.first)
        until = self.witness.instant if last is None else max(last, self.witness.instant)
        for event in self.inquiry.events:
            if id(event) not in own and first <= event.instant <= until:
                yield event

    def _forbidden(self, part: Part) -> Told:
        absent = part.node
        assert isinstance(absent, Pattern)
        after = list(self._between(self.inquiry.question.last))
        if isinstance(absent, Never):
            found = [e for e in after if self._is_one_of(e, walk_taken(absent))]
        else:
            found = [e for e in after if self._fits_one_of(e, atoms(absent))]
        if not found:
            return "what must not come had come", ()
        told = [f"{event.type} came at {format_instant(event.instant)}" for event in found[:3]]
        return ", ".join(told) + (", ..." if len(found) > 3 else ""), found

    def _is_one_of(self, event: Event, forbidden: Iterable[Taken]) -> bool:
        types = self.recording.program.types
        return any(
            each.atom.event_type in lineage(event.type, types)
            and _holds(each.atom.condition, Frame(event, now=event.instant))
            for each in forbidden
        )

    def _fits_one_of(self, event: Event, forbidden: Iterable[Atom]) -> bool:
        types = self.recording.program.types
        frame = Frame(event, tags=self.witness.binding, now=event.instant)
        return any(
            atom.event_type in lineage(event.type, types)
            and _holds(
                atom.condition,
                _with_tags(
                    frame, {**self.witness.binding, **({atom.tag: event} if atom.tag else {})}
                ),
            )
            for atom in forbidden
        )

    def _once(self, part: Part) -> Told:
        """A first step waits for what it began; others were made by another event."""
        if part.path and part.path[-1] == 0:
            under_way = [each for each in self.under_way if each.ended is None]
            if under_way:
                events = [e for bound in under_way[0].binding.values() for e in events_of(bound)]
                when = format_instant(min(e.instant for e in events))
                return (
                    f"a match is under way since {when}, and no other begins before it is over",
                    events,
                )
        rows = self.recording.rows_before(self.inquiry.statement.name, self.inquiry.question)
        if not rows:
            return "it is made once, and had been", ()
        when = format_instant(rows[-1].instant)
        return f"it is made once, and had been; the last row came at {when}", rows[-1].causes

    def _taken(self, _: Part) -> Told:
        rows = self.recording.rows_before(self.inquiry.statement.name, self.inquiry.question)
        for event in self.witness.causes:
            owner = next((r for r in rows if any(c is event for c in r.causes)), None)
            if owner is not None:
                when = format_instant(owner.instant)
                at = format_instant(event.instant)
                return f"{event.type} at {at} belongs to the match at {when}", (event,)
        return "an event belongs to another partial match", self.witness.causes

    def _disturbed(self, part: Part) -> Told:
        found = list(self._between())
        if not found:
            return _PLAIN[part.kind], ()
        told = f"{found[0].type} came in between at {format_instant(found[0].instant)}"
        return told + (f", and {len(found) - 1} more" if len(found) > 1 else ""), found

    def _key(self, _: Part) -> Told:
        statement = self.inquiry.statement
        told: dict[str, None] = {}
        for name, event in self._named():
            for attribute in statement.key_of(event.type) or ():
                told[f"{name}.{attribute} = {_plain(event.values_.get(attribute))}"] = None
        return ", ".join(told) or "the key is another one", self.witness.causes

    def _named(self) -> Iterator[tuple[str, Event]]:
        for name, bound in match_of(self.witness).items():
            yield from ((name, event) for event in events_of(bound))

    # -- clauses --

    def _window(self, _: Part) -> Told:
        window = self.inquiry.statement.tree.window
        if isinstance(window, LengthBatch):
            return f"the batch was not full: it lets out {window.size} rows together", ()
        return "the row waits in the window, or counts with others", ()

    def _missing(self, part: Part) -> Told:
        node, asked = part.node, self.inquiry.question.event
        type = node.event_type if isinstance(node, Atom) else None
        type = node.atom.event_type if isinstance(node, Taken) else type
        type = type or self.inquiry.statement.event_type
        if asked is not None and type not in lineage(asked.type, self.recording.program.types):
            return f"no {type} came that fits; {asked.type} is none", ()
        return f"no {type} came that fits", ()

    def _followed(self, part: Part) -> tuple[Absence, ...]:
        """Why the event was not derived, in the time in which it would have fitted."""
        statement, question = self.inquiry.statement, self.inquiry.question
        if isinstance(statement.pattern, Occurrence):
            return ()
        if statement.pattern is None:
            return self.follow(Atom(statement.event_type or ""), question.first, question.last)
        atom = at_path(statement.pattern, part.path)
        assert isinstance(atom, Atom)
        before = [*self._instants(lambda path: path < part.path)]
        after = [*self._instants(lambda path: path > part.path)]
        last = min(after, default=question.last)
        first = self.inquiry.start if after else question.first
        first = max(before, default=first)
        return self.follow(atom, min(first, last), last)

    def _instants(self, is_meant: Callable[[Path], bool]) -> Iterator[Instant]:
        assert self.inquiry.statement.pattern is not None
        for path, atom in atom_paths(self.inquiry.statement.pattern):
            if is_meant(path):
                for event in events_of(self.witness.binding.get(tag_of(atom, path), ())):
                    yield event.instant


_TOLD_BY: Mapping[Kind, Callable[[Evidence, Part], Told]] = {
    Kind.CONDITION: Evidence._condition,
    Kind.WHERE: Evidence._condition,
    Kind.WHILE: Evidence._condition,
    Kind.HAVING: Evidence._condition,
    Kind.SAME: Evidence._same,
    Kind.TIMER: Evidence._timer,
    Kind.NOT: Evidence._forbidden,
    Kind.KEY: Evidence._key,
    Kind.ONCE: Evidence._once,
    Kind.TAKEN: Evidence._taken,
    Kind.NOISE: Evidence._disturbed,
    Kind.ONLY: Evidence._disturbed,
    Kind.WINDOW: Evidence._window,
    Kind.MISSING: Evidence._missing,
}


def _called(expr: Expr, tag: str | None) -> Expr:
    return replace(expr, tag=tag) if isinstance(expr, Column) and expr.tag is None else expr


def _with_tags(frame: Frame, tags: dict[str, Event | list[Event]]) -> Frame:
    return Frame(frame.event, tags=tags, now=frame.now)


def _holds(condition: Expr | None, frame: Frame) -> bool:
    return condition is None or compile_expr(condition)(frame) is True


def _plain(value: Value) -> str:
    return to_json(encode_value(value))


_PLAIN = {
    Kind.COUNT: "so many matches had been there before",
    Kind.DISTINCT: "a match with this key had been there before",
    Kind.NOISE: "an event that fits nowhere came in between",
    Kind.ONLY: "another partial match had begun",
    Kind.OUTPUT: "the row was not let out then",
    Kind.LIMIT: "other rows came before it",
    Kind.STREAM: "no row left, rows only came",
}
