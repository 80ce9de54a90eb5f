"""A graph at work in real time: processors that ask the step machine what to do, and do it.

One processor is a plain loop in the calling thread, without locks; several are threads that share the
machine under a lock and work outside of it, where operators release the GIL. An operator that raises
loses its inputs and its state, and nothing else. A watchdog in a thread of its own reports runs that take
too long; those in processes of their own are killed and replaced.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from cepheid.realtime.checking import Checked
from cepheid.realtime.feeds import Feed
from cepheid.realtime.graph import Level, Time
from cepheid.realtime.isolation import DEFAULT_TIMEOUT, Failed, Isolated, isolated
from cepheid.realtime.machine import Delivery, Job, Machine, Run
from cepheid.realtime.metrics import Metrics
from cepheid.realtime.operators.kind import Array
from cepheid.realtime.operators.running import Operators

Scheduling: TypeAlias = Literal["fifo", "other"]
_SPIN: Time = 150_000  # before something is due, sleeping would wake up too late
_LOOK: Time = 200_000  # how often those who wait for something else look
_NAP: Time = 50_000_000  # after which whoever sleeps looks whether the run was stopped
_FIFO_PRIORITY = 50
_SWITCH = 0.0001  # seconds after which a thread that holds the GIL gives way


class Clock(Protocol):
    def __call__(self) -> Time: ...

    def sleep(self, length: Time) -> None: ...


class SteadyClock:
    """Nanoseconds since the epoch that never go back."""

    def __init__(self) -> None:
        self._offset = time.time_ns() - time.monotonic_ns()

    def __call__(self) -> Time:
        return time.monotonic_ns() + self._offset

    def sleep(self, length: Time) -> None:
        time.sleep(length / 1_000_000_000)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that went wrong with an operator, and did not end the run."""

    operator: str
    reason: str
    time: Time


class Entry(NamedTuple):
    """A job as it was done, and what waited when it was chosen."""

    job: Job[Array]
    processor: int
    begin: Time
    end: Time
    waiting: dict[Level, tuple[int, int, int]]


class Dispatcher:
    """Runs a graph until its feed ends, or a time has come."""

    def __init__(
        self,
        checked: Checked,
        feeds: Sequence[Feed],
        *,
        processors: int = 1,
        clock: Clock | None = None,
        deliver: Callable[[Delivery[Array]], None] = lambda _: None,
        on_trouble: Callable[[Trouble], None] = lambda _: None,
        with_trace: bool = False,
        scheduling: Scheduling = "other",
        rest: Mapping[str, Time] | None = None,
    ) -> None:
        self.machine: Machine[Array] = Machine(checked.graph, rest)
        self.metrics = Metrics.of(checked.graph, processors)
        self.trace: list[Entry] = []
        self.troubles: list[Trouble] = []
        self.scheduling: Scheduling = "other"  # what is in force, once it runs
        self._wanted = scheduling
        self._feeds = feeds
        self._processors = processors
        self._clock = clock or SteadyClock()
        self._deliver = deliver
        self._on_trouble = on_trouble
        self._with_trace = with_trace
        elsewhere = [each.name for each in checked.graph.operators if each.isolate == "process"]
        self._operators = Operators(checked.works, elsewhere)
        self._asked: dict[str, Run[Array]] = {}  # what is at work in other processes
        self._running: dict[int, tuple[Run[Array], Time]] = {}  # by processor, for the watchdog
        self._idle = [0] * processors  # how long each waited
        self._is_stopped = False
        self._failure: BaseException | None = None
        # Last: nothing is left behind where anything before goes wrong.
        self._isolated: dict[str, Isolated] = isolated(checked.graph, checked.payloads)

    def close(self) -> None:
        """Ends the processes of operators, as a run does at its end."""
        for each in self._isolated.values():
            each.close()

    def stop(self) -> None:
        """Ends a run after the jobs at hand; from any thread."""
        self._is_stopped = True

    def run(self, until: Time | None = None) -> Metrics:
        """Up to a time of the clock, or while anything is to come; what waits then is left."""
        metrics, is_over = self.metrics, Event()
        watchdog = Thread(target=self._watch, args=(is_over,), daemon=True)
        metrics.begin = self._clock()
        watchdog.start()
        try:
            with _gil_given_way(self._processors > 1):
                if self._processors == 1:
                    with self._scheduled():
                        self._work(0, until, nullcontext())
                else:
                    self._work_together(until)
            self._give_up_asked()
            if until is not None:  # nothing that was due while somebody hung goes uncounted
                self._take_in(min(until, self._clock()) - 1)
            return self.snapshot()  # before processes end, which is no work of the graph
        finally:
            is_over.set()
            watchdog.join()
            self.close()

    def snapshot(self) -> Metrics:
        """What has been measured so far."""
        metrics = self.metrics
        metrics.end = self._clock()
        metrics.busy = (metrics.end - metrics.begin) * self._processors - sum(self._idle)
        metrics.released = dict(self.machine.released)
        metrics.waiting = self.machine.waiting()
        return metrics

    # -- processors --

    def _work_together(self, until: Time | None) -> None:
        lock = Lock()
        ended = [Event() for _ in range(self._processors)]

        def work(number: int) -> None:
            try:
                with self._scheduled():
                    self._work(number, until, lock)
            except BaseException as failure:  # told by whoever called
                self._failure = failure
                self.stop()
            finally:
                ended[number].set()

        threads = [Thread(target=work, args=(n,)) for n in range(self._processors)]
        # Threads are not joined: Python takes one for ended whose `join` was interrupted.
        try:
            for thread in threads:
                thread.start()
            for each in ended:
                each.wait()
        finally:  # Ctrl-C comes here, and to none of them
            self.stop()
            for thread, each in zip(threads, ended, strict=True):
                if thread.ident is not None:
                    each.wait()
        if self._failure is not None:
            raise self._failure

    def _work(self, number: int, until: Time | None, lock: Any) -> None:
        """A processor: asks what to do next, and does it."""
        clock = self._clock
        while True:
            with lock:
                now = clock()
                if self._is_stopped or (until is not None and now >= until):
                    return
                self._take_in(now)
                job = self.machine.next(now)
                if job is None:
                    if self._is_over():
                        return
                    left = self._left(now, until)
                else:
                    waiting = self.machine.waiting() if self._with_trace else {}
                    self._begin(job, number, now, waiting)
            if job is None:
                if left > 0:
                    clock.sleep(left)
                self._idle[number] += clock() - now
            elif number in self._running:
                self._run(*self._running[number], number, lock, waiting)

    def _begin(
        self,
        job: Job[Array],
        number: int,
        now: Time,
        waiting: dict[Level, tuple[int, int, int]],
    ) -> None:
        """All of it at once, but for runs: another processor could overtake it with the next event."""
        if not isinstance(job, Run):
            self._finish(job, number, now, (), waiting)
        elif job.operator.name in self._isolated:
            self._ask(job, now)
        else:
            self._running[number] = job, now

    def _run(
        self,
        job: Run[Array],
        begin: Time,
        number: int,
        lock: Any,
        waiting: dict[Level, tuple[int, int, int]],
    ) -> None:
        try:
            values = self._operators.run(job)
        except (Exception, SystemExit) as problem:  # a function may call sys.exit
            with lock:
                del self._running[number]
                self._fail(job, f"{type(problem).__name__}: {problem}")
                self._operators.restart(job.operator.name)
            return
        with lock:
            del self._running[number]
            self._finish(job, number, begin, values, waiting)

    def _finish(
        self,
        job: Job[Array],
        number: int,
        begin: Time,
        values: Sequence[Array] | None,
        waiting: dict[Level, tuple[int, int, int]],
    ) -> None:
        now = self._clock()
        if self._with_trace:
            self.trace.append(Entry(job, number, begin, now, waiting))
        if values is None:
            assert isinstance(job, Run)
            self.machine.pause(job)
            return
        self._complete(job, now, values)

    def _complete(self, job: Job[Array], now: Time, values: Sequence[Array]) -> None:
        if isinstance(job, Run):
            self.metrics.executions += 1
        for delivery in self.machine.finish(job, now, values):
            self.metrics.deliver(delivery, delivery.sample.value.nbytes)
            self._deliver(delivery)

    # -- what comes, and what is waited for --

    def _take_in(self, now: Time) -> None:
        for feed in self._feeds:
            due = feed.due()
            if due is not None and due <= now:
                self._push(feed, now)
        if self._asked:
            self._take_answers()

    def _push(self, feed: Feed, now: Time) -> None:
        for arrival in feed.poll(now):
            self.metrics.pushed += 1
            self.machine.push(arrival.supplier, arrival.time, arrival.value)

    def _ask(self, job: Run[Array], now: Time) -> None:
        name = job.operator.name
        try:
            self._isolated[name].ask(job, now)
        except Failed as problem:
            self._fail(job, str(problem))
        else:
            self._asked[name] = job

    def _take_answers(self) -> None:
        now = self._clock()
        for name, job in list(self._asked.items()):
            try:
                values = self._isolated[name].answer(now)
            except Failed as problem:
                del self._asked[name]
                self._fail(job, str(problem))
                continue
            if values is not None:
                del self._asked[name]
                self._complete(job, self._clock(), values)

    def _give_up_asked(self) -> None:
        """Runs in other processes that went wrong have failed, though the end came before new ones."""
        for name, job in self._asked.items():
            reason = self._isolated[name].reason
            if reason is not None:
                self._fail(job, reason)

    def _is_over(self) -> bool:
        """Nothing will come any more, and nobody is at work."""
        return (
            not self._running
            and not self._asked
            and all(feed.due() is None for feed in self._feeds)
            and self.machine.is_idle
        )

    def _left(self, now: Time, until: Time | None) -> Time:
        """How long to sleep until something is due; the last moments are spent awake."""
        dues = [due for feed in self._feeds if (due := feed.due()) is not None]
        if until is not None:
            dues.append(until)
        if self._asked or self._running or not dues:
            dues.append(now + _LOOK)
        # Others may have made work in the meantime.
        return min(min(dues) - now - _SPIN, _NAP if self._processors == 1 else _LOOK)

    # -- what goes wrong --

    def _fail(self, job: Run[Array], reason: str) -> None:
        self.machine.fail(job)
        self._tell(job.operator.name, reason)

    def _tell(self, operator: str, reason: str) -> None:
        trouble = Trouble(operator, reason, self._clock())
        if len(self.troubles) < 1_000:  # all of them are counted, as released
            self.troubles.append(trouble)
        self._on_trouble(trouble)

    def _watch(self, is_over: Event) -> None:
        """Reports each run that takes too long, once."""
        told: dict[int, Time] = {}
        while not is_over.wait(0.05):
            now = self._clock()
            for number, (job, since) in list(self._running.items()):
                timeout = job.operator.timeout or DEFAULT_TIMEOUT
                if now - since > timeout and told.get(number) != since:
                    told[number] = since
                    taken = (now - since) / 1e6
                    self._tell(job.operator.name, f"it hangs: at work for {taken:.3g} ms")

    @contextmanager
    def _scheduled(self) -> Iterator[None]:
        """This thread before all others of the machine, where that is wanted and allowed."""
        if self._wanted != "fifo" or not hasattr(os, "sched_setscheduler"):
            yield
            return
        before, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_FIFO_PRIORITY))
        except PermissionError:
            yield
            return
        self.scheduling = "fifo"
        try:
            yield
        finally:
            os.sched_setscheduler(0, before, parameter)


@contextmanager
def _gil_given_way(is_wanted: bool) -> Iterator[None]:
    """Threads that hold the GIL give way sooner."""
    before = sys.getswitchinterval()
    if is_wanted:
        sys.setswitchinterval(_SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
