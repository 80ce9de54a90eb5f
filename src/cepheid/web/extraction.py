"""A run of a wrapper, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cepheid.core.whole_file import whole_file
from cepheid.core.words import counted
from cepheid.errors import (
    CepheidError,
    Diagnostic,
    ProgramError,
    RunError,
    Severity,
    UsageError,
    error,
    reason_of,
    warning,
)
from cepheid.web import tree
from cepheid.web.evaluation import Given
from cepheid.web.gate import Gate
from cepheid.web.records import Collector
from cepheid.web.rewriting import shortened
from cepheid.web.running import Walk
from cepheid.web.settings import Settings
from cepheid.web.site import Site, address_of
from cepheid.web.static_site import StaticSite
from cepheid.web.wrapper import Wrapper

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.web.browser import Browser

Variables = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class StepCount:
    """How often a part of a wrapper had something to go on from, and how many nodes it found then."""

    text: str
    times: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Extraction:
    """Records in the order in which they were found, and what is to be said about them.

    A record is a dictionary of its attributes with its type as `@type`; the records in it are lists of
    dictionaries under their type.
    """

    records: list[dict[str, Any]]
    problems: tuple[Diagnostic, ...] = ()
    steps: tuple[StepCount, ...] = ()

    def to_arrow(self) -> pa.Table:
        """A table with a column for each attribute, and `@type`."""
        import pyarrow as pa

        names = list(dict.fromkeys(name for record in self.records for name in record))
        columns = [[record.get(name) for record in self.records] for name in names]
        try:
            arrays: list[Any] = [*map(pa.array, columns)] or [pa.array([], pa.string())]
            return pa.Table.from_arrays(arrays, names or ["@type"])
        except (pa.ArrowInvalid, pa.ArrowTypeError) as problem:
            fact = f"an attribute has values of several types: {problem}"
            raise RunError(error("bad-value", fact)) from None

    def to_jsonl(self) -> str:
        """A record a line, as `cepheid run --events` reads them once they have times."""
        return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in self.records)

    def write(self, file: str | Path) -> None:
        """The same into a file, which appears whole or not at all."""
        try:
            with whole_file(file) as draft:
                draft.write_text(self.to_jsonl(), encoding="utf-8", errors="backslashreplace")
        except OSError as problem:
            fact = f"cannot write '{file}': {reason_of(problem)}"
            raise UsageError(error("bad-file", fact)) from None


def extract(
    wrapper: Wrapper,
    url: str | None = None,
    *,
    variables: Variables | None = None,
    browser: bool | Browser = True,
    settings: Settings | None = None,
) -> Extraction:
    """The records that a wrapper finds, from a URL or file, or from where its text says to start.

    `browser` is False for pages that are read as they come, without scripts, or one that is open.
    """
    if not wrapper.records:
        fact = "this wrapper makes no record of anything"
        hint = "mark what is to become one: //tr:<Flight>[./td[1]:<from=string(.)>]"
        raise UsageError(error("misplaced-marker", fact, wrapper.tree.span, hint))
    return _run(wrapper, url, variables or {}, browser, settings or Settings(), is_single=False)


def act(
    wrapper: Wrapper,
    url: str | None = None,
    *,
    variables: Variables | None = None,
    browser: bool | Browser = True,
    settings: Settings | None = None,
) -> Extraction:
    """Does what a wrapper says, once and from left to right; gives what it extracts on the way.

    Each action needs exactly one node: none and several are errors, and nothing after them is done.
    """
    for part in tree.all_parts(wrapper.tree):
        if isinstance(part, tree.Star):
            fact = "a star in a wrapper whose actions are done once"
            raise ProgramError(error("several-nodes", fact, part.span))
    return _run(wrapper, url, variables or {}, browser, settings or Settings(), is_single=True)


def _run(
    wrapper: Wrapper,
    url: str | None,
    variables: Variables,
    browser: bool | Browser,
    settings: Settings,
    *,
    is_single: bool,
) -> Extraction:
    _refuse(wrapper, variables)
    given = Given({name: _value(value) for name, value in variables.items()})
    address = address_of(url if url is not None else _start_of(wrapper, variables))
    gate = Gate(settings.allow)
    if url is not None:  # what the text of a wrapper says is not the user's word
        gate.name(urlsplit(address).hostname)
    with _site(browser, gate, settings) as site:
        walk = Walk(site, given, settings, is_single)
        try:
            walk.run(shortened(wrapper.tree), address)
            lost = walk.lost()
            if is_single and lost:
                raise RunError(*(replace(each, severity=Severity.ERROR) for each in lost))
        except CepheidError as failed:
            failed.sources = {wrapper.file or "<text>": wrapper.text}
            _save(walk, failed.diagnostics, settings)
            raise
        if lost:
            _save(walk, lost, settings)
    refused = [replace(each, severity=Severity.WARNING) for each in gate.refused]
    problems = [*walk.problems, *lost, *_remarks(walk.collector, given), *refused]
    steps = tuple(
        StepCount(each.label, each.visits, each.nodes)
        for each in walk.reached.values()
        if each.part != tree.DESCENDANTS
    )
    return Extraction(_records(walk.collector), tuple(dict.fromkeys(problems)), steps)


def _refuse(wrapper: Wrapper, variables: Variables) -> None:
    found = wrapper.check(variables)
    if found:
        refused = ProgramError(*found)
        refused.sources = {wrapper.file or "<text>": wrapper.text}
        raise refused


def _value(value: str | float) -> str | float:
    return float(value) if isinstance(value, int | float) else value


def _start_of(wrapper: Wrapper, variables: Variables) -> str:
    match wrapper.tree.address:
        case tree.Literal(value=value):
            return value
        case tree.Variable(name=name):
            return str(variables[name])
    hint = 'give a URL, or begin the wrapper with doc("http://...")'
    raise UsageError(error("usage", "nothing says on which page to start", hint=hint))


@contextmanager
def _site(browser: bool | Browser, gate: Gate, settings: Settings) -> Iterator[Site]:
    if browser is False:
        yield StaticSite(gate, settings)
        return
    from cepheid.web.browser import Browser

    if isinstance(browser, Browser):
        with browser.site(gate, settings) as site:
            yield site
    else:
        with Browser.launch(settings) as own, own.site(gate, settings) as site:
            yield site


def _records(collector: Collector) -> list[dict[str, Any]]:
    return [{"@type": record.type, **record.values} for record in collector.records]


def _remarks(collector: Collector, given: Given) -> Iterator[Diagnostic]:
    """What came otherwise than the wrapper seems to expect."""
    for predicate, count in given.left_out.items():
        fact = f"{counted(count, 'node')} made no record: this found nothing there"
        yield warning("row-left-out", fact, predicate.span, "[? ...] keeps them, without it")
    for marker, count in collector.again.items():
        fact = f"'{marker.name}' was there already, {counted(count, 'time')}; the first counts"
        yield warning("row-left-out", fact, marker.span, "make its step exact, or a record of it")
    for marker, count in collector.unreadable.items():
        fact = f"'{marker.name}' could not be read as a number or a time, {counted(count, 'time')}"
        yield warning("bad-value", fact, marker.span, "it is null there")


def _save(
    walk: Walk, problems: tuple[Diagnostic, ...] | list[Diagnostic], settings: Settings
) -> None:
    """The page on which something went wrong, as a screenshot and as a text."""
    if settings.failures is None or walk.view is None:
        return
    place = next((each.span for each in problems if each.span), None)
    name = f"failure_{place.line}_{place.column}" if place else "failure"
    picture, text = walk.site.picture(walk.view)
    folder = Path(settings.failures)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Not as .html: whoever opens it should read it, not run what the page would do.
        (folder / f"{name}.html.txt").write_text(text, encoding="utf-8", errors="replace")
        if picture is not None:
            (folder / f"{name}.png").write_bytes(picture)
    except OSError as problem:
        fact = f"cannot write into '{folder}': {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None
