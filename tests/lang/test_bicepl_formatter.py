"""Formatting BiCEPL keeps the meaning and the comments, and changes nothing the second time."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import ProgramError
from cepheid.lang.bicepl.formatter import format_text
from cepheid.lang.bicepl.notation import tokens_of
from cepheid.lang.bicepl.parser import parse
from cepheid.lang.bicepl.printer import print_class
from cepheid.program.tree import ProgramTree
from tests.effort import examples
from tests.lang.test_bicepl_round_trip import trees

UGLY = """// the file

-- of flights
create MUTABLE SUBSCRIBED EVENT CLASS A ( k TEXT , -- its key
  x NUMBER)
ID(k) FREEZING TIME 2d -- two
ON change and - 3<-NEW.x DO f ( NEW.k ), -- soon
-- or
ON LATE( 1h ,2h )DO g(count ( 1 ),left(NEW.k,2)) /* at once */
; -- end
CREATE COMPLEX EVENT CLASS C(k TEXT, n INTEGER) ID (k) OBSERVATION SPAN (1d) AS SELECT a.k, count(*) FROM A a LEFT OUTER JOIN /* all */ B b ON a.k=b.k
WHERE a.x is distinct from b.x AND a.kkkkkkkkkkkkkkkkkkkkkkkkkkkkk = b.kkkkkkkkkkkkkkkkkkkkkkkkkkkkkk AND EXISTS(SELECT 1 FROM D)
-- when
GROUP BY a.k OCCURRING AT MAX(a,b)
/* the end */
"""
PRETTY = """// the file

-- of flights
-- its key
create MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT, x NUMBER)
    ID (k)
    FREEZING TIME 2d  -- two
    ON change and -3 < -NEW.x DO f(NEW.k),  -- soon
    -- or
    ON LATE(1h, 2h)           DO g(count(1), left(NEW.k, 2));  /* at once */  -- end

CREATE COMPLEX EVENT CLASS C(k TEXT, n INTEGER)
    ID (k)
    OBSERVATION SPAN (1d)
    AS SELECT a.k, count(*)
       FROM A a
       /* all */
       LEFT OUTER JOIN B b ON a.k = b.k
       WHERE a.x is distinct from b.x
           AND a.kkkkkkkkkkkkkkkkkkkkkkkkkkkkk = b.kkkkkkkkkkkkkkkkkkkkkkkkkkkkkk
           AND EXISTS (SELECT 1 FROM D)
       -- when
       GROUP BY a.k
       OCCURRING AT MAX(a, b)

/* the end */
"""


def comments_of(text: str) -> Counter[str]:
    return Counter(comment.text for comment in tokens_of(text).comments)


def test_comments_stay_where_they_were_meant() -> None:
    assert format_text(UGLY) == PRETTY
    assert format_text(PRETTY) == PRETTY


def test_comments_without_classes_stay() -> None:
    assert format_text("") == ""
    assert format_text("\n-- a\n\n\n/* b */ // c\n") == "-- a\n\n/* b */\n// c\n"


def test_do_is_aligned_while_all_statements_fit_on_their_lines() -> None:
    head = "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k TEXT)\n    ID (k)\n    FREEZING TIME (2d)\n"
    short = head + "    ON CHANGE DO f(),\n    ON LATE   DO g();\n"
    assert format_text(short.replace("LATE   DO", "LATE DO")) == short
    text = "'" + "x" * 80 + "'"
    long = head + f"    ON CHANGE\n        DO f({text}),\n    ON LATE\n        DO g();\n"
    assert format_text(long.replace("\n        DO", " DO")) == long


def test_two_minus_signs_never_become_a_comment() -> None:
    head = "CREATE MUTABLE SUBSCRIBED EVENT CLASS A(x NUMBER) ID (x) FREEZING TIME (2d)"
    text = format_text(f"{head} ON NEW.x > - - 3 DO f(1 - -NEW.x)")
    assert "ON NEW.x > - -3 DO f(1 - -NEW.x)" in text


def test_a_text_with_errors_is_refused_with_their_places() -> None:
    with pytest.raises(ProgramError, match=r"a\.bicepl:1:8"):
        format_text("CREATE MUTABL SUBSCRIBED", "a.bicepl")


@st.composite
def strewn(draw: st.DrawFn) -> tuple[ProgramTree, str]:
    """Classes, and their text with comments between its tokens."""
    tree = draw(trees())
    text = "".join(map(print_class, tree.classes))
    words = ["", *(token.text for token in tokens_of(text).tokens)]
    number = iter(range(len(words) * 2))
    pieces = []
    for word in words:
        pieces.append(word)
        for _ in range(draw(st.sampled_from([0] * 12 + [1, 2]))):
            shape = draw(
                st.sampled_from([" -- {}\n", "\n// {}\n", " /* {} */ ", "\n\n/* {}\n*/\n\n"])
            )
            pieces.append(shape.format(next(number)))
    return tree, draw(st.sampled_from([" ", "\n"])).join(pieces)


@examples(150)
@given(strewn())
def test_formatting_loses_nothing_and_is_stable(made: tuple[ProgramTree, str]) -> None:
    tree, text = made
    formatted = format_text(text)
    assert parse(formatted).tree == tree
    assert comments_of(formatted) == comments_of(text)
    assert format_text(formatted) == formatted
