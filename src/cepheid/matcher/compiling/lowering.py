"""From a resolved program to its machine form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

from cepheid.analysis.keys import surely_bound
from cepheid.core.time import Period
from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SCALARS,
    STRING,
    ArrayType,
    DataType,
    EventRef,
)
from cepheid.expr.tree import Aggregate, And, Binary, Call, Column, Expr, Part, conjuncts, walk
from cepheid.matcher.columns.interning import Pool
from cepheid.matcher.compiling.bytecode import Site, compile_expression
from cepheid.matcher.compiling.disassembly import deepest
from cepheid.matcher.compiling.machine_program import MachineProgram
from cepheid.matcher.compiling.verification import check_form
from cepheid.matcher.compiling.window_lowering import (
    Windows,
    aggregates_of,
    handed_over_rows,
    is_plain,
)
from cepheid.matcher.operator import columns_of, derived_types
from cepheid.matcher.vm.memory.layout import NONE
from cepheid.matcher.vm.memory.tables import (
    ABSENT,
    AGGREGATE,
    ALL,
    ANY,
    AT,
    COMES_TRUE,
    CONSUMER,
    DISTINCT,
    EVERY,
    FAILS,
    FOLLOWED,
    LINE,
    LIST,
    N_BOUND_KEYS,
    N_CHILD,
    N_CHILDREN,
    N_EARLY,
    N_EVENT_DOES,
    N_EVENT_KEYS,
    N_FIRED,
    N_HEAD,
    N_HIGH,
    N_IS_ONE_LIST,
    N_KEY_DOUBLE,
    N_KEYS,
    N_KIND,
    N_LAST_TIMER,
    N_LATE,
    N_LOW,
    N_MONTHS,
    N_NEXT,
    N_PERIOD,
    N_PLACE,
    N_REACHED,
    N_STARTS_RUNS,
    N_STATEMENT,
    N_TAG,
    N_TAG_COUNT,
    N_TAGS,
    N_TAIL,
    N_TIMER_DOES,
    N_TIMERS,
    N_TWIN,
    N_WIDTH,
    NODE,
    REPEAT,
    ROOT,
    S_COLUMN_COUNT,
    S_COLUMNS,
    S_CONDITION,
    S_CONSUMED,
    S_HAS_CONTEXT,
    S_HAVING,
    S_INSERTED,
    S_RANK,
    S_REPEATED,
    S_REPORTED,
    S_ROOT,
    S_RUNNING,
    S_TAG_COUNT,
    S_TARGET,
    S_WHERE,
    S_WIDTH,
    S_WINDOW,
    STATEMENT,
    TIMED,
    TYPE,
    WAIT,
    WHILE,
    WINDOW,
    WITHIN,
)
from cepheid.pattern import tree
from cepheid.pattern.schedule import Schedule
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement
from cepheid.program.statements import OUTPUT_COUNTERS

_KINDS: dict[type[tree.Pattern], int] = {
    tree.Atom: WAIT,
    tree.Every: EVERY,
    tree.EveryDistinct: DISTINCT,
    tree.FollowedBy: FOLLOWED,
    tree.AllOf: ALL,
    tree.AnyOf: ANY,
    tree.Absent: ABSENT,
    tree.Repeat: REPEAT,
    tree.Within: WITHIN,
    tree.While: WHILE,
    tree.Interval: WAIT,
    tree.At: AT,
}
_MOST_TAGS = 62
_MOST_KEYS = 62


def lower(program: ResolvedProgram) -> MachineProgram:
    """The machine form; only for programs of which `handed_over` names nothing."""
    return check_form(_Lowering(program).form())


def handed_over(statement: ResolvedStatement) -> list[str]:
    """What a statement has that the machine leaves to the reference semantics."""
    found = handed_over_rows(statement)
    if statement.pattern is not None:
        kinds = dict.fromkeys(map(type, tree.walk(statement.pattern)))
        found += [kind.__name__ for kind in kinds if kind not in _KINDS]
        for node in tree.walk(statement.pattern):
            if isinstance(node, tree.EveryDistinct):
                found += _handed_over_distinct(node)
    if len(_all_tags(statement)) > _MOST_TAGS:
        found.append(f"more than {_MOST_TAGS} tags")
    return found


def _handed_over_distinct(pattern: tree.EveryDistinct) -> list[str]:
    found = []
    if pattern.expiry is not None and pattern.expiry.months:
        found.append("every-distinct with months")
    if _stays(pattern.child):  # each of its instances remembers keys of its own
        found.append("every or not below every-distinct")
    if any(key.type not in SCALARS.values() for key in pattern.keys):
        found.append("every-distinct by nested values")
    return found


def _stays(pattern: tree.Pattern) -> bool:
    """Whether an instance may be true and not be over."""
    match pattern:
        case tree.Every() | tree.EveryDistinct() | tree.Absent():
            return True
        case tree.Repeat():
            return False
        case tree.AllOf(sides):  # an absence ends with the last of the other sides
            return any(_stays(side) for side in sides if not isinstance(side, tree.Absent))
    return any(map(_stays, tree.children(pattern)))


@dataclass
class _Lowering:
    """Everything that grows while statements are lowered one after the other."""

    program: ResolvedProgram
    pool: Pool = field(default_factory=Pool)
    code: list[int] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    schedules: list[Schedule] = field(default_factory=list)
    nodes: list[list[int]] = field(default_factory=list)
    lists: list[int] = field(default_factory=list)
    timed: list[tuple[int, int]] = field(default_factory=list)  # (statement, node)
    steps: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # per statement
    depth: int = 1
    most_keys: int = 1

    def __post_init__(self) -> None:
        self.types = tuple(self.program.types)
        self.statements = ranked(self.program)
        self.slots = _slots(self.program)
        self.windows = Windows(self.compiled, self.listed, self.asks, self.slots)
        self.aggregates: dict[Aggregate, int] = {}

    def form(self) -> MachineProgram:
        statements = [self.statement(n, s) for n, s in enumerate(self.statements)]
        consumers, types = self.consumers()
        tables: dict[int, list[list[int]]] = {
            NODE: self.nodes,
            STATEMENT: statements,
            CONSUMER: consumers,
            TYPE: types,
            LIST: [[word] for word in self.lists],
            TIMED: [[node] for _, node in self.timed],
            WINDOW: self.windows.rows,
            AGGREGATE: self.windows.aggregates,
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
            max((len(_all_tags(s)) for s in self.statements), default=0),
            self.most_keys,
            self.windows.most_aggregates,
            self.windows.most_ordered,
            tuple(tuple(self.steps.get(n, ())) for n in range(len(self.statements))),
        )

    # Statements.

    def statement(self, number: int, statement: ResolvedStatement) -> list[int]:
        row = [NONE] * S_WIDTH
        self.current = number
        self.tags = {tag: place for place, tag in enumerate(_all_tags(statement))}
        self.repeated = _repeated_tags(statement)
        self.aggregates = {node: place for place, node in enumerate(aggregates_of(statement))}
        if statement.pattern is not None:
            row[S_ROOT] = self.root(statement)
        row[S_CONDITION] = self.compiled(statement.condition)
        row[S_WHERE] = self.compiled(statement.where)
        row[S_HAVING] = self.compiled(statement.having)
        target = self.program.types[statement.target]
        columns = []
        for column in statement.columns:
            type = derived_types(self.program)[statement.target][column.name]
            columns += [self.compiled(column.expr), self.slots[column.name, type]]
        row[S_COLUMNS] = self.listed(columns)
        row[S_COLUMN_COUNT] = len(statement.columns)
        row[S_TARGET] = self.types.index(statement.target)
        row[S_REPORTED] = _STREAMS[statement.tree.stream]
        row[S_INSERTED] = _STREAMS[statement.tree.insert_stream]
        consumed = {n for s in self.statements for n in s.inputs}
        row[S_CONSUMED] = int(bool(consumed & {statement.target, *target.ancestors}))
        row[S_HAS_CONTEXT] = int(statement.context is not None)
        row[S_TAG_COUNT] = len(self.tags)
        row[S_REPEATED] = sum(1 << self.tags[tag] for tag in self.repeated)
        row[S_RUNNING] = number
        row[S_RANK] = statement.rank
        if not is_plain(statement):
            row[S_WINDOW] = self.windows.add(number, statement)
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
            lineage = {name, *self.program.types[name].ancestors}
            first = len(consumers)
            for number, statement in enumerate(self.statements):
                taken = [n for n in statement.inputs if n in lineage]
                if taken:
                    consumers.append(self.consumer(number, statement, taken))
            refs = self.event_slots(name)
            types.append([first, len(consumers) - first, self.listed(refs), len(refs) // 2])
        return consumers, types

    def consumer(self, number: int, statement: ResolvedStatement, taken: list[str]) -> list[int]:
        atoms = []
        for place, node in enumerate(self.nodes):
            if node[N_STATEMENT] == number and self.atom_types.get(place) in taken:
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

    atom_types: dict[int, str] = field(default_factory=dict)
    before: tuple[tree.Pattern, ...] = ()  # parts of `->` that are over when this one begins

    def root(self, statement: ResolvedStatement) -> int:
        assert statement.pattern is not None
        number = self.node(ROOT)
        self.one_list = statement.context is None
        self.before = ()
        self.link_children(number, [self.pattern(statement.pattern)])
        return number

    def node(self, kind: int) -> int:
        row = [NONE] * N_WIDTH
        row[N_KIND] = kind
        row[N_STATEMENT] = self.current
        row[N_PERIOD] = row[N_MONTHS] = row[N_REACHED] = row[N_KEYS] = row[N_TAG_COUNT] = 0
        row[N_CHILDREN] = row[N_KEY_DOUBLE] = row[N_IS_ONE_LIST] = row[N_FIRED] = 0
        row[N_HEAD] = row[N_TAIL] = row[N_TIMERS] = row[N_LAST_TIMER] = NONE
        self.nodes.append(row)
        return len(self.nodes) - 1

    def link_children(self, number: int, children: list[int], *, backwards: bool = False) -> None:
        """Children follow each other; those of `or` begin from the last to the first."""
        for place, child in enumerate(children):
            self.nodes[child][N_PLACE] = place
        order = children[::-1] if backwards else children
        for child, following in pairwise([*order, NONE]):
            self.nodes[child][N_NEXT] = following
        self.nodes[number][N_CHILD] = order[0] if order else NONE
        self.nodes[number][N_CHILDREN] = len(children)

    def pattern(self, pattern: tree.Pattern) -> int:
        wait = _wait(pattern)
        if wait is not None:
            number = self.wait(wait)
            self.count_steps(number, pattern)
            return number
        if isinstance(pattern, tree.FollowedBy):
            return self.followed(pattern)
        number = self.node(_KINDS[type(pattern)])
        row = self.nodes[number]
        match pattern:
            case tree.Within():
                row[N_HIGH] = NONE if pattern.most is None else pattern.most
                row[N_PERIOD], row[N_MONTHS] = pattern.period.microseconds, pattern.period.months
                self.timed.append((self.current, number))
            case tree.At():
                self.count_steps(number, pattern)
                row[N_LOW] = len(self.schedules) + 1
                self.schedules.append(pattern.schedule)
                self.timed.append((self.current, number))
            case tree.EveryDistinct():
                self.distinct(row, pattern)
            case tree.While():
                row[N_LATE] = self.compiled(pattern.condition)
            case tree.Repeat():
                row[N_LOW] = NONE if pattern.low is None else pattern.low
                row[N_HIGH] = NONE if pattern.high is None else pattern.high
                self.collects(row, pattern.child)
        children = [self.pattern(child) for child in tree.children(pattern)]
        self.link_children(number, children, backwards=isinstance(pattern, tree.AnyOf))
        is_every = isinstance(pattern, tree.Every | tree.EveryDistinct)
        if is_every and isinstance(next(tree.children(pattern)), tree.Atom):
            self.starts_runs(children[0])
        return number

    def starts_runs(self, number: int) -> None:
        """The `a=A` of `every a=A` hears an event before others do, if nothing is bound before it.

        Where that is so of some instances only, these wait at a node of their own. So the instances
        of a node hear an event in the order in which they began to wait, without being sorted.
        """
        if any(atom.tag for part in self.before for atom in surely_bound(part)):
            return
        if any(tag for part in self.before for tag in _tags(part)):
            self.nodes.append(list(self.nodes[number]))
            twin = self.nodes[number][N_TWIN] = len(self.nodes) - 1
            self.atom_types[twin] = self.atom_types[number]
            number = twin
        self.nodes[number][N_STARTS_RUNS] = 1

    def distinct(self, row: list[int], pattern: tree.EveryDistinct) -> None:
        row[N_KEYS] = len(pattern.keys)
        row[N_BOUND_KEYS] = self.listed([self.compiled(key) for key in pattern.keys])
        row[N_KEY_DOUBLE] = sum(
            (key.type in (FLOAT, DOUBLE)) << place for place, key in enumerate(pattern.keys)
        )
        self.most_keys = max(self.most_keys, len(pattern.keys))
        if pattern.expiry is not None:
            row[N_LOW], row[N_PERIOD] = 1, pattern.expiry.microseconds

    def count_steps(self, number: int, pattern: tree.Pattern) -> None:
        """The node counts its events and its timer apart."""
        for leaf in tree.walk(pattern):
            if not any(tree.children(leaf)):
                word = N_REACHED if isinstance(leaf, tree.Atom) else N_FIRED
                self.steps.setdefault(self.current, []).append((number, word))

    def collects(self, row: list[int], body: tree.Pattern) -> None:
        """The tags that a repeat collects, and whether the body binds them to lists itself."""
        inner = {t for n in tree.walk(body) if isinstance(n, tree.Repeat) for t in _tags(n.child)}
        tags = dict.fromkeys(_tags(body))
        row[N_TAGS] = self.listed(w for tag in tags for w in (self.tags[tag], int(tag in inner)))
        row[N_TAG_COUNT] = len(tags)

    def followed(self, pattern: tree.FollowedBy) -> int:
        """Waits that follow each other are one line; `->` joins lines and other parts."""
        groups = [
            (is_wait, list(parts))
            for is_wait, parts in groupby(pattern.parts, lambda part: _wait(part) is not None)
        ]
        if len(groups) == 1 and groups[0][0]:
            return self.line(groups[0][1])
        number = self.node(FOLLOWED)
        children: list[int] = []
        before = self.before
        for is_wait, parts in groups:
            for some in [parts] if is_wait else ([part] for part in parts):
                children.append(self.line(some))
                self.before = (*self.before, *some)
        self.before = before
        self.link_children(number, children)
        return number

    def line(self, parts: list[tree.Pattern]) -> int:
        if len(parts) == 1:
            return self.pattern(parts[0])
        number = self.node(LINE)
        self.link_children(number, [self.pattern(part) for part in parts])
        return number

    def wait(self, wait: _Wait) -> int:
        number = self.node(WAIT)
        row = self.nodes[number]
        if wait.atom is not None:
            row[N_EVENT_DOES] = wait.event_does
            self.atom(number, wait.atom)
        if wait.period is not None:
            row[N_TIMER_DOES] = wait.timer_does
            row[N_PERIOD], row[N_MONTHS] = wait.period.microseconds, wait.period.months
            self.timed.append((self.current, number))
        return number

    def atom(self, number: int, atom: tree.Atom) -> None:
        row = self.nodes[number]
        self.atom_types[number] = atom.event_type
        row[N_TAG] = NONE if atom.tag is None else self.tags[atom.tag]
        early, keys, late = _parts_of(atom.condition)
        row[N_EARLY] = self.compiled(_all_of(early))
        row[N_LATE] = self.compiled(_all_of(late))
        row[N_KEYS] = len(keys)
        row[N_EVENT_KEYS] = self.listed([self.compiled(event) for event, _ in keys])
        row[N_BOUND_KEYS] = self.listed([self.compiled(bound) for _, bound in keys])
        row[N_KEY_DOUBLE] = sum(
            1 << i for i, (e, _) in enumerate(keys) if e.type in (FLOAT, DOUBLE)
        )
        row[N_IS_ONE_LIST] = int(self.one_list and not keys)
        self.most_keys = max(self.most_keys, len(keys))


@dataclass(frozen=True, slots=True)
class _Wait:
    """Something that waits for one event, for a time to pass, or for whichever comes first."""

    atom: tree.Atom | None = None
    event_does: int = COMES_TRUE
    period: Period | None = None
    timer_does: int = COMES_TRUE


def _wait(pattern: tree.Pattern) -> _Wait | None:
    match pattern:
        case tree.Atom():
            return _Wait(pattern)
        case tree.Interval(period):
            return _Wait(period=period)
        case tree.Within(tree.Atom() as atom, period, None) if not period.is_zero:
            return _Wait(atom, period=period, timer_does=FAILS)
        case tree.AllOf((tree.Interval(period), tree.Absent(tree.Atom() as atom))) | tree.AllOf(
            (tree.Absent(tree.Atom() as atom), tree.Interval(period))
        ) if not period.is_zero:
            return _Wait(replace(atom, tag=None), FAILS, period)
    return None


_STREAMS = {"istream": 1, "rstream": 2, "irstream": 3, None: 0}


def ranked(program: ResolvedProgram) -> tuple[ResolvedStatement, ...]:
    """The statements in the order in which they take an event."""
    return tuple(sorted(program.statements, key=lambda s: s.rank))


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


def _all_tags(statement: ResolvedStatement) -> tuple[str, ...]:
    """Those that its clauses know, and those that live only inside of `not`."""
    inner = _tags(statement.pattern) if statement.pattern is not None else ()
    return tuple(dict.fromkeys((*statement.tags, *inner)))


def _repeated_tags(statement: ResolvedStatement) -> set[str]:
    """The tags that are bound to lists of events."""
    nodes = tree.walk(statement.pattern) if statement.pattern is not None else ()
    return {tag for n in nodes if isinstance(n, tree.Repeat) for tag in _tags(n.child)}


def _tags(pattern: tree.Pattern) -> Iterator[str]:
    return (atom.tag for atom in tree.atoms(pattern) if atom.tag is not None)


# -- conditions --------------------------------------------------------------------------------


def _parts_of(
    condition: Expr | None,
) -> tuple[list[Expr], list[tuple[Expr, Expr]], list[Expr]]:
    """What is about the event alone, equalities with what is bound already, and the rest."""
    early: list[Expr] = []
    keys: list[tuple[Expr, Expr]] = []
    late: list[Expr] = []
    for part in conjuncts(condition):
        equality = _equality(part)
        if _sides(part) <= {"event"} and not _reads_clock(part):
            early.append(part)
        elif equality is not None and len(keys) < _MOST_KEYS:
            keys.append(equality)
        else:
            late.append(part)
    return early, keys, late


def _all_of(parts: list[Expr]) -> Expr | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return And(tuple(parts), type=BOOLEAN)


def _sides(expr: Expr) -> set[str]:
    columns = (node for node in walk(expr) if isinstance(node, Column))
    return {"event" if column.tag is None else "bound" for column in columns}


def _reads_clock(expr: Expr) -> bool:
    return any(isinstance(node, Call) and not node.arguments for node in walk(expr))


_KEY_TYPES = ({INT, LONG}, {FLOAT, DOUBLE}, {STRING}, {BOOLEAN})


def _equality(expr: Expr) -> tuple[Expr, Expr] | None:
    """The event's side and the other, where an equality can be looked up."""
    if not isinstance(expr, Binary) or expr.operator != "=" or _reads_clock(expr):
        return None
    if not any({expr.left.type, expr.right.type} <= types for types in _KEY_TYPES):
        return None
    for event, bound in ((expr.left, expr.right), (expr.right, expr.left)):
        if _sides(event) == {"event"} and _sides(bound) == {"bound"}:
            return event, bound
    return None
