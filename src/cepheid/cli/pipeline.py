"""What the commands do with a pipeline."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from cepheid.cli.options import one_of
from cepheid.errors import Diagnostic, Severity, UsageError, error
from cepheid.jobs.reporting import listener

if TYPE_CHECKING:
    from cepheid.core.event import Event
    from cepheid.pipelines import Pipeline, PipelineResult


def pipeline_file(file: str | None) -> str:
    """The file that was named, or the one that is here."""
    from cepheid.pipelines import FILE

    if file is None and not os.path.exists(FILE):
        fact = f"no program is named, and there is no pipeline, '{FILE}', in this folder"
        raise UsageError(error("usage", fact, hint="name a program, or --pipeline FILE"))
    return FILE if file is None else file


def run_pipeline(
    file: str | None,
    refused: Sequence[str],
    *,
    engine: str,
    types: Sequence[str] | None,
    out: str,
    format: str | None,
    on_error: str,
    outbox: str | None,
) -> None:
    """`cepheid run`: all programs; actions go into the outbox, or are printed."""
    if listener().is_job:
        hint = "name its programs, each in a job of its own"
        raise UsageError(error("usage", "a pipeline does not run as a job", hint=hint))
    from cepheid import pipelines
    from cepheid.cli.action_sink import ActionSink
    from cepheid.cli.run import AUTO
    from cepheid.cli.terminal import run_messages
    from cepheid.cli.terminal.output import FORMATS, output_of, spare_inputs, write
    from cepheid.cli.terminal.progress import ProgressBar
    from cepheid.engines.registry import DEFAULT, ENGINES

    path = pipeline_file(file)
    _refuse(path, refused)
    form = None if format is None else one_of(FORMATS, format, "--format")
    skips = one_of(("fail", "skip"), on_error, "--on-error") == "skip"
    chosen_engine = one_of((AUTO, *ENGINES), engine, "--engine")
    output = output_of(out, form, why=False, is_stream=False)
    pipeline = pipelines.load(path)
    folder = outbox or pipeline.outbox
    chosen = _chosen(pipeline, types)
    names = [*dict.fromkeys(name for each in chosen.values() for name in each)]
    spare_inputs(output, names, pipeline.files())
    with ActionSink(folder) as sink, ProgressBar() as progress:
        result = pipelines.run(
            pipeline,
            engine=DEFAULT if chosen_engine == AUTO else chosen_engine,
            on_error="skip" if skips else "fail",
            progress=progress,
        )
        sink.put(result.actions())
    if folder is None or types or out != "-":  # what waits to be done is not printed unasked
        rows = _rows(result, chosen)
        known = {
            name: type for each in result.results.values() for name, type in each.types.items()
        }
        write(rows, names, known, output)
    skipped = [*result.skipped, *(s for each in result.results.values() for s in each.skipped)]
    run_messages.on_skipped(len(skipped), skipped)
    for each in result.results.values():
        run_messages.on_refused(getattr(each, "refused", {}))


def _chosen(pipeline: Pipeline, names: Sequence[str] | None) -> dict[str, list[str]]:
    """What is printed of each program: the types that it derives; classes only where they are named.

    A class that another program derives is printed as that one knows it.
    """
    from cepheid.cli.run import chosen_types

    if not names:
        return {name: chosen_types(s.program, None) for name, s in pipeline.stages.items()}
    found: dict[str, list[str]] = {name: [] for name in pipeline.stages}
    for name in names:
        owners = [s for s in pipeline.stages.values() if name in (*s.actions, *s.gives)]
        if not owners:
            known = [n for s in pipeline.stages.values() for n in (*s.actions, *s.gives)]
            one_of([*dict.fromkeys(known)], name, "--type")
        makers = [stage for stage in owners if name not in stage.takes]
        for stage in makers or owners[:1]:
            found[stage.name].append(name)
    return found


def _rows(result: PipelineResult, chosen: dict[str, list[str]]) -> list[Event]:
    from cepheid.cli.run import rows_of

    found = [row for name, types in chosen.items() if types for row in rows_of(result[name], types)]
    return sorted(found, key=lambda row: row.instant)


def check_pipeline(
    file: str | None, refused: Sequence[str], without: Collection[str]
) -> tuple[list[Diagnostic], str]:
    """`cepheid check`: the connections, then each program; and what was looked at."""
    from cepheid import pipelines
    from cepheid.cli.terminal.console import counted

    path = pipeline_file(file)
    _refuse(path, refused)
    pipeline, problems = pipelines.check(path)
    findings = list(problems)
    if pipeline is None:
        return findings, f" in {path}"
    for stage in pipeline.stages.values():
        findings += stage.program.check(without=without)
    findings = list(dict.fromkeys(findings))
    if any(finding.severity is Severity.ERROR for finding in findings):
        return findings, f" in {path}"
    parts = [counted(len(pipeline.sources), "source"), counted(len(pipeline.stages), "program")]
    actions = {action for stage in pipeline.stages.values() for action in stage.actions}
    if actions:
        parts.append(counted(len(actions), "kind of action", "kinds of actions"))
    return findings, f": {', '.join(parts)}"


def outbox_and_executors(
    file: str | None, outbox: str | None, executors: str | None
) -> tuple[str, str]:
    """`cepheid act`: what was not named is what the pipeline says."""
    from cepheid import pipelines

    if file is None and not os.path.exists(pipelines.FILE):
        missing = "OUTBOX" if outbox is None else "--executors"
        fact = (
            f"no {missing} is named, and there is no pipeline, '{pipelines.FILE}', in this folder"
        )
        raise UsageError(error("usage", fact, hint="cepheid act OUTBOX --executors FILE"))
    path = pipeline_file(file)
    pipeline = pipelines.load(path)
    folder, by = outbox or pipeline.outbox, executors or pipeline.executors
    if folder is None:
        fact, hint = f"'{path}' names no outbox", 'outbox = "outbox", or cepheid act OUTBOX'
        raise UsageError(error("usage", fact, hint=hint))
    if by is None:
        fact, hint = f"'{path}' has no executors", "[executors.NAME], or --executors FILE"
        raise UsageError(error("usage", fact, hint=hint))
    return folder, by


def _refuse(path: str, options: Sequence[str]) -> None:
    """What a pipeline says is not said again."""
    if options:
        fact = f"{' and '.join(options)}: a pipeline, here '{path}', says that"
        raise UsageError(error("usage", fact, hint="change the file, or name programs instead"))
