"""The memory of the compiled machine when a program has just begun."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.text import Text

from cepheid.cli.console import counted
from cepheid.cli.stages.matcher import machine_program
from cepheid.matcher.machine.dump import DumpedTable, dump_head, dump_tables
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.vm.memory.access import Memory
from cepheid.verbs import Program


def text(program: Program) -> Iterator[RenderableType]:
    """The single words, then every table that is in use, row by row."""
    memory = _begun(program)
    if memory is None:
        yield Text("no statement runs on the machine")
        return
    yield Text(f"HEAD  {_words(dump_head(memory))}")
    for table in dump_tables(memory):
        yield ""
        yield Text("\n".join(_lines(table)))


def _begun(program: Program) -> Memory | None:
    form = machine_program(program.resolve())
    if form is None:
        return None
    operator = MachineOperator(form.program)
    operator.start(0)
    return operator.memory


def _lines(table: DumpedTable) -> Iterator[str]:
    rows = f"{counted(table.used, 'row')} of {counted(table.width, 'word')}"
    yield f"{table.name}  {rows}, room for {table.capacity}"
    if table.width == 1:
        words = (str(word) for row in table.rows.values() for word in row.values())
        yield f"        {' '.join(words)}".rstrip()
        return
    yield from (f"  {number:>4}  {_words(words)}" for number, words in table.rows.items())


def _words(words: Mapping[str, object]) -> str:
    return " ".join(f"{name}={word}" for name, word in words.items())


def data(program: Program) -> dict[str, object]:
    memory = _begun(program)
    if memory is None:
        return {"head": {}, "tables": []}
    tables = [
        {
            "name": table.name,
            "width": table.width,
            "used": table.used,
            "capacity": table.capacity,
            "rows": [{"row": number, **words} for number, words in table.rows.items()],
        }
        for table in dump_tables(memory)
    ]
    return {"head": dump_head(memory), "tables": tables}
