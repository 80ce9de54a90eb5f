"""What is said about input as a whole: one answer per question, whatever door it comes through.

Functions from facts to findings; who reads the input finds the facts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cepheid.core.event import Event
from cepheid.core.once import once
from cepheid.core.types import lineage
from cepheid.core.values import shown
from cepheid.engines.common.notes import emit
from cepheid.errors import Diagnostic, Span, UsageError, error, nearest, note, suggest, warning
from cepheid.io.records import EXTRA
from cepheid.io.rows import ColumnarRows
from cepheid.io.source import Renamings, meant
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.statements import span_of_type
from cepheid.program.uses import Use, class_uses_of, keys_of, uses_of

Extra: TypeAlias = Literal["ignore", "error"]


@dataclass(frozen=True, slots=True)
class Rules:
    """What a call says about input that does not fit: attributes that may be missing, extra columns."""

    optional: frozenset[str] = frozenset()  # 'name' or 'Type.name'
    extra: Extra = "ignore"


STRICT = Rules()


def rules_for(
    program: ResolvedProgram, optional: Iterable[str] | str = (), extra: str = "ignore"
) -> Rules:
    """The rules that the options of a call ask for; UsageError where they make no sense."""
    if extra not in ("ignore", "error"):
        hint = suggest(str(extra), ("ignore", "error"), "choices")
        raise UsageError(error("usage", f"no extra={extra!r}", hint=hint))
    names = [optional] if isinstance(optional, str) else list(optional)
    has_open = any(type.is_open for type in program.types.values())
    holders = [(t.name, t.attributes) for t in program.types.values()]
    holders += [(each.name, each.declared.attributes) for each in program.classes]
    known = {n for name, held in holders for a in held for n in (a.name, f"{name}.{a.name}")}
    for name in names:
        if name not in known and not has_open:
            hint = suggest(str(name), (n for n in known if "." not in n), "attributes")
            raise UsageError(error("usage", f"optional: no attribute {shown(name)}", hint=hint))
    return Rules(frozenset(names), "error" if extra == "error" else "ignore")


def missing_attributes(
    program: ResolvedProgram, seen: Mapping[str, Collection[str]], optional: Collection[str] = ()
) -> list[Diagnostic]:
    """Attributes that statements use and no event has, of types that have events.

    `seen` has for each of these types the names that occur in any of its events, null or not.
    """
    known = {type: {a.name for a in program.types[type].attributes} for type in seen}
    return _all_missing(uses_of(program), known, seen, optional)


def missing_in_classes(
    program: ResolvedProgram, seen: Mapping[str, Collection[str]], optional: Collection[str] = ()
) -> list[Diagnostic]:
    """The same for classes. Those that statements tell of events, too, may have the rest from them."""
    told = {statement.target for statement in program.statements}
    known = {each.name: {a.name for a in each.declared.attributes} for each in program.classes}
    outside = {name: names for name, names in seen.items() if name not in told}
    return _all_missing(class_uses_of(program), known, outside, optional)


def _all_missing(
    uses: Mapping[str, Mapping[str, Use]],
    known: Mapping[str, Collection[str]],
    seen: Mapping[str, Collection[str]],
    optional: Collection[str],
) -> list[Diagnostic]:
    return [
        _missing(type, name, use, _unknown(names, known[type]))
        for type, names in seen.items()
        for name, use in uses.get(type, {}).items()
        if name not in names and {name, f"{type}.{name}"}.isdisjoint(optional)
    ]


def _unknown(names: Iterable[str], known: Collection[str]) -> list[str]:
    """Columns that may be the attribute under another name."""
    return [name for name in names if name not in known and not name.startswith("@")]


def _missing(type: str, name: str, use: Use, others: Iterable[str]) -> Diagnostic:
    purpose = (
        f"by which {use.statement!r} keeps events apart"
        if use.is_key
        else f"which {use.statement!r} uses"
    )
    fact = f"no event of {type} has the attribute {name!r}, {purpose}"
    close = nearest(name, others)
    hint = f"optional=[{name!r}], or --optional {name}, lets it be null"
    if close is not None:
        hint = meant(close, name)
    return error("missing-attribute", fact, use.span, hint)


def ignored_columns(type: str, names: Iterable[str], attributes: Iterable[str] = ()) -> Diagnostic:
    """One note for all columns of a type that its schema does not have.

    A slip in a mark is a warning, as is a name that one of the attributes has but for its capitals.
    """
    given = list(names)
    listed = ", ".join(repr(name) for name in given)
    fact = f"the schema of {type} does not have {listed}: ignored"
    slips = (nearest(n, _MARKS) for n in given if n.startswith("@") and n not in _RESULT_MARKS)
    if mark := next(filter(None, slips), None):
        return warning("unknown-attribute", fact, hint=f"did you mean {mark!r}?")
    alike = {_folded(name): name for name in attributes}
    for name in given:
        if attribute := alike.get(_folded(name)):
            return warning("unknown-attribute", fact, hint=meant(name, attribute))
    return note("unknown-attribute", fact, hint=EXTRA)


def missing_columns(renamings: Renamings) -> Iterator[Diagnostic]:
    """Columns that are to be attributes, and that no source has."""
    for column, attribute, names in renamings.missing():
        fact = f"no source has the column {column!r}, which would be {attribute!r}"
        if attribute in names:
            fact += ": that is a column itself"
        others = (n for n in names if n != attribute and not n.startswith("@"))
        yield warning("unknown-attribute", fact, hint=suggest(column, others, "other columns"))


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


# What is said of an event beside its attributes, and what rows of Spark say of themselves.
_MARKS = ("@type", "@time", "@old", "@timeout", "@detected", "@retracted", "@known")
_RESULT_MARKS = ("@kind", "@causes", "@cause", "@statement", "@row", "@problem", "@sequence")


class IgnoredColumns:
    """Where events come one at a time: one note for each type, when its first such column comes."""

    def __init__(self, ignored: Mapping[str, Collection[str]]) -> None:
        self.notes: list[Diagnostic] = []
        self._ignored = ignored  # of a decoder
        self._types: set[str] = set()

    def see(self, type: str) -> None:
        """After an event of a type was decoded."""
        ignored = self._ignored.get(type)
        if ignored and type not in self._types:
            self._types.add(type)
            self.hear([ignored_columns(type, ignored)])

    def hear(self, notes: Iterable[Diagnostic]) -> None:
        """What there is to say of many events at once, unless it was said before."""
        new = [note for note in notes if note not in self.notes]
        self.notes += new
        emit(new)


def unfed_types(program: ResolvedProgram, provided: Collection[str]) -> Iterator[Diagnostic]:
    """Types that statements take, that nothing derives, and of which no input has events."""
    known = {n for name in provided if name in program.types for n in lineage(name, program.types)}
    derived = {n for s in program.statements for n in lineage(s.target, program.types)}
    reported = set[str]()
    for statement in program.statements:
        for name in statement.inputs:
            if name not in known | derived | reported:
                reported.add(name)
                fact = f"no input has events of {name}, which {statement.name!r} takes"
                yield warning("unfed-type", fact, span_of_type(statement.tree, name))


@once
def only_input(program: ResolvedProgram) -> str | None:
    """The type of events that do not say theirs, where statements take one type from outside."""
    used = {name for statement in program.statements for name in statement.inputs}
    inputs = [name for name in program.input_types if name in used]
    return inputs[0] if len(inputs) == 1 else None


# Keys -----------------------------------------------------------------------------------------


def input_keys(program: ResolvedProgram) -> dict[str, dict[str, Use]]:
    """For each type, the attributes that make a key of its events in a context; they are never null."""
    return {type: uses for type, uses in keys_of(program).items() if uses}


def null_key(type: str, name: str, use: Use, span: Span | None) -> Diagnostic:
    """An event of the input whose key is null."""
    fact = f"an event of {type} without its key: {name!r} is null"
    return error("null-key", fact, span, f"{use.statement!r} keeps events apart by it")


def null_key_of(
    event: Event, keys: Mapping[str, Mapping[str, Use]], span: Span | None
) -> Diagnostic | None:
    """What is wrong with the key of an event of the input, if that is null."""
    uses = keys.get(event.type)
    for name, use in uses.items() if uses else ():
        if event.values_[name] is None:
            return null_key(event.type, name, use, span)
    return None


def null_derived_keys(program: ResolvedProgram, rows: Sequence[Event]) -> Iterator[Diagnostic]:
    """What rows say of derived events whose key is null: one warning for each type and attribute."""
    derived = {statement.target for statement in program.statements}
    for type, uses in input_keys(program).items():
        for name, use in uses.items() if type in derived else ():
            if _is_null_in(rows, type, name):
                yield null_derived_key(type, name, use)


def null_derived_key(type: str, name: str, use: Use) -> Diagnostic:
    fact = f"derived events of {type} have no key: {name!r} is null, so that they share one of their own"
    return warning("null-key", fact, use.span, f"{use.statement!r} keeps events apart by it")


def _is_null_in(rows: Sequence[Event], type: str, name: str) -> bool:
    if isinstance(rows, ColumnarRows):
        return rows.has_null(type, name)
    return any(
        r.values_[name] is None
        for r in rows
        if r.type == type and not r.is_old and not r.is_timeout
    )
