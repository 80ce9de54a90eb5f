"""The programs that are measured."""

from __future__ import annotations

import cepheid as cep

SCHEMA = "create schema Motorbike(id long, ts long, motorbikeId int, speed int);\n"


TIMED = f"@EventTime(attribute='ts', unit='milliseconds')\n{SCHEMA}"


def crash(select: str, *, within: int = 3, schema: str = SCHEMA) -> cep.Program:
    """A bike that was fast and stands still soon after."""
    return cep.parse(schema + _crash("Crash", select, fast=50, within=within))


# What a floor without `id` can give, too.
SPEEDS = "a2.ts as ts, a1.motorbikeId as motorbikeId, a1.speed as before, a2.speed as after"
IDS = "a1.id as a1, a2.id as a2"


def crashes(count: int) -> cep.Program:
    """Many patterns on one key, no two alike."""
    return cep.parse(
        SCHEMA
        + "".join(_crash(f"Crash{n}", SPEEDS, fast=50 + n, within=1 + n % 5) for n in range(count))
    )


def chained() -> cep.Program:
    """Crashes of bikes, and then two crashes from one speed: keys that differ."""
    two = "select c1.ts as first, c2.ts as second from pattern [every c1=Crash -> c2=Crash(before=c1.before) where timer:within(3 seconds)]"
    crashed = _crash("Crash", SPEEDS, fast=50, within=3)
    return cep.parse(f"{SCHEMA}{crashed}@Name('Two') insert into Two {two};\n")


def _crash(name: str, select: str, *, fast: int, within: int) -> str:
    return (
        f"@Name('{name}') insert into {name} select {select} from pattern [\n"
        f"  every a1=Motorbike(speed>={fast})\n"
        "  -> a2=Motorbike(speed=0 and motorbikeId=a1.motorbikeId)"
        f" where timer:within({within} seconds)];\n"
    )
