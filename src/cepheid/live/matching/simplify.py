"""Bodies with fewer atoms that mean the same.

What an object is follows from the features that it has: steps along a feature are narrowed to the
classes that their source can be of, and say then what atoms about classes would say again. So
objects of other classes that share an inherited feature never start a search.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.live.metamodel import Schema
from cepheid.live.queries.resolved import Atom, Extent, Mean, ResolvedBody, Step


def simplified(body: ResolvedBody, schema: Schema) -> ResolvedBody:
    kinds = _classes(body.atoms, schema)
    narrowed = [
        replace(atom, kinds=kinds[atom.source]) if isinstance(atom, Step | Mean) else atom
        for atom in body.atoms
    ]
    implied = {a.source for a in narrowed if isinstance(a, Step) and not a.with_nulls}
    atoms: dict[Atom, None] = {}
    for atom in narrowed:
        is_known = isinstance(atom, Extent) and (
            atom.object in implied or _is_target(atom, narrowed, schema)
        )
        if not is_known:
            atoms[atom] = None
    return replace(body, atoms=tuple(atoms))


def _classes(atoms: tuple[Atom, ...], schema: Schema) -> dict[int, frozenset[str]]:
    """The classes of which the value of each variable that is an object can be."""
    found: dict[int, frozenset[str]] = {}

    def note(variable: int, name: str) -> None:
        classes = schema.kinds[name].subclasses
        found[variable] = found.get(variable, classes) & classes

    for atom in atoms:
        match atom:
            case Extent(kind=kind, object=one):
                note(one, kind.name)
            case Step(feature=feature, source=source, target=target):
                note(source, feature.owner)
                if feature.target:
                    note(target, feature.target)
            case Mean(feature=feature, source=source):
                note(source, feature.owner)
    return found


def _is_target(extent: Extent, atoms: list[Atom], schema: Schema) -> bool:
    """Whether a reference leads to the object, and to nothing that is not of the class."""
    return any(
        isinstance(atom, Step)
        and atom.target == extent.object
        and bool(atom.feature.target)
        and schema.kinds[atom.feature.target].subclasses <= extent.kind.subclasses
        for atom in atoms
    )
