"""Graphs from files.

processors = 1
programs = ["warning.epl"]       # statements over sources; what they derive can be read like an operator

[suppliers.radar]
rate = 100                       # events a second; or period = "10ms"
jitter = "1ms"
validity = "20ms"
payload = "float64[16]"          # what an event carries

[operators.range]
kind = "ekf"
inputs = ["radar"]
r = 0.5                          # whatever is no setting of operators is a parameter of its kind

[consumers.brake]
input = "range"
priority = 1                     # the highest
deadline = "5ms"
late = "shed"                    # or "mark"
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sys import float_info
from typing import Any

from cepheid.core.time import parse_length
from cepheid.core.values import shown
from cepheid.errors import (
    CepheidError,
    Diagnostic,
    InputError,
    Severity,
    Span,
    error,
    suggest,
)
from cepheid.io.toml import Places, read_toml
from cepheid.realtime.checking import Checked, check
from cepheid.realtime.edges.addresses import EdgeError, address_of
from cepheid.realtime.graph import Consumer, Graph, Operator, Supplier, Time
from cepheid.realtime.operators.kind import text
from cepheid.realtime.operators.statements import STATEMENT
from cepheid.realtime.payload import Payload, payload_of
from cepheid.realtime.programs import findings, resolved_in, with_statements
from cepheid.verbs.loading import load as load_program
from cepheid.verbs.program import Program

_TOP = ("processors", "programs", "suppliers", "operators", "consumers", "bench")
_SUPPLIER = (
    *("rate", "period", "jitter", "phase", "validity"),
    *("payload", "fields", "signal", "trace", "from"),
)
_OPERATOR = ("kind", "inputs", "steps", "isolate", "timeout", "within", "fields")
_CONSUMER = ("input", "priority", "deadline", "late", "to")
_BENCH = ("base", "copies", "without", "loads", "seconds")
_LONGEST: Time = 366 * 24 * 3600 * 1_000_000_000
_WORDS = {"high": 1, "middle": 2, "low": 3}
WITHOUT = ("priorities", "sharing", "shedding")


@dataclass(frozen=True, slots=True)
class Bench:
    """What is measured of a graph: loads that more copies of some streams bring, with a feature and without."""

    base: int  # how many copies of everything there are at first
    copies: tuple[str, ...]  # consumers whose streams are copied further; none: all of them
    without: tuple[str, ...]
    loads: tuple[float, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class GraphFile:
    """A graph as a file has it, with what else the file says."""

    file: str
    graph: Graph
    processors: int
    bench: Bench | None


def load(file: str | os.PathLike[str]) -> GraphFile:
    """The graph of a file; InputError with all that is wrong with it."""
    found, problems, _ = _read(os.fspath(file))
    if found is None:
        wrong = [each for each in problems if each.severity is Severity.ERROR]
        raise InputError(*_in_order(wrong))
    return found[0]


def read(
    file: str | os.PathLike[str],
) -> tuple[tuple[GraphFile, Checked] | None, Sequence[Diagnostic]]:
    """The same, and what there is to say before it runs; None where something is wrong."""
    found, problems, program = _read(os.fspath(file))
    if found is not None and program is not None:
        graph, checked = found
        problems = [*problems, *findings(program, graph.graph, checked.payloads)]
    return found, _in_order(problems)


def _read(
    path: str,
) -> tuple[tuple[GraphFile, Checked] | None, Sequence[Diagnostic], Program | None]:
    """With the statements that the graph names."""
    reader = _Reader(path, read_toml(path, "bad-graph"))
    reader.expect_visible()
    if reader.problems:
        return None, reader.problems, None
    found = reader.graph()
    if not reader.is_whole:
        return None, reader.problems, None
    checked, others = check(found.graph, reader.where, reader.unread, reader.derived)
    problems = [*reader.problems, *others]
    if checked is None or reader.problems:
        return None, problems, None
    return (found, checked), problems, reader.program


def _in_order(problems: Sequence[Diagnostic]) -> list[Diagnostic]:
    """By files, and in each in the order of the text."""
    first = Span(0, 0, 0, 0, "")
    spans = (problem.span or first for problem in problems)
    places = [(span.file or "", span.line, span.column) for span in spans]
    return [problems[n] for n in sorted(range(len(places)), key=places.__getitem__)]


class _Wrong(ValueError):
    """A value that makes no sense; says what is wrong."""


class _Reader:
    """Reads on after mistakes, so that all of them are found."""

    def __init__(self, file: str, data: Mapping[str, Any]) -> None:
        self.places = Places(file)
        self.problems: list[Diagnostic] = []
        self.unread: set[str] = set()  # nodes that something is wrong with
        self.is_whole = True  # all nodes are there, and all types that statements derive
        self.derived: list[str] = []  # these types
        self.program: Program | None = None  # all statements
        self._file = file
        self._data = data

    def where(self, table: str, name: str, setting: str | None) -> Span:
        if table and name not in self._data.get(table, ()):  # an operator of statements
            return self.places.setting((), "programs")
        names = tuple(filter(None, (table, name)))
        if setting is None:
            return self.places.table(*names)
        return self.places.setting(names, setting)

    def expect_visible(self) -> None:
        """Names and texts can be shown: no mistake is about what nobody sees."""
        for path, each in _texts(self._data, ()):
            if not (each.isprintable() and each.strip()):
                self._wrong(path[:-1], path[-1], f"{each!r} is no text that can be seen")

    def graph(self) -> GraphFile:
        self._expect_only((), self._data, _TOP)
        self.is_whole = not any(
            isinstance(each, dict) for name, each in self._data.items() if name not in _TOP
        )
        graph = Graph(
            tuple(self._supplier(*each) for each in self._tables("suppliers")),
            tuple(self._operator(*each) for each in self._tables("operators")),
            tuple(self._consumer(*each) for each in self._tables("consumers")),
        )
        graph = self._with_programs(graph)
        processors = self._get((), self._data, "processors", _count, 1)
        return GraphFile(self._file, graph, processors, self._bench(graph))

    # -- tables --

    def _tables(self, kind: str) -> list[tuple[str, Mapping[str, Any]]]:
        tables = self._data.get(kind, {})
        if not isinstance(tables, dict):
            self._wrong((), kind, f"'{kind}' are tables: [{kind}.NAME]")
            self.is_whole = False
            return []
        found: list[tuple[str, Mapping[str, Any]]] = []
        for name, table in tables.items():
            if isinstance(table, dict):
                found.append((name, table))
            else:
                self._wrong((kind,), name, f"this is a table, [{kind}.{name}], not {shown(table)}")
                self.is_whole = False
        return found

    def _supplier(self, name: str, table: Mapping[str, Any]) -> Supplier:
        place = ("suppliers", name)
        self._expect_only(place, table, _SUPPLIER)
        if ("rate" in table) == ("period" in table):
            which = "not both" if "rate" in table else "and this one has none"
            fact = f"{name}: a supplier has a rate or a period, {which}"
            self._wrong(place, None, fact, None if "rate" in table else "rate = 100")
        origins = [each for each in ("signal", "trace", "from") if each in table]
        if len(origins) > 1:
            fact = f"{name}: its events come from one place, not from {' and '.join(origins)}"
            self._wrong(place, origins[-1], fact)
        rate = self._get(place, table, "rate", _rate, 1)
        if "validity" not in table:
            fact = f"{name}: nothing says how long its events are valid"
            self._wrong(place, None, fact, 'validity = "20ms"')
        payload = self._get(place, table, "payload", _payload, Payload("float64"))
        fields = self._get(place, table, "fields", _names, ())
        if fields and "payload" not in table:
            payload = replace(payload, size=len(fields))
        trace = self._get(place, table, "trace", _text, None)
        if trace is not None and not os.path.isfile(self._path(trace)):
            self._wrong(place, "trace", f"suppliers.{name}.trace: there is no file '{trace}'")
        return Supplier(
            name=name,
            period=self._get(place, table, "period", _length, rate),
            validity=self._get(place, table, "validity", _length, 1),
            jitter=self._get(place, table, "jitter", _length, 0),
            phase=self._get(place, table, "phase", _length, None),
            payload=replace(payload, fields=tuple(fields)),
            signal=self._get(place, table, "signal", _text, "noise"),
            trace=None if trace is None else self._path(trace),
            source=self._get(place, table, "from", _address, None),
        )

    def _operator(self, name: str, table: Mapping[str, Any]) -> Operator:
        place = ("operators", name)
        for setting in ("kind", "inputs"):
            if setting not in table:
                self._wrong(place, None, f"{name}: '{setting}' is missing")
        parameters = {key: value for key, value in table.items() if key not in _OPERATOR}
        for key in ("function", "state"):  # files lie beside the graph's own
            if isinstance(parameters.get(key), str) and ".py:" in parameters[key]:
                parameters[key] = self._path(parameters[key])
        isolate = self._get(place, table, "isolate", _isolate, "no")
        return Operator(
            name=name,
            kind=self._get(place, table, "kind", _kind, ""),
            inputs=tuple(self._get(place, table, "inputs", _names, ())),
            parameters=parameters,
            steps=self._get(place, table, "steps", _count, 1),
            isolate=isolate,
            timeout=self._get(place, table, "timeout", _length, None),
            within=self._get(place, table, "within", _length, None),
            fields=tuple(self._get(place, table, "fields", _names, ())),
        )

    def _consumer(self, name: str, table: Mapping[str, Any]) -> Consumer:
        place = ("consumers", name)
        self._expect_only(place, table, _CONSUMER)
        for setting in ("input", "priority"):
            if setting not in table:
                self._wrong(place, None, f"{name}: '{setting}' is missing")
        return Consumer(
            name=name,
            input=self._get(place, table, "input", _text, ""),
            priority=self._get(place, table, "priority", _priority, 1),
            deadline=self._get(place, table, "deadline", _length, None),
            late=self._get(place, table, "late", _late, "mark"),
            target=self._get(place, table, "to", _address, None),
        )

    def _with_programs(self, graph: Graph) -> Graph:
        """With what statements of all programs together derive."""
        before = len(self.problems)
        files = self._get((), self._data, "programs", _names, ())
        for file in files:
            place = self.places.setting((), "programs", file)
            try:
                load_program(self._path(file))
            except CepheidError as wrong:
                self.problems += [
                    replace(each, span=each.span or place) for each in wrong.diagnostics
                ]
        if len(self.problems) == before and files:
            graph = self._with_statements(graph, [self._path(file) for file in files])
        self.is_whole &= len(self.problems) == before
        return graph

    def _with_statements(self, graph: Graph, files: Sequence[str]) -> Graph:
        try:
            program = self.program = load_program(*files)
            self.derived = [each.target for each in resolved_in(graph, program).statements]
            return with_statements(graph, program)
        except CepheidError as wrong:
            self.problems += wrong.diagnostics
            return graph

    def _bench(self, graph: Graph) -> Bench | None:
        table = self._data.get("bench")
        if table is None:
            return None
        place = ("bench",)
        if not isinstance(table, dict):
            self._wrong((), "bench", f"this is a table, [bench], not {shown(table)}")
            return None
        self._expect_only(place, table, _BENCH)
        consumers = [each.name for each in graph.consumers]
        copies = self._get(place, table, "copies", _names, ())
        for name in copies if self.is_whole else ():
            if name not in consumers:
                fact = f"bench.copies: there is no consumer '{name}'"
                self._wrong(place, "copies", fact, suggest(name, consumers, "consumers"))
        without = self._get(place, table, "without", _names, ("priorities",))
        for name in without:
            if name not in WITHOUT:
                fact = f"bench.without: there is no '{name}'"
                self._wrong(place, "without", fact, suggest(name, WITHOUT, "features"))
        loads = self._get(place, table, "loads", _loads, (0.45, 0.6, 0.75, 0.9))
        seconds = self._get(place, table, "seconds", _positive, 2.0)
        base = self._get(place, table, "base", _count, 1)
        return Bench(base, tuple(copies), tuple(without), tuple(loads), seconds)

    # -- settings --

    def _get(
        self,
        place: tuple[str, ...],
        table: Mapping[str, Any],
        name: str,
        of: Callable[[Any], Any],
        default: Any,
    ) -> Any:
        """A setting as what it means; the default where it is missing or makes no sense."""
        if name not in table:
            return default
        try:
            return of(table[name])
        except (ValueError, EdgeError) as wrong:
            self._wrong(place, name, f"{'.'.join((*place, name))}: {wrong}")
            return default

    def _path(self, path: str) -> str:
        """Files lie beside the graph's own, wherever it is called from."""
        return str(Path(self._file).parent / path)

    def _expect_only(
        self, place: tuple[str, ...], table: Mapping[str, Any], known: Sequence[str]
    ) -> None:
        for name, value in table.items():
            if name not in known:
                fact = f"{'.'.join((*place, name))}: no such setting"
                hint = suggest(name, known, "settings")
                if isinstance(value, dict):
                    self._wrong((*place, name), None, fact, hint)
                else:
                    self._wrong(place, name, fact, hint)

    def _wrong(
        self, table: tuple[str, ...], setting: str | None, fact: str, hint: str | None = None
    ) -> None:
        self.unread.update(table[1:])
        place = (
            self.places.table(*table) if setting is None else self.places.setting(table, setting)
        )
        self.problems.append(error("bad-graph", fact, place, hint))


def _texts(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """All names and texts, with the names that lead to them."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, path)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield (*path, name), name
            yield from _texts(each, (*path, name))


def _text(value: Any) -> str:
    try:
        return text(value)
    except ValueError:
        raise _Wrong(f"this is a text, not {shown(value)}") from None


def _names(value: Any) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise _Wrong(f"this is a list of names, not {shown(value)}")
    return names


def _kind(value: Any) -> str:
    if value == STATEMENT:
        raise _Wrong('statements stand in files of their own: programs = ["warning.epl"]')
    return _text(value)


def _positive(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= float_info.max:
        raise _Wrong(f"this is a number above 0, not {shown(value)}")
    return float(value)


def _rate(value: Any) -> Time:
    """The period of so many events a second."""
    period = 1_000_000_000 / max(_positive(value), 1e-100)
    if not 1_000 <= period <= _LONGEST:
        raise _Wrong(
            f"this is how many events come in a second, up to a million, not {shown(value)}"
        )
    return round(period)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _Wrong(f"this is a whole number from 1 on, not {shown(value)}")
    return value


def _loads(value: Any) -> list[float]:
    if not isinstance(value, list) or not value:
        raise _Wrong(f"these are numbers such as 0.9, not {shown(value)}")
    return [_positive(each) for each in value]


def _length(value: Any) -> Time:
    if not isinstance(value, str):
        raise _Wrong(f'this is a time such as "10ms", not {shown(value)}')
    if value.strip().startswith("-"):
        raise _Wrong(f"a time is not below 0, as {shown(value)} is")
    try:
        length = parse_length(value).microseconds * 1_000
    except OverflowError:
        length = _LONGEST + 1
    if length > _LONGEST:
        raise _Wrong(f"a time is at most a year, and {shown(value)} is longer")
    return length


def _payload(value: Any) -> Payload:
    return payload_of(_text(value))


def _priority(value: Any) -> int:
    if isinstance(value, str) and value in _WORDS:
        return _WORDS[value]
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        words = ", ".join(f'"{word}"' for word in _WORDS)
        raise _Wrong(f"this is a number from 1, the highest, on, or {words}, not {shown(value)}")
    return value


def _late(value: Any) -> str:
    if value not in ("mark", "shed"):
        raise _Wrong(f'this is "mark" or "shed", not {shown(value)}')
    return str(value)


def _isolate(value: Any) -> str:
    if value not in ("no", "process"):
        raise _Wrong(f'this is "no" or "process", not {shown(value)}')
    return str(value)


def _address(value: Any) -> str:
    address_of(_text(value))
    return str(value)
