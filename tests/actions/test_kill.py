"""A process that is killed anywhere between an action and its delivery, and started again."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

from tests.actions.killed import CLASSES, made
from tests.actions.receivers import Answer, Request, web
from tests.effort import IS_QUICK

COUNT, KILLS = (40, 12) if IS_QUICK else (160, 50)
SCRIPT = Path(__file__).with_name("killed.py")


def test_kills_at_fifty_points_lose_nothing_and_repeat_one_delivery_at_most(tmp_path: Path) -> None:
    chance = Random(13)
    seen: list[tuple[int, Request]] = []  # with the number of kills before it
    kills = 0
    until_kill = 0  # requests; 0 is never
    is_answered_first = False
    process: subprocess.Popen[bytes] | None = None

    def answer(request: Request) -> Answer | None:
        nonlocal until_kill
        seen.append((kills, request))
        until_kill -= 1
        if until_kill == 0 and not is_answered_first:
            assert process is not None
            process.kill()
            return None
        return Answer()

    def after() -> None:
        if until_kill == 0 and is_answered_first:
            assert process is not None
            process.kill()

    with web(answer) as receiver:
        receiver.after = after
        while True:
            way = kills % 3 if kills < KILLS else None
            limit = chance.randint(1, 250) if way == 0 else 0
            is_answered_first = way == 2
            until_kill = chance.randint(1, 4) if way in (1, 2) else 0
            line = [str(SCRIPT), str(tmp_path / "outbox"), receiver.url, str(COUNT), str(limit)]
            process = subprocess.Popen([sys.executable, *line])
            code = process.wait()
            if code == 0:
                break
            assert code == -signal.SIGKILL
            kills += 1

    assert kills == KILLS
    expected = list(made(COUNT))
    bodies = {request.key: request.body for _, request in seen}
    assert set(bodies) == {action.key for action in expected}
    assert all(bodies[request.key] == request.body for _, request in seen)
    for name in CLASSES:
        own = [(kill, request.key) for kill, request in seen if request.path == f"/{name}"]
        first = list(dict.fromkeys(key for _, key in own))
        assert first == [action.key for action in expected if action.name == name]
        repeated = Counter(
            kill for place, (kill, key) in enumerate(own) if key in {k for _, k in own[:place]}
        )
        assert all(count == 1 for count in repeated.values())
    assert len(seen) > COUNT  # some kills did come between a delivery and its mark
