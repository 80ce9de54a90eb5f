"""A user's program, as a type checker reads it.

mypy reads this file with all its strictness, as it would read a user's: what the public names take
and give has types. A wrong call is marked with the error that it must bring, so that mypy complains
when it no longer does. That the calls do what their types say, the test sees.
"""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import pytest

import cepheid as cep
from cepheid import col


def crash() -> cep.Program:
    fast = cep.event("a", "Reading", col("speed") >= 50)
    stopped = cep.event("b", "Reading", col("bike") == col("a.bike"), col("speed") == 0)
    assert_type(fast, cep.Pattern)
    assert_type(col("speed") + 1, cep.Expression)
    pattern = cep.every(fast).then(stopped.within("3 seconds"))
    statement = cep.match(pattern).select(bike="a.bike").insert_into("Crash").named("Crash")
    assert_type(statement, cep.Query)
    return cep.compose(cep.schema("Reading", bike="int", speed="int"), statement)


READINGS = [
    {"@type": "Reading", "@time": 0, "bike": 1, "speed": 80},
    {"@type": "Reading", "@time": 2, "bike": 1, "speed": 0},
]


def test_what_the_verbs_give_has_types() -> None:
    program = crash()
    assert_type(program, cep.Program)
    assert_type(cep.parse(str(program)), cep.Program)
    assert_type(program.check(), list[cep.Diagnostic])
    result = cep.run(program, READINGS)
    assert_type(result, cep.Result)
    assert_type(result[0], cep.Event)
    assert_type(result.counts(), dict[str, int])
    assert result.counts() == {"Crash": 1}


def test_a_session_has_types() -> None:
    session = cep.open(crash())
    assert_type(session, cep.Session)
    rows = session.send("Reading", {"bike": 1, "speed": 80}, time=0)
    assert_type(rows, list[cep.Event])
    assert_type(session.save(), bytes)
    assert rows == session.advance(1) == []


def test_a_debugger_has_types() -> None:
    debugger = cep.debug(crash(), READINGS)
    assert_type(debugger, cep.Debugger)
    assert_type(debugger.step("event"), cep.Position)
    assert_type(debugger.stop_at(type="Reading", where="speed = 0"), cep.Breakpoint)
    assert_type(debugger.inspect(), cep.Inspection)
    assert_type(debugger.inspect().partial(), list[tuple[str, cep.PartialMatch]])
    stopped = debugger.resume()
    assert_type(stopped, list[cep.Breakpoint])
    assert stopped == debugger.breakpoints
    with pytest.raises(cep.UsageError):
        debugger.back("week")  # type: ignore[arg-type]


def test_simulations_have_types(tmp_path: Path) -> None:
    scenario = {"sources": {"Reading": {"every": "1 second", "attributes": {}}}}
    with pytest.raises(cep.CepheidError):
        assert_type(cep.simulate(crash(), scenario, runs=2, until=1), cep.Simulation)
    with pytest.raises(cep.CepheidError):
        assert_type(cep.verify(crash(), scenario, "None", runs=2, until=1), cep.Verdict)


def test_wrong_calls_are_seen_before_they_run() -> None:
    with pytest.raises(cep.UsageError):
        cep.run("crash.epl", READINGS)  # type: ignore[arg-type]
    with pytest.raises(cep.UsageError):
        cep.load(7)  # type: ignore[arg-type]
    with pytest.raises(cep.UsageError):
        cep.run(crash(), READINGS, on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        cep.detect(crash())  # type: ignore[attr-defined]
