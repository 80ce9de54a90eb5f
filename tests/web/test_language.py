"""The language of wrappers: text to tree and back, and what is said of texts that are none."""

from __future__ import annotations

from hypothesis import given

from cepheid.web.formatter import format_wrapper
from cepheid.web.parser import parse
from cepheid.web.printer import print_wrapper
from cepheid.web.tree import Wrapper
from tests.effort import examples
from tests.web.strategies import wrappers


@given(wrappers())
@examples(300)
def test_what_is_printed_reads_as_the_same_wrapper(wrapper: Wrapper) -> None:
    text = print_wrapper(wrapper)
    parsed = parse(text)
    assert not parsed.problems, f"{text}\n{parsed.problems}"
    assert parsed.tree == wrapper, text


@given(wrappers())
@examples(150)
def test_layout_changes_nothing_but_blanks_and_is_stable(wrapper: Wrapper) -> None:
    once = format_wrapper(print_wrapper(wrapper))
    assert parse(once).tree == wrapper, once
    assert format_wrapper(once) == once
