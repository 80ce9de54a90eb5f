"""What may be written at a place.

The parser itself is asked: what stands before the place is parsed with each candidate behind it, and those that it
takes are offered. A name that nothing else is called shows whether a name may stand there, and for what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from cepheid.core.types import ArrayType, DataType, EventRef
from cepheid.editing.describing import shown_type
from cepheid.editing.origins import Origins
from cepheid.editing.symbols import Declared
from cepheid.editing.workspace import Document, Workspace
from cepheid.errors import Span
from cepheid.expr.functions import AGGREGATES, FUNCTIONS
from cepheid.expr.notation import RESERVED
from cepheid.lang.common.annotations import KNOWN
from cepheid.lang.common.lexer import Kind, Token
from cepheid.lang.common.names import Name, Role
from cepheid.lang.editable import Editable

_UNHEARD_OF = "unheard_of_name"
_GRAMMAR = frozenset({"syntax"})  # that there is nothing of such a name is another matter
_BEFORE_ANY_WORD = (Role.MEMBER, Role.ANNOTATION)  # where words of the grammar are names, too
_TIMERS = ("within", "withinmax", "interval", "at")


class Sort(StrEnum):
    KEYWORD = "keyword"
    TYPE = "event type"
    ATTRIBUTE = "attribute"
    TAG = "tag"
    FUNCTION = "function"
    ANNOTATION = "annotation"
    WINDOW = "window"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Completion:
    """What may stand in the place of a span, which is the begun word or empty."""

    label: str
    sort: Sort
    written: str
    span: Span
    detail: str = ""


def complete(workspace: Workspace, file: str, offset: int) -> tuple[Completion, ...]:
    """All that may stand at a place and begins as the word there does; nothing in comments and strings."""
    document = workspace.documents[file]
    if document.read is None or document.editable is None or _is_inside(document, offset):
        return ()
    place = _Place.at(document, document.editable, offset)
    name = place.name()
    names = _Names(workspace, document, place).offered(name.role) if name else ()
    words = () if name is not None and name.role in _BEFORE_ANY_WORD else place.keywords()
    found = (*names, *words)
    begun = document.text[place.start : offset].lstrip("`").lower()
    span = document.lines.span(place.start, offset)
    return tuple(
        {
            label: Completion(label, sort, written, span, detail)
            for label, sort, written, detail in found
            if label.lower().startswith(begun)
        }.values()
    )


_Offer = tuple[str, Sort, str, str]  # label, sort, what is written, detail


def _is_inside(document: Document, offset: int) -> bool:
    """Whether a place lies in a comment, a string or a number."""
    assert document.read is not None
    for comment in document.read.comments:
        start, end = document.range(comment.span)
        if start < offset and (
            offset < end or (offset == end and comment.text.startswith(("//", "--")))
        ):
            return True
    for token in document.read.tokens:
        start, end = document.range(token.span)
        is_number = token.kind is Kind.NUMBER
        if (is_number or token.kind is Kind.STRING) and start < offset < end + is_number:
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Place:
    """Where something is to be written: behind the beginning of a declaration."""

    editable: Editable
    start: int  # of the word that is replaced
    before: str  # the declaration up to there
    known: Counter[tuple[str, str]]  # what is wrong with that

    @classmethod
    def at(cls, document: Document, editable: Editable, offset: int) -> _Place:
        assert document.read is not None
        words = (t.span for t in document.read.tokens if t.kind in (Kind.WORD, Kind.QUOTED))
        ranges = map(document.range, words)
        start = next((start for start, end in ranges if start < offset <= end), offset)
        before = _declaration_before(document.text[:start], editable)
        problems = editable.parse(before, None).problems
        known = Counter((p.code, p.message) for p in problems)
        return cls(editable, start, before, known)

    def accepts(self, candidate: str, codes: frozenset[str] = frozenset()) -> bool:
        """Whether the parser takes all of it, whatever it misses behind it.

        Only findings of the codes, if there are any, count against it.
        """
        text = self.before + candidate
        end = text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1
        left = Counter(self.known)
        for problem in self.editable.parse(text, None).problems:
            if codes and problem.code not in codes:
                continue
            at = (problem.span.line, problem.span.column) if problem.span else (0, 0)
            left[problem.code, problem.message] -= 1
            if at < end and left[problem.code, problem.message] < 0:
                return False
        return True

    def keywords(self) -> Iterator[_Offer]:
        for each in self.editable.phrases:
            phrase, _, told = each.partition("...")
            first, _, rest = f"{phrase}{told}".partition(" ")
            if not self.accepts(f"{first} {rest} "):
                continue
            is_reserved = first.lower() in RESERVED
            head = first.rstrip("([{:")
            name = first.replace(head, _UNHEARD_OF, 1)
            if is_reserved or not self.accepts(f"{name} {rest} "):
                yield phrase, Sort.KEYWORD, phrase, ""

    def name(self) -> Name | None:
        """The role that a name has here, if one may stand here."""
        if not self.accepts(f"{_UNHEARD_OF} ", _GRAMMAR):
            return None
        names = self.editable.parse(self.before + _UNHEARD_OF, None).names
        return next((name for name in names if name.text == _UNHEARD_OF), None)


def _declaration_before(text: str, editable: Editable) -> str:
    """What is there of the declaration in which a text ends."""
    read = editable.parse(text, None)
    tokens = read.tokens[:-1]
    if not tokens or (editable.end_mark and tokens[-1].is_symbol(editable.end_mark)):
        return ""
    begun = read.begun[-1] if read.begun else tokens[0].span
    lines = text.split("\n")[begun.line - 1 :]
    return "\n".join([lines[0][begun.column - 1 :], *lines[1:]])


@dataclass(frozen=True, slots=True)
class _Names:
    """The names that may stand at a place."""

    workspace: Workspace
    document: Document
    place: _Place

    def offered(self, role: Role) -> Iterator[_Offer]:
        types = self.workspace.program.types
        match role:
            case Role.TYPE | Role.TARGET | Role.EMITTED:
                yield from ((t, Sort.TYPE, self._written(t), shown_type(types[t])) for t in types)
            case Role.DATA_TYPE:
                yield from ((t, Sort.TYPE, t, "") for t in self.place.editable.types)
                if any(map(self.place.accepts, list(types)[:1])):
                    known_types = ((t, self._written(t), shown_type(types[t])) for t in types)
                    yield from ((t, Sort.TYPE, w, shown) for t, w, shown in known_types)
            case Role.ATTRIBUTE:
                known = [(a.name, t) for t in types for a in types[t].attributes]
                yield from ((a, Sort.ATTRIBUTE, self._written(a), f"of {t}") for a, t in known)
            case Role.CONTEXT:
                yield from self._others(each.name for each in self.workspace.tree.contexts)
            case Role.QUERY:
                yield from self._others(each.name for each in self.workspace.tree.queries)
            case Role.ANNOTATION:
                yield from ((a, Sort.ANNOTATION, a, doc) for a, doc in KNOWN.items())
            case Role.WINDOW:
                yield from ((w, Sort.WINDOW, w, "") for w in self.place.editable.windows)
            case Role.TIMER:
                yield from ((t, Sort.FUNCTION, f"{t}(", "") for t in _TIMERS)
            case Role.START | Role.MEMBER | Role.COLUMN | Role.ARGUMENT:
                yield from self._of_declaration(role)

    def _written(self, name: str) -> str:
        return self.place.editable.print_name(name)

    def _others(self, names: Iterator[str]) -> Iterator[_Offer]:
        return ((name, Sort.OTHER, self._written(name), "") for name in names)

    # What depends on the whole declaration, what follows the place included.

    def _of_declaration(self, role: Role) -> Iterator[_Offer]:
        scope, here, owner = self._scope()
        if role is Role.MEMBER:
            yield from self._attributes(owner)
            return
        if role is Role.COLUMN:
            yield from self._attributes(
                EventRef(scope.derived) if scope and scope.derived else None
            )
            return
        if scope is not None:
            current = here.event_type or scope.source
            yield from self._attributes(EventRef(current) if current else None)
            for tag, type in scope.tags.items():
                if tag.isidentifier():
                    yield tag, Sort.TAG, self._written(tag), type
                elif self.place.editable.windows == ():
                    yield from self._attributes(EventRef(type))
            own = {n.text for n in scope.names if n.role in (Role.ARGUMENT, Role.NEW_ATTRIBUTE)}
            yield from self._others(iter(sorted(own - {"_", _UNHEARD_OF})))
        if role is Role.START:
            yield from ((f, Sort.FUNCTION, f"{f}(", doc) for f, doc in _functions().items())

    def _attributes(self, type: DataType | None) -> Iterator[_Offer]:
        if isinstance(type, ArrayType):
            type = type.element
        known = self.workspace.program.types.get(type.name) if isinstance(type, EventRef) else None
        for each in known.attributes if known else ():
            yield each.name, Sort.ATTRIBUTE, self._written(each.name), str(each.type)

    def _scope(self) -> tuple[Declared | None, Name, DataType | None]:
        """The names of the declaration with one at the place, that name, and of what it is a member."""
        text = self.document.text
        end = self.place.start
        while end < len(text) and (text[end].isalnum() or text[end] in "_$`"):
            end += 1
        filled = f"{text[: self.place.start]}{_UNHEARD_OF}{text[end:]}"
        read = self.place.editable.parse(filled, self.document.file)
        here = next((name for name in read.names if name.text == _UNHEARD_OF), None)
        if here is None:  # what follows keeps it from being read
            read = self.place.editable.parse(f"{text[: self.place.start]}{_UNHEARD_OF}", None)
            here = next(name for name in read.names if name.text == _UNHEARD_OF)
        group = tuple(n for n in read.names if n.declaration == here.declaration)
        types, origins = self.workspace.program.types, Origins.of(self.workspace.tree)
        scope = Declared.of(group, here.declaration, types, origins)
        seen = _seen_tags(_tokens_of(read.tokens, read.begun, here), types)
        source = scope.source if scope.tags or not seen else None
        scope = Declared(
            group,
            scope.place,
            types,
            origins,
            {**seen, **scope.tags},
            scope.derived,
            source,
            scope.parameters,
        )
        owners = (owner for name, _, owner in scope.resolved() if name is here)
        return scope, here, next(owners, None)


def _tokens_of(tokens: Sequence[Token], begun: Sequence[Span], here: Name) -> list[Token]:
    """Those of the declaration in which a name stands."""
    start = begun[here.declaration]
    following = begun[here.declaration + 1 : here.declaration + 2]
    end = (following[0].line, following[0].column) if following else (10**9, 0)
    return [t for t in tokens if (start.line, start.column) <= (t.span.line, t.span.column) < end]


def _seen_tags(tokens: list[Token], types: Mapping[str, object]) -> dict[str, str]:
    """`a=A` in text that cannot be read."""
    return {
        one.text: two.text
        for (one, sign), (_, two) in pairwise(pairwise(tokens))
        if one.kind is Kind.WORD and sign.is_symbol("=") and two.text in types
    }


def _functions() -> dict[str, str]:
    aggregates = {name: f"{each.doc} (aggregate)" for name, each in AGGREGATES.items()}
    return {**{name: f"{each.usage}: {each.doc}" for name, each in FUNCTIONS.items()}, **aggregates}
