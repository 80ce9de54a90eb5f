"""Forms of the event algebra, resolved: references inlined, parameters found in attributes, checked.

A call of a complex event stands for all its events, with its parameters named as the call says; those
that the call does not name are the referenced event's own, and so is its context, which counts for
its own rows only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from cepheid.core.types import DataType, EventRef, EventType, wider
from cepheid.errors import Diagnostic, Span, error, suggest, warning
from cepheid.expr.tree import Expr, Part, Ref
from cepheid.expr.typing import Scope, resolve_condition
from cepheid.pattern import algebra
from cepheid.pattern.algebra import Form
from cepheid.pattern.policy import Policy
from cepheid.pattern.tree import Atom, walk
from cepheid.program.tree import Annotation, PatternSource, Schema, SelectExpr, Statement


@dataclass(frozen=True, slots=True)
class ResolvedOccurrence:
    pattern: algebra.Occurrence
    parameters: Mapping[str, DataType]


@dataclass(frozen=True, slots=True)
class Names:
    """What the parameters of a form are called where it stands; others get names of their own."""

    given: Mapping[str, str] | None = None  # None: they keep their names
    mark: str = ""

    def of(self, name: str) -> str:
        return name if self.given is None else self.given.get(name, f"{name}{self.mark}")


@dataclass(frozen=True, slots=True)
class OccurrenceResolver:
    """Resolves the forms of one program."""

    types: Mapping[str, EventType]
    forms: Mapping[str, Form]  # of the complex events, by the types that they derive
    checks: Mapping[str, Expr]  # of the types that have one
    disturbing: Sequence[str]  # types whose events are noise to those that they do not concern
    problems: list[Diagnostic]
    inlined: list[str] = field(default_factory=list)

    def resolve(self, source: PatternSource, target: str) -> ResolvedOccurrence:
        assert isinstance(source.pattern, algebra.Occurrence)
        form = self._form(source.pattern.form, Names(), (target,))
        self.problems.extend(_misplaced(form))
        noisy = self.disturbing if source.policy.noise_counts else ()
        own = {taken.atom.event_type: taken for taken in reversed([*algebra.walk_taken(form)])}
        own |= {taken.atom.event_type: taken for taken in reversed([*algebra.positive(form)])}
        called = _attributes_of(form)
        names = dict.fromkeys((*own, *noisy))
        declared = tuple(self._declared(name, called, own.get(name)) for name in names)
        occurrence = algebra.Occurrence(form, declared, span=source.pattern.span)
        self.problems.extend(self._unbound(form, target, source.span))
        return ResolvedOccurrence(occurrence, self._parameters(form))

    def _unbound(self, form: Form, target: str, span: Span | None) -> Iterator[Diagnostic]:
        """Parameters of a complex event that no event of a match binds."""
        bound = {n for taken in algebra.positive(form) for n, _ in taken.parameters}
        for attribute in self.types[target].attributes if target in self.types else ():
            if attribute.name not in bound:
                fact = f"no event of {target} binds '{attribute.name}': it is always null"
                hint = suggest(attribute.name, bound, "bound parameters")
                yield warning("unbound-tag", fact, span, hint)

    def _form(self, form: Form, names: Names, path: tuple[str, ...]) -> Form:
        match form:
            case algebra.EventCall(atom):
                inner = self.forms.get(atom.event_type)
                return (
                    self._event(form, names) if inner is None else self._inline(form, names, path)
                )
            case algebra.Follows(parts) | algebra.Either(parts) | algebra.Both(parts):
                return replace(form, parts=tuple(self._form(p, names, path) for p in parts))
            case algebra.Times(part):
                begun = len(self.inlined)
                inner = self._form(part, names, path)
                return replace(form, part=inner, own=_own_names(inner, begun))
            case algebra.Never(part) | algebra.Timed(part):
                return replace(form, part=self._form(part, names, path))
        raise TypeError(f"no rule how to resolve {type(form).__name__}")

    def _event(self, call: algebra.EventCall, names: Names) -> algebra.Taken:
        name = call.atom.event_type
        attributes = [a.name for a in self.types[name].attributes]
        self._check_count(call, attributes)
        parameters = tuple(
            (names.of(argument), attribute)
            for argument, attribute in zip(call.arguments or (), attributes, strict=False)
            if argument is not None
        )
        return algebra.Taken(self._atom(name, call.span), parameters, span=call.span)

    def _inline(self, call: algebra.EventCall, names: Names, path: tuple[str, ...]) -> Form:
        name = call.atom.event_type
        if name in path:
            fact = " stands in ".join((*path[path.index(name) :], name))
            hint = "a complex event cannot be a part of itself"
            self.problems.append(error("cycle", fact, call.span, hint))
            return self._event(call, names)
        formal = [a.name for a in self.types[name].attributes]
        self._check_count(call, formal)
        given = {
            parameter: names.of(argument)
            for parameter, argument in zip(formal, call.arguments or (), strict=False)
            if argument is not None
        }
        self.inlined.append(name)
        inner = self._form(
            self.forms[name], Names(given, f"{algebra.HIDDEN}{len(self.inlined)}"), (*path, name)
        )
        return replace(inner, span=call.span)

    def _check_count(self, call: algebra.EventCall, formal: Sequence[str]) -> None:
        name = call.atom.event_type
        if self.types[name].is_open:
            return  # it is not declared, and that has been said
        if call.arguments is not None and len(call.arguments) != len(formal):
            fact = f"{name} has {counted_parameters(len(formal))}, not {len(call.arguments)}"
            hint = f"write {name}({', '.join(formal)}), with `_` for any value, or no list at all"
            self.problems.append(error("wrong-arguments", fact, call.span, hint))

    def _atom(self, name: str, span: Span | None) -> Atom:
        check = self.checks.get(name)
        if check is None:
            return Atom(name, span=span)
        scope = Scope(types=self.types, tags={}, current=EventRef(name), no_aggregates="in a check")
        return Atom(name, condition=resolve_condition(check, scope, []), span=span)

    def _declared(
        self, name: str, called: Mapping[str, set[str]], call: algebra.Taken | None
    ) -> algebra.Taken:
        """An event, and the parameters that it has. Where a call does not name one, it has it if it has
        an attribute of that name, or of the one by which all events of the form have it."""
        own = {attribute.name for attribute in self.types[name].attributes}
        found = {p: own & attributes or own & {p} for p, attributes in called.items()}
        parameters = {p: places.pop() for p, places in found.items() if len(places) == 1}
        parameters |= dict(call.parameters) if call is not None else {}
        return algebra.Taken(self._atom(name, None), tuple(parameters.items()))

    def _parameters(self, form: Form) -> dict[str, DataType]:
        """The types of the parameters that have the names of this form."""
        found: dict[str, DataType] = {}
        for taken in algebra.walk_taken(form):
            for name, attribute in taken.parameters:
                type = self.types[taken.atom.event_type].find(attribute)
                assert type is not None
                both = wider(found.get(name, type), type, self.types)
                if both is None:
                    fact = (
                        f"'{name}' is {found[name]} before, and {type} in {taken.atom.event_type}"
                    )
                    hint = "a name stands for one value: give the other one another name, or `_`"
                    self.problems.append(error("type-mismatch", fact, taken.span, hint))
                found[name] = both or type
        return {name: type for name, type in found.items() if algebra.HIDDEN not in name}


def _own_names(form: Form, begun: int) -> tuple[str, ...]:
    """The names of complex events that were inlined after so many others."""
    names = dict.fromkeys(n for taken in algebra.walk_taken(form) for n, _ in taken.parameters)
    marks = {name: name.partition(algebra.HIDDEN)[2] for name in names}
    return tuple(name for name, mark in marks.items() if mark and int(mark) > begun)


def _attributes_of(form: Form) -> dict[str, set[str]]:
    """The attributes that parameters are found in."""
    found: dict[str, set[str]] = {}
    for taken in algebra.walk_taken(form):
        for name, attribute in taken.parameters:
            found.setdefault(name, set()).add(attribute)
    return found


def counted_parameters(count: int) -> str:
    return "no parameters" if not count else f"{count} parameter{'s' * (count > 1)}"


def deriving(
    schema: Schema,
    form: Form,
    policy: Policy,
    annotations: tuple[Annotation, ...] = (),
    place: Span | None = None,
) -> Statement:
    """The statement of a complex event, which derives events of its schema; `place` is the form's."""
    return Statement(
        select=tuple(_selected(schema, form)),
        source=PatternSource(algebra.Occurrence(form, span=place), policy, span=place),
        insert_into=schema.name,
        annotations=(*annotations, Annotation("Name", ((None, schema.name),))),
        span=schema.span,
    )


def _selected(schema: Schema, form: Form) -> Iterator[SelectExpr]:
    """The parameters that calls name; others are null."""
    bound = {name for call in algebra.walk_calls(form) for name in call.arguments or () if name}
    for attribute, place in zip_longest(schema.attributes, schema.places):
        if attribute.name in bound:
            yield SelectExpr(Ref((Part(attribute.name),), span=place), span=place)


def occurrence_forms(named: Sequence[tuple[str, Statement]]) -> dict[str, Form]:
    """The forms of complex events, by the types that they derive."""
    return {
        statement.insert_into or name: statement.source.pattern.form
        for name, statement in named
        if isinstance(statement.source, PatternSource)
        and isinstance(statement.source.pattern, algebra.Occurrence)
    }


def checked_types(
    schemas: Sequence[Schema], types: Mapping[str, EventType], problems: list[Diagnostic]
) -> dict[str, Expr]:
    """The checks of event types; what is wrong with one is said once, where it stands."""
    found = {schema.name: schema.check for schema in schemas if schema.check is not None}
    for name, check in found.items():
        scope = Scope(types=types, tags={}, current=EventRef(name), no_aggregates="in a check")
        resolve_condition(check, scope, problems)
    return found


# What makes no sense -------------------------------------------------------------------------


def _misplaced(form: Form) -> Iterator[Diagnostic]:
    if algebra.can_be_empty(form):
        fact = "this could match nothing at all"
        hint = "`{+}` asks for one event at least; `{*}` needs something that follows"
        yield error("impossible-repeat", fact, form.span, hint)
    yield from _misplaced_in(form, closed=False)


def _misplaced_in(form: Form, *, closed: bool) -> Iterator[Diagnostic]:
    """`closed`: a window ends where the form ends, so that absence there can be decided."""
    match form:
        case algebra.Follows():
            yield from _in_sequence(list(_flat(form)), closed=closed)
        case algebra.Both(parts):
            yield from _in_both(parts, form.span, closed=closed)
        case algebra.Either(parts):
            for part in parts:
                yield from _misplaced_in(part, closed=closed)
        case algebra.Times(part):
            yield from _misplaced_in(part, closed=False)
        case algebra.Timed(part, _, kind):
            yield from _misplaced_in(part, closed=kind == "within")
        case algebra.Never():
            fact = "NOT stands alone: there is no span in which something could be absent"
            hint = "`a -> NOT b -> c`, or with a window `(a -> NOT b)[within 2 seconds]`"
            yield error("misplaced-not", fact, form.span, hint)


def _in_sequence(parts: Sequence[Form], *, closed: bool) -> Iterator[Diagnostic]:
    if isinstance(parts[0], algebra.Never):
        fact = "nothing comes before NOT, so its span has no beginning"
        yield error("misplaced-not", fact, parts[0].span, "`a -> NOT b -> c`")
    elif isinstance(parts[-1], algebra.Never) and not closed:
        fact = "nothing comes after NOT, and no window `within` ends here, so its span has no end"
        hint = "`(a -> NOT b)[within 2 seconds]`, or `a -> NOT b -> c`"
        yield error("misplaced-not", fact, parts[-1].span, hint)
    for part in parts:
        yield from (
            _absent(part) if isinstance(part, algebra.Never) else _misplaced_in(part, closed=False)
        )


def _in_both(parts: Sequence[Form], span: Span | None, *, closed: bool) -> Iterator[Diagnostic]:
    absent = [part for part in parts if isinstance(part, algebra.Never)]
    if absent and not closed:
        fact = "`AND NOT` means absence in a window `within`, which must stand on this AND"
        hint = "`(a AND NOT b)[within 2 seconds]`"
        yield error("misplaced-not", fact, absent[0].span, hint)
    if len(absent) == len(parts):
        fact = "every part of this AND must be absent: there is no event to begin with"
        yield error("misplaced-not", fact, span)
    for part in parts:
        yield from (
            _absent(part) if isinstance(part, algebra.Never) else _misplaced_in(part, closed=closed)
        )


def _absent(form: algebra.Never) -> Iterator[Diagnostic]:
    if isinstance(form.part, algebra.Never):
        yield error("misplaced-not", "NOT of NOT", form.span, "leave both out")
    elif any(isinstance(n, algebra.Timed) and _ends_absent(n.part) for n in walk(form.part)):
        fact = "what ends with an absence is complete when time has passed, and cannot be forbidden"
        yield error("misplaced-not", fact, form.span, "leave out the inner NOT, or the outer one")
    elif algebra.can_be_empty(form.part):
        fact = "what could match nothing at all is never absent"
        yield error("impossible-repeat", fact, form.span)
    else:
        yield from _misplaced_in(form.part, closed=False)


def _ends_absent(form: Form) -> bool:
    """Whether the end of a window completes it."""
    match form:
        case algebra.Follows():
            return _ends_absent([*_flat(form)][-1])
        case algebra.Both(parts) | algebra.Either(parts):
            return any(map(_ends_absent, parts))
    return isinstance(form, algebra.Never)


def _flat(form: Form) -> Iterator[Form]:
    if isinstance(form, algebra.Follows):
        for part in form.parts:
            yield from _flat(part)
    else:
        yield form
