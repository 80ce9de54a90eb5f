"""Statements of all forms."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.core.types import STRING, is_integral
from tests.conformance.generator.expressions import Names, names_of
from tests.conformance.generator.patterns import PERIODS, Patterns

FLAGS = ("FORCE_UPDATE", "START_EAGER", "FORCE_UPDATE, START_EAGER")
STREAMS = ("", "", "irstream ", "rstream ", "istream ")


@dataclass
class Clauses:
    """The pieces of a statement, in the order of the text."""

    head: str
    select: str
    source: str
    rest: str

    def __str__(self) -> str:
        return f"{self.head}select {self.select} from {self.source}{self.rest};"


class Statements(Patterns):
    """Draws statements over some types."""

    def source(self) -> tuple[str, Names, tuple[str, ...]]:
        """A source, what its rows have, and the types that it reads."""
        if self.pick(True, True, False):
            text, bound = self.pattern()
            return f"pattern [{text}]", self.names(bound), tuple(sorted(bound.read))
        type = self.pick(*self.among)
        own = names_of("", self.types[type], self.types)
        condition = f"({self.truth(own)})" if self.happens(3) else ""
        return f"{type}{condition}", own, (type,)

    def window(self) -> str:
        period, size = self.pick(*PERIODS), self.pick(2, 1, 3)
        batch = f"{period}{self.pick('', ', 0L', ', 500L')}"
        flags = self.pick("", *(f", '{f}'" for f in FLAGS))
        timed = f"#time({period})", f"#time_batch({batch}{flags})"
        return self.pick(f"#length({size})", *timed, f"#length_batch({size})", "#keepall")

    def item(self, names: Names) -> str:
        kinds = [
            "value",
            "value",
            "text",
            "number",
            "truth",
            *(["event"] * 2 if names.events else []),
        ]
        kind = self.pick(*kinds)
        return self.pick(*names.events) if kind == "event" else self.expression(kind, names)

    def columns(self, names: Names, *, aggregated: bool) -> str:
        """A select list; one name may be of different types in two derived types."""
        if not aggregated and self.happens(2 if names.events else 4):
            return "*"
        items = [self.item(names) for _ in range(self.pick(2, 1, 3))]
        if aggregated:
            items = [self.aggregate(names), *items[: self.pick(0, 1)]]
        place = self.pick(self.place, "")
        return ", ".join(f"{item} as {n}{place}" for n, item in zip("xyz", items, strict=False))

    def into_declared(self, names: Names) -> str:
        """Columns of the declared type D, or some of them."""
        whole = tuple(n for n in names.numbers if self.is_whole(n))
        v = self.pick(*whole, "count(*)") if whole else "count(*)"
        some = f"{self.text(names)} as k, {v} as v"
        return self.pick(some, f"{some}, 0.5 as w", f"{v} as v")

    def is_whole(self, name: str) -> bool:
        attribute = name.rsplit(".", maxsplit=1)[-1]
        kinds = {a.type for t in self.types.values() for a in t.attributes if a.name == attribute}
        return all(map(is_integral, kinds))

    def output(self) -> str:
        every = f"every {self.pick('2 events', '3 events', '1 events', *PERIODS)}"
        mode = self.pick("", "first ", "last ", "all ", "snapshot ")
        after = self.pick("", "", "", "after 1 events ", "after 1 sec ")
        rates = f"{after}{mode}{every}", f"{after}{mode}{every}", "after 2 events", "after 2 sec"
        return self.pick(*rates, "when count_insert >= 2", "when count_insert_total % 2 = 1")

    def rest(self, names: Names) -> str:
        """All that comes after the window."""
        by = self.pick(*names.values) if names.values else None
        parts = []
        if self.happens(5):
            parts.append(f" where {self.truth(names)}")
        if by and self.happens(3):
            parts.append(f" group by {by}")
        if self.happens(7):
            having = self.pick("count(*) > 1", "count(*) < 3", self.truth(names))
            parts.append(f" having {having}")
        if self.happens(3):
            parts.append(f" output {self.output()}")
        if by and self.happens(5):
            parts.append(f" order by {by}{self.pick('', ' desc')}")
        if self.happens(8):
            parts.append(f" limit {self.pick(1, 2)}{self.pick('', ' offset 1')}")
        return "".join(parts)

    contexts = 6  # one of so many statements that may have one has one

    def context(self, types: tuple[str, ...]) -> tuple[str, str]:
        """The declaration of a context whose keys are texts, and its use; maybe none."""
        keys = {
            t: [a.name for a in self.types[t].attributes if a.type == STRING and a.name != "id"]
            for t in types
        }
        if not (types and all(keys.values()) and self.happens(self.contexts)):
            return "", ""
        pairs = ", ".join(f"{names[0]} from {t}" for t, names in keys.items())
        return (
            f"create context Per{self.place} partition by {pairs};\n",
            f"context Per{self.place} ",
        )

    def statement(self, target: str | None) -> str:
        source, names, types = self.source()
        declaration, context = self.context(types)
        has_clauses = self.pick(False, True)
        window = self.window() if has_clauses and self.pick(True, False) else ""
        stream = self.pick(*STREAMS) if window else ""
        name, insert = f"@Name('Q{self.place}') ", ""
        if target is not None:
            kinds = ("", "rstream ", "irstream ") if stream == "irstream " else (stream,)
            name, insert = "", f"insert {self.pick(*kinds)}into {target} "
        aggregated = has_clauses and self.pick(False, True)
        declared = target == "D"
        columns = (
            self.into_declared(names) if declared else self.columns(names, aggregated=aggregated)
        )
        rest = self.rest(names) if has_clauses else ""
        distinct = "distinct " if has_clauses and self.happens(8) else ""
        priority = f"@Priority({self.pick(1, -1)}) " if self.happens(8) else ""
        head = f"{declaration}{priority}{name}{context}{insert}"
        return str(Clauses(head, f"{stream}{distinct}{columns}", f"{source}{window}", rest))
