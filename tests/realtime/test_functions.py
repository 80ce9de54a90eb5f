"""Functions of users are checked before events come, and fail alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cepheid.realtime.operators.kind import KindError
from tests.realtime.operators import (
    doubled,
    in_place,
    made,
    no_sum,
    one,
    run_all,
    sample,
    stepwise,
    summed,
)

FILE = """\
loaded = []
loaded.append(1)

def begin():
    return 0

def count(state, values):
    return state + 1, values + state

def twice(values):
    return values * 2
"""


@pytest.mark.parametrize("kind", ["python", "numba"])
def test_functions_are_given_or_named(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rt_functions_of_a_test.py").write_text(FILE)
    monkeypatch.syspath_prepend(str(tmp_path))
    for home in ("rt_functions_of_a_test", f"{tmp_path}/rt_functions_of_a_test.py"):
        assert one(kind, [1.0, 2.0], function=f"{home}:twice")[0].tolist() == [2.0, 4.0]
        _, work = made(kind, "float64", function=f"{home}:count", state=f"{home}:begin")
        found, state = run_all(work, [(sample(np.zeros(1)),)] * 3)
        assert [values[0].tolist() for values in found] == [[0], [1], [2]]
        assert state == 3
    assert one(kind, [1.0], function=doubled)[0].tolist() == [2.0]


def test_a_file_is_loaded_once_and_anew_when_it_was_changed(tmp_path: Path) -> None:
    file = tmp_path / "f.py"
    file.write_text("import itertools\ncount = itertools.count()\ndef f(x): return x + next(count)")
    for expected in (1.0, 2.0):
        assert one("python", [1.0], function=f"{file}:f")[0].tolist() == [expected]
    file.write_text("def f(x): return x * 0")
    os.utime(file, ns=(1, 1))
    assert one("python", [1.0], function=f"{file}:f")[0].tolist() == [0.0]


@pytest.mark.parametrize("kind", ["python", "numba"])
def test_functions_may_make_no_event_or_another_payload(kind: str) -> None:
    def positive(values: Any) -> Any:
        if values[0] > 0:
            return values
        return None

    def total(a: Any, b: Any) -> Any:
        return a.sum() + b.sum()

    assert one(kind, [0.0], function=positive) == []
    assert one(kind, [1.0], function=positive)[0].tolist() == [1.0]
    payload, work = made(kind, "uint8[2]", "uint8[3]", function=total, output="int64")
    _, (found,) = work.step(
        work.begin(), (sample(np.full(2, 200, "uint8")), sample(np.full(3, 200, "uint8")))
    )
    assert found.tolist() == [1000]
    assert str(found.dtype) == payload.dtype == "int64"


@pytest.mark.parametrize("kind", ["python", "numba"])
def test_a_compiled_state_is_the_operators_own(kind: str) -> None:
    def first() -> Any:
        return np.zeros(1)

    _, work = made(kind, "float64[2]", function=in_place, state=first)
    state = work.begin()
    for _ in range(2):
        then, (found,) = work.step(state, (sample(np.ones(2)),))
        assert found.tolist() == [1, 1]
        assert (state.tolist(), then.tolist()) == ([0], [1])


FAILING: dict[str, tuple[dict[str, Any], str]] = {
    "another shape": ({"function": lambda x: x[:1]}, r"shape \(1,\), not float64\[2\]"),
    "two dimensions": ({"function": lambda x: x.reshape(1, 2)}, r"shape \(1, 2\)"),
    "a number for an array": ({"function": lambda _: 1.0}, r"shape \(1,\)"),
    "another type": ({"function": lambda x: x + 1j}, "gives complex128, and its output is float64"),
    "no numbers": ({"function": lambda _: ["a", "b"]}, "its output is float64"),
    "a part for a whole": ({"function": lambda x: x, "output": "int8[2]"}, "gives float64"),
    "too large": (
        {"function": lambda _: np.array([1, 300]), "output": "uint8[2]"},
        r"too large for uint8\[2\]",
    ),
    "below zero": ({"function": lambda _: [0, -1], "output": "uint8[2]"}, "too large for uint8"),
    "no state": ({"function": lambda _, x: x, "state": no_sum}, "gives no next one"),
    "its input": ({"function": lambda x: x.fill(1)}, "read-only"),
    "what it raises": ({"function": lambda x: x[5]}, "out of bounds"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_function_fails_that_gives(name: str) -> None:
    settings, words = FAILING[name]
    with pytest.raises(Exception, match=words):
        one("python", [1.0, 2.0], **settings)


def test_generators_yield_nothing_and_at_last_their_result() -> None:
    def early(values: Any) -> Iterator[Any]:
        yield values
        yield values

    def returned(values: Any) -> Any:
        yield None
        return values

    def never(_: Any) -> Iterator[Any]:
        yield from (None, None)

    for function, words in ((early, "before its result"), (returned, "returns its result")):
        with pytest.raises(ValueError, match=words):
            one("python", [1.0], function=function)
    assert one("python", [1.0], function=never) == []


async def _later(value: Any) -> Any:
    return value


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a coroutine": ("python", {"function": _later}, "nobody would await what this function gives"),
    "two arguments": ("python", {"function": lambda a, _: a}, "is given an array"),
    "no argument": ("numba", {"function": lambda: 1}, "is given an array"),
    "a state without a place": (
        "python",
        {"function": doubled, "state": no_sum},
        r"takes \(values: .*\).*, and is given a state and an array",
    ),
    "a state of something": ("python", {"function": summed, "state": doubled}, "is given nothing"),
    "a state that fails": (
        "python",
        {"function": summed, "state": lambda: 1 // 0},
        "its first state fails: ZeroDivisionError",
    ),
    "what Numba does not know": (
        "numba",
        {"function": lambda x: x.frobnicate()},
        "Numba cannot compile it: Unknown attribute 'frobnicate'",
    ),
    "what is not Python": ("numba", {"function": "math:sqrt"}, "Numba cannot compile it"),
    "what writes into its input": (
        "numba",
        {"function": lambda x: x.fill(1)},
        "Numba cannot compile it",
    ),
    "a compiled generator": ("numba", {"function": stepwise}, "has no steps"),
    "a compiled state that is not given back": (
        "numba",
        {"function": lambda _, x: x, "state": no_sum},
        "gives no next one",
    ),
    "a compiled state of another type": (
        "numba",
        {"function": lambda state, x: (state + 0.5, x), "state": no_sum},
        "its state is int64 at first, and float64 then",
    ),
    "no colon": ("python", {"function": "math"}, "'module:name' or 'file.py:name'"),
    "no module": (
        "python",
        {"function": "no.such:f"},
        "'no.such' cannot be loaded: ModuleNotFound",
    ),
    "an empty module": ("python", {"function": ":f"}, "'' cannot be loaded"),
    "a relative module": ("python", {"function": "..x:f"}, "'..x' cannot be loaded"),
    "no file": ("python", {"function": "no/such.py:f"}, "'no/such.py' cannot be loaded: FileNot"),
    "no such name": ("python", {"function": "math:sqrd"}, "'math' has no 'sqrd'"),
    "no function": ("python", {"function": "math:pi"}, "'math' has no 'pi'"),
    "a number": ("python", {"function": 3}, "is a text"),
    "no payload": ("python", {"function": doubled, "output": "float"}, "did you mean 'float64'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_is_refused_with(name: str) -> None:
    kind, settings, words = REFUSED[name]
    with pytest.raises(KindError, match=words):
        made(kind, "float64[2]", **settings)


@pytest.mark.parametrize("text", ["1 / 0", "import sys; sys.exit()", "def f(:"])
def test_a_file_that_fails_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(text)
    with pytest.raises(KindError, match=r"f\.py' cannot be loaded: [A-Z]\w+: "):
        made("python", "float64", function=f"{tmp_path}/f.py:f")


def test_a_function_that_was_compiled_already_is_compiled_for_its_events() -> None:
    import numba

    compiled = numba.njit(doubled)
    _, work = made("numba", "float64", function=compiled)
    assert work.releases_gil
    assert not made("python", "float64", function=compiled)[1].releases_gil
    assert made("python", "float64", function=numba.njit(nogil=True)(doubled))[1].releases_gil
    assert not made("python", "float64", function=doubled)[1].releases_gil


def test_nothing_is_compiled_when_events_come() -> None:
    from cepheid.realtime.operators import arrays, kalman

    values = [np.zeros(8), np.zeros(16)[::2]]
    values[0].flags.writeable = False
    for kind, compiled in (("ekf", kalman._compiled()), ("average", arrays._compiled_average())):
        before = len(compiled.signatures)
        _, work = made(kind, "float64[8]", **({"window": 2} if kind == "average" else {}))
        assert work.in_steps is not None
        for value in values:
            work.step(work.begin(), (sample(value),))
            [*work.in_steps(work.begin(), (sample(value),), 3)]
        assert len(compiled.signatures) == before == 1
