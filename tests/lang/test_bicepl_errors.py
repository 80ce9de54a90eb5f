"""What is wrong with a BiCEPL text: every finding with its place, its fact and a hint."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.lang.bicepl.language import BICEPL
from cepheid.lang.bicepl.parser import parse
from tests.effort import examples
from tests.lang.test_bicepl import TRAVEL


def problems_of(text: str) -> list[str]:
    """`line:column code: message (hint)`, of the text and of what it means."""
    try:
        found = cep.parse(text, "bicepl").check()
    except cep.ProgramError as wrong:
        found = list(wrong.diagnostics)
    return [
        str(problem).removeprefix("<text>:").replace(": error[", " ").replace("]:", ":", 1)
        for problem in found
        if problem.severity is cep.Severity.ERROR
    ]


A = "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT, x NUMBER, t TIMESTAMP) ID (k) FREEZING TIME 2d"
C = """CREATE COMPLEX EVENT CLASS C(k TEXT) ID (k) OBSERVATION SPAN 2d
AS SELECT a.k FROM A a WHERE a.x = 1 OCCURRING AT a """

# A class: its words, its name, its attributes, its key, its times.
CLASSES: dict[Any, list[str]] = {
    "CREAT MUTABLE SUBSCRIBED EVENT CLASS A(k TXT) ID (k) FREEZING TIME 2d": [
        "1:1 syntax: expected 'CREATE' at the start of a class, found 'CREAT' (did you "
        "mean 'CREATE' instead of 'CREAT'?)",
        "1:42 syntax: expected a type, found 'TXT' (did you mean 'TEXT'?)",
    ],
    "hello; CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT) ID (k) FREEZING TIME 2": [
        "1:1 syntax: expected 'CREATE' at the start of a class, found 'hello'",
        "1:77 syntax: expected a length of time, found '2' (a whole number and one of "
        "s, m, h, d: 90s, 30m, 12h, 2d)",
    ],
    "CREATE SUBSCRIBED EVENT CLASS A(k TEXT) ID (k) FREEZING TIME 2d": [
        "1:8 syntax: expected 'MUTABLE', 'IMMUTABLE' or 'COMPLEX', found 'SUBSCRIBED' "
        "(may its events change? CREATE MUTABLE SUBSCRIBED ...)",
    ],
    "CREATE MUTABL SUBSCRIBED EVENT CLASS A(k TEXT) ID (k) FREEZING TIME 2d": [
        "1:8 syntax: expected 'MUTABLE', 'IMMUTABLE' or 'COMPLEX', found 'MUTABL' (did "
        "you mean 'MUTABLE' instead of 'MUTABL'?)",
    ],
    ("CREATE COMPLEX EVNT CLASS A(k TXT) ID (k) OBSERVATION SPAN 2d AS SELECT 1 OCCURRING AT a"): [
        "1:16 syntax: expected 'EVENT' of 'EVENT CLASS', found 'EVNT' (did you mean "
        "'EVENT' instead of 'EVNT'?)",
        "1:31 syntax: expected a type, found 'TXT' (did you mean 'TEXT'?)",
    ],
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS (k TEXT) ID (k) FREEZING TIME 2d": [
        "1:39 syntax: expected the name of the class, found '('",
    ],
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS A ID (k) FREEZING TIME 2d": [
        "1:41 syntax: expected '(' and the attributes of the class, found 'ID'",
    ],
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k) ID (k) FREEZING TIME 2d": [
        "1:42 syntax: expected a type, found ')' (types: BOOLEAN, INTEGER, NUMBER, "
        "TEXT, TIMESTAMP)",
    ],
    (
        "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT, select TEXT, y NUMBR) ID (k, "
        ") FREEZING TIME 2d"
    ): [
        "1:49 syntax: expected the name of an attribute, found 'select' ('select' is a "
        "reserved word; write `select`)",
        "1:64 syntax: expected a type, found 'NUMBR' (did you mean 'NUMBER'?)",
        "1:78 syntax: expected the name of an attribute, found ')'",
    ],
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k VARCHAR(20)) ID (k) FREEZING TIME 2d": [
        "1:50 syntax: types have no length here (write TEXT)",
    ],
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT ID (k) FREEZING TIME 2d": [
        "1:48 syntax: expected ')' to close the list of attributes that starts at line "
        "1, found 'ID'",
    ],
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT) FREEZING TIME 2d": [
        "1:49 syntax: expected 'ID' and the key of the class, found 'FREEZING'",
    ],
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT) ID k FREEZING TIME 2d": [
        "1:52 syntax: expected '(' and the key attributes of the class, found 'k'",
    ],
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT) ID (k)": [
        "1:55 syntax: expected 'FREEZING TIME' and how long its events may change, "
        "found the end of the text",
    ],
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT) ID (k) FREZING TIME 2d": [
        "1:56 syntax: expected 'FREEZING TIME' and how long its events may change, "
        "found 'FREZING' (did you mean 'FREEZING' instead of 'FREZING'?)",
    ],
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT) ID (k) FREEZING TIME 2 days": [
        "1:70 syntax: expected a length of time, found '2' (a whole number and one of "
        "s, m, h, d: 90s, 30m, 12h, 2d)",
    ],
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT) ID (k) FREEZING TIME (2d": [
        "1:73 syntax: expected ')' to close the time that starts at line 1, found the "
        "end of the text",
    ],
    ("CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT) ID (k) FREEZING TIME 99999999999d"): [
        "1:70 bad-period: this period is longer than the calendar",
    ],
    (
        "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT) ID (k) FREEZING TIME "
        "2d\nCREATE MUTABLE SUBSCRIBED EVENT CLASS B(k TEXT) ID (k) FREEZING TIME 2d"
    ): [
        "2:1 syntax: expected ';' at the end of the class, found 'CREATE'",
    ],
    "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT) ID (k) FREEZING TIME 2d, 3d": [
        "1:72 syntax: expected 'ON' and a statement, or ';' at the end of the class, found ','",
    ],
    (
        "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT, K NUMBER, occ TIMESTAMP) ID "
        "(k, k, l) FREEZING TIME 2d"
    ): [
        "1:49 duplicate-name: attribute 'K' of A is declared twice (the first is at <text>:1:41)",
        "1:59 bad-name: 'occ' cannot be the name of an attribute (every event of a "
        "class has occ, det, kind, fired already)",
        "1:81 duplicate-name: 'k' is in the key of A twice",
        "1:84 unknown-attribute: no attribute 'l' in A (attributes: K, k, occ)",
    ],
    (
        "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT) ID (k) FREEZING TIME 2d; "
        "CREATE MUTABLE SUBSCRIBED EVENT CLASS a(k TEXT) ID (k) FREEZING TIME 2d"
    ): [
        "1:74 duplicate-name: 'a' is declared twice (the first is at <text>:1:1)",
    ],
    "/* CREATE MUTABLE SUBSCRIBED EVENT CLASS A": [
        "1:1 syntax: this comment is never closed (close it with '*/')",
    ],
}
# The statements of A.
STATEMENTS: dict[Any, list[str]] = {
    "ON DO f(NEW.k)": [
        "2:4 syntax: expected a condition after 'ON', found 'DO'",
    ],
    "ON CHANGE f(NEW.k), ON LATE() DO g()": [
        "2:19 syntax: expected 'DO' and an action after the condition, found ','",
        "2:24 wrong-arguments: LATE has two lengths of time, or no arguments (for "
        "example LATE(0s, 1h))",
    ],
    "ON CHANGE DO (NEW.k)": [
        "2:14 syntax: expected the name of an action, found '('",
    ],
    "ON CHANGE DO f": [
        "2:15 syntax: expected '(' and the arguments of the action, found the end of the text",
    ],
    "ON CHANGE DO f(NEW.k": [
        "2:21 syntax: expected ')' to close the list of arguments that starts at line "
        "2, found the end of the text",
    ],
    "ON CHANGE DO f(NEW.k,)": [
        "2:22 syntax: expected an argument, found ')'",
    ],
    "ON CHANGE DO f(NEW.k) ON LATE DO g()": [
        "2:23 syntax: expected ',' between two statements, found 'ON'",
    ],
    "ON CHANGE DO f(NEW.k),": [
        "2:23 syntax: expected 'ON' and another statement after ',', found the end of the text",
    ],
    "ON CHANGE DO f(), OM LATE DO g(), ON LATE DO (1)": [
        "2:19 syntax: expected 'ON' and another statement after ',', found 'OM'",
        "2:46 syntax: expected the name of an action, found '('",
    ],
    "ON (CHANGE DO f(NEW.k), ON LATE) DO g()": [
        "2:12 syntax: expected ')' to close the bracket that starts at line 2, found 'DO'",
        "2:32 syntax: no bracket is open that ')' could close",
    ],
    "ON CHANGE AND DO f(NEW.k)": [
        "2:14 syntax: the SQL ends too early",
    ],
    "ON CHANGE DO f('abc), ON LATE DO g()": [
        "2:16 syntax: this string is not closed on its line (close it with ')",
    ],
    "ON CHANGE ] DO f()": [
        "2:11 syntax: no bracket is open that ']' could close",
    ],
    "ON CHAGNE DO f(NEW.kk)": [
        "2:4 unknown-name: nothing here is called 'CHAGNE' (did you mean 'CHANGE'?)",
        "2:20 unknown-attribute: 'A' has no attribute 'kk' (did you mean 'k'?)",
    ],
    "ON POSTPONED OR ANNOUNCEMNT DO f()": [
        "2:4 unknown-name: nothing here is called 'POSTPONED' (did you mean 'POSTPONE'?)",
        "2:17 unknown-name: nothing here is called 'ANNOUNCEMNT' (did you mean 'ANNOUNCEMENT'?)",
    ],
    "ON LATE(1h) DO f()": [
        "2:4 wrong-arguments: LATE has two lengths of time, or no arguments (for "
        "example LATE(0s, 1h))",
    ],
    "ON NEW.x > 'a' DO f(NEW.y)": [
        "2:12 type-mismatch: a number and a text do not go together",
        "2:25 unknown-attribute: 'A' has no attribute 'y' (known names: det, k, occ, t, x)",
    ],
    "ON NEW.x DO f()": [
        "2:4 type-mismatch: a truth value is expected here, not a number",
    ],
    "ON x > 1 DO f()": [
        "2:4 unknown-name: it is not said whose 'x' is meant (write NEW.x or OLD.x)",
    ],
    "ON NOW > 3 DO f()": [
        "2:4 misplaced-now: NOW can stand only in a comparison of two times (compare "
        "it with a time of the event, as in NOW > NEW.occ + 1h)",
    ],
    "ON CHANGE DO f(format('%n', NEW.k)), ON LATE DO g(format('%s'))": [
        "2:29 type-mismatch: a whole number or a number is expected here, not a text",
        "2:51 wrong-arguments: the format has 1 marks for 0 values",
    ],
    "ON NEW.k = $ DO f()": [
        "2:12 syntax: unexpected character '$'",
    ],
}
# What stands wrong in C, after what is right.
QUERIES: dict[Any, list[str]] = {
    ("OCCURING", "OCCURRING"): [
        "3:38 syntax: expected 'OCCURRING AT' and when its events occur, found "
        "'OCCURING' (did you mean 'OCCURRING' instead of 'OCCURING'?)",
    ],
    ("", "OCCURRING AT a"): [
        "3:39 syntax: expected 'OCCURRING AT' and when its events occur, found the end of the text",
    ],
    ("AT", "AT a"): [
        "3:51 syntax: expected a time, found the end of the text",
    ],
    ("AT a.x", "AT a "): [
        "3:51 type-mismatch: a time is expected here, not a number",
    ],
    ("AS SELEC a.k", "AS SELECT a.k"): [
        "3:4 syntax: expected 'SELECT' after 'AS', found 'SELEC' (did you mean "
        "'SELECT' instead of 'SELEC'?)",
    ],
    ("SELECT", "AS SELECT"): [
        "3:1 syntax: expected 'AS' and the query of the class, found 'SELECT'",
    ],
    ("SELECT (a.k", "SELECT a.k"): [
        "3:39 syntax: expected ')' to close the bracket that starts at line 3, found 'OCCURRING'",
    ],
    ("a.k) FROM", "a.k FROM"): [
        "3:14 syntax: no bracket is open that ')' could close",
    ],
    ("FROM AA a", "FROM A a"): [
        "3:20 unknown-class: no class is called 'AA' (did you mean 'A'?)",
    ],
    ("FROM A a, C c ", "FROM A a "): [
        "2:1 recursive-class: 'C' derives its events from itself: C -> C",
    ],
    ("WHERE a.t < NOW", "WHERE a.x = 1"): [
        "3:36 misplaced-now: NOW cannot stand in the query of a class (conditions of "
        "statements may compare with NOW)",
    ],
    ("WHERE AND", "WHERE"): [
        "3:41 syntax: the SQL ends too early",
    ],
    ("a.y = 1 AND a.x = 'x'", "a.x = 1"): [
        "3:32 unknown-attribute: 'a' has no attribute 'y' (known names: det, k, occ, t, x)",
        "3:48 type-mismatch: a number and a text do not go together",
    ],
    ("SELECT a.k, a.x ", "SELECT a.k "): [
        "3:16 unknown-attribute: 'C' has no attribute 'x' (known names: k)",
    ],
    ("ON CHANGE DO f() ", "OCCURRING AT a "): [
        "3:38 syntax: expected 'OCCURRING AT' and when its events occur, found 'ON'",
    ],
    ("OBSERVATON SPAN 2d", "OBSERVATION SPAN 2d"): [
        "2:45 syntax: expected 'OBSERVATION SPAN' and how far apart its events lie, "
        "found 'OBSERVATON' (did you mean 'OBSERVATION' instead of 'OBSERVATON'?)",
    ],
    ("SPAN 2", "SPAN 2d"): [
        "2:62 syntax: expected a length of time, found '2' (a whole number and one of "
        "s, m, h, d: 90s, 30m, 12h, 2d)",
    ],
}


@pytest.mark.parametrize("text", CLASSES)
def test_what_is_wrong_with_a_class_is_told(text: str) -> None:
    assert problems_of(text) == CLASSES[text]


@pytest.mark.parametrize("text", STATEMENTS)
def test_what_is_wrong_with_a_statement_is_told(text: str) -> None:
    assert problems_of(f"{A}\n{text}") == STATEMENTS[text]


@pytest.mark.parametrize(("wrong", "right"), QUERIES)
def test_what_is_wrong_with_a_query_is_told(wrong: str, right: str) -> None:
    assert right in C
    assert problems_of(f"{A};\n{C.replace(right, wrong, 1)}") == QUERIES[wrong, right]


def test_one_mistake_hides_no_other() -> None:
    text = f"""
CREATE MUTABLE SUBSCRIBED EVENT CLASS B(k TXT, y NUMBR) ID (k FREEZING TIM 2d
    ON CHANGE f(),
    ON LATE DO g(NEW.);
{A} ON CHAGNE DO f(),
    ON LATE DO g(NEW.kk)
{C.replace("SELECT", "SELEC")};
CREATE COMPLEX EVENT CLASS D(k TEXT) ID (k) OBSERVATION SPAN 2d
    AS SELECT b.y FROM B b, C c, AA a OCCURRING b
    ON CHANGE AND DO f();
"""
    lines = [problem.split(":")[0] for problem in problems_of(text)]
    assert lines == ["2", "2", "2", "2", "3", "4", "5", "6", "7", "8", "10", "11"]


def test_a_class_that_cannot_be_read_is_not_missing_elsewhere() -> None:
    text = f"{A.replace('(k)', 'k')};\n{C}"
    assert problems_of(text) == [
        "1:75 syntax: expected '(' and the key attributes of the class, found 'k'"
    ]


@examples(300)
@given(st.text("CREATMUBLSXOND()[];,'\"`-/* .12dk\n", max_size=60))
def test_no_text_breaks_the_parser(text: str) -> None:
    parsed = parse(text)
    assert all(p.span is not None for p in parsed.problems)
    BICEPL.print_program(parsed.tree)


@examples(200)
@given(st.data())
def test_no_token_that_is_missing_or_twice_there_breaks_the_parser(data: st.DataObject) -> None:
    words = TRAVEL.split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(words) - 1))
        words[place : place + 1] = data.draw(
            st.sampled_from([[], [words[place]] * 2, ["ON"], ["("]])
        )
    problems_of(" ".join(words))


@examples(100)
@given(st.integers(1, len(TRAVEL.rstrip()) - 2))
def test_a_text_that_is_cut_in_a_class_is_reported(length: int) -> None:
    cut = TRAVEL[:length]
    is_whole = cut.rstrip().endswith((";", ")")) or not cut.strip()
    assert is_whole or problems_of(cut)
