"""Metamodels: what kinds of objects a model has, as frozen data.

A metamodel is checked as a whole when it is made; everything wrong with it is reported at once.
`Metamodel.schema` is the same with all names looked up, made once, for those who work with models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cepheid.core.event import Value
from cepheid.core.types import PLAIN_SCALARS, STRING, DataType
from cepheid.core.values import Coercions
from cepheid.errors import Diagnostic, ProgramError, error, suggest


@dataclass(frozen=True, slots=True)
class Attribute:
    """A value of an object. Literals are the values that an enumeration allows.

    One that takes several values (an upper bound other than 1) holds each value once.
    """

    name: str
    type: DataType = STRING
    lower: int = 0
    upper: int | None = 1  # None: no bound
    default: Value = None
    literals: tuple[str, ...] = ()
    is_id: bool = False  # model files refer to an object by its value

    @property
    def is_many(self) -> bool:
        return self.upper != 1


@dataclass(frozen=True, slots=True)
class Reference:
    """An edge from an object to others; the opposite is a reference of the target, kept in step."""

    name: str
    target: str
    containment: bool = False
    lower: int = 0
    upper: int | None = 1  # None: no bound
    opposite: str | None = None

    @property
    def is_many(self) -> bool:
        return self.upper != 1


@dataclass(frozen=True, slots=True)
class Class:
    """A class. One of an inner package may have its path before its name: `electrical.Port`."""

    name: str
    features: tuple[Attribute | Reference, ...] = ()
    supertypes: tuple[str, ...] = ()
    is_abstract: bool = False
    package: str = ""  # the path of an inner package

    @property
    def own_name(self) -> str:
        """Its name within its package."""
        return self.name.removeprefix(f"{self.package}.")


@dataclass(frozen=True, slots=True)
class Package:
    """A package inside of a metamodel, by its path: `electrical`, `electrical.supply`."""

    path: str
    uri: str  # what model files name it by

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def outer(self) -> str:
        return self.path.rpartition(".")[0]


@dataclass(frozen=True)
class Metamodel:
    name: str
    classes: tuple[Class, ...]
    uri: str = ""  # what model files name it by
    packages: tuple[Package, ...] = ()  # inside of it, outer ones first

    def __post_init__(self) -> None:
        problems = list(_problems(self))
        if problems:
            raise ProgramError(*problems)

    @cached_property
    def schema(self) -> Schema:
        return Schema(self)

    @cached_property
    def by_uri(self) -> dict[str, dict[str, str]]:
        """The names of classes by the URI of their package, and there by their own names."""
        uris = {"": self.uri or self.name, **{p.path: p.uri for p in self.packages}}
        found: dict[str, dict[str, str]] = {uri: {} for uri in uris.values()}
        for c in self.classes:
            found[uris[c.package]][c.own_name] = c.name
        return found


class Feature:
    """A feature of a class in a metamodel; there is one for each, so that identity is equality."""

    __slots__ = (
        "coerce",
        "declared",
        "initial",
        "is_attribute",
        "is_bounded",
        "is_container",
        "is_containment",
        "is_many",
        "literals",
        "name",
        "opposite",
        "owner",
        "target",
    )

    def __init__(self, owner: str, declared: Attribute | Reference) -> None:
        self.owner = owner
        self.declared = declared
        self.name = declared.name
        self.is_many = declared.is_many
        self.is_attribute = isinstance(declared, Attribute)
        self.is_containment = isinstance(declared, Reference) and declared.containment
        # Bounds that single values cannot keep by themselves.
        self.is_bounded = declared.lower > 0 or declared.upper not in (1, None)
        self.target = declared.target if isinstance(declared, Reference) else ""
        self.opposite: Feature | None = None
        self.is_container = False  # the opposite of a containment
        self.initial: str | bool | int | float | None = None  # of a new object
        self.literals = declared.literals if isinstance(declared, Attribute) else ()
        if isinstance(declared, Attribute):
            self.coerce = Coercions({}).of(declared.type)
            self.initial = one_nan(self.coerce(declared.default))

    @property
    def type(self) -> DataType | None:
        """Of the values of an attribute."""
        return self.declared.type if isinstance(self.declared, Attribute) else None

    def __repr__(self) -> str:
        return f"{self.owner}.{self.name}"


NAN = float("nan")


def one_nan(value: Any) -> Any:
    """The value, with one and the same NaN for all: what is equal to it is found again."""
    return NAN if value != value else value  # noqa: PLR0124


class Kind:
    """A class with everything it inherits: what an object is made by."""

    __slots__ = ("ancestors", "features", "is_abstract", "name", "subclasses")

    def __init__(self, name: str, is_abstract: bool) -> None:
        self.name = name
        self.is_abstract = is_abstract
        self.features: dict[str, Feature] = {}
        self.ancestors: frozenset[str] = frozenset()  # itself included
        self.subclasses: frozenset[str] = frozenset()  # those that have objects, itself included

    def __repr__(self) -> str:
        return self.name


class Schema:
    """The classes of a metamodel by name, with all features and relatives."""

    def __init__(self, metamodel: Metamodel) -> None:
        declared = {c.name: c for c in metamodel.classes}
        features = {
            (c.name, f.name): Feature(c.name, f) for c in metamodel.classes for f in c.features
        }
        self.kinds = {c.name: Kind(c.name, c.is_abstract) for c in metamodel.classes}
        for kind in self.kinds.values():
            lineage = tuple(_lineage(kind.name, declared))
            kind.ancestors = frozenset(lineage)
            kind.features = {
                f.name: features[n, f.name] for n in lineage for f in declared[n].features
            }
        for kind in self.kinds.values():
            kind.subclasses = frozenset(
                k.name
                for k in self.kinds.values()
                if kind.name in k.ancestors and not k.is_abstract
            )
        for feature in features.values():
            opposite = getattr(feature.declared, "opposite", None)
            if opposite is not None:
                feature.opposite = self.kinds[feature.target].features[opposite]
                feature.is_container = feature.opposite.is_containment

    def kind(self, name: str) -> Kind | None:
        return self.kinds.get(name)

    def suggest(self, name: str, others: Iterable[str] = (), label: str = "classes") -> str | None:
        """What was meant by a name that no class has."""
        paths = [known for known in self.kinds if known.endswith(f".{name}")]
        if paths:
            return f"it is in several packages: {', '.join(f'`{path}`' for path in paths)}"
        return suggest(name, (*self.kinds, *others), label)

    def are_disjoint(self, *names: str) -> bool:
        """Whether no object can be of all these classes."""
        return not frozenset.intersection(*(self.kinds[name].subclasses for name in names))


def _lineage(name: str, declared: Mapping[str, Class]) -> Iterator[str]:
    """The class and its ancestors, ancestors first, each once."""
    seen: dict[str, None] = {}

    def visit(name: str) -> None:
        for parent in declared[name].supertypes:
            visit(parent)
        seen.setdefault(name)

    visit(name)
    yield from seen


# What can be wrong with a metamodel.


def _wrong(message: str, hint: str | None = None) -> Diagnostic:
    return error("bad-metamodel", message, hint=hint)


def _problems(metamodel: Metamodel) -> Iterator[Diagnostic]:
    names = Counter(c.name for c in metamodel.classes)
    yield from (_wrong(f"class '{n}' is declared twice") for n, count in names.items() if count > 1)
    yield from _broken_packages(metamodel)
    broken = list(_broken_inheritance(metamodel))
    yield from broken
    for declared in metamodel.classes:
        for feature in declared.features:
            yield from _broken_feature(declared, feature, names)
    if not broken:  # what is inherited is known
        yield from _broken_names(metamodel)
        yield from _broken_opposites(metamodel)


def _broken_packages(metamodel: Metamodel) -> Iterator[Diagnostic]:
    paths, uris = {""}, {metamodel.uri or metamodel.name}
    for package in metamodel.packages:
        if package.path in paths:
            yield _wrong(f"package '{package.path}' is declared twice")
        elif package.outer not in paths:
            yield _wrong(f"package '{package.path}' is in no package", "outer ones come first")
        if package.uri in uris:
            yield _wrong(f"two packages have the URI '{package.uri}'", "files need one for each")
        paths.add(package.path)
        uris.add(package.uri)
    for c in metamodel.classes:
        if c.package not in paths:
            hint = suggest(c.package, paths - {""}, "packages")
            yield _wrong(f"class '{c.name}' is in package '{c.package}', which is not there", hint)


def _broken_inheritance(metamodel: Metamodel) -> Iterator[Diagnostic]:
    declared = {c.name: c for c in metamodel.classes}
    for c in metamodel.classes:
        for parent in c.supertypes:
            if parent not in declared:
                hint = suggest(parent, declared, "classes")
                yield _wrong(f"'{c.name}' inherits from '{parent}', which is no class", hint)
        if _inherits_itself(c.name, declared):
            yield error("inheritance-cycle", f"class '{c.name}' inherits from itself")


def _inherits_itself(name: str, declared: Mapping[str, Class]) -> bool:
    seen: set[str] = set()
    pending = list(declared[name].supertypes)
    while pending:
        parent = pending.pop()
        if parent == name:
            return True
        if parent in declared and parent not in seen:
            seen.add(parent)
            pending += declared[parent].supertypes
    return False


def _broken_feature(
    owner: Class, feature: Attribute | Reference, classes: Mapping[str, int]
) -> Iterator[Diagnostic]:
    place = f"'{owner.name}.{feature.name}'"
    if feature.lower < 0 or (feature.upper is not None and feature.upper < max(feature.lower, 1)):
        upper = "*" if feature.upper is None else feature.upper
        yield _wrong(f"{place} has impossible bounds: {feature.lower}..{upper}")
    if isinstance(feature, Reference):
        if feature.target not in classes:
            hint = suggest(feature.target, classes, "classes")
            yield _wrong(f"{place} leads to '{feature.target}', which is no class", hint)
        return
    if feature.type not in PLAIN_SCALARS.values():
        yield _wrong(f"{place} has type {feature.type}", f"types: {', '.join(PLAIN_SCALARS)}")
        return
    if feature.literals and feature.type != STRING:
        yield _wrong(f"{place} has literals, but its values are {feature.type}")
    try:
        default = Coercions({}).of(feature.type)(feature.default)
    except ValueError as problem:
        yield _wrong(f"the default of {place} does not fit: {problem}")
        return
    if default is not None and (feature.is_many or default not in (feature.literals or (default,))):
        yield _wrong(f"{place} cannot have the default {default!r}")


def _broken_names(metamodel: Metamodel) -> Iterator[Diagnostic]:
    """Names of features that an object would have twice."""
    declared = {c.name: c for c in metamodel.classes}
    for c in metamodel.classes:
        owners: dict[str, str] = {}
        for ancestor in _lineage(c.name, declared):
            for feature in declared[ancestor].features:
                first = owners.setdefault(feature.name, ancestor)
                if first != ancestor:
                    fact = f"'{c.name}' has '{feature.name}' from '{first}' and from '{ancestor}'"
                    yield _wrong(fact, "rename one of them")
        for name, count in Counter(f.name for f in c.features).items():
            if count > 1:
                yield _wrong(f"'{c.name}.{name}' is declared twice")


def _broken_opposites(metamodel: Metamodel) -> Iterator[Diagnostic]:
    declared = {c.name: c for c in metamodel.classes}
    for c in metamodel.classes:
        for r in c.features:
            if not isinstance(r, Reference) or r.opposite is None or r.target not in declared:
                continue
            known = {
                f.name: (ancestor, f)
                for ancestor in _lineage(r.target, declared)
                for f in declared[ancestor].features
                if isinstance(f, Reference)
            }
            owner, other = known.get(r.opposite, ("", None))
            fact = f"'{c.name}.{r.name}' has the opposite '{r.target}.{r.opposite}'"
            if other is None:
                yield _wrong(f"{fact}, which is no reference", suggest(r.opposite, known))
            elif other.opposite != r.name or other.target != c.name or owner != r.target:
                yield _wrong(f"{fact}, which has another opposite", "opposites name each other")
            elif r.containment and (other.containment or other.is_many):
                yield _wrong(f"{fact}, but an object has one container")
