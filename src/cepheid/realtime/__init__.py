"""Operator graphs in real time: priorities, sharing, validity and shedding.

from cepheid import realtime

graph = realtime.load("driving.toml").graph
print(realtime.simulate(graph).consumers["brake"].count)
ran = realtime.run(graph, seconds=10)
print(ran.metrics.consumers["brake"].latencies.quantile(0.99))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cepheid.realtime.calibration import Cost as Cost
    from cepheid.realtime.calibration import Times as Times
    from cepheid.realtime.calibration import calibrate as calibrate
    from cepheid.realtime.calibration import load_times as load_times
    from cepheid.realtime.calibration import save_times as save_times
    from cepheid.realtime.checking import Checked as Checked
    from cepheid.realtime.checking import check as check
    from cepheid.realtime.checking import checked as checked
    from cepheid.realtime.drawing import to_svg as to_svg
    from cepheid.realtime.edges.opening import open_sink as open_sink
    from cepheid.realtime.graph import Consumer as Consumer
    from cepheid.realtime.graph import Graph as Graph
    from cepheid.realtime.graph import Operator as Operator
    from cepheid.realtime.graph import Supplier as Supplier
    from cepheid.realtime.graph import variant as variant
    from cepheid.realtime.machine import Delivery as Delivery
    from cepheid.realtime.metrics import Metrics as Metrics
    from cepheid.realtime.payload import Payload as Payload
    from cepheid.realtime.prediction.forecast import Prediction as Prediction
    from cepheid.realtime.prediction.forecast import predict as predict
    from cepheid.realtime.programs import with_statements as with_statements
    from cepheid.realtime.reading import load as load
    from cepheid.realtime.running import Ran as Ran
    from cepheid.realtime.running import run as run
    from cepheid.realtime.running import simulate as simulate
    from cepheid.realtime.spark.frames import on_spark as on_spark

_HOMES = {
    "Checked": "checking",
    "Consumer": "graph",
    "Cost": "calibration",
    "Delivery": "machine",
    "Graph": "graph",
    "Metrics": "metrics",
    "Operator": "graph",
    "Payload": "payload",
    "Prediction": "prediction.forecast",
    "Ran": "running",
    "Supplier": "graph",
    "Times": "calibration",
    "calibrate": "calibration",
    "check": "checking",
    "checked": "checking",
    "load": "reading",
    "load_times": "calibration",
    "on_spark": "spark.frames",
    "open_sink": "edges.opening",
    "predict": "prediction.forecast",
    "run": "running",
    "save_times": "calibration",
    "simulate": "running",
    "to_svg": "drawing",
    "variant": "graph",
    "with_statements": "programs",
}

__all__ = [*_HOMES]  # noqa: PLE0604


if not TYPE_CHECKING:  # type checkers know all names from above, and refuse others

    def __getattr__(name: str) -> object:
        """Parts are loaded when they are asked for: few need all of them."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'cepheid.realtime' has no attribute {name!r}")
        return getattr(import_module(f"cepheid.realtime.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
