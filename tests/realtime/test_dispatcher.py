"""Graphs at work in real time: the same events as in virtual time, whatever goes wrong beside them."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing import active_children
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cepheid import realtime
from cepheid.errors import RunError, UsageError
from cepheid.realtime.arrivals import Arrival, arrivals
from cepheid.realtime.checking import Checked, checked
from cepheid.realtime.dispatcher import Dispatcher, Entry, Trouble
from cepheid.realtime.feeds import Scheduled
from cepheid.realtime.graph import Consumer, Graph, Operator, Supplier, Time
from cepheid.realtime.machine import Delivery, Job, Machine, Move, Run
from cepheid.realtime.operators.running import Operators
from cepheid.realtime.payload import Payload
from cepheid.realtime.simulation import no_time, simulate

MS = 1_000_000


class FakeClock:
    """Goes on a little whenever it is read, and at once where something waits."""

    def __init__(self, tick: Time = 1_000) -> None:
        self._now = 0
        self._tick = tick

    def __call__(self) -> Time:
        self._now += self._tick
        return self._now

    def sleep(self, length: Time) -> None:
        self._now += length


def double(x: Any) -> Any:
    return 2 * x


def supplier(name: str, period: Time = 10 * MS, validity: Time = 10**12) -> Supplier:
    return Supplier(name=name, period=period, validity=validity, payload=Payload("float64", 4))


def function(name: str, called: Any, *inputs: str, **settings: Any) -> Operator:
    return Operator(
        name=name, kind="python", inputs=inputs, parameters={"function": called}, **settings
    )


def three_levels() -> Graph:
    """`a` is shared by all; each priority has an operator of its own."""
    return Graph(
        (supplier("s"), supplier("t", period=20 * MS)),
        (
            Operator(name="a", kind="average", inputs=("s",), parameters={"window": 3}),
            function("b", double, "a"),
            Operator(name="c", kind="fft", inputs=("a",)),
            Operator(name="d", kind="ekf", inputs=("t",), steps=3),
        ),
        (
            Consumer(name="high", input="b", priority=1),
            Consumer(name="middle", input="c", priority=2),
            Consumer(name="low", input="d", priority=3),
        ),
    )


Delivered = dict[str, list[bytes]]


class Collected:
    def __init__(self) -> None:
        self.values: Delivered = defaultdict(list)

    def __call__(self, delivery: Delivery[Any]) -> None:
        self.values[delivery.consumer.name].append(delivery.sample.value.tobytes())


def simulated(graph: Checked, pushes: Sequence[Arrival]) -> Delivered:
    found = Collected()
    operators = Operators(graph.works)
    simulate(
        Machine(graph.graph),
        pushes,
        no_time,
        processors=None,
        execute=operators.run_whole,
        deliver=found,
    )
    return found.values


@pytest.mark.parametrize("processors", [1, 2, 3])
def test_what_is_delivered_is_what_a_simulation_delivers(processors: int) -> None:
    graph = checked(three_levels())
    pushes = list(arrivals(graph.graph, until=400 * MS))
    found = Collected()
    clock = FakeClock() if processors == 1 else None
    start = 0 if clock is not None else _now()
    moved = [Arrival(each.time + start, each.supplier, each.value) for each in pushes]
    Dispatcher(
        graph, [Scheduled(iter(moved))], processors=processors, clock=clock, deliver=found
    ).run()
    assert found.values == simulated(graph, pushes)
    assert all(len(values) >= 20 for values in found.values.values())


def _now() -> Time:
    from cepheid.realtime.dispatcher import SteadyClock

    return SteadyClock()()


def test_an_operator_that_raises_is_restarted_and_holds_nobody_up() -> None:
    def fails_on_negative(state: int, x: Any) -> Any:
        if x[0] < 0:
            raise ValueError("below zero")
        return state + 1, np.full(4, float(state))

    graph = Graph(
        (supplier("s"), supplier("t")),
        (
            Operator(
                name="counts",
                kind="python",
                inputs=("s",),
                parameters={"function": fails_on_negative, "state": int},
            ),
            function("doubles", double, "t"),
        ),
        (
            Consumer(name="counted", input="counts", priority=1),
            Consumer(name="doubled", input="doubles", priority=2),
        ),
    )
    values = [1.0, 1.0, -1.0, 1.0, 1.0, 1.0]
    pushes = [
        Arrival(n * 10 * MS, name, np.full(4, value))
        for n, value in enumerate(values)
        for name in ("s", "t")
    ]
    seen: dict[str, list[float]] = defaultdict(list)
    troubles: list[Trouble] = []
    dispatcher = Dispatcher(
        checked(graph),
        [Scheduled(iter(pushes))],
        clock=FakeClock(),
        deliver=lambda d: seen[d.consumer.name].append(float(d.sample.value[0])),
        on_trouble=troubles.append,
    )
    metrics = dispatcher.run()
    assert seen["counted"] == [0, 1, 0, 1, 2]  # it has forgotten everything
    assert seen["doubled"] == [2, 2, -2, 2, 2, 2]
    assert [(t.operator, t.reason) for t in troubles] == [("counts", "ValueError: below zero")]
    assert metrics.released == {("counts", "failed"): 1}
    assert metrics.consumers["doubled"].latencies.largest < MS


def test_a_function_that_leaves_python_has_failed_like_any_other() -> None:
    def leaves(_: Any) -> Any:
        sys.exit("enough")

    graph = Graph(
        (supplier("s"),),
        (function("leaves", leaves, "s"),),
        (Consumer(name="c", input="leaves", priority=1),),
    )
    pushes = [Arrival(n * 10 * MS, "s", np.zeros(4)) for n in range(2)]
    dispatcher = Dispatcher(checked(graph), [Scheduled(iter(pushes))], clock=FakeClock())
    assert dispatcher.run().released == {("leaves", "failed"): 2}
    assert {each.reason for each in dispatcher.troubles} == {"SystemExit: enough"}


def test_a_run_that_hangs_is_reported() -> None:
    told = threading.Event()

    def waits(x: Any) -> Any:
        assert told.wait(60), "nobody noticed"
        return x

    troubles: list[Trouble] = []

    def on_trouble(trouble: Trouble) -> None:
        troubles.append(trouble)
        told.set()

    graph = Graph(
        (supplier("s"),),
        (function("waits", waits, "s", timeout=MS),),
        (Consumer(name="c", input="waits", priority=1),),
    )
    pushes = [Arrival(_now(), "s", np.zeros(4))]
    metrics = Dispatcher(checked(graph), [Scheduled(iter(pushes))], on_trouble=on_trouble).run()
    assert [trouble.operator for trouble in troubles] == ["waits"]
    assert "it hangs" in troubles[0].reason
    assert metrics.consumers["c"].count == 1


def test_what_was_due_while_an_operator_hung_is_counted() -> None:
    clock = FakeClock()

    def hang(x: Any) -> Any:
        clock.sleep(1_000 * MS)
        return x

    graph = Graph(
        (supplier("s", validity=30 * MS),),
        (function("hangs", hang, "s"),),
        (Consumer(name="c", input="hangs", priority=1),),
    )
    pushes = arrivals(graph, until=10_000 * MS)
    metrics = Dispatcher(checked(graph), [Scheduled(pushes)], clock=clock).run(until=500 * MS)
    assert metrics.pushed == 50
    assert metrics.consumers["c"].count == 1
    assert metrics.left == 3  # as many as the ring has room for
    assert metrics.released == {("s", "overflow"): 46}


def test_a_run_that_hangs_is_reported_once() -> None:
    class Looks(threading.Event):
        """Lets the watchdog look five times."""

        left = 5

        def wait(self, _: float | None = None) -> bool:
            self.left -= 1
            return self.left < 0

    graph = Graph(
        (supplier("s"),),
        (function("o", double, "s", timeout=MS),),
        (Consumer(name="c", input="o", priority=1),),
    )
    dispatcher = Dispatcher(checked(graph), [], clock=FakeClock(MS))
    dispatcher._running[0] = Run(1, graph.operators[0], (), ()), 0
    dispatcher._watch(Looks())
    assert [each.reason for each in dispatcher.troubles] == ["it hangs: at work for 2 ms"]


class OneByOne:
    """Pushes an event when what became of the last one is known."""

    def __init__(self, values: Sequence[float], name: str) -> None:
        self._left = list(values)
        self._name = name
        self.is_known = True

    def due(self) -> Time | None:
        return (0 if self.is_known else _now() + 1_000) if self._left or not self.is_known else None

    def poll(self, now: Time) -> Sequence[Arrival]:
        if not self.is_known or not self._left:
            return ()
        self.is_known = False
        return [Arrival(now, self._name, np.full(4, self._left.pop(0)))]


FUNCTIONS = """
import os

def odd(x):
    if x[0] == 1:
        while True:
            pass
    if x[0] == 2:
        raise ValueError("two")
    if x[0] == 3:
        os._exit(1)
    return x * 10

def nothing():
    return 0.0

def change(last, x):
    return x, x - last
"""


def in_a_process(name: str, file: Path, **parameters: Any) -> Graph:
    """One of the functions above."""
    file.write_text(FUNCTIONS)
    operator = Operator(
        name=name,
        kind="python",
        inputs=("s",),
        parameters={"function": f"{file}:{name}", **parameters},
        isolate="process",
    )
    consumer = Consumer(name="c", input=name, priority=1)
    return Graph((supplier("s", validity=10**12),), (operator,), (consumer,))


def test_an_operator_in_a_process_may_keep_what_it_got(tmp_path: Path) -> None:
    file = tmp_path / "functions.py"
    feed = OneByOne([1, 3, 7], "s")
    seen: list[float] = []

    def deliver(delivery: Delivery[Any]) -> None:
        seen.append(float(delivery.sample.value[0]))
        feed.is_known = True

    graph = in_a_process("change", file, state=f"{file}:nothing")
    Dispatcher(checked(graph), [feed], deliver=deliver).run()
    assert seen == [1, 2, 4]


def test_what_went_wrong_in_a_process_is_told_though_the_run_ends_before_there_is_a_new_one(
    tmp_path: Path,
) -> None:
    class UntilItEnds(OneByOne):
        def due(self) -> Time | None:
            return 0

        def poll(self, now: Time) -> Sequence[Arrival]:
            if dispatcher._isolated["odd"].reason is not None:
                dispatcher.stop()
            return super().poll(now)

    graph = checked(in_a_process("odd", tmp_path / "functions.py"))
    dispatcher = Dispatcher(graph, [UntilItEnds([3], "s")])
    metrics = dispatcher.run(_now() + 60_000 * MS)
    assert [each.reason for each in dispatcher.troubles] == ["its process ended"]
    assert metrics.released == {("odd", "failed"): 1}


def test_an_operator_in_a_process_is_killed_when_it_hangs_and_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "functions.py"
    file.write_text(FUNCTIONS)
    graph = Graph(
        (supplier("s", validity=10**12), supplier("t", validity=10**12)),
        (
            Operator(
                name="odd",
                kind="python",
                inputs=("s",),
                parameters={"function": f"{file}:odd"},
                isolate="process",
                timeout=200 * MS,
            ),
            function("doubles", double, "t"),
        ),
        (
            Consumer(name="c", input="odd", priority=1),
            Consumer(name="d", input="doubles", priority=2),
        ),
    )
    feed = OneByOne([0, 1, 4, 2, 5, 3, 6], "s")
    beside = OneByOne([1.0] * 50, "t")
    seen: list[float] = []
    reasons: list[str] = []

    def deliver(delivery: Delivery[Any]) -> None:
        if delivery.consumer.name == "d":
            beside.is_known = True
            return
        seen.append(float(delivery.sample.value[0]))
        feed.is_known = True

    def on_trouble(trouble: Trouble) -> None:
        reasons.append(trouble.reason)
        feed.is_known = True

    dispatcher = Dispatcher(checked(graph), [feed, beside], deliver=deliver, on_trouble=on_trouble)
    metrics = dispatcher.run()
    assert seen == [0, 40, 50, 60]
    assert reasons == [
        "it took longer than 200 ms, and was killed",
        "ValueError: two",
        "its process ended",
    ]
    assert metrics.consumers["d"].count == 50
    assert metrics.released == {("odd", "failed"): 3}


def test_choices_of_a_real_run_keep_the_order_of_priorities() -> None:
    """No job was begun while one that goes first was waiting."""
    graph = checked(three_levels())
    start = _now()
    pushes = arrivals(graph.graph, start=start, until=start + 200 * MS)
    dispatcher = Dispatcher(graph, [Scheduled(pushes)], with_trace=True)
    dispatcher.run()
    assert len(dispatcher.trace) > 60
    for entry in dispatcher.trace:
        _expect_nothing_more_important(entry)


def _expect_nothing_more_important(entry: Entry) -> None:
    for level, (inputs, pending, moving) in entry.waiting.items():
        if level < entry.job.level:
            assert (inputs, pending, moving) == (0, 0, 0)
        if level == entry.job.level and isinstance(entry.job, Move):
            assert (inputs, pending) == (0, 0)


def test_a_run_ends_at_its_time_and_can_be_stopped() -> None:
    graph = checked(three_levels())
    clock = FakeClock()
    endless = arrivals(graph.graph, until=10**18)
    dispatcher = Dispatcher(graph, [Scheduled(endless)], clock=clock)
    metrics = dispatcher.run(until=500 * MS)
    assert 490 * MS <= metrics.end - metrics.begin <= 510 * MS
    waits = Dispatcher(
        graph, [Scheduled(iter([Arrival(10**18, "s", np.zeros(4))]))], clock=FakeClock()
    )
    assert 520 * MS <= waits.run(until=520 * MS).end <= 521 * MS
    stopped = Dispatcher(graph, [Scheduled(arrivals(graph.graph, until=10**18))], clock=FakeClock())
    stopped._deliver = lambda _: stopped.stop()
    assert sum(each.count for each in stopped.run().consumers.values()) == 1


# Several processors


class WatchedLock:
    """Says who has it, and how often it was taken."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.holder: int | None = None
        self.turn = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self.holder = threading.get_ident()
        self.turn += 1

    def __exit__(self, *_: object) -> None:
        self.holder = None
        self._lock.release()

    def expect_mine(self) -> None:
        assert self.holder == threading.get_ident()


class GuardedFeed(Scheduled):
    lock: WatchedLock

    def due(self) -> Time | None:
        self.lock.expect_mine()
        return super().due()

    def poll(self, now: Time) -> Sequence[Arrival]:
        self.lock.expect_mine()
        return super().poll(now)


def test_machine_and_feeds_are_for_one_processor_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nobody overtakes one that hands on an event: it takes and gives it in one turn."""
    lock = WatchedLock()
    turns: dict[int, int] = {}

    class GuardedMachine(Machine[Any]):
        def push(self, name: str, now: Time, value: Any) -> bool:
            lock.expect_mine()
            return super().push(name, now, value)

        def next(self, now: Time) -> Job[Any] | None:
            lock.expect_mine()
            job = super().next(now)
            turns[id(job)] = lock.turn
            return job

        def finish(
            self, job: Job[Any], now: Time, values: Sequence[Any] = ()
        ) -> list[Delivery[Any]]:
            lock.expect_mine()
            assert isinstance(job, Run) or turns[id(job)] == lock.turn
            return super().finish(job, now, values)

        def pause(self, job: Run[Any]) -> None:
            lock.expect_mine()
            super().pause(job)

        def fail(self, job: Run[Any]) -> None:
            lock.expect_mine()
            super().fail(job)

    def fails_at_times(x: Any) -> Any:
        if x[0] > 0.5:
            raise ValueError
        return x

    monkeypatch.setattr("cepheid.realtime.dispatcher.Lock", lambda: lock)
    monkeypatch.setattr("cepheid.realtime.dispatcher.Machine", GuardedMachine)
    whole = three_levels()
    graph = checked(
        replace(
            whole,
            operators=(
                *whole.operators[:1],
                function("b", fails_at_times, "a"),
                *whole.operators[2:],
            ),
        )
    )
    with lock:
        feed = GuardedFeed(iter([Arrival(0, "s", np.full(4, n % 2)) for n in range(8)]))
        feed.lock = lock
        more = GuardedFeed(iter([Arrival(0, "t", np.zeros(4)) for _ in range(4)]))
        more.lock = lock
    metrics = Dispatcher(graph, [feed, more], processors=3).run()
    assert metrics.executions > 4
    assert metrics.lost("failed")


def test_a_processor_without_work_stays_while_another_may_make_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`b` and `c` wait for each other, after a time when there was nothing to do but `a`."""
    is_running, has_looked = threading.Event(), threading.Event()
    both = threading.Barrier(2, timeout=20)

    class Looked(Machine[Any]):
        def next(self, now: Time) -> Job[Any] | None:
            if is_running.is_set():
                has_looked.set()
            return super().next(now)

    def first(x: Any) -> Any:
        is_running.set()
        assert has_looked.wait(20)
        return x

    def meets(x: Any) -> Any:
        both.wait()
        return x

    monkeypatch.setattr("cepheid.realtime.dispatcher.Machine", Looked)
    graph = Graph(
        (supplier("s"),),
        (
            function("a", first, "s"),
            Operator(name="b", kind="python", inputs=("a",), parameters={"function": meets}),
            Operator(name="c", kind="python", inputs=("a",), parameters={"function": meets}),
        ),
        (Consumer(name="d", input="b", priority=1), Consumer(name="e", input="c", priority=1)),
    )
    dispatcher = Dispatcher(
        checked(graph), [Scheduled(iter([Arrival(_now(), "s", np.zeros(4))]))], processors=2
    )
    metrics = dispatcher.run()
    assert dispatcher.troubles == []
    assert [each.count for each in metrics.consumers.values()] == [1, 1]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Programs in the background are not, by default."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_processors_end_when_the_thread_that_waits_for_them_is_interrupted() -> None:
    graph = checked(three_levels())
    before = {*threading.enumerate()}
    mains = [threading.main_thread().ident]

    def interrupt(_: Delivery[Any]) -> None:
        """Once."""
        for main in filter(None, [*mains]):
            mains.clear()
            signal.pthread_kill(main, signal.SIGINT)

    start = _now()
    endless = arrivals(graph.graph, start=start, until=start + 60_000 * MS)
    with pytest.raises(KeyboardInterrupt):
        Dispatcher(graph, [Scheduled(endless)], processors=2, deliver=interrupt).run()
    left = {*threading.enumerate()} - before
    for each in left:
        each.join(20)
    assert not any(each.is_alive() for each in left)


def test_what_goes_wrong_outside_of_operators_ends_all_processors() -> None:
    consumer = Consumer(name="c", input="s", priority=1)
    graph = checked(Graph((supplier("s"),), (), (consumer,)))

    def broken(_: Delivery[Any]) -> None:
        raise OSError("no room")

    sys.setswitchinterval(0.005)  # as it is at first
    pushes = [Arrival(0, "s", np.zeros(4)), Arrival(_now() + 60_000 * MS, "s", np.zeros(4))]
    with pytest.raises(OSError, match="no room"):
        Dispatcher(graph, [Scheduled(iter(pushes))], processors=2, deliver=broken).run()
    assert _now() < pushes[-1].time
    assert sys.getswitchinterval() == pytest.approx(0.005)


def test_a_run_that_waits_for_long_can_be_stopped() -> None:
    class Stopping(FakeClock):
        def sleep(self, length: Time) -> None:
            super().sleep(length)
            dispatcher.stop()

    graph = checked(three_levels())
    pushes = [Arrival(3_600_000 * MS, "s", np.zeros(4))]
    dispatcher = Dispatcher(graph, [Scheduled(iter(pushes))], clock=Stopping())
    metrics = dispatcher.run()
    assert metrics.end < 1_000 * MS
    assert metrics.pushed == 0


# Processes that do not start, or that nobody ends

ONLY_HERE = """
from multiprocessing import parent_process

if parent_process() is not None:
    raise SystemExit(1)

def same(x):
    return x
"""


def isolated_function(name: str, called: str) -> Operator:
    return function(name, called, "s", isolate="process")


def two_isolated(first: str, second: str) -> Graph:
    return Graph(
        (supplier("s"),),
        (isolated_function("first", first), isolated_function("second", second)),
        (
            Consumer(name="c", input="first", priority=1),
            Consumer(name="d", input="second", priority=1),
        ),
    )


@pytest.fixture
def memories(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all shared memory that operators get."""
    found: list[str] = []

    def made(*args: Any, **settings: Any) -> SharedMemory:
        memory = SharedMemory(*args, **settings)
        found.append(memory.name)
        return memory

    monkeypatch.setattr("cepheid.realtime.isolation.SharedMemory", made)
    return found


def expect_nothing_left(memories: list[str]) -> None:
    assert active_children() == []
    for name in memories:
        with pytest.raises(FileNotFoundError):
            SharedMemory(name)


def test_where_a_process_does_not_start_nothing_is_left(
    tmp_path: Path, memories: list[str]
) -> None:
    (tmp_path / "fine.py").write_text("def same(x):\n    return x\n")
    (tmp_path / "bad.py").write_text(ONLY_HERE)
    graph = two_isolated(f"{tmp_path / 'fine.py'}:same", f"{tmp_path / 'bad.py'}:same")
    with pytest.raises(RunError, match="the process of operator 'second' does not start"):
        Dispatcher(checked(graph), [])
    assert len(memories) == 2
    expect_nothing_left(memories)


def test_a_run_that_is_refused_leaves_no_process(tmp_path: Path, memories: list[str]) -> None:
    (tmp_path / "fine.py").write_text("def same(x):\n    return x\n")
    called = f"{tmp_path / 'fine.py'}:same"
    with pytest.raises(UsageError, match="nothing says how long"):
        realtime.run(two_isolated(called, called))
    assert memories
    expect_nothing_left(memories)


def test_an_event_that_cannot_go_to_a_process_is_a_failure_and_the_next_is_none(
    tmp_path: Path, memories: list[str]
) -> None:
    """As an attribute without a value."""
    (tmp_path / "fine.py").write_text("def same(x):\n    return x\n")
    graph = Graph(
        (replace(supplier("s", validity=10**12), payload=Payload("int64", 4)),),
        (isolated_function("o", f"{tmp_path / 'fine.py'}:same"),),
        (Consumer(name="c", input="o", priority=1),),
    )
    values = [np.array([1, None, 2, 3], object), np.arange(4)]
    feed = Scheduled(iter([Arrival(0, "s", value) for value in values]))
    dispatcher = Dispatcher(checked(graph), [feed])
    metrics = dispatcher.run()
    assert [each.operator for each in dispatcher.troubles] == ["o"]
    assert "TypeError" in dispatcher.troubles[0].reason
    assert (metrics.lost("failed"), metrics.consumers["c"].count) == (1, 1)
    expect_nothing_left(memories)


HANGS = """
import os, sys

def hangs(x):
    os.write(1, b"at work")
    while True:
        pass
"""

RUNS = """
import sys
from cepheid import realtime

if __name__ == "__main__":
    graph = realtime.Graph(
        (realtime.Supplier(name="s", period=10**6, validity=10**9),),
        (
            realtime.Operator(
                name="o", kind="python", inputs=("s",), parameters={"function": sys.argv[1]},
                isolate="process", timeout=10**12,
            ),
        ),
        (realtime.Consumer(name="c", input="o", priority=1),),
    )
    realtime.run(graph, seconds=600)
"""


def test_an_operator_that_hangs_ends_with_the_run_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(HANGS)
    (tmp_path / "runs.py").write_text(RUNS)
    command = [sys.executable, str(tmp_path / "runs.py"), f"{tmp_path / 'functions.py'}:hangs"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        assert run.stdout is not None
        assert run.stdout.read(7) == b"at work"
        run.kill()
        run.communicate(timeout=60)  # its output ends with the last process that could write to it
