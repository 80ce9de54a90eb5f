"""What is wrong with a graph, and what its operators are once nothing is.

Everything is checked before anything runs: names, circles, times, priorities, parameters, and whether the
types and sizes of events fit. Mistakes stand at their place in the file that a graph was read from.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from cepheid.core.values import shown
from cepheid.errors import (
    CepheidError,
    Diagnostic,
    InputError,
    Severity,
    Span,
    error,
    note,
    suggest,
    warning,
)
from cepheid.realtime.graph import Consumer, Graph, Operator, Source, Supplier, shared
from cepheid.realtime.operators.kind import KindError, Work
from cepheid.realtime.operators.kinds import KINDS
from cepheid.realtime.operators.statements import STATEMENT
from cepheid.realtime.payload import LARGEST, Payload
from cepheid.realtime.signals import SIGNALS

Where = Callable[[str, str, str | None], Span | None]  # a table, a node, one of its settings
_LONGEST_CHAIN = 100  # of operators that read each other
_EQUAL = 1.001  # rates that differ by less are meant to be the same


def nowhere(_table: str, _name: str, _setting: str | None) -> Span | None:
    """Of graphs that were written in Python."""
    return None


@dataclass(frozen=True, slots=True)
class Checked:
    """A graph with nothing wrong, the payloads of its sources, and its operators at work."""

    graph: Graph
    payloads: Mapping[str, Payload]
    works: Mapping[str, Work]


def check(
    graph: Graph,
    where: Where = nowhere,
    unread: Collection[str] = (),
    derived: Collection[str] = (),
) -> tuple[Checked | None, list[Diagnostic]]:
    """None where something is wrong; findings are errors, warnings and notes.

    Of nodes that are `unread` something wrong is known already, and nothing else is said; `derived`
    are types that a graph could read as well.
    """
    if odd := list(_types(graph)):  # as only graphs in Python can be
        return None, [each.diagnostic(where) for each in odd]
    chains = list(_chains(graph))
    found = [*_names(graph), *_times(graph), *_connections(graph, derived), *chains]
    mistakes = [each for each in found if each.node is None or each.node.name not in unread]
    problems = [each.diagnostic(where) for each in mistakes]
    if chains:  # nothing comes before everything else
        return None, problems
    wrong = {each.node.name for each in mistakes if each.node is not None}
    builder = _Builder(graph, where, wrong.union(unread))
    problems += dict.fromkeys(builder.problems)
    if problems or unread:
        return None, problems
    finders = (_unused, _rates, _sharing, _nonces)
    notes = [each for find in finders for each in find(graph, where)]
    return Checked(graph, builder.payloads, builder.works), notes


def checked(graph: Graph) -> Checked:
    """InputError with all that is wrong."""
    found, problems = check(graph)
    if found is None:
        raise InputError(*(each for each in problems if each.severity is Severity.ERROR))
    return found


def table_of(node: Source | Consumer) -> str:
    if isinstance(node, Supplier):
        return "suppliers"
    return "operators" if isinstance(node, Operator) else "consumers"


class _Mistake(NamedTuple):
    """What is wrong with a node, or without one with the graph."""

    node: Source | Consumer | None
    setting: str | None
    fact: str
    hint: str | None = None

    def diagnostic(self, where: Where) -> Diagnostic:
        if self.node is None:
            return error("bad-graph", self.fact, where("", "", None), self.hint)
        place = where(table_of(self.node), self.node.name, self.setting)
        return error("bad-graph", f"{self.node.name}: {self.fact}", place, self.hint)


# -- nodes --

_TIMES = ("period", "validity", "jitter", "phase", "within", "timeout", "deadline")
_COUNTS = ("priority", "steps")


def _types(graph: Graph) -> Iterator[_Mistake]:
    """Numbers that are some, and lists that are some: without these nothing else can be asked."""
    for name in ("suppliers", "operators", "consumers"):
        if not isinstance(getattr(graph, name), tuple | list):
            yield _Mistake(None, None, f"the {name} of a graph are a tuple")
            return
    nodes: list[Source | Consumer] = [*graph.suppliers, *graph.operators, *graph.consumers]
    for node in nodes:
        for setting in (*_TIMES, *_COUNTS):
            value = getattr(node, setting, None)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                unit = " of nanoseconds" if setting in _TIMES else ""
                fact = f"the {setting} is a whole number{unit}, not {shown(value)}"
                yield _Mistake(node, setting, fact)
        inputs: Any = getattr(node, "inputs", ())
        if not isinstance(inputs, tuple | list):
            yield _Mistake(node, "inputs", f"its inputs are a tuple, not {shown(inputs)}")
        payload: Any = getattr(node, "payload", None)
        if isinstance(node, Supplier) and not isinstance(payload, Payload):
            fact = f"what it carries is a payload, not {shown(payload)}"
            yield _Mistake(node, "payload", fact, 'Payload("float64", 3)')


def _names(graph: Graph) -> Iterator[_Mistake]:
    nodes: list[Source | Consumer] = [*graph.suppliers, *graph.operators, *graph.consumers]
    counts = Counter(node.name for node in nodes)
    for node in nodes:
        if counts[node.name] > 1:
            yield _Mistake(node, None, "nodes of a graph have names of their own")
    if not graph.suppliers:
        hint = "[suppliers.NAME] with a rate and a validity"
        yield _Mistake(None, None, "a graph has suppliers", hint)
    if not graph.consumers:
        hint = "[consumers.NAME] with an input and a priority"
        yield _Mistake(None, None, "a graph has consumers", hint)


def _times(graph: Graph) -> Iterator[_Mistake]:
    for supplier in graph.suppliers:
        yield from _supplier(supplier)
    for operator in graph.operators:
        yield from _operator(operator)
    for consumer in graph.consumers:
        yield from _consumer(consumer)


def _supplier(node: Supplier) -> Iterator[_Mistake]:
    if node.period <= 0:
        yield _Mistake(node, "period", "its events come again after more than no time")
    elif not 0 <= node.jitter < node.period:
        yield _Mistake(node, "jitter", "the jitter lies between 0 and the period")
    if node.validity <= 0:
        yield _Mistake(node, "validity", "its events are valid for more than no time")
    if node.phase is not None and node.phase < 0:
        yield _Mistake(node, "phase", "the phase is not below 0")
    if node.signal not in SIGNALS:
        hint = suggest(node.signal, SIGNALS, "signals")
        yield _Mistake(node, "signal", f"there is no signal '{node.signal}'", hint)
    if node.payload.fields:
        yield from _fields(node, node.payload.fields, node.payload.size)


def _operator(node: Operator) -> Iterator[_Mistake]:
    if node.steps < 1:
        yield _Mistake(node, "steps", "an operator has at least one step")
    for setting, value in (("timeout", node.timeout), ("within", node.within)):
        if value is not None and value < 0:
            yield _Mistake(node, setting, f"the {setting} is not below 0")
    yield from _fields(node, node.fields, None)


def _fields(node: Source, fields: Sequence[str], size: int | None) -> Iterator[_Mistake]:
    if len({*fields}) < len(fields):
        yield _Mistake(node, "fields", "elements have names of their own")
    elif size is not None and len(fields) != size:
        yield _Mistake(node, "fields", f"it has {size} elements, and {len(fields)} names for them")


def _consumer(node: Consumer) -> Iterator[_Mistake]:
    if node.priority < 1:
        yield _Mistake(node, "priority", "priorities count from 1, the highest")
    if node.deadline is not None and node.deadline <= 0:
        yield _Mistake(node, "deadline", "the deadline is after more than no time")
    if node.late not in ("mark", "shed"):
        yield _Mistake(node, "late", 'late is "mark" or "shed"')


# -- connections --


def _connections(graph: Graph, derived: Collection[str]) -> Iterator[_Mistake]:
    known = graph.sources.keys()

    def unknown(node: Operator | Consumer, setting: str, name: str) -> _Mistake:
        also = ", and no statement derives it" if derived else ""
        fact = f"it reads '{name}', which is no supplier and no operator{also}"
        return _Mistake(node, setting, fact, suggest(name, [*known, *derived], "sources"))

    for operator in graph.operators:
        yield from (unknown(operator, "inputs", n) for n in operator.inputs if n not in known)
        if operator.kind not in KINDS:
            hint = suggest(operator.kind, KINDS.keys() - {STATEMENT}, "operators")
            yield _Mistake(operator, "kind", f"there is no operator '{operator.kind}'", hint)
            continue
        least, most = KINDS[operator.kind].inputs
        given = len(operator.inputs)
        if given < least or (most is not None and given > most):
            wanted = f"{'' if least == most else 'at least '}{least} input{'s' * (least > 1)}"
            yield _Mistake(operator, "inputs", f"'{operator.kind}' takes {wanted}, not {given}")
    for consumer in graph.consumers:
        if consumer.input not in known:
            yield unknown(consumer, "input", consumer.input)


def _order(graph: Graph) -> list[Operator]:
    """Operators, each after those that it reads; CycleError where there is no such order."""
    operators = {each.name: each for each in graph.operators}
    order = TopologicalSorter({each.name: each.inputs for each in graph.operators}).static_order()
    return [operators[name] for name in order if name in operators]


def _chains(graph: Graph) -> Iterator[_Mistake]:
    """Circles, or chains that are too long for what follows them."""
    try:
        order = _order(graph)
    except CycleError as found:
        *names, _ = found.args[1]
        # One that stands in a file: statements do not.
        first = next(n for n, name in enumerate(names) if _is_written(graph, name))
        names = [*names[first:], *names[:first]]
        way = " -> ".join([*names, names[0]])
        node = graph.sources[names[0]]
        yield _Mistake(node, "inputs", f"its events come back to it: {way}")
        return
    lengths: dict[str, int] = {}
    for operator in order:
        lengths[operator.name] = 1 + max((lengths.get(n, 0) for n in operator.inputs), default=0)
        if lengths[operator.name] > _LONGEST_CHAIN:
            fact = f"more than {_LONGEST_CHAIN} operators read each other in a row"
            yield _Mistake(operator, "inputs", fact)
            return


def _is_written(graph: Graph, name: str) -> bool:
    source = graph.sources[name]
    return isinstance(source, Operator) and source.kind != STATEMENT


# -- what operators take and make --


class _Builder:
    """Makes operators in the order in which they read each other, as far as nothing is wrong."""

    def __init__(self, graph: Graph, where: Where, wrong: Collection[str]) -> None:
        self.payloads = {
            each.name: each.payload for each in graph.suppliers if each.name not in wrong
        }
        self.works: dict[str, Work] = {}
        self.problems: list[Diagnostic] = []
        self._where = where
        for operator in _order(graph):
            is_known = all(name in self.payloads for name in operator.inputs)
            if is_known and operator.name not in wrong:
                self._make(operator)

    def _make(self, operator: Operator) -> None:
        inputs = tuple(self.payloads[name] for name in operator.inputs)
        wrong = list(_parameter_mistakes(operator))
        try:
            if not wrong:
                made = work_of(operator, inputs)
                self.payloads[operator.name], self.works[operator.name] = made
        except KindError as mistake:
            wrong.append(mistake)
        except CepheidError as mistake:  # of a program, with places there
            self.problems += mistake.diagnostics
        for each in wrong:
            place = self._where("operators", operator.name, each.parameter)
            fact = f"{operator.name}: {each.fact}"
            self.problems.append(error("bad-graph", fact, place, each.hint))


def work_of(operator: Operator, inputs: tuple[Payload, ...]) -> tuple[Payload, Work]:
    """What an operator makes of such inputs, and how; KindError where it cannot.

    Statements that cannot be run raise ProgramError.
    """
    kind = KINDS[operator.kind]
    if kind.name == "join" and operator.within is None:
        raise KindError("it needs a within", 'within = "2ms"')
    payload, work = kind.make(_parameters(operator), inputs)
    if payload.size > LARGEST:
        raise KindError(f"it makes {payload.size} elements, and {LARGEST} are the most")
    if operator.steps > 1 and work.in_steps is None:
        hint = "a generator does" if kind.name == "python" else None
        raise KindError(f"this '{kind.name}' does not work in steps", hint, "steps")
    if operator.isolate == "process":
        _need_isolable(operator, payload)
    return (_named(payload, operator.fields) if operator.fields else payload), work


def _need_isolable(operator: Operator, made: Payload) -> None:
    if operator.steps > 1:
        fact = "it has a process of its own, in which nobody waits between steps"
        raise KindError(fact, parameter="steps")
    if not made.is_number:
        raise KindError("only numbers go to another process and back", parameter="isolate")
    try:
        pickle.dumps(operator)
    except Exception:
        fact = "its parameters cannot go to another process"
        hint = "name a function as 'module:name' or 'file.py:name'"
        raise KindError(fact, hint, "isolate") from None


def _parameter_mistakes(operator: Operator) -> Iterator[KindError]:
    known = KINDS[operator.kind].parameters
    for name in operator.parameters:
        if name not in known:
            fact = f"'{operator.kind}' has no parameter '{name}'"
            yield KindError(fact, suggest(name, known, "parameters"), name)
    for name, parameter in known.items():
        if name in operator.parameters:
            try:
                parameter.of(operator.parameters[name])
            except ValueError as wrong:
                yield KindError(f"'{name}' {wrong}", parameter=name)
        elif parameter.is_needed:
            yield KindError(f"'{operator.kind}' needs the parameter '{name}'")


def _parameters(operator: Operator) -> dict[str, Any]:
    for wrong in _parameter_mistakes(operator):
        raise wrong
    given = operator.parameters
    found = {
        name: parameter.of(given[name]) if name in given else parameter.default
        for name, parameter in KINDS[operator.kind].parameters.items()
    }
    return {**found, "sources": operator.inputs} if operator.kind == STATEMENT else found


def _named(payload: Payload, fields: Sequence[str]) -> Payload:
    if len(fields) != payload.size:
        fact = f"it has {payload.size} elements, and {len(fields)} names for them"
        raise KindError(fact, parameter="fields")
    return replace(payload, fields=tuple(fields))


# -- what there is to say of a graph that can run --


def _unused(graph: Graph, where: Where) -> Iterator[Diagnostic]:
    for source in graph.sources.values():
        if source.name not in graph.levels:
            place = where(table_of(source), source.name, None)
            yield warning("unused-node", f"no consumer gets anything of '{source.name}'", place)


def _rates(graph: Graph, where: Where) -> Iterator[Diagnostic]:
    """Where a source is faster than another that the same operator waits for, events are left over."""
    for operator in graph.operators:
        if operator.ready_on == "any" or operator.name not in graph.levels:
            continue
        periods = {name: graph.rhythms[name].period for name in operator.inputs}
        slowest = max(periods, key=periods.__getitem__)
        for name, period in periods.items():
            times = periods[slowest] / period
            if times > _EQUAL:
                fact = (
                    f"{operator.name} waits for '{slowest}', and "
                    f"{times:.3g} events of '{name}' come for each of its"
                )
                hint = f"what is left over is not worked on; resample '{name}'"
                place = where("operators", operator.name, "inputs")
                yield warning("uneven-rates", fact, place, hint)


def _sharing(graph: Graph, where: Where) -> Iterator[Diagnostic]:
    for same in shared(graph)[1]:
        names = ", ".join(f"'{name}'" for name in same.others)
        fact = f"'{same.kept}' does the work of {names} as well: equal operators run once"
        yield note("shared-work", fact, where("operators", same.others[0], None))


def _nonces(graph: Graph, where: Where) -> Iterator[Diagnostic]:
    """Events of equal numbers are encrypted with one nonce: who has two of them learns of both."""
    first: dict[tuple[bytes, bytes], Operator] = {}
    for operator in (each for each in graph.operators if each.kind == "aes"):
        parameters = _parameters(operator)
        other = first.setdefault((parameters["key"], parameters["salt"]), operator)
        if other.inputs != operator.inputs:
            fact = f"{operator.name} encrypts other events than {other.name} with the same nonces"
            place = where("operators", operator.name, "salt")
            yield warning("reused-nonce", fact, place, 'salt = "0000000000000001", for example')
