"""The relation of old and new versions, a row at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from cepheid.core.types import DOUBLE, LONG, STRING, TIMESTAMP
from cepheid.sql import sqlite
from cepheid.sql.transpile import to_sql
from tests.sql.engines import declare

CLASS = declare("E", k=LONG, g=STRING, x=DOUBLE, t=TIMESTAMP)
CONNECTION = sqlite.connect()


@dataclass(frozen=True)
class Version:
    occ: int
    det: int = 0
    k: int | None = 1
    g: str | None = "same"
    x: float | None = None
    t: int | None = None


@dataclass(frozen=True)
class Pair:
    """What a round compares."""

    old: Version | None
    new: Version | None
    now: int
    fired: bool = False

    def at(self, now: int) -> Pair:
        return replace(self, now=now)

    def instant(self, side: str, attribute: str, offset: int) -> int:
        found = getattr(self.new if side == "new" else self.old, attribute)
        assert isinstance(found, int)
        return found + offset

    @property
    def differs(self) -> bool:
        """Only asked where both are there."""
        return self.old is not None and self.new is not None and self.old.g != self.new.g

    @property
    def row(self) -> Mapping[str, object]:
        columns: dict[str, object] = {
            f"{side}_{name}": getattr(version, name, None)
            for side, version in (("new", self.new), ("old", self.old))
            for name in CLASS.columns
        }
        sides = {"has_new": self.new is not None, "has_old": self.old is not None}
        return {**columns, **sides, "differs": self.differs, "fired": self.fired, "now": self.now}


def value_of(tree: exp.Expr, pair: Pair) -> object:
    """An expression over the relation, on SQLite."""
    row = pair.row
    columns = ", ".join(f'? AS "{name}"' for name in row)
    sql = f"SELECT {to_sql(tree, 'sqlite')} FROM (SELECT {columns})"
    return CONNECTION.execute(sql, list(row.values())).fetchone()[0]
