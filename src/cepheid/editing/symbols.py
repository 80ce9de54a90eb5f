"""What the names in the texts of a program stand for, and all the places where they do.

Names are resolved declaration by declaration, from what the parser noted, so that one broken declaration takes
nothing from the others, and is known itself as far as it could be read. The rules are those of `expr.scope`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby, pairwise

from cepheid.core.types import ArrayType, DataType, EventRef, EventType
from cepheid.editing.origins import Origins
from cepheid.errors import Span
from cepheid.lang.common.names import Name, Role


class Kind(StrEnum):
    TYPE = "event type"
    ATTRIBUTE = "attribute"
    TAG = "tag"
    LOCAL = "name"
    CONTEXT = "context"
    QUERY = "query"
    RULE = "rule"
    STATEMENT = "statement"
    FUNCTION = "function"
    ANNOTATION = "annotation"


@dataclass(frozen=True, slots=True)
class Symbol:
    """What names can stand for: two places mean the same if their symbols are equal."""

    kind: Kind
    name: str
    owner: str = ""  # the type of an attribute, the declaration of a tag


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place where a name stands. Implied ones declare what an item without an alias is called."""

    symbol: Symbol
    span: Span
    declares: bool
    role: Role
    is_implied: bool = False


_PLAIN: Mapping[Role, tuple[Kind, bool]] = {
    Role.TYPE: (Kind.TYPE, False),
    Role.EMITTED: (Kind.TYPE, False),
    Role.NEW_TYPE: (Kind.TYPE, True),
    Role.CONTEXT: (Kind.CONTEXT, False),
    Role.NEW_CONTEXT: (Kind.CONTEXT, True),
    Role.QUERY: (Kind.QUERY, False),
    Role.NEW_QUERY: (Kind.QUERY, True),
    Role.RULE: (Kind.RULE, True),
    Role.FUNCTION: (Kind.FUNCTION, False),
    Role.ANNOTATION: (Kind.ANNOTATION, False),
}


def occurrences(
    names: Sequence[Name], types: Mapping[str, EventType], origins: Origins
) -> Iterator[Occurrence]:
    """Those in one text, in the order in which its names were read."""
    for number, found in groupby(names, key=lambda name: name.declaration):
        group = tuple(found)
        yield from Declared.of(group, number, types, origins).occurrences()


@dataclass(frozen=True, slots=True)
class Declared:
    """The names of one declaration, and what they mean inside of it."""

    names: tuple[Name, ...]
    place: str  # tells it from others
    types: Mapping[str, EventType]
    origins: Origins
    tags: Mapping[str, str] = field(default_factory=dict)  # their types
    derived: str | None = None  # the type that it declares or derives
    source: str | None = None  # the type of a stream
    parameters: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        names: tuple[Name, ...],
        number: int,
        types: Mapping[str, EventType],
        origins: Origins,
    ) -> Declared:
        place = f"{names[0].span.file or ''}:{number}"
        used = [name for name in names if name.role is Role.TYPE]
        tags = {
            name.text: following.text
            for name, following in pairwise(names)
            if name.role is Role.TAG and following.role is Role.TYPE
        }
        source = used[0].text if len(used) == 1 and not tags else None
        aliases = {name.text: source for name in names if name.role is Role.ALIAS and source}
        roles = {name.role: name.text for name in reversed(names)}
        derived = roles.get(Role.NEW_TYPE, roles.get(Role.TARGET, roles.get(Role.STATEMENT)))
        if any(name.role is Role.RULE for name in names):
            tags, source = _triggers(names), None
        parameters = frozenset(name.text for name in names if name.role is Role.NEW_ATTRIBUTE)
        return cls(names, place, types, origins, {**tags, **aliases}, derived, source, parameters)

    def occurrences(self) -> Iterator[Occurrence]:
        for name, symbol, _ in self.resolved():
            if symbol is not None:
                is_implied = name.role is Role.IMPLIED
                yield Occurrence(symbol, name.span, self._declares(name), name.role, is_implied)

    def resolved(self) -> Iterator[tuple[Name, Symbol | None, DataType | None]]:
        """Each name, what it stands for, and the type of that of which it is a member, if it is one."""
        at_hand: DataType | None = None  # what a path has led to
        for position, name in enumerate(self.names):
            owner = at_hand if name.role is Role.MEMBER else None
            if name.role is Role.MEMBER:
                symbol, at_hand = self._member(at_hand, name.text)
            elif name.role is Role.START:
                symbol, at_hand = self._start(name, has_members=self._has_members(position))
            else:
                symbol = self._plain(position)
            yield name, symbol, owner

    def _declares(self, name: Name) -> bool:
        if name.role is Role.TARGET:
            return name.text not in self.origins.declared
        if name.role is Role.STATEMENT:
            return True
        if name.role in _PLAIN:
            return _PLAIN[name.role][1]
        if name.role in (Role.COLUMN, Role.IMPLIED):
            return self.derived not in self.origins.declared
        return name.role in (Role.NEW_ATTRIBUTE, Role.TAG, Role.ALIAS)

    def _plain(self, position: int) -> Symbol | None:
        name = self.names[position]
        text = name.text
        if name.role in _PLAIN:
            return Symbol(_PLAIN[name.role][0], text)
        match name.role:
            case Role.TARGET:
                return Symbol(Kind.TYPE, text)
            case Role.STATEMENT:
                return Symbol(Kind.TYPE if text == self.derived else Kind.STATEMENT, text)
            case Role.TAG | Role.ALIAS:
                return Symbol(Kind.TAG, text, self.place)
            case Role.NEW_ATTRIBUTE | Role.COLUMN | Role.IMPLIED | Role.TIME_ATTRIBUTE:
                return self._attribute(self.derived or self.place, text)
            case Role.ATTRIBUTE:
                return self._attribute(self._type_behind(position), text)
            case Role.ARGUMENT:
                return None if text == "_" else self._local(text)
            case Role.DATA_TYPE:
                return Symbol(Kind.TYPE, text) if text in self.types else None
        return None

    def _local(self, text: str) -> Symbol | None:
        if text in self.parameters:
            return self._attribute(self.derived, text)
        return Symbol(Kind.LOCAL, text, self.place)

    def _type_behind(self, position: int) -> str | None:
        behind = (name.text for name in self.names[position:] if name.role is Role.TYPE)
        return next(behind, None)

    def _attribute(self, owner: str | None, name: str) -> Symbol | None:
        if owner is None:
            return None
        return Symbol(Kind.ATTRIBUTE, name, self.origins.owner(owner, name))

    # Paths.

    def _has_members(self, position: int) -> bool:
        following = self.names[position + 1 : position + 2]
        return bool(following) and following[0].role is Role.MEMBER

    def _start(self, name: Name, *, has_members: bool) -> tuple[Symbol | None, DataType | None]:
        text, current = name.text, name.event_type or self.source
        if current is not None and not has_members and self._has(current, text):
            return self._owned(current, text)
        if text in self.tags:
            return Symbol(Kind.TAG, text, self.place), EventRef(self.tags[text])
        if text == current:
            return Symbol(Kind.TYPE, text), EventRef(text)
        if current is not None:
            return self._owned(current, text)
        owners = [type for type in self.tags.values() if self._has(type, text)]
        if len(owners) == 1 and text not in self.parameters:
            return self._owned(owners[0], text)
        return (None, None) if self.tags and not self.is_local(text) else (self._local(text), None)

    def is_local(self, text: str) -> bool:
        """Whether a name is one of the declaration alone, such as a parameter."""
        locals = {name.text for name in self.names if name.role is Role.ARGUMENT}
        return text in locals or text in self.parameters

    def _has(self, type: str, attribute: str) -> bool:
        known = self.types.get(type)
        return known is not None and any(a.name == attribute for a in known.attributes)

    def _owned(self, type: str, attribute: str) -> tuple[Symbol | None, DataType | None]:
        known = self.types.get(type)
        leads_to = known.find(attribute) if known is not None else None
        return self._attribute(type, attribute), leads_to

    def _member(self, at_hand: DataType | None, name: str) -> tuple[Symbol | None, DataType | None]:
        if isinstance(at_hand, ArrayType):  # one of its elements
            at_hand = at_hand.element
        return self._owned(at_hand.name, name) if isinstance(at_hand, EventRef) else (None, None)


def _triggers(names: Sequence[Name]) -> dict[str, str]:
    """The events of a rule whose attributes it knows by their own names, as no arguments are listed."""
    pairs = zip(names, (*names[1:], None), strict=True)
    return {
        f"({name.text})": name.text  # which is no tag that can be written
        for name, following in pairs
        if name.role is Role.TYPE and (following is None or following.role is not Role.ARGUMENT)
    }
