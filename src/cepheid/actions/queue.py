"""The actions of one class that wait in an outbox: which is next, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from cepheid.actions.action import Action, Json, encode_line
from cepheid.actions.disk import Appender, replace_file, whole_lines
from cepheid.actions.outbox import (
    damaged,
    expect_outbox,
    lock_for_delivering,
    lock_for_writing,
    queue_folder,
    queue_names,
    read_action,
)
from cepheid.core.time import SECOND, format_instant
from cepheid.errors import InputError

_MANY = 1_000  # lines of a cursor that are worth being made one


@dataclass(frozen=True, slots=True)
class Cursor:
    offset: int = 0  # bytes of actions that are done
    tries: int = 0  # of the next one


class Waiting:
    """A queue to look at: nothing is changed, whoever else is at work."""

    def __init__(self, outbox: Path, name: str) -> None:
        self.name = name
        self.folder = queue_folder(outbox, name)
        self._actions = self.folder / "actions.jsonl"
        self.cursor, self._lines = _read_cursor(self.folder / "cursor.jsonl", self._actions)

    def actions(self) -> Iterator[Action]:
        return (read_action(line, self._actions) for line, _ in self._rest())

    def count(self) -> int:
        return sum(1 for _ in self._rest())

    def _rest(self) -> Iterator[tuple[bytes, int]]:
        return whole_lines(self._actions, self.cursor.offset)


class Queue(Waiting):
    """A queue to take actions from, one at a time: `next` stays the same until it is done or dead.

    The cursor moves when the deed is done. A process that dies in between leaves the action to be done
    again, and never more than this one.
    """

    def __init__(self, outbox: Path, name: str) -> None:
        super().__init__(outbox, name)
        path = self.folder / "cursor.jsonl"
        if self._lines > _MANY:
            replace_file(path, _cursor_line(self.cursor))
        self._cursor_file = Appender(path)
        self._dead_file: Appender | None = None
        self._next: tuple[Action, int] | None = None
        self._forget_dead()

    def next(self) -> Action | None:
        """The first action that is not done; None where there is none yet."""
        if self._next is None:
            # Read anew each time: behind whole lines another process may cut off a torn one and write
            # others, of which nothing may be known from before.
            found = next(self._rest(), None)
            if found is None:
                return None
            line, end = found
            self._next = read_action(line, self._actions), end
        return self._next[0]

    def done(self) -> None:
        assert self._next is not None
        self._move(Cursor(self._next[1]))
        self._next = None

    def failed(self) -> int:
        """Counts a try; gives how many there were."""
        self._move(Cursor(self.cursor.offset, self.cursor.tries + 1))
        return self.cursor.tries

    def dead(self, reason: str, at: float) -> None:
        """Puts the next action among the dead letters, with why, and goes on."""
        action = self.next()
        assert action is not None
        letter = {
            "reason": reason,
            "tries": self.cursor.tries,
            "at": format_instant(int(at * SECOND)),
            "action": action.row(),
        }
        self._dead_file = self._dead_file or Appender(self.folder / "dead.jsonl")
        self._dead_file.append(encode_line(letter))
        self.done()

    def _move(self, cursor: Cursor) -> None:
        self._cursor_file.append(_cursor_line(cursor))
        self.cursor = cursor

    def _forget_dead(self) -> None:
        """A process may have died after it wrote a dead letter and before it went on."""
        last = None
        for line, _ in whole_lines(self.folder / "dead.jsonl"):
            last = line
        action = self.next()
        if last is not None and action is not None and _key_of_letter(last) == action.key:
            self.done()

    def close(self) -> None:
        self._cursor_file.close()
        if self._dead_file is not None:
            self._dead_file.close()


def dead_letters(outbox: str | Path, name: str) -> Iterator[dict[str, object]]:
    """What could not be done of a class: reason, tries, at, and the row of the action."""
    path = queue_folder(Path(outbox), name) / "dead.jsonl"
    for line, _ in whole_lines(path):
        try:
            letter = json.loads(line)
        except ValueError:
            letter = None
        if not isinstance(letter, dict):
            raise InputError(damaged(path, "a line that is no dead letter"))
        yield letter


def revive(outbox: str | Path) -> int:
    """Puts all dead letters behind what waits, to be tried again; says how many there were.

    After a crash in between some are in both places, and may be done twice.
    """
    folder, count = Path(outbox), 0
    expect_outbox(folder)
    with closing(lock_for_writing(folder)), closing(lock_for_delivering(folder)):
        for name in queue_names(folder):
            letters = list(dead_letters(folder, name))
            if letters:
                own = queue_folder(folder, name)
                with closing(Appender(own / "actions.jsonl")) as file:
                    rows = (cast("Json", letter["action"]) for letter in letters)
                    file.append(b"".join(map(encode_line, rows)))
                replace_file(own / "dead.jsonl", b"")
                count += len(letters)
    return count


def _key_of_letter(line: bytes) -> object:
    try:
        return json.loads(line)["action"]["@key"]
    except (ValueError, LookupError, TypeError):
        return None


def _cursor_line(cursor: Cursor) -> bytes:
    return encode_line({"offset": cursor.offset, "tries": cursor.tries})


def _read_cursor(path: Path, actions: Path) -> tuple[Cursor, int]:
    """Where a queue stands, and how many lines say so."""
    last, count = None, 0
    for line, _ in whole_lines(path):
        last, count = line, count + 1
    if last is None:
        return Cursor(), 0
    try:
        found = json.loads(last)
        cursor = Cursor(int(found["offset"]), int(found["tries"]))
    except (ValueError, LookupError, TypeError):
        raise InputError(damaged(path, "a line that is no cursor")) from None
    if not _is_between_lines(actions, cursor.offset):
        fact = f"an offset, {cursor.offset}, at which no line of 'actions.jsonl' ends"
        raise InputError(damaged(path, fact))
    return cursor, count


def _is_between_lines(path: Path, offset: int) -> bool:
    if offset == 0:
        return True
    try:
        with path.open("rb") as file:
            file.seek(offset - 1)
            return file.read(1) == b"\n"
    except (OSError, ValueError):
        return False
