"""Formatting keeps the meaning and the comments, and changes nothing the second time."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cepheid.lang.common.lexer import tokenize
from cepheid.lang.epl.formatter import format_text
from cepheid.lang.epl.parser import parse
from cepheid.lang.epl.printer import print_program
from cepheid.program.tree import ProgramTree
from tests.effort import examples
from tests.strategies import program_trees

UGLY = """// the program

/* about
   bikes */
create schema M ( // the bike
   id string, // which
   /* how fast */ speed double // km/h
   // nothing more
); // done

@Name('x') // named
insert into Y // into
SELECT a.x as x, // first
   b.y y // last
from pattern [ every a=A // one
   -> b=B(k=a.k) // two
   ] // p
where x > 1 // big
  and /* mid */ z in (1, // m
  2)
limit 5 // end
; // really
// the end
"""
PRETTY = """// the program

/* about
   bikes */
create schema M ( // the bike
    id string, // which
    /* how fast */
    speed double // km/h
    // nothing more
); // done

@Name('x') // named
insert into Y // into
select
    a.x as x, // first
    b.y as y // last
from pattern [
    every a=A // one
    -> b=B(k = a.k) // two
] // p
where x > 1 // big
    /* mid */
    // m
    and z in (1, 2)
// really
limit 5; // end

// the end
"""


def comments_of(text: str) -> Counter[str]:
    return Counter(comment.text for comment in tokenize(text).comments)


def test_comments_stay_where_they_were_meant() -> None:
    assert format_text(UGLY) == PRETTY
    assert format_text(PRETTY) == PRETTY


def test_comments_without_declarations_stay() -> None:
    assert format_text("") == ""
    assert format_text("\n// a\n\n\n/* b */ // c\n;") == "// a\n\n/* b */\n// c\n"


def test_declarations_are_set_apart() -> None:
    wanted = "select *\nfrom A;\n\nselect *\nfrom B;\n"
    assert format_text("select * from A;select * from B") == wanted


@st.composite
def commented_texts(draw: st.DrawFn) -> tuple[ProgramTree, str]:
    """A program with comments strewn between its tokens."""
    tree = draw(program_trees())
    text = print_program(tree)
    words = ["", *(token.text for token in tokenize(text).tokens)]
    number = iter(range(len(words) * 2))
    pieces = []
    for word in words:
        pieces.append(word)
        for _ in range(draw(st.sampled_from([0] * 12 + [1, 2]))):
            shape = draw(
                st.sampled_from([" // {}\n", "\n// {}\n", " /* {} */ ", "\n\n/* {}\n*/\n\n"])
            )
            pieces.append(shape.format(next(number)))
    return tree, draw(st.sampled_from([" ", "\n"])).join(pieces)


@examples(150)
@given(commented_texts())
def test_formatting_loses_nothing_and_is_stable(made: tuple[ProgramTree, str]) -> None:
    tree, text = made
    formatted = format_text(text)
    assert parse(formatted).tree == tree
    assert comments_of(formatted) == comments_of(text)
    assert format_text(formatted) == formatted
