"""Why a statement gave no row."""

from __future__ import annotations

from collections.abc import Collection

from cepheid.absence.answer import Absence
from cepheid.absence.explain import Explainer
from cepheid.absence.inquiry import MOST_PARTS
from cepheid.absence.question import Question
from cepheid.absence.recording import record
from cepheid.core.time import Instant, format_instant
from cepheid.engines.common.clock import Time, extent_of, instant_of
from cepheid.engines.common.intake import Intake
from cepheid.engines.common.judging import rules_for
from cepheid.engines.common.notes import emit
from cepheid.engines.common.progress import Progress, no_progress
from cepheid.engines.common.request import RunRequest
from cepheid.errors import Diagnostic, ProgramError, Span, UsageError, error, suggest
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Expr
from cepheid.io.source import placement
from cepheid.pattern.tree import Pattern
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.verbs.arguments import MAKE_ONE, count, expect
from cepheid.verbs.program import Program


def explain_absence(
    program: Program,
    events: object,
    statement: str,
    *,
    at: Time | None = None,
    between: tuple[Time, Time] | None = None,
    event: int | None = None,
    start: Time | None = None,
    end: Time | None = None,
    zone: str | None = None,
    optional: Collection[str] = (),
    most: int = MOST_PARTS,
    progress: Progress = no_progress,
) -> Absence:
    """Why a statement gave no row at a time, between two, with the `event`-th event, or ever.

    `events` is what `cep.run` takes: a path, dictionaries, a table, or a tuple of several sources. The
    answer has obstacles: the smallest sets of parts of the statement without which it would have given a
    row, the nearest to a row first; sets of up to `most` parts are all tried. If it gave rows, the
    answer has these instead.
    """
    expect(program, Program, "a program", MAKE_ONE)
    if sum(each is not None for each in (at, between, event)) > 1:
        raise UsageError(error("usage", "one time is asked for", hint="at, between or event"))
    expect(statement, str, "the name of a statement")
    is_pair = isinstance(between, tuple | list) and len(between) == 2
    if between is not None and not is_pair:
        raise UsageError(error("usage", "between is two times", hint="between=(first, last)"))
    count(most, "most")
    _expect_explained(program, statement)
    first, last = extent_of(start, end)
    request = RunRequest(
        program=program.resolve(),
        sources=events if isinstance(events, tuple) else (events,),
        rules=rules_for(program.resolve(), optional),
        placement=placement(None, None, None, None, None, zone),
        start=first,
        end=last,
        progress=progress,
    )
    with program.sources_told():
        intake = request.take_in()
        emit(intake.notes)
        question = _question(intake, at, between, event)
        assert intake.first is not None
        asked = next(s for s in intake.program.statements if s.name == statement)
        recording = record(
            _behind(intake.program, asked), intake.events, intake.first, question.last
        )
        return Explainer(recording, lambda span, node: _text(program, span, node), most).explain(
            asked, question
        )


def _expect_explained(program: Program, name: str) -> None:
    """UsageError where there is no such statement, ProgramError where its kind is not explained."""
    tree = program.tree
    others = (*tree.classes, *tree.rules, *tree.queries, *tree.fixes)
    statements = {statement.name for statement in program.resolve().statements}
    found = next((each for each in others if each.name == name), None)
    if found is None and name in statements and tree.classes:
        found = tree.classes[0]
    if found is not None and (name not in statements or tree.classes):
        fact = f"'{found.name}' is no pattern over events, and what it gives is not explained"
        problem = error("not-explained", fact, found.span, "ask of a statement in EPL or VEPL")
        with program.sources_told():
            raise ProgramError(problem)
    if name not in statements:
        hint = suggest(name, statements, "statements")
        raise UsageError(error("usage", f"no statement is called '{name}'", hint=hint))


def _behind(program: ResolvedProgram, asked: ResolvedStatement) -> ResolvedProgram:
    """The statement, and all whose events lead to it."""
    names: set[str] = set()
    waiting = [asked]
    while waiting:
        statement = waiting.pop()
        if statement.name not in names:
            names.add(statement.name)
            taken = statement.arriving(program.types)
            waiting += (each for each in program.statements if each.target in taken)
    return program.part(names)


def _question(
    intake: Intake,
    at: Time | None,
    between: tuple[Time, Time] | None,
    event: int | None,
) -> Question:
    first, last = intake.first, intake.last
    if first is None or last is None:
        raise UsageError(error("usage", "there are no events, and so no time to ask for"))
    if event is not None:
        ordered = sorted(intake.events, key=lambda each: each.sequence)
        if count(event, "event") > len(ordered):
            fact = f"there is no event {event}: the input has {len(ordered)}"
            raise UsageError(error("usage", fact, hint="events are counted from 1"))
        meant = ordered[event - 1]
        return Question(meant.instant, meant.instant, meant)
    if at is not None:
        instant = instant_of(at, "at")
        return _in_time(Question(instant, instant), first, last)
    if between is not None:
        begin, finish = (instant_of(each, "between") for each in between)
        if begin > finish:
            fact = f"{format_instant(begin)} is after {format_instant(finish)}"
            raise UsageError(error("usage", fact, hint="name the earlier time first"))
        return _in_time(Question(begin, finish), first, last)
    return Question(first, last)


def _in_time(question: Question, first: Instant, last: Instant) -> Question:
    """The part of the time asked for in which the clock runs; UsageError where there is none."""
    if question.first > last or question.last < first:
        fact = "the time asked for is not between the first and the last event"
        told = f"the clock runs from {format_instant(first)} to {format_instant(last)}"
        raise UsageError(_with_hint(fact, told))
    return Question(max(question.first, first), min(question.last, last))


def _with_hint(fact: str, hint: str) -> Diagnostic:
    return error("usage", fact, hint=f"{hint}; `end` lets it run on")


def _text(program: Program, span: Span | None, node: Expr | Pattern | None) -> str:
    """What stands in the text; of a program that was made in Python, what would stand there."""
    found = program.text_at(span)
    if found or node is None:
        return found
    return (
        print_expr(node)
        if isinstance(node, Expr)
        else program.language_at(span).print_pattern(node)
    )
