"""What a run in rounds gives: actions, the versions of all classes, and toggles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from cepheid.bitemporal.detections import Key
from cepheid.bitemporal.repository import Refusal, Row
from cepheid.bitemporal.rounds import Number, Rounds
from cepheid.core.event import Value

Kind: TypeAlias = Literal["announcement", "change", "cancellation"]


class Firing(NamedTuple):
    """An action that a statement of a class calls for, in a round and because of an event."""

    round: Number
    cls: str
    key: Key
    statement: int  # its place in the class
    action: str
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Version:
    """What was known of an event from one round on, until another; None: until the end."""

    cls: str
    key: Key
    row: Row
    known_from: Number
    known_to: Number | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What became known of an event in a round; a cancellation shows what was known before."""

    round: Number
    cls: str
    key: Key
    kind: Kind
    row: Row
    fired: bool  # the toggle at the beginning of the round


@dataclass(frozen=True, slots=True)
class Toggle:
    """The round that set the toggle of an event, and the one that cleared it, if there is one."""

    cls: str
    key: Key
    set_in: Number
    cleared_in: Number | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All of it, each in the order of rounds, classes, keys and statements."""

    rounds: Rounds
    firings: Sequence[Firing]
    versions: Sequence[Version]
    changes: Sequence[Change]
    toggles: Sequence[Toggle]
    taken: int = 0  # detections
    refused: Mapping[tuple[str, Refusal], int] = field(default_factory=dict)
