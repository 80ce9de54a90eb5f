"""The server: a page, what belongs to it, and a web socket; on this machine only."""

from __future__ import annotations

import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI, Response, WebSocket
from starlette.types import ASGIApp

from cepheid.errors import UsageError, error, reason_of
from cepheid.studio import bundle
from cepheid.studio.conversation import Office, converse
from cepheid.studio.guard import Guard, policy
from cepheid.studio.limits import Limits
from cepheid.studio.room import Room

HOST = "127.0.0.1"


def application(room: Room, token: str, port: int, limits: Limits) -> ASGIApp:
    """What is served, behind its guard."""
    office = Office(room, limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        office.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/")
    def page() -> Response:
        nonce = secrets.token_urlsafe(16)
        headers = {"Content-Security-Policy": policy(nonce)}
        return Response(bundle.page(token, nonce), media_type="text/html", headers=headers)

    @app.get("/{name}")
    def part(name: str) -> Response:
        if name not in bundle.TYPES:
            return Response("There is nothing here.\n", 404, media_type="text/plain")
        return Response(bundle.read(name), media_type=bundle.TYPES[name])

    @app.websocket("/talk")
    async def talk(socket: WebSocket) -> None:
        await converse(socket, office)

    return Guard(app, token, (f"{name}:{port}" for name in (HOST, "localhost")))


def server_on(listening: socket.socket, room: Room, token: str, limits: Limits) -> uvicorn.Server:
    """What answers on a socket that is bound."""
    config = uvicorn.Config(
        application(room, token, listening.getsockname()[1], limits),
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=limits.message,  # who sends more is sent away
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def serve(room: Room, port: int, limits: Limits, opened: Callable[[str], None]) -> None:
    """Serves until Ctrl-C; `opened` hears the address. UsageError where the port is taken."""
    token = secrets.token_urlsafe(24)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as problem:
            hint = "leave out --port to take any that is free"
            fact = f"cannot listen on port {port}: {reason_of(problem)}"
            raise UsageError(error("usage", fact, hint=hint)) from None
        listening.listen()
        opened(f"http://{HOST}:{listening.getsockname()[1]}/?token={token}")
        server_on(listening, room, token, limits).run(sockets=[listening])
