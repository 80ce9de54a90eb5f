"""The tables of the machine: declared once, readable, and part of what guards saved state."""

from __future__ import annotations

import zlib

import pytest

import cepheid as cep
from cepheid.errors import RunError
from cepheid.matcher.compiling import lowering
from cepheid.matcher.machine import saved_state
from cepheid.matcher.machine.dump import dump_head, dump_tables
from cepheid.matcher.machine.operator import MachineOperator
from cepheid.matcher.machine.push import Matcher
from cepheid.matcher.vm.memory import tables
from cepheid.matcher.vm.memory.access import rows_of
from cepheid.matcher.vm.memory.declared import Declared
from cepheid.matcher.vm.memory.layout import Region
from cepheid.matcher.vm.memory.tables import NAMES, ROWS, LiveRow, NodeRow

PROGRAM = """
create schema A (k string, v int);
create schema B (k string, v int);
insert into O select a.v as a from pattern [every a=A -> b=B(k = a.k) where timer:within(3 seconds)];
insert into R select c[0].v as v from pattern [[3] c=A and d=B];
select k, avg(v) as m from A#time(10 seconds) group by k;
"""


DECLARATIONS = tuple(Declared.__subclasses__())


@pytest.mark.parametrize("declared", DECLARATIONS, ids=lambda declared: declared.__name__)
def test_no_number_is_declared_twice(declared: type[Declared]) -> None:
    assert len(declared.__members__) == len(list(declared))


@pytest.mark.parametrize("declared", DECLARATIONS, ids=lambda declared: declared.__name__)
def test_numbers_follow_each_other_but_for_the_own_words_of_operators(
    declared: type[Declared],
) -> None:
    own = {LiveRow.OWN_1, LiveRow.OWN_2, LiveRow.OWN_3}
    assert sorted(declared) == list(range(len(declared))) or set(declared) <= own


def running() -> Matcher:
    session = cep.open(cep.parse(PROGRAM))
    for instant, (type, k) in enumerate([("A", "x"), ("A", "y"), ("B", "y"), ("B", "x")]):
        session.send(type, {"k": k, "v": instant}, instant)
    assert isinstance(session.runner, Matcher)
    return session.runner


def test_a_dump_names_every_word_as_the_memory_has_it() -> None:
    memory = running().memory
    assert dump_head(memory)["CLOCK"] == 3_000_000
    dumped = {table.name: table for table in dump_tables(memory)}
    assert dumped["LIVE"].rows
    assert {"COLLECTED", "COUNT"} & {n for row in dumped["LIVE"].rows.values() for n in row}
    for region, declared in ROWS.items():
        if region.name not in dumped:
            continue
        stored = rows_of(memory, region)
        for number, words in dumped[region.name].rows.items():
            for word in declared:
                shown = words.get(word.name)
                names = NAMES.get(declared, {})
                if shown is not None and int(word) in names:
                    assert names[int(word)][str(shown)] == stored[number, word]
                elif shown is not None:
                    assert shown == stored[number, word]


def test_nodes_of_a_dump_have_the_names_of_their_operators() -> None:
    dumped = {table.name: table for table in dump_tables(running().memory)}
    kinds = {row[NodeRow.KIND.name] for row in dumped[Region.NODE.name].rows.values()}
    assert kinds >= {"ROOT", "EVERY", "WAIT", "REPEAT", "ALL"}


class Moved(Declared):
    KIND = 1


CHANGES: dict[str, tuple[object, str, object]] = {
    "a declaration": (tables, "NodeRow", Moved),
    "the rewrites": (saved_state, "rewrites_digest", lambda: "others"),
    "the lowering": (lowering, "LOWERING_VERSION", -1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_state_of_another_form_is_refused(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = cep.parse(PROGRAM).resolve()
    operator = MachineOperator(program)
    operator.start(0)
    saved = operator.save()
    MachineOperator(program).load(saved)
    monkeypatch.setattr(*CHANGES[change])
    saved_state._format.cache_clear()
    try:
        with pytest.raises(RunError, match="another format") as refused:
            MachineOperator(program).load(saved)
    finally:
        saved_state._format.cache_clear()
    assert refused.value.diagnostics[0].code == "bad-state"


@pytest.mark.parametrize("cut", [0, 8, 200, -8])
def test_a_crafted_state_whose_tables_are_not_as_large_as_they_say_is_refused(cut: int) -> None:
    operator = MachineOperator(cep.parse(PROGRAM).resolve())
    seal = saved_state._seal(operator._form)
    content = zlib.decompress(seal.open(operator.save()))[:cut]
    for crafted in (zlib.compress(content), content):
        with pytest.raises(RunError, match="bad-state"):
            operator.load(seal.close(crafted))
