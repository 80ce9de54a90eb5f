"""Rounds one after the other, as detections come: those in which nothing can happen are passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from heapq import heappop, heappush

from cepheid.bitemporal.detections import Detection
from cepheid.bitemporal.local.engine import MEMORY, LocalRounds, Notes
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

    @property
    def rounds(self) -> Rounds:
        return self.engine.rounds

    def wait(self, detections: Iterable[Detection]) -> list[Detection]:
        """Takes what was detected; what should have counted in a round that is over is given back."""
        late, round_of = [], cache(self._round_of)
        for detection in detections:
            number = round_of(detection.known)
            if number is not None and number <= self.done:
                late.append(detection)
                continue
            self.taken += 1
            if number is None:  # after the last round
                continue
            if number not in self._waiting:
                self._waiting[number] = []
                heappush(self._numbers, number)
            self._waiting[number].append(detection)
        return late

    def _round_of(self, known: Instant) -> Number | None:
        return self.rounds.at_or_after(self.rounds.number(known))

    def waiting(self) -> Iterator[Detection]:
        """What waits for its round."""
        for number in sorted(self._waiting):
            yield from self._waiting[number]

    def advance(self, last: Number) -> Iterator[Firing]:
        """All rounds up to the last one, with the actions that they call for."""
        while (number := self._next(last)) is not None:
            found = self._waiting.pop(number, ())
            if found:
                heappop(self._numbers)
            yield from self.engine.round(number, sorted(found, key=lambda each: each.order))
            self.done = number
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
