"""What is wrong with a text: every finding with its place, its fact and a hint."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import ProgramError
from cepheid.lang.epl.formatter import format_text
from cepheid.lang.epl.parser import parse
from cepheid.lang.epl.printer import print_program
from tests.effort import examples


def problems_of(text: str) -> list[str]:
    """`line:column code: message (hint)`."""
    return [
        str(problem).removeprefix("<text>:").replace(": error[", " ").replace("]:", ":", 1)
        for problem in parse(text).problems
    ]


def in_pattern(text: str) -> list[str]:
    return problems_of(f"select * from\npattern [{text}]")


SYNTAX = {
    "selct * from A": "1:1 syntax: expected a declaration ('create schema', 'create context',"
    " 'insert into' or 'select'), found 'selct' (did you mean 'select' instead of 'selct'?)",
    "select x form A": "1:15 syntax: expected 'from' after the select list, found 'A'"
    " (did you mean 'from' instead of 'form'?)",
    "select * from A whre x": "1:22 syntax: expected ';' or another clause, found 'x'"
    " (did you mean 'where' instead of 'whre'?)",
    "select * from A where x adn y": "1:25 syntax: expected ';' or another clause, found 'adn'"
    " (did you mean 'and' instead of 'adn'?)",
    "insert into T\nfrom A": "2:1 syntax: expected 'select' after 'insert into T', found 'from'"
    " (an insert needs a select clause, for example 'select *')",
    "select a,\n  f(1,\n  2 from A": "3:5 syntax: expected ')' to close the argument list of f that"
    " starts at line 2, found 'from'",
    "select (a from A": "1:11 syntax: expected ')' to close the parenthesis that starts at line 1,"
    " found 'from'",
    "select a, from A": "1:11 syntax: expected an expression, found 'from'",
    "select a as from from A": "1:13 syntax: expected a name after 'as', found 'from'"
    " ('from' is a reserved word; write `from`)",
    "select case when a then b from A": "1:27 syntax: expected 'end' to close the case that starts"
    " at line 1, found 'from'",
    "select * from A where a = b = c": "1:29 syntax: '=' follows another comparison"
    " (join comparisons with 'and', or put one in parentheses)",
    "select * from A where a in (1) is b": "1:32 syntax: 'is' follows another comparison"
    " (join comparisons with 'and', or put one in parentheses)",
    "select * from A group by k where v": "1:28 syntax: 'where' comes too late or twice among the"
    " clauses (their order is where, group by, having, output, order by, limit)",
    "select * from A output every 3": "1:31 syntax: expected 'events' or a time unit after the"
    " number in 'output every', found the end of the text",
    "select * from A#time(3 secz)": "1:24 syntax: no time unit 'secz' (did you mean 'second'?)",
    "insert into T (a, b) select x from A": "1:16 syntax: 2 columns to insert, but 1 in the select"
    " list",
    "insert into T (a) select * from A": "1:16 syntax: '*' cannot be the column 'a'",
    "create shema A (a int)": "1:8 syntax: expected 'schema' or 'context' after 'create', found"
    " 'shema' (did you mean 'schema' instead of 'shema'?)",
    "create schema A (a int b int)": "1:24 syntax: expected ')' to close the list of attributes"
    " that starts at line 1, found 'b'",
    "select 'abc from A": "1:8 syntax: this string is not closed on its line (close it with ')",
    "select '\\d' from A": "1:8 syntax: unknown escape '\\d' in a string"
    " (write '\\\\d' for a backslash and 'd')",
    "select '\\ud800' from A": "1:8 syntax: half of a surrogate pair in a string",
    "select ? from A": "1:8 syntax: unexpected character '?'",
    "select \u201cx from A": "1:8 syntax: unexpected character '\u201c' (write \" instead)",
    "select * from A /* b": "1:17 syntax: this comment is never closed (close it with '*/')",
    "select a[-1] from A": "1:8 syntax: the index -1 is negative",
    "select a like 'x' escape 'ab' from A": "1:26 syntax: expected a string of one character after"
    " 'escape', found the string 'ab'",
}

OTHERS = {
    "select 9223372036854775808 from A": "1:8 bad-number: 9223372036854775808 does not fit long",
    "select 1e400 from A": "1:8 bad-number: 1e400 does not fit double",
    "select 1e40f from A": "1:8 bad-number: 1e40f does not fit float",
    "select -(-2147483648) from A": "1:8 bad-number: 2147483648 does not fit int",
    "select * from A limit -1": "1:23 bad-number: 'limit' cannot be negative",
    f"select * from A limit {'9' * 500}": f"1:23 bad-number: '{'9' * 37}...' does not fit long",
    f"select a[{2**63}] from A": "1:10 bad-number: '9223372036854775808' does not fit long",
    f"@X({2**63}) select * from A": "1:4 bad-number: 9223372036854775808 does not fit long",
    "@X(1e400) select * from A": "1:4 bad-number: 1e400 does not fit double",
    f"select {'9' * 350}d from A": f"1:8 bad-number: {'9' * 350}d does not fit double",
    f"select * from A#time({'9' * 350} sec)": "1:22 bad-period: this period is longer than the"
    " calendar",
    "select sum(a, b) from A": "1:8 wrong-arguments: sum takes one argument, not 2",
    "select * from A#tiem(3)": "1:17 unknown-window: no data window 'tiem' (did you mean 'time'?)",
    "select * from A#zzz(3, x desc)": "1:17 unknown-window: no data window 'zzz'"
    " (data windows: keepall, length, length_batch, time, time_batch)",
    "select * from A#time(0 sec)": "1:22 bad-window: a time window of no time keeps nothing",
    "select * from A#time(-1)": "1:22 bad-period: a period is never negative",
    "select * from A#time('x')": "1:22 bad-period: the data window 'time' takes a time period"
    " (write for example '3 seconds')",
    "select * from A#time(1.5 months)": "1:22 bad-period: months must be a whole number, not 1.5",
    "select * from A#time(99999 years)": "1:22 bad-period: this period is longer than the calendar",
    "select * from A#time(1e305 seconds)": "1:22 bad-period: this period is longer than the calendar",
    "select * from A#length(0)": "1:24 bad-window: the size of a length window is a whole number"
    " from 1",
    "select * from A#length(1, 2)": "1:17 bad-window: length takes one number of rows, not 2"
    " arguments",
    "select * from A#keepall(1)": "1:17 bad-window: keepall takes no arguments",
    "select * from A output every 0 events": "1:17 bad-output: output every nothing would never"
    " end",
}

MISPLACED_WINDOWS = {
    "select * from pattern [every a=A#time(3 sec)]": "1:33",
    "select * from pattern [a=A.win:length(2) -> b=B]": "1:27",
    "select * from pattern [(a=A(x > 1) -> b=B)#length(2)]": "1:43",
    "select * from pattern [timer:interval(3)#keepall]": "1:41",
    "select x#time(3 sec) from A": "1:9",
    "select * from A a#time(3)": "1:18",
    "select * from A as a.win:time(3 sec)": "1:21",
    "select * from A where (x > 1)#time(3 sec) group by x": "1:30",
    "select * from A where (x#time(3 sec))": "1:25",
    "select x from A group by x#time(3 sec)": "1:27",
    "select x from A group by x.win:length(2)": "1:31",
    "select x from A group by x having count(*) > 1.win:length(2)": "1:47",
    "select * from A output every 3 events #length(2)": "1:39",
    "select * from A order by x#length(2)": "1:27",
    "select * from A limit 3 #keepall": "1:25",
}

UNSUPPORTED = {
    "select * from A, B": "1:16",
    "select * from A unidirectional": "1:17",
    "select * from A left outer join B on x": "1:17",
    "select * from A#unique(k)": "1:17",
    "select * from A.std:groupwin(k)": "1:21",
    "select * from A#sort(2, v desc)": "1:17",
    "select * from A#length(1)#length(2)": "1:16",
    "select * from A where v in (select v from B)": "1:29",
    "select (select v from B) from A": "1:9",
    "select prev(1, v) from A": "1:8",
    "select a.f(1) from A": "1:8",
    "select * from A match_recognize (x)": "1:17",
    "select * from method:f()": "1:15",
    "select * from A group by rollup(k)": "1:26",
    "select * from A output last when x": "1:17",
    "select * from pattern [A -[2]> B]": "1:26",
    "select * from pattern [a=A@consume -> B]": "1:27",
    "select * from pattern @DiscardPartialsOnMatch [A]": "1:23",
    "select * from pattern [A where x:y(3)]": "1:32",
    "select * from pattern [timer:schedule(1)]": "1:24",
    "create window W#keepall as A": "1:8",
    "create context C start A end B": "1:18",
    "on A delete from W": "1:1",
}

PATTERNS = {
    "every every A": "2:16 syntax: 'every' cannot follow 'every' directly"
    " (use parentheses: every (every ...))",
    "evry a=A": "2:15 syntax: expected ']' to close the pattern that starts at line 2, found 'a'"
    " (did you mean 'every' instead of 'evry'?)",
    "A -> ": "2:15 syntax: expected an event type, 'every', 'not', a timer or '(', found ']'",
    "(A -> B": "2:17 syntax: expected ')' to close the pattern that starts at line 2, found ']'",
    "A until B until C": "2:20 syntax: 'until' cannot follow another 'until' directly"
    " (use parentheses: (A until B) until C)",
    "A until [2] B": "2:18 syntax: a repeat cannot stand here"
    " (put the repeat in parentheses: ([2] A))",
    "A while (x) while (y)": "2:22 syntax: a pattern takes one guard"
    " (put the guarded part in parentheses: (A where ...) where ...)",
    "A where x > 1": "2:18 syntax: expected a guard such as 'timer:within(3 seconds)' after"
    " 'where', found 'x'",
    "[0] A": "2:10 impossible-repeat: a repeat of zero times never matches",
    "[3:2] A until B": "2:10 impossible-repeat: a repeat of at least 3 and at most 2 times never"
    " matches",
    "[-1] A": "2:10 impossible-repeat: a repeat counts from zero up",
    "[2:3] A": "2:10 impossible-repeat: a repeat with a range of counts needs an until"
    " (write [n] for an exact count, or [m:n] A until B)",
    "timer:at(61, *, *, *, *)": "2:10 bad-schedule: minutes go from 0 to 59, not 61",
    "timer:at(*, *)": "2:10 bad-schedule: timer:at takes 5 to 8 fields and a time zone, not 2 fields"
    " (minutes, hours, days of the month, months, days of the week"
    "[, seconds[, milliseconds[, microseconds]]][, 'zone'])",
    "timer:at(*/0, *, *, *, *)": "2:10 bad-schedule: the step of minutes is 0, not at least 1",
    "timer:at(5:3, *, *, *, *)": "2:10 bad-schedule: the range 5:3 of minutes is empty",
    "timer:at(0:99999999999, *, *, *, *)": "2:10 bad-schedule: minutes go from 0 to 59, not"
    " 99999999999",
    "A where timer:withn(3)": "2:18 unsupported: no guard 'timer:withn'"
    " (did you mean 'timer:within'?)",
}


@pytest.mark.parametrize("text", SYNTAX)
def test_a_syntax_error_says_what_was_expected_where(text: str) -> None:
    assert problems_of(text) == [SYNTAX[text]]


@pytest.mark.parametrize("text", OTHERS)
def test_what_makes_no_sense_is_reported(text: str) -> None:
    assert problems_of(text) == [OTHERS[text]]


@pytest.mark.parametrize("text", PATTERNS)
def test_an_error_in_a_pattern_is_placed(text: str) -> None:
    assert in_pattern(text) == [PATTERNS[text]]


@pytest.mark.parametrize("text", MISPLACED_WINDOWS)
def test_a_data_window_belongs_behind_the_source(text: str) -> None:
    assert problems_of(text) == [
        f"{MISPLACED_WINDOWS[text]} misplaced-window: a data window cannot stand here"
        " (it follows the source: from A#length(5), from pattern [...]#length(5))"
    ]


@pytest.mark.parametrize("text", UNSUPPORTED)
def test_what_other_systems_have_is_named_as_unsupported(text: str) -> None:
    first = problems_of(text)[0]
    assert first.startswith(f"{UNSUPPORTED[text]} unsupported: ")


def test_all_errors_of_a_text_are_found_at_once() -> None:
    text = """
        select a, from A;
        select * from A#length(0)#zzz;
        create schema B (x int);
        select * from A whre x;
        select [ from A
        @Name('next') select * frm B
    """
    assert [p.span.line for p in parse(text).problems if p.span] == [2, 3, 3, 3, 5, 6, 7]
    assert [s.name for s in parse(text).tree.schemas] == ["B"]


def test_a_missing_semicolon_hides_no_declaration() -> None:
    parsed = parse("select * from A\ninsert into T select * from B\n@Name('x') select * from T")
    assert [str(p) for p in parsed.problems] == [
        "<text>:2:1: error[syntax]: expected ';' before the declaration that starts with 'insert'"
        " (declarations end with ';')",
        "<text>:3:1: error[syntax]: expected ';' before the declaration that starts with '@'"
        " (declarations end with ';')",
    ]
    assert len(parsed.tree.statements) == 3


def test_a_misspelled_annotation_is_kept_with_a_warning() -> None:
    parsed = parse("@Nmae('x') select * from A", file="f.epl")
    assert [str(p) for p in parsed.problems] == [
        "f.epl:1:2: warning[bad-annotation]: no annotation '@Nmae' (did you mean '@Name'?)"
    ]
    assert parsed.tree.statements[0].annotation("Nmae") is not None


DEEP = {
    "parentheses": "select " + "(" * 10_000 + "1" + ")" * 10_000 + " from A",
    "unclosed": "select " + "(" * 10_000,
    "calls": "select " + "f(" * 10_000 + "1" + ")" * 10_000 + " from A",
    "cases": "select " + "case when a then " * 10_000 + "1 from A",
    "casts": "select " + "cast(" * 10_000 + "1 from A",
    "lists": "select " + "a in (" * 10_000 + "1 from A",
    "nots": "select " + "not " * 10_000 + "a from A",
    "signs": "select " + "-" * 10_000 + "a from A",
    "sums": "select " + "1 + " * 10_000 + "1 from A",
    "patterns": "select * from pattern [" + "(" * 10_000 + "A" + ")" * 10_000 + "]",
    "everies": "select * from pattern [" + "every (" * 10_000 + "A" + ")" * 10_000 + "]",
    "conditions": "select * from pattern [" + "(" * 90 + "A(" + "(" * 90 + "x",
}


@pytest.mark.parametrize("what", DEEP)
def test_deep_nesting_gives_one_clear_message(what: str) -> None:
    (problem,) = parse(DEEP[what]).problems
    assert problem.code == "too-deep"


@pytest.mark.parametrize(
    "text",
    [
        "select x in [{deep} or y:1] from A",
        "select * from A({deep} or x, y)",
        "select * from pattern [A({deep} or x, y)]",
    ],
)
def test_a_text_whose_canonical_form_would_be_too_deep_is_refused(text: str) -> None:
    for depth, codes in ((98, []), (100, ["too-deep"])):
        deep = "-(x + " * depth + "y" + ")" * depth
        found = parse(text.replace("{deep}", deep))
        assert [problem.code for problem in found.problems] == codes
        assert codes or parse(print_program(found.tree)).problems == ()


def test_a_hundred_levels_are_fine() -> None:
    assert parse("select " + "(" * 100 + "1" + ")" * 100 + " from A").problems == ()
    nested = "every (A -> " * 100 + "B" + ")" * 100
    assert [p.code for p in parse(f"select * from pattern [{nested}]").problems] == ["too-deep"]
    nested = "every (" * 100 + "B" + ")" * 100
    assert parse(f"select * from pattern [{nested}]").problems == ()


def test_formatting_a_text_with_errors_raises_them_all() -> None:
    with pytest.raises(ProgramError) as caught:
        format_text("select a, from A; select * from A#length(0)", file="f.epl")
    assert [d.code for d in caught.value.diagnostics] == ["syntax", "bad-window"]


WORDS = """
    select insert into from pattern [ ] ( ) every not -> and or until where timer : within at
    interval every-distinct [2] [1:3] while create schema context partition by A a x = , ; @ Name
    'text' 1 2.5 5L 3 sec # . win length keepall time_batch count * case when then end cast in
    between like is null - + / || group having output after events last order limit as { } ` ' /*
"""


@examples(300)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=25))
def test_any_text_gives_a_tree_and_findings_but_no_crash(words: list[str]) -> None:
    parsed = parse(" ".join(words))
    assert parsed.problems or len(parsed.tree.declarations) == len(parsed.starts)


@examples(200)
@given(st.text(max_size=40))
def test_any_characters_give_a_tree_and_findings_but_no_crash(text: str) -> None:
    parsed = parse(f"select {text}")
    assert parsed.problems or parsed.tree.statements
