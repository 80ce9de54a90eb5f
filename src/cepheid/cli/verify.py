"""`cepheid verify`: how probable it is that a property of a program is broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.exits import FOUND, GOOD, UNDECIDED
from cepheid.cli.options import AsJson, ProgramsIfAny, load, one_of, write_file
from cepheid.cli.simulation_options import (
    Confidence,
    MostEvents,
    Partitions,
    RunEngine,
    ScenarioFileIfAny,
    Seed,
    Until,
    Workers,
    doing_runs,
)
from cepheid.cli.spark_options import Conf, Master, Remote, Verbose
from cepheid.errors import UsageError, error

if TYPE_CHECKING:
    from cepheid.simulation.statistics import SamplePlan
    from cepheid.simulation.verify import Verdict

_SHOWN = 20  # lines of a trace that are printed


def verify(
    programs: ProgramsIfAny = None,
    scenario: ScenarioFileIfAny = None,
    property: Annotated[
        str | None,
        typer.Option(
            "--property",
            "-p",
            metavar="NAME",
            help="A pattern with @Property.",
            show_default="the only one",
        ),
    ] = None,
    confidence: Confidence = 0.95,
    precision: Annotated[
        float, typer.Option(metavar="D", help="How far the estimate may be off.")
    ] = 0.03,
    expected: Annotated[
        float,
        typer.Option(metavar="P", help="The probability as far as it is known beforehand."),
    ] = 0.5,
    z: Annotated[
        str,
        typer.Option(
            "--z",
            metavar="NAME",
            help="The quantile that counts the runs: exact, and rounded up; or paper, with two"
            " decimals, and rounded to the nearest.",
        ),
    ] = "exact",
    runs: Annotated[
        int | None,
        typer.Option("--runs", "-n", metavar="N", help="How many runs.", show_default="as needed"),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only say how many runs are needed; needs no program.")
    ] = False,
    bound: Annotated[
        float,
        typer.Option(metavar="P", help="The share of runs in which the property may be broken."),
    ] = 0.0,
    sequential: Annotated[
        bool,
        typer.Option(
            "--sequential",
            help="Stop as soon as the answer is clear; with --bound, as far as the precision tells.",
        ),
    ] = False,
    interval: Annotated[
        str, typer.Option(metavar="NAME", help="exact (Clopper-Pearson) or wilson.")
    ] = "exact",
    against: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A scenario to compare with.", show_default=False),
    ] = None,
    until: Until = None,
    events: MostEvents = None,
    seed: Seed = 0,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the events that break the property, to be run again.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    engine: RunEngine = "local",
    workers: Workers = 1,
    partitions: Partitions = None,
    master: Master = None,
    conf: Conf = None,
    remote: Remote = None,
    verbose: Verbose = False,
) -> None:
    """Find out how often a property holds in runs of events that happen by chance.

    A property is a pattern with @Property(kind='never'), 'eventually' or
    'always'. There are as many runs as confidence and precision need. A
    property that is broken comes with the fewest events that break it. The
    exit code is 1 if the property does not hold, and 3 if the runs leave it
    open.

      cepheid verify alarms.epl --scenario day.toml --property NoFire --until 1d
      cepheid verify alarms.epl --scenario day.toml --property NoFire --until 1d --trace fire.jsonl
      cepheid verify --confidence 0.99 --precision 0.01 --plan
      cepheid verify alarms.epl --scenario day.toml --bound 0.1 --sequential --until 1d
    """
    from cepheid import verbs
    from cepheid.cli.terminal.output import spare
    from cepheid.simulation.properties import property_of
    from cepheid.simulation.scenario import read_scenario
    from cepheid.simulation.statistics import METHODS, QUANTILES
    from cepheid.simulation.statistics import plan as plan_runs

    chosen_z = one_of(QUANTILES, z, "--z")
    method = one_of(METHODS, interval, "--interval")
    needed = plan_runs(confidence, precision, expected, chosen_z)
    if plan:
        _print_plan(needed, as_json=as_json)
        return
    if not programs or scenario is None:
        fact = f"a property needs a program{' and a scenario' if programs else ''}"
        hint = "cepheid verify alarms.epl --scenario day.toml; --plan alone says how many runs it takes"
        raise UsageError(error("usage", fact, hint=hint))
    program = load(programs)
    property_of(program.resolve(), property)
    scenarios = [read_scenario(file) for file in (scenario, against) if file is not None]
    if trace is not None:
        spare("--trace", [trace], [*programs, scenario, *([against] if against else [])])
    with doing_runs(engine, master=master, conf=conf, remote=remote, verbose=verbose) as progress:
        found = verbs.verify(
            program,
            scenarios[0],
            property,
            confidence=confidence,
            precision=precision,
            expected=expected,
            z=chosen_z,
            runs=runs,
            until=until,
            events=events,
            seed=seed,
            bound=bound,
            sequential=sequential,
            interval=method,
            against=scenarios[1] if against is not None else None,
            engine=engine,
            workers=workers,
            partitions=partitions,
            progress=progress,
        )
    if trace is not None and found.trace is not None:
        write_file(trace, found.trace.text())
    if as_json:
        typer.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
    else:
        _print(found, is_planned=runs is None, trace=trace)
    raise typer.Exit(UNDECIDED if found.holds is None else GOOD if found.holds else FOUND)


def _print_plan(plan: SamplePlan, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(plan.to_json(), indent=2))
        return
    confidence = f"{100 * plan.confidence:g} percent"
    typer.echo(f"{plan.runs:,} runs for ±{plan.precision:g} at {confidence}: {plan.reason}")


def _print(found: Verdict, *, is_planned: bool, trace: str | None) -> None:
    from cepheid.cli.terminal.console import counted, out
    from cepheid.simulation.wording import answer, comparison, left_out, reasons

    console = out()
    lines = [answer(found), *reasons(found, is_planned=is_planned)]
    if found.difference is not None:
        lines.append(comparison(found))
    for line in lines:
        console.print(line, soft_wrap=not console.is_terminal)
    if found.trace is None:
        return
    if trace is not None:
        count = counted(len(found.trace.events), "event")
        console.print(f"A trace that breaks it, {count}: {trace}")
        _print_left_out(left_out(found))
        return
    texts = found.trace.lines()
    console.print("Events that break it:" if len(texts) <= _SHOWN else _too_long(len(texts)))
    for text in texts[:_SHOWN]:
        console.print(f"  {text}", soft_wrap=True)
    _print_left_out(left_out(found))


def _print_left_out(text: str) -> None:
    if text:
        typer.echo(text)


def _too_long(count: int) -> str:
    return f"The first of {count:,} lines that break it; --trace FILE writes all of them:"
