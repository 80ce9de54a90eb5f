"""An outbox: a folder in which actions wait to be done, in order for each class of actions.

    outbox.json               {"format": "cepheid outbox", "version": 1}
    writing.lock              held by the one process that puts actions in
    delivering.lock           held by the one process that takes them out
    queues/NAME/actions.jsonl the actions of a class, one row a line; only ever appended to
    queues/NAME/cursor.jsonl  {"offset": bytes that are done, "tries": of the next action}; the last line counts
    queues/NAME/dead.jsonl    {"reason", "tries", "at", "action"}: what could not be done

NAME is the class with all but letters, digits, `_` and `-` written as `%XX`. Every file is appended to
and synced; a last line without its end was being written when its process died, and does not count: its
writer will write it again. Putting an action in is idempotent by its key, so actions that are done
stay where they are, to be known again. One process may put in while another takes out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from urllib.parse import quote, unquote

from cepheid.actions.action import Action, Json, Repeats, action_of_row, encode_line
from cepheid.actions.disk import Appender, Lock, replace_file, sync_folder, whole_lines
from cepheid.errors import Diagnostic, InputError, Span, UsageError, error, reason_of

FORMAT = {"format": "cepheid outbox", "version": 1}
_MARKER = "outbox.json"
_WRITING, _DELIVERING = "writing.lock", "delivering.lock"
_UNFINISHED = {_WRITING, _DELIVERING, _MARKER + ".new"}  # what may be there before the marker is
_TOGETHER = 1_000  # actions that wait for the disk together


@dataclass(frozen=True, slots=True)
class Enqueued:
    """How many actions were put in, and how many were there already."""

    added: int = 0
    known: int = 0


class Outbox:
    """An outbox to put actions into; it is made where there is none."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        _make(self.folder)
        self._lock = lock_for_writing(self.folder)
        self._files: dict[str, Appender] = {}
        try:
            _mark(self.folder)
            self._bodies = dict(_bodies(self.folder))
        except BaseException:
            self._lock.close()
            raise

    def put(self, actions: Iterable[Action]) -> Enqueued:
        """Puts in the actions that are not there yet; they are on disk when this returns.

        InputError where the key of one stands for another one already: those before it are in.
        """
        added = known = 0
        waiting: dict[str, list[bytes]] = {}
        try:
            for action in actions:
                line = _line(action)
                if self._is_new(action, line):
                    waiting.setdefault(action.name, []).append(line)
                    added += 1
                    if added % _TOGETHER == 0:
                        self._write(waiting)
                else:
                    known += 1
        finally:
            self._write(waiting)
        return Enqueued(added, known)

    def _is_new(self, action: Action, line: bytes) -> bool:
        body = _body(line)
        known = self._bodies.get(action.key)
        if known is None:
            self._bodies[action.key] = body
            return True
        if known != body:
            fact = f"the key '{action.key}' stands for another action already"
            hint = f"'{self.folder}' is of another program or history: take a new outbox"
            raise InputError(error("bad-action", fact, hint=hint))
        return False

    def _write(self, waiting: dict[str, list[bytes]]) -> None:
        try:
            for name, lines in waiting.items():
                self._file(name).append(b"".join(lines))
        except OSError as problem:
            self._bodies = dict(_bodies(self.folder))  # what got there in spite of it
            raise unusable(self.folder, problem) from None
        finally:
            waiting.clear()

    def _file(self, name: str) -> Appender:
        if name not in self._files:
            folder = queue_folder(self.folder, name)
            if not folder.is_dir():
                folder.mkdir(parents=True)
                for above in (folder.parent, self.folder):
                    sync_folder(above)
            self._files[name] = Appender(folder / "actions.jsonl")
        return self._files[name]

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._lock.close()

    def __enter__(self) -> Outbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def enqueue(rows: Iterable[Action | Json], outbox: str | Path | Outbox) -> Enqueued:
    """Puts actions, or rows of actions as runs print them, into an outbox."""
    repeats = Repeats()
    actions = (r if isinstance(r, Action) else action_of_row(r, repeats) for r in rows)
    if isinstance(outbox, Outbox):
        return outbox.put(actions)
    with Outbox(outbox) as opened:
        return opened.put(actions)


# -- the folder --


def queue_folder(folder: Path, name: str) -> Path:
    return folder / "queues" / quote(name, safe="").replace(".", "%2E").replace("~", "%7E")


def queue_names(folder: Path) -> list[str]:
    """The classes that have, or had, actions."""
    queues = folder / "queues"
    return sorted(unquote(path.name) for path in queues.iterdir()) if queues.is_dir() else []


def lock_for_writing(folder: Path) -> Lock:
    return Lock(folder / _WRITING, "puts actions into")


def lock_for_delivering(folder: Path) -> Lock:
    return Lock(folder / _DELIVERING, "takes actions out of")


def _make(folder: Path) -> None:
    try:
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.parent)
        names = {path.name for path in folder.iterdir()}
    except (FileExistsError, NotADirectoryError):
        raise UsageError(error("bad-outbox", f"'{folder}' is no folder")) from None
    except OSError as problem:
        raise unusable(folder, problem) from None
    if _MARKER not in names and names - _UNFINISHED:
        raise _foreign(folder)


def _mark(folder: Path) -> None:
    if (folder / _MARKER).exists():
        expect_outbox(folder)
    else:
        replace_file(folder / _MARKER, encode_line(FORMAT))


def expect_outbox(folder: Path) -> None:
    """UsageError where a folder is no outbox that this version can read."""
    if not folder.exists():
        raise UsageError(error("missing-file", f"no outbox '{folder}'"))
    if not folder.is_dir():
        raise UsageError(error("bad-outbox", f"'{folder}' is no folder"))
    try:
        found = json.loads((folder / _MARKER).read_bytes())
    except (FileNotFoundError, ValueError):
        raise _foreign(folder) from None
    except OSError as problem:
        raise unusable(folder, problem) from None
    if not isinstance(found, dict) or found.get("format") != FORMAT["format"]:
        raise _foreign(folder)
    if found.get("version") != FORMAT["version"]:
        fact = f"the outbox '{folder}' has version {found.get('version')}, not {FORMAT['version']}"
        raise UsageError(error("bad-outbox", fact, hint="use the Cepheid that made it"))


def _foreign(folder: Path) -> UsageError:
    fact = f"'{folder}' is no outbox: it has other files"
    return UsageError(error("bad-outbox", fact, hint="name a new or empty folder"))


def unusable(folder: Path, problem: OSError) -> UsageError:
    return UsageError(error("bad-outbox", f"cannot use '{folder}': {reason_of(problem)}"))


# -- lines --


def read_action(line: bytes, path: Path, number: int | None = None) -> Action:
    """The action of a line; InputError where it is none."""
    try:
        row = json.loads(line)
        if not isinstance(row, dict) or "@key" not in row:
            raise ValueError
        return action_of_row(row)
    except (ValueError, InputError):
        span = None if number is None else Span(number, 1, number, len(line), str(path))
        raise InputError(damaged(path, "a line that is no action", span)) from None


def damaged(path: Path, what: str, span: Span | None = None) -> Diagnostic:
    hint = "nothing but Cepheid may write to an outbox; move the file away, or mend the line"
    return error("bad-outbox", f"'{path}' has {what}", span, hint)


def _bodies(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The keys of all actions in an outbox, and what they stand for."""
    for name in queue_names(folder):
        path = queue_folder(folder, name) / "actions.jsonl"
        for number, (line, _) in enumerate(whole_lines(path), 1):
            yield read_action(line, path, number).key, _body(line)


def _line(action: Action) -> bytes:
    try:
        return encode_line(action.row())
    except (TypeError, ValueError) as problem:
        fact = f"an action of '{action.name}' cannot be written as JSON: {problem}"
        raise InputError(error("bad-action", fact)) from None


def _body(line: bytes) -> bytes:
    return blake2b(line, digest_size=8).digest()
