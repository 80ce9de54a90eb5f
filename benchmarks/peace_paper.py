"""The way in which PEACE itself does a round, in SQLite: whole queries over all that is known.

The repository has all versions of subscribed events with their detection times, and retractions; what
is known is a view over it, the latest version of each event (section 4.4). A complex class is a view over the current versions of the subscribed classes, NEW, and a table of what
the view had in the round before, OLD. A statement is a query over both, its primitive rewritten to
comparisons of their times. After all statements OLD is replaced by NEW. Keys and the columns of joins
are indexed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.measure import cpu_seconds
from benchmarks.peace_workloads import CHRONON, Action, Detection, Workload

_VERSIONS = "(id TEXT, link TEXT, amount REAL, occ INTEGER, det INTEGER, PRIMARY KEY (id, det))"
_LATEST = (
    "SELECT * FROM all_{c} v WHERE occ IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM all_{c} w WHERE w.id = v.id AND w.det > v.det)"
)
_COLUMNS = "(id TEXT PRIMARY KEY, link TEXT, amount REAL, occ INTEGER, det INTEGER) WITHOUT ROWID"
_NEW, _OLD = "n.id, n.amount", "o.id, o.amount"
_BOTH = "FROM new_{c} n JOIN old_{c} o ON o.id = n.id"
_DIFFER = f"(n.link, n.amount, n.occ / {CHRONON}) IS NOT (o.link, o.amount, o.occ / {CHRONON})"
_FIRED = "EXISTS (SELECT 1 FROM fired_{c} f WHERE f.id = n.id)"
_GONE = "FROM old_{c} o WHERE NOT EXISTS (SELECT 1 FROM new_{c} n WHERE n.id = o.id)"
_STATEMENTS = {
    "ONTIME": f"SELECT {_NEW} FROM new_{{c}} n WHERE n.occ >= :now AND n.occ < :next",
    "LATE": f"SELECT {_NEW} FROM new_{{c}} n WHERE n.occ < :now AND NOT {_FIRED}",
    "RETROACTIVECHANGE": f"SELECT {_NEW}, o.amount {_BOTH} WHERE {_DIFFER}"
    f" AND o.occ < :now AND n.occ < :now AND {_FIRED}",
    "REVOCATION": f"SELECT {_OLD} {_GONE} AND o.occ < :now",
    "ANNOUNCEMENT": f"SELECT {_NEW} FROM new_{{c}} n"
    " WHERE NOT EXISTS (SELECT 1 FROM old_{c} o WHERE o.id = n.id)",
    "CANCELLATION": f"SELECT {_OLD} {_GONE}",
    "CHANGE": f"SELECT {_NEW}, o.amount {_BOTH} WHERE {_DIFFER}",
}
_SETS, _CLEARS = ("ONTIME", "LATE"), ("CANCELLATION",)  # the toggle


class PaperSqlite:
    """Buffering semantics, in memory."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._database = sqlite3.connect(":memory:", isolation_level=None)
        for name in workload.subscribed:
            self._run(f"CREATE TABLE all_{name} {_VERSIONS} WITHOUT ROWID")
            self._run(f"CREATE VIEW {name} AS {_LATEST.format(c=name)}")
        if workload.pairs >= 4:
            self._run("CREATE INDEX linked ON all_Signal4 (link)")
        for number, name in enumerate(workload.complex, 1):
            self._run(f"CREATE VIEW new_{name} AS {_timed(workload.query(number))}")
            self._run(f"CREATE TABLE old_{name} {_COLUMNS}")
            self._run(f"CREATE TABLE fired_{name} (id TEXT PRIMARY KEY) WITHOUT ROWID")

    def preload(self, rounds: Iterable[tuple[int, Sequence[Detection]]]) -> None:
        """All at once: what came on time has been told."""
        self._run("BEGIN")
        for _, detections in rounds:
            self._collect(detections)
        for name in self._workload.complex:
            self._run(f"INSERT INTO old_{name} SELECT * FROM new_{name}")
            self._run(f"INSERT INTO fired_{name} SELECT id FROM old_{name}")
        self._run("COMMIT")
        self._run("ANALYZE")

    def round(self, number: int, detections: Sequence[Detection]) -> tuple[float, list[Action]]:
        actions: list[Action] = []
        return cpu_seconds(lambda: self._round(number, detections, actions)), actions

    def _round(self, number: int, detections: Sequence[Detection], actions: list[Action]) -> None:
        self._run("BEGIN")
        self._collect(detections)
        for name in self._workload.complex:
            actions += self._react(name, number)
        for name in self._workload.complex:
            self._run(f"DELETE FROM old_{name}")
            self._run(f"INSERT INTO old_{name} SELECT * FROM new_{name}")
        self._run("COMMIT")

    def close(self) -> None:
        self._database.close()

    def _collect(self, detections: Sequence[Detection]) -> None:
        for name in self._workload.subscribed:
            versions = [
                (one.id, one.link, one.amount, one.occ, one.det)
                for one in detections
                if one.subscribed == name
            ]
            self._database.executemany(
                f"INSERT OR REPLACE INTO all_{name} VALUES (?,?,?,?,?)", versions
            )

    def _react(self, name: str, number: int) -> Iterator[Action]:
        """Statements read the toggle as it is at the begin of the round."""
        instants = {"now": number * CHRONON, "next": (number + 1) * CHRONON}
        found = {
            primitive: self._database.execute(
                _STATEMENTS[primitive].format(c=name), instants
            ).fetchall()
            for primitive in self._workload.primitives
        }
        for primitive, rows in found.items():
            keys = [row[:1] for row in rows]
            if primitive in _SETS:
                self._database.executemany(f"INSERT OR IGNORE INTO fired_{name} VALUES (?)", keys)
            elif primitive in _CLEARS:
                self._database.executemany(f"DELETE FROM fired_{name} WHERE id = ?", keys)
            yield from ((primitive.lower(), name, row[0], *row) for row in rows)

    def _run(self, statement: str) -> None:
        self._database.execute(statement)


def _timed(query: str) -> str:
    """With the occurrence and detection time of the complex event."""
    det = "max(s.det, o.det)" if " o " in query else "s.det"
    return query.replace(" FROM ", f", s.occ, {det} AS det FROM ", 1)
