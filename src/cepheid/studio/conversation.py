"""A web socket: messages of a page, and what is answered.

    page:   {"id": 7, "verb": "run", "with": {...}}
    studio: {"id": 7, "progress": {...}}         any number of times
            {"id": 7, "answer": ...}             or
            {"id": 7, "problems": [...]}         findings with code, fact, place and hint, or
            {"id": 7, "stopped": true}
    page:   {"id": 8, "verb": "cancel", "with": {"id": 7}}

Questions are answered in the order in which their answers are ready. When a page goes, its work ends.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass

from starlette.websockets import WebSocket, WebSocketDisconnect

from cepheid.errors import CepheidError, UsageError, error
from cepheid.io.encode import to_json
from cepheid.studio.handlers import VERBS
from cepheid.studio.lane import Lane
from cepheid.studio.limits import Bucket, Limits
from cepheid.studio.room import LANES, Room, finding_json
from cepheid.studio.worker import Said, Task, said_of

CANCEL = "cancel"
_TOO_MANY, _NO_MESSAGE = 1008, 1003  # why sockets are closed


class Office:
    """What all pages share: the folder, and the processes that work for them."""

    def __init__(self, room: Room, limits: Limits) -> None:
        self.room, self.limits = room, limits
        self.pages = 0
        self.lanes = {n: Lane(n, room.folder, is_trusted=room.is_trusted) for n in LANES}

    def close(self) -> None:
        for lane in self.lanes.values():
            lane.stop()


@dataclass(frozen=True, slots=True)
class Message:
    id: int
    verb: str
    values: dict[str, object]


def read_message(text: str) -> Message:
    """ValueError for what is no message."""
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(found, dict):
        raise ValueError("no object")
    id, verb, values = found.get("id"), found.get("verb"), found.get("with", {})
    if not isinstance(id, int) or isinstance(id, bool):
        raise ValueError("no id")
    if not isinstance(verb, str) or not isinstance(values, dict):
        raise ValueError("no verb, or odd values")
    return Message(id, verb, values)


async def converse(socket: WebSocket, office: Office) -> None:
    """Until the page goes, or is sent away for what it asks."""
    await socket.accept()
    if office.pages >= office.limits.pages:
        await socket.close(_TOO_MANY, "too many pages are open")
        return
    office.pages += 1
    conversation = _Conversation(socket, office)
    try:
        await conversation.listen()
    except (WebSocketDisconnect, RuntimeError):  # the second: it went while it was sent something
        pass
    finally:
        office.pages -= 1
        await conversation.end()


class _Conversation:
    def __init__(self, socket: WebSocket, office: Office) -> None:
        self.socket, self.office = socket, office
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.telling: set[asyncio.Task[None]] = set()  # words about progress on their way
        self.sending = asyncio.Lock()

    async def listen(self) -> None:
        limits = self.office.limits
        bucket = Bucket(limits.burst, limits.rate, time.monotonic())
        while True:
            received = await self.socket.receive()
            if received["type"] == "websocket.disconnect":
                return
            if not bucket.take(time.monotonic()):
                await self.socket.close(_TOO_MANY, "too many messages")
                return
            try:
                message = read_message(received.get("text") or "")
            except ValueError:
                await self.socket.close(_NO_MESSAGE, "this is no message of the studio's page")
                return
            await self._begin(message)

    async def _begin(self, message: Message) -> None:
        if message.verb == CANCEL:
            wanted = message.values.get("id")
            running = self.tasks.get(wanted) if isinstance(wanted, int) else None
            if running is not None:
                running.cancel()
            await self._say(message.id, "answer", "null")
        elif message.id in self.tasks or len(self.tasks) >= self.office.limits.pending:
            problem = error("usage", "too many questions at once", hint="wait for answers")
            await self._say(message.id, "problems", to_json([finding_json(problem)]))
        else:
            task = asyncio.create_task(self._answer(message))
            self.tasks[message.id] = task
            task.add_done_callback(lambda _: self.tasks.pop(message.id, None))
            await asyncio.sleep(0)  # it begins: what is cancelled before that would say nothing

    async def _answer(self, message: Message) -> None:
        try:
            kind, text = await self._said(message)
        except CepheidError as wrong:
            kind, text = "problems", to_json([finding_json(p) for p in wrong.diagnostics])
        except asyncio.CancelledError:
            await self._say(message.id, "stopped", "true")
            return
        await self._say(message.id, kind, text)

    async def _said(self, message: Message) -> Said:
        verb = VERBS.get(message.verb)
        if verb is None:
            raise UsageError(error("usage", f"no verb {message.verb[:40]!r}"))
        if verb.lane is None:
            return await asyncio.to_thread(said_of, verb, self.office.room, message.values)

        def tell(said: Said) -> None:
            if message.id in self.tasks:
                telling = asyncio.create_task(self._say(message.id, *said))
                self.telling.add(telling)
                telling.add_done_callback(self.telling.discard)

        lane = self.office.lanes[verb.lane]
        limit = self.office.limits.of_lane(verb.lane)
        return await lane.do(Task(verb.name, message.values), limit, tell)

    async def _say(self, id: int, kind: str, text: str) -> None:
        # Halves of surrogate pairs, which UTF-8 cannot hold, become escapes of JSON.
        said = f'{{"id":{id},"{kind}":{text}}}'.encode(errors="backslashreplace").decode()
        async with self.sending:
            try:
                await self.socket.send_text(said)
            except (WebSocketDisconnect, RuntimeError):
                return  # no one listens any more

    async def end(self) -> None:
        """Nothing goes on for a page that went."""
        running = [*self.tasks.values(), *self.telling]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
