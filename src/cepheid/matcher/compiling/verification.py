"""Whether a machine form is well formed: compiled code trusts every number in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cepheid.matcher.compiling.disassembly import check_code
from cepheid.matcher.compiling.machine_program import MachineProgram
from cepheid.matcher.vm.memory.layout import NONE, Region
from cepheid.matcher.vm.memory.tables import ConsumerRow, NodeKind, NodeRow, StatementRow, TypeRow

Row = Sequence[int]
_WIDTHS = {
    Region.NODE: NodeRow.WIDTH,
    Region.STATEMENT: StatementRow.WIDTH,
    Region.CONSUMER: ConsumerRow.WIDTH,
    Region.TYPE: TypeRow.WIDTH,
    Region.LIST: 1,
    Region.TIMED: 1,
}


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
        for number, row in enumerate(self.form.tables[Region.CONSUMER]):
            self.consumer(row, f"consumer {number}")
        for name, row in zip(self.form.types, self.form.tables[Region.TYPE], strict=True):
            self.type(row, f"type {name}")
        for [node] in self.form.tables[Region.TIMED]:
            self.known(node, self.nodes, "a timed node")
        for steps in self.form.steps:
            for node, word in steps:
                self.known(node, self.nodes, "a step")
                _require(
                    word in (NodeRow.REACHED, NodeRow.FIRED), "a step is counted by no counter"
                )

    @property
    def nodes(self) -> Sequence[Row]:
        return self.form.tables[Region.NODE]

    @property
    def statements(self) -> Sequence[Row]:
        return self.form.tables[Region.STATEMENT]

    # -- tables --

    def node(self, number: int) -> None:
        row, where = self.nodes[number], f"node {number}"
        _require(0 <= row[NodeRow.KIND] <= NodeKind.AT, f"{where} is of no kind")
        self.known(row[NodeRow.STATEMENT], self.statements, f"the statement of {where}")
        tags = self.statements[row[NodeRow.STATEMENT]][StatementRow.TAG_COUNT]
        self.children(row, where)
        _require(NONE <= row[NodeRow.TWIN] < len(self.nodes), f"{where} has no twin")
        _require(NONE <= row[NodeRow.TAG] < tags, f"{where} binds an unknown tag")
        self.code((row[NodeRow.EARLY],), 0, f"the condition of {where}")
        self.code((row[NodeRow.LATE],), tags, f"the condition of {where}")
        if row[NodeRow.KEYS]:
            if row[NodeRow.KIND] != NodeKind.DISTINCT:
                keys = self.listed(row[NodeRow.EVENT_KEYS], row[NodeRow.KEYS], where)
                self.code(keys, 0, f"a key of {where}")
            self.code(
                self.listed(row[NodeRow.BOUND_KEYS], row[NodeRow.KEYS], where),
                tags,
                f"a key of {where}",
            )
        for tag in self.listed(row[NodeRow.TAGS], 2 * row[NodeRow.TAG_COUNT], where)[::2]:
            _require(0 <= tag < tags, f"{where} collects an unknown tag")
        if row[NodeRow.KIND] == NodeKind.AT:
            _require(0 < row[NodeRow.LOW] <= len(self.form.schedules), f"{where} has no schedule")

    def children(self, row: Row, where: str) -> None:
        """Each knows its place; those of `or` are linked backwards."""
        places: list[int] = []
        child = row[NodeRow.CHILD]
        while child != NONE and len(places) <= row[NodeRow.CHILDREN]:
            self.known(child, self.nodes, f"a child of {where}")
            places.append(self.nodes[child][NodeRow.PLACE])
            child = self.nodes[child][NodeRow.NEXT]
        expected = list(range(row[NodeRow.CHILDREN]))
        expected = expected[::-1] if row[NodeRow.KIND] == NodeKind.ANY else expected
        _require(places == expected, f"the children of {where} are linked wrongly")

    def statement(self, number: int) -> None:
        row, where = self.statements[number], f"statement {number}"
        tags = row[StatementRow.TAG_COUNT]
        _require(
            NONE <= row[StatementRow.ROOT] < len(self.nodes), f"the root of {where} is no node"
        )
        self.known(row[StatementRow.TARGET], self.form.types, f"the target of {where}")
        _require(row[StatementRow.RUNNING] == number, f"{where} does not run")
        self.code((row[StatementRow.CONDITION],), 0, f"the condition of {where}")
        self.code((row[StatementRow.WHERE],), tags, f"the where of {where}")
        columns = self.listed(row[StatementRow.COLUMNS], 2 * row[StatementRow.COLUMN_COUNT], where)
        most = self.form.most_aggregates
        self.code((row[StatementRow.HAVING],), tags, f"the having of {where}", aggregates=most)
        self.code(columns[::2], tags, f"a column of {where}", aggregates=most)
        for slot in columns[1::2]:
            _require(0 <= slot < len(self.form.slots), f"a column of {where} has no slot")

    def consumer(self, row: Row, where: str) -> None:
        self.known(row[ConsumerRow.STATEMENT], self.statements, f"the statement of {where}")
        for node in self.listed(row[ConsumerRow.ATOMS], row[ConsumerRow.ATOM_COUNT], where):
            self.known(node, self.nodes, f"an atom of {where}")
            is_own = self.nodes[node][NodeRow.STATEMENT] == row[ConsumerRow.STATEMENT]
            _require(
                is_own and self.nodes[node][NodeRow.KIND] == NodeKind.WAIT,
                f"{where} has an alien atom",
            )
        self.code(
            self.listed(row[ConsumerRow.KEYS], row[ConsumerRow.KEY_COUNT], where),
            0,
            f"a key of {where}",
        )

    def type(self, row: Row, where: str) -> None:
        end = row[TypeRow.CONSUMERS] + row[TypeRow.CONSUMER_COUNT]
        is_inside = 0 <= row[TypeRow.CONSUMERS] <= end <= len(self.form.tables[Region.CONSUMER])
        _require(is_inside, f"the consumers of {where} are none")
        for slot in self.listed(row[TypeRow.REFS], 2 * row[TypeRow.REF_COUNT], where)[::2]:
            _require(0 <= slot < len(self.form.slots), f"{where} has events in no slot")

    # -- what they are made of --

    def known(self, number: int, rows: Sequence[object], what: str) -> None:
        _require(0 <= number < len(rows), f"{what} is not there")

    def listed(self, begin: int, count: int, where: str) -> list[int]:
        words = self.form.tables[Region.LIST]
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
