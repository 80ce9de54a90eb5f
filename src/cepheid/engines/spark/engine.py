"""Spark: the running session or a new one, over files, tables of the session and everything else."""

from __future__ import annotations

import os

from cepheid.engines.common.gaps import no_gaps
from cepheid.engines.common.intake import are_small
from cepheid.engines.common.request import Outcome, RunRequest
from cepheid.engines.common.table_names import is_table
from cepheid.engines.spark.run import run_files, run_records, run_tables
from cepheid.engines.spark.session.spark_session import session
from cepheid.errors import UsageError, error
from cepheid.io.read import expand
from cepheid.io.source import unwrapped
from cepheid.io.sources import tables_of

# Workers run the matcher, and the reference semantics where that has a gap.
gaps = no_gaps


def run(request: RunRequest) -> Outcome:
    given = [unwrapped(source)[0] for source in request.sources]
    tables = [is_table(data) for data in given]
    if any(tables) and not all(tables):
        raise UsageError(error("usage", "events come from tables or from files, not from both"))
    if not any(tables):  # what is missing is said before Spark starts
        expand(os.fsdecode(data) for data in given if isinstance(data, str | os.PathLike))
    spark = session()
    if any(tables):
        return run_tables(request, spark)
    files = _large_files(request)
    found = run_files(request, files, spark) if files else None
    return run_records(request, spark) if found is None else found


def _large_files(request: RunRequest) -> list[str]:
    """The files that events consist of, if all have plain columns and reading these is worth it."""
    tables = tables_of(request.sources, request.placement) or []
    are_plain = all(isinstance(table.data, str) and not table.placement for table in tables)
    return [t.data for t in tables] if are_plain and not are_small(tables) else []
