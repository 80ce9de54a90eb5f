"""`cepheid graph check`: mistakes in a graph, and whether it will be in time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Annotated

import typer

from cepheid.cli.check import summary
from cepheid.cli.exits import code_of_findings
from cepheid.cli.graph.options import (
    File,
    NoPriorities,
    NoSharing,
    Processors,
    TimesFile,
    times_of,
    wanted,
)
from cepheid.cli.options import AsJson, write_file
from cepheid.errors import CepheidError, Diagnostic, UsageError, error, warning

if TYPE_CHECKING:
    from cepheid.realtime.graph import Graph
    from cepheid.realtime.prediction.forecast import Forecast, Prediction

_HARDLY = 0.01  # times the rates: as good as nothing


def check(
    file: File,
    processors: Processors = None,
    no_sharing: NoSharing = False,
    no_priorities: NoPriorities = False,
    times: TimesFile = None,
    save_times: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the times (JSON).", show_default=False),
    ] = None,
    no_times: Annotated[
        bool,
        typer.Option("--no-times", help="Only look for mistakes: measure and predict nothing."),
    ] = False,
    draw: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the graph: .svg.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find mistakes in a graph, and predict whether its consumers are served in time.

    Names, types, sizes, rates and what could be shared are checked. Then its
    operators are measured on this machine, and a bound is computed for the
    response of each consumer. The exit code is 1 if there are errors or
    warnings, such as a deadline that may be missed.

      cepheid graph check driving.toml
      cepheid graph check driving.toml --draw driving.svg --save-times here.json
      cepheid graph check driving.toml --times there.json --processors 4
    """
    from cepheid.cli.terminal.output import spare
    from cepheid.realtime.calibration import save_times as save
    from cepheid.realtime.checking import checked
    from cepheid.realtime.drawing import to_svg
    from cepheid.realtime.prediction.forecast import predict
    from cepheid.realtime.reading import read

    if draw is not None and not draw.endswith(".svg"):
        raise UsageError(error("usage", f"no graph can be drawn as '{draw}'", hint="name an .svg"))
    if no_times and (times is not None or save_times is not None):
        raise UsageError(error("usage", "--no-times leaves nothing to --times and --save-times"))
    read_files = [*filter(None, (file, times))]
    spare("--draw", filter(None, [draw]), read_files)
    spare("--save-times", filter(None, [save_times]), read_files)
    found, findings = read(file)
    prediction: Prediction | None = None
    if found is not None:
        findings = [*findings, *_of_files(found[0].graph)]
        graph = wanted(found[0].graph, no_sharing=no_sharing, no_priorities=no_priorities)
        as_it_runs = checked(graph)
        if draw is not None:
            write_file(draw, to_svg(graph, as_it_runs.payloads))
        if not no_times:
            known = times_of(as_it_runs, times)
            if save_times is not None:
                save(known, save_times)
            prediction = predict(graph, known, processors or found[0].processors)
            findings = [*findings, *_late(prediction)]
    if as_json:
        typer.echo(json.dumps(_json(findings, prediction), indent=2, ensure_ascii=False))
    else:
        _print(findings, prediction)
    raise typer.Exit(code_of_findings(findings))


def _of_files(graph: Graph) -> Sequence[Diagnostic]:
    """What is wrong with the events of files, as a run would find it."""
    from cepheid.realtime.recorded import traces_of

    try:
        traces_of(graph)
    except CepheidError as wrong:
        return wrong.diagnostics
    return ()


def _late(prediction: Prediction) -> Iterator[Diagnostic]:
    """What a prediction warns of."""
    from cepheid.realtime.drawing import shown_time

    if prediction.load >= 1:
        fact = f"processors would have to work {prediction.load:.0%} of their time"
        yield warning("saturated", fact, hint="lower rates, share work, or add processors")
    for name, forecast in prediction.consumers.items():
        deadline = forecast.consumer.deadline
        if not forecast.is_timely and deadline is not None:
            bound = forecast.bound
            takes = "have no bound" if bound is None else f"can take {shown_time(bound)}"
            fact = f"'{name}' may miss its deadline of {shown_time(deadline)}: responses {takes}"
            yield warning("missed-deadline", fact, hint=_limit(forecast))
        elif forecast.may_expire and forecast.consumer.late == "shed":
            fact = f"events for '{name}' may expire before they are delivered, and are shed then"
            yield warning("missed-deadline", fact, hint="a longer validity, or suppliers in step")


def _limit(forecast: Forecast) -> str:
    if forecast.limit < _HARDLY:
        return "at no rate is it kept: single runs can take too long, as they were measured"
    return f"it is kept up to {forecast.limit:.2g} times the rates"


def _print(findings: Sequence[Diagnostic], prediction: Prediction | None) -> None:
    from cepheid.cli.graph.tables import prediction_table
    from cepheid.cli.terminal.console import out
    from cepheid.cli.terminal.diagnostics import show

    console = out()
    show(findings, console)
    if prediction is not None:
        console.print(prediction_table(prediction))
        console.print(
            f"load {prediction.load:.0%} of {prediction.processors} processor"
            f"{'' if prediction.processors == 1 else 's'}; saturated at "
            f"{prediction.saturation:.3g} times the rates"
        )
    console.print(summary(findings), soft_wrap=True)


def _json(findings: Sequence[Diagnostic], prediction: Prediction | None) -> dict[str, object]:
    found: dict[str, object] = {"findings": [each.to_json() for each in findings]}
    if prediction is not None:
        found["load"] = prediction.load
        found["saturation"] = _finite(prediction.saturation)
        found["consumers"] = {
            name: {
                "priority": each.consumer.priority,
                "deadline": each.consumer.deadline,
                "bound": each.bound,
                "holds": each.holds,
                "expires": each.may_expire,
                "losing": each.losing,
                "limit": _finite(each.limit),
            }
            for name, each in prediction.consumers.items()
        }
    return found


def _finite(factor: float) -> float | None:
    """JSON has no number for what nothing limits."""
    return None if factor == inf else factor
