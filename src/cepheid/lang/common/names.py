"""The names in a text and what each is for, as the parser met them.

They are noted while a declaration is read, so that those of one that turns out to be broken are known up to there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from cepheid.errors import Span


class Role(Enum):
    """What a name stands for at its place; it declares what it stands for where it says so."""

    TYPE = auto()
    EMITTED = auto()  # a type of which a rule makes an event
    NEW_TYPE = auto()  # declares
    TARGET = auto()  # the type that a statement derives; declares it where nothing else does
    STATEMENT = auto()  # declares, in a string: `@Name('Crash')`
    ATTRIBUTE = auto()  # of the type named next
    NEW_ATTRIBUTE = auto()  # declares one of the type that is declared
    TIME_ATTRIBUTE = auto()  # of the type that is declared, in a string
    COLUMN = auto()  # declares one of the type that is derived
    IMPLIED = auto()  # the same, by an item without an alias; its name is noted for itself before
    DATA_TYPE = auto()
    TAG = auto()  # declares; the type that it stands for is named next
    ALIAS = auto()  # declares a name for the events of the source
    START = auto()  # the first part of a path: a tag, or an attribute of the event at hand
    MEMBER = auto()  # what follows a dot
    ARGUMENT = auto()  # a local name, or an attribute of what is declared
    CONTEXT = auto()
    NEW_CONTEXT = auto()  # declares
    QUERY = auto()
    NEW_QUERY = auto()  # declares
    RULE = auto()  # declares
    FUNCTION = auto()
    ANNOTATION = auto()
    WINDOW = auto()
    TIMER = auto()
    OTHER = auto()  # of what has no declaration in a program


@dataclass(frozen=True, slots=True)
class Name:
    """`event_type` is the one at hand, inside of whose brackets the name stands, if any."""

    text: str
    role: Role
    span: Span
    declaration: int  # the how-manieth of the text, broken ones included
    event_type: str | None = None
