"""Programs in graphs: what statements derive can be read like what operators make.

Each source is an event type of its name. Of a program, each type that a consumer or an operator reads
becomes an operator, with just the statements behind it, so that these have the priority of who reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cepheid.core.types import EventType
from cepheid.engines.common.intake import runnable
from cepheid.errors import Diagnostic, InputError, Severity, error, suggest
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.statements import span_of_type
from cepheid.realtime.graph import Graph, Operator
from cepheid.realtime.operators.statements import STATEMENT, derivation
from cepheid.realtime.payload import Payload
from cepheid.verbs.program import Program


def with_statements(graph: Graph, program: Program) -> Graph:
    """The graph with an operator for each type of the program that something in it reads.

    ProgramError where something is wrong with the program itself; InputError where statements read what
    there is not, or derive what there is already.
    """
    resolved = runnable(resolved_in(graph, program))
    read = [
        *(name for each in graph.operators for name in each.inputs),
        *(each.input for each in graph.consumers),
    ]
    made: list[Operator] = []
    for name in dict.fromkeys(read):
        found = derivation(program, resolved, name, graph.sources)
        if found is not None:
            part, types = found
            parameters = {"program": part, "type": name, "types": types}
            made.append(
                Operator(
                    name=name, kind=STATEMENT, inputs=types, parameters=parameters, ready_on="any"
                )
            )
    problems = [*_clashes(graph, resolved), *_unknown(graph, resolved, made)]
    if problems:
        raise InputError(*problems)
    return replace(graph, operators=(*graph.operators, *made))


def resolved_in(graph: Graph, program: Program) -> ResolvedProgram:
    """A program that knows of the sources, though not yet what these carry."""
    sources = {name: EventType(name, (), is_open=True) for name in graph.sources}
    return resolve_program(program.tree, {**sources, **program.types})


def findings(
    program: Program, graph: Graph, payloads: Mapping[str, Payload]
) -> Sequence[Diagnostic]:
    """What `cepheid check` warns of, now that it is known what statements are fed; its notes are about
    programs by themselves."""
    fed = [name for each in graph.operators if each.kind == STATEMENT for name in each.inputs]
    declared = {each.name for each in program.tree.schemas}
    told = {name: payloads[name].attributes for name in fed if name not in declared}
    typed = Program(
        program.tree,
        {**program.types, **told},
        program.sources,
        program.warnings,
        program.languages,
    )
    return [each for each in typed.check() if each.severity is not Severity.NOTE]


def _clashes(graph: Graph, program: ResolvedProgram) -> Iterator[Diagnostic]:
    for statement in program.statements:
        if statement.target in graph.sources:
            fact = f"a statement derives '{statement.target}', which is a source of the graph"
            yield error("bad-graph", fact, statement.tree.span)


def _unknown(graph: Graph, program: ResolvedProgram, made: list[Operator]) -> Iterator[Diagnostic]:
    fed = dict.fromkeys(name for operator in made for name in operator.inputs)
    for name in (each for each in fed if each not in graph.sources):
        reader = next(each for each in program.statements if name in each.inputs)
        fact = f"a statement reads '{name}', which is no supplier and no operator"
        place = span_of_type(reader.tree, name)
        yield error("bad-graph", fact, place, suggest(name, graph.sources, "sources"))
