"""Golden scenarios: small EPL programs over small event sequences, with the rows they must give.

A file has named event sequences and cases:

    events morning: A1@1000 B1@2000{k="x",v=3} @5000

    [001] morning
    select * from pattern [every (a=A -> b=B)]
    =>
    2000 a=A1 b=B1

Events are named after their type, which their letters give, and have the attributes id, k, v and
ts; times are in milliseconds; `@5000` only lets time pass. A row has its time, `old` if it is one,
the statement where there are several, and its attributes; null ones are left out. A program that is
wrong has `=> error` and the codes of what is wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import cepheid as cep
from cepheid.core.event import Event, Value
from cepheid.core.time import Instant
from cepheid.core.types import INT, LONG, STRING, Attribute, EventType
from cepheid.core.values import Coercions
from cepheid.engines.common.judging import input_keys
from cepheid.engines.common.session import Session
from cepheid.io import Decoder, records_of
from cepheid.io.encode import encode_value
from cepheid.lang import language_of
from cepheid.program.resolved import ResolvedProgram

FOLDER = Path(__file__).parent / "golden"
ATTRIBUTES = tuple(
    Attribute(name, type)
    for name, type in {"id": STRING, "k": STRING, "v": INT, "ts": LONG}.items()
)
TYPES = {letter: EventType(letter, ATTRIBUTES) for letter in "ABCDEFG"}
# What programs may call; as they have no names of their own, they go to Spark's workers whole.
FUNCTIONS = (
    cep.function("py_half", lambda number: number / 2, ["double"], "double"),
    cep.function("py_shift", lambda n, by: (n + by) % 7, ["long", "int"], "int"),
    cep.function("py_mark", lambda text: text + "!" if text else None, ["string"], "string"),
    cep.function("py_both", lambda a, b: a and b, ["boolean", "boolean"], "boolean"),
    cep.function("py_one", lambda: 1, [], "int"),
)
_EVENT = re.compile(r"([A-Z]\w*)?@(\d+)(?:\{(.*)\})?")
_JSON = json.JSONDecoder()
_CASE = re.compile(r"\[(\w+)\] (\w+)")


@lru_cache(1000)  # each program runs on many engines
def _parsed(text: str, language: str) -> cep.Program:
    return cep.parse(text, types=TYPES, language=language, functions=FUNCTIONS)


@lru_cache(1000)
def _resolved(text: str, language: str) -> ResolvedProgram:
    return _parsed(text, language).resolve()


def _let_in(item: Event | Instant, keys: Mapping[str, Collection[str]]) -> Event | Instant:
    """The event as a door lets it in: where the key of a context is null, only time passes."""
    is_keyless = isinstance(item, Event) and any(
        item.get(k) is None for k in keys.get(item.type, ())
    )
    return item.instant if isinstance(item, Event) and is_keyless else item


@dataclass(frozen=True, slots=True)
class Example:
    """A program and the events that happen to it."""

    text: str
    events: str
    start: int = 0  # when the clock starts, in milliseconds
    language: str = field(default="epl", kw_only=True)

    def later(self, time: int) -> Example:
        """The same so many milliseconds later."""
        moved = re.sub(r"@(\d+)(?=[ {]|$)", lambda at: f"@{int(at[1]) + time}", self.events)
        return replace(self, events=moved, start=self.start + time)

    def until(self, time: int) -> Example:
        """The same, and time goes on."""
        return replace(self, events=f"{self.events} @{time}")

    @property
    def end(self) -> int:
        """The last time in it, in milliseconds."""
        item = self.items()[-1]
        return (item.instant if isinstance(item, Event) else item) // 1000

    @property
    def program(self) -> cep.Program:
        return _parsed(self.text, self.language)

    @property
    def resolved(self) -> ResolvedProgram:
        return _resolved(self.text, self.language)

    def items(self) -> list[Event | Instant]:
        keys = input_keys(self.resolved)
        return [_let_in(item, keys) for item in parse_events(self.events, self.resolved.types)]

    def __str__(self) -> str:
        """In the form of a golden file."""
        return f"events s: {self.events}\n\n[new] s\n{self.text}\n=>"


@dataclass(frozen=True, slots=True)
class FileExample(Example):
    """A program over the events of files, which `events` names."""

    files: tuple[Path, ...] = ()

    @classmethod
    def of(cls, program: Path, files: tuple[Path, ...]) -> FileExample:
        text, names = program.read_text(), " ".join(file.name for file in files)
        language = language_of(program).name
        first = cls(text, names, 0, files, language=language).items()[0]
        instant = first.instant if isinstance(first, Event) else first
        return cls(text, names, instant // 1000, files, language=language)

    def items(self) -> list[Event | Instant]:
        decoder = Decoder(self.resolved.types)
        records = (record for file in self.files for record in records_of(file))
        found = [decoder.decode(record, number) for number, record in enumerate(records)]
        return sorted(found, key=lambda item: item.instant if isinstance(item, Event) else item)


@dataclass
class Case:
    name: str
    events: str
    text: str
    expected: list[str]
    comments: list[str] = field(default_factory=list)

    @property
    def is_wrong(self) -> bool:
        return "".join(self.expected[:1]).startswith("=> error")


@dataclass
class Scenarios:
    """One golden file."""

    path: Path
    head: list[str]
    sequences: dict[str, str]
    cases: list[Case]

    @property
    def runnable(self) -> list[Case]:
        """Those whose program is not wrong, and which have events."""
        return [c for c in self.cases if not c.is_wrong and self.sequences[c.events]]


def read(path: Path) -> Scenarios:
    scenarios = Scenarios(path, [], {}, [])
    for block in path.read_text().split("\n\n"):
        lines = block.strip("\n").split("\n")
        comments = [line for line in lines if line.startswith("#")]
        lines = [line for line in lines if not line.startswith("#")]
        if not lines:
            scenarios.head += comments
        elif lines[0].startswith("events "):
            for line in lines:
                name, _, sequence = line.removeprefix("events ").partition(": ")
                scenarios.sequences[name] = sequence
        else:
            scenarios.cases.append(_case(lines, comments))
    return scenarios


def _case(lines: list[str], comments: list[str]) -> Case:
    header = _CASE.fullmatch(lines[0])
    assert header, lines[0]
    end = next(i for i, line in enumerate(lines) if line.startswith("=>"))
    outcome = [lines[end]] if lines[end] != "=>" else []
    expected = outcome + lines[end + 1 :]
    return Case(header[1], header[2], "\n".join(lines[1:end]), expected, comments)


def write(scenarios: Scenarios) -> None:
    blocks = ["\n".join(scenarios.head)] if scenarios.head else []
    blocks.append("\n".join(f"events {n}: {s}" for n, s in scenarios.sequences.items()))
    for case in scenarios.cases:
        outcome = case.expected if case.expected[:1] and case.expected[0][:2] == "=>" else None
        rows = outcome or ["=>", *case.expected]
        lines = [*case.comments, f"[{case.name}] {case.events}", case.text, *rows]
        blocks.append("\n".join(lines))
    scenarios.path.write_text("\n\n".join(blocks) + "\n")


def parse_events(
    sequence: str, types: Mapping[str, EventType] = TYPES
) -> Iterator[Event | Instant]:
    """Events, and instants up to which time passes."""
    coercions = Coercions(types)
    for number, item in enumerate(sequence.split()):
        match = _EVENT.fullmatch(item)
        assert match, item
        name, time, rest = match[1], int(match[2]), match[3]
        if name is None:
            yield time * 1000
            continue
        type = types[name.rstrip("0123456789")]
        known = {"id": name, "ts": time, **dict(_given(rest or ""))}
        values = {a.name: coercions.of(a.type)(known.get(a.name)) for a in type.attributes}
        yield Event(type.name, time * 1000, values, number)


def _given(text: str) -> Iterator[tuple[str, Value]]:
    """Attributes as `name=value`, with values of JSON in which there is no space."""
    place = 0
    while place < len(text):
        begin = text.index("=", place) + 1
        value, end = _JSON.raw_decode(text, begin)
        yield text[place : begin - 1], value
        place = end + 1


def outcome(text: str, sequence: str, *, engine: str = "local", restart: bool = False) -> list[str]:
    """What a program makes of a sequence, in the form of the golden files.

    With `restart`, the program is saved and opened again after every event.
    """
    try:
        program = cep.parse(text, types=TYPES, functions=FUNCTIONS)
        session = cep.open(program, start=0, engine=engine)
    except cep.ProgramError as wrong:
        return ["=> error " + " ".join(sorted({d.code for d in wrong.diagnostics}))]
    rows: list[Event] = []
    for item in parse_events(sequence, program.resolve().types):
        rows += session.take(item) if isinstance(item, Event) else _advance(session, item)
        if restart:
            session = cep.open(program, state=session.save(), engine=engine)
    is_one = len(program.tree.statements) == 1
    return [show(row, with_statement=not is_one) for row in rows]


def _advance(session: Session, instant: int) -> list[Event]:
    return session.advance(instant / 1_000_000)


def show(row: Event, *, with_statement: bool) -> str:
    parts = [f"{row.instant / 1000:g}"]
    parts += ["old"] if row.is_old else []
    parts += [f"{row.statement}:"] if with_statement else []
    shown = {name: show_value(value) for name, value in row.items() if value is not None}
    return " ".join(parts + [f"{name}={value}" for name, value in shown.items()])


def show_value(value: Value) -> str:
    if isinstance(value, Event):
        inside = ",".join(f"{n}={show_value(v)}" for n, v in value.items())
        return str(value["id"]) if "id" in value else f"{value.type}({inside})"
    if isinstance(value, list):
        return "[" + ",".join(map(show_value, value)) + "]"
    return json.dumps(encode_value(value))
