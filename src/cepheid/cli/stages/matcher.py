"""The machine form of the statements that the compiled matcher runs, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from cepheid.cli.terminal.console import counted
from cepheid.engines.common.intake import runnable, with_schemas
from cepheid.errors import ProgramError
from cepheid.matcher.compiling.listing import Code, ListedNode, ListedStatement, list_form
from cepheid.matcher.compiling.machine_program import MachineProgram
from cepheid.matcher.gaps import NotCompiled, left_to_reference
from cepheid.matcher.lanes.plan import EACH, uncompiled
from cepheid.matcher.parts import parts_of_pushes, ways_of
from cepheid.program.resolved import ResolvedProgram
from cepheid.verbs import Program
from cepheid.verbs.pipeline import lower


def text(program: Program) -> Iterator[RenderableType]:
    """What is left to the reference semantics, where each attribute lies, then the statements."""
    resolved = program.resolve()
    left = left_to_reference(resolved)
    for name, reasons in left.items():
        yield Text(f"{name} is left to the reference semantics: {', '.join(reasons)}")
    for name, reason in _uncompiled(resolved).items():
        place = "" if reason.span is None else f" at {reason.span.line}:{reason.span.column}"
        yield Text(f"{name} does not take whole batches either: {reason}{place}")
    count = f"{len(left)} of {counted(len(resolved.statements), 'statement')}"
    yield Text(f"left to the reference semantics: {count}")
    if lanes := _lanes(resolved):
        kinds = ", ".join(f"{name} as a {kind}" for name, kind in lanes.items())
        yield Text(f"batches run whole: {kinds}; single events {_of_single_events(resolved)}")
    form = machine_program(resolved)
    if form is None:
        return
    yield Text("slots: " + ", ".join(f"{n} {name} {type}" for n, name, type in _slots(form)))
    for statement in list_form(form):
        yield ""
        yield Text("\n".join(_lines(statement, program)))


def _of_single_events(program: ResolvedProgram) -> str:
    if not left_to_reference(program):
        return "run on the machine below"
    if parts_of_pushes(program):
        return "run on the machine below, or are left to the reference semantics"
    return "are left to the reference semantics"


def _can_run(program: ResolvedProgram) -> bool:
    try:
        with_schemas(runnable(program))
    except ProgramError:
        return False
    return True


def machine_program(program: ResolvedProgram) -> MachineProgram | None:
    """Of the statements that the matcher can run, once their types are known."""
    if not _can_run(program):
        return None
    names = {s.name for s in program.statements} - left_to_reference(program).keys()
    return lower(program.part(names)) if names else None


def _lanes(program: ResolvedProgram) -> dict[str, str]:
    """As what each statement takes whole batches; nothing if one of them cannot."""
    ways = ways_of(program) if _can_run(program) else {}
    return {name: way.kind for name, way in ways.items() if way.kind != EACH}


def _uncompiled(program: ResolvedProgram) -> dict[str, NotCompiled]:
    return uncompiled(program) if _can_run(program) else {}


def _slots(form: MachineProgram) -> list[tuple[int, str, str]]:
    return [(slot, name, str(type)) for (name, type), slot in form.slots.items()]


def _lines(statement: ListedStatement, program: Program) -> Iterator[str]:
    yield statement.name
    for node in statement.nodes:
        indent = "  " * (node.depth + 1)
        yield f"{indent}{node.number} {' '.join(filter(None, _described_node(node, program)))}"
        yield from _code_lines(node.code, indent + "    ")
    yield from _code_lines(statement.code, "  ")


def _described_node(node: ListedNode, program: Program) -> tuple[str, ...]:
    steps = ", ".join(_steps(node, program))
    return node.kind, f"{steps};" if steps and node.detail else steps, node.detail


def _code_lines(code: Code, indent: str) -> Iterator[str]:
    for name, instructions in code.items():
        yield f"{indent}{name}"
        yield from (f"{indent}{line}" for line in instructions.splitlines())


def _steps(node: ListedNode, program: Program) -> list[str]:
    return [program.language_at(step.span).print_pattern(step) for step in node.steps]


def data(program: Program) -> dict[str, object]:
    resolved = program.resolve()
    left = left_to_reference(resolved)
    form = machine_program(resolved)
    return {
        "reference": left,
        "lanes": _lanes(resolved),
        "uncompiled": {name: str(reason) for name, reason in _uncompiled(resolved).items()},
        "slots": [{"name": n, "type": t} for _, n, t in _slots(form)] if form else [],
        "statements": [_described(s, program) for s in list_form(form)] if form else [],
    }


def _described(statement: ListedStatement, program: Program) -> dict[str, object]:
    return {
        "name": statement.name,
        "nodes": [
            {
                "node": node.number,
                "depth": node.depth,
                "kind": node.kind,
                "detail": node.detail,
                "steps": _steps(node, program),
                "code": _split(node.code),
            }
            for node in statement.nodes
        ],
        "code": _split(statement.code),
    }


def _split(code: Code) -> dict[str, list[str]]:
    return {name: [line.strip() for line in text.splitlines()] for name, text in code.items()}
