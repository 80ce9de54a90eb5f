"""Functions of users over NumPy arrays, as they are or compiled by Numba.

`function` takes an array of each input, which it only reads, and gives an array, a number, or None for no
event. With `state`, a function that gives the first state, it takes a state before the arrays, which is its
own, and gives the next one with the array. One that is a generator works in steps: it yields nothing where
others may go first, and at last its result.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from cepheid.realtime.operators.kind import (
    Array,
    Inputs,
    Kind,
    KindError,
    Made,
    Parameter,
    Parameters,
    State,
    Work,
    need_numbers,
    text,
)
from cepheid.realtime.payload import Payload, payload_of

Function = Callable[..., Any]


def _function(value: Any) -> Function:
    """A function, or where it stands: `module:name`, `file.py:name`."""
    if callable(value):
        return value  # type: ignore[no-any-return]
    home, colon, name = text(value).rpartition(":")
    if not colon:
        raise ValueError("names a function: 'module:name' or 'file.py:name'")
    try:
        module = _file(home) if home.endswith(".py") else importlib.import_module(home)
    except (Exception, SystemExit) as problem:  # whatever a module does when it is loaded
        fact = f"{type(problem).__name__}: {problem}"
        raise ValueError(f"names a function, and '{home}' cannot be loaded: {fact}") from None
    found = getattr(module, name, None)
    if not callable(found):
        raise ValueError(f"names a function, and '{home}' has no '{name}'")
    return found  # type: ignore[no-any-return]


def _file(path: str) -> Any:
    file = Path(path).resolve(strict=True)
    return _loaded(file, file.stat().st_mtime_ns)


@cache
def _loaded(file: Path, _changed: int) -> Any:
    """A file as a module: once, so that its functions share what it has, and anew once it was changed."""
    name = f"cepheid_functions_{abs(hash(file)):x}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # classes of such a file look for it there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


# What numbers of a kind can be given as, without loss but for digits.
_KINDS = {"b": "b", "u": "bui", "i": "bui", "f": "buif", "c": "buifc"}


@dataclass(frozen=True, slots=True)
class _Calls:
    """Runs of a function: arguments from states and events, and these from what it gives."""

    function: Function
    has_state: bool
    made: Payload
    dtype: Any  # of what is made
    shape: tuple[int, ...]

    def at_once(self, state: State, inputs: Inputs) -> Made:
        return self._result(state, self.function(*self._arguments(state, inputs)))

    def in_steps(self, state: State, inputs: Inputs, _: int) -> Iterator[Made | None]:
        given = None
        for each in _yielded(self.function(*self._arguments(state, inputs))):
            if given is not None:
                raise ValueError("it yields something before its result, which comes last")
            given = each
            if given is None:
                yield None
        yield self._result(state, given)

    def through_steps(self, state: State, inputs: Inputs) -> Made:
        *_, made = self.in_steps(state, inputs, 1)
        assert made is not None
        return made

    def _arguments(self, state: State, inputs: Inputs) -> list[Any]:
        values = [_only_read(each.value) for each in inputs]
        return [deepcopy(state), *values] if self.has_state else values

    def _result(self, state: State, given: Any) -> Made:
        if not self.has_state:
            return state, self._events(given)
        if not isinstance(given, tuple) or len(given) != 2:
            raise TypeError("it has a state, and gives no next one before its array")
        state, value = given
        return state, self._events(value)

    def _events(self, value: Any) -> tuple[Array, ...]:
        import numpy as np

        if value is None:
            return ()
        is_array = type(value) is np.ndarray
        if is_array and value.dtype == self.dtype and value.shape == self.shape:
            return (value,)
        found, made = np.atleast_1d(np.asarray(value)), self.made
        if found.dtype.kind not in _KINDS[self.dtype.kind]:
            raise TypeError(f"it gives {found.dtype}, and its output is {made}")
        if found.shape != self.shape:
            raise ValueError(f"it gives an array of the shape {found.shape}, not {made}")
        cast = found.astype(self.dtype, copy=False)
        if self.dtype.kind in "iu" and not (cast == found).all():
            raise OverflowError(f"it gives numbers that are too large for {made}")
        return (cast,)


def _work(
    function: Function, begin: Callable[[], State] | None, made: Payload, *, releases_gil: bool
) -> Work:
    import numpy as np

    calls = _Calls(function, begin is not None, made, np.dtype(made.dtype), (made.size,))
    begin = begin or (lambda: None)
    if inspect.isgeneratorfunction(function):
        return Work(calls.through_steps, begin, calls.in_steps, releases_gil)
    return Work(calls.at_once, begin, None, releases_gil)


def _yielded(run: Generator[Any, None, Any]) -> Iterator[Any]:
    returned = yield from run
    if returned is not None:
        raise ValueError("it returns its result, which a generator yields at last")


def _only_read(value: Array) -> Array:
    """Others get the same array."""
    found = value.view()
    found.flags.writeable = False
    return found


def _python(parameters: Parameters, inputs: tuple[Payload, ...]) -> tuple[Payload, Work]:
    function, state, made = _checked(parameters, inputs)
    releases = bool(getattr(function, "targetoptions", {}).get("nogil"))  # a compiled one
    return made, _work(function, state, made, releases_gil=releases)


def _numba(parameters: Parameters, inputs: tuple[Payload, ...]) -> tuple[Payload, Work]:
    function, begin, made = _checked(parameters, inputs)
    plain = getattr(function, "py_func", function)
    if inspect.isgeneratorfunction(plain):
        raise KindError("a compiled function has no steps", 'kind = "python"', "function")
    compiled = _compiled(plain, begin, tuple(each.dtype for each in inputs))
    return made, _work(compiled, begin, made, releases_gil=True)


@lru_cache(maxsize=64)
def _compiled(
    function: Function, begin: Callable[[], State] | None, dtypes: tuple[str, ...]
) -> Function:
    """For the types that it gets: nothing is compiled when events come, nor again for a copy of a stream."""
    import numpy as np

    numba: Any = importlib.import_module("numba")  # has types for some of it only
    types = numba.types
    try:
        compiled = numba.njit(nogil=True)(function)
        elements = (numba.from_dtype(np.dtype(each)) for each in dtypes)
        arrays = [types.Array(each, 1, "C", readonly=True) for each in elements]
        states = [] if begin is None else [numba.typeof(begin())]
        compiled.compile((*states, *arrays))
    except Exception as wrong:
        raise KindError(f"Numba cannot compile it: {_first(wrong)}", parameter="function") from None
    (signature,) = compiled.nopython_signatures
    given = signature.return_type
    for first in states:
        if not isinstance(given, types.BaseTuple) or len(given) != 2:
            fact = "it has a state, and gives no next one before its array"
            raise KindError(fact, parameter="function")
        then = types.unliteral(given[0])
        if then != first:
            raise KindError(f"its state is {first} at first, and {then} then", parameter="state")
    return compiled  # type: ignore[no-any-return]


def _first(wrong: Exception) -> str:
    """What is wrong, of all that Numba says."""
    lines = [line.strip() for line in str(wrong).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("Failed in")] or [type(wrong).__name__]
    return " ".join(said[:2]) if said[0].endswith(":") else said[0]


def _checked(
    parameters: Parameters, inputs: tuple[Payload, ...]
) -> tuple[Function, Callable[[], State] | None, Payload]:
    """The function, its first state, and what it makes, if it takes its inputs at all."""
    need_numbers(inputs)
    function, state = parameters["function"], parameters["state"]
    if state is not None:
        _need_arguments(state, (), "state")
        try:
            state()
        except Exception as wrong:
            fact = f"its first state fails: {type(wrong).__name__}: {wrong}"
            raise KindError(fact, parameter="state") from None
    names = [*([] if state is None else ["a state"]), *["an array"] * len(inputs)]
    _need_arguments(function, names, "function")
    if inspect.iscoroutinefunction(function):
        raise KindError(
            "nobody would await what this function gives", "def, without async", "function"
        )
    return function, state, parameters["output"] or inputs[0]


def _need_arguments(function: Function, names: Sequence[str], parameter: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # as of some that are not written in Python
        return
    try:
        signature.bind(*names)
    except TypeError:
        given = " and ".join(names) if names else "nothing"
        fact = f"the {parameter} takes {signature}, and is given {given}"
        raise KindError(fact, parameter=parameter) from None


_PARAMETERS = {
    "function": Parameter(_function, is_needed=True),
    "output": Parameter(lambda value: payload_of(text(value))),
    "state": Parameter(_function),
}
PYTHON = Kind(
    "python", "a function of yours over arrays", _python, _PARAMETERS, (1, None), is_stateful=True
)
NUMBA = Kind(
    "numba", "a function of yours, compiled", _numba, _PARAMETERS, (1, None), is_stateful=True
)
