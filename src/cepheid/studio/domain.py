"""Event types as forms: what a schema says of one, and a change of it as edits of the text.

A name that becomes another one changes wherever it stands in the program. Types that statements make have no
schema; what people see of them, icon and description, stands on the statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cepheid.core.types import Attribute
from cepheid.editing.renaming import rename
from cepheid.editing.rewriting import edits_for
from cepheid.editing.symbols import Kind
from cepheid.editing.workspace import Workspace
from cepheid.errors import Edit
from cepheid.expr.printing import print_name, print_type
from cepheid.lang import DEFAULT
from cepheid.lang.language import Text
from cepheid.program.looks import DESCRIPTION, ICON, Look, look_of, looks_of
from cepheid.program.tree import Annotation, Declaration, ProgramTree, Schema, Statement
from cepheid.studio.blocks.block import refuse
from cepheid.studio.blocks.lines import read_declaration

_TIME = "EventTime"
_ORDER = (DESCRIPTION.lower(), ICON.lower(), _TIME.lower())  # in which they are written


_PLAIN = Look()


@dataclass(frozen=True, slots=True)
class Form:
    """What can be said of an event type."""

    name: str
    look: Look = _PLAIN
    attributes: tuple[tuple[str, str], ...] = ()  # each with its type, as it is written
    inherits: tuple[str, ...] = ()
    time: tuple[str, str] | None = None  # the attribute that holds it, and its unit
    statement: str | None = None  # by which it is made, where it has no schema


def forms_of(tree: ProgramTree) -> Iterator[Form]:
    """Declared types in the order of the text, then those that statements make."""
    declared = {schema.name: _form(schema) for schema in tree.schemas}
    yield from declared.values()
    looks = looks_of(tree)
    targets = (s.insert_into for s in tree.statements if s.insert_into not in (None, *declared))
    for name in dict.fromkeys(targets):
        if name is not None:
            yield Form(name, looks.get(name, Look()), statement=name)


def _form(schema: Schema) -> Form:
    return Form(
        schema.name,
        look_of(schema),
        tuple((a.name, print_type(a.type)) for a in schema.attributes),
        schema.inherits,
        _time_of(schema),
    )


def _time_of(schema: Schema) -> tuple[str, str] | None:
    for annotation in schema.annotations:
        if annotation.name.lower() == _TIME.lower():
            attribute = annotation.value("attribute") or annotation.value()
            return str(attribute), str(annotation.value("unit") or "seconds")
    return None


# Changes.


def change_form(texts: Sequence[Text], file: str, name: str | None, new: Form) -> tuple[Edit, ...]:
    """The edits after which the text says the form of a type; None: of one that is not there yet.

    UsageError or ProgramError with what is wrong with it.
    """
    text = next((each for each in texts if each.file == file), None)
    if text is None:
        refuse("this file is not open")
    if text.language is not DEFAULT:
        refuse(f"types in {text.language.title} have their place in the text")
    tree = DEFAULT.parse(text.text, file).tree
    if name is None:
        return _added(text, tree, new)
    old = next((form for form in forms_of(tree) if form.name == name), None)
    if old is None:
        refuse(f"no type '{name}' in the text now", "mend the text first")
    if place := _renamed_at(texts, tree, file, old, new):
        return rename(Workspace(texts), file, *place)
    return _written(text, tree, old, new)


def _added(text: Text, tree: ProgramTree, new: Form) -> tuple[Edit, ...]:
    """Behind the last schema, or before all else."""
    if any(schema.name == new.name for schema in tree.schemas):
        refuse(f"there is already a type '{new.name}'", "choose another name")
    declared = tree.declarations
    last = max((n for n, d in enumerate(declared, 1) if isinstance(d, Schema)), default=0)
    schema = _schema(Schema(name=new.name), new)
    return _edits(text, tree, (*declared[:last], schema, *declared[last:]))


def _written(text: Text, tree: ProgramTree, old: Form, new: Form) -> tuple[Edit, ...]:
    """A schema, or what people see of what a statement makes."""

    def changed(declaration: Declaration) -> Declaration | None:
        if isinstance(declaration, Schema) and declaration.name == old.name:
            return _schema(declaration, new)
        if isinstance(declaration, Statement) and declaration.insert_into == old.statement:
            return replace(declaration, annotations=_looking(declaration, new.look))
        return None

    for place, declaration in enumerate(tree.declarations):
        if written := changed(declaration):
            declared = tree.declarations
            return _edits(text, tree, (*declared[:place], written, *declared[place + 1 :]))
    return ()


def _edits(text: Text, tree: ProgramTree, new: tuple[Declaration, ...]) -> tuple[Edit, ...]:
    return edits_for(text.text, replace(tree, declarations=new), DEFAULT, text.file)


def _schema(old: Schema, new: Form) -> Schema:
    if not new.name.strip():
        refuse("a type needs a name")
    annotations = _looking(old, new.look)
    if new.time != _time_of(old):
        annotations = _noted(annotations, _TIME, _time(new))
    return replace(
        old,
        attributes=tuple(_attribute(*each) for each in new.attributes),
        inherits=new.inherits,
        annotations=annotations,
    )


def _time(form: Form) -> tuple[tuple[str, str], ...]:
    if form.time is None:
        return ()
    return ("attribute", form.time[0]), ("unit", form.time[1])


def _attribute(name: str, type: str) -> Attribute:
    """As it is read, which knows all types."""
    if not name.strip():
        refuse("a property needs a name")
    what = f"the type of '{name}'"
    found = read_declaration(f"create schema X ({print_name(name)} {type}\n)", what)
    is_one = isinstance(found, Schema) and len(found.attributes) == 1
    if not is_one or not isinstance(found, Schema) or found.inherits:
        refuse(f"{what}: this is more than belongs here")
    return found.attributes[0]


def _looking(declaration: Schema | Statement, new: Look) -> tuple[Annotation, ...]:
    annotations, old = declaration.annotations, look_of(declaration)
    told = ((DESCRIPTION, old.description, new.description), (ICON, old.icon, new.icon))
    for name, was, now in told:
        if was != now.strip():
            annotations = _noted(annotations, name, ((None, now.strip()),) if now.strip() else ())
    return annotations


def _noted(
    annotations: tuple[Annotation, ...], name: str, arguments: tuple[tuple[str | None, str], ...]
) -> tuple[Annotation, ...]:
    """With an annotation in place of the one that was there; without one where it says nothing."""
    new = (Annotation(name, arguments),) if arguments else ()
    for place, old in enumerate(annotations):
        if old.name.lower() == name.lower():
            return (*annotations[:place], *new, *annotations[place + 1 :])
    later = _ORDER[_ORDER.index(name.lower()) + 1 :]
    places = (n for n, a in enumerate(annotations) if a.name.lower() in later)
    end = next(places, len(annotations))
    return (*annotations[:end], *new, *annotations[end:])


# Other names.


def _renamed_at(
    texts: Sequence[Text], tree: ProgramTree, file: str, old: Form, new: Form
) -> tuple[int, str] | None:
    """Where a name stands that the form gives as another one, and that; one name changes at a time."""
    documents = Workspace(texts)
    if old.name != new.name:
        for found in documents.occurrences:
            symbol = found.symbol
            is_it = symbol.kind is Kind.TYPE and symbol.name == old.name
            if is_it and not found.is_implied and found.span.file == file:
                start, _ = documents.documents[file].range(found.span)
                return start, new.name
        refuse(f"'{old.name}' cannot be renamed now", "mend the text first")
    schema = next((s for s in tree.schemas if s.name == old.name), None)
    if schema is None or len(old.attributes) != len(new.attributes):
        return None
    pairs = zip(old.attributes, new.attributes, schema.places, strict=False)
    for (was, _), (now, _), span in pairs:
        if was != now:
            if not now.strip():
                refuse("a property needs a name")
            start, _ = documents.documents[file].range(span)
            return start, now
    return None
