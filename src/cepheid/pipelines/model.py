"""What a pipeline consists of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from cepheid.bitemporal.running import Course
from cepheid.errors import InputError, Span
from cepheid.io import expand
from cepheid.program.action_annotations import declared_actions
from cepheid.program.classes import AnyClass, SubscribedClass
from cepheid.verbs import Program


@dataclass(frozen=True, slots=True)
class Source:
    """Files, and the classes or types that are taken from them; none named: whatever is there."""

    name: str
    files: Sequence[str]
    classes: Sequence[str] = ()
    span: Span | None = None

    def feeds(self, name: str) -> bool:
        return not self.classes or name in self.classes

    def paths(self) -> list[str]:
        """The files that there are; InputError at the source's place where one is missing."""
        try:
            return list(expand(self.files))
        except InputError as wrong:
            raise InputError(
                *(replace(p, span=p.span or self.span) for p in wrong.diagnostics)
            ) from None


@dataclass(frozen=True, slots=True)
class Read:
    """What a program reads: a source, or a class or type of another program."""

    giver: str  # the source or the program
    name: str | None = None  # the class of a program; None: of a source, whatever it has
    span: Span | None = None


@dataclass(frozen=True)
class Stage:
    """A program with its connections."""

    name: str
    program: Program
    reads: Sequence[Read] = ()
    span: Span | None = None

    @cached_property
    def classes(self) -> Mapping[str, AnyClass]:
        return {each.name: each for each in self.program.tree.classes}

    @cached_property
    def takes(self) -> Sequence[str]:
        """The classes and types that it must be fed: what it does not derive itself."""
        resolved = self.program.resolve()
        derived = {statement.target for statement in resolved.statements}
        subscribed = (n for n, each in self.classes.items() if isinstance(each, SubscribedClass))
        others = (name for name in resolved.consumed_types if name not in self.classes)
        return [name for name in (*subscribed, *others) if name not in derived]

    @cached_property
    def gives(self) -> Sequence[str]:
        """The classes and types that others can read: what it derives."""
        derived = (statement.target for statement in self.program.resolve().statements)
        return [*dict.fromkeys([*self.classes, *derived])]

    @cached_property
    def actions(self) -> Sequence[str]:
        """The names of what it wants done."""
        reactions = (r.action for each in self.classes.values() for r in each.reactions)
        declared = declared_actions(self.program.tree.statements).values()
        annotated = (action.name for actions in declared for action in actions)
        return [*dict.fromkeys([*reactions, *annotated])]

    @property
    def programs(self) -> list[str]:
        """The programs that it reads."""
        return [*dict.fromkeys(read.giver for read in self.reads if read.name is not None)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """All of it; without classes there are no rounds, and no course."""

    file: str
    sources: Mapping[str, Source]
    stages: Mapping[str, Stage]  # in the order of the file
    course: Course | None = None
    executors: str | None = None  # the file that has them
    outbox: str | None = None
    outages: str | None = None  # the file that has them

    def files(self) -> list[str]:
        """All that is read."""
        own = filter(None, [self.file, self.executors, self.outages])
        events = (file for source in self.sources.values() for file in source.paths())
        programs = (file for stage in self.stages.values() for file in stage.program.sources)
        return [*own, *events, *programs]

    def in_order(self) -> Iterator[Stage]:
        """The programs, each after those that it reads."""
        done: set[str] = set()

        def visit(stage: Stage) -> Iterator[Stage]:
            if stage.name not in done:
                done.add(stage.name)
                for name in stage.programs:
                    yield from visit(self.stages[name])
                yield stage

        for stage in self.stages.values():
            yield from visit(stage)
