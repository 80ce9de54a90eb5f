"""Random resolved expressions of every kind, what they are evaluated against, and a small memory.

Numbers, texts and conditions are drawn as a parser could make them; resolving gives them types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from cepheid.core.event import Event, Value
from cepheid.core.numbers import INT_RANGE, LONG_RANGE
from cepheid.core.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    STRING,
    ArrayType,
    Attribute,
    DataType,
    EventRef,
    EventType,
    RecordType,
)
from cepheid.errors import Diagnostic
from cepheid.expr.evaluate import Bound, Frame
from cepheid.expr.functions import FUNCTIONS, Function, Kind, Result
from cepheid.expr.tree import (
    Aggregate,
    And,
    Binary,
    BinaryOperator,
    Call,
    Case,
    Cast,
    Expr,
    InList,
    InRange,
    Like,
    Literal,
    Not,
    Or,
    Part,
    Ref,
    Regexp,
    negate,
)
from cepheid.expr.typing import Scope, resolve
from cepheid.matcher.columns.interning import EventReader, Pool, Words
from cepheid.matcher.compiling.bytecode import Site, compile_expression
from cepheid.matcher.compiling.disassembly import check_code, deepest
from cepheid.matcher.machine.python_calls import MEMO_WIDTH, answer, linked, remember
from cepheid.matcher.vm.expressions.evaluate import VALUE, evaluate
from cepheid.matcher.vm.jit import entry
from cepheid.matcher.vm.memory.layout import NONE, TABLE, EventRow, Head, Region
from cepheid.matcher.vm.memory.tables import MEMORY_HEAD

# -- types and events --------------------------------------------------------------------------

PLACE = RecordType((Attribute("x", INT), Attribute("s", STRING)))
PLAIN = (
    *(Attribute(name, BOOLEAN) for name in ("b", "b2")),
    *(Attribute(name, INT) for name in ("i", "i2")),
    *(Attribute(name, LONG) for name in ("l", "l2")),
    *(Attribute(name, FLOAT) for name in ("f", "f2")),
    *(Attribute(name, DOUBLE) for name in ("d", "d2")),
    *(Attribute(name, STRING) for name in ("s", "s2")),
)
# `p` is a named record in one type and a plain one in the other.
POINT = EventType(
    "P", (Attribute("x", INT), Attribute("s", STRING), Attribute("next", EventRef("P")))
)
THING = EventType(
    "T",
    (
        *PLAIN,
        Attribute("p", EventRef("P")),
        Attribute("place", PLACE),
        Attribute("xs", ArrayType(INT)),
        Attribute("ds", ArrayType(DOUBLE)),
        Attribute("ps", ArrayType(EventRef("P"))),
    ),
)
OTHER = EventType("U", (Attribute("p", PLACE), Attribute("d", DOUBLE)))
TYPES = {type.name: type for type in (POINT, THING, OTHER)}
TAGS: Mapping[str, DataType] = {
    "a": EventRef("T"),
    "r": ArrayType(EventRef("T")),
    "u": EventRef("U"),
}
SCOPE = Scope(TYPES, TAGS, EventRef("T"))
AGGREGATES = (
    Aggregate("count", None),
    Aggregate("sum", Ref((Part("i"),))),
    Aggregate("avg", Ref((Part("d"),))),
    Aggregate("max", Ref((Part("s"),))),
)

REALS = (0.0, -0.0, 0.5, -1.5, 1.0, 3.0, 1e16, 2.0**63, -(2.0**63), math.nan, math.inf, -math.inf)
INTS = (0, 1, -1, 2, 3, 7, *INT_RANGE)
LONGS = (*INTS, *LONG_RANGE, 2**53 + 1, -(2**53) - 1)
TEXTS = (
    "",
    "a",
    "b",
    "ab",
    "A",
    "a%",
    "1",
    "-2.5",
    "true",
    " x ",
    "NaN",
    "ß",
    "9223372036854775807",
)
FLOATS = tuple(float(np.float32(x)) for x in (*REALS, 0.1, 3e38))
VALUES: Mapping[DataType, Sequence[Value]] = {
    BOOLEAN: (True, False),
    INT: INTS,
    LONG: LONGS,
    FLOAT: FLOATS,
    DOUBLE: (*REALS, 0.1, 1e308, 5e-324),
    STRING: TEXTS,
}


def one_of(draw: DrawFn, choices: Sequence[Any]) -> Any:
    return draw(st.sampled_from(choices))


def make_value(random: Random, type: DataType, depth: int = 2) -> Value:
    if random.random() < 0.12:
        return None
    match type:
        case ArrayType(element):
            return [make_value(random, element, depth - 1) for _ in range(random.randrange(3))]
        case RecordType(attributes):
            return {a.name: make_value(random, a.type, depth - 1) for a in attributes}
        case EventRef(name):
            if depth <= 0:
                return None
            event = make_event(random, TYPES[name], depth - 1)
            return event if random.random() < 0.5 else dict(event)
    return random.choice(VALUES[type])


def make_event(random: Random, type: EventType, depth: int = 2) -> Event:
    values = {a.name: make_value(random, a.type, depth) for a in type.attributes}
    return Event(type.name, random.randrange(3), values)


def make_frame(seed: int) -> Frame:
    """An event and bindings, each of which may be missing."""
    random = Random(seed)
    several = [make_event(random, THING) for _ in range(random.randrange(1, 3))]
    bound: dict[str, Bound] = {
        "a": make_event(random, THING),
        "r": several,
        "u": make_event(random, OTHER),
    }
    return Frame(
        make_event(random, THING) if random.random() < 0.9 else None,
        {tag: events for tag, events in bound.items() if random.random() < 0.85},
        random.randrange(-5000, 5000),
        is_new=random.random() < 0.5,
        aggregates=[make_value(random, resolved(node).type) for node in AGGREGATES],
    )


def frames() -> SearchStrategy[Frame]:
    return st.integers(0, 10**9).map(make_frame)


# -- expressions -------------------------------------------------------------------------------


def resolved(expr: Expr) -> Expr:
    problems: list[Diagnostic] = []
    result = resolve(expr, SCOPE, problems)
    assert problems == []
    return result


PLACES_OF_AGGREGATES = {
    node: place
    for place, node in enumerate(map(resolved, AGGREGATES))
    if isinstance(node, Aggregate)
}
_PREFIXES: tuple[tuple[Part, ...], ...] = (
    (),
    (),
    (),
    (Part("a"),),
    (Part("r", 0),),
    (Part("r", 1),),
)


def _paths(types: Sequence[DataType]) -> list[tuple[Part, ...]]:
    """All attribute paths from an event that end at a value of one of the types."""
    found: list[tuple[Part, ...]] = [(Part(a.name),) for a in PLAIN if a.type in types]
    if INT in types:
        found += [(Part("xs", 0),), (Part("xs", 1),)]
    if DOUBLE in types:
        found += [(Part("ds", 0),)]
    for name, type in (("x", INT), ("s", STRING)):
        if type in types:
            last = Part(name)
            found += [(Part("p"), last), (Part("place"), last), (Part("p"), Part("next"), last)]
            found += [(Part("ps", 0), last), (Part("ps", 1), Part("next"), last)]
    return found


NUMBERS = (INT, LONG, FLOAT, DOUBLE)
_NUMBER_PATHS, _TEXT_PATHS = _paths(NUMBERS), _paths((STRING,))
_NESTED: tuple[tuple[tuple[Part, ...], ...], ...] = (
    ((Part("p"),), (Part("p"), Part("next")), (Part("a"), Part("p")), (Part("ps", 0),)),
    ((Part("place"),), (Part("u"), Part("p")), (Part("a"), Part("place"))),
    ((Part("xs"),), (Part("a"), Part("xs"))),
    ((Part("ds"),), (Part("xs"),), (Part("r", 0), Part("ds"))),
    ((Part("ps"),), (Part("a"), Part("ps"))),
    ((Part("a"),), (Part("r", 0),), (Part("r", 1),)),
    ((Part("r"),),),
)
_EQUALITIES: tuple[BinaryOperator, ...] = ("=", "!=", "is", "is not")
_ORDERS: tuple[BinaryOperator, ...] = (*_EQUALITIES, "<", "<=", ">", ">=")
_FRAME_FUNCTIONS = ("current_timestamp", "istream")


def _literal(draw: DrawFn, types: Sequence[DataType]) -> Expr:
    type = one_of(draw, types)
    values = [v for v in VALUES[type] if not (isinstance(v, float) and not math.isfinite(v))]
    return Literal(one_of(draw, values), type=type)


def _leaf(draw: DrawFn, types: Sequence[DataType], paths: Sequence[tuple[Part, ...]]) -> Expr:
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return Literal(None, type=NULL)
    if kind <= 3:
        return _literal(draw, types)
    return Ref((*one_of(draw, _PREFIXES), *one_of(draw, paths)))


def number(draw: DrawFn, depth: int) -> Expr:
    if depth <= 0:
        if draw(st.integers(0, 7)) == 0:
            return one_of(draw, (*AGGREGATES[:3], Call("current_timestamp", ())))  # type: ignore[no-any-return]
        if draw(st.integers(0, 9)) == 0:
            return Ref(one_of(draw, ((Part("u"), Part("p"), Part("x")), (Part("u"), Part("d")))))
        return _leaf(draw, NUMBERS, _NUMBER_PATHS)
    kind = draw(st.integers(0, 9))
    if kind <= 4:
        operator = one_of(draw, ("+", "-", "*", "/", "%"))
        return Binary(operator, number(draw, depth - 1), number(draw, depth - 1))
    if kind == 5:
        operand = number(draw, depth - 1)
        least = isinstance(operand, Literal) and operand.value in (INT_RANGE[0], LONG_RANGE[0])
        return operand if least else negate(operand)
    if kind == 6:
        return Cast(one_of(draw, (number, text))(draw, depth - 1), one_of(draw, NUMBERS))
    return _composed(draw, number, depth)


def text(draw: DrawFn, depth: int) -> Expr:
    if depth <= 0:
        if draw(st.integers(0, 9)) == 0:
            return AGGREGATES[3]
        return _leaf(draw, (STRING,), _TEXT_PATHS)
    kind = draw(st.integers(0, 4))
    if kind == 0:
        sides = [one_of(draw, (text, text, number, condition))(draw, depth - 1) for _ in range(2)]
        return Binary("||", *sides)
    if kind == 1:
        return Cast(one_of(draw, (number, condition, text))(draw, depth - 1), STRING)
    return _composed(draw, text, depth)


def condition(draw: DrawFn, depth: int) -> Expr:
    if depth <= 0:
        if draw(st.integers(0, 9)) == 0:
            return Call("istream", ())
        return _leaf(draw, (BOOLEAN,), [(Part("b"),), (Part("b2"),)])
    return one_of(draw, _CONDITIONS)(draw, depth - 1)  # type: ignore[no-any-return]


def nested(draw: DrawFn, depth: int, family: Sequence[tuple[Part, ...]] | None = None) -> Expr:
    """Arrays, records and events; those of one family compare."""
    family = family or one_of(draw, _NESTED)
    if depth <= 0 or draw(st.booleans()):
        return Ref(one_of(draw, family))
    parts = [nested(draw, depth - 1, family) for _ in range(2)]
    if draw(st.booleans()):
        return Call(one_of(draw, ("coalesce", "nullif")), tuple(parts))
    return Case(None, ((condition(draw, depth - 1), parts[0]),), parts[1])


def _of_any(draw: DrawFn) -> Callable[[DrawFn, int], Expr]:
    return one_of(draw, (number, number, text, condition))  # type: ignore[no-any-return]


def _comparison(draw: DrawFn, depth: int) -> Expr:
    make = _of_any(draw)
    operators = _EQUALITIES if make is condition else _ORDERS
    return Binary(one_of(draw, operators), make(draw, depth), make(draw, depth))


def _nested_comparison(draw: DrawFn, depth: int) -> Expr:
    family = one_of(draw, _NESTED)
    right = Literal(None, type=NULL) if draw(st.booleans()) else nested(draw, depth, family)
    return Binary(one_of(draw, _EQUALITIES), nested(draw, depth, family), right)


def _connective(draw: DrawFn, depth: int) -> Expr:
    parts = tuple(condition(draw, depth) for _ in range(draw(st.integers(2, 3))))
    return And(parts) if draw(st.booleans()) else Or(parts)


def _in_list(draw: DrawFn, depth: int) -> Expr:
    make = _of_any(draw)
    only_literals = draw(st.booleans()) and make is not condition
    types = (STRING,) if make is text else NUMBERS
    items = tuple(
        _literal(draw, types) if only_literals else make(draw, depth)
        for _ in range(draw(st.integers(1, 3)))
    )
    return InList(make(draw, depth), items, draw(st.booleans()))


def _in_range(draw: DrawFn, depth: int) -> Expr:
    make = one_of(draw, (number, number, text))
    operand = make(draw, depth)
    if isinstance(operand, Literal) and operand.type == NULL:
        operand = Ref((Part("i" if make is number else "s"),))
    flags = [draw(st.booleans()) for _ in range(3)]
    return InRange(operand, make(draw, depth), make(draw, depth), *flags)


def _like(draw: DrawFn, depth: int) -> Expr:
    pattern = text(draw, depth)
    escape = one_of(draw, (None, "%", "a"))
    return Like(text(draw, depth), pattern, escape, draw(st.booleans()))


def _regexp(draw: DrawFn, depth: int) -> Expr:
    pattern = one_of(draw, (Literal("a.*", type=STRING), Ref((Part("s"),))))
    return Regexp(text(draw, depth), pattern, draw(st.booleans()))


_CONDITIONS: tuple[Callable[[DrawFn, int], Expr], ...] = (
    _comparison,
    _comparison,
    _comparison,
    _nested_comparison,
    _connective,
    _connective,
    lambda draw, depth: Not(condition(draw, depth)),
    _in_list,
    _in_range,
    _like,
    _regexp,
    lambda draw, depth: _composed(draw, condition, depth + 1),
)


def _composed(draw: DrawFn, make: Callable[[DrawFn, int], Expr], depth: int) -> Expr:
    """Choices and functions, which give values of every type."""
    if draw(st.booleans()):
        return _case(draw, make, depth - 1)
    name = one_of(draw, _FUNCTIONS_BY_RESULT[make.__name__])
    function = FUNCTIONS[name]
    least = max(len(function.parameters) - function.optional, 2 if function.repeats else 0)
    most = 3 if function.repeats else len(function.parameters)
    makers = [
        _maker(function, place, make, draw) for place in range(draw(st.integers(least, most)))
    ]
    return Call(name, tuple(m(draw, depth - 1) for m in makers))


def _maker(
    function: Function, place: int, make: Callable[[DrawFn, int], Expr], draw: DrawFn
) -> Callable[[DrawFn, int], Expr]:
    kind = function.kind(place)
    if kind in (Kind.VALUE, Kind.ORDERED):
        return make
    if kind is Kind.TEXT:
        return _of_any(draw)
    if kind is Kind.WHOLE:
        return lambda draw, _: _leaf(draw, (INT, LONG), _paths((INT, LONG)))
    return number if kind is Kind.NUMBER else text


def _functions(make: str) -> list[str]:
    kinds = {"number": NUMBERS, "text": (STRING,), "condition": (BOOLEAN,)}[make]
    both = ["coalesce", "nullif"]
    if make != "condition":
        both += ["min", "max"]
    plain = [
        n for n, f in FUNCTIONS.items() if not isinstance(f.result, Result) and f.result in kinds
    ]
    if make == "number":
        plain += [n for n, f in FUNCTIONS.items() if f.result is Result.FIRST] + ["mod"]
    return [*both * 2, *(n for n in plain if n not in _FRAME_FUNCTIONS and not _is_of_times(n))]


def _is_of_times(name: str) -> bool:
    """Whether it takes times, or texts that only some programs may say."""
    taken = {Kind.TIME, Kind.PART, Kind.UNIT, Kind.PATTERN, Kind.ZONE}
    return not taken.isdisjoint(FUNCTIONS[name].parameters)


_FUNCTIONS_BY_RESULT = {make: _functions(make) for make in ("number", "text", "condition")}


def _case(draw: DrawFn, make: Callable[[DrawFn, int], Expr], depth: int) -> Expr:
    of_operand = _of_any(draw) if draw(st.booleans()) else None
    branches = tuple(
        ((of_operand or condition)(draw, depth), make(draw, depth))
        for _ in range(draw(st.integers(1, 2)))
    )
    operand = of_operand(draw, depth) if of_operand else None
    return Case(operand, branches, make(draw, depth) if draw(st.booleans()) else None)


@st.composite
def expressions(draw: DrawFn, makers: Sequence[Callable[[DrawFn, int], Expr]]) -> Expr:
    """Resolved expressions, at most three levels deep."""
    make = one_of(draw, makers)
    return resolved(make(draw, draw(st.integers(0, 3))))


# -- the memory --------------------------------------------------------------------------------

ATTRIBUTES = tuple(
    dict.fromkeys((a.name, a.type) for type in TYPES.values() for a in type.attributes)
)
SLOT_OF = {attribute: 5 * place for place, attribute in enumerate(ATTRIBUTES)}
SLOT_COUNT = 5 * len(ATTRIBUTES)  # so many that their null bits need several words
NULL_WORDS = (SLOT_COUNT + 63) // 64
TAG_OF = {tag: place for place, tag in enumerate(TAGS)}


@entry("UniTuple(int64, 3)(int64[::1], int64, int64, int64, int64)")
def run(memory: Any, pc: int, event: int, binding: int, aggregates: int) -> Any:
    return evaluate(memory, pc, event, binding, aggregates)


def _empty(rows: int, width: int) -> Words:
    return np.zeros((rows, width), dtype=np.int64)


@dataclass
class Memory:
    """Events and bindings as words; events lie in rows unless they lie inside a record."""

    pool: Pool = field(default_factory=Pool)
    sites: list[Site] = field(default_factory=list)
    code: list[int] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    rows: dict[Region, list[list[int]]] = field(default_factory=dict)
    questions: int = 0

    def add(self, region: Region, words: list[int]) -> int:
        rows = self.rows.setdefault(region, [])
        rows.append(words)
        return len(rows) - 1

    def add_event(self, event: Event | None) -> int:
        if event is None:
            return NONE
        nulls, values = np.full(NULL_WORDS, -1, dtype=np.int64), [0] * SLOT_COUNT
        attributes = {a.name: a.type for a in TYPES[event.type].attributes}
        for (name, type), slot in SLOT_OF.items():
            value = event.get(name) if attributes.get(name) == type else None
            values[slot], is_null = self.encode(value, type)
            if not is_null:
                nulls[slot // 64] ^= np.int64(1) << np.int64(slot % 64)
        self.events.append(event)
        head = [0] * EventRow.NULLS
        return self.add(Region.EVENT, [*head, *nulls.tolist(), *values])

    def encode(self, value: Value, type: DataType) -> tuple[int, bool]:
        if isinstance(value, Event):
            return self.add_event(value), False
        if isinstance(value, list) and value and all(isinstance(v, Event) for v in value):
            return self.add_list(value), False  # type: ignore[arg-type]
        bits, is_null = self.pool.encode(value, type)
        return (77 if is_null else bits), is_null  # what a null leaves behind means nothing

    def add_list(self, events: Sequence[Event]) -> int:
        link = NONE
        for count, event in enumerate(events, 1):
            link = self.add(Region.LINK, [self.add_event(event), link, count])
        return link

    def add_binding(self, tags: Mapping[str, Any]) -> int:
        bound = (tags.get(tag) for tag in TAGS)
        return self.add(
            Region.BINDING,
            [self.add_list(b) if isinstance(b, list) else self.add_event(b) for b in bound],
        )

    def words(self, stack: int) -> Words:
        """The whole memory; behind it lies a row of aggregates."""
        code = [[word] for word in self.code]
        tables = {region: np.array(rows) for region, rows in self.rows.items()} | {
            Region.CODE: np.array(code, dtype=np.int64),
            Region.ASKED: _empty(16, 2),
            Region.ANSWER: _empty(64, 2),
            Region.STACK: _empty(stack, 2),
            Region.MEMO: _empty(4096, MEMO_WIDTH),
        }
        head = np.zeros(MEMORY_HEAD, dtype=np.int64)
        begin = MEMORY_HEAD
        for region, table in tables.items():
            entry = TABLE + 4 * region
            head[entry : entry + 4] = begin, table.shape[1], table.shape[0], 0
            begin += table.size
        head[Head.SLOTS] = EventRow.NULLS + NULL_WORDS
        behind = _empty(len(AGGREGATES), 2)
        return np.concatenate([head, *(table.ravel() for table in (*tables.values(), behind))])

    def decode(self, memory: Words, bits: int, type: DataType) -> Value:
        event_of = self.events.__getitem__
        rows = EventReader(event_of, lambda link: [event_of(row) for row in linked(memory, link)])
        return self.pool.decode(bits, type, rows)


def evaluated(
    exprs: Sequence[Expr], frames: Sequence[Frame], held: Memory | None = None
) -> list[list[Value]]:
    """The values of expressions by their code, with as many questions as they take."""
    held = held or Memory()
    places = [(held.add_event(f.event), held.add_binding(f.tags)) for f in frames]
    begins = [compiled(expr, held) for expr in exprs]
    memory = held.words(max(deepest(held.code, begin) for begin in begins))
    return [
        [
            _evaluated(expr, begin, held, memory, frame, *place)
            for frame, place in zip(frames, places, strict=True)
        ]
        for expr, begin in zip(exprs, begins, strict=True)
    ]


def compiled(expr: Expr, held: Memory) -> int:
    begin = compile_expression(
        expr, SLOT_OF, TAG_OF, held.pool, held.sites, held.code, PLACES_OF_AGGREGATES
    )
    check_code(
        held.code,
        begin,
        slots=SLOT_COUNT,
        tags=len(TAG_OF),
        sites=len(held.sites),
        aggregates=len(AGGREGATES),
    )
    return begin


def _evaluated(
    expr: Expr, begin: int, held: Memory, memory: Words, frame: Frame, event: int, binding: int
) -> Value:
    memory[Head.CLOCK], memory[Head.IS_OLD], memory[Head.ANSWERS] = frame.now, not frame.is_new, 0
    aggregates = len(memory) - 2 * len(AGGREGATES)
    for place, (node, value) in enumerate(zip(AGGREGATES, frame.aggregates, strict=False)):
        words = held.encode(value, resolved(node).type)
        memory[aggregates + 2 * place : aggregates + 2 * place + 2] = words
    while True:
        memory[Head.USED_ANSWERS] = 0
        status, bits, is_null = run(memory, begin, event, binding, aggregates)
        if status == VALUE:
            return None if is_null else held.decode(memory, bits, expr.type)
        held.questions += 1
        bits, is_null = answer(memory, held.sites, held.pool, held.events.__getitem__)
        assert remember(memory, bits, is_null=bool(is_null))


def exactly(value: Value) -> object:
    """What tells two values apart that are not the same to the bit; NaN is only NaN."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value.hex()
    if isinstance(value, list | tuple):
        return [exactly(item) for item in value]
    if isinstance(value, dict):
        return {name: exactly(item) for name, item in value.items()}
    if isinstance(value, Event):
        return value.type, value.instant, exactly(value.values_)
    return type(value), value
