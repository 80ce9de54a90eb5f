"""The tables of one class in SQLite: their names and columns.

Three tables stay. That of the class has what is known of each event, for subscribed ones with the time
at which it was first told to occur, `@incept`; `@gone` has that time of those that were retracted;
`@marks` has toggles, and the rounds by which events have to be looked at again. Four others last for a
round: the keys that it may change, `@affected`; what is known of these now, `@derived`; and where
that differs from what was known, both side by side, `@pairs`, which is the relation that statements are
asked over. `@silent` has the keys of which a window forgot something.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cepheid.bitemporal.local.maintenance import STATE, affected_of, delta_of
from cepheid.bitemporal.tables import column_names, definitions, quoted
from cepheid.program.classes import EventClass, SubscribedClass

INCEPT = "@incept"
# Of marks, beside the parts of a key, which may be called due or expires.
DUE, EXPIRES = quoted("@due"), quoted("@expires")
_OF_PAIRS = ("has_new", "has_old", "differs", "fired", "now", "@until", "@same")


@dataclass(frozen=True)
class Layout:
    """What the statements over the tables of a class are made of."""

    declared: EventClass

    @property
    def is_subscribed(self) -> bool:
        return isinstance(self.declared, SubscribedClass)

    @property
    def key(self) -> tuple[str, ...]:
        return self.declared.key

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """What is known of an event."""
        return (*column_names(self.declared), *((INCEPT,) if self.is_subscribed else ()))

    # Names

    @cached_property
    def known(self) -> str:
        return quoted(self.declared.name)

    @cached_property
    def gone(self) -> str:
        return self._named("@gone")

    @cached_property
    def marks(self) -> str:
        return self._named("@marks")

    @cached_property
    def affected(self) -> str:
        return f"temp.{quoted(affected_of(self.declared.name))}"

    @cached_property
    def derived(self) -> str:
        return f"temp.{self._named('@derived')}"

    @cached_property
    def pairs(self) -> str:
        return f"temp.{self._named('@pairs')}"

    @cached_property
    def silent(self) -> str:
        return f"temp.{self._named('@silent')}"

    def _named(self, suffix: str) -> str:
        return quoted(self.declared.name + suffix)

    # Parts of statements

    def keys(self, table: str = "") -> str:
        """The columns of the key, of a table."""
        return listed(self.key, f"{table}." if table else "")

    def all(self, table: str = "") -> str:
        """The columns of what is known, of a table."""
        return listed(self.columns, f"{table}." if table else "")

    def side(self, side: str) -> str:
        """The columns of what is known, of one side of pairs: `new` or `old`."""
        return listed([f"{side}_{name}" for name in self.columns])

    @cached_property
    def pair_keys(self) -> str:
        return listed([f"key_{name}" for name in self.key])

    def same_key(self, one: str, other: str) -> str:
        parts = (f"{one}.{quoted(n)} = {other}.{quoted(n)}" for n in self.key)
        return " AND ".join(parts)

    @cached_property
    def at_key(self) -> str:
        return " AND ".join(f"{quoted(name)} = ?" for name in self.key)

    def signs(self, count: int) -> str:
        """Where the values of so many columns come."""
        return ", ".join("?" * count)

    # Definitions

    @property
    def _definitions(self) -> list[str]:
        return [*definitions(self.declared), *([_INCEPT] if self.is_subscribed else [])]

    def permanent(self, indexes: list[tuple[str, ...]], *, is_window: bool) -> list[str]:
        """The statements that make the tables which stay, where they are not there yet."""
        by_key = f"PRIMARY KEY ({self.keys()})) WITHOUT ROWID"
        made = [
            f"TABLE IF NOT EXISTS {self.known} ({', '.join(self._definitions)}, {quoted(STATE)} INTEGER NOT NULL,"
            f" PRIMARY KEY ({self.keys()}, {quoted(STATE)})) WITHOUT ROWID",
            f"TABLE IF NOT EXISTS {self.marks} ({self.keys()}, fired INTEGER NOT NULL, {DUE} INTEGER,"
            f" {EXPIRES} INTEGER NOT NULL, {by_key}",
            f"INDEX IF NOT EXISTS {self._named('@due')} ON {self.marks} ({DUE}) WHERE {DUE} IS NOT NULL",
        ]
        if self.is_subscribed:
            made.append(f"TABLE IF NOT EXISTS {self.gone} ({self.keys()}, {_INCEPT}, {by_key}")
        made += [
            self._index("@by@" + "+".join(each), self.known, listed(each))
            for each in indexes
            if each != self.key[: len(each)]  # which has one
        ]
        if is_window:
            made.append(self._index("@expires", self.marks, EXPIRES))
            if self.is_subscribed:
                made.append(self._index("@begun", self.known, quoted(INCEPT)))
                made.append(self._index("@gone@begun", self.gone, quoted(INCEPT)))
        return [f"CREATE {each}" for each in made]

    def _index(self, suffix: str, table: str, columns: str) -> str:
        return f"INDEX IF NOT EXISTS {self._named(suffix)} ON {table} ({columns})"

    def temporary(self) -> list[str]:
        """The statements that make the tables of a round."""
        # What has no key or no times, or has a key twice, is looked into.
        derived = [f"{each} NOT NULL" if each in _TIMES else each for each in self._definitions]
        sides = f"{self.side('new')}, {self.side('old')}"
        changed = (
            f"SELECT {listed(self.columns, '', f'{side}_')} FROM {self.pairs} WHERE has_{side}"
            for side in ("new", "old")
        )
        return [
            f"CREATE TABLE {self.affected} ({self.keys()})",
            f"CREATE TABLE {self.silent} ({self.keys()})",
            f"CREATE TABLE {self.derived} ({', '.join(derived)}, PRIMARY KEY ({self.keys()}))"
            " WITHOUT ROWID",
            f"CREATE TABLE {self.pairs} ({self.pair_keys}, {sides}, {listed(_OF_PAIRS)})",
            f"CREATE TEMP VIEW {quoted(delta_of(self.declared.name))} AS {' UNION ALL '.join(changed)}",
        ]


_INCEPT = f"{quoted(INCEPT)} INTEGER"
_TIMES = [f"{quoted(time)} INTEGER" for time in ("occ", "det")]


def listed(names: list[str] | tuple[str, ...], before: str = "", prefix: str = "") -> str:
    """Columns one after the other; with a prefix they are called as if they had none."""
    if prefix:
        return ", ".join(f"{quoted(prefix + name)} AS {quoted(name)}" for name in names)
    return ", ".join(before + quoted(name) for name in names)
