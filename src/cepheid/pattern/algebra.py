"""The event algebra: what must have happened, as a relation between a form and a stretch of events.

EPL's patterns (`pattern.tree`) say step by step who listens for what. A form says only which events
belong together; a context (`pattern.policy`) then chooses among the ways in which they may. Parameters
are names: wherever one stands in a form, it stands for the same value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cepheid.core.checks import need
from cepheid.core.time import Period
from cepheid.pattern.tree import Atom, Pattern, children

HIDDEN = "|"  # in a name that is only known within a referenced complex event
WindowKind: TypeAlias = Literal["within", "holdsFor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Pattern):
    """The root of the algebra's operators."""


@dataclass(frozen=True, slots=True)
class EventCall(Form):
    """An event of a type, or all that a complex event stands for: `invalid(host, _)`.

    An argument is a parameter, or None for any value; without a list of arguments nothing is bound.
    """

    atom: Atom
    arguments: tuple[str | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Taken(Form):
    """A call of an event type, resolved: where the values of its parameters are found."""

    atom: Atom
    parameters: tuple[tuple[str, str], ...] = ()  # each with the attribute that has its value


@dataclass(frozen=True, slots=True)
class Follows(Form):
    """`->`: each part begins after the one before it is complete."""

    parts: tuple[Form, ...]

    def __post_init__(self) -> None:
        need(len(self.parts) > 1, "`->` needs two parts")


@dataclass(frozen=True, slots=True)
class Either(Form):
    """`OR`"""

    parts: tuple[Form, ...]

    def __post_init__(self) -> None:
        need(len(self.parts) > 1, "`OR` needs two parts")


@dataclass(frozen=True, slots=True)
class Both(Form):
    """`AND`: all parts, on events of their own, in any order."""

    parts: tuple[Form, ...]

    def __post_init__(self) -> None:
        need(len(self.parts) > 1, "`AND` needs two parts")


@dataclass(frozen=True, slots=True)
class Never(Form):
    """`NOT`: its part does not complete in the time between the neighbours."""

    part: Form


@dataclass(frozen=True, slots=True)
class Times(Form):
    """`{low:high}`, one after the other; `{+}` is from one, `{*}` from none to any number."""

    part: Form
    low: int
    high: int | None
    # Resolved: names that each round binds anew, of the complex events that are called in it.
    own: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        need(self.low >= 0, "a repetition counts from zero")
        need(
            self.high is None or self.high >= max(self.low, 1), "a repetition ends after it begins"
        )


@dataclass(frozen=True, slots=True)
class Timed(Form):
    """`[within p]`, `[holdsFor p]`: how long it takes from the first event to the last, at most or least."""

    part: Form
    period: Period
    kind: WindowKind = "within"

    def __post_init__(self) -> None:
        need(not self.period.is_zero, "a window needs a period")


@dataclass(frozen=True, slots=True)
class Occurrence(Form):
    """A form as the source of a statement: each chosen match of it is a row.

    `declared` are all events that may disturb one, whether they occur in the form or not.
    """

    form: Form
    declared: tuple[Taken, ...] = ()


def positive(form: Pattern) -> Iterator[Taken]:
    """The calls whose events a match consists of, not those that must be absent."""
    if isinstance(form, Taken):
        yield form
    elif not isinstance(form, Never):
        for part in children(form):
            yield from positive(part)


def match_parameters(form: Pattern) -> tuple[str, ...]:
    """The names that the events of a match bind."""
    return tuple(dict.fromkeys(n for taken in positive(form) for n, _ in taken.parameters))


def walk_calls(form: Pattern) -> Iterator[EventCall]:
    """All calls, from left to right."""
    if isinstance(form, EventCall):
        yield form
    else:
        for part in children(form):
            yield from walk_calls(part)


def walk_taken(form: Pattern) -> Iterator[Taken]:
    """All resolved calls, from left to right."""
    if isinstance(form, Taken):
        yield form
    else:
        for part in children(form):
            yield from walk_taken(part)


def common_parameters(form: Form) -> tuple[str, ...]:
    """What all events of every match have in common: each of them binds it, and all events of a type
    by the same attribute."""
    bound = [dict(taken.parameters) for taken in positive(form)]
    shared = (name for name in bound[0] if all(name in names for names in bound))
    return tuple(name for name in shared if HIDDEN not in name and _has_one_place(form, name))


def _has_one_place(form: Form, name: str) -> bool:
    places: dict[str, str] = {}
    for taken in walk_taken(form):
        for parameter, attribute in taken.parameters:
            if (
                parameter == name
                and places.setdefault(taken.atom.event_type, attribute) != attribute
            ):
                return False
    return True


def can_be_empty(form: Form) -> bool:
    """Whether no event at all satisfies it."""
    match form:
        case Times(part, low):
            return low == 0 or can_be_empty(part)
        case Follows(parts) | Both(parts):
            wanted = [part for part in parts if not isinstance(part, Never)]
            return bool(wanted) and all(map(can_be_empty, wanted))
        case Either(parts):
            return any(map(can_be_empty, parts))
        case Timed(part):
            return can_be_empty(part)
    return False
