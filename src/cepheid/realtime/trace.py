"""A real run in the trace format of Chrome, for chrome://tracing and Perfetto: a row for each processor."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cepheid.realtime.dispatcher import Entry
from cepheid.realtime.machine import Run, Take


def chrome_trace(entries: Sequence[Entry]) -> str:
    """Jobs as boxes, and how much waited at each priority as curves."""
    begin = entries[0].begin if entries else 0
    events: list[dict[str, object]] = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "cepheid"}}
    ]
    for entry in entries:
        at = (entry.begin - begin) / 1_000
        events.append(
            {
                "ph": "X",
                "pid": 1,
                "tid": entry.processor,
                "ts": at,
                "dur": (entry.end - entry.begin) / 1_000,
                "name": _name(entry),
                "cat": f"priority {entry.job.level}",
                "args": {"priority": entry.job.level},
            }
        )
        waiting = {f"priority {level}": sum(each) for level, each in entry.waiting.items()}
        events.append({"ph": "C", "pid": 1, "ts": at, "name": "waiting", "args": waiting})
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})


def _name(entry: Entry) -> str:
    job = entry.job
    if isinstance(job, Take):
        return f"take {job.sample.source}"
    return job.operator.name if isinstance(job, Run) else f"move to {job.operator.name}"
