"""What can be said of a pipeline before it runs: whether everything is connected, and fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cepheid.core.types import fits
from cepheid.errors import CepheidError, Diagnostic, Span, error, suggest
from cepheid.io.toml import Places, read_toml
from cepheid.pipelines.model import Pipeline, Read, Stage
from cepheid.program.class_resolution import FOUND_OUT
from cepheid.program.classes import AnyClass


def connection_problems(pipeline: Pipeline, places: Places) -> Iterator[Diagnostic]:
    for stage in pipeline.stages.values():
        wrong = [found for read in stage.reads for found in _wrong_read(read, stage, pipeline)]
        wrong += _repeated(stage)
        yield from wrong
        if not wrong:
            yield from _unfed(stage, pipeline, places)
    yield from _cycles(pipeline)


# -- what a program reads --


def _repeated(stage: Stage) -> Iterator[Diagnostic]:
    seen: set[tuple[str, str | None]] = set()
    for read in stage.reads:
        if (read.giver, read.name) in seen:
            said = read.giver if read.name is None else f"{read.giver}.{read.name}"
            fact = f"'{stage.name}' reads '{said}' twice"
            yield error("bad-pipeline", fact, read.span, "its events would count twice")
        seen.add((read.giver, read.name))


def _wrong_read(read: Read, stage: Stage, pipeline: Pipeline) -> Iterator[Diagnostic]:
    if read.name is not None:
        yield from _wrong_class(read, read.name, stage, pipeline)
        return
    source = pipeline.sources.get(read.giver)
    if source is None:
        yield _unknown(read, pipeline)
    elif not any(map(source.feeds, stage.takes)):
        fact = f"'{source.name}' detects {_listed(source.classes)}, and '{stage.name}' takes none"
        hint = f"it takes {_listed(stage.takes)}" if stage.takes else None
        yield error("unknown-class", fact, read.span, hint)


def _unknown(read: Read, pipeline: Pipeline) -> Diagnostic:
    name = read.giver
    if name in pipeline.stages:
        gives = [f"{name}.{each}" for each in pipeline.stages[name].gives]
        fact, hint = f"'{name}' is a program, not a source", f"name a class of it: {_listed(gives)}"
        return error("unknown-source", fact, read.span, hint)
    known = [*pipeline.sources, *pipeline.stages]
    return error(
        "unknown-source", f"no source '{name}'", read.span, suggest(name, known, "there are")
    )


def _wrong_class(read: Read, name: str, stage: Stage, pipeline: Pipeline) -> Iterator[Diagnostic]:
    hint: str | None
    giver = pipeline.stages.get(read.giver)
    if giver is None and read.giver in pipeline.sources:
        fact, hint = f"'{read.giver}' is a source, not a program", f"read all of it: '{read.giver}'"
        yield error("unknown-source", fact, read.span, hint)
    elif giver is None:
        hint = suggest(read.giver, pipeline.stages, "programs")
        yield error("unknown-source", f"no program '{read.giver}'", read.span, hint)
    elif name not in giver.gives:
        hint = suggest(name, giver.gives, f"classes of '{giver.name}'")
        fact = f"program '{giver.name}' has no class '{name}'"
        yield error("unknown-class", fact, read.span, hint)
    elif name not in stage.takes:
        fact = f"program '{stage.name}' does not subscribe to '{name}'"
        yield error("unknown-class", fact, read.span, suggest(name, stage.takes, "it takes"))
    elif name in giver.classes and name in stage.classes:
        given, taken = giver.classes[name], stage.classes[name]
        if _shape(given) != _shape(taken):
            fact = f"'{name}' of '{giver.name}' is {_shape(given)}, not {_shape(taken)}"
            yield error("schema-conflict", fact, taken.span or read.span)
    else:
        yield from _misfits(read, name, giver, stage)


def _shape(declared: AnyClass) -> str:
    attributes = ", ".join(f"{a.name} {a.type}" for a in declared.attributes)
    return f"({attributes}) by ({', '.join(declared.key)})"


def _misfits(read: Read, name: str, giver: Stage, stage: Stage) -> Iterator[Diagnostic]:
    """Where statements are on one side: what one derives and the other has no place for."""
    given, types = giver.program.resolve().types[name], stage.program.resolve().types
    taken, declared = types[name], stage.classes.get(name)
    if taken.is_open or given.is_open:
        return
    for attribute in given.attributes:
        own = None if declared and attribute.name in FOUND_OUT else taken.find(attribute.name)
        if own is None:
            hint = suggest(attribute.name, [a.name for a in taken.attributes], "attributes")
            fact = (
                f"'{name}' of '{giver.name}' has '{attribute.name}', that of '{stage.name}' has not"
            )
            yield error("schema-conflict", fact, read.span, hint)
        elif not fits(attribute.type, own, types):
            fact = f"'{attribute.name}' of '{name}' is {attribute.type}, to '{stage.name}' {own}"
            yield error("schema-conflict", fact, read.span)
    for key in declared.key if declared else ():
        if given.find(key) is None:
            fact = f"'{key}' is in the key of '{name}', and '{giver.name}' gives none"
            yield error("schema-conflict", fact, read.span, f"select a value as {key}")


def _unfed(stage: Stage, pipeline: Pipeline, places: Places) -> Iterator[Diagnostic]:
    for name in stage.takes:
        if any(_feeds(read, name, pipeline) for read in stage.reads):
            continue
        givers = [source.name for source in pipeline.sources.values() if source.feeds(name)]
        givers += [
            f"{other.name}.{name}"
            for other in pipeline.stages.values()
            if name in other.gives and name not in other.takes and other is not stage
        ]
        hint = f"add to reads: {' or '.join(givers)}" if givers else "no source detects it"
        span = places.setting(("programs", stage.name), "reads")
        yield error("unfed-class", f"nothing feeds '{name}' of '{stage.name}'", span, hint)


def _feeds(read: Read, name: str, pipeline: Pipeline) -> bool:
    return pipeline.sources[read.giver].feeds(name) if read.name is None else read.name == name


def _cycles(pipeline: Pipeline) -> Iterator[Diagnostic]:
    """A cycle is reported once, where the first of its programs reads the next."""
    reported: set[frozenset[str]] = set()
    for start in pipeline.stages:
        path = _way_back(start, pipeline)
        if path and frozenset(path) not in reported:
            reported.add(frozenset(path))
            fact = f"programs read each other: {' reads '.join([*path, start])}"
            hint = "put what depends on itself into one program"
            following = [*path, start][1]
            read = next(r for r in pipeline.stages[start].reads if r.giver == following)
            yield error("pipeline-cycle", fact, read.span, hint)


def _way_back(start: str, pipeline: Pipeline) -> list[str]:
    """The programs from one to the one that reads it again; none where there is no such way."""
    ways = [[start]]
    seen: set[str] = set()
    while ways:
        way = ways.pop(0)
        for name in pipeline.stages[way[-1]].programs:
            if name == start:
                return way
            if name in pipeline.stages and name not in seen:
                seen.add(name)
                ways.append([*way, name])
    return []


# -- what is done --


def executor_problems(pipeline: Pipeline, places: Places) -> Iterator[Diagnostic]:
    """Actions that nobody would do, and executors that make no sense; without any, all are printed."""
    from cepheid.actions import read_deliveries

    if pipeline.executors is None:
        return
    try:
        known = set(read_deliveries(pipeline.executors, with_secrets=False))
    except CepheidError as wrong:
        yield from placed(wrong, places.setting((), "executors"))
        known = _named(pipeline.executors)
        if not known:
            return
    for stage in pipeline.stages.values():
        for action in stage.actions:
            if action not in known:
                hint = suggest(action, known, "executors")
                fact = f"no executor does '{action}' of program '{stage.name}'"
                yield error("no-executor", fact, _place_of(action, stage), hint)


def placed(wrong: CepheidError, span: Span) -> Iterator[Diagnostic]:
    """What is wrong with a file, where the pipeline names it, if it has no place of its own."""
    return (replace(problem, span=problem.span or span) for problem in wrong.diagnostics)


def _named(file: str) -> set[str]:
    try:
        tables = read_toml(file, "bad-executor").get("executors")
    except CepheidError:
        return set()
    return set(tables) if isinstance(tables, dict) else set()


def _place_of(action: str, stage: Stage) -> Span | None:
    """The statement that wants it done."""
    for declared in stage.classes.values():
        for reaction in declared.reactions:
            if reaction.action == action and reaction.span is not None:
                return reaction.span
    return stage.span


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
