"""How long a sliding window keeps the events of subscribed classes, as section 4.5 derives it.

    freezing(C)  = the longest freezing time of the classes behind C
    spread(C)    = 2 * the largest spread of its constituents + observation span + offset
    incept(C)    = spread(C) + 2 * freezing(C)
    lifespan(E)  = the largest freezing(C) of E itself and all C that it is behind
                   + the largest incept(C) of these C, or nothing
where the offset of a class is how far `OCCURRING AT` shifts its occurrence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepheid.core.time import Period
from cepheid.program.classes import ComplexClass, SubscribedClass
from cepheid.program.resolved import ResolvedClass


@dataclass(frozen=True, slots=True)
class ClassSpans:
    """What section 4.5 says of a class, in microseconds; of subscribed ones spread is nothing."""

    name: str
    freezing: int
    spread: int
    offset: int
    incept_spread: int
    lifespan: int | None  # of subscribed classes


@dataclass(frozen=True, slots=True)
class Kept:
    """For how long a window keeps the events of a class after their occurrence, in microseconds.

    The events behind one of them may lie as far apart as its spread. `unmoved`: none of them was moved
    since it was first told. `surely`: also if each was moved later as far as its freezing time allows.
    """

    unmoved: int
    surely: int


def kept_after(classes: Sequence[ResolvedClass]) -> dict[str, Kept]:
    """How long windows keep the events of all classes, which come after those that they are made of."""
    spans = spans_of(classes)
    roots: dict[str, set[str]] = {}  # the subscribed classes behind each class
    moves: dict[str, int] = {}
    for each in classes:
        roots[each.name] = {root for near in each.reads for root in roots[near]} or {each.name}
        if isinstance(each.declared, SubscribedClass):
            moves[each.name] = spans[each.name].freezing if each.declared.is_mutable else 0
    found = {}
    for name, behind in roots.items():
        lives = [(spans[root].lifespan or 0, moves[root]) for root in behind]
        unmoved = min(life for life, _ in lives) - spans[name].spread
        surely = min(life - move for life, move in lives) - spans[name].spread
        found[name] = Kept(max(unmoved, 0), max(surely, 0))
    return found


def spans_of(classes: Sequence[ResolvedClass]) -> dict[str, ClassSpans]:
    """The spans of all classes, which come after those that they are made of."""
    from cepheid.sql.shifts import shift_of

    subscribed = {c.declared.name for c in classes if isinstance(c.declared, SubscribedClass)}
    freezing: dict[str, int] = {}
    spread: dict[str, int] = {}
    incept: dict[str, int] = {}
    behind: dict[str, set[str]] = {}  # the classes behind each class, near and far
    offsets: dict[str, int] = {}
    for each in classes:
        name = each.declared.name
        behind[name] = {far for near in each.reads for far in (near, *behind[near])}
        match each.declared:
            case SubscribedClass(freezing=period):
                freezing[name], spread[name], offsets[name] = period.microseconds, 0, 0
                incept[name] = 0
            case ComplexClass(observation=period, occurring=occurring):
                freezing[name] = max((freezing[far] for far in behind[name]), default=0)
                inner = max((spread[near] for near in each.reads), default=0)
                offsets[name] = shift_of(occurring)
                spread[name] = 2 * inner + period.microseconds + offsets[name]
                incept[name] = spread[name] + 2 * freezing[name]
    return {
        name: ClassSpans(
            name,
            freezing[name],
            spread[name],
            offsets[name],
            incept[name],
            _lifespan(name, behind, freezing, incept) if name in subscribed else None,
        )
        for name in freezing
    }


def lifespans(classes: Sequence[ResolvedClass]) -> dict[str, int]:
    """The life spans of the subscribed classes."""
    found = spans_of(classes).values()
    return {spans.name: spans.lifespan for spans in found if spans.lifespan is not None}


def _lifespan(
    name: str,
    behind: Mapping[str, set[str]],
    freezing: Mapping[str, int],
    incept: Mapping[str, int],
) -> int:
    above = [other for other, far in behind.items() if name in far]
    longest = max(freezing[other] for other in (name, *above))
    return longest + max((incept[other] for other in above), default=0)


# How they come about


@dataclass(frozen=True, slots=True)
class Derivation:
    """One time of a class in microseconds, and what it was worked out from."""

    name: str  # of the class
    what: str
    time: int
    because: str


def derivations(classes: Sequence[ResolvedClass]) -> Iterator[Derivation]:
    """All times of section 4.5, class after class."""
    spans, kept = spans_of(classes), kept_after(classes)
    behind: dict[str, dict[str, None]] = {}
    for each in classes:
        far = (name for near in each.reads for name in (near, *behind[near]))
        behind[each.name] = dict.fromkeys(far)
    for each in classes:
        own = spans[each.name]
        if isinstance(each.declared, ComplexClass):
            yield from _of_complex(each, each.declared, spans, behind[each.name])
        else:
            yield Derivation(each.name, "freezing time", own.freezing, "declared")
            above = [other for other, far in behind.items() if each.name in far]
            yield _of_life(each.name, spans, above)
        least = kept[each.name]
        because = f"{_shown(least.unmoved)} if nothing behind it has moved"
        yield Derivation(each.name, "kept after its time", least.surely, because)


def _of_complex(
    each: ResolvedClass,
    declared: ComplexClass,
    spans: Mapping[str, ClassSpans],
    behind: Mapping[str, None],
) -> Iterator[Derivation]:
    own = spans[each.name]
    longest = max(behind, key=lambda name: spans[name].freezing)
    widest = max(each.reads, key=lambda name: spans[name].spread)
    yield Derivation(each.name, "freezing time", own.freezing, f"that of {longest}, the longest")
    yield Derivation(each.name, "offset", own.offset, f"occurring at {declared.occurring.text}")
    spread = (
        f"2 x {_shown(spans[widest].spread)} (spread of {widest})"
        f" + {_shown(declared.observation.microseconds)} (observation span)"
        f" + {_shown(own.offset)} (offset)"
    )
    yield Derivation(each.name, "spread", own.spread, spread)
    incept = f"{_shown(own.spread)} (spread) + 2 x {_shown(own.freezing)} (freezing time)"
    yield Derivation(each.name, "incept spread", own.incept_spread, incept)


def _of_life(name: str, spans: Mapping[str, ClassSpans], above: Sequence[str]) -> Derivation:
    longest = max((name, *above), key=lambda other: spans[other].freezing)
    because = f"{_shown(spans[longest].freezing)} (freezing time of {longest})"
    if above:
        widest = max(above, key=lambda other: spans[other].incept_spread)
        because += f" + {_shown(spans[widest].incept_spread)} (incept spread of {widest})"
    return Derivation(name, "life span", spans[name].lifespan or 0, because)


def _shown(microseconds: int) -> str:
    return str(Period(microseconds)) if microseconds else "0"
