"""A program in the hands of its user."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from cepheid.analysis.races import has_open_order, priorities_by_level
from cepheid.core.values import not_json
from cepheid.drawing.shown import DrawnGraph, Findings, Plan, program_html
from cepheid.editing.fixing import with_fixes, with_priorities
from cepheid.editing.places import apply
from cepheid.engines.common.intake import runnable
from cepheid.errors import (
    CepheidError,
    Diagnostic,
    Edit,
    ProgramError,
    Severity,
    Span,
    UsageError,
    error,
    is_slip,
)
from cepheid.expr.python import PythonFunction
from cepheid.io.type_arguments import GivenTypes, event_types
from cepheid.lang import DEFAULT, LANGUAGES
from cepheid.lang.language import Language, Text
from cepheid.program.leaving_out import without_statements
from cepheid.program.resolved import ResolvedProgram
from cepheid.program.serialize import from_json, to_json
from cepheid.program.tree import Declaration, ProgramTree
from cepheid.verbs import pipeline
from cepheid.verbs.arguments import choose, expect
from cepheid.verbs.pipeline import CHECKS

if TYPE_CHECKING:
    from cepheid.simulation.simulate import Simulation
    from cepheid.simulation.verify import Verdict


def functions_of(given: object) -> tuple[PythonFunction, ...]:
    """The functions of a `functions=` argument."""
    found = tuple(given) if isinstance(given, Iterable) else (given,)
    for each in found:
        hint = "write functions=[cep.function('risk', score, ['double'], 'double')]"
        expect(each, PythonFunction, "a function that cep.function made", hint)
    return found


class Program:
    """A program: data, equal to any other that says the same, and printable.

    `types` are event types known from elsewhere, for those that the program does not declare: as
    dictionaries (`{"Motorbike": {"speed": "int"}}`), as Arrow schemas, or ready made. `functions` are
    those of `cep.function` that it calls by name.
    """

    def __init__(
        self,
        tree: ProgramTree,
        types: GivenTypes | None = None,
        sources: Mapping[str, str] | None = None,
        warnings: Sequence[Diagnostic] = (),
        languages: Mapping[str, Language] | None = None,
        functions: Iterable[PythonFunction] = (),
    ) -> None:
        self.tree = tree + ProgramTree((), functions_of(functions))
        self.types = event_types(types)
        self.sources = dict(sources or {})  # file -> text, to show places in it
        self.warnings = tuple(warnings)  # what the parser found odd
        self.languages = dict(languages or {})  # of the sources

    @classmethod
    def of_texts(
        cls,
        texts: Sequence[Text],
        types: GivenTypes | None = None,
        functions: Iterable[PythonFunction] = (),
    ) -> Program:
        """One program of several texts; ProgramError with all that is wrong where syntax is."""
        tree, problems = pipeline.parse(texts)
        program = cls(
            tree,
            types,
            {each.file: each.text for each in texts},
            problems,
            {each.file: each.language for each in texts},
            functions,
        )
        if any(problem.severity is Severity.ERROR for problem in problems):
            found = [*problems, *_certain(program.resolve().problems)]
            found = with_fixes(found, texts)
            with program.sources_told():
                raise ProgramError(*_in_order(dict.fromkeys(found), program.sources))
        return program

    @property
    def texts(self) -> tuple[Text, ...]:
        """What it was read from, each with its language."""
        return tuple(
            Text(file, text, self.languages.get(file, DEFAULT))
            for file, text in self.sources.items()
        )

    def resolve(self) -> ResolvedProgram:
        """The program with its names and types resolved, and what is wrong with it."""
        return self._resolved

    @cached_property
    def _resolved(self) -> ResolvedProgram:
        return pipeline.resolve(self.tree, self.types)

    def without(self, *statements: str) -> Program:
        """The program as if some statements were not in it; all others keep their names.

        Others may still take what only these derive: it may come in from outside then.
        """
        resolved = self.resolve()
        named = {each.name: each for each in resolved.statements}
        for name in statements:
            choose(name, named, "statement", "statements")
        tree = without_statements(self.tree, statements)
        known = {schema.name for schema in tree.schemas}
        known |= {each.target for name, each in named.items() if name not in statements}
        unfed = {named[name].target for name in statements} - known
        types = {**self.types, **{name: resolved.types[name] for name in unfed}}
        return Program(tree, types, self.sources, self.warnings, self.languages)

    def check(self, *, without: Collection[str] = ()) -> list[Diagnostic]:
        """Everything that can be said about the program before it runs, a list that shows its places.

        `without` names analyses to leave out; `CHECKS` are all of them.
        """
        for name in without:
            choose(name, CHECKS, "analysis", "--without")
        findings = pipeline.check(self.tree, self.types, without, self.warnings)
        findings = with_fixes(findings, self.texts)
        if any(finding.code == "race" for finding in findings) and self._is_as_written():
            findings = with_priorities(findings, [e for _, own in self._priorities() for e in own])
        return Findings(_in_order(findings, self.sources), self.sources)

    def graph(self) -> DrawnGraph:
        """Which statement depends on which, in levels; notebooks draw it."""
        return DrawnGraph.of(pipeline.depend(self.resolve()))

    def plan(self) -> Plan:
        """By what the events of each statement can be split, and how long they matter."""
        with self.sources_told():
            resolved = runnable(self.resolve())
        return Plan.of(pipeline.depend(resolved), pipeline.plan(resolved))

    @contextmanager
    def sources_told(self) -> Iterator[None]:
        """Errors about the program show their places in its texts."""
        try:
            yield
        except CepheidError as problem:
            problem.sources = problem.sources or self.sources
            raise

    def language_at(self, place: Span | None) -> Language:
        """The language of the text at a place; of what comes from no text, the default."""
        return self.languages.get(place.file or "", DEFAULT) if place else DEFAULT

    def text_at(self, place: Span | None) -> str:
        """What is written at a place, in one line; nothing where that is not known."""
        lines = self.sources.get(place.file or "", "").splitlines() if place else []
        if place is None or place.end_line > len(lines):
            return ""
        found = lines[place.line - 1 : place.end_line]
        found[-1] = found[-1][: place.end_column - 1]
        found[0] = found[0][place.column - 1 :]
        return " ".join(" ".join(found).split())

    def with_priorities(self) -> Program:
        """The program with priorities by level, unless no order is left open anyway.

        Its `sources` are the texts with the priorities written into them.
        """
        if not has_open_order(self.graph()):
            return self
        texts = [
            Text(each.file, apply(each.text, edits), each.language)
            for each, edits in self._priorities()
        ]
        return Program.of_texts(texts, self.types, self.tree.functions)

    def _is_as_written(self) -> bool:
        """Whether its texts are all of it, and not some that it was made of."""
        tree, _ = pipeline.parse(self.texts)
        return tree.statements == self.tree.statements

    def _priorities(self) -> Iterator[tuple[Text, tuple[Edit, ...]]]:
        """The texts, each with the edits that write priorities by level into it."""
        priorities, used = priorities_by_level(self.graph()), 0
        for each in self.texts:
            count = len(each.language.parse(each.text, each.file).tree.statements)
            own = priorities[used : used + count]
            yield each, each.language.with_priorities(each.text, each.file, own)
            used += count

    def simulate(self, scenario: object, **options: Any) -> Simulation:
        """`cep.simulate` of this program."""
        from cepheid.verbs.simulating import simulate

        return simulate(self, scenario, **options)

    def verify(self, scenario: object, property: str | None = None, **options: Any) -> Verdict:
        """`cep.verify` of this program."""
        from cepheid.verbs.simulating import verify

        return verify(self, scenario, property, **options)

    def to_json(self) -> str:
        return json.dumps(to_json(self.tree), indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, functions: Iterable[PythonFunction] = ()) -> Program:
        """What `to_json` wrote; the functions that it names must be given again.

        UsageError or ProgramError where it is none.
        """
        expect(text, str | bytes, "the JSON form of a program", "program.to_json() writes it")
        try:
            return cls(from_json(json.loads(text), functions_of(functions)))
        except json.JSONDecodeError as problem:
            raise UsageError(error("usage", f"this is {not_json(problem)}")) from None
        except ValueError as problem:  # other bytes than UTF-8, numbers beyond all
            raise UsageError(error("usage", f"this is not JSON: {problem}")) from None
        except RecursionError:
            fact = "the JSON form of this program is nested too deep"
            raise ProgramError(error("too-deep", fact)) from None

    def to_text(self, language: str | None = None) -> str:
        """The program in a language; None: in the default one, but for what it has no words for."""
        if language is not None:
            choose(language, LANGUAGES, "language")
            return LANGUAGES[language].print_program(self.tree)
        parts = groupby(self.tree.declarations, key=self.language_of)
        return "\n".join(each.print_program(ProgramTree(tuple(found))) for each, found in parts)

    def language_of(self, declaration: Declaration, otherwise: Language = DEFAULT) -> Language:
        """The language that alone has words for it."""
        owners = (each for each in LANGUAGES.values() if each.owns(declaration, self.tree))
        return next(owners, otherwise)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.tree == other.tree

    def __hash__(self) -> int:
        return hash(self.tree)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """Its texts, or what it would be as one, in colours."""
        return program_html(self.sources.values() or (self.to_text(),))

    def __repr__(self) -> str:
        count, classes = len(self.tree.statements), len(self.tree.classes)
        beside = f", {classes} class{'' if classes == 1 else 'es'}" if classes else ""
        return f"<Program: {count} statement{'' if count == 1 else 's'}{beside}>"


def _certain(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """What is wrong whatever the declarations say that could not be read.

    They may declare what seems to be missing, unless it looks like a slip for something that exists.
    """
    return [
        f
        for f in findings
        if f.severity is Severity.ERROR and (f.code not in _MISSING or is_slip(f))
    ]


_MISSING = {"unknown-type", "unknown-class", "unknown-context", "bad-context"}


def _in_order(findings: Iterable[Diagnostic], files: Iterable[str]) -> list[Diagnostic]:
    """In the order of the files, and in each in the order of the text."""
    rank = {file: number for number, file in enumerate(files)}

    def place(finding: Diagnostic) -> tuple[int, int, int]:
        span = finding.span
        return (rank.get(span.file or "", 0), span.line, span.column) if span else (0, 0, 0)

    return sorted(findings, key=place)
