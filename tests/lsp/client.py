"""A real client of the server, which runs in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

T = TypeVar("T")


@dataclass(slots=True)
class Editor:
    """An editor that has the server of a folder; each step waits for its answer."""

    folder: str
    options: dict[str, Any] | None = None
    encodings: tuple[str, ...] = ()
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    client: LanguageClient = field(default_factory=make_test_lsp_client)
    version: int = 0

    def do(self, step: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(step, 60))

    def start(self) -> lsp.InitializeResult:
        return self.do(self._start())

    async def _start(self) -> lsp.InitializeResult:
        await self.client.start_io(sys.executable, "-m", "cepheid", "lsp")
        capabilities = client_capabilities("visual-studio-code")
        assert capabilities.general is not None
        if self.encodings:
            capabilities.general.position_encodings = list(self.encodings)
        found: lsp.InitializeResult = await self.client.initialize_session(
            lsp.InitializeParams(
                capabilities=capabilities,
                root_uri=f"file://{self.folder}",
                initialization_options=self.options,
            )
        )
        return found

    def stop(self) -> None:
        self.do(self.client.shutdown_session())
        stop: Any = self.client.stop
        self.do(stop())
        self.loop.close()

    # Texts.

    def uri(self, name: str) -> str:
        return f"file://{self.folder}/{name}"

    def open(self, name: str, text: str, language: str = "epl") -> list[lsp.Diagnostic]:
        """Its findings, as they are told first."""
        self.version += 1
        item = lsp.TextDocumentItem(self.uri(name), language, self.version, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return self.findings(name)

    def change(self, name: str, text: str) -> list[lsp.Diagnostic]:
        self.version += 1
        document = lsp.VersionedTextDocumentIdentifier(self.version, self.uri(name))
        whole = [lsp.TextDocumentContentChangeWholeDocument(text)]
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, whole))
        return self.findings(name)

    def close(self, name: str) -> list[lsp.Diagnostic]:
        document = lsp.TextDocumentIdentifier(self.uri(name))
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(document))
        return self.do(self._told(name, None))

    def findings(self, name: str) -> list[lsp.Diagnostic]:
        """Those that are told next about the text as it is."""
        return self.do(self._told(name, self.version))

    async def _told(self, name: str, version: int | None) -> list[lsp.Diagnostic]:
        while True:
            told = await self.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
            if (told.uri, told.version) == (self.uri(name), version):
                return list(told.diagnostics)

    # Questions.

    def complete(self, name: str, line: int, character: int) -> list[lsp.CompletionItem]:
        params = lsp.CompletionParams(*self.at(name, line, character))
        found = self.do(self.client.text_document_completion_async(params))
        assert isinstance(found, lsp.CompletionList)
        return list(found.items)

    def at(
        self, name: str, line: int, character: int
    ) -> tuple[lsp.TextDocumentIdentifier, lsp.Position]:
        return lsp.TextDocumentIdentifier(self.uri(name)), lsp.Position(line, character)

    def document(self, name: str) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(self.uri(name))


def shown(place: lsp.Range) -> tuple[int, int, int, int]:
    return place.start.line, place.start.character, place.end.line, place.end.character
