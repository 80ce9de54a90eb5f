"""Crash as a row pattern of Flink SQL; runs in Flink's own environment.

    python match.py batch|streaming EVENTS WARM_UP FOLDER PARALLELISM

Finds the crashes of a small file to get warm and then those of EVENTS, which go to FOLDER as CSV, and
prints, as JSON, the seconds of the second run and the versions of what ran.
"""

from __future__ import annotations

import json
import sys
import time

from pyflink.java_gateway import get_gateway  # type: ignore[import-not-found]
from pyflink.table import (  # type: ignore[import-not-found]
    EnvironmentSettings,
    TableEnvironment,
)
from pyflink.version import __version__  # type: ignore[import-not-found]

# Events of one time are not late among each other: the watermark stays a millisecond behind.
EVENTS = """
create table {name} (
    id bigint, ts bigint, motorbikeId int, speed int,
    happened as to_timestamp_ltz(ts, 3),
    watermark for happened as happened - interval '0.001' second
) with ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""
ROWS = """
create table {name} (a1 bigint, a2 bigint)
with ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""
CRASH = """
insert into {rows} select a1, a2 from {events} match_recognize (
    partition by motorbikeId
    order by happened
    measures A.id as a1, C.id as a2
    one row per match
    after match skip to next row
    pattern (A B*? C) within interval '3' second
    define A as A.speed >= 50, C as C.speed = 0
)
"""


def main(mode: str, events: str, warm_up: str, folder: str, parallelism: str) -> None:
    settings = EnvironmentSettings.new_instance()
    settings = settings.in_batch_mode() if mode == "batch" else settings.in_streaming_mode()
    environment = TableEnvironment.create(settings.build())
    environment.get_config().set("parallelism.default", parallelism)
    if mode == "streaming":  # its files are complete only with a checkpoint
        environment.get_config().set("execution.checkpointing.interval", "10 s")
    for name, path, rows in (
        ("Few", warm_up, f"{folder}/few"),
        ("Every", events, f"{folder}/every"),
    ):
        environment.execute_sql(EVENTS.format(name=f"{name}Event", path=path))
        environment.execute_sql(ROWS.format(name=f"{name}Crash", path=rows))
        begin = time.perf_counter()
        insert = CRASH.format(events=f"{name}Event", rows=f"{name}Crash")
        environment.execute_sql(insert).wait()
        taken = time.perf_counter() - begin
    java = get_gateway().jvm.System.getProperty("java.version")
    print(json.dumps({"seconds": taken, "versions": f"Flink {__version__} on Java {java}"}))


if __name__ == "__main__":
    main(*sys.argv[1:])
