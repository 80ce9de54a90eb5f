"""Operators over arrays: transforms, concatenation, averages, sizes, thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
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
    count,
    need_numbers,
    need_real,
    number,
    parts,
)
from cepheid.realtime.payload import Payload

_SINGLE = ("bool", "int8", "uint8", "int16", "uint16", "float32", "complex64")


def _fft(_: Parameters, inputs: tuple[Payload, ...]) -> tuple[Payload, Work]:
    import numpy as np
    from scipy.fft import fft

    need_numbers(inputs)
    (given,) = inputs
    is_single = given.dtype in _SINGLE  # eight bytes for each byte, as half of them would not do
    is_complex = given.dtype.startswith("complex")
    taken = np.dtype(given.dtype if is_complex else "float32" if is_single else "float64")

    def step(state: State, inputs: Inputs) -> Made:
        return state, (fft(inputs[0].value.astype(taken, copy=False)),)

    made = Payload("complex64" if is_single else "complex128", given.size)
    return made, Work(step, releases_gil=True)


def _cat(_: Parameters, inputs: tuple[Payload, ...]) -> tuple[Payload, Work]:
    import numpy as np

    need_numbers(inputs)
    dtype = str(np.result_type(*(each.dtype for each in inputs)))
    fields: tuple[str, ...] = ()
    if all(each.fields for each in inputs):
        fields = tuple(name for each in inputs for name in each.fields)
        fields = fields if len({*fields}) == len(fields) else ()

    def step(state: State, inputs: Inputs) -> Made:
        return state, (np.concatenate([each.value for each in inputs]),)

    return Payload(dtype, sum(each.size for each in inputs), fields), Work(step)


def _average(values: Array, state: Array, averages: Array) -> None:
    """`state`, which is updated: how many values came, then as many of the last as count."""
    window, seen = state.shape[0] - 1, int(state[0])
    for n in range(values.shape[0]):
        state[1 + seen % window] = values[n]
        seen += 1
        total = 0.0
        for place in range(min(seen, window)):
            total += state[1 + place]
        averages[n] = total / min(seen, window)
    state[0] = seen


@cache
def _compiled_average() -> Any:
    """For the one type of arrays that it gets: nothing is compiled when events come."""
    import numba

    vector = numba.float64[::1]
    signature = numba.void(numba.types.Array(numba.float64, 1, "C", readonly=True), vector, vector)
    return numba.njit(signature, nogil=True, cache=True)(_average)


def _moving_average(parameters: Parameters, inputs: tuple[Payload, ...]) -> tuple[Payload, Work]:
    import numpy as np

    need_real(inputs)
    (given,) = inputs
    run, window = _compiled_average(), parameters["window"]

    def begin() -> State:
        return np.zeros(1 + window)

    def values_of(inputs: Inputs) -> Array:
        return np.ascontiguousarray(inputs[0].value, np.float64)

    def step(state: State, inputs: Inputs) -> Made:
        state, found = state.copy(), np.empty(given.size)
        run(values_of(inputs), state, found)
        return state, (found,)

    def in_steps(state: State, inputs: Inputs, steps: int) -> Iterator[Made | None]:
        state, found, values = state.copy(), np.empty(given.size), values_of(inputs)
        *firsts, last = parts(given.size, steps)
        for part in firsts:
            run(values[part], state, found[part])
            yield None
        run(values[last], state, found[last])
        yield state, (found,)

    made = Payload("float64", given.size, given.fields if given.size == 1 else ())
    return made, Work(step, begin, in_steps, releases_gil=True)


def _resample(parameters: Parameters, inputs: tuple[Payload, ...]) -> tuple[Payload, Work]:
    import numpy as np

    need_numbers(inputs)
    (given,) = inputs
    size, every = parameters["size"], parameters["every"]
    if (size is None) == (every is None):
        hint = "size = 256 makes arrays of another size, every = 4 keeps one of four events"
        raise KindError("it needs a size or an every", hint)
    if size is not None:
        need_real(inputs)
        new, old = np.linspace(0, given.size - 1, size), np.arange(given.size)

        def resize(state: State, inputs: Inputs) -> Made:
            return state, (np.interp(new, old, inputs[0].value),)

        return Payload("float64", size), Work(resize)

    def keep(state: State, inputs: Inputs) -> Made:
        return state + 1, ((inputs[0].value,) if state % every == 0 else ())

    return given, Work(keep, int)


def _threshold(parameters: Parameters, inputs: tuple[Payload, ...]) -> tuple[Payload, Work]:
    need_real(inputs)
    (given,) = inputs
    above, below = parameters["above"], parameters["below"]
    if above is None and below is None:
        raise KindError("it needs an above or a below", "above = 3.5 lets greater numbers through")

    def step(state: State, inputs: Inputs) -> Made:
        value = inputs[0].value
        passes = (above is not None and bool((value > above).any())) or (
            below is not None and bool((value < below).any())
        )
        return state, ((value,) if passes else ())

    return given, Work(step)


FFT = Kind("fft", "the discrete Fourier transform, in single precision for short numbers", _fft)
CAT = Kind("cat", "the arrays of all inputs, one behind the other", _cat, inputs=(1, None))
JOIN = Kind(
    "join",
    "cat of events whose validity begins at most `within` apart; others are left out",
    _cat,
    inputs=(2, None),
)
AVERAGE = Kind(
    "average",
    "for each element the average of the last `window` ones, from event to event",
    _moving_average,
    {"window": Parameter(count, is_needed=True)},
    is_stateful=True,
)
RESAMPLE = Kind(
    "resample",
    "arrays of another `size`, interpolated, or one of `every` so many events",
    _resample,
    {"size": Parameter(count), "every": Parameter(count)},
    is_stateful=True,
)
THRESHOLD = Kind(
    "threshold",
    "events with an element `above` or `below` a number; others are left out",
    _threshold,
    {"above": Parameter(number), "below": Parameter(number)},
)
