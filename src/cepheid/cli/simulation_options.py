"""Options that `simulate` and `verify` share: what happens by chance, and where runs are done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cepheid.cli.options import one_of
from cepheid.engines.registry import Offer, either, engines_that

if TYPE_CHECKING:
    from cepheid.cli.terminal.progress import ProgressBar

_SCENARIO = typer.Option(
    "--scenario",
    "-s",
    metavar="FILE",
    help="Which events happen by chance: TOML.",
    show_default=False,
)
ScenarioFile: TypeAlias = Annotated[str, _SCENARIO]
ScenarioFileIfAny: TypeAlias = Annotated[str | None, _SCENARIO]
Until: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="How long a run lasts: 1d, '12 hours', '90 seconds'.",
        show_default="as the scenario says",
    ),
]
MostEvents: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--events", metavar="N", help="A run ends after so many events.", show_default=False
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option(metavar="N", help="The same seed gives the same runs.")
]
Confidence: TypeAlias = Annotated[
    float, typer.Option(metavar="P", help="Of the intervals, between 0 and 1.")
]
_ABLE = engines_that(Offer.MANY_RUNS)
RunEngine: TypeAlias = Annotated[
    str, typer.Option("--engine", metavar="NAME", help=f"Where runs are done: {either(_ABLE)}.")
]
Workers: TypeAlias = Annotated[
    int, typer.Option(metavar="N", help="Processes of this machine that do the runs.")
]
Partitions: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="N", help="Tasks of Spark that do the runs.", show_default=False),
]


@contextmanager
def doing_runs(
    engine: str,
    *,
    master: str | None,
    conf: Sequence[str] | None,
    remote: str | None,
    verbose: bool,
) -> Iterator[ProgressBar]:
    """With a Spark session where one is asked for, and a progress bar that counts runs."""
    from cepheid.cli.spark_options import spark_session
    from cepheid.cli.terminal.progress import ProgressBar

    with ExitStack() as stack:
        if one_of(_ABLE, engine, "--engine") == "spark":
            session = spark_session(master=master, conf=conf, remote=remote, verbose=verbose)
            stack.enter_context(session)
        yield stack.enter_context(ProgressBar(step=1))
