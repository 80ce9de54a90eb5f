"""Rounds that touch what a change can reach, and what its time has come for."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from cepheid.analysis.lifespans import spans_of
from cepheid.bitemporal.derivation import asked_in, view_of
from cepheid.bitemporal.detections import Detection, Key, by_class
from cepheid.bitemporal.local.changes import Changes
from cepheid.bitemporal.local.layout import Layout
from cepheid.bitemporal.local.maintenance import Maintenance, maintenance_of
from cepheid.bitemporal.local.reactions import Reactions
from cepheid.bitemporal.local.store import ClassStore, Kept
from cepheid.bitemporal.outcome import Firing
from cepheid.bitemporal.repository import Known, Refusal, Row
from cepheid.bitemporal.request import RoundsRequest
from cepheid.bitemporal.rounds import Number
from cepheid.bitemporal.statements import Pair
from cepheid.bitemporal.tables import RowReader, cells
from cepheid.core.time import Instant
from cepheid.errors import RunError
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
    changes: Changes
    maintenance: Maintenance | None  # of complex classes
    reactions: Reactions | None  # of classes with statements
    reader: RowReader
    touched: set[Key]  # keys of what changed, where someone asks for them

    @property
    def name(self) -> str:
        return self.resolved.declared.name


Delta: TypeAlias = dict[Key, tuple[Row | None, Row | None]]  # what was known, what is known
_Proposed: TypeAlias = Callable[[_Class], bool]


class LocalRounds:
    """A program in rounds, one after the other; those in which nothing can happen may be left out."""

    def __init__(
        self, request: RoundsRequest, notes: Notes | None = None, database: str = MEMORY
    ) -> None:
        self.rounds = request.rounds  # those of a stream are set as it goes on
        self._admission = request.admission()
        self._notes = notes
        self._is_listening = False
        self._connection = connect(database)
        self._classes = self._at_work(request)
        self.refused: Counter[tuple[str, Refusal]] = Counter()
        self.last: Number | None = None
        self.closing: Callable[[Number], None] | None = None  # a part of each round, at its end

    @property
    def connection(self) -> sqlite3.Connection:
        return self._connection

    def _at_work(self, request: RoundsRequest) -> dict[str, _Class]:
        classes, chronon = request.classes, request.rounds.chronon
        plans = {c.declared.name: maintenance_of(c) for c in classes if c.query is not None}
        indexes = {index for plan in plans.values() for index in plan.indexes}
        read = {name for each in classes for name in each.reads}
        is_purged = request.window == "sliding-actions"
        freezing = {name: spans.freezing for name, spans in spans_of(classes).items()}
        found = {}
        for each in classes:
            name, layout = each.declared.name, Layout(each.declared)
            own = sorted(columns for table, columns in indexes if table == name)
            for statement in layout.permanent(own, is_window=request.is_window):
                self._connection.execute(statement)
            changes = Changes(self._connection, layout, chronon, is_read=name in read)
            reactions = None
            if each.reactions:
                frozen = freezing[name] if is_purged else None
                reactions = Reactions(self._connection, layout, each, chronon, frozen)
            store, reader = ClassStore(self._connection, layout), RowReader(each.declared)
            found[name] = _Class(each, store, changes, plans.get(name), reactions, reader, set())
        return found

    def round(self, number: Number, detections: Iterable[Detection] = ()) -> list[Firing]:
        """One round: what was learnt since the last one, and the actions that it calls for.

        A round that fails leaves everything as it was.
        """
        refused = self.refused.copy()
        self._connection.execute("BEGIN")
        try:
            firings = self._round(number, detections)
            if self.closing is not None:
                self.closing(number)
        except BaseException:
            self._connection.execute("ROLLBACK")
            self.refused = refused
            raise
        self._connection.execute("COMMIT")
        self.last = number
        return firings

    def _round(self, number: Number, detections: Iterable[Detection]) -> list[Firing]:
        silent = self._purge(number)
        waiting, last = by_class(detections), self.rounds.before(number)
        self._propagate(number, lambda each: self._taken(each, waiting.get(each.name, ()), last))
        firings = [
            firing
            for each in self._classes.values()
            for firing in self._react(each, silent.get(each.name, {}), number)
        ]
        self._settle()
        return firings

    # What is kept elsewhere

    def listen(self) -> None:
        """From now on `changed` tells what rounds change."""
        self._is_listening = True

    def changed(self) -> dict[str, list[Kept]]:
        """What there is now of the events that rounds touched since the last call, by class."""
        found = {}
        for name, each in self._classes.items():
            each.changes.affect(each.touched)
            found[name] = each.store.kept_of_affected()
            each.touched.clear()
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

    def _propagate(self, number: Number, proposed: _Proposed) -> None:
        """The changes of all classes, from those of the subscribed ones."""
        for each in self._classes.values():
            if each.maintenance is None:
                may_differ = proposed(each)
            else:
                may_differ = self._rederived(each, each.maintenance, number)
            each.changes.compare(number, may_differ=may_differ)

    def _settle(self) -> None:
        for each in self._classes.values():
            if self._is_listening:
                each.touched.update(each.changes.keys())
            each.changes.settle()

    def _taken(self, each: _Class, detections: Sequence[Detection], last: Number | None) -> bool:
        """What detections say of events; False where that is nothing new."""
        if not detections:
            return False
        asked = {detection.key for detection in detections}
        each.changes.affect(asked)
        known = each.store.known_of_affected()
        taken: dict[Key, Known] = {}
        for detection in detections:
            key = detection.key
            before = taken.get(key) or known.get(key)
            refusal = self._admission.refusal(detection, before, last)
            if refusal is not None:
                self.refused[each.name, refusal] += 1
                continue
            taken[key] = self._admission.applied(detection, before)
        if len(taken) < len(asked):
            each.changes.affect(taken)
        rows = ((*cells(e.row), e.incept) for e in taken.values() if e.row is not None)
        each.changes.derive(rows)
        self._retract(each, known, taken)
        return bool(taken)

    def _retract(
        self, each: _Class, known: Mapping[Key, Known], taken: Mapping[Key, Known]
    ) -> None:
        """Of events without a row it is remembered when they were first told to occur."""
        gone = [(key, event.incept) for key, event in taken.items() if event.row is None]
        back = [k for k, e in known.items() if e.row is None and k in taken and taken[k].row]
        each.store.retract(gone)
        each.store.bring_back(back)
        if self._is_listening:
            each.touched.update(taken)

    def _rederived(self, each: _Class, plan: Maintenance, number: Number) -> bool:
        """What follows for the events of a complex class; False where nothing can."""
        changed = {name for name in each.resolved.reads if self._classes[name].changes.are_any}
        if not changed:
            return False
        restricted = None if changed & plan.whole.keys() else plan.restricted
        if restricted is not None:
            # Rows as they were, and conditions left out: what fails here may not fail as a whole.
            with suppress(RunError):
                reaches = [reach.sql for reach in plan.reaches if reach.table in changed]
                if not reaches or not each.changes.affect_found(" UNION ".join(reaches)):
                    return False
                # A part of a key that is null must not be: who is it?
                if not each.changes.is_a_key_incomplete:
                    self._derive(each, restricted, number)
                    return True
        self._derive(each, plan.complete, number)
        each.changes.affect_all()
        return True

    def _derive(self, each: _Class, sql: str, number: Number) -> None:
        declared = each.resolved.declared
        assert isinstance(declared, ComplexClass)
        with asked_in(declared, "the query", self.rounds, number):
            if not each.changes.derive_found(sql):  # rows are one event, or should not be
                found = self._connection.execute(sql).fetchall()
                view = view_of(declared, map(each.reader.row, found), self.rounds, number)
                each.changes.derive(map(cells, view.values()))

    # What is forgotten

    def _purge(self, number: Number) -> dict[str, Delta]:
        """Takes out what had expired in the last round, as if it had never been."""
        lifespans, last = self._admission.lifespans, self.rounds.before(number)
        if lifespans is None or last is None:
            return {}
        end = self.rounds.instant(last)
        self._propagate(number, lambda each: self._expired(each, end - lifespans[each.name]))
        deltas = {}
        for each in self._classes.values():
            each.changes.note_silent()
            deltas[each.name] = self._delta(each)
        self._settle()
        for each in self._classes.values():
            self._drop_marks(each, end, number)
        return deltas

    def _expired(self, each: _Class, incept: Instant) -> bool:
        forgotten = each.store.forget_retracted(incept)
        if self._is_listening:
            each.touched.update(forgotten)
        each.changes.derive(())
        return each.changes.affect_found(*each.store.begun_before(incept)) > 0

    def _drop_marks(self, each: _Class, end: Instant, number: Number) -> None:
        for key, was_set in each.store.drop_marks_before(end):
            if self._is_listening:
                each.touched.add(key)
            if was_set and self._notes is not None:
                self._notes.unset(number, each.name, key)

    # What follows

    def _react(self, each: _Class, silent: Delta, number: Number) -> list[Firing]:
        changes, reactions = each.changes, each.reactions
        if self._notes is not None:
            self._note(each, silent, number, self._notes)
        if reactions is None:
            return []
        changes.look_again(number)
        with asked_in(each.resolved.declared, "a statement", self.rounds, number):
            firings = reactions.firings(number)
            if self._notes is not None:
                for key, is_set in reactions.toggled():
                    note = self._notes.set if is_set else self._notes.unset
                    note(number, each.name, key)
            reactions.mark(number)
        return firings

    def _delta(self, each: _Class) -> Delta:
        """What changed, where someone listens to it."""
        if self._notes is None or not each.changes.are_any:
            return {}
        return {pair.key: (pair.old, pair.new) for pair in each.changes.pairs()}

    def _note(self, each: _Class, silent: Delta, number: Number, notes: Notes) -> None:
        if not each.changes.are_any and not silent:
            return
        pairs = each.changes.pairs()
        for pair in pairs:
            notes.see(number, each.name, pair)
        delta: Delta = {pair.key: (pair.old, pair.new) for pair in pairs}
        for key, (old, new) in _both(silent, delta).items():
            if new is None:
                notes.close(number, each.name, key)
            elif old is None or not new.says(old):
                notes.know(number, each.name, key, new)


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
