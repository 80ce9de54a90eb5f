"""Each kind of operator does what an independent computation does, in any number of steps, from any state."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from math import hypot
from threading import Lock, Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.realtime.checking import checked, work_of
from cepheid.realtime.graph import Consumer, Graph, Operator, Supplier
from cepheid.realtime.machine import Run
from cepheid.realtime.operators.kind import KindError, parts
from cepheid.realtime.operators.kinds import KINDS
from cepheid.realtime.operators.running import Operators
from cepheid.realtime.payload import NUMBERS, Payload, payload_of
from cepheid.realtime.signals import SIGNALS, Signal
from tests.effort import examples
from tests.realtime.operators import (
    KEY,
    MS,
    REAL,
    array,
    delivered,
    doubled,
    in_place,
    inputs_of,
    made,
    no_sum,
    one,
    operator_of,
    run_all,
    same,
    sample,
    stepwise,
    stepwise_with_state,
    summed,
)

SEEDS = st.integers(0, 10**6)


def case_of(kind: str, rng: np.random.Generator) -> tuple[Operator, tuple[Payload, ...]]:
    """An operator of a kind, and what its inputs carry."""

    def pick(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    types: list[str] = {
        "ekf": [name for name in REAL if name != "bool"],
        "average": REAL,
        "threshold": REAL,
    }.get(kind, [*NUMBERS])
    payload = Payload(pick(*types), int(rng.integers(1, 9)))
    count, settings = 1, dict[str, Any]()
    if kind == "ekf":
        count = int(rng.integers(1, 4))
        settings = {"offset": pick(0.0, 2.5), "r": 0.5, "dt": 0.1, "q": pick(0, 2.0)}
    elif kind in ("cat", "join"):
        count = int(rng.integers(2, 4))
        settings = {"within": MS} if kind == "join" else {}
    elif kind == "average":
        settings = {"window": int(rng.integers(1, 12))}
    elif kind == "resample":
        payload = replace(payload, dtype=pick(*REAL))
        settings = pick({"size": int(rng.integers(1, 12))}, {"every": int(rng.integers(1, 4))})
    elif kind == "threshold":
        settings = pick({"above": 0.5}, {"below": -3}, {"above": 100, "below": -100})
    elif kind == "aes":
        settings = {"key": pick(KEY, KEY + KEY[:16], KEY * 2)}
    elif kind == "python":
        settings = pick(
            {"function": doubled},
            {"function": summed, "state": no_sum},
            {"function": stepwise},
            {"function": stepwise_with_state, "state": list},
            {"function": in_place, "state": lambda: np.zeros(1, np.int8), "output": "complex128"},
        )
        payload = Payload(pick("float64", "complex128"), payload.size)
        if "output" in settings:
            settings["output"] = f"complex128[{payload.size}]"
    payloads = tuple(
        replace(payload, dtype=pick(*types), size=int(rng.integers(1, 9)))
        if kind in ("cat", "join")
        else payload
        for _ in range(count)
    )
    return operator_of(kind, payloads, **settings), payloads


GENERATED = st.sampled_from([name for name in KINDS if name not in ("numba", "statement")])


# All of them -------------------------------------------------------------------------------------


@examples(150)
@given(GENERATED, SEEDS)
def test_an_operator_makes_what_the_check_infers(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    operator, payloads = case_of(kind, rng)
    payload, work = work_of(operator, payloads)
    found, _ = run_all(work, [inputs_of(rng, payloads, n) for n in (1, 2, 3)])
    for value in (each for values in found for each in values):
        assert (str(value.dtype), value.shape) == (payload.dtype, (payload.size,))


@examples(150)
@given(GENERATED, SEEDS)
def test_a_run_changes_neither_its_state_nor_its_inputs(kind: str, seed: int) -> None:
    """So that the same run from the same state gives the same."""
    rng = np.random.default_rng(seed)
    operator, payloads = case_of(kind, rng)
    _, work = work_of(operator, payloads)
    _, state = run_all(work, [inputs_of(rng, payloads, n) for n in (1, 2)])
    inputs = inputs_of(rng, payloads, 3)
    before = pickle.dumps((state, [each.value for each in inputs]))
    first_state, first = work.step(state, inputs)
    kept = deepcopy(first)
    second_state, second = work.step(state, inputs)
    assert pickle.dumps((state, [each.value for each in inputs])) == before
    assert same([first], [kept])
    assert same([first], [second])
    assert pickle.dumps(first_state) == pickle.dumps(second_state)


@examples(150)
@given(GENERATED, SEEDS, st.integers(2, 12))
def test_steps_give_the_same_as_a_run_at_once(kind: str, seed: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    operator, payloads = case_of(kind, rng)
    _, work = work_of(operator, payloads)
    if work.in_steps is None:
        with pytest.raises(KindError, match="does not work in steps"):
            work_of(replace(operator, steps=steps), payloads)
        return
    state = work.begin()
    for number in (1, 2, 3):
        inputs = inputs_of(rng, payloads, number)
        before = pickle.dumps(state)
        *firsts, last = work.in_steps(state, inputs, steps)
        assert pickle.dumps(state) == before
        assert not any(firsts)
        assert kind == "python" or len(firsts) == steps - 1
        assert last is not None
        whole = work.step(state, inputs)
        assert same([last[1]], [whole[1]])
        assert pickle.dumps(last[0]) == pickle.dumps(whole[0])
        state = whole[0]


@examples(100)
@given(GENERATED, SEEDS)
def test_freezing_between_two_runs_changes_nothing(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    operator, payloads = case_of(kind, rng)
    _, work = work_of(operator, payloads)
    runs = [inputs_of(rng, payloads, n) for n in (1, 2, 3, 4)]
    expected, _ = run_all(work, runs)
    state, found = work.begin(), []
    for inputs in runs:
        state = work.thaw(pickle.loads(pickle.dumps(work.freeze(state))))
        state, values = work.step(state, inputs)
        found.append([*values])
    assert same(found, expected)


@examples(50)
@given(st.integers(0, 50), st.integers(1, 60))
def test_parts_are_all_of_it_in_its_order(size: int, steps: int) -> None:
    found = parts(size, steps)
    assert len(found) == steps
    assert [n for part in found for n in range(size)[part]] == [*range(size)]
    assert steps > size or all(part.start < part.stop for part in found)


def test_operators_run_in_steps_with_states_of_their_own() -> None:
    graph = Graph(
        (Supplier(name="s0", period=MS, validity=MS, payload=Payload("float64", 5)),),
        tuple(
            Operator(name=n, kind="average", inputs=("s0",), parameters={"window": 3}, steps=s)
            for n, s in (("a", 1), ("b", 4))
        ),
        tuple(Consumer(name=f"c{n}", input=n, priority=1) for n in "ab"),
    )
    works = checked(graph).works
    operators = Operators(works)
    a, b = graph.operators
    rng = np.random.default_rng(1)
    for number in range(1, 5):
        inputs = inputs_of(rng, [Payload("float64", 5)], number)
        expected = operators.run(Run(1, a, inputs, (0,)))
        assert expected is not None
        frozen = pickle.dumps(operators.freeze())
        for step in range(3):
            assert operators.run(Run(1, b, inputs, (0,), step)) is None
            assert pickle.dumps(operators.freeze()) == frozen, (
                "a run that is not over leaves nothing"
            )
        if number == 3:  # it is broken off there, and begins anew
            operators = Operators(works, saved=pickle.loads(frozen))
            assert [operators.run(Run(1, b, inputs, (0,), n)) for n in range(3)] == [None] * 3
        found = operators.run(Run(1, b, inputs, (0,), 3))
        assert found is not None
        assert same([found], [expected])
    operators.restart("a")
    assert operators.states["a"].tolist() == [0, 0, 0, 0]
    assert operators.states["b"].tolist() != [0, 0, 0, 0]


# Filters -----------------------------------------------------------------------------------------


def filtered(
    measured: Any, dt: float = 0.001, q: float = 1.0, r: float = 1.0, offset: float = 0.0
) -> Any:
    """An extended Kalman filter as books have it, with matrices."""
    x, p = np.array([[abs(offset)], [0.0]]), np.eye(2) * 1e6
    f = np.array([[1, dt], [0, 1]])
    noise = q * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    found = []
    for datapoints in measured:
        x, p = f @ x, f @ p @ f.T + noise
        for z in datapoints:
            position = x[0, 0]
            expected = hypot(position, offset) if offset else position
            h = np.array([[position / expected if offset else 1.0, 0.0]])
            gain = p @ h.T / (h @ p @ h.T + r)
            x = x + gain * (z - expected)
            rest = np.eye(2) - gain @ h
            p = rest @ p @ rest.T + r * gain @ gain.T
        found.append(x[0, 0])
    return np.array(found)


@examples(40)
@given(
    SEEDS,
    st.integers(1, 3),
    st.integers(1, 12),
    st.sampled_from((0.0, 0.5, -3.0)),
    st.sampled_from((0.001, 0.1, 1.0)),
    st.sampled_from((0.0, 1.0, 20.0)),
    st.sampled_from((0.01, 1.0, 30.0)),
)
def test_a_filter_is_the_one_of_books(
    seed: int, sensors: int, size: int, offset: float, dt: float, q: float, r: float
) -> None:
    rng = np.random.default_rng(seed)
    way = 20 + np.cumsum(rng.normal(0, 1, 3 * size))
    measured = np.hypot(way, offset)[:, None] + rng.normal(0, 0.1, (3 * size, sensors))
    settings = {"dt": dt, "q": q, "r": r, "offset": offset}
    _, work = made("ekf", *[f"float64[{size}]"] * sensors, **settings)
    state, found = work.begin(), []
    for part in (slice(n * size, (n + 1) * size) for n in range(3)):
        inputs = tuple(sample(measured[part, n].copy()) for n in range(sensors))
        state, (estimated,) = work.step(state, inputs)
        found.append(estimated)
    np.testing.assert_allclose(np.concatenate(found), filtered(measured, **settings), rtol=1e-6)


@examples(30)
@given(SEEDS, st.sampled_from(("uint8", "int8", "int16")))
def test_a_filter_of_whole_numbers_rounds_and_stays_in_their_limits(seed: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    limits = np.iinfo(dtype)
    measured = rng.choice([limits.min, limits.min + 1, limits.max - 1, limits.max], 20)
    settings = {"dt": 1.0, "q": 50.0}  # so fast that it overshoots
    (found,) = one("ekf", measured.astype(dtype), **settings)
    expected = filtered(measured[:, None].astype(float), **settings)
    assert found.tolist() == np.clip(np.rint(expected), limits.min, limits.max).tolist()


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_a_filter_of_the_greatest_numbers_does_not_wrap_around(dtype: str) -> None:
    greatest = np.iinfo(dtype).max
    measured = np.array([greatest // 2, greatest, greatest, greatest], dtype)
    (found,) = one("ekf", measured, dt=1.0, q=1e30)
    assert found[0] > greatest // 4
    assert all(a <= b for a, b in pairwise(found.tolist()))


def test_a_filter_finds_an_object_beside_which_its_sensor_stands() -> None:
    way = np.linspace(80, 40, 400)
    (found,) = one("ekf", np.hypot(way, 10), dt=0.01, offset=10, r=0.1, q=10)
    np.testing.assert_allclose(found[-50:], way[-50:], atol=0.5)


def test_a_plain_filter_follows_an_object_on_either_side() -> None:
    way = np.linspace(5, -5, 200)
    (found,) = one("ekf", way, dt=0.01)
    np.testing.assert_allclose(found[-50:], way[-50:], atol=0.1)


def test_a_filter_leaves_out_what_was_not_measured() -> None:
    gaps = np.array([3.0, np.nan, 3.0, np.inf, 3.0])
    _, work = made("ekf", "float64[5]", "float64[5]")
    _, (found,) = work.step(work.begin(), (sample(gaps), sample(np.full(5, 3.0))))
    np.testing.assert_allclose(found, 3.0, rtol=1e-5)
    _, (alone,) = made("ekf", "float64[5]")[1].step(work.begin(), (sample(gaps),))
    assert np.isfinite(alone).all()


# Arrays ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS)
def test_a_transform_is_the_one_of_numpy(dtype: str) -> None:
    value = array(np.random.default_rng(3), Payload(dtype, 37))
    (found,) = one("fft", value)
    is_short = dtype in ("bool", "int8", "uint8", "int16", "uint16", "float32", "complex64")
    assert found.dtype == ("complex64" if is_short else "complex128")
    expected = np.fft.fft(value.astype(np.complex128))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, atol=scale * (1e-5 if is_short else 1e-12))


def test_arrays_stand_one_behind_the_other() -> None:
    payload, work = made("cat", "uint8[2]", "int16", "float32[1]")
    values = np.array([1, 2], "uint8"), np.array([-3], "int16"), np.array([0.5], "float32")
    _, (found,) = work.step(None, tuple(map(sample, values)))
    assert found.tolist() == [1, 2, -3, 0.5]
    assert str(payload) == "float32[4]"


def test_names_of_elements_stay_where_they_are_clear() -> None:
    a, b = Payload("int8", 1, ("x",)), Payload("int8", 2, ("y", "z"))

    def names(kind: str, *payloads: Payload, **settings: Any) -> tuple[str, ...]:
        return work_of(operator_of(kind, payloads, **settings), payloads)[0].fields

    assert names("cat", a, b) == ("x", "y", "z")
    assert names("cat", a, a) == ()
    assert names("cat", a, Payload("int8")) == ()
    assert names("threshold", b, above=1) == ("y", "z")
    assert names("resample", b, every=2) == ("y", "z")
    assert names("resample", b, size=2) == ()
    assert names("average", a, window=2) == ("x",)
    assert names("fft", b, fields=("re", "im")) == ("re", "im")


@examples(60)
@given(
    st.integers(1, 9),
    st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=1, max_size=6),
    st.integers(1, 5),
)
def test_averages_go_on_over_events_and_steps(
    window: int, events: list[list[int]], steps: int
) -> None:
    _, work = made("average", "int32[3]", window=window)
    assert work.in_steps is not None
    numbers = [each for event in events for each in event]
    lasts = (numbers[max(0, n + 1 - window) : n + 1] for n in range(len(numbers)))
    state, found = work.begin(), list[float]()
    for event in events:
        *_, last = work.in_steps(state, (sample(np.array(event, np.int32)),), steps)
        assert last is not None
        state, (value,) = last
        found += value.tolist()
    np.testing.assert_allclose(found, [sum(each) / len(each) for each in lasts], rtol=1e-12)


def test_averages_forget_what_is_no_number() -> None:
    found = one("average", [1.0, np.nan, 3.0, 5.0], window=2)[0]
    assert found.tolist()[2:] == [pytest.approx(np.nan, nan_ok=True), 4.0]


@examples(40)
@given(SEEDS, st.integers(1, 9), st.integers(1, 20))
def test_arrays_of_another_size_lie_on_the_same_line(seed: int, old: int, new: int) -> None:
    value = np.random.default_rng(seed).normal(size=old)
    (found,) = one("resample", value, size=new)
    assert len(found) == new
    for n, each in enumerate(found):
        place = n * (old - 1) / (new - 1) if new > 1 else 0.0
        left = min(int(place), max(old - 2, 0))
        right = min(left + 1, old - 1)
        assert each == pytest.approx(value[left] + (value[right] - value[left]) * (place - left))


@pytest.mark.parametrize("every", [1, 2, 3])
def test_one_of_so_many_events_is_kept(every: int) -> None:
    _, work = made("resample", "complex64[2]", every=every)
    runs = [(sample(np.full(2, n, "complex64")),) for n in range(7)]
    found, _ = run_all(work, runs)
    assert [n for n, values in enumerate(found) if values] == [*range(0, 7, every)]
    assert all(values[0].tolist() == [n, n] for n, values in enumerate(found) if values)


@pytest.mark.parametrize(
    ("settings", "passing"),
    [
        ({"above": 2}, [[0, 3]]),
        ({"below": 0}, [[-1, 1]]),
        ({"above": 2, "below": 0}, [[0, 3], [-1, 1]]),
        ({"above": 3, "below": -1}, []),
    ],
)
def test_events_pass_where_an_element_is_beyond_a_threshold(
    settings: dict[str, int], passing: list[list[int]]
) -> None:
    events = [[0, 1], [0, 3], [-1, 1], [2, 2]]
    _, work = made("threshold", "int8[2]", **settings)
    found, _ = run_all(work, [(sample(np.array(each, "int8")),) for each in events])
    assert [values[0].tolist() for values in found if values] == passing
    assert one("threshold", [np.nan], **settings) == []


def test_a_join_takes_events_that_begin_near_each_other() -> None:
    graph = Graph(
        tuple(
            Supplier(name=n, period=10 * MS, validity=90 * MS, payload=Payload("int64"))
            for n in "ab"
        ),
        (Operator(name="j", kind="join", inputs=("a", "b"), within=2 * MS),),
        (Consumer(name="c", input="j", priority=1),),
    )
    times = {"a": (0, 10, 20, 30), "b": (2, 13, 17, 30)}
    pushes = sorted((time, name, time) for name in "ab" for time in times[name])
    assert [each.sample.value.tolist() for each in delivered(graph, pushes)] == [[0, 2], [30, 30]]


# Ciphers -----------------------------------------------------------------------------------------


def decrypted(found: Any, key: str, nonce: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    cipher = Cipher(algorithms.AES(bytes.fromhex(key)), modes.CTR(nonce))
    return cipher.decryptor().update(found.tobytes())


@examples(40)
@given(SEEDS, st.sampled_from(NUMBERS), st.integers(1, 40), st.integers(1, 2**40 - 1))
def test_what_is_encrypted_is_decrypted(seed: int, dtype: str, size: int, number: int) -> None:
    rng = np.random.default_rng(seed)
    key, salt = rng.bytes(int(rng.choice([16, 24, 32]))).hex(), rng.bytes(8)
    payload = Payload(dtype, size)
    value = array(rng, payload)
    made_of, work = made("aes", str(payload), key=key, salt=salt.hex())
    _, (found,) = work.step(None, (sample(value, number),))
    assert str(found.dtype) == "uint8"
    assert len(found) == made_of.size == value.nbytes
    assert decrypted(found, key, salt + number.to_bytes(5, "big") + bytes(3)) == value.tobytes()


def test_equal_numbers_are_encrypted_equally_and_others_are_not() -> None:
    value = np.arange(16, dtype=np.uint8)
    runs = [(sample(value, number),) for number in (1, 2, 1, 256)]
    (a,), (b,), (c,), (d,) = run_all(made("aes", "uint8[16]", key=KEY)[1], runs)[0]
    assert a.tobytes() == c.tobytes()
    assert len({each.tobytes() for each in (a, b, d)}) == 3
    again = run_all(made("aes", "uint8[16]", key=KEY)[1], runs)[0]
    assert same(again, [[a], [b], [c], [d]])
    (salted,) = one("aes", value, key=KEY, salt="0000000000000001")
    assert salted.tobytes() != a.tobytes()


def test_blocks_of_two_events_have_no_nonce_in_common() -> None:
    """Zeros show the stream of the cipher: no block of it comes twice."""
    zeros = np.zeros(64 * 16, np.uint8)
    runs = [(sample(zeros, number),) for number in range(1, 20)]
    found, _ = run_all(made("aes", "uint8[1024]", key=KEY)[1], runs)
    blocks = [value.tobytes()[n : n + 16] for (value,) in found for n in range(0, 1024, 16)]
    assert len({*blocks}) == len(blocks)


def test_a_key_comes_from_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", KEY)
    value = np.arange(4, dtype=np.uint8)
    assert same([one("aes", value, key="$SECRET")], [one("aes", value, key=KEY)])
    for digits, words in (("xy", "hexadecimal"), ("00", "16 or 24 or 32 bytes, not 1")):
        monkeypatch.setenv("SECRET", digits)
        with pytest.raises(KindError, match=f"the variable SECRET, which .*{words}"):
            one("aes", value, key="$SECRET")
    monkeypatch.delenv("SECRET")
    with pytest.raises(KindError, match="SECRET, which is not set"):
        one("aes", value, key="$SECRET")


# The GIL -----------------------------------------------------------------------------------------


def lets_others_run(call: Callable[[], object]) -> bool:
    """Whether a thread that waits for the GIL gets it during a call, as long as nobody is made to give way."""
    ran, begun, may_run = list[int](), Lock(), Lock()
    may_run.acquire()
    begun.acquire()

    def other() -> None:
        begun.release()
        with may_run:
            ran.append(1)

    before = sys.getswitchinterval()
    thread = Thread(target=other)
    thread.start()
    begun.acquire()
    try:
        sys.setswitchinterval(1_000)
        may_run.release()
        for _ in range(300):
            call()
            if ran:
                return True
        return False
    finally:
        sys.setswitchinterval(before)
        thread.join()


LARGE: dict[str, tuple[str, dict[str, Any]]] = {
    "ekf": ("float64[40000]", {}),
    "fft": ("float32[65536]", {}),
    "aes": ("uint8[1000000]", {"key": KEY}),
    "average": ("float64[40000]", {"window": 30}),
    "numba": ("float64[100000]", {"function": lambda x: np.sqrt(np.exp(x))}),
}


@pytest.mark.parametrize("kind", LARGE)
def test_the_gil_is_released_by(kind: str) -> None:
    payload, settings = LARGE[kind]
    _, work = made(kind, payload, **settings)
    assert work.releases_gil
    value = np.zeros(payload_of(payload).size, payload_of(payload).dtype)
    state, inputs = work.begin(), (sample(value),)
    work.step(state, inputs)
    assert lets_others_run(lambda: work.step(state, inputs))


def test_the_gil_is_not_released_by_plain_python() -> None:
    assert not lets_others_run(lambda: sum(range(1_000)))
    for kind, settings in (("cat", {}), ("resample", {"size": 3}), ("threshold", {"above": 1})):
        assert not made(kind, "float64", **settings)[1].releases_gil


# Payloads and signals ----------------------------------------------------------------------------


@examples(60)
@given(st.sampled_from(NUMBERS), st.integers(1, 1 << 24))
def test_payloads_are_read_as_they_are_written(dtype: str, size: int) -> None:
    assert payload_of(str(Payload(dtype, size))) == Payload(dtype, size)


@pytest.mark.parametrize(
    "text",
    ["", "int", "int8[]", "int8[0]", "int8[-1]", "int8[1", "object", "INT8", "int8[99999999]"],
)
def test_what_is_no_payload_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no type|a payload has"):
        payload_of(text)


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_signals_are_the_same_every_time_and_of_their_payload(signal: str, dtype: str) -> None:
    supplier = Supplier(name="s", period=1, validity=1, payload=Payload(dtype, 5), signal=signal)
    first, second = Signal(supplier), Signal(supplier)
    for number in (0, 7, 40):
        assert first[number].tobytes() == second[number].tobytes()
        assert (str(first[number].dtype), first[number].shape) == (dtype, (5,))
        assert not first[number].flags.writeable
    values = np.concatenate([first[n] for n in range(32)])
    assert len({*values.tolist()}) > 1
    assert values.real.min() >= 0


def test_suppliers_have_noise_of_their_own_and_large_ones_less_of_it() -> None:
    ab, ba = (Signal(Supplier(name=name, period=1, validity=1)) for name in ("ab", "ba"))
    assert ab[0].tolist() != ba[0].tolist()
    large = Signal(Supplier(name="s", period=1, validity=1, payload=Payload("uint8", 1 << 23)))
    assert large[0].size == 1 << 23
    assert large[0].tobytes() == large[1].tobytes()
