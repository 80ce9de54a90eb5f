"""Statements that take whole batches: side by side, and in a row."""

from __future__ import annotations

from tests.conformance.generator.expressions import NUMBERS, TEXTS, Names, names_of
from tests.conformance.generator.patterns import PERIODS, Bound
from tests.conformance.generator.statements import Clauses, Statements


class PlainStatements(Statements):
    """Draws what people write most: chains of events, and aggregates over a window.

    In a row they take what others derive, too.
    """

    in_a_row = False
    forms_of_statements: tuple[str, ...] = ("chain", "window")

    def chain(self) -> tuple[str, Names, Bound]:
        """One event after the other, each perhaps tied to one before."""
        bound = Bound()
        atoms = [self.link(bound) for _ in range(self.pick(2, 2, 1, 3))]
        seen = self.names(bound)
        end = self.pick("", f" where timer:within({self.pick(*PERIODS)})")
        if self.happens(4):
            atoms.append(f"(timer:interval({self.pick(*PERIODS)}) and not {self.link(bound)})")
            end = ""
        chain = " -> ".join(atoms)
        return self.pick(f"every {chain}{end}", f"every ({chain}{end})"), seen, bound

    def link(self, bound: Bound) -> str:
        type = self.pick(*self.among)
        own = names_of("", self.types[type], self.types)
        tests = [self.truth(own, 0)] if self.pick(False, True) else []
        if self.pick(True, False) and bound.tags:
            earlier = self.pick(*bound.tags)
            before = bound.tags[earlier]
            shared = [a.name for a in self.types[before].attributes if a.name in "kv"]
            name = self.pick(*shared) if shared else None
            tests += [f"{name} = {earlier}.{name}"] if name and name in own.values else []
        tag = f"{'abcdefghijkl'[len(bound.used)]}{self.place}"
        bound.used.append(tag)
        bound.tags[tag] = type
        return f"{tag}={type}" + (f"({', '.join(tests)})" if tests else "")

    def single(self, head: str) -> str:
        """Rows about one event each; perhaps as two statements into one type."""
        type = self.pick(*self.among)
        names = names_of("", self.types[type], self.types)
        number, value = (
            self.pick(*(names.numbers or NUMBERS)),
            self.pick(*(names.values or NUMBERS)),
        )
        chosen = f"case when {self.truth(names, 0)} then 1 when {number} > 1 then 2{self.pick('', ' else 0')} end"
        shown = self.pick("'x'", "1", "current_timestamp()", chosen, "null", number)
        items = f"{shown} as x{self.place}, {value} as y{self.place}"
        conditions = [self.truth(names, 0)]
        if "insert" in head and self.happens(2):
            conditions.append(self.truth(names, 0))
        texts = (
            str(Clauses(self.priority() + head, items, f"{type}({condition})", ""))
            for condition in conditions
        )
        return "\n".join(texts)

    def sharing(self, head: str) -> str:
        """Two statements about the same window, perhaps into one type."""
        type = self.pick(*self.among)
        names = names_of("", self.types[type], self.types)
        condition = f"({self.truth(names, 0)})" if self.happens(3) else ""
        keys = (*names.texts, *names.numbers[:1])
        by = self.pick(*keys) if keys and self.happens(2) else None
        key, rest = (f", {by} as y{self.place}", f" group by {by}") if by else ("", "")
        timed = (f"#{form}({self.period()})" for form in ("time", "time_batch"))
        window = self.pick(*timed, f"#length({self.pick(2, 3)})")
        value = self.pick(*(names.values or NUMBERS))
        number = self.pick(*(names.numbers or NUMBERS))
        counts = "count(*)", f"count({value})"
        is_one_type = "insert" in head and self.happens(2)
        other = head if is_one_type else f"insert into W{self.place} "
        shown = counts if is_one_type else (self.pick(*counts), self.pick(f"avg({number})", "1"))
        texts = (
            str(Clauses(self.priority() + start, f"{x} as x{self.place}{key}", source, rest))
            for start, x in zip((head, other), shown, strict=True)
            for source in [f"{type}{condition}{window}"]
        )
        return "\n".join(texts)

    def period(self) -> str:
        """Often the same: timers meet."""
        return self.pick(*PERIODS, *PERIODS[:1] * 3)

    def priority(self) -> str:
        return f"@Priority({self.pick(1, -1)}) " if self.happens(4) else ""

    def statement(self, target: str | None) -> str:
        head = f"@Name('Q{self.place}') " if target is None else f"insert into {target} "
        form = self.pick(*self.forms_of_statements)
        if form == "single":
            return self.single(head)
        if form == "sharing":
            return self.sharing(head)
        priority = self.priority() if self.in_a_row else ""
        if form == "chain":
            pattern, names, bound = self.chain()
            types = tuple(dict.fromkeys(bound.tags.values())) if self.in_a_row else ()
            declaration, context = self.context(types)
            name, insert = ("", head) if target is not None else (head, "")
            head = f"{declaration}{priority}{name}{context}{insert}"
            shown = [self.pick(*(names.values or NUMBERS)) for _ in range(self.pick(1, 2))]
            items = ", ".join(f"{x} as {n}{self.place}" for n, x in zip("xyz", shown, strict=False))
            return str(Clauses(head, items, f"pattern [{pattern}]", ""))
        type = self.pick(*self.among)
        names = names_of("", self.types[type], self.types)
        condition = f"({self.truth(names, 0)})" if self.pick(False, True) else ""
        window = self.pick("", f"#time({self.pick(*PERIODS)})", f"#length({self.pick(2, 1, 3)})")
        keys = (*names.texts, *names.numbers[:1])
        by = self.pick(*keys) if self.pick(False, True) and keys else None
        number = self.pick(*names.numbers) if names.numbers else "1"
        items = self.pick("count(*)", f"sum({number})", f"avg({number})", f"min({number})")
        key = f", {by} as y{self.place}" if by else ""
        is_told_of_old = window and (not self.in_a_row or self.happens(8))
        stream = self.pick("", "irstream ") if is_told_of_old else ""
        head = priority + head
        rest = f" group by {by}" if by else ""
        columns = f"{stream}{items} as x{self.place}{key}"
        return str(Clauses(head, columns, f"{type}{condition}{window}", rest))


class StatementsInARow(PlainStatements):
    in_a_row = True
    contexts = 2
    forms_of_statements = ("chain", "single", "sharing", "chain", "window", "sharing", "single")

    def chain(self) -> tuple[str, Names, Bound]:
        """Often two events with what lanes know: a key, alternatives, a limit, a whole that repeats."""
        if self.happens(3):
            return super().chain()
        bound = Bound()
        first = self.link(bound)
        [(tag, type)] = bound.tags.items()
        second = self.pick(*self.among)
        own = names_of("", self.types[second], self.types)
        tests: list[str] = [self.truth(own)] if self.happens(2) else []
        keys: list[str] = [a.name for a in self.types[type].attributes if a.name in own.values]
        if keys and not self.happens(2):
            key = self.pick(*keys)
            tests.append(f"{key} = {tag}.{key}")
        if self.pick(False, True, True):
            tests.append(self.choice(names_of(f"{tag}.", self.types[type], self.types), own))
        last = f"b{self.place}={second}" + (f"({', '.join(tests)})" if tests else "")
        bound.tags[f"b{self.place}"] = second
        end = self.pick("", f" where timer:within({self.period()})")
        form = self.pick(f"every {first} -> {last}{end}", f"every ({first} -> {last})")
        return form, self.names(bound), bound

    def choice(self, before: Names, own: Names) -> str:
        """Alternatives, each of which asks something of an event before and of this one."""
        options = [f"({self.truth(before)}) and ({self.truth(own)})" for _ in range(2)]
        return "(" + " or ".join(options) + ")"

    def truth(self, names: Names, deep: int = 1) -> str:
        """Mostly what can be tested for whole batches: an attribute beside a constant."""
        known = [
            *(
                f"{n} {self.pick('>', '<=', '=', '!=')} {self.pick(*NUMBERS)}"
                for n in names.numbers
            ),
            *(f"{n} {self.pick('=', '!=')} {self.pick(*TEXTS)}" for n in names.texts),
            *names.truths,
        ]
        if not known or self.happens(12):
            return super().truth(names, deep)
        one = self.pick(*known)
        if self.happens(5):
            return f"{one} {self.pick('and', 'or')} {self.pick(*known)}"
        return f"not ({one})" if self.happens(8) else one
