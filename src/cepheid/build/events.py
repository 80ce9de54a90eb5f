"""Atomic and complex events in Python. Each of them is called, as in VEPL, to stand in a form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from cepheid.build.checks import name, refuse
from cepheid.build.declarations import Declaration, DeclarationTree, event_time_annotation
from cepheid.build.expressions import Operand, conjunction
from cepheid.build.forms import Form, node, occurs
from cepheid.core.types import SCALARS, STRING, Attribute, DataType, EventRef, is_scalar
from cepheid.core.values import shown
from cepheid.errors import error, is_slip, suggest
from cepheid.io.type_arguments import GivenAttribute, data_type
from cepheid.lang import OF_FORMS
from cepheid.pattern.policy import CHRONICLE, CONTEXTS
from cepheid.program.occurrences import counted_parameters, deriving
from cepheid.program.tree import (
    Annotation,
    MatchChange,
    PatternSource,
    ProgramTree,
    QueryChange,
    Schema,
    Statement,
)

ContextName: TypeAlias = Literal["chronicle", "immediate", "strict"]


@dataclass(frozen=True, slots=True, repr=False)
class AtomicEvent(Declaration):
    """An event that comes from outside; called, it is the form of one such event."""

    tree: Schema

    def check(self, *conditions: Operand) -> AtomicEvent:
        """An event that fails a check does not exist for complex events.

        >>> print(cep.atomic_event("invalid", cpu="int").check(cep.col("cpu") > 0))
        atomicEvent invalid(cpu: int) { check cpu > 0 }
        """
        if self.tree.query is not None:
            hint = "put the condition into the query"
            refuse("usage", f"the query event '{self.tree.name}' has no check", hint)
        before = () if self.tree.check is None else (self.tree.check,)
        if not conditions:
            refuse("usage", "no condition", "write for example cep.col('x') > 5")
        found = conjunction((*before, *conditions))
        return replace(self, tree=replace(self.tree, check=found))

    def __call__(self, *parameters: str, **named: str) -> Form:
        """An event of this kind in a form: names for all its attributes, in their order or by theirs.

        >>> invalid = cep.atomic_event("invalid", host="string", cpu="int")
        >>> print(invalid("h", "_"), "|", invalid(host="h"), "|", invalid())
        invalid(h, _) | invalid(h, _) | invalid
        """
        return _called(self.tree, parameters, named)

    def __str__(self) -> str:
        return OF_FORMS.print_declaration(self.tree)


@dataclass(frozen=True, slots=True, repr=False)
class ComplexEvent(Declaration):
    """An event that is derived; called, it is the form of all that it consists of."""

    tree: Statement
    schema: Schema

    @property
    def trees(self) -> tuple[DeclarationTree, ...]:
        return (self.schema, self.tree)

    def in_context(self, context: ContextName, *, is_global: bool = False) -> ComplexEvent:
        """Which of the possible matches are chosen; `is_global`: over all values of its parameters.

        >>> twice = cep.complex_event("twice", cep.occurs("A").times(2))
        >>> print(twice.in_context("strict", is_global=True))
        complexEvent twice() {
            as A{2}
            context strict global
        }
        """
        known = dict.fromkeys(known for known, _ in CONTEXTS)
        if context not in known:
            refuse(
                "usage", f"no context {shown(context)}", suggest(str(context), known, "contexts")
            )
        source = self.tree.source
        assert isinstance(source, PatternSource)
        chosen = replace(source, policy=CONTEXTS[context, bool(is_global)])
        return replace(self, tree=replace(self.tree, source=chosen))

    def __call__(self, *parameters: str, **named: str) -> Form:
        """Such an event in the form of another one: names for all its parameters."""
        return _called(self.schema, parameters, named)

    def _annotated(self, *annotations: Annotation) -> ComplexEvent:
        """The name that it has from its type stays the last."""
        own = self.tree.annotations[-1]
        others = list(annotations)
        others.remove(own)
        return replace(self, tree=replace(self.tree, annotations=(*others, own)))

    def __str__(self) -> str:
        return OF_FORMS.print_program(ProgramTree(self.trees)).rstrip()


def atomic_event(
    type: str,
    parameters: Mapping[str, GivenAttribute] | None = None,
    /,
    *,
    event_time: str | tuple[str, str] | None = None,
    **more: GivenAttribute,
) -> AtomicEvent:
    """Declares an event that comes from outside, and its parameters.

    >>> print(cep.atomic_event("invalid", host="string", cpu="int"))
    atomicEvent invalid(host: string, cpu: int)
    """
    schema = _schema(type, {**(parameters or {}), **more})
    notes = () if event_time is None else (event_time_annotation(event_time),)
    return AtomicEvent(replace(schema, annotations=notes, disturbs=True))


def query_event(
    type: str,
    query: str,
    parameters: Mapping[str, GivenAttribute] | None = None,
    /,
    *,
    arguments: Iterable[str] | None = None,
    change: MatchChange = "found",
    **more: GivenAttribute,
) -> AtomicEvent:
    """Declares an event that tells of the matches of a graph query that are found, lost or updated.

    Its arguments are the parameters of the event, in their order, unless they are given; `"_"` is any.

    >>> print(cep.query_event("mended", "tooMuchFree", host="Host", change="lost"))
    queryEvent mended(host: Host) as tooMuchFree(host) lost
    """
    schema = _schema(type, {**(parameters or {}), **more})
    known = [attribute.name for attribute in schema.attributes]
    changes = get_args(MatchChange)
    if change not in changes:
        refuse("usage", f"no change {shown(change)}", suggest(str(change), changes, "changes"))
    given = known if arguments is None else [name(a, "an argument") for a in arguments]
    asked = tuple(None if argument == "_" else argument for argument in given)
    for argument in asked:
        if argument is not None and argument not in known:
            hint = suggest(argument, known, "parameters")
            refuse("wrong-arguments", f"{type} has no parameter '{argument}'", hint)
    found = QueryChange(name(query, "a query"), asked, change)
    return AtomicEvent(replace(schema, disturbs=True, query=found))


def complex_event(
    type: str,
    form: Form,
    parameters: Mapping[str, GivenAttribute] | None = None,
    /,
    **more: GivenAttribute,
) -> ComplexEvent:
    """Declares an event that is derived from others, in the context chronicle at first.

    >>> a, b = (cep.atomic_event(name, k="int") for name in "AB")
    >>> print(cep.complex_event("pair", a("k").then(b("k")), k="int"))
    complexEvent pair(k: int) {
        as A(k) -> B(k)
    }
    """
    schema = _schema(type, {**(parameters or {}), **more})
    found = node(form)
    fact = OF_FORMS.excess(found)
    if fact:
        refuse("too-deep", fact)
    return ComplexEvent(deriving(schema, found, CHRONICLE), schema)


def _schema(type: str, given: Mapping[str, GivenAttribute]) -> Schema:
    types = {name(parameter, "a parameter"): _type(parameter, t) for parameter, t in given.items()}
    return Schema(
        name=name(type, "an event type"),
        attributes=tuple(
            Attribute(parameter, STRING if isinstance(found, str) else found)
            for parameter, found in types.items()
        ),
        objects=tuple((p, found) for p, found in types.items() if isinstance(found, str)),
    )


def _type(parameter: str, given: GivenAttribute) -> DataType | str:
    """A type, or the name of a class of live models, whose objects go by their names."""
    found = data_type(given)
    if is_scalar(found):
        return found
    hint = suggest(str(given), SCALARS, "types")
    fact = f"'{parameter}' has no type of parameters: {shown(given)}"
    is_slip_of_type = is_slip(error("unknown-type", fact, hint=hint)) and str(given)[:1].islower()
    if not isinstance(found, EventRef) or is_slip_of_type:
        refuse("unknown-type", fact, hint)
    return found.name


def _called(schema: Schema, parameters: Sequence[str], named: Mapping[str, str]) -> Form:
    known = [attribute.name for attribute in schema.attributes]
    usage = f"write {schema.name}({', '.join(known)}), with '_' for any value"
    if parameters and named:
        refuse("usage", "parameters are given in their order or by their names, not both", usage)
    for given in named:
        if given not in known:
            hint = suggest(given, known, "parameters")
            refuse("wrong-arguments", f"{schema.name} has no parameter '{given}'", hint)
    if parameters and len(parameters) != len(known):
        fact = f"{schema.name} has {counted_parameters(len(known))}, not {len(parameters)}"
        refuse("wrong-arguments", fact, usage)
    in_order = [named.get(each, "_") for each in known] if named else parameters
    return occurs(schema.name, *in_order)
