"""Spark: the running session or a new one, over files, tables of the session and everything else."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.engines.common.gaps import no_gaps
from cepheid.engines.common.intake import are_small
from cepheid.engines.common.request import Outcome, RunRequest
from cepheid.engines.common.table_names import is_table, name_of_table
from cepheid.engines.spark.run import run_files, run_records, run_tables
from cepheid.engines.spark.session.spark_session import session
from cepheid.errors import UsageError, error
from cepheid.io.sources import tables_of

# Workers run the matcher, and the reference semantics where that has a gap.
gaps = no_gaps


def run(request: RunRequest) -> Outcome:
    sources = request.sources
    tables = [name_of_table(source) for source in sources if is_table(source)]
    if tables and len(tables) < len(sources):
        raise UsageError(error("usage", "events come from tables or from files, not from both"))
    program, spark = request.program, session()
    start, timed_out = request.start, request.timed_out
    if tables:
        return run_tables(program, tables, spark, start=start, timed_out=timed_out)
    found: Outcome | None = None
    if files := _large_files(sources):
        found = run_files(
            program, files, spark, start=start, timed_out=timed_out, progress=request.progress
        )
    if found is None:
        found = run_records(
            program,
            request.records(),
            spark,
            start=start,
            timed_out=timed_out,
            on_problem=request.on_problem,
            progress=request.progress,
        )
    return found


def _large_files(sources: Sequence[object]) -> list[str]:
    """The files that events consist of, if all have columns and reading these is worth it."""
    tables = tables_of(sources) or []
    are_files = all(isinstance(table.data, str) for table in tables)
    return [t.data for t in tables] if are_files and not are_small(tables) else []
