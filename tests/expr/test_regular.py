"""Regular expressions are Python's, and take linear time."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.expr.regular import regular_expression
from tests.effort import examples

TEXTS = [
    "",
    "a",
    "A",
    "ab",
    "a\n",
    "\n",
    "aé1",
    "١٢",
    "日本",
    "a b",
    "a\u2003b",
    "_",
    "\u017f",
    "K",
    "\ud800",
]
PATTERNS = [
    *(
        "",
        "a",
        ".",
        "..",
        "a|",
        "(a|b)*",
        "a?",
        "a+?",
        "a{2,}",
        "(?:ab){0,3}",
        "(?P<x>a)b",
        "[a-c]+",
    ),
    *("[^a]", "[^\\s]+", r"\d+", r"\D+", r"\w+", r"\W", r"\s", r"\S+", r"[\w.]+", r"[^\W\d_]+"),
    *(
        r"[^\S\n]",
        r"[\Wa]+",
        "^a$",
        "a$",
        "(^a|b$)",
        r"\Aa\Z",
        "(?s).*",
        "(?s:.)b",
        "(?i)AÉ1",
        "(?i:[a-z])+",
    ),
    *(
        "(?m)a$\n?",
        "(?m)^a",
        "(?x) a  # the letter",
        "(?a)\\w+",
        "(?a)\\S+",
        r"\.\*\\",
        "[]a]",
        "[\\]^-]",
        "(?i)[^a]",
    ),
    *("(?i)s", "(?i)k", "a{0}", "\\x41", "\\u00e9", "日.", "[\\d-]+", "(a*)*", "(?:)*"),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_matches_what_it_matches_in_python(pattern: str) -> None:
    matches = regular_expression(pattern)
    for text in TEXTS:
        assert matches(text) == (re.fullmatch(pattern, text) is not None), text


pieces = st.sampled_from(["a", "b", ".", r"\d", r"\w", r"\s", "[ab]", "[^a]", r"[^\w]", "é", r"\n"])
patterns = st.recursive(
    pieces,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda arms: f"({'|'.join(arms)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}", "*?"])).map(
            lambda p: f"(?:{p[0]}){p[1]}"
        ),
    ),
    max_leaves=6,
)


@examples(300)
@given(patterns, st.text(st.sampled_from("abé1_ \n٣"), max_size=5))
def test_any_pattern_means_what_it_means_in_python(pattern: str, text: str) -> None:
    assert regular_expression(pattern)(text) == (re.fullmatch(pattern, text) is not None)


@pytest.mark.parametrize("category", [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"])
def test_classes_of_characters_are_those_of_unicode(category: str) -> None:
    matches, wanted = regular_expression(category), re.compile(category)
    for code in [*range(0x3000), *range(0xFE00, 0x11000), 0x1D7CE, 0x1F600, 0x20000]:
        character = chr(code)
        if unicodedata.category(character) not in ("Cn", "Cs"):  # a newer Unicode knows more
            assert matches(character) == (wanted.fullmatch(character) is not None), hex(code)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a)\1", "back-references"),
        ("a(?=b).*", "looking ahead or behind"),
        (r".*\bx\b.*", r"word boundaries; '.*\bx\b.*' is '(.*\W)?x(\W.*)?'"),
        ("(?>a*)b", "atomic groups"),
        ("a*+b", "possessive repeats"),
        (r"a$\s*", r"'\Z' is the end of the text"),
        ("a{5000}", "too large a regular expression"),
    ],
)
def test_what_takes_no_linear_time_is_refused_when_it_is_read(pattern: str, reason: str) -> None:
    literal = pattern.replace("\\", "\\\\")
    program = cep.parse(f"create schema A (s string); select * from A where s regexp '{literal}'")
    [problem] = [f for f in program.check() if f.code == "wrong-arguments"]
    assert reason in problem.message


def test_no_pattern_makes_time_explode() -> None:
    begin = time.process_time()
    assert not regular_expression("(a+)+b")("a" * 100_000)
    assert not regular_expression("(.*a){20}")("b" * 100_000)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("pattern", "fact"),
    [
        ("b[a", "'[' is not closed at character 2"),
        ("b(a", "'(' is not closed at character 2"),
        ("a)", "')' closes nothing at character 2"),
        ("*a", "there is nothing to repeat at character 1"),
        ("a**", "a repeat follows a repeat at character 3"),
        ("a{3,2}", "a repeat of fewer times at most than at least at character 3"),
        ("a\\", "a backslash has nothing behind it at character 2"),
        ("\\q", "there is no such escape at character 1"),
        ("\\N", "a name in braces is missing at character 3"),
        ("[z-a]", "a range ends before it begins at character 2"),
        ("(?P<n>a)(?P<n>b)", "two groups have one name at character 13"),
        ("(?P<1>a)", "the name of a group is not one at character 5"),
        ("\\1", "there is no group of that number at character 2"),
        ("(?P=n)", "there is no group of that name at character 5"),
        ("a(?i)b", "flags stand at the beginning at character 2"),
        ("(?z)", "there is no such kind of group at character 2"),
        ("(?P<n", "a part of a group is missing at character 5"),
        ("a{99999999999999}", "it is too large, or nested too deep"),
    ],
)
def test_what_is_wrong_with_a_pattern_is_said_in_our_words(pattern: str, fact: str) -> None:
    with pytest.raises(ValueError, match="is not a regular expression") as wrong:
        regular_expression(pattern)
    assert str(wrong.value) == f"{pattern!r} is not a regular expression: {fact}"
