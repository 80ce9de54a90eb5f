"""The server itself: each request of the protocol is a question to `editing`, and its answer in other words."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lsprotocol import types as lsp
from pygls import uris
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from cepheid import __version__
from cepheid.editing.completing import Sort, complete
from cepheid.editing.describing import describe
from cepheid.editing.outline import Entry, outline
from cepheid.editing.renaming import renamable, rename
from cepheid.editing.workspace import Workspace
from cepheid.errors import CepheidError, Diagnostic, Edit, Fix, ProgramError, Severity, Span
from cepheid.lang.language import Text
from cepheid.lsp.positions import Positions
from cepheid.lsp.programs import Programs, all_findings, quick_findings

QUIET = 0.3  # seconds without a change after which everything is looked at
_START = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.NOTE: lsp.DiagnosticSeverity.Information,
}
_SORTS = {
    Sort.KEYWORD: lsp.CompletionItemKind.Keyword,
    Sort.TYPE: lsp.CompletionItemKind.Class,
    Sort.ATTRIBUTE: lsp.CompletionItemKind.Field,
    Sort.TAG: lsp.CompletionItemKind.Variable,
    Sort.FUNCTION: lsp.CompletionItemKind.Function,
    Sort.ANNOTATION: lsp.CompletionItemKind.Property,
    Sort.WINDOW: lsp.CompletionItemKind.Method,
    Sort.OTHER: lsp.CompletionItemKind.Reference,
}
_ENTRIES = {
    "statement": lsp.SymbolKind.Function,
    "event type": lsp.SymbolKind.Class,
    "context": lsp.SymbolKind.Namespace,
    "query": lsp.SymbolKind.Method,
    "rule": lsp.SymbolKind.Event,
    "attribute": lsp.SymbolKind.Field,
}


class CepheidServer(LanguageServer):
    """What it knows of the client's texts, in words of the protocol."""

    def __init__(self) -> None:
        # Whole texts: they are small, and no two sides can count their lines differently.
        super().__init__("cepheid", __version__, lsp.TextDocumentSyncKind.Full)
        self.programs = Programs()
        self.uris: dict[str, str] = {}  # of the files that the client has opened
        self.versions: dict[str, int] = {}  # of the files, as the client counts them
        self.findings: dict[str, list[Diagnostic]] = {}
        self.looking = asyncio.Lock()  # one at a time looks at everything, which takes long

    def file(self, uri: str) -> str:
        path = uris.to_fs_path(uri) if uri.startswith("file:") else None
        return path or uri

    def uri(self, file: str) -> str:
        return self.uris.get(file) or uris.from_fs_path(file) or file

    def positions(self, text: str) -> Positions:
        return Positions(text, str(getattr(self.encoding, "value", self.encoding)))

    @property
    def encoding(self) -> object:
        return self.workspace.position_encoding or lsp.PositionEncodingKind.Utf16

    # Places.

    def offset(self, text: Text, position: lsp.Position) -> int:
        return self.positions(text.text).offset(position.line, position.character)

    def range(self, workspace: Workspace, span: Span | None) -> lsp.Range:
        document = workspace.documents.get(span.file or "") if span else None
        if document is None or span is None:
            return _START
        start, end = document.range(span)
        return self.range_of(self.positions(document.text), start, end)

    def range_of(self, positions: Positions, start: int, end: int) -> lsp.Range:
        first, last = positions.place(start), positions.place(end)
        return lsp.Range(lsp.Position(*first), lsp.Position(*last))

    def location(self, workspace: Workspace, span: Span) -> lsp.Location:
        return lsp.Location(self.uri(span.file or ""), self.range(workspace, span))

    def edits(self, workspace: Workspace, edits: Iterable[Edit]) -> lsp.WorkspaceEdit:
        changes: dict[str, list[lsp.TextEdit]] = {}
        for edit in edits:
            written = lsp.TextEdit(self.range(workspace, edit.span), edit.replacement)
            changes.setdefault(self.uri(edit.span.file or ""), []).append(written)
        return lsp.WorkspaceEdit(changes=changes)

    def at(self, uri: str, position: lsp.Position) -> tuple[Workspace, str, int] | None:
        """The program around a place, its file and its offset; None where nothing is known of the file."""
        file = self.file(uri)
        text = self.programs.open.get(file)
        if text is None:
            return None
        return self.programs.workspace_with(file), file, self.offset(text, position)

    # Findings.

    async def look_at(self, uri: str, text: str, language: str, version: int) -> None:
        """Says what is wrong at once, and after a while of quiet all that can be said."""
        file = self.file(uri)
        self.uris[file] = uri
        if self.programs.update(file, text, language) is None:
            return
        self.versions[file] = version
        texts = self.programs.texts_with(file)
        self.publish(texts, quick_findings(texts))
        await asyncio.sleep(QUIET)
        async with self.looking:
            if self.versions.get(file) == version:
                found = await asyncio.to_thread(all_findings, texts)
                if self.versions.get(file) == version:
                    self.publish(texts, found)

    def publish(self, texts: Sequence[Text], findings: Iterable[Diagnostic]) -> None:
        """To each text its findings; those without a place go to the first."""
        workspace = Workspace(texts)
        by_file: dict[str, list[Diagnostic]] = {text.file: [] for text in texts}
        for finding in findings:
            file = (finding.span.file if finding.span else None) or ""
            by_file.get(file, by_file[texts[0].file]).append(finding)
        for file, found in by_file.items():
            if file in self.programs.open:
                self.findings[file] = found
                shown = [self.shown(workspace, finding) for finding in found]
                version = self.versions.get(file)
                params = lsp.PublishDiagnosticsParams(self.uri(file), shown, version)
                self.text_document_publish_diagnostics(params)

    def shown(self, workspace: Workspace, finding: Diagnostic) -> lsp.Diagnostic:
        hint = f"\n{finding.hint}" if finding.hint else ""
        return lsp.Diagnostic(
            range=self.range(workspace, finding.span),
            message=f"{finding.message}{hint}",
            severity=_SEVERITIES[finding.severity],
            code=finding.code,
            source="cepheid",
        )

    def forget(self, uri: str) -> None:
        file = self.file(uri)
        self.programs.close(file)
        self.versions.pop(file, None)
        self.findings.pop(file, None)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def make_server() -> CepheidServer:
    server = CepheidServer()
    _hear_of_texts(server)
    _answer_about_places(server)
    _answer_about_names(server)
    _answer_about_texts(server)
    return server


def _hear_of_texts(server: CepheidServer) -> None:
    @server.feature(lsp.INITIALIZE)
    def initialize(ls: CepheidServer, params: lsp.InitializeParams) -> None:
        folder = uris.to_fs_path(params.root_uri) if params.root_uri else None
        options = params.initialization_options
        given = options.get("programs") if isinstance(options, dict) else None
        ls.programs.group(Path(folder or "."), given)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(ls: CepheidServer, params: lsp.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        await ls.look_at(document.uri, document.text, document.language_id, document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(ls: CepheidServer, params: lsp.DidChangeTextDocumentParams) -> None:
        document = ls.workspace.get_text_document(params.text_document.uri)
        version = params.text_document.version
        await ls.look_at(document.uri, document.source, document.language_id or "", version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: CepheidServer, params: lsp.DidCloseTextDocumentParams) -> None:
        ls.forget(params.text_document.uri)


def _answer_about_places(server: CepheidServer) -> None:
    triggers = lsp.CompletionOptions(trigger_characters=[".", "@", "#", ":"])

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, triggers)
    def completion(ls: CepheidServer, params: lsp.CompletionParams) -> lsp.CompletionList:
        found = ls.at(params.text_document.uri, params.position)
        items = []
        for each in complete(*found) if found else ():
            place = ls.range(found[0], each.span) if found else _START
            items.append(
                lsp.CompletionItem(
                    label=each.label,
                    kind=_SORTS[each.sort],
                    detail=each.detail or str(each.sort),
                    text_edit=lsp.TextEdit(place, each.written),
                )
            )
        return lsp.CompletionList(is_incomplete=False, items=items)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(ls: CepheidServer, params: lsp.HoverParams) -> lsp.Hover | None:
        found = ls.at(params.text_document.uri, params.position)
        told = describe(*found) if found else None
        if found is None or told is None:
            return None
        value = f"```epl\n{told.code}\n```\n{told.text}"
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, value)
        return lsp.Hover(content, ls.range(found[0], told.span))


def _answer_about_names(server: CepheidServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(ls: CepheidServer, params: lsp.DefinitionParams) -> list[lsp.Location]:
        found = ls.at(params.text_document.uri, params.position)
        spans = found[0].definition(*found[1:]) if found else ()
        return [ls.location(found[0], span) for span in spans] if found else []

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(ls: CepheidServer, params: lsp.ReferenceParams) -> list[lsp.Location]:
        found = ls.at(params.text_document.uri, params.position)
        if found is None:
            return []
        spans = found[0].references(*found[1:])
        left_out = () if params.context.include_declaration else found[0].definition(*found[1:])
        return [ls.location(found[0], span) for span in spans if span not in left_out]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare(
        ls: CepheidServer, params: lsp.PrepareRenameParams
    ) -> lsp.PrepareRenamePlaceholder | None:
        found = ls.at(params.text_document.uri, params.position)
        name = renamable(*found) if found else None
        if found is None or name is None:
            return None
        place = ls.range(found[0], name.span)
        return lsp.PrepareRenamePlaceholder(place, name.symbol.name)

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def renamed(ls: CepheidServer, params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        found = ls.at(params.text_document.uri, params.position)
        if found is None:
            return None
        try:
            return ls.edits(found[0], rename(*found, params.new_name))
        except ProgramError as refused:
            raise JsonRpcInvalidParams(refused.diagnostics[0].message) from None


def _answer_about_texts(server: CepheidServer) -> None:
    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
    )
    def actions(ls: CepheidServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        file = ls.file(params.text_document.uri)
        workspace = ls.programs.workspace_with(file)
        return [
            _action(ls, workspace, finding, fix)
            for finding in ls.findings.get(file, ())
            if _touch(ls.range(workspace, finding.span), params.range)
            for fix in finding.fixes
        ]

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(
        ls: CepheidServer, params: lsp.DocumentFormattingParams
    ) -> list[lsp.TextEdit] | None:
        text = ls.programs.open.get(ls.file(params.text_document.uri))
        if text is None:
            return None
        try:
            after = text.language.format_text(text.text, text.file)
        except CepheidError:  # which is a finding, and shown
            return None
        after = after.replace("\n", "\r\n") if "\r\n" in text.text else after
        if after == text.text:
            return []
        return [lsp.TextEdit(ls.range_of(ls.positions(text.text), 0, len(text.text)), after)]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(ls: CepheidServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        file = ls.file(params.text_document.uri)
        if file not in ls.programs.open:
            return []
        workspace = ls.programs.workspace_with(file)
        return list(_symbols(ls, workspace, outline(workspace.documents[file])))


def _action(
    ls: CepheidServer, workspace: Workspace, finding: Diagnostic, fix: Fix
) -> lsp.CodeAction:
    return lsp.CodeAction(
        title=fix.title,
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=[ls.shown(workspace, finding)],
        edit=ls.edits(workspace, fix.edits),
    )


def _touch(one: lsp.Range, other: lsp.Range) -> bool:
    return one.start <= other.end and other.start <= one.end


def _symbols(
    ls: CepheidServer, workspace: Workspace, entries: Sequence[Entry]
) -> Iterator[lsp.DocumentSymbol]:
    for entry in entries:
        yield lsp.DocumentSymbol(
            name=entry.name,
            kind=_ENTRIES[entry.what],
            range=ls.range(workspace, entry.span),
            selection_range=ls.range(workspace, entry.place),
            children=list(_symbols(ls, workspace, entry.parts)),
        )
