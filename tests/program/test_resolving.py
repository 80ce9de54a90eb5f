"""What resolving finds out about whole programs: types that depend on each other."""

from __future__ import annotations

import os
import subprocess
import sys

import cepheid as cep
from cepheid.core.types import ANY, DOUBLE, INT, NULL, ArrayType, EventRef, EventType, fits, wider
from cepheid.verbs import CHECKS

VEHICLES = """
create schema Vehicle (speed int);
create schema Bike (rider string) inherits Vehicle;
create schema Van (load int) inherits Vehicle;
create schema Tree (height int);
"""
TYPES = cep.parse(VEHICLES).resolve().types
VEHICLE, BIKE, VAN, TREE = (EventRef(name) for name in ("Vehicle", "Bike", "Van", "Tree"))


def codes(text: str) -> list[str]:
    return [finding.code for finding in cep.parse(text).check(without=CHECKS)]


def test_an_event_is_also_of_the_types_that_its_type_inherits_from() -> None:
    assert wider(VEHICLE, BIKE, TYPES) == wider(BIKE, VEHICLE, TYPES) == VEHICLE
    assert wider(BIKE, VAN, TYPES) == VEHICLE
    assert wider(ArrayType(BIKE), ArrayType(VEHICLE), TYPES) == ArrayType(VEHICLE)
    assert wider(BIKE, TREE, TYPES) is None
    assert wider(BIKE, VEHICLE) is None


def test_types_with_two_nearest_ancestors_have_no_common_one() -> None:
    parents = frozenset({"A", "B"})
    types = {name: EventType(name, ()) for name in parents}
    types |= {name: EventType(name, (), parents) for name in ("C", "D")}
    assert wider(EventRef("C"), EventRef("D"), types) is None


def test_a_value_fits_where_it_is_used_as_it_is() -> None:
    assert fits(BIKE, VEHICLE, TYPES)
    assert not fits(VEHICLE, BIKE, TYPES)
    assert fits(ArrayType(BIKE), ArrayType(VEHICLE), TYPES)
    assert fits(INT, DOUBLE)
    assert not fits(ArrayType(INT), ArrayType(DOUBLE))
    assert fits(ArrayType(NULL), ArrayType(DOUBLE))
    assert not fits(INT, ANY)


def test_an_event_can_be_inserted_as_one_of_an_ancestor() -> None:
    program = cep.parse(
        VEHICLES
        + """
        create schema Seen (what Vehicle);
        insert into Seen select b as what from pattern [every b=Bike];
        @Name('Speed') select what.speed as speed from Seen;
        """
    )
    assert program.check(without=CHECKS) == []
    result = cep.run(program, [{"@type": "Bike", "@time": 0, "speed": 9, "rider": "Ada"}])
    assert [row["speed"] for row in result.of("Speed")] == [9]


def test_branches_have_the_ancestor_as_their_common_type() -> None:
    choice = "select {} as what from pattern [every (a=Bike or b=Van)]"
    for expr in ("coalesce(a, b)", "case when a is null then b else a end"):
        resolved = cep.parse(VEHICLES + choice.format(expr)).resolve()
        assert resolved.types["statement_1"].find("what") == VEHICLE
    assert codes(VEHICLES + "select coalesce(a, b) as x from pattern [every (a=Bike or b=Tree)]")


def test_a_thousand_schemas_may_stand_before_their_parents() -> None:
    last = 1500
    schemas = [f"create schema S{n} () inherits S{n - 1};" for n in range(last, 0, -1)]
    program = cep.parse("\n".join([*schemas, f"create schema S0 (v int); select v from S{last}"]))
    assert program.check(without=CHECKS) == []
    assert len(program.resolve().types[f"S{last}"].ancestors) == last


def test_every_cycle_of_schemas_is_reported() -> None:
    text = "; ".join(
        f"create schema {child} () inherits {parents}"
        for child, parents in {"A": "B", "B": "C", "C": "A, A", "D": "D, A", "E": "D"}.items()
    )
    cycles = [f.message for f in cep.parse(text).check() if f.code == "inheritance-cycle"]
    assert cycles == ["A inherits B inherits C inherits A", "D inherits D"]


def test_types_come_in_the_order_of_the_text_whatever_the_hash_seed() -> None:
    names = "KLMNOPQRST"
    text = "".join(f"insert into {n} select * from {n};" for n in names)
    script = f"import cepheid as cep; print(*cep.parse({text!r}).resolve().types)"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == list(names)
