"""The public verbs: text becomes a program, a program is checked, run, or opened for events.

The whole pipeline in one place:

    text --parse--> tree --resolve--> typed program --check--> findings
                                           |
                                           +--run--> rows        (bounded input)
                                           +--open--> session    (events one at a time)
                                           +--simulate--> counts (events by chance)
                                           +--verify--> verdict  (a property, over many runs)
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal

from cepheid.analysis.findings import ANALYSES, check_program
from cepheid.analysis.races import has_open_order, priorities_by_level
from cepheid.core.event import Event
from cepheid.core.time import Instant
from cepheid.engines.local.intake import Intake, OnProblem, take_in
from cepheid.engines.local.run import Progress, no_progress, starts_at
from cepheid.engines.local.run import run as run_locally
from cepheid.engines.local.runners import Runner, open_runner
from cepheid.engines.local.session import Session, Time, instant_of
from cepheid.errors import (
    Diagnostic,
    ProgramError,
    Severity,
    UsageError,
    error,
    is_slip,
    reason_of,
    suggest,
)
from cepheid.formal import witnesses
from cepheid.io import Record, expand, fail, records_of
from cepheid.io.sources import Table, tables_of
from cepheid.io.type_arguments import GivenTypes, event_types
from cepheid.lang import LANGUAGES
from cepheid.pattern.tree import children, walk
from cepheid.program.graph import Graph, graph_of
from cepheid.program.resolve import resolve_program
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.serialize import from_json, to_json
from cepheid.program.tree import PatternSource, ProgramTree
from cepheid.result import Result, Step

if TYPE_CHECKING:
    from cepheid.core.time import Period
    from cepheid.engines.spark.run import Outcome
    from cepheid.simulation.simulate import Simulation, Where
    from cepheid.simulation.statistics import Method, Quantile
    from cepheid.simulation.verify import Verdict

CHECKS = (*ANALYSES, "races")  # what can be left out of a check
ENGINES = ("local", "reference", "petri", "maude", "spark")
SESSION_ENGINES = ("local", "reference")
RUN_ENGINES = ("local", "spark")  # where many runs are done
LARGE = 100 * 2**20  # bytes of files that are better left to Spark
SMALL = 2**17  # bytes of files whose records are read before all is loaded that columns need
_TABLE = "table:"  # names a table of the Spark session among the events


class Program:
    """A program: data, equal to any other that says the same, and printable.

    `types` are event types known from elsewhere, for those that the program does not declare: as
    dictionaries (`{"Motorbike": {"speed": "int"}}`), as Arrow schemas, or ready made.
    """

    def __init__(
        self,
        tree: ProgramTree,
        types: GivenTypes | None = None,
        sources: Mapping[str, str] | None = None,
        warnings: Sequence[Diagnostic] = (),
    ) -> None:
        self.tree = tree
        self.types = event_types(types)
        self.sources = dict(sources or {})  # file -> text, to show places in it
        self.warnings = tuple(warnings)  # what the parser found odd

    def resolve(self) -> ResolvedProgram:
        """The program with its names and types resolved, and what is wrong with it."""
        return resolve_program(self.tree, self.types)

    def check(self, *, without: Collection[str] = ()) -> list[Diagnostic]:
        """Everything that can be said about the program before it runs.

        `without` names analyses to leave out; `CHECKS` are all of them.
        """
        for name in without:
            _choose(name, CHECKS, "analysis")
        findings = [*self.warnings, *check_program(self.tree, self.types, without)]
        if "races" not in without and not any(f.severity is Severity.ERROR for f in findings):
            findings += witnesses.find(self.graph())
        return _in_order(findings, self.sources)

    def graph(self) -> Graph:
        """Which statement depends on which, in levels."""
        return graph_of(self.resolve())

    def with_priorities(self) -> Program:
        """The program with priorities by level, unless no order is left open anyway.

        Its `sources` are the texts with the priorities written into them.
        """
        graph = self.graph()
        if not has_open_order(graph):
            return self
        priorities = priorities_by_level(graph)
        texts, used = [], 0
        for file, text in self.sources.items():
            count = len(LANGUAGES["epl"].parse(text, file).tree.statements)
            written = LANGUAGES["epl"].with_priorities(text, priorities[used : used + count])
            texts.append((file, written, "epl"))
            used += count
        return _combine(texts, self.types)

    def simulate(self, scenario: object, **options: Any) -> Simulation:
        """`cep.simulate` of this program."""
        return simulate(self, scenario, **options)

    def verify(self, scenario: object, property: str | None = None, **options: Any) -> Verdict:
        """`cep.verify` of this program."""
        return verify(self, scenario, property, **options)

    def to_json(self) -> str:
        return json.dumps(to_json(self.tree), indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Program:
        try:
            data = json.loads(text)
        except ValueError as problem:
            raise UsageError(error("usage", f"this is not JSON: {problem}")) from None
        return cls(from_json(data))

    def to_text(self, language: str = "epl") -> str:
        return LANGUAGES[language].print_program(self.tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.tree == other.tree

    def __hash__(self) -> int:
        return hash(self.tree)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        count = len(self.tree.statements)
        return f"<Program: {count} statement{'' if count == 1 else 's'}>"


def parse(
    text: str,
    language: str = "epl",
    *,
    file: str | None = None,
    types: GivenTypes | None = None,
) -> Program:
    """A program from text; ProgramError with all that is wrong where its syntax is."""
    _expect(text, str, "a program's text", "cep.load reads files")
    _choose(language, LANGUAGES, "language")
    return _combine([(file or "<text>", text, language)], types)


def load(*paths: str | Path, types: GivenTypes | None = None) -> Program:
    """One program from one or several files."""
    for path in paths:
        _expect(path, str | Path, "a path", "cep.load('a.epl', 'b.epl')")
    return _combine([(str(path), read_program_text(path), "epl") for path in paths], types)


def _combine(texts: Sequence[tuple[str, str, str]], types: GivenTypes | None) -> Program:
    tree = ProgramTree()
    problems: list[Diagnostic] = []
    for file, text, language in texts:
        parsed = LANGUAGES[language].parse(text, file)
        tree += parsed.tree
        problems += parsed.problems
    program = Program(tree, types, {file: text for file, text, _ in texts}, problems)
    if any(problem.severity is Severity.ERROR for problem in problems):
        found = [*problems, *_certain(program.resolve().problems)]
        raise ProgramError(*_in_order(found, program.sources))
    return program


def _certain(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """What is wrong whatever the declarations say that could not be read.

    They may declare what seems to be missing, unless it looks like a slip for something that exists.
    """
    return [
        f
        for f in findings
        if f.severity is Severity.ERROR and (f.code not in _MISSING or is_slip(f))
    ]


_MISSING = {"unknown-type", "unknown-context", "bad-context"}


def read_program_text(path: str | Path) -> str:
    """The text of a program file; UsageError where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        fact = f"'{path}' is not UTF-8 on line {line}"
        raise UsageError(error("bad-file", fact)) from None
    except OSError as problem:
        code = "missing-file" if isinstance(problem, FileNotFoundError) else "bad-file"
        fact = f"cannot read '{path}': {reason_of(problem)}"
        raise UsageError(error(code, fact)) from None


def run(
    program: Program,
    *events: object,
    start: Time | None = None,
    engine: str = "local",
    timed_out: bool = False,
    why: bool = False,
    on_error: Literal["fail", "skip"] = "fail",
    progress: Progress = no_progress,
) -> Result:
    """Runs a program over bounded input: paths, dictionaries, Arrow tables, pandas frames.

    The engine `local` is the compiled matcher in this process, and the reference semantics for
    what that leaves to it; `reference` is the reference semantics for everything; `petri` fires the
    program's Petri net, as far as it has one; `maude` lets the real Maude rewrite its specification;
    `spark` is the running Spark session or a new one, which takes 'table:NAME', too.
    The clock starts at `start`, else at the smallest time of the input, and ends at its largest.
    `timed_out` adds a row for every partial match that `timer:within` ends; `why` keeps the events
    behind each row, down to the input; `on_error="skip"` leaves out what cannot be read and lists it in `result.skipped`.
    `progress` hears how many events are done, and of how many; None while they are read.
    """
    _expect(program, Program, "a program", _MAKE_ONE)
    _choose(engine, ENGINES, "engine")
    _choose(on_error, ("fail", "skip"), "on_error")
    skipped: list[Diagnostic] = []
    on_problem = skipped.append if on_error == "skip" else fail
    begin = None if start is None else instant_of(start)
    if why:
        _refuse(engine, {"spark": "Spark does", **_FORMAL}, "keep the events behind a row")
    if timed_out:
        _refuse(engine, _FORMAL, "report partial matches")
    if engine == "spark":
        return _on_spark(program, events, begin, on_problem, skipped, progress, timed_out=timed_out)
    if engine == "local" and not (timed_out or why):
        result = _in_columns(program, events, begin, skipped, progress)
        if result is not None:
            return result
    intake = take_in(program.resolve(), _records(events, on_problem, progress), on_problem)
    if engine in _FORMAL:
        rows, steps = _run_formally(intake, begin, engine, progress), []
    else:
        runner = open_runner(intake.program, engine=engine, timed_out=timed_out, why=why)
        rows, steps = list(run_locally(intake, runner, begin, progress)), steps_of(runner)
    return Result(
        rows,
        intake.program.types,
        derived=_derived(intake.program),
        taken=len(intake.events),
        moved=intake.moved,
        skipped=skipped,
        steps=lambda: steps,
    )


def _in_columns(
    program: Program,
    events: Sequence[object],
    start: Instant | None,
    skipped: list[Diagnostic],
    progress: Progress,
) -> Result | None:
    """The same from columns to columns, without an object per event.

    None where it takes records: for sources that have no columns, programs that the matcher leaves to
    the reference semantics, and whatever there is to say about a single event.
    """
    tables = tables_of(events)
    if not tables or _are_small(tables):
        return None
    from cepheid.engines.local import columns

    intake = columns.take_in_columns(program.resolve(), tables, progress)
    if intake is None:
        return None
    return Result(
        columns.run_columns(intake, start, progress),
        intake.program.types,
        derived=_derived(intake.program),
        taken=intake.events.num_rows,
        moved=intake.moved,
        skipped=skipped,
        steps=lambda: steps_of(columns.counted(intake, start)),
    )


def _are_small(tables: Iterable[Table]) -> bool:
    paths = [table.data for table in tables]
    are_files = all(isinstance(path, str) for path in paths)
    return are_files and sum(map(os.path.getsize, paths)) < SMALL


def _derived(program: ResolvedProgram) -> list[str]:
    return list(dict.fromkeys(statement.target for statement in program.statements))


_FORMAL = {"petri": "a net does", "maude": "Maude does"}


def _refuse(engine: str, unable: Mapping[str, str], what: str) -> None:
    if engine in unable:
        fact = f"{unable[engine]} not {what}"
        raise UsageError(error("usage", fact, hint="choose the engine local or reference"))


def _run_formally(
    intake: Intake, start: Instant | None, engine: str, progress: Progress
) -> list[Event]:
    first = starts_at(intake.first, start)
    if first is None:
        return []
    last = first if intake.last is None else max(first, intake.last)
    if engine == "maude":
        from cepheid.formal.maude.engine import run as run_in_maude

        return run_in_maude(intake.program, intake.events, first, last, progress)
    from cepheid.formal.petri.translate import run as run_net

    return run_net(intake.program, intake.events, first, last, progress)


def _records(
    events: Sequence[object], on_problem: OnProblem, progress: Progress
) -> Iterator[Record]:
    records = chain.from_iterable(records_of(e, on_problem=on_problem) for e in events)
    for count, record in enumerate(records, start=1):
        progress(count, None)
        yield record


def _on_spark(
    program: Program,
    events: Sequence[object],
    start: Instant | None,
    on_problem: OnProblem,
    skipped: list[Diagnostic],
    progress: Progress,
    *,
    timed_out: bool,
) -> Result:
    from cepheid.engines.spark.run import run_files, run_records, run_tables
    from cepheid.engines.spark.session import session

    tables = [str(e).removeprefix(_TABLE) for e in events if is_table(e)]
    if tables and len(tables) < len(events):
        raise UsageError(error("usage", "events come from tables or from files, not from both"))
    resolved, spark = program.resolve(), session()
    found: Outcome | None = None
    if tables:
        found = run_tables(resolved, tables, spark, start=start, timed_out=timed_out)
    elif files := _large_files(events):
        found = run_files(
            resolved, files, spark, start=start, timed_out=timed_out, progress=progress
        )
    if found is None:
        found = run_records(
            resolved,
            _records(events, on_problem, progress),
            spark,
            start=start,
            timed_out=timed_out,
            on_problem=on_problem,
            progress=progress,
        )
    return Result(
        found.rows,
        found.program.types,
        derived=_derived(found.program),
        taken=found.taken,
        moved=found.moved,
        skipped=skipped,
    )


def _large_files(events: Sequence[object]) -> list[str]:
    """The files that events consist of, if all have columns and reading these is worth it."""
    tables = tables_of(events) or []
    are_files = all(isinstance(table.data, str) for table in tables)
    return [t.data for t in tables] if are_files and not _are_small(tables) else []


def is_table(source: object) -> bool:
    """Whether a source of events names a table of the Spark session."""
    return isinstance(source, str) and source.startswith(_TABLE)


def engine_for(paths: Sequence[str]) -> str:
    """What suits an input: Spark for tables and large files, else this process."""
    if any(map(is_table, paths)):
        return "spark"
    sizes = (os.path.getsize(file) for file in expand(paths) if os.path.isfile(file))
    return "spark" if sum(sizes) > LARGE else "local"


def open(
    program: Program,
    *,
    start: Time | None = None,
    state: bytes | None = None,
    engine: str = "local",
    timed_out: bool = False,
    why: bool = False,
) -> Session:
    """Opens a program for events one at a time; `state` goes on from what a session saved."""
    _expect(program, Program, "a program", _MAKE_ONE)
    _choose(engine, SESSION_ENGINES, "engine")
    _expect(state, bytes | None, "a saved state, which is bytes,")
    if state is not None and start is not None:
        fact = "a saved state has a clock of its own"
        raise UsageError(error("usage", fact, hint="leave out start"))
    begin = None if start is None else instant_of(start)
    return Session(program.resolve(), begin, state, engine=engine, timed_out=timed_out, why=why)


def simulate(
    program: Program,
    scenario: object,
    *,
    runs: int = 256,
    until: str | float | Period | None = None,
    events: int | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    engine: str = "local",
    workers: int = 1,
    partitions: int | None = None,
    progress: Progress = no_progress,
) -> Simulation:
    """Runs a program many times over events made by chance, and counts what happens in each run.

    The scenario is a TOML file, a dictionary of the same form, or a `Scenario`. A run lasts `until`
    ('1 day', seconds), or until there were so many `events`; the scenario may say it, too. A run
    depends on the `seed` and its own number alone, so `engine` ('local' or 'spark'), `workers`
    (processes) and `partitions` (of Spark) change nothing but the time it takes.
    """
    from cepheid.simulation.scenario import scenario_of
    from cepheid.simulation.simulate import simulate as run_many

    _expect(program, Program, "a program", _MAKE_ONE)
    _count(runs, "runs")
    _share(confidence, "confidence")
    return run_many(
        program.resolve(),
        scenario_of(scenario),
        runs=runs,
        until=until,
        events=None if events is None else _count(events, "events"),
        seed=_count(seed, "seed", least=0),
        confidence=confidence,
        where=_where(engine, workers, partitions),
        progress=progress,
    )


def verify(
    program: Program,
    scenario: object,
    property: str | None = None,
    *,
    confidence: float = 0.95,
    precision: float = 0.03,
    expected: float = 0.5,
    z: Quantile = "exact",
    runs: int | None = None,
    until: str | float | Period | None = None,
    events: int | None = None,
    seed: int = 0,
    bound: float = 0.0,
    sequential: bool = False,
    interval: Method = "exact",
    against: object = None,
    engine: str = "local",
    workers: int = 1,
    partitions: int | None = None,
    progress: Progress = no_progress,
) -> Verdict:
    """How probable it is that a property of a program is broken, and a trace that breaks it.

    There are as many runs as confidence and precision need where `expected` is the probability in
    question; `z='paper'` counts with quantiles of two decimals. `bound` allows a property to be broken
    in that share of the runs. `sequential` stops as soon as the answer is clear. `against` is another
    scenario, to be compared with the first. The rest is as for `simulate`.
    """
    from cepheid.simulation.scenario import scenario_of
    from cepheid.simulation.statistics import METHODS, QUANTILES, SequentialTest, plan
    from cepheid.simulation.verify import verify as look_into

    _expect(program, Program, "a program", _MAKE_ONE)
    _choose(z, QUANTILES, "quantile")
    _choose(interval, METHODS, "interval")
    needed = plan(confidence, precision, expected, z)
    if bound:
        _share(bound, "bound")
    if bound and sequential:
        SequentialTest(bound, precision, confidence)  # refuses what it cannot decide
    if against is not None and sequential:
        fact = "a comparison needs as many runs of both scenarios"
        raise UsageError(error("usage", fact, hint="leave out sequential"))
    return look_into(
        program.resolve(),
        scenario_of(scenario),
        property,
        plan=needed,
        runs=None if runs is None else _count(runs, "runs"),
        until=until,
        events=None if events is None else _count(events, "events"),
        seed=_count(seed, "seed", least=0),
        bound=bound,
        is_sequential=sequential,
        method=interval,
        against=None if against is None else scenario_of(against),
        where=_where(engine, workers, partitions),
        progress=progress,
    )


def _where(engine: str, workers: int, partitions: int | None) -> Where:
    from cepheid.simulation.simulate import Where

    _choose(engine, RUN_ENGINES, "engine")
    parts = None if partitions is None else _count(partitions, "partitions")
    return Where(engine=engine, workers=_count(workers, "workers"), partitions=parts)


def _count(value: object, what: str, least: int = 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(error("usage", f"{what} is a whole number from {least}, not {value!r}"))
    return value


def _share(value: object, what: str) -> None:
    if not isinstance(value, int | float) or not 0 < value < 1:
        raise UsageError(error("usage", f"the {what} lies between 0 and 1, not at {value!r}"))


_MAKE_ONE = "cep.load(path) or cep.parse(text) makes one"


def _expect(value: object, kind: type | UnionType, what: str, hint: str | None = None) -> None:
    if not isinstance(value, kind):
        fact = f"{what} is needed, not {type(value).__name__}"
        raise UsageError(error("usage", fact, hint=hint))


def _choose(name: str, known: Collection[str], what: str) -> None:
    if name not in known:
        hint = suggest(str(name), known, "choices")
        raise UsageError(error("usage", f"no {what} {name!r}", hint=hint))


def _in_order(findings: Iterable[Diagnostic], files: Iterable[str]) -> list[Diagnostic]:
    """In the order of the files, and in each in the order of the text."""
    rank = {file: number for number, file in enumerate(files)}

    def place(finding: Diagnostic) -> tuple[int, int, int]:
        span = finding.span
        return (rank.get(span.file or "", 0), span.line, span.column) if span else (0, 0, 0)

    return sorted(findings, key=place)


def steps_of(runner: Runner) -> list[Step]:
    """How often each event and timer of each pattern was reached, in the order of the text."""
    reached = runner.reached()
    steps = []
    for statement in runner.program.statements:
        source = statement.tree.source
        if isinstance(source, PatternSource):
            leaves = (part for part in walk(source.pattern) if not any(children(part)))
            for leaf, count in zip(leaves, reached[statement.name], strict=True):
                step = LANGUAGES["epl"].print_pattern(leaf)
                steps.append(Step(statement.name, step, count))
    return steps
