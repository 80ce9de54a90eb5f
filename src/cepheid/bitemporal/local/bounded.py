"""A whole history in rounds."""

from __future__ import annotations

from cepheid.bitemporal.local.session import LocalSession
from cepheid.bitemporal.outcome import Outcome
from cepheid.bitemporal.recorder import Recorder
from cepheid.bitemporal.request import RoundsRequest


def run(request: RoundsRequest) -> Outcome:
    recorder = Recorder(request.names, request.rounds)
    session = LocalSession(request, recorder)
    session.wait(request.history.detections)
    for firing in session.advance(request.rounds.last):
        recorder.fire(firing)
    return recorder.outcome(len(request.history.detections), session.engine.refused)
