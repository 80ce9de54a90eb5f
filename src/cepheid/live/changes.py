"""What a transaction did, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from cepheid.live.metamodel import Feature
    from cepheid.live.model import Object

# What a feature may hold.
Held: TypeAlias = "str | bool | int | float | Object | None"


class ChangeKind(Enum):
    CREATE = "create"
    DELETE = "delete"
    SET = "set"  # a feature of one value: from old to new
    ADD = "add"  # a feature of many values: the new one
    REMOVE = "remove"  # and the old one


class Change(NamedTuple):
    """An elementary change. Both sides of a reference and its opposite change, one after the other.

    An object has lost all its references before it is deleted; its attributes go with it, without
    changes of their own. A created object has its defaults.
    """

    kind: ChangeKind
    object: Object
    feature: Feature | None
    old: Held
    new: Held


@dataclass(frozen=True, slots=True)
class Commit:
    """A transaction that was committed: its elementary changes, in the order in which they happened.

    `samples` are attributes that were set to the value that they had: no change, but a reading.
    `before` and `after` are numbers of states of the model; `ranks` are the places of removed values.
    """

    number: int
    changes: tuple[Change, ...]
    samples: tuple[tuple[Object, Feature], ...] = ()
    before: int = 0
    after: int = 0
    ranks: Mapping[int, int] = field(default_factory=dict, repr=False, compare=False)
