"""What is to be done, as data: an action is a row with the name of its executor and its arguments.

The *key* of an action says what caused it, and nothing else: whoever makes the action again, after a
crash or in another run over the same events, gives it the same key. So an outbox takes it once, and a
receiver that remembers keys does what it says once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TypeAlias
from urllib.parse import quote

from cepheid.core.time import Instant, format_instant, parse_instant
from cepheid.core.values import shown
from cepheid.errors import InputError, error, suggest

Json: TypeAlias = Mapping[str, object]
# What a row of an action says beside its arguments.
META = ("@type", "@time", "@key", "@cause")
# What templates know of an action beside its arguments.
RESERVED = ("action", "time", "key", "cause")


@dataclass(frozen=True, slots=True)
class Action:
    """`name` is its class, which names the executor; arguments are p1, p2, ... or have other names.

    The instant is that of the round or event that caused it. `cause` has '@type', and what tells the
    event from others of its type. All values are those of JSON.
    """

    name: str
    instant: Instant
    key: str
    cause: Json = field(default_factory=dict)
    arguments: Json = field(default_factory=dict)

    def row(self) -> dict[str, object]:
        head = {"@type": self.name, "@time": format_instant(self.instant), "@key": self.key}
        return {**head, "@cause": dict(self.cause), **self.arguments}

    @property
    def names(self) -> Json:
        """What templates know."""
        time = format_instant(self.instant)
        own = {"action": self.name, "time": time, "key": self.key, "cause": self.cause}
        return {**self.arguments, **own}


def key_of(*parts: object) -> str:
    """A key of parts: texts, numbers, and tuples of them; plain ASCII, so that headers can hold it."""
    return "/".join(quote(_text(part), safe=":,-_. ").replace(" ", "+") for part in parts)


def reaction_key(round: Instant, type: str, key: Iterable[object], statement: int) -> str:
    """The key of an action that statement `statement` of a class takes in a round."""
    return key_of(format_instant(round), type, tuple(key), statement)


def _text(part: object) -> str:
    return part if isinstance(part, str) else json.dumps(part, separators=(",", ":"))


def digest_of(value: object) -> str:
    """Sixteen letters that stand for a value of JSON, whatever the order of its members."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return blake2b(text.encode("ascii"), digest_size=8).hexdigest()


class Repeats:
    """Tells equal rows of one instant apart, which no key would: the first is 0, the next 1.

    Rows come in the order of time, and those of an instant from one source.
    """

    def __init__(self) -> None:
        self._instant: Instant | None = None
        self._seen: Counter[str] = Counter()

    def number(self, instant: Instant, digest: str) -> int:
        if instant != self._instant:
            self._instant = instant
            self._seen.clear()
        self._seen[digest] += 1
        return self._seen[digest] - 1


def action_of_row(row: Json, repeats: Repeats | None = None) -> Action:
    """The action of a row as runs print them; InputError where it is none.

    Without '@key' the row itself is what caused it; equal rows are told apart by `repeats`.
    """
    try:
        return _action_of_row(row, repeats or Repeats())
    except ValueError as problem:
        raise InputError(error("bad-action", str(problem))) from None


def actions_of_rows(rows: Iterable[Json]) -> Iterator[Action]:
    """The same for rows in their order."""
    repeats = Repeats()
    return (action_of_row(row, repeats) for row in rows)


def _action_of_row(row: Json, repeats: Repeats) -> Action:
    name, cause = row.get("@type"), row.get("@cause", {})
    if name is None:
        raise ValueError("a row without '@type' is no action")
    if not isinstance(name, str) or not name:
        raise ValueError(f"an action has a name as its '@type', not {shown(name)}")
    if not isinstance(cause, Mapping):
        raise ValueError(f"the '@cause' of an action is an object, not {shown(cause)}")
    if "@time" not in row:
        raise ValueError(f"an action of '{name}' without '@time'")
    instant = parse_instant(row["@time"])
    for other in row:
        if other.startswith("@") and other not in META:
            raise ValueError(f"an action has no '{other}' ({suggest(other, META)})")
    arguments = {n: value for n, value in row.items() if n not in META}
    key = row.get("@key")
    if key is None:
        content = digest_of([name, dict(cause), arguments])
        key = key_of(name, format_instant(instant), content, repeats.number(instant, content))
    if not isinstance(key, str) or not key:
        raise ValueError(f"the '@key' of an action is a text, not {shown(key)}")
    return Action(name, instant, key, dict(cause), arguments)


def encode_line(value: object) -> bytes:
    """A line of JSON; a lone half of a surrogate pair, which UTF-8 cannot hold, stays an escape."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False).encode() + b"\n"
