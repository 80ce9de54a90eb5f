"""Draining: in order, again and again, fast enough and not too fast, and never for nothing."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from cepheid import actions
from cepheid.actions import Delivery, DeliveryFailed, Outcome, Rate, Retry, Tally
from cepheid.errors import UsageError
from tests.actions.clocks import START, Flaky, Hand, drained, some


@pytest.fixture
def box(tmp_path: Path) -> Path:
    actions.enqueue(some("a", "b", "a", "b", "a"), tmp_path / "box")
    return tmp_path / "box"


def failed(reason: str = "no", **how: float) -> DeliveryFailed:
    return DeliveryFailed(reason, permanent=bool(how.get("permanent")), after=how.get("after"))


def test_an_executor_does_its_actions_in_order_once(box: Path) -> None:
    one, other = Flaky(), Flaky()
    done = drained(box, Hand(), a=Delivery(one), b=Delivery(other))
    assert (one.tried, other.tried) == (["k0", "k2", "k4"], ["k1", "k3"])
    assert done.tallies == {"a": Tally(3), "b": Tally(2)}
    assert not done.problems
    assert drained(box, Hand(), a=Delivery(one), b=Delivery(other)).tallies["a"] == Tally()
    assert len(one.done) == 3


def test_waits_double_up_to_the_longest_and_then_the_letter_is_dead(box: Path) -> None:
    clock = Hand()
    executor = Flaky(*[failed(f"no {n}") for n in range(5)])
    done = drained(box, clock, a=Delivery(executor, Retry(tries=5, wait=2.0, longest=9.0)))
    assert clock.slept == [2.0, 4.0, 8.0, 9.0]
    assert executor.tried == ["k0"] * 5 + ["k2", "k4"]
    assert done.tallies["a"] == Tally(delivered=2, retried=4, dead=1)
    (letter,) = actions.dead_letters(box, "a")
    assert (letter["reason"], letter["tries"]) == ("no 4", 5)
    assert letter["at"] == "1970-01-12T13:47:03Z"
    assert letter["action"] == next(some("a")).row()


def test_dead_letters_are_tried_again_behind_what_waits(box: Path) -> None:
    drained(box, Hand(), a=Delivery(Flaky(failed(permanent=1), failed(permanent=1))))
    actions.enqueue(some("a", "b", "a", "b", "a", "a"), box)
    assert actions.revive(box) == 2
    assert actions.revive(box) == 0
    executor = Flaky()
    assert drained(box, Hand(), a=Delivery(executor)).tallies["a"] == Tally(3)
    assert executor.tried == ["k5", "k0", "k2"]
    assert actions.enqueue(some("a", "b", "a", "b", "a", "a"), box).added == 0


def test_chance_takes_up_to_half_of_a_wait(box: Path) -> None:
    clock = Hand(chance=0.5)
    drained(box, clock, a=Delivery(Flaky(failed(), failed()), Retry(wait=2.0)))
    assert clock.slept == [1.5, 3.0]


def test_a_wait_is_never_too_long_to_be_computed() -> None:
    assert Retry(tries=9_999, wait=1.0, longest=300.0).wait_after(9_000, 0.0) == 300.0


def test_what_is_permanent_is_not_tried_again(box: Path) -> None:
    clock = Hand()
    executor = Flaky(failed("never", permanent=1))
    done = drained(box, clock, a=Delivery(executor))
    assert not clock.slept
    assert executor.tried == ["k0", "k2", "k4"]
    assert done.tallies["a"] == Tally(delivered=2, dead=1)
    assert [letter["reason"] for letter in actions.dead_letters(box, "a")] == ["never"]


@pytest.mark.parametrize(("asked", "slept"), [(7.0, 7.0), (0.5, 2.0)])
def test_a_receiver_may_ask_for_a_longer_wait(box: Path, asked: float, slept: float) -> None:
    clock = Hand()
    drained(box, clock, a=Delivery(Flaky(failed(after=asked)), Retry(wait=2.0)))
    assert clock.slept == [slept]


def test_one_that_waits_holds_up_no_other(box: Path) -> None:
    heard: list[Outcome] = []
    clock = Hand()
    executors = {
        "a": Delivery(Flaky(failed()), Retry(wait=60.0)),
        "b": Delivery(Flaky()),
    }
    actions.drain(box, executors, clock=clock, on_outcome=heard.append)
    told = [(outcome.action.key, outcome.what) for outcome in heard]
    assert told[0] == ("k0", "retried")
    assert told[1:3] == [("k1", "delivered"), ("k3", "delivered")]
    assert told[3:] == [(f"k{n}", "delivered") for n in (0, 2, 4)]
    assert (heard[0].tries, heard[0].wait, heard[0].reason) == (1, 60.0, "no")


def test_a_rate_holds_for_any_period_and_counts_tries(tmp_path: Path) -> None:
    box = tmp_path / "box"
    actions.enqueue(some(*["a"] * 5), box)
    times: list[float] = []
    clock = Hand()

    def deed(action: actions.Action) -> None:
        times.append(clock.now() - START)
        clock.time += 1.0
        if len(times) == 1:
            raise DeliveryFailed("again")

    given = actions.deliveries({"a": deed})["a"]
    drained(box, clock, a=Delivery(given.executor, Retry(wait=3.0), Rate(2, 10.0)))
    assert times == [0.0, 4.0, 10.0, 14.0, 20.0, 24.0]


def test_without_waiting_what_fails_is_left_with_all_behind_it(box: Path) -> None:
    clock = Hand()
    one, other = Flaky(None, failed(), failed()), Flaky()
    retry = Retry(tries=2)
    done = drained(box, clock, once=True, a=Delivery(one, retry), b=Delivery(other))
    assert done.tallies == {"a": Tally(1, retried=1, waiting=2), "b": Tally(2)}
    assert not clock.slept
    again = drained(box, clock, once=True, a=Delivery(one, retry))  # tries are remembered
    assert again.tallies["a"] == Tally(1, dead=1)
    assert one.tried == ["k0", "k2", "k2", "k4"]


def test_tries_of_one_action_are_not_those_of_the_next(box: Path) -> None:
    executor = Flaky(failed(), None, failed(), None, failed())
    done = drained(box, Hand(), a=Delivery(executor, Retry(tries=2)))
    assert done.tallies["a"] == Tally(3, retried=3)


def test_following_goes_on_with_what_comes_later(box: Path) -> None:
    class Later(Hand):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if len(self.slept) == 2:
                actions.enqueue(
                    [actions.Action("a", 0, "late"), actions.Action("n", 0, "new")], box
                )

    clock, executor = Later(patience=5), Flaky()
    found = actions.Drained()
    executors = {"a": Delivery(executor), "n": Delivery(executor)}
    with (
        pytest.raises(KeyboardInterrupt),
        actions.Drainer(box, executors, found, clock=clock) as drainer,
    ):
        drainer.run(follow=True)
    assert executor.tried == ["k0", "k2", "k4", "late", "new"]
    assert clock.slept == [1.0] * 5
    assert found.tallies == {"a": Tally(4), "n": Tally(1), "b": Tally(waiting=2)}
    actions.Drainer(box, executors, found).__exit__(None, None, None)  # the lock was given back


def test_what_nobody_executes_waits_and_is_reported(box: Path) -> None:
    done = drained(box, Hand(), aa=Delivery(Flaky()), b=Delivery(Flaky()))
    assert done.tallies["a"] == Tally(waiting=3)
    (problem,) = done.problems
    assert str(problem).startswith("warning[no-executor]: 3 actions of 'a' wait")
    assert problem.hint is not None
    assert "aa" in problem.hint


def test_whatever_an_executor_raises_is_tried_again_and_the_others_go_on(box: Path) -> None:
    executor = Flaky(ConnectionRefusedError(111, "Connection refused"))
    heard: list[Outcome] = []
    actions.drain(box, {"a": Delivery(executor)}, clock=Hand(), on_outcome=heard.append)
    assert (heard[0].what, heard[0].reason) == ("retried", "connection refused")
    done = drained(box, Hand(), b=Delivery(Flaky(*[ZeroDivisionError("1 / 0")] * 5)))
    assert done.tallies["b"] == Tally(delivered=1, retried=4, dead=1)
    (letter,) = actions.dead_letters(box, "b")
    assert letter["reason"] == "ZeroDivisionError: 1 / 0"


def test_what_is_being_written_again_is_not_mixed_with_what_was_torn(box: Path) -> None:
    """A writer died; another one cuts off its last line and writes others while the queue is drained."""
    path = box / "queues" / "a" / "actions.jsonl"
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(b'{"@type": "a", "@time": "1970-01-01T00:00:00Z", "@key": "torn", "p1"')

    class Writes(Flaky):
        def deliver(self, action: actions.Action, now: float) -> None:
            super().deliver(action, now)
            if len(self.done) == 1:
                assert path.read_bytes() != whole
                actions.enqueue([actions.Action("a", 0, "other", {}, {"p1": "x" * 99})], box)

    executor = Writes()
    drained(box, Hand(), a=Delivery(executor))
    assert executor.tried == ["k0", "k2", "k4", "other"]


def test_dead_letters_that_cannot_be_written_are_tried_again(box: Path) -> None:
    (box / "queues" / "a" / "dead.jsonl").mkdir()
    with pytest.raises(UsageError, match=r"bad-outbox.*is a directory"):
        drained(box, Hand(), a=Delivery(Flaky(failed(permanent=1))))
    (box / "queues" / "a" / "dead.jsonl").rmdir()
    done = drained(box, Hand(), a=Delivery(Flaky(failed(permanent=1))))
    assert done.tallies["a"] == Tally(delivered=2, dead=1)


def test_an_action_is_left_when_its_letter_is_written_and_not_before(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def full(file: int, data: memoryview) -> int:
        if Path(os.readlink(f"/proc/self/fd/{file}")).name == "dead.jsonl":
            raise OSError(28, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UsageError, match="no space left on device"):
        drained(box, Hand(), a=Delivery(Flaky(failed(permanent=1))))
    monkeypatch.undo()
    executor = Flaky()
    drained(box, Hand(), a=Delivery(executor))
    assert executor.tried == ["k0", "k2", "k4"]


def test_following_looks_for_others_while_one_waits_long(box: Path) -> None:
    clock = Hand(patience=3)
    waits = Delivery(Flaky(failed()), Retry(wait=60.0))
    with (
        pytest.raises(KeyboardInterrupt),
        actions.Drainer(box, {"a": waits}, actions.Drained(), clock=clock) as drainer,
    ):
        drainer.run(follow=True)
    assert clock.slept == [1.0] * 3


def test_a_lock_that_cannot_be_had_is_told(box: Path) -> None:
    (box / "delivering.lock").mkdir()
    with pytest.raises(UsageError, match=r"bad-outbox.*cannot lock"):
        drained(box, Hand())


def test_a_dead_letter_that_was_written_before_a_crash_is_not_tried_again(box: Path) -> None:
    cursor = box / "queues" / "a" / "cursor.jsonl"
    drained(box, Hand(), once=True, a=Delivery(Flaky(None, failed(permanent=1), failed())))
    kept = cursor.read_bytes().splitlines(keepends=True)
    cursor.write_bytes(b"".join(kept[:2]))  # k0 is done, k2 was tried, and is dead
    executor = Flaky()
    drained(box, Hand(), a=Delivery(executor))
    assert executor.tried == ["k4"]
    assert len(list(actions.dead_letters(box, "a"))) == 1


def test_a_torn_dead_letter_is_written_again(box: Path) -> None:
    drained(box, Hand(), once=True, a=Delivery(Flaky(failed(permanent=1), failed())))
    (box / "queues" / "a" / "cursor.jsonl").write_text("")
    dead = box / "queues" / "a" / "dead.jsonl"
    os.truncate(dead, dead.stat().st_size - 5)
    drained(box, Hand(), a=Delivery(Flaky(failed("again", permanent=1))))
    assert [letter["reason"] for letter in actions.dead_letters(box, "a")] == ["again"]


def test_secrets_are_hidden_in_what_is_told_and_kept(box: Path) -> None:
    heard: list[Outcome] = []
    executor = Flaky(failed("no entry with s3cret\n here"), failed("s3cret is wrong", permanent=1))
    delivery = Delivery(executor, secrets=("s3cret",))
    actions.drain(box, {"a": delivery}, clock=Hand(), on_outcome=heard.append)
    assert [outcome.reason for outcome in heard[:2]] == ["no entry with *** here", "*** is wrong"]
    assert "s3cret" not in "".join(path.read_text() for path in box.rglob("*.json*"))
    assert "s3cret" not in repr(delivery)


def test_no_part_of_a_secret_is_told(box: Path) -> None:
    long = "x" * 245 + "s3cret-and-more" + "y" * 2_000
    executor = Flaky(failed(long), failed("two  words"), failed("two  words", permanent=1))
    heard: list[Outcome] = []
    delivery = Delivery(executor, secrets=("s3cret", "s3cret-and-more", "two  words"))
    actions.drain(box, {"a": delivery}, clock=Hand(), on_outcome=heard.append)
    first, second, third, *_ = [outcome.reason or "" for outcome in heard]
    assert first == "x" * 245 + "***yy ... " + "y" * 250
    assert (second, third) == ("***", "***")


def test_a_rehearsal_says_what_cannot_be_done(box: Path) -> None:
    class Odd(Flaky):
        def describe(self, action: actions.Action) -> str:
            raise DeliveryFailed("nobody to send it to, says s3cret")

    planned, _ = actions.rehearse(box, {"b": Delivery(Odd(), secrets=("s3cret",))})
    assert {said for _, said in planned} == {"cannot be done: nobody to send it to, says ***"}


def test_secrets_are_hidden_in_a_rehearsal(box: Path) -> None:
    planned, _ = actions.rehearse(box, {"b": Delivery(Flaky(), secrets=("3",))})
    assert [said for _, said in planned] == ["do 1", "do ***"]


def test_a_rehearsal_does_nothing(box: Path) -> None:
    executor = Flaky()
    drained(box, Hand(), once=True, b=Delivery(Flaky(None, failed())))
    before = {path: path.read_bytes() for path in box.rglob("*") if path.is_file()}
    planned, problems = actions.rehearse(box, {"b": Delivery(executor)})
    assert [(action.key, said) for action, said in planned] == [("k3", "do 3")]
    assert [problem.code for problem in problems] == ["no-executor"]
    assert {path: path.read_bytes() for path in box.rglob("*") if path.is_file()} == before
    assert not executor.tried


def test_the_clock_of_the_machine_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = actions.SystemClock()
    first = clock.now()
    clock.sleep(0.0)
    assert clock.now() >= first
    monkeypatch.setattr(time, "time", lambda: 0.0)  # somebody sets it back
    assert clock.now() >= first
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    clock.sleep(float("inf"))  # a receiver may ask for that
    assert 0 < slept[0] < 1e9
    assert 0 <= clock.random() < 1
