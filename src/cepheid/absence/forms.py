"""VEPL's forms without some of their parts, and contexts that share events more freely.

What is said in `patterns` of events that are imagined holds here, too. A check is lifted for a type,
wherever it occurs; a parameter that stands for one value, by a name of its own for each event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from cepheid.absence.parts import Kind, Lifted, Part, Path, parts_of_condition
from cepheid.absence.patterns import ASKED, without
from cepheid.pattern import algebra
from cepheid.pattern.algebra import HIDDEN, Form, Never, Occurrence, Taken
from cepheid.pattern.policy import Policy
from cepheid.pattern.tree import Atom, children

IMAGINED = Taken(Atom(ASKED))
NOTHING_GONE: frozenset[str | None] = frozenset()


def parts_of_form(occurrence: Occurrence, policy: Policy) -> Iterator[Part]:
    checked: set[str] = set()
    for taken in algebra.positive(occurrence.form):
        name = taken.atom.event_type
        if name not in checked:
            checked.add(name)
            yield from parts_of_condition(taken.atom.condition, Kind.CONDITION, name=name)
    yield from _shared_names(occurrence.form)
    yield from _walk(occurrence.form, ())
    if policy.noise_counts:
        yield Part(Kind.NOISE, span=occurrence.span)
    if policy.takers == "only":
        yield Part(Kind.ONLY, span=occurrence.span)
    yield Part(Kind.TAKEN, span=occurrence.span)


def _shared_names(form: Form) -> Iterator[Part]:
    seen: set[str] = set()
    told: set[str] = set()
    for taken in algebra.positive(form):
        for name, _ in taken.parameters:
            if name in seen and name not in told:
                told.add(name)
                yield Part(Kind.SAME, name=name, span=taken.span)
            seen.add(name)


def _walk(form: Form, path: Path) -> Iterator[Part]:
    match form:
        case Taken():
            yield Part(Kind.MISSING, path, span=form.span, node=form)
        case Never():
            yield Part(Kind.NOT, path, span=form.span, node=form)
            return
        case algebra.Timed():
            yield Part(Kind.TIMER, path, span=form.span, node=form)
    for place, child in enumerate(children(form)):
        if isinstance(child, Form):
            yield from _walk(child, (*path, place))


def lift_form(occurrence: Occurrence, lifted: Lifted) -> Occurrence:
    """What is left of an occurrence."""
    named = {part.name for part in lifted if part.kind is Kind.SAME}
    left = _Lifting(lifted).of(_renamed(occurrence.form, named), (), is_last=True) or IMAGINED
    declared = tuple(_checked(taken, lifted) for taken in occurrence.declared)
    return replace(occurrence, form=left, declared=(*declared, IMAGINED))


def lift_policy(policy: Policy, lifted: Lifted) -> Policy:
    if Part(Kind.NOISE) in lifted:
        policy = replace(policy, noise="ignored")
    return replace(policy, takers="oldest") if Part(Kind.ONLY) in lifted else policy


def key_of(form: Form) -> tuple[str, ...]:
    """By which parameters partial matches are kept apart: what is imagined may have them all."""
    names = tuple((name, name) for name in algebra.match_parameters(form))
    whole = replace(IMAGINED, parameters=names)
    return algebra.common_parameters(
        with_calls(form, lambda taken: whole if taken == IMAGINED else taken)
    )


def with_calls(form: Form, change: Callable[[Taken], Taken]) -> Form:
    """The form with its calls changed, wherever they stand."""
    match form:
        case Taken():
            return change(form)
        case algebra.Follows(parts) | algebra.Either(parts) | algebra.Both(parts):
            return replace(form, parts=tuple(with_calls(part, change) for part in parts))
        case Never(part) | algebra.Times(part) | algebra.Timed(part):
            return replace(form, part=with_calls(part, change))
    raise TypeError(f"no rule how to change calls of {type(form).__name__}")


def _checked(taken: Taken, lifted: Lifted) -> Taken:
    name = taken.atom.event_type
    conditions = frozenset(
        replace(part, name="")
        for part in lifted
        if part.kind is Kind.CONDITION and part.name == name
    )
    left = without(taken.atom.condition, Kind.CONDITION, (), conditions, NOTHING_GONE)
    return replace(taken, atom=replace(taken.atom, condition=left))


def _renamed(form: Form, names: set[str]) -> Form:
    """Each event but the first calls these parameters by names of its own."""
    seen: set[str] = set()
    number = 0

    def of(form: Form) -> Form:
        nonlocal number
        match form:
            case Taken(_, parameters):
                number += 1
                given = tuple(
                    (f"{name}{HIDDEN}s{number}" if name in names & seen else name, attribute)
                    for name, attribute in parameters
                )
                seen.update(name for name, _ in parameters)
                return replace(form, parameters=given)
            case Never():
                return form
            case algebra.Follows(parts) | algebra.Either(parts) | algebra.Both(parts):
                return replace(form, parts=tuple(map(of, parts)))
            case algebra.Times(part) | algebra.Timed(part):
                return replace(form, part=of(part))
        raise TypeError(f"no rule how to rename parameters of {type(form).__name__}")

    return of(form) if names else form


def _one_imagined(forms: Iterable[Form]) -> Iterator[Form]:
    """What is asked for comes once, whatever it stands for."""
    is_told = False
    for form in forms:
        if form != IMAGINED or not is_told:
            yield form
        is_told = is_told or form == IMAGINED


def _count(form: Form) -> int:
    return sum(1 for _ in algebra.positive(form))


@dataclass(frozen=True, slots=True)
class _Lifting:
    """`of` gives what is left of a form; None where nothing is left to wait for."""

    lifted: Lifted

    def has(self, kind: Kind, path: Path) -> bool:
        return Part(kind, path) in self.lifted

    def of(self, form: Form, path: Path, is_last: bool) -> Form | None:
        match form:
            case Taken():
                if self.has(Kind.MISSING, path):
                    return IMAGINED if is_last else None
                return _checked(form, self.lifted)
            case Never():
                return (
                    None
                    if self.has(Kind.NOT, path)
                    else with_calls(form, lambda taken: _checked(taken, self.lifted))
                )
            case algebra.Follows():
                return self._sequence(form, path, is_last)
            case algebra.Both(parts):
                left = [self.of(part, (*path, place), is_last) for place, part in enumerate(parts)]
                sides = tuple(_one_imagined(side for side in left if side is not None))
                if all(isinstance(side, Never) for side in sides):
                    return None
                return algebra.Both(sides, span=form.span) if len(sides) > 1 else sides[0]
            case algebra.Either(parts):
                choices = [self.of(part, (*path, n), is_last) for n, part in enumerate(parts)]
                kept = tuple(choice for choice in choices if choice is not None)
                return None if len(kept) < len(choices) else replace(form, parts=kept)
            case algebra.Times(part):
                inner = self.of(part, (*path, 0), is_last=False)
                if inner is None:
                    return IMAGINED if is_last else None
                return replace(form, part=inner)
            case algebra.Timed(part):
                inner = self.of(part, (*path, 0), is_last)
                if inner is None or self.has(Kind.TIMER, path):
                    return inner
                # What is imagined may have come as early as need be.
                is_early = form.kind == "holdsFor" and _count(inner) < _count(part)
                return inner if is_early else replace(form, part=inner)
        raise TypeError(f"no rule how to lift parts of {type(form).__name__}")

    def _sequence(self, form: algebra.Follows, path: Path, is_last: bool) -> Form | None:
        """What must be absent before an event that comes as soon as it is awaited was so, and what must
        be before the first event that is left has no beginning any more."""
        left: list[Form] = []
        at_once = False
        for place, part in reversed(list(_flat(form, path))):
            ends = is_last and all(isinstance(after, Never) for after in left)
            if isinstance(part, Never):
                found = None if at_once else self.of(part, place, ends)
            else:
                found = self.of(part, place, ends)
                at_once = found is None
            if found is not None:
                left.insert(0, found)
        while left and isinstance(left[0], Never):
            left.pop(0)
        return algebra.Follows(tuple(left)) if len(left) > 1 else next(iter(left), None)


def _flat(form: Form, path: Path) -> Iterator[tuple[Path, Form]]:
    """Sequences in a sequence are one."""
    if isinstance(form, algebra.Follows):
        for place, part in enumerate(form.parts):
            yield from _flat(part, (*path, place))
    else:
        yield path, form
