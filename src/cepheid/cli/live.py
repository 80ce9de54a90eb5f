"""`cepheid live`: a program that lives with a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.options import AsJson, Programs, load, one_of, write_file
from cepheid.errors import Diagnostic, InputError, RunError, UsageError, error, reason_of

if TYPE_CHECKING:
    from cepheid import io
    from cepheid.cli.terminal.live_log import LiveLog
    from cepheid.live import Run
    from cepheid.live.change_files import ChangeReader

Metamodel = Annotated[
    str, typer.Option("--metamodel", metavar="FILE", help="The .ecore file of the model's classes.")
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="FILE", help="The model (XMI).", show_default="an empty one"),
]
Changes = Annotated[
    str,
    typer.Option(
        "--changes",
        "-c",
        metavar="FILE",
        help="Changes of the model (JSON Lines, one transaction a line), '-' for standard input.",
    ),
]
Save = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Write the model at the end (XMI).", show_default=False),
]
Record = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Write the events that are no results (JSON Lines), for `cepheid run` of the same program.",
        show_default=False,
    ),
]
Functions = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A Python file whose functions rules call, with the run and what they give.",
        show_default=False,
    ),
]
OnError = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What to do with lines that cannot be read and rules that fail: fail, or skip and count.",
    ),
]
Limit = Annotated[
    int,
    typer.Option(
        metavar="N", min=1, help="How many rules may follow from one event, before it is an error."
    ),
]
Why = Annotated[bool, typer.Option("--why", help="Number everything, and tell what led to it.")]


def live(
    programs: Programs,
    metamodel: Metamodel,
    changes: Changes,
    model: Model = None,
    save: Save = None,
    record: Record = None,
    functions: Functions = None,
    on_error: OnError = "fail",
    limit: Limit = 1_000,
    why: Why = False,
    as_json: AsJson = False,
) -> None:
    """Let a program live with a model that changes.

    Queries (.vql) are kept up to date while transactions change the model;
    what they find, lose and update are events (.vepl), and rules act on them.
    Everything is shown as it happens.

      cepheid live hosts.vepl hosts.vql --metamodel hosts.ecore \\
          --model hosts.xmi --changes monday.jsonl --save after.xmi
      tail -f changes.jsonl | cepheid live ... --changes - --why
    """
    from cepheid import live as models
    from cepheid.cli.terminal.live_log import LiveLog
    from cepheid.cli.terminal.output import spare
    from cepheid.live.change_files import ChangeReader

    skips = one_of(("fail", "skip"), on_error, "--on-error") == "skip"
    read = [name for name in (*programs, metamodel, changes, functions) if name is not None]
    for option, file, inputs in (("--save", save, read), ("--record", record, [*read, model])):
        spare(option, filter(None, [file]), filter(None, inputs))  # a model may stay in its place
    if save is not None and save == record:
        raise UsageError(error("usage", "--save and --record name the same file"))
    program = load(programs)
    called = _functions(functions)
    run = models.open(
        program,
        model,
        metamodel=metamodel,
        functions=called,
        why=why,
        on_error="skip" if skips else "fail",
        limit=limit,
    )
    with ExitStack() as stack:
        log = LiveLog(as_json=as_json, with_causes=why)
        run.listeners.append(log.show)
        if record is not None:
            run.listeners.append(_recorder(record, run, stack))
        reader = ChangeReader(run)
        try:
            _feed(reader, changes, log, skips=skips)
            is_whole = True
        except KeyboardInterrupt:  # the way to end changes that never do
            is_whole = False
    log.end(run, reader.transactions)
    if save is not None:
        models.save_model(run.model, save)
    if not is_whole:
        raise KeyboardInterrupt


def _feed(reader: ChangeReader, changes: str, log: LiveLog, *, skips: bool) -> None:
    """All lines; where mistakes are skipped, they are shown and counted."""

    def on_problem(problem: Diagnostic) -> None:
        if not skips:
            raise InputError(problem)
        log.skip(problem)

    for each in _records(changes, on_problem):
        known = len(reader.run.failures)
        try:
            reader.feed(each)
        except InputError as wrong:
            for problem in wrong.diagnostics:
                on_problem(problem)
        for problem in reader.run.failures[known:]:
            log.skip(problem)


def _records(changes: str, on_problem: Callable[[Diagnostic], None]) -> Iterator[io.Record]:
    from cepheid.io import read_records

    try:
        yield from read_records(changes, on_problem=on_problem)
    except OSError as problem:
        fact = f"cannot read '{changes}': {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None


def _recorder(file: str, run: Run, stack: ExitStack) -> Callable[[object], None]:
    """Writes the events that do not follow from others, and at the end how late it is."""
    from cepheid.core.time import format_instant
    from cepheid.io.encode import encode, to_json
    from cepheid.live import Happened

    write_file(file, "")
    opened = Path(file).open("a", encoding="utf-8", newline="\n")  # noqa: SIM115 (the stack closes it)
    target = stack.enter_context(opened)

    def record(entry: object) -> None:
        if isinstance(entry, Happened) and entry.event.statement is None:
            target.write(to_json(encode(entry.event)) + "\n")
            target.flush()  # whatever ends this process

    stack.callback(lambda: target.write(to_json({"@time": format_instant(run.clock)}) + "\n"))
    return record


def _functions(file: str | None) -> dict[str, Callable[..., object]]:
    """The functions that a Python file defines."""
    if file is None:
        return {}
    import runpy

    try:
        names = runpy.run_path(file)
    except FileNotFoundError:
        raise UsageError(error("missing-file", f"no file '{file}'")) from None
    except Exception as problem:  # whatever the user's file raises
        fact = f"'{file}' cannot be run: {type(problem).__name__}: {problem}"
        raise RunError(error("bad-file", fact)) from None
    return dict(_public(names))


def _public(names: dict[str, object]) -> Iterator[tuple[str, Callable[..., object]]]:
    for name, value in names.items():
        if callable(value) and not name.startswith("_"):
            yield name, value
