"""Plays a replay: lets its time pass as fast as somebody wants it, and does what keys say."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from cepheid.actions.clock import Clock
from cepheid.cli.terminal.keys import BACK, FASTER, PAUSE, QUIT, SLOWER, STEP, Keys
from cepheid.core.time import SECOND
from cepheid.verbs.replay import Moment, Replay

MAX = math.inf  # a speed that waits for nothing
SPEEDS = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400, MAX)
FRAME = 0.1  # seconds


class Player:
    """What a person at the keys wants; `draw` is told after each change."""

    def __init__(
        self,
        replay: Replay,
        *,
        speed: float,
        is_paused: bool,
        stop: Collection[str],
        keys: Keys,
        clock: Clock,
        draw: Callable[[Player], None],
    ) -> None:
        self.replay = replay
        self.speed = speed
        self.is_paused = is_paused
        self.stopped_at: str | None = None  # what the last move stopped for
        self.latest: Sequence[Moment] = ()  # what happened last
        self._stop = stop
        self._keys = keys
        self._clock = clock
        self._draw = draw
        self._seen = clock.now()

    def play(self) -> None:
        """Until somebody quits; where nobody can, to the end or to where it stops."""
        self._moved(self.replay.enter(self._stop))
        while True:
            self._draw(self)
            if not self._keys.are_real and (self.is_paused or self.replay.is_over):
                return
            key = self._keys.wait(None if self.is_paused else self._rest())
            if key == QUIT:
                return
            if key is not None:
                self._pressed(key)
            if not self.is_paused:
                self._pass()

    def _rest(self) -> float:
        """Seconds up to the next frame; nobody looks at those of a run at full speed."""
        return 0 if self.speed == MAX and not self._keys.are_real else FRAME

    def _pass(self) -> None:
        now = self._clock.now()
        gone, self._seen = now - self._seen, now
        if self.speed == MAX:
            self._moved(self.replay.to_next(self._stop))
        else:
            length = int(gone * self.speed * SECOND)
            self._moved(self.replay.move(self.replay.time + length, self._stop))

    def _pressed(self, key: str) -> None:
        if key == PAUSE:
            self.is_paused = not self.is_paused or self.replay.is_over
            self.stopped_at = None
            self._seen = self._clock.now()  # a pause is no time
        elif key == STEP:
            self.is_paused = True
            self._moved(self.replay.step(self._stop))
        elif key == BACK:
            self.is_paused = True
            self.replay.back()
            last = self.replay.moment()
            self.latest, self.stopped_at = [last] if last else (), None
        elif key in (FASTER, SLOWER):
            self._change_speed(key)

    def _change_speed(self, key: str) -> None:
        if key == FASTER:
            self.speed = min((s for s in SPEEDS if s > self.speed), default=self.speed)
        else:
            self.speed = max((s for s in SPEEDS if s < self.speed), default=self.speed)

    def _moved(self, passed: Sequence[Moment]) -> None:
        if passed:
            self.latest = passed
        hit = passed[-1].names & set(self._stop) if passed else set()
        self.stopped_at = ", ".join(sorted(hit)) or None
        self.is_paused = self.is_paused or bool(hit) or self.replay.is_over
