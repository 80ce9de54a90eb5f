"""Programs of many filters by chance: what they compare is searched, and what follows them looks at the input.

Constants repeat, are equal without being the same, lie out of range or between the values of events; several
statements give rows of one type, and filters, windows and patterns take what they derive.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.conformance.generator import Expressions
from tests.conformance.scenarios import Example

INPUT = (
    "create schema A(id string, k string, v int, n long, w double, f float, t boolean,"
    " z timestamp, d date, c decimal(6, 2));"
)
# Of each type of attribute the constants that are compared with it, and what events have.
CONSTANTS: dict[str, tuple[str, ...]] = {
    "string": ("'x'", "'y'", "'nowhere'", "''"),
    "int": ("1", "2", "0", "3", "-1", "2147483647", "3000000000L", "2L", "9007199254740993L", "1.5"),
    "long": ("1L", "2", "9007199254740993L", "9007199254740992L", "-9223372036854775807L", "2.0"),
    "double": ("0.5", "0.0", "-0.0", "1", "0.1", "1e16", "0.1f", "1.5", "9007199254740993L"),
    "float": ("0.5", "0.1", "0.1f", "1", "-0.0", "1.5"),
    "timestamp": ("'1970-01-01T00:00:01Z'", "'1970-01-01T00:00:02Z'"),
    "date": ("'1970-01-01'", "'1970-01-02'"),
    "decimal(6, 2)": ("1", "1.50", "1.505", "2", "0.0"),
    "boolean": ("true", "false"),
}  # fmt: skip
VALUES: dict[str, tuple[object, ...]] = {
    "string": ("x", "y", None, "z", ""),
    "int": (1, 2, 0, 3, None, -1, 2147483647),
    "long": (1, 2, 9007199254740993, 9007199254740992, None, -9223372036854775807),
    "double": (0.5, 0.0, -0.0, 1.0, None, 0.1, 1e16, float("nan"), float("inf"), 9007199254740992.0),
    "float": (0.5, 0.1, None, 1.0, -0.0, 0.0),
    "boolean": (True, False, None),
    "timestamp": ("1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z", None, "1970-01-01T00:00:01.5Z"),
    "date": ("1970-01-01", "1970-01-02", None),
    "decimal(6, 2)": ("1.00", "1.50", None, "2.00", "0.00"),
}  # fmt: skip
OF_INPUT = {"id": "string", "k": "string", "v": "int", "n": "long", "w": "double", "f": "float",
            "t": "boolean", "z": "timestamp", "d": "date", "c": "decimal(6, 2)"}  # fmt: skip
SIGNS = ("=", ">", "<=", ">=", "<", "!=")
MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
SHOWN = {  # constants of select lists; a cast says the type where there is no such literal
    "string": ("'a'", "'b'", "null"),
    "int": ("1", "2", "null"),
    "long": ("3L", "9007199254740993L", "null"),
    "double": ("0.0", "-0.0", "1.5", "null"),
    "float": ("0.5f", "-0.0f", "null"),
    "boolean": ("true", "false", "null"),
}


@dataclass
class Filters(Expressions):
    """Draws the statements of a program, each over the input or what those before it derive."""

    draw: DrawFn
    types: dict[str, dict[str, str]] = field(default_factory=lambda: {"A": dict(OF_INPUT)})
    place: int = 0

    def __post_init__(self) -> None:
        super().__init__(self.draw)

    # -- conditions --

    def test(self, names: dict[str, str]) -> str:
        name = self.pick(*names)
        if names[name] == "boolean":
            return self.pick(name, f"not {name}", f"{name} = true", f"{name} != false")
        sign, constant = self.pick(*SIGNS), self.pick(*CONSTANTS[names[name]])
        if self.happens(6):
            return f"{constant} {MIRRORED[sign]} {name}"
        return f"{name} {sign} {constant}"

    def condition(self, names: dict[str, str]) -> str:
        tests = [self.test(names) for _ in range(self.pick(1, 1, 1, 2))]
        if len(tests) > 1:
            return f"{tests[0]} {self.pick('and', 'or')} {tests[1]}"
        return f"not ({tests[0]})" if self.happens(10) else tests[0]

    def source(self, type: str, conditions: list[str]) -> tuple[str, str, str]:
        """Where events come from, what comes behind that, and what stands before their attributes."""
        if self.happens(8):
            inner = f"({', '.join(conditions)})" if conditions else ""
            return (
                f"pattern [every e=A{inner}]"
                if type == "A"
                else f"pattern [every e={type}{inner}]",
                "",
                "e.",
            )
        if conditions and self.happens(3):
            first, *others = conditions
            inner = f"({', '.join(others)})" if others else ""
            return f"{type}{inner}", f" where {first}", ""
        return f"{type}({', '.join(conditions)})" if conditions else type, "", ""

    # -- rows --

    def shown(self, wanted: str, names: dict[str, str], before: str) -> str:
        same = [f"{before}{name}" for name, type in names.items() if type == wanted]
        constants = SHOWN.get(wanted, ("null",))
        kind = self.pick("name", "name", "constant", "case")
        if kind == "name" and same:
            return self.pick(*same)
        if kind == "case" and wanted in SHOWN:
            tested = {name: type for name, type in names.items() if type != "boolean"}
            if tested:
                name = self.pick(*tested)
                test = f"{before}{name} {self.pick(*SIGNS)} {self.pick(*CONSTANTS[tested[name]])}"
                other = self.pick(*same, constants[0])
                return f"case when {test} then {self.pick(*constants[:-1])} else {other} end"
        return self.pick(*constants)

    def priority(self) -> str:
        return f"@Priority({self.pick(1, -1, 2)}) " if self.happens(6) else ""

    def target(self, type: str) -> str:
        """A new type, or one that filters give already; none takes what comes of its own rows."""
        later = [name for name in self.types if int(name[1:] or 0) > int(type[1:] or 0)]
        if later and self.happens(3):
            return self.pick(*later)
        names = self.types[type].items()
        kept = {name: kind for name, kind in names if name != "id" and self.happens(2)}
        own = {f"s{self.place}": self.pick(*SHOWN)} if self.happens(2) else {}
        self.types[f"X{self.place}"] = {"id": "string", **kept, **own}
        return f"X{self.place}"

    def ladder(self, type: str) -> list[str]:
        """Filters into one type, mostly of one form, with constants of their own."""
        self.place += 1
        target = self.target(type)
        names, columns = self.types[type], self.types[target]
        attribute = self.pick(*names)
        signs = ("=", "!=") if names[attribute] == "boolean" else SIGNS
        sign = self.pick(*signs)
        alike = {n: self.shown(t, names, "%") for n, t in columns.items() if n != "id"}
        found = []
        for _ in range(self.pick(3, 1, 2, 5, 8)):
            conditions = [self.condition(names) for _ in range(self.pick(1, 0, 2))]
            if not self.happens(5):
                sign = self.pick(*signs) if self.happens(8) else sign
                step = f"{attribute} {sign} {self.pick(*CONSTANTS[names[attribute]])}"
                conditions = [step, *(conditions if self.happens(4) else ())]
            shown = {n: self.similar(s, columns[n]) for n, s in alike.items()}
            if self.happens(6):
                shown = {n: self.shown(columns[n], names, "%") for n in alike}
            found.append(self.filter(target, type, conditions, shown))
        return found

    def similar(self, shown: str, type: str) -> str:
        """The same, or another constant where it is one."""
        constants = SHOWN.get(type, ())
        return self.pick(*constants) if shown in constants else shown

    def filter(self, target: str, type: str, conditions: list[str], shown: dict[str, str]) -> str:
        source, behind, before = self.source(type, conditions)
        columns = [f"{before}id as id", *(f"{s} as {n}" for n, s in shown.items())]
        items = ", ".join(columns).replace("%", before)
        return f"{self.priority()}insert into {target} select {items} from {source}{behind};"

    # -- what takes them --

    def taker(self) -> str:
        """A filter, a window, a pattern or what only the machine runs, over what was derived."""
        self.place += 1
        type = self.pick(*self.types)
        names = self.types[type]
        test = self.pick("", f"({self.condition(names)})")
        other = self.pick(*self.types)
        # A key that both have.
        keys = [
            n for n, t in names.items() if self.types[other].get(n) == t and n not in "id wf"
        ] or ["id"]
        last = f"b={other}({keys[0]} = a.{keys[0]})"
        name = f"@Name('Q{self.place}') "
        return (
            self.priority()
            + name
            + self.pick(
                f"select * from {type}{test};",
                f"select id, count(*) as n from {type}{test}#length({self.pick(2, 3)}) group by id;",
                f"select count(*) as n, last(id) as l from {type}{test}#time(1 sec);",
                f"select count(*) as n, last(id) as l from {type}{test}#time_batch(1 sec);",
                f"select a.id as a, b.id as b from pattern [every a={type}{test} -> {last}];",
                f"select a.id as a, b.id as b from pattern [every a={type}{test} -> {last} where timer:within(2 sec)];",
                f"select a.id as a from pattern [every a={type}{test} -> (timer:interval(1 sec) and not {last[2:]})];",
                f"select id from {type}{test} output every 2 events;",
                f"select irstream id from {type}{test}#length(2);",
            )
        )

    def cycle(self) -> str:
        """It ends, and has nothing to do with the others but the input."""
        self.place += 1
        target = f"Y{self.place}"
        return (
            f"create schema {target}(id string, m long);"
            f"insert into {target} select id, 1L as m from A({self.condition(OF_INPUT)});"
            f"insert into {target} select id, m + 1L as m from {target}(m < 3L);"
        )


@st.composite
def filters(draw: DrawFn) -> Example:
    """Ladders of filters over the input and over each other, and what takes their rows."""
    choice = Filters(draw)
    texts: list[str] = []
    for _ in range(choice.pick(2, 1, 3, 4)):
        texts += choice.ladder(choice.pick("A", *choice.types))
    texts += [choice.taker() for _ in range(choice.pick(0, 1, 2))]
    if choice.happens(6):
        texts.append(choice.cycle())
    if choice.happens(3):
        texts = draw(st.permutations(texts))
    schemas = [
        f"create schema {name}({', '.join(f'{n} {t}' for n, t in columns.items())});"
        for name, columns in choice.types.items()
        if name != "A"
    ]
    return Example("\n".join([INPUT, *schemas, *texts]), events(choice))


def events(choice: Expressions) -> str:
    """Many at one time; some time passes behind the last."""
    clock, items = 0, []
    for number in range(1, choice.pick(4, 2, 8, 12) + 1):
        clock += choice.pick(0, 1000, 0, 500)
        values = {
            name: choice.pick(*VALUES[type]) for name, type in OF_INPUT.items() if name != "id"
        }
        given = given_as(values)
        items.append(f"A{number}@{clock}{{{given}}}")
    return " ".join([*items, f"@{clock + 5000}"])


def given_as(values: Mapping[str, object]) -> str:
    """What an event has, in the form of examples; null is left out."""
    some = {name: value for name, value in values.items() if value is not None}
    return ",".join(f"{n}={json.dumps(v, separators=(',', ':'))}" for n, v in some.items())
