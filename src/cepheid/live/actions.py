"""The bodies of rules against a metamodel: everything that is wrong with them, or what does them.

Names stand for objects or for values. A path leads from an object along features that have one value;
where one of them has none, the path leads to null. In expressions an object is its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from cepheid.core.event import Event, Value
from cepheid.core.types import ANY, STRING, Attribute, DataType, EventRef, EventType, wider
from cepheid.core.values import shown
from cepheid.errors import Diagnostic, InputError, Span, error, suggest
from cepheid.expr.evaluate import Frame, compile_condition, compile_expr
from cepheid.expr.printing import print_expr
from cepheid.expr.scope import Scope
from cepheid.expr.tree import Expr, Literal, Part, Ref, mapped
from cepheid.expr.typing import resolve, resolve_condition
from cepheid.live.metamodel import Feature, Kind
from cepheid.live.metamodel import Schema as Classes
from cepheid.live.model import Object, feature_of
from cepheid.live.transaction import Transaction
from cepheid.program.actions import (
    Action,
    CallFunction,
    Choice,
    CreateObject,
    DeleteObject,
    EmitEvent,
    FeatureValue,
    MoveObject,
    SetFeature,
)
from cepheid.program.tree import ANY_OBJECT


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """What is known of a name that stands for an object: its class, or only that it is one."""

    kind: Kind | None = None

    def __str__(self) -> str:
        return ANY_OBJECT if self.kind is None else self.kind.name


NameType: TypeAlias = "ObjectOf | DataType"
# The attributes of events, each with what it stands for.
Events: TypeAlias = Mapping[str, Sequence[tuple[str, NameType]]]
Bound: TypeAlias = "dict[str, Object | Value]"
Read: TypeAlias = "Callable[[Bound], Object | Value]"


@dataclass(frozen=True, slots=True)
class Emitted:
    """An event that a body tells, its values in the order of the attributes."""

    event_type: str
    values: tuple[Object | Value, ...]


@dataclass(frozen=True, slots=True)
class Called:
    """A function that a body calls."""

    function: str
    arguments: tuple[Object | Value, ...]
    span: Span | None = None


Effect: TypeAlias = Emitted | Called
# A step: changes the model, binds names, adds what is to happen after the transaction.
Step: TypeAlias = Callable[[Transaction, Bound, list[Effect]], None]


@dataclass(frozen=True, slots=True)
class Body:
    """A body that can be done."""

    steps: tuple[Step, ...]

    def do(self, change: Transaction, bound: Mapping[str, Object | Value]) -> list[Effect]:
        """Changes the model in an open transaction; gives what is to happen when it has ended."""
        effects: list[Effect] = []
        _do(self.steps, change, dict(bound), effects)
        return effects


def _do(steps: Sequence[Step], change: Transaction, bound: Bound, effects: list[Effect]) -> None:
    for step in steps:
        step(change, bound, effects)


def resolve_body(
    body: Sequence[Action],
    names: Mapping[str, NameType],
    classes: Classes,
    problems: list[Diagnostic],
    events: Events = MappingProxyType({}),
) -> Body:
    """What does a body whose names stand for such things; problems are appended."""
    return Body(_Resolver(classes, dict(names), problems, events).steps(body))


class _Resolver:
    def __init__(
        self,
        classes: Classes,
        names: dict[str, NameType],
        problems: list[Diagnostic],
        events: Events,
    ) -> None:
        self.events = events
        self.classes = classes
        self.names = names
        self.problems = problems

    def steps(self, body: Sequence[Action]) -> tuple[Step, ...]:
        return tuple(map(self.step, body))

    def step(self, action: Action) -> Step:
        match action:
            case SetFeature():
                return self.set(action)
            case CreateObject():
                return self.create(action)
            case DeleteObject(ref):
                found = self.object(ref)
                return lambda change, bound, _: change.delete(_some(found(bound), ref))
            case MoveObject():
                return self.move(action)
            case EmitEvent(name, arguments):
                told = [self.argument(name, n, expr) for n, expr in enumerate(arguments)]
                return lambda _, bound, effects: effects.append(
                    Emitted(name, tuple(read(bound) for read in told))
                )
            case CallFunction(name, arguments, span=span):
                given = [self.value(expr)[0] for expr in arguments]
                return lambda _, bound, effects: effects.append(
                    Called(name, tuple(read(bound) for read in given), span)
                )
            case Choice():
                return self.choice(action)
        raise TypeError(f"no way to do {type(action).__name__}")

    def argument(self, event: str, place: int, expr: Expr) -> Read:
        """What an event is told with, which its attribute must be able to hold."""
        read, type = self.value(expr)
        if place < len(self.events.get(event, ())):
            name, expected = self.events[event][place]
            if not self.can_be(type, expected):
                fact = f"'{name}' of {event} is {expected}, and this is {type}"
                self.report("type-mismatch", fact, expr.span)
        return read

    def can_be(self, type: NameType, expected: NameType) -> bool:
        if isinstance(type, ObjectOf) and isinstance(expected, ObjectOf):
            one, other = type.kind, expected.kind
            return not one or not other or not self.classes.are_disjoint(one.name, other.name)
        if isinstance(type, ObjectOf) or isinstance(expected, ObjectOf):
            return ANY in (type, expected)
        return wider(type, expected) is not None

    def set(self, action: SetFeature) -> Step:
        ref = action.target
        owner, feature = self.last_feature(ref)
        value = self.fitting(action.value, feature, f"'{print_expr(ref)}'")
        name = ref.parts[-1].name
        if feature is not None and (feature.is_many == (action.how == "=")):
            fact, hint = (
                (f"'{feature}' has many values", "write `+=` to add one, `-=` to remove it")
                if feature.is_many
                else (f"'{feature}' has one value", f"write `= {print_expr(ref)} + ...`")
            )
            self.report("type-mismatch", fact, ref.span, hint)
        if action.how == "=":
            return lambda change, bound, _: change.set(_some(owner(bound), ref), name, value(bound))
        if action.how == "+=":
            return lambda change, bound, _: change.add(_some(owner(bound), ref), name, value(bound))
        return lambda change, bound, _: change.remove(_some(owner(bound), ref), name, value(bound))

    def create(self, action: CreateObject) -> Step:
        kind = self.classes.kind(action.type)
        if kind is None:
            hint = self.classes.suggest(action.type)
            self.report("unknown-class", f"no class '{action.type}'", action.span, hint)
        elif kind.is_abstract:
            hint = suggest("", kind.subclasses, "its subclasses")
            fact = f"'{action.type}' is abstract and has no objects"
            self.report("bad-change", fact, action.span, hint)
        values = [(v.feature, self.initial(v, kind)) for v in action.values]
        place = action.container
        into = None if place is None else self.container(place, kind)
        if action.name is not None:
            self.names[action.name] = ObjectOf(kind)

        def do(change: Transaction, bound: Bound, _: list[Effect]) -> None:
            made = change.create(action.type)
            for feature, read in values:
                if feature_of(made, feature).is_many:
                    change.add(made, feature, read(bound))
                else:
                    change.set(made, feature, read(bound))
            if into is not None and place is not None:
                change.move(made, _some(into(bound), place), place.parts[-1].name)
            if action.name is not None:
                bound[action.name] = made

        return do

    def initial(self, value: FeatureValue, kind: Kind | None) -> Read:
        feature = None
        if kind is not None:
            feature = kind.features.get(value.feature)
            if feature is None:
                hint = suggest(value.feature, kind.features, "features")
                fact = f"no feature '{value.feature}' in {kind}"
                self.report("unknown-feature", fact, value.span, hint)
        return self.fitting(value.value, feature, f"'{value.feature}'")

    def move(self, action: MoveObject) -> Step:
        moved = self.object(action.object)
        type = self.type_of(action.object)
        into = self.container(action.container, type.kind if isinstance(type, ObjectOf) else None)
        name = action.container.parts[-1].name
        return lambda change, bound, _: change.move(
            _some(moved(bound), action.object), _some(into(bound), action.container), name
        )

    def container(self, ref: Ref, kind: Kind | None) -> Read:
        """The object that a path to a containment belongs to."""
        owner, feature = self.last_feature(ref)
        if feature is not None and not feature.is_containment:
            fact = f"'{feature}' contains nothing: it is no containment"
            self.report("bad-change", fact, ref.span)
        elif feature is not None and kind is not None:
            self.check_class(ObjectOf(kind), feature, f"'{print_expr(ref)}'", ref.span)
        return owner

    def choice(self, action: Choice) -> Step:
        condition = self.condition(action.condition)
        before = dict(self.names)
        then = self.steps(action.then)
        self.names = dict(before)
        otherwise = self.steps(action.otherwise)
        self.names = before

        def do(change: Transaction, bound: Bound, effects: list[Effect]) -> None:
            _do(then if condition(bound) else otherwise, change, dict(bound), effects)

        return do

    # Paths.

    def type_of(self, ref: Ref) -> NameType:
        """What a path leads to; ANY where that is not known."""
        type: NameType = self.names.get(ref.parts[0].name, ANY)
        for part in ref.parts[1:]:
            feature = self.feature(type, part.name, None)
            if feature is None:
                return ANY
            type = (
                ObjectOf(self.classes.kinds[feature.target])
                if not feature.is_attribute
                else feature.type or ANY
            )
        return type

    def feature(self, type: NameType, name: str, ref: Ref | None) -> Feature | None:
        """The feature of an object; with a place to point at, one that is missing is reported."""
        if not isinstance(type, ObjectOf):
            if ref is not None and type != ANY:
                fact = f"'{print_expr(ref)}': '{name}' is asked of {type}, which is no object"
                way = "events that VEPL declares have parameters with classes: (host: Host)"
                self.report("unknown-feature", fact, ref.span, way if type == STRING else None)
            return None
        if type.kind is None:
            return None
        found = type.kind.features.get(name)
        if found is None and ref is not None:
            hint = suggest(name, type.kind.features, "features")
            self.report("unknown-feature", f"no feature '{name}' in {type}", ref.span, hint)
        return found

    def last_feature(self, ref: Ref) -> tuple[Read, Feature | None]:
        """Who has the last feature of a path, and that feature, if it is known."""
        owner = replace(ref, parts=ref.parts[:-1])
        return self.object(owner), self.feature(self.type_of(owner), ref.parts[-1].name, ref)

    def object(self, ref: Ref) -> Read:
        read, type = self.path(ref)
        if not isinstance(type, ObjectOf) and type != ANY:
            fact = f"'{print_expr(ref)}' is {type}, not an object"
            self.report("type-mismatch", fact, ref.span)
        return read

    def path(self, ref: Ref) -> tuple[Read, NameType]:
        head, *rest = ref.parts
        if any(part.index is not None for part in ref.parts):
            self.report("type-mismatch", "names and features take no index", ref.span)
        for place, part in enumerate(rest, start=1):
            before = replace(ref, parts=ref.parts[:place])
            feature = self.feature(self.type_of(before), part.name, ref)
            if feature is not None and feature.is_many:
                fact = f"'{feature}' has many values, and a path leads to one"
                hint = "let a query find them: a rule is done for each match"
                self.report("type-mismatch", fact, ref.span, hint)
        names = [part.name for part in rest]

        def read(bound: Bound) -> Object | Value:
            found = bound[head.name]
            for name in names:
                if not isinstance(found, Object):
                    return None
                found = found[name]  # type: ignore[assignment]
            return found

        return read, self.type_of(ref)

    # Values.

    def value(self, expr: Expr) -> tuple[Read, NameType]:
        """What an expression stands for: where it is no more than a path, maybe an object."""
        if isinstance(expr, Ref):
            return self.path(expr)
        resolved, inputs = self.over_values(expr, is_condition=False)
        evaluate = compile_expr(resolved)
        return lambda bound: evaluate(_frame(inputs, bound)), resolved.type or ANY

    def condition(self, expr: Expr) -> Callable[[Bound], bool]:
        resolved, inputs = self.over_values(expr, is_condition=True)
        holds = compile_condition(resolved)
        return lambda bound: holds(_frame(inputs, bound))

    def over_values(self, expr: Expr, *, is_condition: bool) -> tuple[Expr, dict[str, Read]]:
        """An expression over names that stand for values, and how these are read."""
        inputs: dict[str, Read] = {}
        types: dict[str, DataType] = {}

        def named(part: Expr) -> Expr:
            if not isinstance(part, Ref):
                return mapped(part, named)
            name = print_expr(part)
            if name not in inputs:
                read, type = self.path(part)
                is_object = isinstance(type, ObjectOf)
                inputs[name] = _name_of(read) if is_object else read
                types[name] = STRING if isinstance(type, ObjectOf) else type
            return Ref((Part(name),), span=part.span)

        over_names = named(expr)
        known = EventType("the rule", tuple(Attribute(n, t) for n, t in types.items()))
        scope = Scope(
            types={known.name: known},
            tags={},
            current=EventRef(known.name),
            no_aggregates="in a rule",
        )
        way = resolve_condition if is_condition else resolve
        return way(over_names, scope, self.problems), inputs

    def fitting(self, expr: Expr, feature: Feature | None, what: str) -> Read:
        """A value that a feature can take."""
        read, type = self.value(expr)
        if feature is None or (isinstance(expr, Literal) and expr.value is None):
            return read
        if isinstance(type, ObjectOf):
            self.check_class(type, feature, what, expr.span)
        elif not feature.is_attribute and type != ANY:
            fact = f"{what} takes objects of {feature.target}, not {type}"
            self.report("type-mismatch", fact, expr.span)
        elif isinstance(expr, Literal) and feature.literals and expr.value not in feature.literals:
            hint = suggest(str(expr.value), feature.literals, "values")
            self.report("bad-value", f"{what} cannot be {shown(expr.value)}", expr.span, hint)
        elif feature.type is not None and wider(feature.type, type) is None:
            fact = f"{what} is {feature.type}, and this is {type}"
            self.report("type-mismatch", fact, expr.span)
        return read

    def check_class(self, type: ObjectOf, feature: Feature, what: str, span: Span | None) -> None:
        if feature.is_attribute:
            fact = f"{what} is {feature.type}, and this is an object of {type}"
            self.report("type-mismatch", fact, span)
        elif type.kind is not None and self.classes.are_disjoint(type.kind.name, feature.target):
            fact = f"{what} takes objects of {feature.target}, which no {type} is"
            self.report("type-mismatch", fact, span)

    def report(self, code: str, fact: str, span: Span | None, hint: str | None = None) -> None:
        self.problems.append(error(code, fact, span, hint))


def _frame(inputs: Mapping[str, Read], bound: Bound) -> Frame:
    values = {name: read(bound) for name, read in inputs.items()}
    return Frame(Event("", 0, values))  # type: ignore[arg-type]


def _name_of(read: Read) -> Read:
    def name(bound: Bound) -> Object | Value:
        found = read(bound)
        return found.name if isinstance(found, Object) else found

    return name


def _some(found: Object | Value, ref: Ref) -> Object:
    """The object that a step is about; InputError where a path leads to none."""
    if isinstance(found, Object):
        return found
    value = "null" if found is None else repr(found)
    fact = f"'{print_expr(ref)}' leads to no object: it is {value}"
    raise InputError(error("bad-change", fact, ref.span, "ask for it with `if ... is not null`"))
