"""Operators in processes of their own get the events that are meant for them, and give what stays."""

from __future__ import annotations

from contextlib import closing
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from cepheid.realtime.graph import Operator
from cepheid.realtime.isolation import Failed, Isolated
from cepheid.realtime.machine import Run, Sample
from cepheid.realtime.payload import Payload

PATIENCE = 30.0  # seconds, half of those that a process has to be ready
FUNCTIONS = """
import os
import pathlib
import signal

def less(x, y):
    return x - y

def double(x):
    return 2 * x

def nothing():
    return 0.0

def total(state, x):
    if x[0] < 0:
        raise ValueError("below zero")
    return state + x[0], x + state

def ends(x):
    if x[0] < 0:
        os._exit(1)
    return x

def hangs_in_later_processes():
    own, marker = str(os.getpid()), pathlib.Path(__file__ + ".first")
    if not marker.exists():
        marker.write_text(own)
    if marker.read_text() != own:
        signal.pause()
    return 0.0

def ends_with_state(state, x):
    return state, ends(x)
"""


def isolated(
    folder: Path, name: str, *inputs: str, size: int = 4, state: str | None = None
) -> closing[Isolated]:
    """One of the functions above in a process, until the block is left."""
    file = folder / "functions.py"
    file.write_text(FUNCTIONS)
    parameters = {"function": f"{file}:{name}"}
    if state is not None:
        parameters["state"] = f"{file}:{state}"
    operator = Operator(
        name=name, kind="python", inputs=inputs, parameters=parameters, isolate="process"
    )
    payloads = dict.fromkeys((*inputs, name), Payload("float64", size))
    return closing(Isolated(operator, payloads))


def made_by(process: Isolated, *values: Any) -> Any:
    """The event of a run, as it was given; no time passes for it, so that it is never too late."""
    operator = process.operator
    inputs = tuple(
        Sample(name, 1, 0, 10, 0, value)
        for name, value in zip(operator.inputs, values, strict=True)
    )
    process.ask(Run(1, operator, inputs, tuple(range(len(inputs)))), 0)
    while (found := process.answer(0)) is None:
        if process.reason is None:
            assert process._connection is not None
            wait([process._connection])
        else:
            assert process._starting is not None
            process._starting.join()
    (event,) = found
    return event


def test_an_isolated_operator_with_two_inputs_gets_each_of_them(tmp_path: Path) -> None:
    with isolated(tmp_path, "less", "s", "t") as process:
        made = made_by(process, np.arange(4.0), np.full(4, 10.0))
        assert made.tolist() == [-10, -9, -8, -7]


def test_long_arrays_of_several_inputs_do_not_overlap(tmp_path: Path) -> None:
    with isolated(tmp_path, "less", "s", "t", size=16) as process:
        made = made_by(process, np.arange(16.0), np.full(16, 10.0))
        assert made.tolist() == [n - 10 for n in range(16)]


def test_what_an_isolated_operator_made_stays_as_it_is_when_it_runs_again(tmp_path: Path) -> None:
    with isolated(tmp_path, "double", "s") as process:
        made = [made_by(process, np.full(4, value)) for value in (1.0, 2.0, 3.0)]
        assert [each.tolist() for each in made] == [[2] * 4, [4] * 4, [6] * 4]


def test_an_isolated_operator_that_raises_begins_anew_in_the_same_process(tmp_path: Path) -> None:
    with isolated(tmp_path, "total", "s", state="nothing") as process:
        before = [float(made_by(process, np.full(4, value))[0]) for value in (1.0, 2.0)]
        with pytest.raises(Failed, match="ValueError: below zero"):
            made_by(process, np.full(4, -1.0))
        after = [float(made_by(process, np.full(4, value))[0]) for value in (5.0, 6.0)]
        assert (before, after) == ([1, 3], [5, 11])
        assert process.restarts == 0


def test_each_new_process_of_an_operator_is_counted(tmp_path: Path) -> None:
    with isolated(tmp_path, "ends", "s") as process:
        for count in (1, 2):
            with pytest.raises(Failed, match="its process ended"):
                made_by(process, np.full(4, -1.0))
            assert process.restarts == count
            assert made_by(process, np.ones(4)).tolist() == [1] * 4


def test_a_process_that_is_never_ready_is_not_waited_for_at_the_end(tmp_path: Path) -> None:
    state = "hangs_in_later_processes"
    with isolated(tmp_path, "ends_with_state", "s", state=state) as process:
        inputs = (Sample("s", 1, 0, 10, 0, np.full(4, -1.0)),)
        process.ask(Run(1, process.operator, inputs, (0,)), 0)
        assert process._connection is not None
        wait([process._connection])
        assert process.answer(0) is None
        assert process.reason == "its process ended"
        closing_it = Thread(target=process.close)
        closing_it.start()
        closing_it.join(PATIENCE)
        assert not closing_it.is_alive()
    assert process.restarts == 0
