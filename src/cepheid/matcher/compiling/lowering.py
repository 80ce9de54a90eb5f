"""From a program in normal form to its machine form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from cepheid.analysis.keys import surely_taken
from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    ArrayType,
    DataType,
    EventRef,
    is_counted,
    is_scalar,
    lineage,
)
from cepheid.expr.tree import Aggregate, Column, Expr, Part
from cepheid.matcher.columns.interning import Pool
from cepheid.matcher.compiling.bytecode import Site, compile_expression
from cepheid.matcher.compiling.disassembly import deepest
from cepheid.matcher.compiling.machine_program import MachineProgram
from cepheid.matcher.compiling.verification import check_form
from cepheid.matcher.compiling.window_lowering import (
    MOST_KEYS,
    Gaps,
    Windows,
    aggregates_of,
    gaps_of_rows,
    is_plain,
)
from cepheid.matcher.gaps import COMPLEX_EVENT
from cepheid.matcher.operator import columns_of, derived_types
from cepheid.matcher.vm.memory.layout import NONE, Region
from cepheid.matcher.vm.memory.tables import Effect, NodeKind, NodeRow, StatementRow
from cepheid.pattern.algebra import Occurrence
from cepheid.pattern.policy import EVERY
from cepheid.pattern.schedule import Schedule
from cepheid.program.normal import NormalStatement, nodes, normalize, normalize_statement
from cepheid.program.normal.embedding import joined
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.statements import OUTPUT_COUNTERS

LOWERING_VERSION = 4  # grows whenever a program is lowered to something else than before

_KINDS: dict[type[nodes.Node], int] = {
    nodes.Wait: NodeKind.WAIT,
    nodes.WaitForInstant: NodeKind.AT,
    nodes.Line: NodeKind.LINE,
    nodes.Sequence: NodeKind.FOLLOWED,
    nodes.Every: NodeKind.EVERY,
    nodes.EveryDistinct: NodeKind.DISTINCT,
    nodes.AllOf: NodeKind.ALL,
    nodes.AnyOf: NodeKind.ANY,
    nodes.Absent: NodeKind.ABSENT,
    nodes.Repeat: NodeKind.REPEAT,
    nodes.Within: NodeKind.WITHIN,
    nodes.While: NodeKind.WHILE,
}
_MOST_TAGS = 62  # a word has a bit for each


def lower(program: ResolvedProgram) -> MachineProgram:
    """The machine form; only for programs without gaps."""
    return check_form(_Lowering(program).form())


def gaps_of(statement: ResolvedStatement) -> Gaps:
    """What a statement has that the machine leaves to the reference semantics, and where."""
    yield from gaps_of_rows(statement)
    if isinstance(statement.pattern, Occurrence):
        yield COMPLEX_EVENT, statement.pattern.span
        return
    normal = normalize_statement(statement)
    for node in nodes.walk(normal.source):
        if type(node) not in _KINDS:
            written = node.written if isinstance(node, nodes.Unknown) else node
            yield f"the operator {type(written).__name__}", node.span
        elif isinstance(node, nodes.EveryDistinct):
            yield from ((what, node.span) for what in _gaps_of_distinct(node))
    if normal.policy != EVERY:
        yield f"the policy {normal.policy}", None
    if len(_all_tags(normal)) > _MOST_TAGS:
        yield f"more than {_MOST_TAGS} tags", None


def _gaps_of_distinct(node: nodes.EveryDistinct) -> Iterator[str]:
    if node.expiry is not None and node.expiry.months:
        yield "every-distinct with months"
    if _stays(node.child):  # each of its instances remembers keys of its own
        yield "every or not below every-distinct"
    if any(not is_scalar(key.type) for key in node.keys):
        yield "every-distinct by nested values"


def _stays(node: nodes.Node) -> bool:
    """Whether an instance may be true and not be over."""
    match node:
        case nodes.Every() | nodes.EveryDistinct() | nodes.Absent():
            return True
        case nodes.Repeat():
            return False
        case nodes.AllOf(sides):  # an absence ends with the last of the other sides
            return any(_stays(side) for side in sides if not isinstance(side, nodes.Absent))
    return any(map(_stays, nodes.children(node)))


@dataclass
class _Lowering:
    """Everything that grows while statements are lowered one after the other."""

    program: ResolvedProgram
    pool: Pool = field(default_factory=Pool)
    code: list[int] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    schedules: list[Schedule] = field(default_factory=list)
    node_rows: list[list[int]] = field(default_factory=list)
    lists: list[int] = field(default_factory=list)
    timed: list[tuple[int, int]] = field(default_factory=list)  # (statement, node)
    # Per statement, the node of each step of its pattern, and which of its words counts the step.
    steps: dict[int, dict[int, tuple[int, int]]] = field(default_factory=dict)
    depth: int = 1
    most_keys: int = 1

    def __post_init__(self) -> None:
        self.types = tuple(self.program.types)
        self.consumed = frozenset(self.program.consumed_types)
        self.derived = derived_types(self.program)
        self.normal = sorted(normalize(self.program).statements, key=lambda s: s.resolved.rank)
        self.statements = tuple(normal.resolved for normal in self.normal)
        self.slots = _slots(self.program)
        self.windows = Windows(self.compiled, self.listed, self.asks, self.slots)
        self.aggregates: dict[Aggregate, int] = {}

    def form(self) -> MachineProgram:
        statements = [self.statement(n, s) for n, s in enumerate(self.normal)]
        consumers, types = self.consumers()
        tables: dict[int, list[list[int]]] = {
            Region.NODE: self.node_rows,
            Region.STATEMENT: statements,
            Region.CONSUMER: consumers,
            Region.TYPE: types,
            Region.LIST: [[word] for word in self.lists],
            Region.TIMED: [[node] for _, node in self.timed],
            Region.WINDOW: self.windows.rows,
            Region.AGGREGATE: self.windows.aggregates,
        }
        return MachineProgram(
            self.program,
            self.statements,
            self.types,
            self.slots,
            {region: tuple(map(tuple, rows)) for region, rows in tables.items()},
            tuple(self.code),
            tuple(self.sites),
            tuple(self.schedules),
            self.pool,
            len(self.pool),
            self.depth,
            max((len(_all_tags(s)) for s in self.normal), default=0),
            self.most_keys,
            self.windows.most_aggregates,
            self.windows.most_ordered,
            tuple(self.steps_of(n) for n in range(len(self.statements))),
        )

    # Statements.

    def statement(self, number: int, normal: NormalStatement) -> list[int]:
        row = [NONE] * StatementRow.WIDTH
        statement = normal.resolved
        self.current = number
        self.tags = {tag: place for place, tag in enumerate(_all_tags(normal))}
        self.repeated = _collected(normal.source)
        self.aggregates = {node: place for place, node in enumerate(aggregates_of(statement))}
        if normal.stream is None:
            row[StatementRow.ROOT] = self.root(normal)
        else:
            row[StatementRow.CONDITION] = self.compiled(joined(normal.stream.conditions))
        row[StatementRow.WHERE] = self.compiled(statement.where)
        row[StatementRow.HAVING] = self.compiled(statement.having)
        columns = []
        for column in statement.columns:
            type = self.derived[statement.target][column.name]
            columns += [self.compiled(column.expr), self.slots[column.name, type]]
        row[StatementRow.COLUMNS] = self.listed(columns)
        row[StatementRow.COLUMN_COUNT] = len(statement.columns)
        row[StatementRow.TARGET] = self.types.index(statement.target)
        row[StatementRow.REPORTED] = _STREAMS[statement.tree.stream]
        row[StatementRow.INSERTED] = _STREAMS[statement.tree.insert_stream]
        row[StatementRow.CONSUMED] = int(statement.target in self.consumed)
        row[StatementRow.HAS_CONTEXT] = int(statement.context is not None)
        row[StatementRow.TAG_COUNT] = len(self.tags)
        row[StatementRow.REPEATED] = sum(1 << self.tags[tag] for tag in self.repeated)
        row[StatementRow.RUNNING] = number
        row[StatementRow.RANK] = statement.rank
        if not is_plain(statement):
            row[StatementRow.WINDOW] = self.windows.add(number, statement)
            distinct = statement.columns if statement.tree.distinct else ()
            self.most_keys = max(self.most_keys, len(statement.group_by), len(distinct))
        return row

    def compiled(self, expr: Expr | None) -> int:
        """Where the code of an expression begins."""
        if expr is None:
            return NONE
        begin = compile_expression(
            expr, self.slots, self.tags, self.pool, self.sites, self.code, self.aggregates
        )
        self.depth = max(self.depth, deepest(self.code, begin))
        return begin

    def asks(self, expr: Expr) -> bool:
        """Whether the code of an expression may ask Python."""
        sites: list[Site] = []
        compile_expression(expr, self.slots, self.tags, self.pool, sites, [], self.aggregates)
        return bool(sites)

    def listed(self, words: Iterable[int]) -> int:
        begin = len(self.lists)
        self.lists += words
        return begin

    # Consumers.

    def consumers(self) -> tuple[list[list[int]], list[list[int]]]:
        """Which statements take the events of each type, in the order of their ranks."""
        consumers: list[list[int]] = []
        types = []
        for name in self.types:
            kinds = lineage(name, self.program.types)
            first = len(consumers)
            for number, statement in enumerate(self.statements):
                taken = [n for n in statement.inputs if n in kinds]
                if taken:
                    consumers.append(self.consumer(number, statement, taken))
            refs = self.event_slots(name)
            types.append([first, len(consumers) - first, self.listed(refs), len(refs) // 2])
        return consumers, types

    def consumer(self, number: int, statement: ResolvedStatement, taken: list[str]) -> list[int]:
        atoms = []
        for place, node in enumerate(self.node_rows):
            if node[NodeRow.STATEMENT] == number and self.event_types.get(place) in taken:
                atoms.append(place)
        keys: list[int] = []
        doubles = 0
        self.tags = {}
        attributes = next((k for n in taken if (k := statement.key_of(n)) is not None), ())
        for place, attribute in enumerate(attributes):
            type = self.program.types[taken[0]].find(attribute)
            assert type is not None
            keys.append(self.compiled(Column(None, (Part(attribute),), type=type)))
            doubles |= (type in (FLOAT, DOUBLE)) << place
        self.most_keys = max(self.most_keys, len(keys))
        listed = self.listed(keys)
        return [number, self.listed(atoms), len(atoms), listed, len(keys), doubles]

    def event_slots(self, name: str) -> list[int]:
        """Slots of a type's events that hold events, and whether each holds a list of them."""
        found = []
        for attribute in self.program.types[name].attributes:
            slot = self.slots.get((attribute.name, attribute.type))
            is_list = isinstance(attribute.type, ArrayType)
            held = (
                attribute.type.element if isinstance(attribute.type, ArrayType) else attribute.type
            )
            if slot is not None and isinstance(held, EventRef):
                found += [slot, int(is_list)]
        return found

    # Patterns.

    event_types: dict[int, str] = field(default_factory=dict)
    before: tuple[nodes.Node, ...] = ()  # parts of a sequence that were true when this one begins
    forbidden: int = 0  # the `not`s of an `and` around the part at hand

    def root(self, normal: NormalStatement) -> int:
        number = self.node(NodeKind.ROOT)
        self.one_list = normal.resolved.context is None
        self.before = ()
        self.link_children(number, [self.part(normal.source)])
        return number

    def node(self, kind: int) -> int:
        row = [NONE] * NodeRow.WIDTH
        row[NodeRow.KIND] = kind
        row[NodeRow.STATEMENT] = self.current
        row[NodeRow.TURN] = 2 * self.forbidden
        row[NodeRow.PERIOD] = row[NodeRow.MONTHS] = row[NodeRow.REACHED] = row[NodeRow.KEYS] = row[
            NodeRow.TAG_COUNT
        ] = 0
        row[NodeRow.CHILDREN] = row[NodeRow.KEY_DOUBLE] = row[NodeRow.IS_ONE_LIST] = row[
            NodeRow.FIRED
        ] = 0
        row[NodeRow.HEAD] = row[NodeRow.TAIL] = row[NodeRow.TIMERS] = row[NodeRow.LAST_TIMER] = NONE
        self.node_rows.append(row)
        return len(self.node_rows) - 1

    def link_children(self, number: int, children: list[int], *, backwards: bool = False) -> None:
        """Children follow each other; those of `or` begin from the last to the first."""
        for place, child in enumerate(children):
            self.node_rows[child][NodeRow.PLACE] = place
        order = children[::-1] if backwards else children
        for child, following in pairwise([*order, NONE]):
            self.node_rows[child][NodeRow.NEXT] = following
        self.node_rows[number][NodeRow.CHILD] = order[0] if order else NONE
        self.node_rows[number][NodeRow.CHILDREN] = len(children)

    def part(self, node: nodes.Node) -> int:
        number = self.node(_KINDS[type(node)])
        row = self.node_rows[number]
        match node:
            case nodes.Wait():
                self.wait(number, node)
            case nodes.Within():
                row[NodeRow.HIGH] = NONE if node.most is None else node.most
                row[NodeRow.PERIOD], row[NodeRow.MONTHS] = (
                    node.period.microseconds,
                    node.period.months,
                )
                self.timed.append((self.current, number))
            case nodes.WaitForInstant():
                self.count_step(node.step, number, NodeRow.FIRED)
                row[NodeRow.LOW] = len(self.schedules) + 1
                self.schedules.append(node.schedule)
                self.timed.append((self.current, number))
            case nodes.EveryDistinct():
                self.distinct(row, node)
            case nodes.While():
                row[NodeRow.LATE] = self.compiled(node.condition)
            case nodes.Repeat():
                row[NodeRow.LOW] = NONE if node.low is None else node.low
                row[NodeRow.HIGH] = NONE if node.high is None else node.high
                self.collects(row, node.child)
        children = self.parts(node)
        self.link_children(number, children, backwards=isinstance(node, nodes.AnyOf))
        if isinstance(node, nodes.Every | nodes.EveryDistinct) and _is_event(node.child):
            self.starts_runs(children[0])
        return number

    def parts(self, node: nodes.Node) -> list[int]:
        numbers, before = [], self.before
        for child in nodes.children(node):
            forbids = isinstance(node, nodes.AllOf) and isinstance(child, nodes.Absent)
            self.forbidden += forbids
            numbers.append(self.part(child))
            self.forbidden -= forbids
            if isinstance(node, nodes.Sequence):
                self.before = (*self.before, child)
        self.before = before
        return numbers

    def starts_runs(self, number: int) -> None:
        """The `a=A` of `every a=A` hears an event before others do, if nothing is bound before it.

        Where that is so of some instances only, these wait at a node of their own. So the instances
        of a node hear an event in the order in which they began to wait, without being sorted.
        """
        if any(event.tag for part in self.before for event in surely_taken(part)):
            return
        if any(tag for part in self.before for tag in nodes.tags(part)):
            self.node_rows.append(list(self.node_rows[number]))
            twin = self.node_rows[number][NodeRow.TWIN] = len(self.node_rows) - 1
            self.event_types[twin] = self.event_types[number]
            number = twin
        self.node_rows[number][NodeRow.TURN] += 1

    def distinct(self, row: list[int], node: nodes.EveryDistinct) -> None:
        row[NodeRow.KEYS] = len(node.keys)
        row[NodeRow.BOUND_KEYS] = self.listed([self.compiled(key) for key in node.keys])
        row[NodeRow.KEY_DOUBLE] = sum(
            (key.type in (FLOAT, DOUBLE)) << place for place, key in enumerate(node.keys)
        )
        self.most_keys = max(self.most_keys, len(node.keys))
        if node.expiry is not None:
            row[NodeRow.LOW], row[NodeRow.PERIOD] = 1, node.expiry.microseconds

    def count_step(self, step: int, number: int, word: int) -> None:
        """A node counts its events and its timer apart."""
        self.steps.setdefault(self.current, {})[step] = number, word

    def steps_of(self, statement: int) -> tuple[tuple[int, int], ...]:
        return tuple(where for _, where in sorted(self.steps.get(statement, {}).items()))

    def collects(self, row: list[int], body: nodes.Node) -> None:
        """The tags that a repeat collects, and whether the body binds them to lists itself."""
        inner = _collected(body)
        tags = dict.fromkeys(nodes.tags(body))
        row[NodeRow.TAGS] = self.listed(
            w for tag in tags for w in (self.tags[tag], int(tag in inner))
        )
        row[NodeRow.TAG_COUNT] = len(tags)

    def wait(self, number: int, wait: nodes.Wait) -> None:
        row = self.node_rows[number]
        is_true_by_event = wait.true_by == "event"
        if wait.event is not None:
            row[NodeRow.EVENT_DOES] = Effect.COMES_TRUE if is_true_by_event else Effect.FAILS
            row[NodeRow.TURN] += 0 if is_true_by_event else 2
            self.count_step(wait.event.step, number, NodeRow.REACHED)
            self.event(number, wait.event)
        if wait.time is not None:
            row[NodeRow.TIMER_DOES] = Effect.FAILS if is_true_by_event else Effect.COMES_TRUE
            row[NodeRow.PERIOD], row[NodeRow.MONTHS] = (
                wait.time.period.microseconds,
                wait.time.period.months,
            )
            if wait.time.step is not None:
                self.count_step(wait.time.step, number, NodeRow.FIRED)
            self.timed.append((self.current, number))

    def event(self, number: int, event: nodes.Awaited) -> None:
        row = self.node_rows[number]
        self.event_types[number] = event.event_type
        row[NodeRow.TAG] = NONE if event.tag is None else self.tags[event.tag]
        keys = [e for e in event.equal if _can_be_looked_up(e)][:MOST_KEYS]
        late = (*(e.written for e in event.equal if e not in keys), *event.rest)
        row[NodeRow.EARLY] = self.compiled(joined(event.own))
        row[NodeRow.LATE] = self.compiled(joined(late))
        row[NodeRow.KEYS] = len(keys)
        row[NodeRow.EVENT_KEYS] = self.listed([self.compiled(key.event) for key in keys])
        row[NodeRow.BOUND_KEYS] = self.listed([self.compiled(key.bound) for key in keys])
        row[NodeRow.KEY_DOUBLE] = sum(
            1 << i for i, key in enumerate(keys) if key.event.type in (FLOAT, DOUBLE)
        )
        row[NodeRow.IS_ONE_LIST] = int(self.one_list and not keys)
        self.most_keys = max(self.most_keys, len(keys))


def _is_event(node: nodes.Node) -> bool:
    """Whether it waits for an event and for nothing else."""
    return isinstance(node, nodes.Wait) and node.time is None


_KEY_TYPES = ({INT, LONG}, {FLOAT, DOUBLE}, {STRING}, {BOOLEAN})


def _can_be_looked_up(equality: nodes.Equality) -> bool:
    """Whether values are equal if the words are by which the machine finds who waits for them."""
    both = {equality.event.type, equality.bound.type}
    is_one = len(both) == 1 and all(map(is_counted, both))
    return is_one or any(both <= types for types in _KEY_TYPES)


_STREAMS = {"istream": 1, "rstream": 2, "irstream": 3, None: 0}


def _slots(program: ResolvedProgram) -> Mapping[tuple[str, DataType], int]:
    """Where attributes lie in events: one place for all that have the same name and type."""
    found: dict[tuple[str, DataType], int] = {}
    for column in columns_of(program):
        found.setdefault((column.attribute, column.data_type), len(found))
    for attributes in derived_types(program).values():
        for name, type in attributes.items():
            found.setdefault((name, type), len(found))
    if any(s.output_when is not None for s in program.statements):
        for name in OUTPUT_COUNTERS:
            found.setdefault((name, LONG), len(found))
    return found


def _all_tags(normal: NormalStatement) -> tuple[str, ...]:
    """Those that its clauses know, and those that live only inside of `not`."""
    return tuple(dict.fromkeys((*normal.resolved.tags, *nodes.tags(normal.source))))


def _collected(node: nodes.Node) -> set[str]:
    """The tags that are bound to lists of events."""
    repeats = (part for part in nodes.walk(node) if isinstance(part, nodes.Repeat))
    return {tag for repeat in repeats for tag in nodes.tags(repeat.child)}
