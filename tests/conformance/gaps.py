"""What engines leave out: one list, with reasons.

An engine may refuse a program only for what is listed here. Each gap has a program that shows it:
once an engine runs that, the gap has closed, a test fails, and the line goes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.conformance.scenarios import Example

_SIDE_BY_SIDE = ("lanes", "lanes, in batches")
_IN_A_ROW = ("lanes in a row", "lanes in a row, in batches")
_OPERATORS = ("compiled", "compiled, in batches", *_SIDE_BY_SIDE, *_IN_A_ROW)


@dataclass(frozen=True, slots=True)
class Gap:
    """What some engines refuse, in words of theirs, why, and a program that has it."""

    engines: tuple[str, ...]
    fact: str  # a regular expression
    why: str
    text: str
    language: str = "epl"

    @property
    def example(self) -> Example:
        return Example(self.text, "A1@0 @1000", language=self.language)

    def explains(self, engine: str, fact: str) -> bool:
        return engine in self.engines and re.fullmatch(self.fact, fact) is not None


_MATCHER = "the matcher leaves such statements to the reference semantics, which `local` runs then"


def _matcher(fact: str, text: str) -> Gap:
    return Gap(_OPERATORS, fact, _MATCHER, text)


def _maude(what: str, why: str, text: str) -> Gap:
    return Gap(("maude",), rf"{what} of '\w+' has no counterpart in Maude", why, text)


_COMPLEX = "atomicEvent A(id: string)\natomicEvent B()\ncomplexEvent C() { as A -> B }"
_PAIRS = "insert into P select * from pattern [every a=A];\n"
GAPS = (
    _matcher("time windows of months", "select irstream id from A#time(1 month);"),
    _matcher("groups by nested values", _PAIRS + "select count(*) as n from P group by a;"),
    _matcher("min and max of strings", "select max(k) as k from A;"),
    _matcher("aggregates of nested values", _PAIRS + "select last(a) as a from P;"),
    _matcher(
        "the clock in what a batch asks of its rows",
        "select id from A#length_batch(2) where current_timestamp() > 0;",
    ),
    _matcher("order by strings and nested values", "select k from A order by k;"),
    _matcher("distinct rows of nested values", _PAIRS + "select distinct a from P;"),
    _matcher(
        "every-distinct with months",
        "select a.id as id from pattern [every-distinct(a.k, 1 month) a=A];",
    ),
    _matcher(
        "every or not below every-distinct",
        "select a.id as id from pattern [every-distinct(a.k) (every a=A)];",
    ),
    _matcher(
        "every-distinct by nested values",
        _PAIRS + "select 1 as x from pattern [every-distinct(p.a) p=P];",
    ),
    _matcher(
        "timers in a pattern that its own rows reach",
        "create schema S (id string);\n"
        "insert into S select s.id as id from pattern [every s=S -> timer:interval(1 sec)];",
    ),
    _matcher(
        "the operator (IntervalOf|WithinOf)",
        "select * from pattern [every a=A -> timer:interval(a.v sec)];",
    ),
    Gap(
        ("petri",),
        r"the operator (IntervalOf|WithinOf) of '\w+' is not drawn as a net",
        "the steps of its clock divide all periods, which have to be known before",
        "select * from pattern [every a=A -> timer:interval(a.v sec)];",
    ),
    _maude(
        "the operator (IntervalOf|WithinOf)",
        "its terms have constant periods",
        "select * from pattern [every a=A -> timer:interval(a.v sec)];",
    ),
    Gap(
        (*_SIDE_BY_SIDE, *_IN_A_ROW),
        "a statement takes events one at a time",
        "lanes are for filters, chains and windows; everything else runs event by event",
        "select * from pattern [every (a=A or b=B)];",
    ),
    Gap(
        ("petri",),
        r"'\w+' has a timer and takes events that it leads to",
        "the order of such timers depends on the whole way to them, which tokens do not carry",
        "create schema S (id string);\n"
        "insert into S select s.id as id from pattern [every s=S -> timer:interval(1 sec)];",
    ),
    Gap(
        ("compiled", "compiled, in batches"),
        "the complex event",
        "lanes follow complex events batch by batch; event by event the reference does",
        _COMPLEX,
        "vepl",
    ),
    Gap(
        ("petri",),
        r"the complex event of '\w+' is not drawn as a net",
        "contexts choose among partial matches by their age",
        _COMPLEX,
        "vepl",
    ),
    Gap(
        ("maude",),
        r"the complex event of '\w+' has no counterpart in Maude",
        "contexts choose among partial matches by their age",
        _COMPLEX,
        "vepl",
    ),
    Gap(
        ("automaton", "automaton, restarted"),
        "the automaton of this has more than 10,000 states",
        "it counts rounds by states, and AND multiplies those of its parts",
        "atomicEvent A(id: string)\natomicEvent B()\ncomplexEvent C() { as A{200} AND B{200} }",
        "vepl",
    ),
    _matcher("output at a schedule", "select id from A output at (*, *, *, *, *, 0);"),
    Gap(
        ("petri",),
        r"'output at' of '\w+' is not drawn as a net",
        "rates of nets go by periods",
        "select id from A output at (*, *, *, *, *, 0);",
    ),
    _maude(
        "'output at'", "its rates go by periods", "select id from A output at (*, *, *, *, *, 0);"
    ),
    _maude(
        r"the (timestamp|date|decimal\(\d+, \d+\))(\[\])? '\w+\.\w+'",
        "its values are numbers, texts and truths",
        "create schema A (at timestamp);\nselect 1 as n from A;",
    ),
    _maude(
        "a schedule with days by rules, parts of seconds or a zone",
        "its calendar has days, and times of day in UTC, as numbers",
        "select * from pattern [timer:at(*, *, last, *, *)];",
    ),
    _maude(
        "a sum of 32-bit floats",
        "it has doubles alone",
        "create schema A (f float);\nselect sum(f) as f from A;",
    ),
    _maude(
        "'order by' an event",
        "it has no order of terms of events",
        _PAIRS + "select a from P order by a;",
    ),
    _maude(
        "'.+'",
        "expressions with text functions, doubles as texts or 32-bit floats that are about more than "
        "one input event; those about one are evaluated beforehand",
        "select a.k like b.k as x from pattern [every a=A -> b=B];",
    ),
    _maude(
        r"the record '\w+\.\w+'",
        "its terms have scalars, events and arrays of them",
        "create schema R (q int);\ncreate schema A (id string, r R);\nselect r.q as q from A;",
    ),
    Gap(
        ("petri",),
        r"the Python function '\w+' of '\w+' is not drawn as a net",
        "what an inscription does can be read, and written as CPN ML",
        "select py_half(v) as h from A;",
    ),
    _maude(
        r"the Python function '\w+'",
        "it is not known to be the same in each step of a search",
        "select py_half(v) as h from A;",
    ),
    _maude("'(min|max)' of events", "the same", _PAIRS + "select max(a) as a from P;"),
)


def listed(engine: str, fact: str) -> bool:
    return any(gap.explains(engine, fact) for gap in GAPS)
