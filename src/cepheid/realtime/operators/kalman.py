"""An extended Kalman filter: one object on a line, seen by range sensors beside that line.

The state is the object's position and speed, and their covariance. Between two datapoints it moves on at
its speed. A sensor `offset` beside the line measures sqrt(position² + offset²), which is linearised at the
estimate; with an offset of 0 sensors measure the position itself, and the filter is a plain one. Inputs are
sensors of the same object: each datapoint of all of them is taken before the next one, and those that are
no number are left out. What is given are the estimated positions, in the type of the measurements.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import hypot, isfinite
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
    need_equal,
    need_real,
    number,
    parts,
)
from cepheid.realtime.payload import Payload

_UNKNOWN = 1e6  # the variance of what nothing is known of


def _filter(
    state: Array, measured: Array, estimated: Array, dt: float, q: float, r: float, offset: float
) -> None:
    """`state`, which is updated: position, speed, the variance of the first, their covariance, the other's.

    `measured` has a row for each datapoint, with a column for each sensor.
    """
    x, v, pxx, pxv, pvv = state[0], state[1], state[2], state[3], state[4]
    for n in range(measured.shape[0]):
        x += dt * v
        pxx += dt * (2 * pxv + dt * pvv) + q * dt * dt * dt / 3
        pxv += dt * pvv + q * dt * dt / 2
        pvv += q * dt
        for sensor in range(measured.shape[1]):
            if not isfinite(measured[n, sensor]):
                continue
            expected = x if offset == 0 else hypot(x, offset)
            h = 1.0 if offset == 0 else x / expected
            s = h * h * pxx + r
            miss = measured[n, sensor] - expected
            x += h * pxx / s * miss
            v += h * pxv / s * miss
            pvv -= h * pxv * h * pxv / s
            pxv *= r / s  # times (1 - gain * h), which would not stay above 0
            pxx *= r / s
        estimated[n] = x
    state[0], state[1], state[2], state[3], state[4] = x, v, pxx, pxv, pvv


@cache
def _compiled() -> Any:
    """For the one type of arrays that it gets: nothing is compiled when events come."""
    import numba

    vector, matrix, scalar = numba.float64[::1], numba.float64[:, ::1], numba.float64
    signature = numba.void(vector, matrix, vector, scalar, scalar, scalar, scalar)
    return numba.njit(signature, nogil=True, cache=True)(_filter)


def _make(parameters: Parameters, inputs: tuple[Payload, ...]) -> tuple[Payload, Work]:
    import numpy as np

    need_real(inputs)
    need_equal(inputs)
    given = inputs[0]
    _need_sound(parameters, given)
    run = _compiled()
    dt, q, r, offset = (parameters[name] for name in ("dt", "q", "r", "offset"))
    limits = _limits(given.dtype) if np.dtype(given.dtype).kind in "iu" else None

    def begin() -> State:
        """At 0 a sensor beside the line is blind: there, its range does not change with the position."""
        return np.array([abs(offset), 0.0, _UNKNOWN, 0.0, _UNKNOWN])

    def cast(found: Array) -> Array:
        if limits is not None:
            np.rint(found, out=found)
            np.clip(found, *limits, out=found)
        return found.astype(given.dtype, copy=False)

    def measured_of(inputs: Inputs) -> Array:
        measured = np.empty((given.size, len(inputs)))
        for sensor, each in enumerate(inputs):
            measured[:, sensor] = each.value
        return measured

    def step(state: State, inputs: Inputs) -> Made:
        state, found = state.copy(), np.empty(given.size)
        run(state, measured_of(inputs), found, dt, q, r, offset)
        return state, (cast(found),)

    def in_steps(state: State, inputs: Inputs, steps: int) -> Iterator[Made | None]:
        state, found, measured = state.copy(), np.empty(given.size), measured_of(inputs)
        *firsts, last = parts(given.size, steps)
        for part in firsts:
            run(state, measured[part], found[part], dt, q, r, offset)
            yield None
        run(state, measured[last], found[last], dt, q, r, offset)
        yield state, (cast(found),)

    return Payload(given.dtype, given.size), Work(step, begin, in_steps, releases_gil=True)


def _need_sound(parameters: Parameters, given: Payload) -> None:
    if given.dtype == "bool":
        raise KindError("it takes ranges, not bool")
    for name in ("dt", "r"):
        if parameters[name] <= 0:
            raise KindError(f"{name} is above 0", parameter=name)
    if parameters["q"] < 0:
        raise KindError("q is not below 0", parameter="q")


def _limits(dtype: str) -> tuple[float, float]:
    """The least and the greatest float that such a whole number can be."""
    import numpy as np

    least, most = float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
    return least, most if int(most) <= np.iinfo(dtype).max else float(np.nextafter(most, 0))


EKF = Kind(
    "ekf",
    "an extended Kalman filter over one or several range sensors of the same object",
    _make,
    {
        "dt": Parameter(number, 0.001),
        "q": Parameter(number, 1.0),
        "r": Parameter(number, 1.0),
        "offset": Parameter(number, 0.0),
    },
    inputs=(1, None),
    is_stateful=True,
)
