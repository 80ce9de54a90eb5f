"""Metamodels from `.ecore` files, through pyecore, and models as XMI files.

Models are written with packages that are made from a metamodel of ours, so what is saved needs no other
file than it says itself; `live.xmi` reads them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, STRING, DataType
from cepheid.core.whole_file import whole_file
from cepheid.errors import CepheidError, Diagnostic, InputError, Span, UsageError, error, reason_of
from cepheid.live.metamodel import Attribute, Class, Feature, Metamodel, Package, Reference
from cepheid.live.model import Model, Object
from cepheid.live.xmi import place_in, read_model, read_xml, value_of

_TYPES: dict[str, DataType] = {
    **dict.fromkeys(("EString", "EChar", "ECharacterObject"), STRING),
    **dict.fromkeys(("EBoolean", "EBooleanObject"), BOOLEAN),
    **dict.fromkeys(("EInt", "EIntegerObject", "EShort", "EShortObject"), INT),
    **dict.fromkeys(("EByte", "EByteObject"), INT),
    **dict.fromkeys(("ELong", "ELongObject", "EBigInteger"), LONG),
    **dict.fromkeys(("EFloat", "EFloatObject"), FLOAT),
    **dict.fromkeys(("EDouble", "EDoubleObject", "EBigDecimal"), DOUBLE),
}
# Data types that a metamodel declares itself, by the classes that hold their values in Java.
_JAVA_TYPES: dict[str, DataType] = {
    **dict.fromkeys(("java.lang.String", "char", "java.lang.Character"), STRING),
    **dict.fromkeys(("boolean", "java.lang.Boolean"), BOOLEAN),
    **dict.fromkeys(("int", "java.lang.Integer", "short", "java.lang.Short"), INT),
    **dict.fromkeys(("byte", "java.lang.Byte"), INT),
    **dict.fromkeys(("long", "java.lang.Long", "java.math.BigInteger"), LONG),
    **dict.fromkeys(("float", "java.lang.Float"), FLOAT),
    **dict.fromkeys(("double", "java.lang.Double", "java.math.BigDecimal"), DOUBLE),
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
    resource = _read(path)
    packages = [root for root in resource.contents if root.eClass.name == "EPackage"]
    if len(packages) != 1:
        fact = f"'{path}' has {len(packages)} packages"
        hint = "a metamodel is one package, which may have others in it"
        raise InputError(error("bad-model", fact, hint=hint))
    try:
        return _Importer(path, packages[0]).metamodel()
    except CepheidError as problem:
        raise InputError(*(_placed(path, d) for d in problem.diagnostics)) from None


def load_model(path: str | Path, metamodel: Metamodel) -> Model:
    """The model of an XMI file; InputError where the file does not fit the metamodel."""
    return read_model(path, metamodel)


def save_model(model: Model, path: str | Path) -> None:
    """As XMI, the file whole or as it was; UsageError where it cannot be written."""
    try:
        with whole_file(path) as draft:
            _write(model, draft)
    except OSError as problem:
        fact = f"'{path}' cannot be written: {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None
    except (ValueError, AttributeError, TypeError) as problem:
        # Whatever XML or the library has no place for: control characters, features called eClass.
        fact = f"'{path}' cannot be written: {problem}"
        hint = "XML has no control characters, and features need names that files can have"
        raise UsageError(error("bad-file", fact, hint=hint)) from None


def _write(model: Model, path: Path) -> None:
    packages = _Packages(model.metamodel)
    made = {one: packages.classes[one.type]() for one in model.objects()}
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
    resource = _resource_set().create_resource(_in_memory())
    resource.extend([made[one] for one in model.roots()])
    resource.save()
    path.write_bytes(resource.uri.written.getvalue())


def _in_memory() -> Any:
    """What stands for a file: the library leaves a real one open where a model cannot be written."""
    from pyecore.resources import URI

    class InMemory(URI):  # type: ignore[misc]
        def create_outstream(self) -> BytesIO:
            self.written = BytesIO()
            return self.written

        def close_stream(self) -> None:
            """There is nothing to close, and what was written is still needed."""

    return InMemory("model.xmi")


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


def _read(path: str | Path) -> Any:
    resources = _resource_set()
    read_xml(path)  # says where a file is no XML
    from pyecore.resources import URI

    uri = URI(str(path))
    try:
        return resources.get_resource(uri)
    except Exception as problem:  # pyecore raises whatever it runs into
        text = str(problem).partition("\n")[0] or type(problem).__name__
        said = f"no metamodel has the URI {problem}" if isinstance(problem, KeyError) else text
        fact, hint = f"this is not an .ecore file: {said}", "metamodels are Ecore packages, in XMI"
        raise InputError(error("bad-model", fact, _place_of(path, text), hint)) from None
    finally:
        uri.close_stream()


def _place_of(path: str | Path, text: str) -> Span:
    """Where what pyecore says of a file is, as far as it says it."""
    named = re.search(r"line (\d+)", text)
    if named:
        return place_in(path, int(named[1]))
    missing = re.search(r"for (\S+) is unknown", text)
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    found = (n for n, line in enumerate(lines, start=1) if missing and missing[1] in line)
    return place_in(path, next(found, 1))


def _placed(path: str | Path, problem: Diagnostic) -> Diagnostic:
    """What is wrong with the contents of a file, with its name."""
    if problem.span is not None:
        return problem
    return error(problem.code, f"'{path}': {problem.message}", hint=problem.hint)


# From their classes to ours.


class _Importer:
    """Makes a metamodel of a package and of those in it."""

    def __init__(self, path: str | Path, root: Any) -> None:
        self.path = path
        self.root = root
        self.counts = Counter(theirs.name for _, theirs in _classes(root))

    def metamodel(self) -> Metamodel:
        inner = [(path, package) for path, package in _packages(self.root) if path]
        packages = tuple(Package(path, package.nsURI or path) for path, package in inner)
        classes = tuple(self.one_class(path, theirs) for path, theirs in _classes(self.root))
        root = self.root
        return Metamodel(root.name, classes, root.nsURI or root.name, packages)

    def one_class(self, package: str, theirs: Any) -> Class:
        features = tuple(
            self.feature(theirs, f) for f in theirs.eStructuralFeatures if not f.derived
        )
        supertypes = tuple(self.name_of(s, theirs) for s in theirs.eSuperTypes)
        is_abstract = bool(theirs.abstract or theirs.interface)
        name = self.name_of(theirs, theirs)
        return Class(name, features, supertypes, is_abstract, package)

    def name_of(self, theirs: Any, asked: Any, feature: Any = None) -> str:
        """What a class is called: its own name, or where others have that one, its path before it."""
        place, packages = theirs.ePackage, list[str]()
        while place is not None and place is not self.root:
            packages.insert(0, place.name)
            place = place.eContainer()
        if place is None:
            fact = f"{_shown(asked, feature)} needs the class '{theirs.name}', which is not in the file"
            self.refuse("unsupported", fact, asked, feature, "put all classes into one file")
        is_known = not packages or self.counts[theirs.name] == 1
        return theirs.name if is_known else ".".join((*packages, theirs.name))

    def feature(self, owner: Any, theirs: Any) -> Attribute | Reference:
        upper = None if theirs.upperBound < 0 else theirs.upperBound
        bounds = {"lower": theirs.lowerBound, "upper": upper}
        type = self.type_of(owner, theirs)
        if theirs.eClass.name == "EReference":
            opposite = theirs.eOpposite.name if theirs.eOpposite else None
            target = self.name_of(type, owner, theirs)
            return Reference(
                theirs.name, target, bool(theirs.containment), **bounds, opposite=opposite
            )
        if type.eClass.name == "EEnum":
            literals = tuple(literal.name for literal in type.eLiterals)
            # As everywhere where files of models are read: an enumeration begins with its first.
            given = theirs.defaultValueLiteral or (literals[0] if literals else None)
            return Attribute(theirs.name, STRING, **bounds, default=given, literals=literals)
        ours = _TYPES.get(type.name) or _JAVA_TYPES.get(type.instanceClassName or "")
        if ours is None:
            fact = f"{_shown(owner, theirs)} has values of type '{type.name}'"
            hint = f"Cepheid has enumerations and {', '.join(sorted(_TYPES))}"
            self.refuse("unsupported", fact, owner, theirs, hint)
        return self.with_default(
            owner, theirs, Attribute(theirs.name, ours, **bounds, is_id=bool(theirs.iD))
        )

    def type_of(self, owner: Any, theirs: Any) -> Any:
        try:
            type = theirs.eType
            named = type is not None and type.name
        except Exception:  # pyecore looks up names late, and raises whatever it runs into
            named = None
        if not named:
            fact = f"{_shown(owner, theirs)} has a type that is not there"
            hint = "eType names a class of the file or a data type of Ecore"
            self.refuse("bad-metamodel", fact, owner, theirs, hint)
        return type

    def with_default(self, owner: Any, theirs: Any, ours: Attribute) -> Attribute:
        text = theirs.defaultValueLiteral
        if ours.is_many:
            return ours
        if text is None:  # numbers begin with zero, as in Java
            return replace(ours, default=theirs.get_default_value())
        try:
            return replace(ours, default=value_of(text, Feature(owner.name, ours)))
        except ValueError:
            fact = f"{_shown(owner, theirs)} has the default '{text}', which is no {ours.type}"
            self.refuse("bad-metamodel", fact, owner, theirs, "see defaultValueLiteral")

    def refuse(
        self, code: str, fact: str, owner: Any, feature: Any = None, hint: str | None = None
    ) -> NoReturn:
        raise InputError(error(code, fact, self.place(owner, feature), hint))

    def place(self, owner: Any, feature: Any) -> Span | None:
        """The line of a class in the file, or of a feature of it."""
        for node in read_xml(self.path).iter("eClassifiers"):
            if node.get("name") == owner.name and _enclosing(node) == _path_of(owner):
                features = node.iterchildren("eStructuralFeatures") if feature is not None else ()
                lines = [f.sourceline for f in features if f.get("name") == feature.name]
                return place_in(self.path, (lines or [node.sourceline])[0])
        return None


def _packages(root: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The package and those in it, outer ones first, with their paths."""
    yield path, root
    for inner in root.eSubpackages:
        yield from _packages(inner, f"{path}.{inner.name}" if path else inner.name)


def _classes(root: Any) -> Iterator[tuple[str, Any]]:
    """All classes, each with the path of its package."""
    for path, package in _packages(root):
        yield from ((path, c) for c in package.eClassifiers if c.eClass.name == "EClass")


def _path_of(theirs: Any) -> list[str]:
    """The names of the packages that a class is in, inner ones first."""
    found, place = list[str](), theirs.ePackage
    while place is not None:
        found.append(place.name)
        place = place.eContainer()
    return found


def _enclosing(node: Any) -> list[str]:
    """The same, of an element."""
    return [above.get("name") for above in node.iterancestors() if above.get("name") is not None]


def _shown(owner: Any, feature: Any = None) -> str:
    return f"'{owner.name}'" if feature is None else f"'{owner.name}.{feature.name}'"


# From our classes to theirs.


class _Packages:
    """The classes of a metamodel as pyecore has them.

    Without opposites: our models keep both directions, in an order of their own each.
    """

    def __init__(self, metamodel: Metamodel) -> None:
        from pyecore import ecore

        uri = metamodel.uri or metamodel.name
        packages = {"": ecore.EPackage(metamodel.name, nsURI=uri, nsPrefix=metamodel.name)}
        for package in metamodel.packages:
            prefix = package.path.replace(".", "-")
            made = ecore.EPackage(package.name, nsURI=package.uri, nsPrefix=prefix)
            packages[package.outer].eSubpackages.append(made)
            packages[package.path] = made
        self.classes: dict[str, Any] = {
            c.name: ecore.EClass(c.own_name, abstract=c.is_abstract) for c in metamodel.classes
        }
        for c in metamodel.classes:
            packages[c.package].eClassifiers.append(self.classes[c.name])
            self.classes[c.name].eSuperTypes.extend(self.classes[s] for s in c.supertypes)
            for f in c.features:
                self.classes[c.name].eStructuralFeatures.append(self._feature(ecore, f))

    def _feature(self, ecore: Any, f: Attribute | Reference) -> Any:
        bounds = {"lower": f.lower, "upper": -1 if f.upper is None else f.upper}
        if isinstance(f, Reference):
            return ecore.EReference(
                f.name, self.classes[f.target], containment=f.containment, **bounds
            )
        type = ecore.EDataType(str(f.type), _PYTHON_TYPES[f.type], to_string=_written)
        return ecore.EAttribute(f.name, type, default_value=f.default, **bounds)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
