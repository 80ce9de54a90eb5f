"""What a session in rounds keeps in its database besides events: whose it is, how far it is, what waits."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping

from cepheid.bitemporal.detections import Detection
from cepheid.bitemporal.rounds import Number
from cepheid.errors import RunError
from cepheid.program.seal import bad_state

_TABLES = (
    'CREATE TABLE IF NOT EXISTS "@session" (name TEXT PRIMARY KEY, value)',
    'CREATE TABLE IF NOT EXISTS "@waiting" (sequence INTEGER PRIMARY KEY, round INTEGER, told TEXT)',
)


class Journal:
    """Its tables; what a round changes of them belongs to the round."""

    def __init__(self, connection: sqlite3.Connection, identity: Mapping[str, object]) -> None:
        self._connection = connection
        for statement in _TABLES:
            connection.execute(statement)
        found = dict(connection.execute('SELECT name, value FROM "@session"').fetchall())
        for name, value in identity.items():
            if found.setdefault(name, value) != value:
                fact = (
                    f"this database is of another session: its {name} is {found[name]}, not {value}"
                )
                raise RunError(bad_state(fact))
        self.done: Number | None = found.get("last round")
        self._set(identity)

    def _set(self, values: Mapping[str, object]) -> None:
        sql = 'INSERT OR REPLACE INTO "@session" VALUES (?, ?)'
        self._connection.executemany(sql, values.items())

    def close(self, last: Number) -> None:
        """All rounds up to the last one are over."""
        self._set({"last round": last})
        self._connection.execute('DELETE FROM "@waiting" WHERE round <= ?', (last,))

    def put(self, told: Iterable[tuple[Number, Detection]]) -> None:
        """What waits for a round."""
        rows = [(d.sequence, number, json.dumps(d)) for number, d in told]
        self._connection.execute("BEGIN")
        self._connection.executemany('INSERT INTO "@waiting" VALUES (?, ?, ?)', rows)
        self._connection.execute("COMMIT")

    def waiting(self) -> Iterator[Detection]:
        sql = 'SELECT told FROM "@waiting" ORDER BY sequence'
        for (told,) in self._connection.execute(sql).fetchall():
            cls, key, values, *times = json.loads(told)
            yield Detection(cls, tuple(key), None if values is None else tuple(values), *times)
