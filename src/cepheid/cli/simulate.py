"""`cepheid simulate`: a program over many runs of events that happen by chance."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.options import Programs, load, one_of, write_file
from cepheid.cli.simulation_options import (
    Confidence,
    MostEvents,
    Partitions,
    RunEngine,
    ScenarioFile,
    Seed,
    Until,
    Workers,
    doing_runs,
)
from cepheid.cli.spark_options import Conf, Master, Remote, Verbose

if TYPE_CHECKING:
    from cepheid.simulation.simulate import Simulation

FORMATS = ("table", "csv", "json")


def simulate(
    programs: Programs,
    scenario: ScenarioFile,
    runs: Annotated[int, typer.Option("--runs", "-n", metavar="N", help="How many runs.")] = 256,
    until: Until = None,
    events: MostEvents = None,
    seed: Seed = 0,
    confidence: Confidence = 0.95,
    format: Annotated[
        str,
        typer.Option("--format", "-f", metavar="NAME", help="What to print: table, csv or json."),
    ] = "table",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    plots: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Draw the counts, too.", show_default=False),
    ] = None,
    save_run: Annotated[
        tuple[int, str] | None,
        typer.Option(
            metavar="N FILE",
            help="Write the events of run N, from 0, to be run again.",
            show_default=False,
        ),
    ] = None,
    engine: RunEngine = "local",
    workers: Workers = 1,
    partitions: Partitions = None,
    master: Master = None,
    conf: Conf = None,
    remote: Remote = None,
    verbose: Verbose = False,
) -> None:
    """Run a program over events that happen by chance, and count what it derives.

    Every run has events of its own, made from the scenario, the seed and the
    number of the run. For each event type: how often it happened in a run,
    the interval of the mean, and how many there were for each simple event.

      cepheid simulate alarms.epl --scenario day.toml --runs 256 --until 1d
      cepheid simulate alarms.epl --scenario day.toml --until 1d --plots pictures
      cepheid simulate alarms.epl --scenario day.toml --until 1d --save-run 7 run.jsonl
      cepheid run alarms.epl --events run.jsonl
    """
    from cepheid import verbs
    from cepheid.simulation.simulate import expect_run

    form = "json" if as_json else one_of(FORMATS, format, "--format")
    if plots is not None:
        from cepheid.drawing.plots import require_matplotlib

        require_matplotlib()
    if save_run is not None:
        from cepheid.cli.terminal.output import spare

        expect_run(save_run[0], runs)
        spare("--save-run", [save_run[1]], [*programs, scenario])
    program = load(programs)
    begin = time.perf_counter()
    with doing_runs(engine, master=master, conf=conf, remote=remote, verbose=verbose) as progress:
        found = verbs.simulate(
            program,
            scenario,
            runs=runs,
            until=until,
            events=events,
            seed=seed,
            confidence=confidence,
            engine=engine,
            workers=workers,
            partitions=partitions,
            progress=progress,
        )
    taken = time.perf_counter() - begin
    if save_run is not None:
        write_file(save_run[1], found.run(save_run[0]).text())
    if plots is not None:
        from cepheid.simulation.plots import draw

        draw(found, plots)
    _print(found, form)
    _remark(found, taken)


def _print(found: Simulation, form: str) -> None:
    if form == "json":
        typer.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
    elif form == "csv":
        typer.echo(found.to_csv(), nl=False)
    else:
        _print_table(found)


def _print_table(found: Simulation) -> None:
    from cepheid.cli.terminal.console import out
    from cepheid.cli.terminal.diagnostics import one_line
    from cepheid.cli.terminal.text_table import Column, TextTable

    percent = f"{100 * found.confidence:g} %"
    heads = ("min", "max", "median", "mean", f"{percent} interval", "sd", "ratio")
    table = TextTable([Column("event"), *(Column(head, "right") for head in heads)])
    for name, s in found.events.items():
        ratio = found.ratios.get(name)
        table.add(
            one_line(name),
            f"{s.min:,}",
            f"{s.max:,}",
            f"{s.median:,g}",
            _short(s.mean),
            f"{_short(s.ci.low)} to {_short(s.ci.high)}",
            _short(s.sd),
            "" if ratio is None else f"{ratio:.3g}",
        )
    out().print(table)


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 1_000 else f"{number:.4g}"


def _remark(found: Simulation, taken: float) -> None:
    """What the table is made of; how long it took, for those who have waited."""
    from cepheid.cli.terminal.console import counted, err
    from cepheid.cli.terminal.run_messages import remark

    simple = int(found.counts[:, : len(found.job.scenario.types)].sum())
    made = f"{counted(found.runs, 'run')}, {counted(simple, 'simple event')}, seed {found.seed}"
    remark(f"{made}, {taken:.1f} s" if err().is_terminal else made)
