"""Statements as operators: patterns and queries over the events of a graph, in any language of programs.

Each source is an event type of its name. An event happens when its validity begins, or when the clock of
the statements has reached a later time already: events come in the order in which they are worked on.
What is derived is an array of float64 where all attributes are numbers or truth values, with NaN for null,
and else of objects, which only consumers take.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from cepheid.core.event import Event
from cepheid.core.time import SECOND
from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    DataType,
    EventType,
    fits,
    is_numeric,
    lineage,
)
from cepheid.engines.common.intake import happens
from cepheid.engines.common.session import Session
from cepheid.errors import Diagnostic, ProgramError, error
from cepheid.io.type_arguments import data_type
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.tree import ProgramTree, Schema, Statement
from cepheid.realtime.operators.kind import (
    Array,
    Inputs,
    Kind,
    KindError,
    Made,
    Parameter,
    Parameters,
    State,
    Work,
    text,
)
from cepheid.realtime.payload import OBJECT, Payload
from cepheid.verbs.program import Program
from cepheid.verbs.running import open as open_session

STATEMENT = "statement"


def derivation(
    program: Program, resolved: ResolvedProgram, type: str, known: Collection[str]
) -> tuple[Program, tuple[str, ...]] | None:
    """The part of a program that derives a type, and the types that it is fed; None where none does.

    `known` are the sources that there are to feed it.
    """
    needed, fed = _needed(resolved, type, known)
    if not needed:
        return None
    kept = tuple(
        declaration
        for declaration in program.tree.declarations
        if not isinstance(declaration, Statement) or declaration in needed
    )
    tree = ProgramTree(kept, program.tree.functions)
    part = Program(tree, program.types, program.sources, (), program.languages)
    return part, tuple(name for name in resolved.types if name in fed)


def _needed(
    program: ResolvedProgram, type: str, known: Collection[str]
) -> tuple[list[Statement], set[str]]:
    makers: dict[str, list[ResolvedStatement]] = {each.target: [] for each in program.statements}
    for each in program.statements:
        makers[each.target].append(each)
    if type not in makers:
        return [], set()
    needed: list[Statement] = []
    asked, queue = {type}, [type]
    while queue:
        for statement in makers.get(queue.pop(), ()):
            needed.append(statement.tree)
            taken = {*_taken(statement, program.types, {*known, *makers})} - asked
            asked |= taken
            queue += taken
    return needed, asked - makers.keys()


def _taken(
    statement: ResolvedStatement, types: Mapping[str, EventType], known: Collection[str]
) -> Iterator[str]:
    """The types whose events it takes: of those that it names and of their heirs, what there is."""
    for name in statement.inputs:
        heirs = [each for each in types if name in lineage(each, types) and each in known]
        yield from heirs or [name]


def _make(parameters: Parameters, inputs: tuple[Payload, ...]) -> tuple[Payload, Work]:
    """ProgramError where the statements do not fit the events that they are fed."""
    import numpy as np

    types: tuple[str, ...] = parameters["types"]
    if len(types) != len(inputs):
        raise KindError("it has a type for each input", parameter="types")
    program = _typed(parameters["program"], dict(zip(types, inputs, strict=True)))
    open_session(program)  # refuses what no session runs
    resolved = program.resolve()
    if parameters["type"] not in {each.target for each in resolved.statements}:
        raise KindError(f"no statement derives '{parameters['type']}'", parameter="type")
    target = resolved.types[parameters["type"]]
    readers = [_reader(each, resolved.types[n]) for n, each in zip(types, inputs, strict=True)]
    # What a source is called in the graph need not be its type: copies of sources have other names.
    places = {source: place for place, source in enumerate(parameters["sources"])}
    names = [each.name for each in target.attributes]
    are_numbers = all(is_numeric(each.type) or each.type == BOOLEAN for each in target.attributes)

    @cache
    def warm_up() -> None:
        """The first event loads and compiles what statements need, and takes a second."""
        session = open_session(program)
        for read, name, payload in zip(readers, types, inputs, strict=True):
            values = read(np.zeros(payload.size, payload.dtype))
            session.take(Event(name, 0, values))

    def begin() -> State:
        warm_up()
        return open_session(program)

    def step(session: State, inputs: Inputs) -> Made:
        (sample,) = inputs
        place = places[sample.source]
        clock = session.runner.clock
        instant = sample.begin * SECOND // 1_000_000_000
        instant = instant if clock is None else max(instant, clock)
        rows = session.take(
            Event(types[place], instant, readers[place](sample.value), session.sent)
        )
        derived = [row for row in rows if row.type == target.name and happens(row)]
        return session, [_array([row[name] for name in names], are_numbers) for row in derived]

    made = Payload("float64" if are_numbers else OBJECT, len(names), tuple(names))
    return made, Work(step, begin, freeze=_freeze, thaw=lambda saved: _thaw(program, saved))


def _typed(program: Program, inputs: Mapping[str, Payload]) -> Program:
    """The program, told of the sources that it does not declare itself."""
    for name, payload in inputs.items():
        if not payload.attributes:
            raise KindError(
                f"statements take real numbers, and the events of '{name}' are {payload}"
            )
    schemas = {each.name: each for each in program.tree.schemas}
    untold = {name: each.attributes for name, each in inputs.items() if name not in schemas}
    typed = Program(
        program.tree, {**program.types, **untold}, program.sources, (), program.languages
    )
    told = typed.resolve().types
    problems = [
        problem
        for name in inputs.keys() & schemas.keys()
        for problem in _contradictions(schemas[name], told[name], inputs[name])
    ]
    if problems:
        raise ProgramError(*problems)
    return typed


def _contradictions(schema: Schema, type: EventType, payload: Payload) -> Iterator[Diagnostic]:
    given = {name: data_type(each) for name, each in payload.attributes.items()}
    for attribute in type.attributes:
        if attribute.name not in given:
            fact = f"'{type.name}' has no '{attribute.name}' in the graph"
        elif not fits(given[attribute.name], attribute.type):
            fact = f"'{attribute.name}' of '{type.name}' is {given[attribute.name]} in the graph"
        else:
            continue
        hint = ", ".join(f"{name} {each}" for name, each in given.items())
        yield error("bad-graph", fact, schema.span, f"create schema {type.name} ({hint})")


def _freeze(session: Session) -> bytes | None:
    return session.save() if session.clock is not None else None


def _thaw(program: Program, saved: bytes | None) -> State:
    return open_session(program, state=saved)


def _reader(payload: Payload, type: EventType) -> Callable[[Array], dict[str, Any]]:
    """What turns an array into attributes."""
    declared: dict[str, DataType] = {each.name: each.type for each in type.attributes}
    names = tuple(payload.attributes)
    if payload.size > 1 and not payload.fields:
        return lambda value: {"values": value.tolist()}
    wider = [name for name in names if declared.get(name) in (FLOAT, DOUBLE)]

    def read(value: Array) -> dict[str, Any]:
        found = dict(zip(names, value.tolist(), strict=True))
        return found | {name: float(found[name]) for name in wider}

    return read


def _array(values: Sequence[Any], are_numbers: bool) -> Array:
    import numpy as np

    if are_numbers:
        return np.array([float("nan") if each is None else each for each in values], np.float64)
    found = np.empty(len(values), object)
    for place, each in enumerate(values):  # one by one: NumPy would look into lists
        found[place] = each
    return found


def _program(value: Any) -> Program:
    if not isinstance(value, Program):
        raise ValueError("is a program")
    return value


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, tuple) or not all(isinstance(each, str) for each in value):
        raise ValueError("are names")
    return value


STATEMENTS = Kind(
    STATEMENT,
    "a pattern or query of a program, over events of sources",
    _make,
    {
        "program": Parameter(_program, is_needed=True),
        "type": Parameter(text, is_needed=True),
        "types": Parameter(_names, is_needed=True),  # of the inputs
    },
    inputs=(1, None),
    is_stateful=True,
)
