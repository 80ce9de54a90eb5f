"""The whole way from detections to deliveries, in processes that are killed anywhere and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cepheid as cep
from cepheid import actions, pipelines
from cepheid.actions import Action
from tests.actions.receivers import Answer, Request, web
from tests.effort import IS_QUICK

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("killed_rounds.py")

ARRIVALS = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS Arrival(flight TEXT, gate TEXT, delay INTEGER)
    ID (flight)
    FREEZING TIME (6h)
    ON ANNOUNCEMENT AND FUTURE          DO tell(NEW.flight, NEW.occ),
    ON ONTIME OR LATE(0s, 1h)           DO tell(NEW.flight, NEW.gate),
    ON CHANGE AND OLD.gate <> NEW.gate  DO move(OLD.gate, NEW.gate),
    ON FUTURECANCEL OR REVOCATION       DO strike(OLD.flight);

CREATE COMPLEX EVENT CLASS Crowd(gate TEXT, flights INTEGER)
    ID (gate)
    OBSERVATION SPAN (1d)
    AS SELECT a.gate, COUNT(*) AS flights FROM Arrival a GROUP BY a.gate OCCURRING AT MIN(a)
    ON (ANNOUNCEMENT OR CHANGE) AND NEW.flights > 1  DO guide(NEW.gate, NEW.flights),
    ON CHANGE OR POSTPONE                            DO tell(format('%s: %n', NEW.gate, NEW.flights), OLD.occ);
"""
PAIRS = """
CREATE MUTABLE SUBSCRIBED EVENT CLASS Crowd(gate TEXT, flights INTEGER)
    ID (gate)
    FREEZING TIME (6h)
    ON CHANGE DO tell(NEW.gate, NEW.flights);

CREATE COMPLEX EVENT CLASS Pair(one TEXT, other TEXT)
    ID (one, other)
    OBSERVATION SPAN (1d)
    AS SELECT a.gate AS one, b.gate AS other FROM Crowd a, Crowd b
       WHERE a.gate < b.gate AND a.flights = b.flights OCCURRING AT MAX(a, b)
    ON ANNOUNCEMENT AND NOT LATE  DO guide(NEW.one, NEW.other),
    ON CANCELLATION OR LATE       DO strike(OLD.one, OLD.other);
"""
PIPELINE = """
chronon = "1m"
outbox = "outbox"
executors = "executors.toml"
[sources.tower]
events = "PART.jsonl"
class = "Arrival"
[programs.arrivals]
files = ["arrivals.bicepl"]
reads = ["tower"]
[programs.pairs]
files = ["pairs.bicepl"]
reads = ["arrivals.Crowd"]
"""
NAMES = ("tell", "move", "strike", "guide")
PARTS = 1 if IS_QUICK else 4
# How processes end while they work on a part, one after the other: after how many calls in rounds, bytes of files, or
# requests at most, of which one has its answer or has not.
ENDS = (
    *(("rounds", 3_000), ("bytes", 100), ("bytes", 1_500), ("rounds", 3_000), ("bytes", 3_000)),
    *(("asked", 2), ("answered", 2), ("bytes", 120), ("rounds", 3_000), ("asked", 3)),
    *(("answered", 3), ("bytes", 120), ("answered", 1)),
)


def history() -> list[dict[str, Any]]:
    """Versions of a few flights, in the order of their detection."""
    chance, found = Random(7), []
    for number in range(60):
        detected = 3_600 + 100 * number
        record: dict[str, Any] = {
            "@type": "Arrival",
            "@detected": detected,
            "flight": f"F{chance.randrange(12)}",
        }
        if chance.random() < 0.15:
            record["@retracted"] = True
        else:
            record["@time"] = detected + 60 * chance.randrange(-10, 40)
            record |= {"gate": chance.choice("ABC"), "delay": number}
        found.append(record)
    return found


def parts() -> list[list[dict[str, Any]]]:
    """What was told up to some times."""
    records = history()
    size = len(records) // PARTS
    return [records[: size * (n + 1)] for n in range(PARTS)]


@dataclass(frozen=True)
class Setting:
    """A folder in which a user's commands work, with the actions that they should lead to."""

    commands: Sequence[Sequence[Sequence[str]]]  # for each part
    expected: Sequence[Action]


def with_programs(folder: Path) -> Setting:
    commands = []
    for number in range(PARTS):
        files = ["arrivals.bicepl", "--events", f"{number}.jsonl", "--chronon", "1m"]
        run = ["run", *files, "--engine", "local", "--outbox", "outbox"]
        commands.append([run, ["act", "outbox", "--executors", "executors.toml"]])
    program = cep.parse(ARRIVALS, "bicepl")
    result = cep.run(program, history(), chronon="1m", engine="reference")
    return Setting(commands, list(actions.actions_of(program, result)))


def with_pipelines(folder: Path) -> Setting:
    commands = []
    for number in range(PARTS):
        (folder / f"{number}.toml").write_text(PIPELINE.replace("PART", str(number)))
        commands.append([[name, "--pipeline", f"{number}.toml"] for name in ("run", "act")])
    last = pipelines.load(folder / f"{PARTS - 1}.toml")
    return Setting(commands, list(pipelines.run(last, engine="reference").actions()))


class Processes:
    """Processes that run commands, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.process = 0
        load = ["run", "arrivals.bicepl", "--events", "0.jsonl", "--chronon", "1m"]
        self._script = subprocess.Popen(
            [sys.executable, str(SCRIPT), *load],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        )

    def run(self, commands: Sequence[Sequence[str]], way: str | None, limit: int) -> int:
        """How it ended."""
        assert self._script.stdin is not None
        print(json.dumps([way, limit, *commands]), file=self._script.stdin, flush=True)
        self.process = self._told()["process"]
        return self._told()["code"]

    def kill(self) -> None:
        os.kill(self.process, signal.SIGKILL)

    def _told(self) -> Mapping[str, int]:
        """The next line of the script; others are what commands print."""
        assert self._script.stdout is not None
        for line in self._script.stdout:
            if line.startswith(('{"process"', '{"code"')):
                found: dict[str, int] = json.loads(line)
                return found
        raise AssertionError("the script has ended")

    def close(self) -> None:
        with self._script:  # closes its ends, and waits
            pass


@contextmanager
def processes(folder: Path) -> Iterator[Processes]:
    found = Processes(folder)
    try:
        yield found
    finally:
        found.close()


@pytest.mark.parametrize("made", [with_programs, with_pipelines])
def test_fifty_kills_from_detection_to_delivery_lose_nothing_and_repeat_one_delivery_at_most(
    tmp_path: Path, made: Any
) -> None:
    (tmp_path / "arrivals.bicepl").write_text(ARRIVALS)
    (tmp_path / "pairs.bicepl").write_text(PAIRS)
    for number, part in enumerate(parts()):
        (tmp_path / f"{number}.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in part))
    chance = Random(11)
    seen: list[tuple[int, Request]] = []  # with the number of kills before it
    kills = 0
    until_kill = 0  # requests; 0 is never
    is_answered_first = False

    def answer(request: Request) -> Answer | None:
        nonlocal until_kill
        seen.append((kills, request))
        until_kill -= 1
        if until_kill == 0 and not is_answered_first:
            work.kill()
            return None
        return Answer()

    def after() -> None:
        if until_kill == 0 and is_answered_first:
            work.kill()

    with web(answer) as receiver:
        receiver.after = after
        hooks = (f'[executors.{n}]\nkind = "webhook"\nurl = "{receiver.url}/{n}"\n' for n in NAMES)
        (tmp_path / "executors.toml").write_text("".join(hooks))
        setting = made(tmp_path)
        with processes(tmp_path) as work:
            for commands in setting.commands:
                for way, most in ENDS:
                    limit = chance.randint(1, most)
                    is_answered_first = way == "answered"
                    until_kill = limit if way in ("asked", "answered") else 0
                    code = work.run(commands, None if until_kill else way, limit)
                    assert code == -signal.SIGKILL, (kills, way, limit)
                    kills += 1
                assert work.run(commands, None, 0) == 0

    assert kills >= (13 if IS_QUICK else 50)
    expected = setting.expected
    assert {action.name for action in expected} == set(NAMES)
    bodies = {action.key: action.row() for action in expected}
    assert {request.key for _, request in seen} == set(bodies)
    assert all(json.loads(request.body) == bodies[request.key] for _, request in seen)
    assert len({(request.key, request.body) for _, request in seen}) == len(bodies)
    for name in NAMES:
        own = [(kill, request.key) for kill, request in seen if request.path == f"/{name}"]
        assert list(dict.fromkeys(key for _, key in own)) == [
            action.key for action in expected if action.name == name
        ]
        known: set[str] = set()
        repeated: Counter[int] = Counter()
        for kill, key in own:
            repeated[kill] += key in known
            known.add(key)
        assert all(count <= 1 for count in repeated.values())
    assert len(seen) > len(bodies)  # some kills did come between a delivery and its mark
