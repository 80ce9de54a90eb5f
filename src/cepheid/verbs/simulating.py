"""Programs over events by chance: many runs, and what they say of a property."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cepheid.engines.common.progress import Progress, no_progress
from cepheid.engines.registry import DEFAULT as LOCAL
from cepheid.engines.registry import Offer, engine_named
from cepheid.errors import UsageError, error
from cepheid.verbs.arguments import MAKE_ONE, choose, count, expect, share
from cepheid.verbs.program import Program

if TYPE_CHECKING:
    from cepheid.core.time import Period
    from cepheid.simulation.simulate import Simulation, Where
    from cepheid.simulation.statistics import Method, Quantile
    from cepheid.simulation.verify import Verdict


def simulate(
    program: Program,
    scenario: object,
    *,
    runs: int = 256,
    until: str | float | Period | None = None,
    events: int | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    engine: str = LOCAL,
    workers: int = 1,
    partitions: int | None = None,
    progress: Progress = no_progress,
) -> Simulation:
    """Runs a program many times over events made by chance, and counts what happens in each run.

    The scenario is a TOML file, a dictionary of the same form, or a `Scenario`. A run lasts `until`
    ('1 day', seconds), or until there were so many `events`; the scenario may say it, too. A run
    depends on the `seed` and its own number alone, so `engine` ('local' or 'spark'), `workers`
    (processes) and `partitions` (of Spark) change nothing but the time it takes.
    """
    from cepheid.simulation.scenario import scenario_of
    from cepheid.simulation.simulate import simulate as run_many

    expect(program, Program, "a program", MAKE_ONE)
    count(runs, "runs")
    share(confidence, "confidence")
    with program.sources_told():
        return run_many(
            program.resolve(),
            scenario_of(scenario),
            runs=runs,
            until=until,
            events=None if events is None else count(events, "events"),
            seed=count(seed, "seed", least=0),
            confidence=confidence,
            where=_where(engine, workers, partitions),
            progress=progress,
        )


def verify(
    program: Program,
    scenario: object,
    property: str | None = None,
    *,
    confidence: float = 0.95,
    precision: float = 0.03,
    expected: float = 0.5,
    z: Quantile = "exact",
    runs: int | None = None,
    until: str | float | Period | None = None,
    events: int | None = None,
    seed: int = 0,
    bound: float = 0.0,
    sequential: bool = False,
    interval: Method = "exact",
    against: object = None,
    engine: str = LOCAL,
    workers: int = 1,
    partitions: int | None = None,
    progress: Progress = no_progress,
) -> Verdict:
    """How probable it is that a property of a program is broken, and a trace that breaks it.

    There are as many runs as confidence and precision need where `expected` is the probability in
    question; `z='paper'` counts with quantiles of two decimals. `bound` allows a property to be broken
    in that share of the runs. `sequential` stops as soon as the answer is clear; with a bound, it gives
    no verdict where the truth is within the precision of it. `against` is another scenario, to be
    compared with the first. The rest is as for `simulate`.
    """
    from cepheid.simulation.scenario import scenario_of
    from cepheid.simulation.statistics import METHODS, QUANTILES, SequentialTest, plan
    from cepheid.simulation.verify import verify as look_into

    expect(program, Program, "a program", MAKE_ONE)
    choose(z, QUANTILES, "quantile")
    choose(interval, METHODS, "interval")
    needed = plan(confidence, precision, expected, z)
    if bound:
        share(bound, "bound")
    if bound and sequential:
        SequentialTest(bound, precision, confidence)  # refuses what it cannot decide
    if against is not None and sequential:
        fact = "a comparison needs as many runs of both scenarios"
        raise UsageError(error("usage", fact, hint="leave out sequential"))
    with program.sources_told():
        return look_into(
            program.resolve(),
            scenario_of(scenario),
            property,
            plan=needed,
            runs=None if runs is None else count(runs, "runs"),
            until=until,
            events=None if events is None else count(events, "events"),
            seed=count(seed, "seed", least=0),
            bound=bound,
            is_sequential=sequential,
            method=interval,
            against=None if against is None else scenario_of(against),
            where=_where(engine, workers, partitions),
            progress=progress,
        )


def _where(engine: str, workers: int, partitions: int | None) -> Where:
    from cepheid.simulation.simulate import Where

    engine_named(engine, Offer.MANY_RUNS)
    parts = None if partitions is None else count(partitions, "partitions")
    return Where(engine=engine, workers=count(workers, "workers"), partitions=parts)
