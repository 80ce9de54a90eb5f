"""The local engine, round by round, as a benchmark takes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast

import cepheid as cep
from benchmarks.measure import cpu_seconds
from benchmarks.peace_workloads import CHRONON, FIRST, Action, Detection, Workload

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BEFORE = 10_000  # rounds, in which all that is preloaded fits


class CepheidLocal:
    """Through what users call, from records to actions; in memory, as what it stands beside."""

    def __init__(self, workload: Workload, window: str = "buffering") -> None:
        first = FIRST if window == "sliding" else FIRST - BEFORE
        self._session = cep.open_rounds(
            cep.parse(workload.text, language="bicepl"),
            chronon="3s",
            start=_time(first * CHRONON),
            window=window,
        )

    def preload(self, rounds: Iterable[tuple[int, Sequence[Detection]]]) -> None:
        """By rounds, so that all that came on time has been told."""
        for number, detections in rounds:
            self._take(number, [_record(one) for one in detections])

    def round(self, number: int, detections: Sequence[Detection]) -> tuple[float, list[Action]]:
        records = [_record(one) for one in detections]
        told: list[cep.Event] = []
        taken = cpu_seconds(lambda: told.extend(self._take(number, records)))
        return taken, [_action(event) for event in told]

    def _take(self, number: int, records: Sequence[object]) -> list[cep.Event]:
        self._session.tell(*records)
        return self._session.advance(_time(number * CHRONON))

    def close(self) -> None:
        """Whatever was kept in memory goes with it."""
        del self._session


def _record(one: Detection) -> dict[str, object]:
    """As a history has it."""
    head: dict[str, object] = {"@type": one.subscribed, "@detected": _time(one.det), "id": one.id}
    if one.occ is None:
        return {**head, "@retracted": True}
    return {**head, "@time": _time(one.occ), "link": one.link, "amount": one.amount}


def _time(instant: int) -> datetime:
    return EPOCH + timedelta(microseconds=instant)


def _action(event: cep.Event) -> Action:
    cause = cast("dict[str, str]", event["@cause"])
    arguments = (value for name, value in event.items() if not name.startswith("@"))
    return event.type, cause["@type"], cause["id"], *cast("Iterable[str | float]", arguments)
