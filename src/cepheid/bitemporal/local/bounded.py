"""A whole history, round by round; rounds in which nothing can happen are passed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheid.bitemporal.local.engine import LocalRounds
from cepheid.bitemporal.outcome import Outcome
from cepheid.bitemporal.recorder import Recorder
from cepheid.bitemporal.repository import by_round
from cepheid.bitemporal.request import RoundsRequest
from cepheid.bitemporal.rounds import Number, Rounds


def run(request: RoundsRequest) -> Outcome:
    recorder = Recorder(request.names, request.rounds)
    engine = LocalRounds(request, recorder)
    waiting = dict(by_round(request.history.detections, request.rounds))
    for number in eventful(request.rounds, engine, sorted(waiting)):
        for firing in engine.round(number, waiting.get(number, ())):
            recorder.fire(firing)
    return recorder.outcome(len(request.history.detections), engine.refused)


def eventful(rounds: Rounds, engine: LocalRounds, waiting: Sequence[Number]) -> Iterator[Number]:
    """Those of some rounds that have something to do: one of `waiting`, or what is due by then.

    With windows all of them, since something may expire.
    """
    if engine.is_window:
        yield from rounds
        return
    place, number = 0, rounds.first - 1
    while True:
        due = engine.next_due()
        due = None if due is None else rounds.at_or_after(max(due, number + 1))
        told = waiting[place] if place < len(waiting) else None
        found = min((each for each in (due, told) if each is not None), default=None)
        if found is None:
            return
        place += found == told
        number = found
        yield number
