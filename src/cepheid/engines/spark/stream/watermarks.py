"""Our watermark and Spark's, and how time goes on where nothing comes."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.core.time import FIRST_INSTANT, Instant, Period

_MILLISECOND = 1_000  # microseconds


@dataclass(frozen=True, slots=True)
class IdleSince:
    """That Spark's watermark has not moved, and since when; both in milliseconds."""

    watermark: int
    since: int  # on the clock on the wall


@dataclass(frozen=True, slots=True)
class Watermarks:
    """Our watermark and Spark's: the largest time of earlier micro-batches minus the delay.

    Both count milliseconds. Spark's begins at zero and never goes below, so that no time before the
    epoch would move it. Hence it is told *moments*: times since an origin before which there are none.
    A frame that brings a watermark of its own counts from the epoch, and what newer events promise is
    not known: it may wait for other sources.
    """

    delay: int
    origin: int = FIRST_INSTANT // 1_000 - 1
    is_brought: bool = False

    @classmethod
    def of(cls, delay: Period) -> Watermarks:
        return cls(milliseconds(delay))

    @classmethod
    def brought(cls, delay: Period) -> Watermarks:
        return cls(milliseconds(delay), origin=0, is_brought=True)

    def moment(self, instant: Instant) -> int:
        """What Spark is told of an instant, in microseconds."""
        return instant - self.origin * _MILLISECOND

    def ours(self, sparks: int) -> Instant | None:
        """Our watermark, from Spark's; that is zero as long as there is none."""
        return (sparks + self.origin) * _MILLISECOND if sparks > 0 else None

    def promised(self, newest: Instant) -> Instant | None:
        """Where our watermark will be at least, in the next micro-batch, after such an event."""
        if self.is_brought:
            return None
        return self.ours(self.moment(newest) // _MILLISECOND - self.delay)

    def idle(self, idle_since: IdleSince, now: int, idle_timeout: int) -> Instant | None:
        """Our watermark when nothing newer has come for longer than the idle timeout.

        Then the newest event counts as passed, and time goes on from it with the clock on the wall.
        """
        over = now - idle_since.since - idle_timeout
        if idle_since.watermark <= 0 or over < 0:
            return None
        return self.ours(idle_since.watermark + self.delay + over)

    def timeout(self, instant: Instant) -> int:
        """What makes Spark call when our watermark has reached an instant.

        Spark calls when its watermark has passed a timeout, which must be positive.
        """
        reached = -(-self.moment(instant) // _MILLISECOND)
        return max(reached - 1, 1)


def milliseconds(period: Period) -> int:
    return -(-period.microseconds // _MILLISECOND)
