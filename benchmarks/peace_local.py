"""The local engine, round by round, as a benchmark takes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

import cepheid as cep
from benchmarks.measure import cpu_seconds
from benchmarks.peace_workloads import Action, Detection, Workload


class CepheidLocal:
    """Through what users call; in memory, as what it stands beside."""

    def __init__(self, workload: Workload, window: str = "buffering") -> None:
        program = cep.parse(workload.text, language="bicepl")
        bitemporal: Any = import_module("cepheid.bitemporal")
        self._rounds = bitemporal.open(program, chronon="3s", engine="local", window=window)

    def preload(self, rounds: Iterable[tuple[int, Sequence[Detection]]]) -> None:
        """By rounds, so that all that came on time has been told."""
        for number, detections in rounds:
            self._rounds.round(number, [one.record() for one in detections])

    def round(self, number: int, detections: Sequence[Detection]) -> tuple[float, list[Action]]:
        records = [one.record() for one in detections]
        told: list[dict[str, Any]] = []
        taken = cpu_seconds(lambda: told.extend(self._rounds.round(number, records)))
        return taken, [_action(row) for row in told]

    def close(self) -> None:
        self._rounds.close()


def _action(row: dict[str, Any]) -> Action:
    cause = row["@cause"]
    arguments = (value for name, value in row.items() if not name.startswith("@"))
    return (row["@type"], cause["@type"], cause["id"], *arguments)
