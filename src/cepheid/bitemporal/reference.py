"""Rounds as definitions 4.6, 4.8 and 4.10 have them: whole views, anew in every round.

In each round the events known before and those known now are derived from the versions that count,
by their queries, whole; each statement is asked for every key in either. Nothing is remembered
between rounds but the versions themselves and the toggles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from cepheid.analysis.lifespans import spans_of
from cepheid.bitemporal.derivation import asked_in, view_of
from cepheid.bitemporal.detections import Key
from cepheid.bitemporal.outcome import Outcome
from cepheid.bitemporal.primitives import PRIMITIVES, Constellation, is_late_between
from cepheid.bitemporal.recorder import Recorder
from cepheid.bitemporal.repository import Repository, Row, View, by_round
from cepheid.bitemporal.request import RoundsRequest
from cepheid.bitemporal.rounds import Number, Rounds
from cepheid.bitemporal.statements import Pair, Statements, is_kept
from cepheid.bitemporal.tables import HIDDEN, RowReader, definition, fill, quoted
from cepheid.program.classes import ComplexClass
from cepheid.program.resolved import ResolvedClass
from cepheid.sql.atoms import Atom, atoms
from cepheid.sql.sqlite import connect

Views = Mapping[str, View]  # of all classes


def run(request: RoundsRequest) -> Outcome:
    rounds, repository = request.rounds, Repository(request.admission())
    waiting = dict(by_round(request.history.detections, rounds))
    derivation = Derivation(request.classes, rounds)
    recorder = Recorder(request.names, rounds)
    reactions = Reactions(request, recorder)
    last: Number | None = None
    for number in rounds:
        repository.purge(last)
        old = derivation.of(repository, number)
        repository.take(waiting.get(number, ()), last)
        new = derivation.of(repository, number)
        reactions.forget(number, last)
        for each in request.classes:
            name = each.declared.name
            recorder.view(number, name, new[name])
            pairs = list(reactions.pairs(name, old[name], new[name]))
            reactions.react(each, pairs, number)
        last = number
    taken = len(request.history.detections)
    return recorder.outcome(taken, repository.refused)


class Derivation:
    """The events of all classes from the versions that count."""

    def __init__(self, classes: Sequence[ResolvedClass], rounds: Rounds) -> None:
        from cepheid.sql.queries import with_latest
        from cepheid.sql.transpile import to_sql

        self._classes = classes
        self._rounds = rounds
        self._connection = connect()
        self._queries: dict[str, str] = {}
        for each in classes:
            self._connection.execute(definition(each.declared.name, each.declared))
            if each.query is not None:
                tree = with_latest(each.query, HIDDEN)
                self._queries[each.declared.name] = to_sql(tree, "sqlite")
        self._last: tuple[dict[str, View], Views] | None = None

    def of(self, repository: Repository, number: Number) -> Views:
        """The views of all classes; the same versions give the same views."""
        counting = repository.views()
        if self._last is None or self._last[0] != counting:
            self._last = counting, self._derived(counting, number)
        return self._last[1]

    def _derived(self, counting: Mapping[str, View], number: Number) -> Views:
        views = dict(counting)
        for each in self._classes:
            declared = each.declared
            if isinstance(declared, ComplexClass):
                with asked_in(declared, "the query", self._rounds, number):
                    found = self._connection.execute(self._queries[declared.name]).fetchall()
                rows = map(RowReader(declared).row, found)
                views[declared.name] = view_of(declared, rows, self._rounds, number)
            self._connection.execute(f"DELETE FROM {quoted(declared.name)}")
            fill(self._connection, declared.name, declared, views[declared.name].values())
        return views


class Reactions:
    """The toggles of all events, and what the statements of their classes say."""

    def __init__(self, request: RoundsRequest, recorder: Recorder) -> None:
        connection = connect()
        self._recorder = recorder
        self._rounds = request.rounds
        self._statements = {
            each.declared.name: Statements(connection, each, request.rounds)
            for each in request.classes
        }
        self.fired: dict[str, set[Key]] = {each.declared.name: set() for each in request.classes}
        # When the last event behind each toggle expires, of those seen since it was set.
        self._expires: dict[str, dict[Key, int]] = {name: {} for name in self.fired}
        self._is_window = request.is_window
        freezing = {name: spans.freezing for name, spans in spans_of(request.classes).items()}
        self._freezing = freezing if request.window == "sliding-actions" else None

    def forget(self, number: Number, last: Number | None) -> None:
        """Drops the toggles of events of which nothing is left."""
        if not self._is_window or last is None:
            return
        for name, expires in self._expires.items():
            gone = [key for key, time in expires.items() if self._rounds.number(time) < last]
            for key in gone:
                self._set(number, name, key, is_set=False)

    def pairs(self, name: str, old: View, new: View) -> Iterator[Pair]:
        for key in sorted(old.keys() | new.keys()):
            yield Pair(key, old.get(key), new.get(key), key in self.fired[name])

    def react(self, resolved: ResolvedClass, pairs: Sequence[Pair], now: Number) -> None:
        name = resolved.declared.name
        for pair in pairs:
            self._recorder.see(now, name, pair)
        for pair, firing in self._statements[name].firings(pairs, now):
            if self._freezing is None or is_kept(pair, self._freezing[name], now, self._rounds):
                self._recorder.fire(firing)
        found = {atom for reaction in resolved.reactions for atom in atoms(reaction.condition)}
        for pair in pairs:
            self._toggle(name, pair, found, now)

    def _toggle(self, name: str, pair: Pair, found: Set[Atom], now: Number) -> None:
        """Atoms set and clear toggles, whatever else their conditions say."""
        constellation = constellation_of(pair, now, self._rounds)
        held = {name for name, bounds in found if self._holds(name, bounds, pair, constellation)}
        if held & {"ONTIME", "LATE"}:
            self._set(now, name, pair.key, is_set=True)
        elif held & {"CANCELLATION", "POSTPONE"}:
            self._set(now, name, pair.key, is_set=False)
        if pair.key in self.fired[name]:
            seen = self._expires[name].get(pair.key, pair.expires)
            self._expires[name][pair.key] = max(seen, pair.expires)

    def _set(self, now: Number, name: str, key: Key, *, is_set: bool) -> None:
        fired = self.fired[name]
        if is_set and key not in fired:
            fired.add(key)
            self._recorder.set(now, name, key)
        elif not is_set and key in fired:
            fired.remove(key)
            del self._expires[name][key]
            self._recorder.unset(now, name, key)

    def _holds(
        self, name: str, bounds: tuple[int, int] | None, pair: Pair, constellation: Constellation
    ) -> bool:
        if bounds is None:
            return PRIMITIVES[name](constellation)
        if pair.new is None:
            return False
        after, until = (self._rounds.number(pair.new.occ + bound) for bound in bounds)
        return is_late_between(constellation.now, after, until, fired=pair.fired)


def constellation_of(pair: Pair, now: Number, rounds: Rounds) -> Constellation:
    def number(row: Row | None) -> Number | None:
        return None if row is None else rounds.number(row.occ)

    return Constellation(now, number(pair.old), number(pair.new), pair.differs(rounds), pair.fired)
