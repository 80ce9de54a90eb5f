"""Metamodels from `.ecore` files and models from XMI, and back, through pyecore.

Both ways go over a metamodel of ours: an `.ecore` file becomes one, and files of models are read and
written with a package that is made from it. So what is saved needs no other file than it says itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, STRING, DataType
from cepheid.errors import CepheidError, InputError, UsageError, error, reason_of, suggest
from cepheid.live.changes import Held
from cepheid.live.metamodel import Attribute, Class, Feature, Kind, Metamodel, Reference
from cepheid.live.model import Model, Object, arrange

_TYPES: dict[str, DataType] = {
    **dict.fromkeys(("EString", "EChar", "ECharacterObject"), STRING),
    **dict.fromkeys(("EBoolean", "EBooleanObject"), BOOLEAN),
    **dict.fromkeys(("EInt", "EIntegerObject", "EShort", "EShortObject"), INT),
    **dict.fromkeys(("EByte", "EByteObject"), INT),
    **dict.fromkeys(("ELong", "ELongObject", "EBigInteger"), LONG),
    **dict.fromkeys(("EFloat", "EFloatObject"), FLOAT),
    **dict.fromkeys(("EDouble", "EDoubleObject", "EBigDecimal"), DOUBLE),
}
_PYTHON_TYPES: dict[DataType, type] = {
    STRING: str,
    BOOLEAN: bool,
    INT: int,
    LONG: int,
    FLOAT: float,
    DOUBLE: float,
}


def load_metamodel(path: str | Path) -> Metamodel:
    """The metamodel of an `.ecore` file; InputError where it holds none."""
    resource = _read(path, _resource_set())
    packages = [root for root in resource.contents if root.eClass.name == "EPackage"]
    if len(packages) != 1:
        _refuse(path, f"has {len(packages)} packages", "a metamodel is one package")
    (package,) = packages
    if package.eSubpackages:
        names = ", ".join(p.name for p in package.eSubpackages)
        _refuse(path, f"has packages in a package ({names})", "put all classes into one package")
    try:
        classes = [_class(c) for c in package.eClassifiers if c.eClass.name == "EClass"]
        return Metamodel(package.name, tuple(classes), package.nsURI or package.name)
    except CepheidError as problem:
        raise _placed(path, problem) from None
    except Exception as problem:  # pyecore looks up names late, and raises whatever it runs into
        known = isinstance(problem, _UnknownType)
        _refuse(path, str(problem) if known else "refers to a class or type that is not there")


def load_model(path: str | Path, metamodel: Metamodel) -> Model:
    """The model of an XMI file; InputError where the file does not fit the metamodel."""
    package = _Package(metamodel)
    registry = _resource_set()
    registry.metamodel_registry[metamodel.uri or metamodel.name] = package.package
    resource = _read(path, registry, metamodel)
    model = Model(metamodel)
    made: dict[Any, Object] = {}
    try:
        with model.transaction() as change:
            for one, kind in _all(path, resource.contents, metamodel):
                made[one] = change.create(kind.name)
            for one, ours in made.items():
                for feature in ours.kind.features.values():
                    for value in _held(path, one, feature, made):
                        step = change.add if feature.is_many else change.set
                        step(ours, feature.name, value)
            for one, ours in made.items():
                for feature in ours.kind.features.values():
                    if feature.is_many:
                        arrange(ours, feature, list(_held(path, one, feature, made)))
    except CepheidError as problem:
        raise _placed(path, problem) from None
    return model


def save_model(model: Model, path: str | Path) -> None:
    """As XMI; UsageError where the file cannot be written."""
    package = _Package(model.metamodel)
    made = {one: package.classes[one.type]() for one in model.objects()}
    for one, theirs in made.items():
        for feature in one.kind.features.values():
            held: Any = one[feature.name]
            values = held if feature.is_many else (() if held is None else (held,))
            written = [made[v] if isinstance(v, Object) else v for v in values]
            if feature.is_container or not written:
                continue
            if feature.is_many:
                getattr(theirs, feature.name).extend(written)
            else:
                setattr(theirs, feature.name, written[0])
    from pyecore.resources import URI

    resource = _resource_set().create_resource(URI(str(path)))
    resource.extend([made[one] for one in model.roots()])
    try:
        resource.save()
    except OSError as problem:
        fact = f"'{path}' cannot be written: {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None


# Files.


def _resource_set() -> Any:
    try:
        from pyecore.resources import ResourceSet
        from pyecore.resources.xmi import XMIResource
    except ImportError:
        hint = "pip install 'cepheid[live]'"
        raise UsageError(error("no-ecore", "models in files need pyecore", hint=hint)) from None
    found = ResourceSet()
    found.resource_factory["*"] = XMIResource
    return found


def _read(path: str | Path, resources: Any, metamodel: Metamodel | None = None) -> Any:
    from pyecore.resources import URI

    if not Path(path).exists():
        raise UsageError(error("missing-file", f"no file '{path}'"))
    uri = URI(str(path))
    try:
        return resources.get_resource(uri)
    except OSError as problem:
        raise UsageError(
            error("bad-file", f"'{path}' cannot be read: {reason_of(problem)}")
        ) from None
    except Exception as problem:  # pyecore raises whatever it runs into
        text = _wording(problem)
        what = "an .ecore file" if metamodel is None else f"a model of {metamodel.name}"
        _refuse(path, f"is not {what}: {text}", _hint(text, metamodel))
    finally:
        uri.close_stream()


def _wording(problem: Exception) -> str:
    """What pyecore says, on one line and without its objects."""
    if isinstance(problem, KeyError):
        return f"no metamodel has the URI {problem}"
    text = str(problem).partition("\n")[0] or type(problem).__name__
    wrong = re.search(
        r'Expected type <EClass name="(\w+)">, but got type (\w+).*EReference (\w+)', text
    )
    return f"'{wrong[3]}' leads to {wrong[1]} objects, not to {wrong[2]} objects" if wrong else text


def _hint(text: str, metamodel: Metamodel | None) -> str | None:
    """What was meant, if the message names something that is not there."""
    if metamodel is None:
        return None
    if "has the URI" in text:
        return f"the URI of {metamodel.name} is '{metamodel.uri}'"
    known = {n for c in metamodel.classes for n in (c.name, *(f.name for f in c.features))}
    unknown = re.search(r'(?:Feature )?"?(\w+)"?(?: EClass)? (?:does not exist|is unknown)', text)
    return suggest(unknown[1], known) if unknown else None


def _placed(path: str | Path, problem: CepheidError) -> InputError:
    """What is wrong with the contents of a file, with its name."""
    return InputError(
        *(
            d if d.code == "bad-model" else error(d.code, f"'{path}': {d.message}", hint=d.hint)
            for d in problem.diagnostics
        )
    )


def _refuse(path: str | Path, fact: str, hint: str | None = None) -> NoReturn:
    raise InputError(error("bad-model", f"'{path}' {fact}", hint=hint))


# From their classes to ours.


class _UnknownType(Exception):
    """An attribute has values that no type of ours holds."""


def _class(eclass: Any) -> Class:
    features = tuple(_feature(f) for f in eclass.eStructuralFeatures if not f.derived)
    supertypes = tuple(s.name for s in eclass.eSuperTypes)
    return Class(eclass.name, features, supertypes, bool(eclass.abstract or eclass.interface))


def _feature(theirs: Any) -> Attribute | Reference:
    upper = None if theirs.upperBound < 0 else theirs.upperBound
    bounds = {"lower": theirs.lowerBound, "upper": upper}
    if theirs.eClass.name == "EReference":
        opposite = theirs.eOpposite.name if theirs.eOpposite else None
        return Reference(
            theirs.name, theirs.eType.name, bool(theirs.containment), **bounds, opposite=opposite
        )
    type, literals = theirs.eType, ()
    if type.eClass.name == "EEnum":
        literals = tuple(literal.name for literal in type.eLiterals)
        given = theirs.defaultValueLiteral or None
        return Attribute(theirs.name, STRING, **bounds, default=given, literals=literals)
    if type.name not in _TYPES:
        known = ", ".join(sorted(_TYPES))
        raise _UnknownType(f"has '{theirs.name}' of type {type.name}; known are {known}")
    try:
        default = None if upper != 1 else theirs.get_default_value()
    except ValueError:
        text = theirs.defaultValueLiteral
        raise _UnknownType(f"has '{text}' as default of '{theirs.name}': no {type.name}") from None
    return Attribute(theirs.name, _TYPES[type.name], **bounds, default=default)


def _all(
    path: str | Path, roots: Iterable[Any], metamodel: Metamodel
) -> Iterator[tuple[Any, Kind]]:
    """The objects of a file with their classes: containers first, features in their order."""
    pending = [*roots][::-1]
    while pending:
        one = pending.pop()
        kind = _kind(path, one, metamodel)
        yield one, kind
        held = [one.eGet(f.name) for f in kind.features.values() if f.is_containment]
        contents = [v for h in held for v in (h if hasattr(h, "insert") else [h]) if v is not None]
        pending += contents[::-1]


def _kind(path: str | Path, one: Any, metamodel: Metamodel) -> Kind:
    name = one.eClass.name
    found = metamodel.schema.kinds.get(name)
    if found is None:
        hint = suggest(name, metamodel.schema.kinds, "classes")
        _refuse(
            path, f"has an object of class '{name}', which {metamodel.name} does not have", hint
        )
    return found


def _held(path: str | Path, one: Any, feature: Feature, made: dict[Any, Object]) -> Iterator[Held]:
    held = one.eGet(feature.name)
    for value in list(held) if feature.is_many else [held]:
        if value is None:
            continue
        if feature.is_attribute:
            yield value
            continue
        target = _target(path, value)
        if target not in made:
            _refuse(path, f"refers to an object outside the file ('{feature.name}')")
        yield made[target]


def _target(path: str | Path, value: Any) -> Any:
    """A proxy stands for an object that the file names."""
    try:
        return value.force_resolve()
    except Exception:
        _refuse(path, "refers to an object that cannot be found")


# From our classes to theirs.


class _Package:
    """The classes of a metamodel as pyecore has them.

    Without opposites: our models keep both directions, in an order of their own each.
    """

    def __init__(self, metamodel: Metamodel) -> None:
        from pyecore import ecore

        uri = metamodel.uri or metamodel.name
        self.package = ecore.EPackage(metamodel.name, nsURI=uri, nsPrefix=metamodel.name)
        self.classes: dict[str, Any] = {
            c.name: ecore.EClass(c.name, abstract=c.is_abstract) for c in metamodel.classes
        }
        self.package.eClassifiers.extend(self.classes.values())
        for c in metamodel.classes:
            self.classes[c.name].eSuperTypes.extend(self.classes[s] for s in c.supertypes)
            for f in c.features:
                self.classes[c.name].eStructuralFeatures.append(self._feature(ecore, f))

    def _feature(self, ecore: Any, f: Attribute | Reference) -> Any:
        bounds = {"lower": f.lower, "upper": -1 if f.upper is None else f.upper}
        if isinstance(f, Reference):
            return ecore.EReference(
                f.name, self.classes[f.target], containment=f.containment, **bounds
            )
        type = ecore.EDataType(
            str(f.type), _PYTHON_TYPES[f.type], from_string=_reader(f), to_string=_written
        )
        return ecore.EAttribute(f.name, type, default_value=f.default, **bounds)


def _reader(attribute: Attribute) -> Callable[[str], Any]:
    """From the text of a value; pyecore would take what is no truth value for false."""
    feature = Feature("", attribute)

    def read(text: str) -> Any:
        try:
            return feature.coerce(_FROM_TEXT.get(attribute.type, str)(text))
        except (KeyError, ValueError):
            raise ValueError(f"'{text}' is no value of '{attribute.name}'") from None

    return read


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_FROM_TEXT: dict[DataType, Callable[[str], Any]] = {
    BOOLEAN: {"true": True, "false": False, "1": True, "0": False}.__getitem__,
    **dict.fromkeys((INT, LONG), int),
    **dict.fromkeys((FLOAT, DOUBLE), float),
}
