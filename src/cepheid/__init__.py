"""Cepheid: complex event processing for PySpark.

Write patterns, check them, run them:

    import cepheid as cep

    program = cep.load("examples/pregnancy/pregnancy.epl")
    findings = program.check()
    result = cep.run(program, "examples/pregnancy/events.jsonl")

Everything here is lazy: importing the package loads no engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from cepheid.errors import (
    CepheidError,
    CepheidWarning,
    Diagnostic,
    InputError,
    LateEvent,
    ProgramError,
    RunError,
    Severity,
    UsageError,
)

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from cepheid import actions as actions
    from cepheid import jobs as jobs
    from cepheid import live as live
    from cepheid import realtime as realtime
    from cepheid import spark as spark
    from cepheid import web as web
    from cepheid.absence.answer import Absence as Absence
    from cepheid.build.classes import complex_class as complex_class
    from cepheid.build.classes import on as on
    from cepheid.build.classes import subscribed_class as subscribed_class
    from cepheid.build.declarations import context as context
    from cepheid.build.declarations import schema as schema
    from cepheid.build.events import atomic_event as atomic_event
    from cepheid.build.events import complex_event as complex_event
    from cepheid.build.events import query_event as query_event
    from cepheid.build.expressions import Expression as Expression
    from cepheid.build.expressions import col as col
    from cepheid.build.expressions import lit as lit
    from cepheid.build.forms import Form as Form
    from cepheid.build.forms import occurs as occurs
    from cepheid.build.functions import agg as agg
    from cepheid.build.functions import call as call
    from cepheid.build.functions import case as case
    from cepheid.build.functions import fn as fn
    from cepheid.build.functions import function as function
    from cepheid.build.patterns import Pattern as Pattern
    from cepheid.build.patterns import all_of as all_of
    from cepheid.build.patterns import any_of as any_of
    from cepheid.build.patterns import at as at
    from cepheid.build.patterns import event as event
    from cepheid.build.patterns import every as every
    from cepheid.build.patterns import every_distinct as every_distinct
    from cepheid.build.patterns import interval as interval
    from cepheid.build.patterns import not_ as not_
    from cepheid.build.patterns import sequence as sequence
    from cepheid.build.programs import compose as compose
    from cepheid.build.rules import fix as fix
    from cepheid.build.rules import rule as rule
    from cepheid.build.statements import Query as Query
    from cepheid.build.statements import match as match
    from cepheid.build.statements import stream as stream
    from cepheid.build.windows import window as window
    from cepheid.core.event import Event as Event
    from cepheid.debugging.breakpoints import Breakpoint as Breakpoint
    from cepheid.debugging.debugger import Debugger as Debugger
    from cepheid.debugging.position import Position as Position
    from cepheid.engines.common.session import Session as Session
    from cepheid.formal.maude.search import OrderAnswer as OrderAnswer
    from cepheid.formal.maude.search import SearchAnswer as SearchAnswer
    from cepheid.io.source import Source as Source
    from cepheid.io.source import source as source
    from cepheid.result import Result as Result
    from cepheid.semantics.inspection.description import Inspection as Inspection
    from cepheid.semantics.inspection.description import PartialMatch as PartialMatch
    from cepheid.simulation.scenario import Factory as Factory
    from cepheid.simulation.scenario import Scenario as Scenario
    from cepheid.simulation.simulate import Simulation as Simulation
    from cepheid.simulation.verify import Verdict as Verdict
    from cepheid.verbs.absence import explain_absence as explain_absence
    from cepheid.verbs.debugging import debug as debug
    from cepheid.verbs.loading import load as load
    from cepheid.verbs.loading import parse as parse
    from cepheid.verbs.program import Program as Program
    from cepheid.verbs.rounds import RoundsSession as RoundsSession
    from cepheid.verbs.rounds import open_rounds as open_rounds
    from cepheid.verbs.running import open as open
    from cepheid.verbs.running import run as run
    from cepheid.verbs.searching import search as search
    from cepheid.verbs.searching import search_any_order as search_any_order
    from cepheid.verbs.simulating import simulate as simulate
    from cepheid.verbs.simulating import verify as verify

__version__ = "0.1.0"

_HOMES = {
    "Absence": "cepheid.absence.answer",
    "Breakpoint": "cepheid.debugging.breakpoints",
    "Debugger": "cepheid.debugging.debugger",
    "Event": "cepheid.core.event",
    "Expression": "cepheid.build.expressions",
    "Factory": "cepheid.simulation.scenario",
    "Form": "cepheid.build.forms",
    "Inspection": "cepheid.semantics.inspection.description",
    "OrderAnswer": "cepheid.formal.maude.search",
    "PartialMatch": "cepheid.semantics.inspection.description",
    "Pattern": "cepheid.build.patterns",
    "Position": "cepheid.debugging.position",
    "Program": "cepheid.verbs.program",
    "Query": "cepheid.build.statements",
    "Result": "cepheid.result",
    "RoundsSession": "cepheid.verbs.rounds",
    "Scenario": "cepheid.simulation.scenario",
    "SearchAnswer": "cepheid.formal.maude.search",
    "Session": "cepheid.engines.common.session",
    "Source": "cepheid.io.source",
    "Simulation": "cepheid.simulation.simulate",
    "Verdict": "cepheid.simulation.verify",
    "agg": "cepheid.build.functions",
    "all_of": "cepheid.build.patterns",
    "any_of": "cepheid.build.patterns",
    "at": "cepheid.build.patterns",
    "atomic_event": "cepheid.build.events",
    "call": "cepheid.build.functions",
    "case": "cepheid.build.functions",
    "col": "cepheid.build.expressions",
    "complex_class": "cepheid.build.classes",
    "complex_event": "cepheid.build.events",
    "compose": "cepheid.build.programs",
    "context": "cepheid.build.declarations",
    "debug": "cepheid.verbs.debugging",
    "event": "cepheid.build.patterns",
    "every": "cepheid.build.patterns",
    "every_distinct": "cepheid.build.patterns",
    "explain_absence": "cepheid.verbs.absence",
    "fix": "cepheid.build.rules",
    "fn": "cepheid.build.functions",
    "function": "cepheid.build.functions",
    "interval": "cepheid.build.patterns",
    "lit": "cepheid.build.expressions",
    "load": "cepheid.verbs.loading",
    "match": "cepheid.build.statements",
    "not_": "cepheid.build.patterns",
    "occurs": "cepheid.build.forms",
    "on": "cepheid.build.classes",
    "open": "cepheid.verbs.running",
    "open_rounds": "cepheid.verbs.rounds",
    "parse": "cepheid.verbs.loading",
    "query_event": "cepheid.build.events",
    "rule": "cepheid.build.rules",
    "run": "cepheid.verbs.running",
    "schema": "cepheid.build.declarations",
    "search": "cepheid.verbs.searching",
    "search_any_order": "cepheid.verbs.searching",
    "sequence": "cepheid.build.patterns",
    "simulate": "cepheid.verbs.simulating",
    "source": "cepheid.io.source",
    "stream": "cepheid.build.statements",
    "subscribed_class": "cepheid.build.classes",
    "verify": "cepheid.verbs.simulating",
    "window": "cepheid.build.windows",
}

__all__ = [  # noqa: PLE0604
    "CepheidError",
    "CepheidWarning",
    "Diagnostic",
    "InputError",
    "LateEvent",
    "ProgramError",
    "RunError",
    "Severity",
    "UsageError",
    "actions",
    "jobs",
    "live",
    "realtime",
    "spark",
    "web",
    *_HOMES,
]


if not TYPE_CHECKING:  # type checkers know all names from above, and refuse others

    def __getattr__(name: str) -> object:
        if name in ("actions", "jobs", "live", "realtime", "spark", "web"):
            return import_module(f"cepheid.{name}")
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'cepheid' has no attribute {name!r}")
        return getattr(import_module(home), name)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext cepheid`: see `cepheid.notebook`."""
    import_module("cepheid.notebook").load_ipython_extension(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
