"""Rounds over batches: each runs the rounds that it closes, and leaves all that is known in a folder.

The concatenation of what batches leave is what one run over all of their records gives, up to the last
round that is closed, wherever they were cut. Files appear before the manifest that makes the batch
count; a batch that is cut off is done again and writes the same files, and one that counts is not done
again. What it wants done is handed over when it counts, never before: another run of it, with another
delay, say, might want something else. Who feeds a sink repeats a batch until it is taken, so where a process
ends in between, the repeated batch hands over the same actions, which the manifest has kept.

    actions/ changes/ versions/ toggles/   what rounds gave, a file for each batch
    late/ rejects/                         what was left out, and why
    state/ manifests/                      what the next batch needs
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from cepheid.bitemporal.detections import Detection, History, Key
from cepheid.bitemporal.local.session import LocalSession
from cepheid.bitemporal.local.store import Kept
from cepheid.bitemporal.outcome import Change, Firing, Outcome
from cepheid.bitemporal.recorder import kind_of
from cepheid.bitemporal.repository import Refusal, Row
from cepheid.bitemporal.request import RoundsRequest
from cepheid.bitemporal.rounds import Number, Rounds, outage_numbers
from cepheid.bitemporal.rows import ActionEvents
from cepheid.bitemporal.running import Course
from cepheid.bitemporal.statements import Pair
from cepheid.bitemporal.stream import manifest as manifests
from cepheid.bitemporal.stream.arrivals import Arrival, Intake, in_order, take_batch
from cepheid.bitemporal.stream.clock import Clock
from cepheid.bitemporal.stream.disk import Disk, parquet
from cepheid.bitemporal.stream.keeping import (
    firings_in,
    firings_table,
    kept_in,
    table_of,
    waiting_in,
    waiting_table,
)
from cepheid.bitemporal.stream.manifest import Identity, Manifest
from cepheid.bitemporal.stream.tables import Learnt, Switched, Tables
from cepheid.core.event import Event
from cepheid.core.time import format_instant
from cepheid.errors import RunError, UsageError, error, reason_of
from cepheid.program.classes import SubscribedClass
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.seal import bad_state, program_digest

if TYPE_CHECKING:
    import pyarrow as pa

COMPACT_EVERY = 50  # batches
STATE = "state"
Act: TypeAlias = Callable[[Sequence[Event]], None]


@dataclass(slots=True)
class _State:
    """What is known after a batch."""

    session: LocalSession
    notes: _Notes
    waiting: list[Detection]  # for rounds that are not over
    clock: Clock
    manifest: Manifest | None  # None before the first batch


class RoundsSink:
    """A program in rounds whose input comes in numbered batches.

    `act` gets the actions of each batch that has any: once, or again where the batch is repeated.
    """

    def __init__(
        self,
        program: ResolvedProgram,
        folder: Path,
        course: Course,
        *,
        delay: int = 0,
        compact_every: int = COMPACT_EVERY,
        disk: Disk | None = None,
        act: Act | None = None,
    ) -> None:
        _check(program)
        self.program = program
        self._folder = folder
        self._course = course
        self._delay = delay
        self._compact_every = compact_every
        self._disk = disk or Disk()
        self._act = act
        self._tables = Tables(program)
        self.subscribed = {
            c.name: c.declared for c in program.classes if isinstance(c.declared, SubscribedClass)
        }
        start = course.start
        what = (course.chronon, course.window, course.after_freeze, start)
        self._identity = Identity(program_digest(program), *what)
        self._begin = Clock(
            course.chronon,
            delay,
            None if start is None else start // course.chronon,
            start is not None,
            outage_numbers(course.outages, course.chronon),
        )
        self._state: _State | None = None

    @property
    def folder(self) -> Path:
        """Where it writes what rounds find."""
        return self._folder

    def take(
        self, batch: int, arrivals: Iterable[Arrival], origin: str | None = None
    ) -> Outcome | None:
        """Runs the rounds that a batch closes; None where the batch was done before.

        `origin` names the stream whose batches are numbered.
        """
        outcome: Outcome | None = None
        try:
            state = self._state or self._load(origin)
            self._state = None  # until the batch is taken: what is in memory may be half of it
            if _is_done(batch, state.manifest):
                wanted = self._wanted(batch, state.manifest)
            else:
                state, outcome = self._done(batch, arrivals, state, origin)
                wanted = outcome.firings
        except OSError as problem:
            place = problem.filename or self._folder
            fact = f"cannot use '{place}': {reason_of(problem)}"
            hint = "mend that and start again: nothing is lost"
            raise RunError(error("bad-file", fact, hint=hint)) from None
        self._hand_over(wanted, state.clock.rounds())
        self._state = state
        return outcome

    def _hand_over(self, wanted: Sequence[Firing], rounds: Rounds) -> None:
        if self._act is not None and wanted:
            classes = self._tables.classes
            event_of = ActionEvents(classes)
            self._act([event_of(firing, n, rounds) for n, firing in enumerate(wanted)])

    def _wanted(self, batch: int, last: Manifest | None) -> Sequence[Firing]:
        """What a batch that is repeated wants done; earlier ones handed it over."""
        if last is None or last.batch != batch or last.actions is None:
            return ()
        return list(firings_in(self._read(last.actions)))

    def summary(self) -> str:
        """How far it is and what it counted, on one line."""
        found = manifests.newest(self._folder)
        if found is None:
            return "no batch is done"
        closed = found.clock.closed
        rounds = "no round is over"
        if closed is not None:
            rounds = f"rounds up to {format_instant(closed * found.clock.chronon)}"
        refused = sum(sum(reasons.values()) for reasons in found.refused.values())
        counts = {**found.counts, "refused": refused}
        return ", ".join([rounds, *(f"{name} {count}" for name, count in counts.items())])

    def _done(
        self, batch: int, arrivals: Iterable[Arrival], before: _State, origin: str | None
    ) -> tuple[_State, Outcome]:
        intake = take_batch(self.subscribed, arrivals, before.clock)
        clock, last = before.clock.advanced(intake.instants), before.manifest
        waiting = [*before.waiting, *intake.detections]
        outcome = _run(before, in_order([d for d in waiting if clock.is_over(d)]), clock)
        waiting = [detection for detection in waiting if not clock.is_over(detection)]
        self._write(batch, outcome, before.notes, intake, is_first=last is None)
        engine, state = before.session.engine, replace(before, waiting=waiting, clock=clock)
        state.manifest = self._kept(
            Manifest(
                batch=batch,
                identity=self._identity,
                clock=clock,
                last=engine.last,
                origin=origin,
                counts=_counts(last, intake),
                refused=_by_name(engine.refused),
                state=last.state if last else {},
                deltas=last.deltas + 1 if last else 0,
            ),
            state,
            outcome.firings,
        )
        return state, outcome

    @property
    def _names(self) -> list[str]:
        return [each.name for each in self.program.tree.classes]

    # Files

    def _write(
        self, batch: int, outcome: Outcome, notes: _Notes, intake: Intake, *, is_first: bool
    ) -> None:
        """What others read; the first batch leaves files without rows, too, for their columns."""
        rounds = outcome.rounds
        tables = {
            "actions": self._tables.actions(outcome),
            "changes": self._tables.changes(outcome),
            "versions": self._tables.versions(sorted(notes.learnt, key=notes.order), rounds),
            "toggles": self._tables.toggles(sorted(notes.switched, key=notes.order), rounds),
            "late": self._tables.late(intake.late),
            "rejects": self._tables.rejects(intake.rejects),
        }
        for name, table in tables.items():
            if table.num_rows or is_first:
                self._publish(f"{name}/{batch:010}.parquet", table)

    def _publish(self, name: str, table: pa.Table) -> str:
        self._disk.publish(self._folder / name, parquet(table))
        return name

    def _kept(self, draft: Manifest, state: _State, wanted: Sequence[Firing]) -> Manifest:
        """Writes the state, then the manifest, and then removes what no one needs any more."""
        batch, is_whole = draft.batch, draft.deltas % self._compact_every == 0
        engine = state.session.engine
        kept = engine.changed()
        if is_whole:
            kept = engine.everything()
        files = {} if is_whole else dict(draft.state)
        for name, events in kept.items():
            if events:
                file = f"{STATE}/{batch:010}-{self._names.index(name)}.parquet"
                self._publish(file, table_of(self._tables.classes[name], events))
                files[name] = (*files.get(name, ()), file)
        waiting = None
        if state.waiting:
            waiting = self._publish(
                f"{STATE}/{batch:010}-waiting.parquet", waiting_table(state.waiting)
            )
        actions = None
        if wanted and self._act is not None:
            actions = self._publish(f"{STATE}/{batch:010}-actions.parquet", firings_table(wanted))
        deltas = 0 if is_whole else draft.deltas
        manifest = replace(draft, state=files, waiting=waiting, actions=actions, deltas=deltas)
        self._disk.publish(manifests.path_of(self._folder, batch), manifest.content())
        if is_whole:
            self._disk.remove(self._outdated(manifest))
        return manifest

    def _outdated(self, manifest: Manifest) -> Iterator[Path]:
        """Files that the newest manifest does not name, and earlier manifests."""
        needed = {self._folder / name for name in manifest.files}
        state = self._folder / STATE
        yield from sorted(path for path in state.glob("*.parquet") if path not in needed)
        own = manifests.path_of(self._folder, manifest.batch)
        yield from sorted(path for path in own.parent.glob("*.json") if path < own)

    def _load(self, origin: str | None) -> _State:
        """What the newest manifest says is known."""
        request = RoundsRequest(
            classes=self.program.classes,
            names=self._names,
            history=History(),
            rounds=Rounds(self._course.chronon, 0, -1),
            window=self._course.window,
            after_freeze=self._course.after_freeze,
        )
        notes = _Notes(request.rounds, {name: rank for rank, name in enumerate(self._names)})
        session = LocalSession(request, notes)
        engine = session.engine
        engine.listen()
        manifest = manifests.newest(self._folder)
        if manifest is None:
            return _State(session, notes, [], self._begin, None)
        manifests.check(manifest, self._identity, self._begin, origin)
        engine.load(
            {n: self._kept_of(n, files) for n, files in manifest.state.items()}, manifest.last
        )
        engine.changed()
        for name, refusals in manifest.refused.items():
            engine.refused.update({(name, Refusal[r]): count for r, count in refusals.items()})
        waiting = manifest.waiting
        found = [] if waiting is None else list(waiting_in(self._read(waiting)))
        clock = replace(manifest.clock, delay=self._delay, outages=self._begin.outages)
        return _State(session, notes, found, clock, manifest)

    def _kept_of(self, name: str, files: Iterable[str]) -> Iterable[Kept]:
        events: dict[Key, Kept] = {}
        for file in files:
            for kept in kept_in(self._tables.classes[name], self._read(file)):
                events[kept.key] = kept
        return [kept for kept in events.values() if not kept.is_forgotten]

    def _read(self, name: str) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.read_table(self._folder / name, partitioning=None)
        except (FileNotFoundError, pa.ArrowInvalid):
            raise RunError(bad_state(f"'{self._folder / name}' is damaged, or gone")) from None


def _run(state: _State, ready: Sequence[Detection], clock: Clock) -> Outcome:
    """The rounds that are over now and were not before."""
    notes, session, before = state.notes, state.session, state.clock.closed
    notes.clear()
    session.engine.rounds = clock.rounds()
    session.done = session.rounds.first - 1 if before is None else before
    late = session.wait(ready)
    assert not late  # they were left out
    notes.firings += session.advance(session.rounds.last)
    return notes.outcome(session.rounds)


def _check(program: ResolvedProgram) -> None:
    if not program.classes:
        fact = "the program has no classes, and so no rounds"
        raise UsageError(error("usage", fact, hint="`cep.spark.detect` runs statements"))
    if program.statements:
        name = program.statements[0].name
        fact = f"statement {name!r} does not run in the rounds of a stream"
        hint = "put the classes into a program of their own; statements can read its changes"
        raise UsageError(error("unsupported", fact, hint=hint))


def _is_done(batch: int, last: Manifest | None) -> bool:
    following = last.batch + 1 if last else 0
    if batch > following:
        fact = f"batch {batch} comes, and {following} is next: parts of the folder are gone"
        raise RunError(bad_state(fact))
    return batch < following


def _counts(last: Manifest | None, intake: Intake) -> dict[str, int]:
    counts = Counter(last.counts if last else {})
    counts.update(taken=len(intake.detections), late=len(intake.late), rejected=len(intake.rejects))
    return dict(counts)


def _by_name(refused: Mapping[tuple[str, Refusal], int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (name, refusal), count in sorted(refused.items()):
        found.setdefault(name, {})[refusal.name] = count
    return found


@dataclass(slots=True)
class _Notes:
    """What the rounds of a batch give."""

    rounds: Rounds
    rank: Mapping[str, int]  # of classes, in the order of the text
    firings: list[Firing] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    learnt: list[Learnt] = field(default_factory=list)
    switched: list[Switched] = field(default_factory=list)

    def see(self, number: Number, name: str, pair: Pair) -> None:
        kind = kind_of(pair, self.rounds)
        if kind is not None:
            row = pair.old if pair.new is None else pair.new
            assert row is not None
            self.changes.append(Change(number, name, pair.key, kind, row, pair.fired))

    def know(self, number: Number, name: str, key: Key, row: Row) -> None:
        self.learnt.append(Learnt(number, name, key, row))

    def close(self, number: Number, name: str, key: Key) -> None:
        self.learnt.append(Learnt(number, name, key, None))

    def set(self, number: Number, name: str, key: Key) -> None:
        self.switched.append(Switched(number, name, key, fired=True))

    def unset(self, number: Number, name: str, key: Key) -> None:
        self.switched.append(Switched(number, name, key, fired=False))

    def clear(self) -> None:
        """Before the rounds of another batch."""
        self.firings, self.changes, self.learnt, self.switched = [], [], [], []

    def order(self, each: Firing | Change | Learnt | Switched) -> tuple[Number, int, Key]:
        return each.round, self.rank[each.cls], each.key

    def outcome(self, rounds: Rounds) -> Outcome:
        return Outcome(
            rounds=rounds,
            firings=sorted(self.firings, key=lambda firing: (self.order(firing), firing.statement)),
            versions=(),
            changes=sorted(self.changes, key=self.order),
            toggles=(),
        )
