"""Programs of queries and fixes, and the hosts that most tests are about."""

from __future__ import annotations

import cepheid as cep
from cepheid import live
from cepheid.lang.queries.parser import parse
from cepheid.program.tree import ProgramTree

CPS = live.Metamodel(
    "cps",
    (
        live.Class(
            "System",
            (live.Reference("hosts", "Host", containment=True, upper=None, opposite="system"),),
        ),
        live.Class(
            "Host",
            (
                live.Attribute("total", live.INT, default=8),
                live.Attribute("available", live.INT),
                live.Reference("system", "System", opposite="hosts"),
                live.Reference("runs", "App", upper=None, opposite="host"),
            ),
        ),
        live.Class(
            "App",
            (
                live.Attribute("state", live.STRING, literals=("on", "off")),
                live.Reference("host", "Host", opposite="runs"),
            ),
        ),
    ),
)
TOO_MUCH = """
@Constraint(key = {host}, message = "$host$ has $host.available$ of $host.total$", severity = "error")
pattern tooMuch(host : Host) { Host.available(host, a); Host.total(host, t); check(a > t); }
"""
LOWER = "fix lower on tooMuch(h) { set h.available = h.total }"
RAISE = "fix raise on tooMuch(h) { set h.total = h.available }"


def program(queries: str, fixes: str) -> cep.Program:
    written = cep.parse(f"package p\nimport-queries p.q\n{fixes}", "vepl")
    return cep.Program(ProgramTree(written.tree.declarations + parse(queries).tree.queries))


def hosts(count: int, available: int = 10) -> live.Model:
    model = live.Model(CPS)
    with model.transaction() as change:
        for _ in range(count):
            change.create("Host", available=available)
    return model


def lines(fixes: live.Fixes) -> list[str]:
    return [f"{one.score:g} {one}" for one in fixes]
