"""Notes of a run in rounds, from which its outcome is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cepheid.bitemporal.detections import Key
from cepheid.bitemporal.outcome import Change, Firing, Kind, Outcome, Toggle, Version
from cepheid.bitemporal.repository import Refusal, Row, View
from cepheid.bitemporal.rounds import Number, Rounds
from cepheid.bitemporal.statements import Pair


class Recorder:
    """Collects actions, changes, versions and toggles, and puts them in order."""

    def __init__(self, names: Sequence[str], rounds: Rounds) -> None:
        self._rounds = rounds
        self._firings: list[Firing] = []
        self._changes: list[Change] = []
        self._versions: list[Version] = []
        self._toggles: list[Toggle] = []
        # What holds now, and since when.
        self._open: dict[str, dict[Key, tuple[Row, Number]]] = {name: {} for name in names}
        self._set: dict[str, dict[Key, Number]] = {name: {} for name in names}
        self._rank = {name: rank for rank, name in enumerate(names)}

    def fire(self, firing: Firing) -> None:
        self._firings.append(firing)

    def see(self, number: Number, name: str, pair: Pair) -> None:
        """What statements saw of an event in a round."""
        kind = kind_of(pair, self._rounds)
        if kind is not None:
            row = pair.old if pair.new is None else pair.new
            assert row is not None
            self._changes.append(Change(number, name, pair.key, kind, row, pair.fired))

    def view(self, number: Number, name: str, view: View) -> None:
        """All that is known of a class in a round."""
        for key in [key for key in self._open[name] if key not in view]:
            self.close(number, name, key)
        for key, row in view.items():
            self.know(number, name, key, row)

    def know(self, number: Number, name: str, key: Key, row: Row) -> None:
        """From a round on this is known of an event."""
        known = self._open[name].get(key)
        if known is not None:
            if (known[0].values, known[0].occ, known[0].det) == (row.values, row.occ, row.det):
                return
            self.close(number, name, key)
        self._open[name][key] = row, number

    def close(self, number: Number, name: str, key: Key) -> None:
        row, since = self._open[name].pop(key)
        self._versions.append(Version(name, key, row, since, number))

    def set(self, number: Number, name: str, key: Key) -> None:
        self._set[name][key] = number

    def unset(self, number: Number, name: str, key: Key) -> None:
        since = self._set[name].pop(key)
        self._toggles.append(Toggle(name, key, since, number))

    def outcome(self, taken: int, refused: Mapping[tuple[str, Refusal], int]) -> Outcome:
        versions = self._versions + [
            Version(name, key, row, since)
            for name, known in self._open.items()
            for key, (row, since) in known.items()
        ]
        toggles = self._toggles + [
            Toggle(name, key, since)
            for name, known in self._set.items()
            for key, since in known.items()
        ]
        rank = self._rank
        return Outcome(
            rounds=self._rounds,
            firings=sorted(self._firings, key=lambda f: (f.round, rank[f.cls], f.key, f.statement)),
            versions=sorted(versions, key=lambda v: (v.known_from, rank[v.cls], v.key)),
            changes=sorted(self._changes, key=lambda c: (c.round, rank[c.cls], c.key)),
            toggles=sorted(toggles, key=lambda t: (t.set_in, rank[t.cls], t.key)),
            taken=taken,
            refused=dict(refused),
        )


def kind_of(pair: Pair, rounds: Rounds) -> Kind | None:
    if pair.old is None:
        return "announcement"
    if pair.new is None:
        return "cancellation"
    return "change" if pair.differs(rounds) else None
