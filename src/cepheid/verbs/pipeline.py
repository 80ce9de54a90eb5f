"""The way of a program, from its texts to its rows.

    texts --parse--> tree --resolve--> typed program --check--> findings
                                          |
                                          +--normalize--> normal form --plan---> keys, retention, stages
                                          |                           --lower--> machine code
                                          +--run--> rows

Each step is a function here; `cepheid explain --stage` prints what it gives. Nothing is kept
between steps: a program is its tree, and everything else is worked out from that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.analysis.findings import ANALYSES, check_program, grouped
from cepheid.analysis.lifespans import Derivation, derivations
from cepheid.analysis.plan import StatementPlan, plan_program
from cepheid.core.types import EventType
from cepheid.engines.common.judging import null_derived_keys
from cepheid.engines.common.request import Outcome, RunRequest
from cepheid.engines.registry import Engine
from cepheid.errors import Diagnostic, Severity
from cepheid.formal import witnesses
from cepheid.lang.language import Text
from cepheid.matcher.gaps import left_to_reference
from cepheid.pattern.algebra import Occurrence
from cepheid.pattern.automaton import Automaton
from cepheid.program.allowances import with_places, without_allowed
from cepheid.program.graph import Graph, graph_of
from cepheid.program.normal import NormalProgram
from cepheid.program.normal import normalize as normal_form
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.tree import ProgramTree
from cepheid.semantics.construction import automaton_of

if TYPE_CHECKING:
    from cepheid.matcher.compiling.machine_program import MachineProgram

RACES = "races"
CHECKS = (*ANALYSES, RACES)  # what can be left out of a check


def parse(texts: Iterable[Text]) -> tuple[ProgramTree, list[Diagnostic]]:
    """`--stage parse`: one tree of all texts, and what is wrong with them."""
    tree, problems = ProgramTree(), list[Diagnostic]()
    for each in texts:
        parsed = each.language.parse(each.text, each.file)
        tree += parsed.tree
        problems += parsed.problems
    return tree, problems


def resolve(tree: ProgramTree, types: Mapping[str, EventType]) -> ResolvedProgram:
    """`--stage program` and `types`: every name and type is known, or a problem."""
    return resolve_program(tree, types)


def depend(program: ResolvedProgram) -> Graph:
    """`--stage graph`: which statement takes what another derives."""
    return graph_of(program)


def check(
    tree: ProgramTree,
    types: Mapping[str, EventType],
    without: Collection[str] = (),
    read: Sequence[Diagnostic] = (),
) -> Sequence[Diagnostic]:
    """`cepheid check`: what can be said before it runs, beside what was said when it was read.

    Races are looked for only where the rest is in order.
    """
    tree = with_places(tree)
    findings = [*read, *check_program(tree, types, without)]
    is_sound = not any(f.severity is Severity.ERROR for f in findings)
    if RACES not in without and is_sound:
        findings += witnesses.find(depend(resolve(tree, types)))
    left = without_allowed(tree, findings, tell_unused=is_sound and not without)
    return grouped(left)


def normalize(program: ResolvedProgram) -> NormalProgram:
    """`--stage normal`: the sources of statements in few kinds of nodes that say what they do."""
    return normal_form(program)


def automata(program: ResolvedProgram) -> dict[str, Automaton | None]:
    """`--stage automaton`: what can be left of each complex event; other statements have none."""
    return {
        statement.name: automaton_of(statement.pattern, program.types)
        if isinstance(statement.pattern, Occurrence)
        else None
        for statement in program.statements
    }


def plan(program: ResolvedProgram) -> tuple[StatementPlan, ...]:
    """`--stage plan`: by what events can be split, how long they matter, and what runs them.

    What the matcher does not know in one statement makes the reference run all of them.
    """
    return plan_program(program, "reference" if left_to_reference(program) else "matcher")


def live(program: ResolvedProgram) -> tuple[Derivation, ...]:
    """`--stage lifespans`: how long windows keep the events of classes, and what that follows from.

    Of programs that can run; classes that derive each other have no life spans.
    """
    return tuple(derivations(program.classes)) if program.can_run else ()


def lower(program: ResolvedProgram) -> MachineProgram:
    """`--stage matcher` and `memory`: the code of the compiled matcher, and what it begins with.

    Only for programs of which the matcher lacks nothing.
    """
    from cepheid.matcher.compiling.lowering import lower as lower_program

    return lower_program(program)


def run(engine: Engine, request: RunRequest) -> Outcome:
    """`cepheid run`: the rows of a program over bounded input, the same on every engine."""
    outcome = engine.run(request)
    return replace(
        outcome, notes=(*outcome.notes, *null_derived_keys(outcome.program, outcome.rows))
    )
