"""Lanes: processes that do what takes long."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

from cepheid.studio.folder import Folder
from cepheid.studio.lane import Lane
from cepheid.studio.worker import Task


def test_a_lane_answers_while_others_have_all_threads_of_the_server(tmp_path: Path) -> None:
    async def ask() -> str:
        ended = Event()
        with ThreadPoolExecutor(1) as only:
            asyncio.get_running_loop().set_default_executor(only)
            waiting = asyncio.create_task(asyncio.to_thread(ended.wait))
            lane = Lane("check", Folder.at(tmp_path), is_trusted=False)
            try:
                kind, _ = await lane.do(Task("files", {}), 60, print)
            finally:
                lane.stop()
                ended.set()
            await waiting
        return kind

    assert asyncio.run(ask()) == "answer"
