"""Whether a machine form is well formed: compiled code trusts every number in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cepheid.matcher.compiling.disassembly import check_code
from cepheid.matcher.compiling.machine_program import MachineProgram
from cepheid.matcher.vm.memory.layout import NONE
from cepheid.matcher.vm.memory.tables import (
    ANY,
    AT,
    C_ATOM_COUNT,
    C_ATOMS,
    C_KEY_COUNT,
    C_KEYS,
    C_STATEMENT,
    C_WIDTH,
    CONSUMER,
    DISTINCT,
    LIST,
    N_BOUND_KEYS,
    N_CHILD,
    N_CHILDREN,
    N_EARLY,
    N_EVENT_KEYS,
    N_FIRED,
    N_KEYS,
    N_KIND,
    N_LATE,
    N_LOW,
    N_NEXT,
    N_PLACE,
    N_REACHED,
    N_STATEMENT,
    N_TAG,
    N_TAG_COUNT,
    N_TAGS,
    N_TWIN,
    N_WIDTH,
    NODE,
    S_COLUMN_COUNT,
    S_COLUMNS,
    S_CONDITION,
    S_HAVING,
    S_ROOT,
    S_RUNNING,
    S_TAG_COUNT,
    S_TARGET,
    S_WHERE,
    S_WIDTH,
    STATEMENT,
    T_CONSUMER_COUNT,
    T_CONSUMERS,
    T_REF_COUNT,
    T_REFS,
    T_WIDTH,
    TIMED,
    TYPE,
    WAIT,
)

Row = Sequence[int]
_WIDTHS = {NODE: N_WIDTH, STATEMENT: S_WIDTH, CONSUMER: C_WIDTH, TYPE: T_WIDTH, LIST: 1, TIMED: 1}


def check_form(form: MachineProgram) -> MachineProgram:
    """The form; ValueError where a number in it stands for nothing."""
    _Check(form).all()
    return form


@dataclass(frozen=True, slots=True)
class _Check:
    form: MachineProgram

    def all(self) -> None:
        for region, width in _WIDTHS.items():
            for number, row in enumerate(self.form.tables[region]):
                _require(len(row) == width, f"row {number} of table {region} is {len(row)} wide")
        for number in range(len(self.nodes)):
            self.node(number)
        for number in range(len(self.statements)):
            self.statement(number)
        for number, row in enumerate(self.form.tables[CONSUMER]):
            self.consumer(row, f"consumer {number}")
        for name, row in zip(self.form.types, self.form.tables[TYPE], strict=True):
            self.type(row, f"type {name}")
        for [node] in self.form.tables[TIMED]:
            self.known(node, self.nodes, "a timed node")
        for steps in self.form.steps:
            for node, word in steps:
                self.known(node, self.nodes, "a step")
                _require(word in (N_REACHED, N_FIRED), "a step is counted by no counter")

    @property
    def nodes(self) -> Sequence[Row]:
        return self.form.tables[NODE]

    @property
    def statements(self) -> Sequence[Row]:
        return self.form.tables[STATEMENT]

    # -- tables --

    def node(self, number: int) -> None:
        row, where = self.nodes[number], f"node {number}"
        _require(0 <= row[N_KIND] <= AT, f"{where} is of no kind")
        self.known(row[N_STATEMENT], self.statements, f"the statement of {where}")
        tags = self.statements[row[N_STATEMENT]][S_TAG_COUNT]
        self.children(row, where)
        _require(NONE <= row[N_TWIN] < len(self.nodes), f"{where} has no twin")
        _require(NONE <= row[N_TAG] < tags, f"{where} binds an unknown tag")
        self.code((row[N_EARLY],), 0, f"the condition of {where}")
        self.code((row[N_LATE],), tags, f"the condition of {where}")
        if row[N_KEYS]:
            if row[N_KIND] != DISTINCT:
                keys = self.listed(row[N_EVENT_KEYS], row[N_KEYS], where)
                self.code(keys, 0, f"a key of {where}")
            self.code(self.listed(row[N_BOUND_KEYS], row[N_KEYS], where), tags, f"a key of {where}")
        for tag in self.listed(row[N_TAGS], 2 * row[N_TAG_COUNT], where)[::2]:
            _require(0 <= tag < tags, f"{where} collects an unknown tag")
        if row[N_KIND] == AT:
            _require(0 < row[N_LOW] <= len(self.form.schedules), f"{where} has no schedule")

    def children(self, row: Row, where: str) -> None:
        """Each knows its place; those of `or` are linked backwards."""
        places: list[int] = []
        child = row[N_CHILD]
        while child != NONE and len(places) <= row[N_CHILDREN]:
            self.known(child, self.nodes, f"a child of {where}")
            places.append(self.nodes[child][N_PLACE])
            child = self.nodes[child][N_NEXT]
        expected = list(range(row[N_CHILDREN]))
        expected = expected[::-1] if row[N_KIND] == ANY else expected
        _require(places == expected, f"the children of {where} are linked wrongly")

    def statement(self, number: int) -> None:
        row, where = self.statements[number], f"statement {number}"
        tags = row[S_TAG_COUNT]
        _require(NONE <= row[S_ROOT] < len(self.nodes), f"the root of {where} is no node")
        self.known(row[S_TARGET], self.form.types, f"the target of {where}")
        _require(row[S_RUNNING] == number, f"{where} does not run")
        self.code((row[S_CONDITION],), 0, f"the condition of {where}")
        self.code((row[S_WHERE],), tags, f"the where of {where}")
        columns = self.listed(row[S_COLUMNS], 2 * row[S_COLUMN_COUNT], where)
        most = self.form.most_aggregates
        self.code((row[S_HAVING],), tags, f"the having of {where}", aggregates=most)
        self.code(columns[::2], tags, f"a column of {where}", aggregates=most)
        for slot in columns[1::2]:
            _require(0 <= slot < len(self.form.slots), f"a column of {where} has no slot")

    def consumer(self, row: Row, where: str) -> None:
        self.known(row[C_STATEMENT], self.statements, f"the statement of {where}")
        for node in self.listed(row[C_ATOMS], row[C_ATOM_COUNT], where):
            self.known(node, self.nodes, f"an atom of {where}")
            is_own = self.nodes[node][N_STATEMENT] == row[C_STATEMENT]
            _require(is_own and self.nodes[node][N_KIND] == WAIT, f"{where} has an alien atom")
        self.code(self.listed(row[C_KEYS], row[C_KEY_COUNT], where), 0, f"a key of {where}")

    def type(self, row: Row, where: str) -> None:
        end = row[T_CONSUMERS] + row[T_CONSUMER_COUNT]
        is_inside = 0 <= row[T_CONSUMERS] <= end <= len(self.form.tables[CONSUMER])
        _require(is_inside, f"the consumers of {where} are none")
        for slot in self.listed(row[T_REFS], 2 * row[T_REF_COUNT], where)[::2]:
            _require(0 <= slot < len(self.form.slots), f"{where} has events in no slot")

    # -- what they are made of --

    def known(self, number: int, rows: Sequence[object], what: str) -> None:
        _require(0 <= number < len(rows), f"{what} is not there")

    def listed(self, begin: int, count: int, where: str) -> list[int]:
        words = self.form.tables[LIST]
        is_inside = count == 0 or (begin >= 0 and begin + count <= len(words))
        _require(is_inside, f"{where} has a list that is not there")
        return [word for [word] in words[begin : begin + count]] if count else []

    def code(self, begins: Iterable[int], tags: int, where: str, *, aggregates: int = 0) -> None:
        for begin in begins:
            if begin == NONE:
                continue
            try:
                check_code(
                    self.form.code,
                    begin,
                    slots=len(self.form.slots),
                    tags=tags,
                    sites=len(self.form.sites),
                    aggregates=aggregates,
                )
            except ValueError as problem:
                raise ValueError(f"{where}: {problem}") from None


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)
