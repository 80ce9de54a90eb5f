"""Operators in processes of their own, which can be killed. Arrays go through shared memory.

The dispatcher never waits for such a process: it asks, goes on, and looks whether the answer is there.
A process that takes too long or ends is replaced by a new one, with a new state, and its run has failed.
"""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from threading import Thread
from typing import Any

from cepheid.errors import RunError, error
from cepheid.realtime.graph import Graph, Operator, Time
from cepheid.realtime.machine import Run, Sample
from cepheid.realtime.operators.kind import Array
from cepheid.realtime.payload import Payload

DEFAULT_TIMEOUT: Time = 1_000_000_000
_CONTEXT = get_context("spawn")  # forks of a process with threads can hang
_OUTPUTS = 16  # events that one run can make
_START = 60.0  # seconds for a process to be ready
_GLANCE = 0.02  # seconds


class Failed(Exception):
    """A run of an operator made nothing; says why."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where arrays lie in the shared memory: one for each input, then room for what is made."""

    inputs: tuple[Payload, ...]
    output: Payload

    @property
    def places(self) -> list[tuple[Payload, int]]:
        import numpy as np

        found, place = [], 0
        for payload in (*self.inputs, *[self.output] * _OUTPUTS):
            found.append((payload, place))
            place += math.ceil(np.dtype(payload.dtype).itemsize * payload.size / 64) * 64
        return [*found, (self.output, place)]

    @property
    def size(self) -> int:
        return max(self.places[-1][1], 1)

    def arrays(self, memory: SharedMemory) -> tuple[list[Array], list[Array]]:
        import numpy as np

        arrays = [
            np.ndarray((payload.size,), payload.dtype, memory.buf, place)
            for payload, place in self.places[:-1]
        ]
        return arrays[: len(self.inputs)], arrays[len(self.inputs) :]


class Isolated:
    """An operator in a process of its own."""

    def __init__(self, operator: Operator, payloads: Mapping[str, Payload]) -> None:
        self.operator = operator
        self.restarts = 0
        self._layout = _Layout(
            tuple(payloads[name] for name in operator.inputs), payloads[operator.name]
        )
        self._memory = SharedMemory(create=True, size=self._layout.size)
        self._inputs, self._outputs = self._layout.arrays(self._memory)
        self._timeout = operator.timeout or DEFAULT_TIMEOUT
        self._process: Any = None
        self._connection: Connection | None = None
        self._since: Time = 0
        self.reason: str | None = None  # why it is being replaced
        self._starting: Thread | None = None
        self._is_closed = False
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        self._connection, other = _CONTEXT.Pipe()
        operator = self.operator
        self._process = _CONTEXT.Process(
            target=_serve,
            args=(other, operator, self._layout, self._memory.name),
            daemon=True,
            name=f"cepheid-{operator.name}",
        )
        self._process.start()
        other.close()
        fact = f"the process of operator '{operator.name}' does not start"
        try:
            if not self._connection.poll(_START):
                raise RunError(error("operator-failed", f"{fact} in {_START:g} seconds"))
            self._connection.recv()  # that it is ready
        except (EOFError, OSError):
            hint = (
                "a script runs graphs below `if __name__ == '__main__':`, as processes load it, too"
            )
            raise RunError(error("operator-failed", fact, hint=hint)) from None

    def ask(self, job: Run[Array], now: Time) -> None:
        """Failed where its events cannot go to a process, as those with an attribute without a value."""
        for place, sample in zip(job.places, job.inputs, strict=True):
            try:
                self._inputs[place][:] = sample.value
            except (TypeError, ValueError) as wrong:
                raise Failed(f"{type(wrong).__name__}: {wrong}") from None
        self._since = now
        assert self._connection is not None
        heads = [(s.source, s.number, s.begin, s.end, s.pushed) for s in job.inputs]
        try:
            self._connection.send((job.places, heads))
        except OSError:
            self._replace("its process ended")

    def answer(self, now: Time) -> Sequence[Array] | None:
        """What it made; None while it is at work. Failed where it will not make anything."""
        if self.reason is not None:
            self._expect_replaced()
            return None
        assert self._connection is not None
        try:
            if self._connection.poll():
                made, reason = self._connection.recv()
                if reason is not None:
                    raise Failed(reason)
                return [each.copy() for each in self._outputs[:made]]
        except (EOFError, OSError):
            self._replace("its process ended")
            return None
        if now - self._since > self._timeout:
            self._replace(f"it took longer than {self._timeout / 1e6:.3g} ms, and was killed")
        return None

    def _replace(self, reason: str) -> None:
        """In a thread: to start a process takes longer than others can wait."""
        self.reason = reason
        self._starting = Thread(target=self._restart, daemon=True)
        self._starting.start()

    def _restart(self) -> None:
        self._end()
        with suppress(RunError):  # the next run is told, and tries again
            if not self._is_closed:
                self._start()
                self.restarts += 1

    def _expect_replaced(self) -> None:
        """Failed, once the new process is there."""
        assert self._starting is not None
        if not self._starting.is_alive():
            reason, self.reason = self.reason, None
            raise Failed(reason)

    def _end(self) -> None:
        if self._process.pid is not None:  # it was started
            self._process.kill()
            self._process.join()
        assert self._connection is not None
        self._connection.close()

    def close(self) -> None:
        """Ends it; more than once does no harm."""
        if self._is_closed:
            return
        self._is_closed = True
        while self._starting is not None and self._starting.is_alive():
            if self._process.pid is not None:
                self._process.kill()  # however long it would take to be ready
            self._starting.join(_GLANCE)
        self._end()
        self._inputs, self._outputs = [], []
        self._memory.close()
        self._memory.unlink()


def isolated(graph: Graph, payloads: Mapping[str, Payload]) -> dict[str, Isolated]:
    """The operators that want a process; where one of them does not start, none is left."""
    with ExitStack() as started:
        found = {
            each.name: started.enter_context(closing(Isolated(each, payloads)))
            for each in graph.operators
            if each.isolate == "process" and each.name in graph.levels
        }
        started.pop_all()
        return found


def _serve(connection: Connection, operator: Operator, layout: _Layout, memory_name: str) -> None:
    """In the process: runs what it is asked to."""
    from cepheid.realtime.checking import work_of

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started it
    Thread(target=_end_with_parent, daemon=True).start()
    _, work = work_of(operator, layout.inputs)
    memory = SharedMemory(memory_name)
    inputs, outputs = layout.arrays(memory)
    state = work.begin()
    connection.send("ready")
    while True:
        try:
            places, heads = connection.recv()
        except EOFError:
            return
        samples = tuple(  # copies: a state may keep them, and the memory gets other events
            Sample(source, number, begin, end, pushed, inputs[place].copy())
            for (source, number, begin, end, pushed), place in zip(heads, places, strict=True)
        )
        try:
            state, values = work.step(state, samples)
            if len(values) > _OUTPUTS:
                raise ValueError(f"it makes more than {_OUTPUTS} events in a run")
            for slot, value in zip(outputs, values, strict=False):
                slot[:] = value
        except (Exception, SystemExit) as problem:
            state = work.begin()
            connection.send((0, f"{type(problem).__name__}: {problem}"))
        else:
            connection.send((len(values), None))


def _end_with_parent() -> None:
    """Where that was killed, nobody else would end a run that hangs."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
