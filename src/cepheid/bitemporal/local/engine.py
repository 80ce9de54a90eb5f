"""Rounds that touch what a change can reach, and what its time has come for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from cepheid.analysis.lifespans import spans_of
from cepheid.bitemporal.derivation import asked_in, view_of
from cepheid.bitemporal.detections import Detection, Key, by_class
from cepheid.bitemporal.local.agenda import Agenda
from cepheid.bitemporal.local.maintenance import Maintenance, maintenance_of
from cepheid.bitemporal.local.store import ClassStore, Delta, Kept, Marks
from cepheid.bitemporal.outcome import Firing
from cepheid.bitemporal.repository import Known, Refusal, Row, View
from cepheid.bitemporal.request import RoundsRequest
from cepheid.bitemporal.rounds import Number
from cepheid.bitemporal.statements import Answer, Pair, Statements, is_kept
from cepheid.bitemporal.tables import RowReader
from cepheid.core.time import Instant
from cepheid.program.classes import ComplexClass
from cepheid.program.resolved import ResolvedClass
from cepheid.sql.sqlite import connect

MEMORY = ":memory:"


class Notes(Protocol):
    """Who listens to rounds; `bitemporal.recorder` is one."""

    def see(self, number: Number, name: str, pair: Pair) -> None: ...
    def know(self, number: Number, name: str, key: Key, row: Row) -> None: ...
    def close(self, number: Number, name: str, key: Key) -> None: ...
    def set(self, number: Number, name: str, key: Key) -> None: ...
    def unset(self, number: Number, name: str, key: Key) -> None: ...


@dataclass(frozen=True, slots=True)
class _Class:
    """A class at work."""

    resolved: ResolvedClass
    store: ClassStore
    maintenance: Maintenance | None  # of complex classes
    statements: Statements
    agenda: Agenda
    reader: RowReader

    @property
    def name(self) -> str:
        return self.resolved.declared.name


_Changed = Callable[["_Class"], Delta]


class LocalRounds:
    """A program in rounds, one after the other; those in which nothing can happen may be left out."""

    def __init__(
        self, request: RoundsRequest, notes: Notes | None = None, database: str = MEMORY
    ) -> None:
        self.rounds = request.rounds  # those of a stream are set as it goes on
        self._admission = request.admission()
        self._notes = notes
        self._connection = connect(database)
        self._is_window = request.is_window
        freezing = {name: spans.freezing for name, spans in spans_of(request.classes).items()}
        self._freezing = freezing if request.window == "sliding-actions" else None
        self._classes = self._at_work(request.classes)
        self.refused: Counter[tuple[str, Refusal]] = Counter()
        self.last: Number | None = None

    def _at_work(self, classes: Sequence[ResolvedClass]) -> dict[str, _Class]:
        plans = {c.declared.name: maintenance_of(c) for c in classes if c.query is not None}
        indexes = {index for plan in plans.values() for index in plan.indexes}
        read = {name for each in classes for name in each.reads}
        found = {}
        for each in classes:
            name = each.declared.name
            own = sorted(columns for table, columns in indexes if table == name)
            store = ClassStore(self._connection, each.declared, own, is_read=name in read)
            if self._is_window:
                store.index_expiry()
            statements = Statements(self._connection, each, self.rounds)
            agenda = Agenda(each, self.rounds)
            reader = RowReader(each.declared)
            found[name] = _Class(each, store, plans.get(name), statements, agenda, reader)
        return found

    def round(self, number: Number, detections: Iterable[Detection] = ()) -> list[Firing]:
        """One round: what was learnt since the last one, and the actions that it calls for.

        A round that fails leaves everything as it was.
        """
        self._connection.execute("BEGIN")
        try:
            firings = self._round(number, detections)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        self.last = number
        return firings

    def _round(self, number: Number, detections: Iterable[Detection]) -> list[Firing]:
        silent = self._purge(number)
        waiting, last = by_class(detections), self.rounds.before(number)
        deltas = self._propagated(
            number, lambda each: self._taken(each, waiting.get(each.name, ()), last)
        )
        firings = [
            firing
            for each in self._classes.values()
            for firing in self._react(each, deltas[each.name], silent.get(each.name, {}), number)
        ]
        self._settle()
        return firings

    # What is kept elsewhere

    def listen(self) -> None:
        """From now on `changed` tells what rounds change."""
        for each in self._classes.values():
            each.store.touched = set()

    def changed(self) -> dict[str, list[Kept]]:
        """What there is now of the events that rounds touched since the last call, by class."""
        found = {}
        for name, each in self._classes.items():
            found[name] = each.store.kept_of(each.store.touched or ())
            each.store.touched = set()
        return found

    def everything(self) -> dict[str, list[Kept]]:
        """All that there is of all events, by class."""
        return {name: each.store.all_kept() for name, each in self._classes.items()}

    def load(self, kept: Mapping[str, Iterable[Kept]], last: Number | None) -> None:
        """Takes over what another one kept, whose last round is given; only before the first round."""
        self._connection.execute("BEGIN")
        for name, events in kept.items():
            self._classes[name].store.load(events)
        self._connection.execute("COMMIT")
        self.last = last

    def next_due(self) -> Number | None:
        """By when a round has something to do, even if nothing is learnt."""
        found = (each.store.next_due() for each in self._classes.values())
        return min((due for due in found if due is not None), default=None)

    def next_expiry(self) -> Instant | None:
        """When the next event or toggle expires that a window forgets; None without windows."""
        lifespans = self._admission.lifespans
        if lifespans is None:
            return None
        found = [each.store.first_expiry() for each in self._classes.values()]
        for name, lifespan in lifespans.items():
            incept = self._classes[name].store.first_incept()
            found.append(None if incept is None else incept + lifespan)
        return min((time for time in found if time is not None), default=None)

    # What changes

    def _propagated(self, number: Number, changed: _Changed) -> dict[str, Delta]:
        """The changes of all classes, from those of the subscribed ones."""
        deltas: dict[str, Delta] = {}
        for name, each in self._classes.items():
            if each.maintenance is None:
                deltas[name] = changed(each)
            else:
                deltas[name] = self._rederived(each, each.maintenance, deltas, number)
            if deltas[name]:
                each.store.change(deltas[name])
        return deltas

    def _settle(self) -> None:
        for each in self._classes.values():
            each.store.settle()

    def _taken(self, each: _Class, detections: Sequence[Detection], last: Number | None) -> Delta:
        """What detections change."""
        if not detections:
            return {}
        kept = each.store.kept_of({detection.key for detection in detections})
        before = {event.key: event.row for event in kept}
        events = {event.key: event.known for event in kept}
        taken: dict[Key, Known] = {}
        for detection in detections:
            key = detection.key
            known = events.get(key)
            refusal = self._admission.refusal(detection, known, last)
            if refusal is not None:
                self.refused[each.name, refusal] += 1
                continue
            events[key] = taken[key] = self._admission.applied(detection, known)
        each.store.remember(taken)
        return {k: (before[k], e.row) for k, e in taken.items() if before[k] != e.row}

    def _rederived(
        self, each: _Class, plan: Maintenance, deltas: Mapping[str, Delta], number: Number
    ) -> Delta:
        changed = {name for name in each.resolved.reads if deltas[name]}
        if not changed:
            return {}
        keys = None if changed & plan.whole.keys() else self._reached(plan, changed)
        if keys is None or plan.restricted is None:
            view = self._view(each, plan.complete, number)
            known = dict(each.store.rows())
            return _delta(known, view, known.keys() | view.keys())
        if not keys:
            return {}
        each.store.affect(keys)
        view = self._view(each, plan.restricted, number)
        rows = {event.key: event.row for event in each.store.kept_of_affected()}
        return _delta(rows, view, keys)

    def _reached(self, plan: Maintenance, changed: set[str]) -> set[Key] | None:
        """The keys that changes can reach; None where a part of one is null, which must not be."""
        keys: set[Key] = set()
        for reach in plan.reaches:
            if reach.table in changed:
                keys.update(self._connection.execute(reach.sql).fetchall())
        return None if any(None in key for key in keys) else keys

    def _view(self, each: _Class, sql: str, number: Number) -> View:
        declared = each.resolved.declared
        assert isinstance(declared, ComplexClass)
        with asked_in(declared, "the query", self.rounds, number):
            found = self._connection.execute(sql).fetchall()
        return view_of(declared, map(each.reader.row, found), self.rounds, number)

    # What is forgotten

    def _purge(self, number: Number) -> dict[str, Delta]:
        """Takes out what had expired in the last round, as if it had never been."""
        lifespans, last = self._admission.lifespans, self.rounds.before(number)
        if lifespans is None or last is None:
            return {}
        end = self.rounds.instant(last)
        deltas = self._propagated(
            number, lambda each: self._expired(each, end - lifespans[each.name])
        )
        self._settle()
        for each in self._classes.values():
            for key in each.store.drop_marks_before(end):
                if self._notes:
                    self._notes.unset(number, each.name, key)
        return deltas

    def _expired(self, each: _Class, incept: Number) -> Delta:
        keys = each.store.began_before(incept)
        if not keys:
            return {}
        kept = each.store.kept_of(keys)
        each.store.forget(keys)
        return {event.key: (event.row, None) for event in kept if event.row is not None}

    # What follows

    def _react(self, each: _Class, delta: Delta, silent: Delta, number: Number) -> Iterator[Firing]:
        self._note(each, _both(silent, delta), number)
        if not each.resolved.reactions:
            self._see(each, [Pair(key, *rows) for key, rows in delta.items()], number)
            return
        marks: dict[Key, Marks] = {}
        pairs = list(self._pairs(each, delta, silent, number, marks))
        self._see(each, pairs, number)
        for answer in each.statements.answers(pairs, number):
            pair = answer.pair
            marks[pair.key] = self._marked(each, answer, marks[pair.key], number)
            if self._freezing is None or is_kept(
                pair, self._freezing[each.name], number, self.rounds
            ):
                yield from answer.firings
        each.store.mark(marks)

    def _pairs(
        self, each: _Class, delta: Delta, silent: Delta, number: Number, marks: dict[Key, Marks]
    ) -> Iterator[Pair]:
        """The events to look at: those that changed, and those whose time has come."""
        asked = {*delta, *silent, *each.store.due(number)}
        for event in each.store.kept_of(asked) if asked else ():
            key, mark = event.key, event.marks
            old, new = delta.get(key, (event.row, event.row))
            marks[key] = mark if new is not None else Marks(mark.fired, None, mark.expires)
            if old is not None or new is not None:
                yield Pair(key, old, new, mark.fired)

    def _marked(self, each: _Class, answer: Answer, mark: Marks, number: Number) -> Marks:
        pair = answer.pair
        fired = answer.sets or (mark.fired and not answer.clears)
        if self._notes and fired != mark.fired:
            (self._notes.set if fired else self._notes.unset)(number, each.name, pair.key)
        is_steady = fired == mark.fired and not answer.firings and pair.old == pair.new
        due = each.agenda.due(pair.new, number, fired=fired, is_steady=is_steady)
        seen = max(mark.expires, pair.expires) if mark.fired else pair.expires
        return Marks(fired, due, seen)

    def _see(self, each: _Class, pairs: Sequence[Pair], number: Number) -> None:
        if self._notes is not None:
            for pair in pairs:
                self._notes.see(number, each.name, pair)

    def _note(self, each: _Class, delta: Delta, number: Number) -> None:
        if self._notes is None:
            return
        for key, (old, new) in delta.items():
            if new is None:
                self._notes.close(number, each.name, key)
            elif old is None or not new.says(old):
                self._notes.know(number, each.name, key, new)


def _delta(known: Mapping[Key, Row | None], view: View, keys: Iterable[Key]) -> Delta:
    found = {key: (known.get(key), view.get(key)) for key in keys}
    return {key: pair for key, pair in found.items() if pair[0] != pair[1]}


def _both(first: Delta, second: Delta) -> Delta:
    """What two changes, one after the other, come to."""
    if not first:
        return second
    found = {
        key: (
            first[key][0] if key in first else second[key][0],
            second[key][1] if key in second else first[key][1],
        )
        for key in {**first, **second}
    }
    return {key: pair for key, pair in found.items() if pair[0] != pair[1]}
