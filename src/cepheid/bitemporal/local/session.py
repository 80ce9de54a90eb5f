"""Rounds one after the other, as detections come: those in which nothing can happen are passed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from heapq import heappop, heappush

from cepheid.bitemporal.detections import Detection
from cepheid.bitemporal.local.engine import MEMORY, LocalRounds, Notes
from cepheid.bitemporal.local.journal import Journal
from cepheid.bitemporal.outcome import Firing
from cepheid.bitemporal.request import RoundsRequest
from cepheid.bitemporal.rounds import Number, Rounds
from cepheid.core.time import Instant


class LocalSession:
    """What was detected waits for its round; time goes on when it is told to."""

    def __init__(
        self, request: RoundsRequest, notes: Notes | None = None, database: str = MEMORY
    ) -> None:
        self.engine = LocalRounds(request, notes, database)
        self.taken = 0
        self.done: Number = request.rounds.first - 1  # the last round that was closed
        self._waiting: dict[Number, list[Detection]] = {}
        self._numbers: list[Number] = []  # of the rounds that something waits for, as a heap
        self._journal: Journal | None = None

    @property
    def rounds(self) -> Rounds:
        return self.engine.rounds

    def wait(self, detections: Sequence[Detection]) -> list[Detection]:
        """Takes what was detected; where a round is over that it should have counted in, gives back
        all of that, and takes nothing."""
        round_of = cache(self._round_of)
        told = [(round_of(detection.known), detection) for detection in detections]
        late = [
            detection for number, detection in told if number is not None and number <= self.done
        ]
        if late:
            return late
        self.taken += len(told)
        # What is known after the last round counts in none.
        waiting = [(number, detection) for number, detection in told if number is not None]
        for number, detection in waiting:
            if number not in self._waiting:
                self._waiting[number] = []
                heappush(self._numbers, number)
            self._waiting[number].append(detection)
        if self._journal is not None:
            self._journal.put(waiting)
        return []

    def _round_of(self, known: Instant) -> Number | None:
        return self.rounds.at_or_after(self.rounds.number(known))

    def keep(self, journal: Journal) -> None:
        """Goes on from what a journal has, and keeps it up to date."""
        self.done = self.done if journal.done is None else journal.done
        self.wait(list(journal.waiting()))
        self._journal, self.engine.closing = journal, journal.close

    def waiting(self) -> Iterator[Detection]:
        """What waits for its round."""
        for number in sorted(self._waiting):
            yield from self._waiting[number]

    def advance(self, last: Number) -> Iterator[Firing]:
        """All rounds up to the last one, with the actions that they call for."""
        while (number := self._next(last)) is not None:
            found = self._waiting.get(number, ())
            firings = self.engine.round(number, sorted(found, key=lambda each: each.order))
            if found:
                del self._waiting[heappop(self._numbers)]
            self.done = number
            yield from firings
        if self._journal is not None and last > self.done:
            self._journal.close(last)
        self.done = max(self.done, last)

    def _next(self, last: Number) -> Number | None:
        """The next round with something to do."""
        told = self._numbers[0] if self._numbers else None
        found = (told, self._at(self.engine.next_due()), self._at(self._forgetting()))
        number = min((each for each in found if each is not None), default=None)
        return number if number is not None and number <= last else None

    def _forgetting(self) -> Number | None:
        """The round after the first one that lies behind an expiry."""
        expiry = self.engine.next_expiry()
        behind = None if expiry is None else self.rounds.number(expiry) + 1
        first = None if behind is None else self.rounds.at_or_after(behind)
        return None if first is None else first + 1

    def _at(self, number: Number | None) -> Number | None:
        """The first round from a number on that is not over."""
        return None if number is None else self.rounds.at_or_after(max(number, self.done + 1))
