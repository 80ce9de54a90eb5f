"""Every rule for what comes in, as plain data: a program, rows, options, and what they give on every door.

A case has the rows of one or several types as dictionaries. Each door makes of them what it takes
(a file, a frame, a table), so that what is expected is written once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import cepheid as cep

Row = Mapping[str, Any]

PROGRAM = """
create schema Payment (card string, amount int);
create context Cards partition by card from Payment;
@Name('Large') context Cards select card, amount from Payment(amount > 10);
"""
TWO = """
create schema Payment (card string, amount int);
create schema Refund (card string);
@Name('Large') select card, amount from Payment(amount > 10);
@Name('Back') select card as c from Refund;
"""
TIMED = """
@EventTime(attribute='at', unit='milliseconds')
create schema Payment (card string, amount int, at long);
@Name('Large') select card, amount, at from Payment(amount > 10);
"""
THROUGH = """
create schema Payment (card string, amount int);
insert into All select * from Payment;
@Name('Large') select card as c from All;
"""
ABSENT = """
create schema Payment (card string, amount int);
@Name('Quiet') select a.card as card from
    pattern [every a=Payment -> (timer:interval(10 sec) and not Payment)];
"""
DERIVED = """
create schema Payment (card string, amount int);
insert into Owner select cast(null, string) as owner, amount from Payment;
create context Owners partition by owner from Owner;
@Name('Large') context Owners select owner, amount from Owner;
"""
TYPED = "create schema Payment (card string, amount int); @Name('Large') select * from Payment;"


@dataclass(frozen=True)
class Case:
    """Rows by type, and what a run of them gives."""

    name: str
    rows: Mapping[str, Sequence[Row]]
    expected: Sequence[tuple[Any, ...]] | str  # times and values of rows, or the code of an error
    program: str = PROGRAM
    options: Mapping[str, Any] = field(default_factory=dict)
    row: int | None = None  # of the error, counted from one in its source
    notes: tuple[str, ...] | None = ()  # their codes; None: no matter which
    skipped: tuple[str, ...] | None = None  # with on_error='skip', the codes of what is left out
    said: str = ""  # in the message of the error, or of the notes


def payment(time: Any = 1, card: Any = "c", amount: Any = 20, **others: Any) -> Row:
    found = {"@time": time, "card": card, "amount": amount, **others}
    return {name: value for name, value in found.items() if value is not ...}


def payments(*rows: Row) -> dict[str, list[Row]]:
    return {"Payment": list(rows)}


FINE = [(1, "c", 20)]
BACK: Row = {"@time": 2, "card": "d"}  # a refund
CASES = [
    Case("all is well", payments(payment()), FINE),
    Case(
        "no event has a key",
        payments(payment(card=...), payment(2, card=...)),
        "missing-attribute",
        said="no event of Payment has the attribute 'card', by which 'Large' keeps events apart",
    ),
    Case(
        "no event has an attribute that is used",
        payments(payment(amount=...)),
        "missing-attribute",
        said="no event of Payment has the attribute 'amount', which 'Large' uses",
    ),
    Case(
        "an attribute has another name",
        payments(payment(card=..., card_no="c")),
        "missing-attribute",
        said="did you mean 'card_no'? columns={'card_no': 'card'}",
    ),
    Case(
        "an attribute goes through a wildcard",
        payments(payment(card=...)),
        "missing-attribute",
        program=THROUGH,
        said="'card', which 'Large' uses",
    ),
    Case("a wildcard uses nothing", payments(payment(card=...)), [(1, None, 20)], program=TYPED),
    Case(
        "an attribute may be missing",
        payments(payment(card=...)),
        [(1, None, 20)],
        program=TWO,
        options={"optional": ["Payment.card"]},
        notes=("unfed-type",),
    ),
    Case(
        "an attribute is null everywhere",
        payments(payment(card=None)),
        [(1, None, 20)],
        program=TWO,
        notes=("unfed-type",),
    ),
    Case(
        "a key is null in one",
        payments(payment(), payment(2, card=None)),
        "null-key",
        row=2,
        skipped=("null-key",),
        said="an event of Payment without its key: 'card' is null",
    ),
    Case("a derived key is null", payments(payment()), [(1, None, 20)], program=DERIVED, notes=("null-key",)),
    Case(
        "a column that the schema does not have",
        payments(payment(zip=7, remark="r"), payment(2, zip=8, remark=None)),
        [*FINE, (2, "c", 20)],
        notes=("unknown-attribute",),
        said="does not have 'zip', 'remark'",
    ),
    Case(
        "a column that is refused",
        payments(payment(zip=7)),
        "unknown-attribute",
        options={"extra": "error"},
        row=1,
        skipped=("unknown-attribute",),
        said="no attribute 'zip' in Payment",
    ),
    Case(
        "an unknown type",
        {"Payment": [payment()], "Paiment": [payment(2)]},
        "unknown-type",
        skipped=("unknown-type",),
        said="no event type 'Paiment' (did you mean 'Payment'?)",
    ),
    Case(
        "no time",
        payments(payment(), payment(None)),
        "missing-time",
        row=2,
        skipped=("missing-time",),
        said="an event of type Payment without a time",
    ),
    Case(
        "a time that cannot be read",
        payments(payment("2026-01-01T00:00:00Z"), payment("noon")),
        "bad-time",
        row=2,
        skipped=("bad-time",),
        said="'noon' is not an ISO 8601 time",
    ),
    Case("no column for the time", payments(payment(...)), "missing-time", said="--time"),
    Case(
        "a type without events",
        payments(payment()),
        FINE,
        program=TWO,
        notes=("unfed-type",),
        said="no input has events of Refund, which 'Back' takes",
    ),
    Case(
        "a column for the time",
        payments(payment(..., at=1), payment(..., at=3)),
        [*FINE, (3, "c", 20)],
        options={"time": "at"},
    ),
    Case(
        "a column for the time, which counts milliseconds",
        payments(payment(..., at=1000)),
        FINE,
        options={"time": "at", "unit": "milliseconds"},
    ),
    Case(
        "a column for the time that is missing",
        payments(payment()),
        "missing-time",
        options={"time": "at"},
        row=1,
    ),
    Case(
        "a column for the time that is null in one",
        payments(payment(5, at=1), payment(5, at=None)),
        "missing-time",
        options={"time": "at"},
        row=2,
        skipped=("missing-time",),
        said="'at' holds the time",
    ),
    Case("a column for the time wins over @time", payments(payment(9, at=1)), FINE, options={"time": "at"}),
    Case("the attribute for the time wins over @time", payments(payment(9, at=1000)), [(1, "c", 20, 1000)], program=TIMED),
    Case(
        "a column for the time wins over the attribute",
        payments(payment(9, at=5000, when=1)),
        [(1, "c", 20, 5000)],
        program=TIMED,
        options={"time": "when"},
    ),
    Case(
        "the column for the time is the attribute",
        payments(payment(9, at=1000)),
        [(1, "c", 20, 1000)],
        program=TIMED,
        options={"time": "at"},
    ),
    Case(
        "a column is an attribute under another name",
        payments(payment(card=..., card_no="c")),
        FINE,
        options={"columns": {"card_no": "card"}},
    ),
    Case(
        "a column that is to be an attribute, and that nobody has",
        payments(payment(card_nr="n"), payment(2)),
        [*FINE, (2, "c", 20)],
        options={"columns": {"card_no": "card"}},
        notes=("unknown-attribute", "unknown-attribute"),  # and the note of 'card_nr'
        said="no source has the column 'card_no', which would be 'card': that is a column itself"
        " (did you mean 'card_nr'?)",
    ),
    Case(
        "a column that is to be an attribute, which is there anyway",
        payments(payment()),
        FINE,
        options={"columns": {"card_no": "card"}},
        notes=("unknown-attribute",),
        said="no source has the column 'card_no', which would be 'card': that is a column itself"
        " (other columns: amount)",
    ),
    Case(
        "two columns are one attribute",
        payments(payment(card_no="c")),
        "bad-line",
        options={"columns": {"card_no": "card"}},
        said="two columns would be 'card'",
    ),
    Case(
        "a column orders events of one time",
        payments(payment(amount=20, n=2), payment(amount=30, n=1)),
        [(1, "c", 30), (1, "c", 20)],
        options={"sequence": "n"},
    ),
    Case(
        "the place of an event is no number",
        payments(payment(n=2), payment(n=None)),
        "bad-value",
        options={"sequence": "n"},
        row=2,
        skipped=("bad-value",),
        said="'n' orders events by whole numbers, not by",
    ),
    Case("the clock runs on", payments(payment()), [(11, "c")], program=ABSENT, options={"end": 100}),
    Case("the clock does not run on", payments(payment()), [], program=ABSENT),
    Case(
        "an event after the end",
        payments(payment(7)),
        "late-event",
        options={"end": 5},
        said="an event at 1970-01-01T00:00:07Z is after the end",
    ),
    Case("events before the epoch", payments(payment(-5), payment(0)), [(-5, "c", 20), (0, "c", 20)]),
    Case("events out of order", payments(payment(2), payment(1)), [(1, "c", 20), (2, "c", 20)]),
    Case("no events at all", payments(), [], notes=None),
]  # fmt: skip


def program_of(case: Case) -> cep.Program:
    return cep.parse(case.program)
