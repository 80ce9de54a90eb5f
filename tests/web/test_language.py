"""The language of wrappers: text to tree and back, and what is said of texts that are none."""

from __future__ import annotations

import pytest
from hypothesis import given

import cepheid as cep
from cepheid.web.formatter import format_wrapper
from cepheid.web.parser import parse
from cepheid.web.printer import print_wrapper
from cepheid.web.tree import Wrapper
from tests.effort import examples
from tests.web.strategies import wrappers


@given(wrappers())
@examples(200)
def test_what_is_printed_reads_as_the_same_wrapper(wrapper: Wrapper) -> None:
    text = print_wrapper(wrapper)
    parsed = parse(text)
    assert not parsed.problems, f"{text}\n{parsed.problems}"
    assert parsed.tree == wrapper, text


@given(wrappers())
@examples(100)
def test_layout_changes_nothing_but_blanks_and_is_stable(wrapper: Wrapper) -> None:
    once = format_wrapper(print_wrapper(wrapper))
    assert parse(once).tree == wrapper, once
    assert format_wrapper(once) == once


PAPER = """\
doc("http://www.flightarrivals.com")
//a#panel0/{click /}//form#qbaForm/descendant::field()[1]/{$airport }
/following::field()[3]//option/{select }/following::field()[1]/{click /}
/(/descendant::a[string(.)='Next >'][1]/{click /})*   (: all pages :)
//table#flifo//tr[position()>1]/self():<FlightArrival>
[./td[1]:<fromLoc=string(.)>] [./td[2]:<flightNo=string(.)>]
[./td[3]/div:<flightDay=string(.)>]
[./td[3]/text()[1]:<occ=toUnixTime(.)>]
"""
LAID_OUT = """\
doc("http://www.flightarrivals.com")
    //a#panel0/{click /}
    //form#qbaForm/descendant::field()[1]/{$airport}/following::field()[3]//option/{select}/following::field()[1]/{click /}
    /(/descendant::a[string(.) = 'Next >'][1]/{click /})*  (: all pages :)
    //table#flifo//tr[position() > 1]/self():<FlightArrival>
        [./td[1]:<fromLoc=string(.)>]
        [./td[2]:<flightNo=string(.)>]
        [./td[3]/div:<flightDay=string(.)>]
        [./td[3]/text()[1]:<occ=toUnixTime(.)>]
"""


def test_the_wrapper_of_the_paper_is_read_and_laid_out() -> None:
    wrapper = cep.web.parse(PAPER)
    assert wrapper.variables == ["airport"]
    assert wrapper.records == ["FlightArrival"]
    assert wrapper.address == "http://www.flightarrivals.com"
    assert not wrapper.check(["airport"], {"FlightArrival": ATTRIBUTES})
    assert wrapper.formatted() == LAID_OUT


ATTRIBUTES = ["fromLoc", "flightNo", "flightDay", "occ"]
# Texts of which two readings are thinkable, and the one that is meant.
READINGS = {
    "//a[(b)*2 > c]": "//a[b * 2 > c]",  # no star
    "/(a)*{1,2}/b": "/(a)*{1,2}/b",  # no action
    "//tr.late": '//tr[contains(concat(" ", @class, " "), " late ")]',
    "//a[.='x']:<R>:<t=.>": "//a[. = 'x']:<R>:<t=.>",
    "//a[div div div]": "//a[(div) div (div)]",
    "//*[* * *]": "//*[child::* * child::*]",
    "//a[/ = 'x']": "//a[(/) = 'x']",
    "//a[- -1 = 1]": "//a[-(-1) = 1]",
    "//a[1 - 2 - 3]": "//a[(1 - 2) - 3]",
    "//a[b|c = d and e or f]": "//a[((b | c) = d and e) or f]",
    "//self()": "//.",
    "//#main": "//*#main",
    "//a[a-b]": "//a[child::a-b]",
}


@pytest.mark.parametrize(("text", "meant"), READINGS.items())
def test_a_text_with_two_readings_has_the_one_that_is_meant(text: str, meant: str) -> None:
    one, other = parse(text), parse(meant)
    assert not one.problems
    is_class = "contains" in meant  # which is said in another way, not another tree
    assert one.tree is not None
    assert is_class or one.tree == other.tree


WRONG = {
    "//a[": "1:5 expected a step",
    "//a{click}": "1:4 expected '/' before an action",
    "//a/{klick}": "1:6 expected an action",
    "//a/{press entr}": "1:12 expected the name of a key",
    "//a/{wait 2 moons}": "1:13 no time unit 'moons'",
    "//a/{wait}": "1:10 expected how long to wait",
    "//a[b/{click}]": "1:7 an action stands in the path of the wrapper only",
    "//a[b:<x=. > 2>]": "1:14 expected ']' to close the predicate",
    "//a:<R": "1:7 expected '>' to close the marker",
    "/(a)": "1:5 expected '*' after a group",
    "/(a)*{3,2}": "1:2 a star from 3 to 2 never repeats",
    "//anzestor::a": "1:3 there is no axis 'anzestor'",
    "//svg:path": "1:6 unexpected character ':'",
    "a/b": "1:1 expected doc(...), '/' or '//'",
    "doc(1)//a": "1:5 expected the address of a page",
    "//a['x": "1:5 this string is not closed",
    "//a (: x": "1:5 this comment is never closed",
    "//a/txt()": "1:5 no step is written 'txt(...)'",
    "//a[" + "(" * 200 + "1" + ")" * 200 + "]": "1:105 expressions nested deeper",
    "//a[" + "+".join(["1"] * 300) + "]": "1:1 an expression with more than 200 operators",
}


@pytest.mark.parametrize(("text", "said"), WRONG.items())
def test_a_mistake_is_told_with_its_place(text: str, said: str) -> None:
    (problem, *_) = parse(text).problems
    assert problem.span is not None
    assert f"{problem.span.line}:{problem.span.column} {problem.message}".startswith(said)


CHECKS = {
    "//a[txt(1)]": ["1:5 unknown-function"],
    "//a[contains('x')]": ["1:5 wrong-arguments"],
    "//a[count('x')]": ["1:11 type-mismatch"],
    "//a['x' | b]": ["1:5 type-mismatch"],
    "//a[(1)[2]]": ["1:6 type-mismatch"],
    "//a[toUnixTime(., 'HH:mm')]": ["1:19 bad-format"],
    "//a[toUnixTime(., 'yyyy-MM-dd', 'Mars')]": ["1:33 bad-format"],
    "//a:<x=.>": ["1:4 misplaced-marker"],
    "//a[b:<x=.>]:<R>": ["1:6 misplaced-marker"],
    "//a[b:<R>]/c:<x=.>": ["1:13 misplaced-marker"],
    "/(//a:<R>/{click /})*//b:<x=.>": ["1:25 misplaced-marker"],
    "/(//a:<R>/{click /})*{1,}//b:<x=.>": [],
    "/(./{click})*": ["1:2 endless-star"],
    "/({wait 1 s})*//a": ["1:2 endless-star"],
    "/(a/{click})*": [],
    "/(./{click})*{0,5}": [],
    "//a/style::*": ["1:5 syntax"],
}


@pytest.mark.parametrize(("text", "found"), CHECKS.items())
def test_a_check_finds_what_cannot_be_right(text: str, found: list[str]) -> None:
    findings = cep.web.parse(text).check()
    assert [f"{f.span.line}:{f.span.column} {f.code}" for f in findings if f.span] == found


def test_variables_and_classes_are_looked_up_where_they_are_known() -> None:
    wrapper = cep.web.parse("//a[. = $x]:<Flight>[b:<form=.>]/c:<Leg>:<x=.>")
    found = wrapper.check(["y"], {"Flight": ["from", "to"], "Leg": ["x"]})
    assert [(each.code, each.hint) for each in found] == [
        ("unbound-variable", "given variables: y"),
        ("unknown-attribute", "did you mean 'from'?"),
    ]
    (unknown,) = wrapper.check(["x"], {"Flights": ["form"], "Leg": ["x"]})
    assert (unknown.code, unknown.hint) == ("unknown-class", "did you mean 'Flights'?")
