"""Random metamodels, models that change, and queries over them that make sense."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from cepheid.core.types import BOOLEAN, DOUBLE, INT, NULL, STRING, DataType
from cepheid.errors import InputError
from cepheid.expr.tree import Binary, Call, Expr, Literal, Part, Ref
from cepheid.live.metamodel import Attribute, Class, Feature, Metamodel, Reference
from cepheid.live.model import Model, Object
from cepheid.live.transaction import Transaction
from cepheid.query.tree import (
    Body,
    Check,
    Constraint,
    Count,
    Edge,
    Equality,
    Eval,
    Find,
    IsA,
    Negation,
    Parameter,
    Query,
    QueryTree,
    Term,
    Variable,
)

VALUES: dict[DataType, tuple[object, ...]] = {
    INT: (0, 1, 2, 3),
    STRING: ("a", "b"),
    DOUBLE: (0.0, 0.5, 1.0, float("nan")),
    BOOLEAN: (True, False),
}


# Metamodels.


def metamodel(rng: Random, with_defaults: bool = True) -> Metamodel:
    """Files cannot say that an attribute with a default has no value."""
    count = rng.randint(2, 4)
    names = [f"C{n}" for n in range(count)]
    features: dict[str, list[Attribute | Reference]] = {name: [] for name in names}
    for number, name in enumerate(names):
        for k in range(rng.randint(1, 2)):
            features[name].append(_attribute(rng, f"a{number}{k}", with_defaults))
        for k in range(rng.randint(1, 2)):
            _add_reference(rng, f"r{number}{k}", name, rng.choice(names), features)
    classes = []
    for number, name in enumerate(names):
        supertypes = tuple(n for n in names[:number] if rng.random() < 0.4)
        is_abstract = number < count - 1 and rng.random() < 0.2
        classes.append(Class(name, tuple(features[name]), supertypes, is_abstract))
    return Metamodel("world", tuple(classes))


def _attribute(rng: Random, name: str, with_defaults: bool) -> Attribute:
    type = rng.choice(list(VALUES))
    if rng.random() < 0.2:
        return Attribute(name, type, upper=None)
    has_default = rng.random() < 0.3 and with_defaults
    default = rng.choice(VALUES[type]) if has_default else None
    return Attribute(name, type, default=default)  # type: ignore[arg-type]


def _add_reference(
    rng: Random,
    name: str,
    owner: str,
    target: str,
    features: dict[str, list[Attribute | Reference]],
) -> None:
    containment = rng.random() < 0.4
    upper = rng.choice((1, None, None))
    if rng.random() < 0.5:
        features[owner].append(Reference(name, target, containment, upper=upper))
        return
    back = "b" + name[1:]
    features[owner].append(Reference(name, target, containment, upper=upper, opposite=back))
    way = 1 if containment else rng.choice((1, None))
    features[target].append(Reference(back, owner, upper=way, opposite=name))


# Changes.


def change_model(rng: Random, model: Model, steps: int) -> None:
    """A transaction; one that does not fit leaves the model as it was."""
    try:
        with model.transaction() as change:
            for _ in range(steps):
                one_change(rng, model, change)
            if rng.random() < 0.1:
                raise InputError
    except InputError:
        pass


def one_change(rng: Random, model: Model, change: Transaction) -> None:
    objects = list(model.objects())
    if not objects or rng.random() < 0.2:
        change.create(rng.choice(list(model.extents)))
        return
    one = rng.choice(objects)
    if rng.random() < 0.08:
        change.delete(one)
        return
    feature = rng.choice(list(one.kind.features.values()))
    value = _value(rng, feature, model)
    if feature.is_many:
        held = one[feature.name]
        assert isinstance(held, tuple)
        if held and rng.random() < 0.4:
            change.remove(one, feature.name, rng.choice(held))
        elif value is not None:
            change.add(one, feature.name, value)
    else:
        change.set(one, feature.name, value)


def _value(rng: Random, feature: Feature, model: Model) -> object:
    if rng.random() < 0.1:
        return None
    if feature.type is not None:
        return rng.choice(VALUES[feature.type])
    targets: list[Object] = list(model.objects(feature.target))
    return rng.choice(targets) if targets else None


# Queries.


def query_tree(rng: Random, metamodel: Metamodel) -> QueryTree:
    queries: list[Query] = []
    for number in range(rng.randint(1, 4)):
        queries.append(_Writer(rng, metamodel, queries).query(f"q{number}"))
    return QueryTree(tuple(queries))


@dataclass
class _Writer:
    """Writes a query step by step, from variables that are bound to others."""

    rng: Random
    metamodel: Metamodel
    queries: list[Query]
    objects: dict[str, str] = field(default_factory=dict)  # variables and their classes
    values: dict[str, DataType] = field(default_factory=dict)

    def query(self, name: str) -> Query:
        rng, kinds = self.rng, list(self.metamodel.schema.kinds)
        classes = [rng.choice(kinds) for _ in range(rng.choice((1, 2, 2, 3)))]
        if len(classes) == 2 and rng.random() < 0.6:
            classes[1] = classes[0]
        parameters = [Parameter(f"p{n}", c) for n, c in enumerate(classes)]
        value = self.attribute_of(classes[0]) if rng.random() < 0.4 else None
        if value is not None:
            parameters.append(Parameter("v"))
        bodies = []
        for _ in range(rng.choice((1, 1, 2))):
            self.objects = {f"p{n}": c for n, c in enumerate(classes)}
            self.values = {}
            constraints: list[Constraint] = []
            if value is not None:
                constraints.append(self.edge("p0", value, Variable("v")))
            for _ in range(rng.randint(1, 4)):
                constraints += self.constraint()
            rng.shuffle(constraints)
            bodies.append(Body(tuple(constraints)))
        return Query(name, tuple(parameters), tuple(bodies), is_private=rng.random() < 0.2)

    def attribute_of(self, kind: str) -> Feature | None:
        features = self.metamodel.schema.kinds[kind].features.values()
        found = [f for f in features if f.is_attribute]
        return self.rng.choice(found) if found else None

    def new(self) -> str:
        return f"x{len(self.objects) + len(self.values)}"

    def constraint(self) -> list[Constraint]:
        kinds = (
            *(self.any_edge,) * 6,
            *(self.find,) * 3,
            *(
                self.is_a,
                self.compare,
                self.check,
                self.check,
                self.eval,
                self.negation,
                self.count,
            ),
        )
        return self.rng.choice(kinds)()

    def object(self, kind: str | None = None) -> str:
        fitting = [n for n, c in self.objects.items() if kind is None or self.fits(c, kind)]
        return self.rng.choice(fitting) if fitting else ""

    def fits(self, one: str, other: str) -> bool:
        return not self.metamodel.schema.are_disjoint(one, other)

    def bind(self, kind: str) -> Variable:
        """A variable of a class: one that there is, or a new one."""
        name = self.object(kind) if self.rng.random() < 0.5 else ""
        name = name or self.new()
        self.objects.setdefault(name, kind)
        return Variable(name)

    def edge(self, source: str, feature: Feature, target: Term) -> Edge:
        kind = feature.owner
        named = self.objects[source]
        if kind in self.metamodel.schema.kinds[named].ancestors and self.rng.random() < 0.5:
            kind = named
        return Edge(kind, (feature.name,), Variable(source), target)

    def any_edge(self) -> list[Constraint]:
        source = self.object()
        features = self.metamodel.schema.kinds[self.objects[source]].features
        if not features:
            return self.is_a()
        feature = self.rng.choice(list(features.values()))
        if feature.type is None:
            if self.rng.random() < 0.3:
                return self.path(source, feature)
            return [self.edge(source, feature, self.bind(feature.target))]
        if self.rng.random() < 0.3:
            literal = _literal(self.rng, feature.type)
            return [self.edge(source, feature, literal)]
        alike = [n for n, t in self.values.items() if t == feature.type]
        name = self.rng.choice(alike) if alike and self.rng.random() < 0.4 else self.new()
        self.values[name] = feature.type
        return [self.edge(source, feature, Variable(name))]

    def path(self, source: str, first: Feature) -> list[Constraint]:
        """Along two features."""
        features = self.metamodel.schema.kinds[first.target].features
        second = self.rng.choice(list(features.values()))
        if second.type is None:
            target = self.bind(second.target)
        else:
            target = Variable(self.new())
            self.values[target.name] = second.type
        return [Edge(first.owner, (first.name, second.name), Variable(source), target)]

    def is_a(self) -> list[Constraint]:
        name = self.object()
        kinds = [k for k in self.metamodel.schema.kinds if self.fits(k, self.objects[name])]
        return [IsA(self.rng.choice(kinds), Variable(name))] if kinds else []

    def compare(self) -> list[Constraint]:
        name = self.object()
        other = self.object(self.objects[name])
        if other == name or not other:
            return []
        return [Equality(Variable(name), Variable(other), negated=self.rng.random() < 0.8)]

    def attribute(self) -> tuple[str, Feature] | None:
        """An attribute of one value of an object that is bound."""
        source = self.object()
        features = self.metamodel.schema.kinds[self.objects[source]].features.values()
        found = [f for f in features if f.is_attribute and not f.is_many]
        return (source, self.rng.choice(found)) if found else None

    def check(self) -> list[Constraint]:
        made = self.value()
        if made is None:
            return []
        expr, type = made
        operator = (
            self.rng.choice(("=", "!=")) if type == BOOLEAN else self.rng.choice(("<", ">=", "!="))
        )
        if self.rng.random() < 0.3:
            is_null = self.rng.choice(("is", "is not"))
            return [Check(Binary(is_null, expr, Literal(None, type=NULL)))]  # type: ignore[arg-type]
        return [Check(Binary(operator, expr, _literal(self.rng, type)))]  # type: ignore[arg-type]

    def value(self) -> tuple[Expr, DataType] | None:
        if self.values and self.rng.random() < 0.4:
            name, type = self.rng.choice(list(self.values.items()))
            return Ref((Part(name),)), type
        found = self.attribute()
        if found is None or found[1].type is None:
            return None
        source, feature = found
        ref = Ref((Part(source), Part(feature.name)))
        if feature.type in (INT, DOUBLE) and self.rng.random() < 0.4:
            size = Literal(self.rng.randint(1, 3), type=INT)
            return Call("moving_avg", (ref, size)), DOUBLE
        assert feature.type is not None
        return ref, feature.type

    def eval(self) -> list[Constraint]:
        made = self.value()
        if made is None or made[1] not in (INT, DOUBLE):
            return []
        expr = Binary("+", made[0], Literal(1, type=INT))
        alike = [n for n, t in self.values.items() if t == made[1]]
        name = self.rng.choice(alike) if alike and self.rng.random() < 0.4 else self.new()
        self.values.setdefault(name, made[1])
        return [Eval(Variable(name), expr)]

    # Other queries.

    def callee(self) -> Query | None:
        return self.rng.choice(self.queries) if self.queries else None

    def find(self) -> list[Constraint]:
        query = self.callee()
        if query is None:
            return self.any_edge()
        is_step = len(query.parameters) == 2 and query.parameters[1].type is not None
        arguments: list[Term] = []
        for parameter in query.parameters:
            if parameter.type is None:
                arguments.append(Variable("_"))
            else:
                arguments.append(self.bind(parameter.type))
        return [Find(query.name, tuple(arguments), transitive=is_step and self.rng.random() < 0.6)]

    def asked(self) -> Find | None:
        """A call whose arguments are bound, or may be anything."""
        query = self.callee()
        if query is None:
            return None
        is_step = len(query.parameters) == 2 and query.parameters[1].type is not None
        arguments: list[Term] = []
        for parameter in query.parameters:
            name = "" if parameter.type is None else self.object(parameter.type)
            anything = self.rng.choice(("_", f"_{self.rng.randrange(10**6)}"))
            arguments.append(Variable(name if name and self.rng.random() < 0.7 else anything))
        return Find(query.name, tuple(arguments), transitive=is_step and self.rng.random() < 0.4)

    def negation(self) -> list[Constraint]:
        find = self.asked()
        return [Negation(find)] if find else []

    def count(self) -> list[Constraint]:
        find = self.asked()
        if find is None:
            return []
        if self.rng.random() < 0.5:
            return [Count(Literal(self.rng.randint(0, 2), type=INT), find)]
        name = self.new()
        self.values[name] = INT
        limit = Literal(self.rng.randint(0, 2), type=INT)
        return [Count(Variable(name), find), Check(Binary("<", Ref((Part(name),)), limit))]


def _literal(rng: Random, type: DataType) -> Literal:
    values = [v for v in VALUES[type] if v == v]  # noqa: PLR0124
    return Literal(rng.choice(values), type=type)  # type: ignore[arg-type]
