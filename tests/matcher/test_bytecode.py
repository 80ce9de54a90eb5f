"""Compiled expressions mean what the reference semantics says, to the bit."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given

from cepheid.core.event import Event
from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, NULL, STRING, DataType
from cepheid.expr.evaluate import Frame, compile_expr
from cepheid.expr.tree import (
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
    Negate,
    Not,
    Or,
    Part,
    Ref,
)
from cepheid.matcher.compiling.disassembly import check_code, deepest, listing
from cepheid.matcher.machine.python_calls import answer, forget, remember
from cepheid.matcher.vm.expressions.evaluate import QUESTION, VALUE, holds
from cepheid.matcher.vm.expressions.instructions import Op
from cepheid.matcher.vm.jit import entry
from cepheid.matcher.vm.memory.layout import CAPACITY, NONE, TABLE, Region
from tests.effort import examples
from tests.matcher.expressions import (
    NUMBERS,
    PLACES_OF_AGGREGATES,
    SLOT_OF,
    VALUES,
    Memory,
    compiled,
    condition,
    evaluated,
    exactly,
    expressions,
    frames,
    nested,
    number,
    resolved,
    run,
    text,
)

ARITHMETIC: tuple[BinaryOperator, ...] = ("+", "-", "*", "/", "%")
EQUALITIES: tuple[BinaryOperator, ...] = ("=", "!=", "is", "is not")
ORDERS: tuple[BinaryOperator, ...] = (*EQUALITIES, "<", "<=", ">", ">=")
OF_TWO_NUMBERS = ("mod", "min", "max", "coalesce", "nullif")
OF_ONE_NUMBER = ("abs", "sign", "floor", "ceiling", "sqrt", "round", "exp", "ln")
LETTER: dict[DataType, str] = {
    INT: "i",
    LONG: "l",
    FLOAT: "f",
    DOUBLE: "d",
    STRING: "s",
    BOOLEAN: "b",
}


def check(exprs: Sequence[Expr], frames: Sequence[Frame]) -> None:
    for expr, values in zip(exprs, evaluated(exprs, frames), strict=True):
        reference = compile_expr(expr, PLACES_OF_AGGREGATES)
        assert [exactly(v) for v in values] == [exactly(reference(f)) for f in frames], expr


@given(expressions([number]), frames())
@examples(300)
def test_numbers(expr: Expr, frame: Frame) -> None:
    check([expr], [frame])


@given(expressions([condition]), frames())
@examples(500)
def test_conditions(expr: Expr, frame: Frame) -> None:
    check([expr], [frame])


@given(expressions([text, nested]), frames())
@examples(300)
def test_texts_and_nested_values(expr: Expr, frame: Frame) -> None:
    check([expr], [frame])


def test_what_is_always_null_is_null() -> None:
    """Nothing is known of its type, so it has no words to compare."""
    null = Literal(None, type=NULL)
    lost = Binary("+", column("i"), null)
    exprs: list[Expr] = [lost, Binary("is", lost, lost), Binary("is not", null, column("i"))]
    exprs += [Binary("=", null, column("s")), Case(null, ((column("i"), lost),), column("d"))]
    exprs += [InList(column("i"), (null, column("i"))), InList(null, (column("i"),))]
    exprs += [Call("coalesce", (null, column("i"))), Call("nullif", (column("i"), null))]
    exprs += [Call("coalesce", (null, null)), Call("upper", (null,))]
    check([resolved(expr) for expr in exprs], pairs(INT, INT))


# -- every operator on every pair of values ----------------------------------------------------


def column(name: str, tag: str | None = None) -> Ref:
    return Ref((Part(tag), Part(name))) if tag else Ref((Part(name),))


def pairs(left: DataType, right: DataType) -> list[Frame]:
    """All pairs of values in an event, and the second one also in the event of a tag."""
    first, second = LETTER[left], LETTER[right] + "2"
    return [
        Frame(Event("T", 0, {first: x, second: y}), {"a": Event("T", 0, {second: y})})
        for x, y in itertools.product((*VALUES[left], None), (*VALUES[right], None))
    ]


def of_two(left: DataType, right: DataType) -> Iterator[Expr]:
    x, y = column(LETTER[left]), column(LETTER[right] + "2")
    is_numeric = left in NUMBERS
    for operator in ARITHMETIC if is_numeric else ():
        yield Binary(operator, x, y)
    for operator in EQUALITIES if left == BOOLEAN else ORDERS:
        yield Binary(operator, x, y)
        yield Binary(operator, x, column(y.parts[0].name, "a"))
        yield Binary(operator, column(y.parts[0].name, "a"), x)
    for name in OF_TWO_NUMBERS if is_numeric else ("coalesce", "nullif"):
        yield Call(name, (x, y))
    yield InList(x, (y, x, y), negated=True)
    yield Case(x, ((y, x),), y)


def check_pairs(left: DataType, right: DataType, exprs: Iterable[Expr]) -> None:
    check([resolved(expr) for expr in exprs], pairs(left, right))


TWO_NUMBERS = list(itertools.product(NUMBERS, NUMBERS))


@pytest.mark.parametrize(
    ("left", "right"), [*TWO_NUMBERS, (STRING, STRING), (BOOLEAN, BOOLEAN)], ids=str
)
def test_operators_agree_on_all_pairs_of_values(left: DataType, right: DataType) -> None:
    check_pairs(left, right, of_two(left, right))


@pytest.mark.parametrize(("left", "right"), TWO_NUMBERS, ids=str)
def test_ranges_agree_whichever_ends_they_have(left: DataType, right: DataType) -> None:
    x, y = column(LETTER[left]), column(LETTER[right] + "2")
    ends = Literal(0, type=INT), Literal(0.5, type=DOUBLE), Literal(3, type=LONG)
    flags = itertools.product((False, True), repeat=2)
    check_pairs(left, right, [InRange(x, y, e, *f) for e, f in itertools.product(ends, flags)])


@pytest.mark.parametrize(("left", "right"), TWO_NUMBERS, ids=str)
def test_comparisons_with_constants_agree(left: DataType, right: DataType) -> None:
    x = column(LETTER[left])
    values = [v for v in VALUES[right] if v == v]  # noqa: PLR0124 (no text writes NaN)
    constants = [Literal(v, type=right) for v in values]  # type: ignore[arg-type]
    exprs: list[Expr] = [InList(x, tuple(constants[::2]))]
    for operator, constant in itertools.product(ORDERS, constants):
        exprs += [Binary(operator, x, constant), Binary(operator, constant, x)]
    frames = [Frame(Event("T", 0, {x.parts[0].name: v})) for v in (*VALUES[left], None)]
    check([resolved(expr) for expr in exprs], frames)


@pytest.mark.parametrize("type", NUMBERS, ids=str)
def test_functions_and_casts_agree_on_all_numbers(type: DataType) -> None:
    x = column(LETTER[type])
    exprs: list[Expr] = [Negate(x), *(Call(name, (x,)) for name in OF_ONE_NUMBER)]
    check_pairs(type, type, [*exprs, *(Cast(x, target) for target in (*NUMBERS, STRING))])


# -- questions ---------------------------------------------------------------------------------


def question_count(expr: Expr, frames: Sequence[Frame]) -> int:
    held = Memory()
    evaluated([resolved(expr)], frames, held)
    return held.questions


def texts(*values: str | None) -> list[Frame]:
    return [Frame(Event("T", 0, {"s": value})) for value in values]


def test_equal_questions_are_asked_once() -> None:
    like = Like(column("s"), Literal("a%", type=STRING))
    assert question_count(like, texts("a", "b", "a", "b", "a")) == 2


def test_functions_of_functions_are_one_question() -> None:
    trimmed = Call("lower", (Call("trim", (column("s"),)),))
    assert question_count(Binary("<", trimmed, Literal("m", type=STRING)), texts("A ", "A ")) == 1


def test_nobody_is_asked_about_null_or_about_constants() -> None:
    assert question_count(Call("upper", (column("s"),)), texts(None)) == 0
    constant = Call("upper", (Literal("x", type=STRING),))
    assert question_count(Binary("=", column("s"), constant), texts("X", "y")) == 0


def test_what_is_already_decided_asks_no_question() -> None:
    like = Like(column("s"), Literal("a%", type=STRING))
    never, always = Binary("=", column("i"), column("i2")), Literal(value=True, type=BOOLEAN)
    frame = Frame(Event("T", 0, {"s": "abc", "i": 1, "i2": 2}))
    assert question_count(And((never, like)), [frame]) == 0
    assert question_count(Or((Not(never), like)), [frame]) == 0
    assert question_count(Case(None, ((Not(never), always),), like), [frame]) == 0
    assert question_count(And((Not(never), like)), [frame]) == 1


def test_answers_about_events_hold_for_one_evaluation_only() -> None:
    same = Binary("=", column("a"), Ref((Part("r", 0),)))
    event = Event("T", 0, {"i": 1})
    frame = Frame(None, {"a": event, "r": [event]})
    assert question_count(same, [frame, frame]) == 2


def test_a_table_of_answers_that_is_full_says_so() -> None:
    held = Memory()
    begin = compiled(resolved(Call("upper", (column("s"),))), held)
    for row in range(40):
        held.add_event(Event("T", 0, {"s": f"text {row}"}))
    memory = held.words(4)
    entry = TABLE + 4 * Region.MEMO
    memory[entry + CAPACITY] = 64
    kept = 0
    for row in range(40):
        assert run(memory, begin, row, NONE, NONE)[0] == QUESTION
        word, is_null = answer(memory, held.sites, held.pool, held.events.__getitem__)
        kept += remember(memory, word, is_null=is_null)
    assert kept == 32
    assert [run(memory, begin, row, NONE, NONE)[0] for row in (31, 32)] == [VALUE, QUESTION]
    memory[entry + CAPACITY] = 128
    forget(memory)
    assert run(memory, begin, 0, NONE, NONE)[0] == QUESTION


@entry("int64(int64[::1], int64, int64)")
def run_condition(memory: Any, pc: int, event: int) -> Any:
    return holds(memory, pc, event, NONE, NONE)


def test_a_condition_holds_where_it_is_true_and_nowhere_else() -> None:
    held = Memory()
    fast = compiled(resolved(Binary(">=", column("i"), Literal(50, type=INT))), held)
    asking = compiled(resolved(Call("startswith", (column("s"), column("s2")))), held)
    rows = [held.add_event(Event("T", 0, {"i": value, "s": "x"})) for value in (50, 49, None)]
    unknown = held.add_event(Event("T", 0, {"s": "x", "s2": "x"}))
    memory = held.words(4)
    assert [run_condition(memory, fast, row) for row in (*rows, NONE)] == [1, 0, 0, 0]
    assert [run_condition(memory, asking, row) for row in (rows[0], unknown)] == [0, -1]


# -- code --------------------------------------------------------------------------------------


def test_code_can_be_read() -> None:
    held = Memory()
    expr = And((Binary(">", column("d"), column("d", "a")), Like(column("s"), text_literal("a%"))))
    begin = compiled(resolved(expr), held)
    slot, other = SLOT_OF["d", DOUBLE], SLOT_OF["s", STRING]
    assert listing(held.code, begin, held.sites).splitlines() == [
        f"    0 event_bound         kind double/double, relation >, slot {slot}, tag 0, slot {slot}",
        "    6 jump_if_false       to 15",
        f"    8 event_slot          slot {other}",
        "   10 ask                 site 0, count 1, flags 3, x0 like 'a%'",
        "   14 and",
        "   15 end",
    ]
    assert deepest(held.code, begin) == 3


def text_literal(value: str) -> Literal:
    return Literal(value, type=STRING)


@pytest.mark.parametrize(
    ("code", "fact"),
    [
        ([Op.NULL], "1 is outside the code"),
        ([Op.END], "END at 0 takes 1 of 0 values"),
        ([Op.NULL, Op.NULL, Op.END], "the code leaves 2 values at 2"),
        ([Op.NULL, Op.JUMP, 9], "9 is outside the code"),
        ([Op.CONSTANT], "CONSTANT at 0 is cut off"),
        ([Op.NULL, Op.PICK, 1, Op.END], "PICK at 1 takes 2 of 1 values"),
        ([Op.NULL, Op.JUMP_IF_KNOWN, 4, Op.NULL, Op.POP, Op.END], "the stack at 4 is 1 or 2 deep"),
        ([Op.EVENT_SLOT, 7, Op.END], "EVENT_SLOT at 0 names an unknown slot"),
        ([Op.BOUND_SLOT, 2, 0, Op.END], "BOUND_SLOT at 0 names an unknown tag"),
        ([Op.ASK, 0, 0, 0, Op.END], "ASK at 0 names an unknown site"),
        ([99], "99 is not a valid Op"),
    ],
)
def test_code_that_is_not_well_formed_is_refused(code: list[int], fact: str) -> None:
    with pytest.raises(ValueError, match=fact):
        check_code(code, 0, slots=7, tags=2, sites=0)
