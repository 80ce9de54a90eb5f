"""Programs as blocks and back, without a browser."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from cepheid.core.program_file import read_program_text
from cepheid.editing.places import apply
from cepheid.errors import Span, UsageError
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Expr
from cepheid.lang import is_program, language_of
from cepheid.lang.epl.language import EPL
from cepheid.lang.vepl.language import VEPL
from cepheid.program.tree import Limit, ProgramTree, SelectExpr, Statement
from cepheid.studio.blocks.block import Block, block
from cepheid.studio.blocks.drawing import draw_statement
from cepheid.studio.blocks.palette import PALETTE
from cepheid.studio.blocks.program import add, change, draw_program, remove
from cepheid.studio.blocks.reading import declaration_of, statement_of
from cepheid.studio.blocks.shapes import SHAPES
from cepheid.studio.blocks.unfolding import unfold
from tests.conformance.generator import examples as programs
from tests.conformance.scenarios import Example
from tests.editing.changes import commented, comments_in
from tests.effort import examples
from tests.strategies import expressions, program_trees, statements
from tests.studio.conftest import PROGRAM, Page, Refused

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("examples", "tests")
    for path in (ROOT / folder).rglob("*")
    if path.is_file() and path.suffix and is_program(path)
)
KNOWN = {shape.type: shape.definition() for shape in SHAPES}


def statement(text: str) -> Statement:
    (only,) = EPL.parse(text, None).tree.statements
    return only


def written(block: Block) -> str:
    """The statement that is drawn, on one line."""
    text = EPL.print_program(ProgramTree((statement_of(block),)))
    return " ".join(text.split())


def drawn(text: str) -> Block:
    return draw_statement(statement(text))


def pattern(text: str) -> Block:
    """The topmost block of a pattern."""
    found: Block = drawn(f"select * from pattern [{text}];")["inputs"]["SOURCE"]["block"]
    return found


def around(source: Block) -> Block:
    return block("statement", {"INTO": "", "NOTES": ""}, SELECT=block("all"), SOURCE=source)


# There and back.


@examples(400)
@given(statements())
def test_any_statement_is_the_same_after_it_was_drawn(tree: Statement) -> None:
    drawn = draw_statement(tree)
    assert statement_of(json.loads(json.dumps(drawn))) == tree
    assert not list(unknown_parts(drawn))


@examples(60)
@given(programs())
def test_generated_programs_are_the_same_after_they_were_drawn(example: Example) -> None:
    tree = example.program.tree
    assert tree.statements
    for each in tree.statements:
        assert statement_of(draw_statement(each)) == each


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_program_of_the_repository_is_the_same(path: Path) -> None:
    """Whatever is written in: what is drawn as it stands asks for no edits."""
    text, language = read_program_text(path).replace("\r\n", "\n"), language_of(path)
    found = draw_program(text, language)
    assert len({each.key for each in found}) == len(found)
    for each in found:
        assert change(text, language, each.key, each.block) == ()
    if language is EPL:
        for tree in EPL.parse(text, None).tree.statements:
            assert statement_of(draw_statement(tree)) == tree


@examples(60)
@given(program_trees())
def test_programs_of_all_constructs_ask_for_no_edits(tree: ProgramTree) -> None:
    text = EPL.print_program(tree)
    found = draw_program(text, EPL)
    assert len(found) == len(tree.declarations)
    for each, declaration in zip(found, tree.declarations, strict=True):
        assert change(text, EPL, each.key, json.loads(json.dumps(each.block))) == ()
        if each.block["type"] != "text":
            assert not list(unknown_parts(each.block))
            assert declaration_of(each.block) == declaration


EPL_FILES = [path for path in FILES if language_of(path) is EPL]


@pytest.mark.parametrize("path", EPL_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_change_by_blocks_keeps_all_comments_of_every_program(path: Path) -> None:
    """Each statement is drawn with a limit, which it did not have."""
    text = read_program_text(path).replace("\r\n", "\n")
    told = EPL.editable.parse(text, None)  # type: ignore[union-attr]
    comments = [comment.text for comment in told.comments]
    for each in draw_program(text, EPL):
        if each.block["type"] != "statement":
            continue
        old = statement_of(each.block)
        new = replace(old, limit=Limit(7 if old.limit is None else old.limit.count + 1))
        after = apply(text, change(text, EPL, each.key, draw_statement(new)))
        read = EPL.editable.parse(after, None)  # type: ignore[union-attr]
        assert [comment.text for comment in read.comments] == comments
        place = told.tree.declarations.index(old)
        expected = (*told.tree.declarations[:place], new, *told.tree.declarations[place + 1 :])
        assert read.tree.declarations == expected


VEPL_FILES = [path for path in FILES if language_of(path) is VEPL]


@pytest.mark.parametrize("path", VEPL_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_block_of_text_of_vepl_changes_its_text_only(path: Path) -> None:
    text = read_program_text(path).replace("\r\n", "\n")
    for each in draw_program(text, VEPL):
        written = each.block["fields"]["TEXT"]
        more = block("text", {"TEXT": f"{written} // more"})
        after = apply(text, change(text, VEPL, each.key, more))
        assert after.replace(" // more", "", 1) == text
        assert VEPL.parse(after, None).tree == VEPL.parse(text, None).tree


@examples(200)
@given(expressions())
def test_lines_that_are_taken_apart_say_the_same(expr: Expr) -> None:
    try:
        taken = unfold(print_expr(expr))
    except UsageError:  # of what is too much to be taken apart
        reject()
    assert not list(unknown_parts(taken))
    drawn = draw_statement(statement("select x from A;"))
    drawn["inputs"]["SELECT"]["block"]["inputs"]["EXPR"] = {"block": json.loads(json.dumps(taken))}
    (item,) = statement_of(drawn).select
    assert isinstance(item, SelectExpr)
    assert item.expr == expr


def test_a_condition_unfolds_into_its_parts() -> None:
    found = unfold("a.x > 1 and not b.y = 'z' and max(a.x + 2) < 9 and abs(a.x) > 3")
    types = [each.get("type") for each in blocks_in(found)]
    assert {*types} == {
        *("logic", "compare", "negation", "aggregate", "arithmetic", "property", "value"),
        "expression",
    }
    with pytest.raises(UsageError):
        unfold("a.x >")


@examples(60)
@given(st.data(), statements(), statements())
def test_a_drawn_change_keeps_every_comment(
    data: st.DataObject, old: Statement, new: Statement
) -> None:
    text = data.draw(commented(EPL.print_program(ProgramTree((old,))), EPL)).replace("\r\n", "\n")
    (found,) = draw_program(text, EPL)
    after = apply(text, change(text, EPL, found.key, draw_statement(new)))
    assert EPL.parse(after, None).tree.statements == (new,)
    assert comments_in(after) == comments_in(text)


# What is drawn.


def blocks_in(block: Any) -> Iterator[Any]:
    yield block
    for filled in block.get("inputs", {}).values():
        for inner in filled.values():
            yield from blocks_in(inner)
    if "next" in block:
        yield from blocks_in(block["next"]["block"])


def unknown_parts(block: Any) -> Iterator[str]:
    """Fields and slots that the shape of a block does not have, and blocks that do not fit there."""
    shape = KNOWN.get(block["type"])
    if shape is None:
        yield block["type"]
        return
    slots = {arg["name"]: arg for key in shape if key.startswith("args") for arg in shape[key]}
    yield from (name for name in block.get("fields", {}) if name not in slots)
    for name, filled in block.get("inputs", {}).items():
        for inner in filled.values():
            if name not in slots or not fits(inner, slots[name]["check"]):
                yield f"{name} of {block['type']}"
            yield from unknown_parts(inner)
    if "next" in block:
        below = block["next"]["block"]
        if not fits(below, shape.get("nextStatement", ())):
            yield f"{below['type']} below {block['type']}"
        yield from unknown_parts(below)


def fits(block: Block, check: list[str]) -> bool:
    shape = KNOWN[block["type"]]
    kind = shape.get("previousStatement", shape.get("output"))
    return kind in check or ("output" in shape and kind is None)


@pytest.mark.parametrize("category", PALETTE, ids=lambda category: category.title)
def test_tools_are_blocks_that_fit_and_say_what_they_are_for(category: Any) -> None:
    assert category.tools or category.more
    for tool in category.tools:
        assert not list(unknown_parts(tool))
        assert len(KNOWN[tool["type"]]["tooltip"]) > 10


def test_every_shape_can_be_drawn_from_the_palette_or_stands_for_a_type() -> None:
    tools = {tool["type"] for category in PALETTE for tool in category.tools}
    assert set(KNOWN) - tools == {
        *("statement", "partition"),  # for which the page has buttons
        *("stream", "event", "property"),  # which it makes of the types of a program
        "expression",
    }


def test_what_is_stacked_happens_one_after_the_other() -> None:
    found = pattern("every a=A -> (b=B and not C)")
    assert found["type"] == "every"
    below = found["next"]["block"]
    assert below["type"] == "all_of"
    first = below["inputs"]["PARTS"]["block"]
    assert [first["type"], first["next"]["block"]["type"]] == ["event", "absent"]


def test_chains_in_chains_have_a_block_of_their_own() -> None:
    inner = pattern("A -> (B -> C)")["next"]["block"]
    assert inner["type"] == "followed_by"
    assert pattern("every (A -> B)")["inputs"]["CHILD"]["block"]["next"]["block"]["type"] == "event"


# What is read.


def test_expressions_may_be_drawn_piece_by_piece() -> None:
    source = pattern("a=A")
    two = block("expression", {"TEXT": "x or y"})
    compare = block("compare", {"OP": ">"}, A=block("property", {"TEXT": "v"}), B=two)
    source["inputs"]["CONDITION"]["block"] = block(
        "logic", {"OP": "and"}, A=compare, B=block("negation", A=two)
    )
    assert written(around(source)) == (
        "select * from pattern [a=A(v > (x or y) and not (x or y))];"
    )


def test_an_aggregate_of_nothing_counts_rows() -> None:
    count = block("aggregate", {"FUNCTION": "count"}, A=block("expression", {"TEXT": ""}))
    made = around(block("stream", {"TYPE": "A"}))
    made["inputs"]["SELECT"] = {"block": block("item", {"AS": "n"}, EXPR=count)}
    assert written(made) == "select count(*) as n from A;"


def test_nots_and_qualifiers_hold_what_is_inside_of_them() -> None:
    chain = pattern("A -> B")
    assert written(around(block("absent", CHILD=chain))) == "select * from pattern [not (A -> B)];"
    assert written(around(block("every", CHILD=block("repeat", {"COUNT": 2}, CHILD=chain)))) == (
        "select * from pattern [every ([2] (A -> B))];"
    )


INJECTED = (
    "x > 1 group by y",
    "x) or B(y",
    "x > 1; create schema A ()",
    "x ] from B",
    "x // rest",
    "/* x */ y",
    "x >",
    "'",
    ")",
)


@pytest.mark.parametrize("line", INJECTED)
def test_a_line_says_no_more_than_its_block(line: str) -> None:
    """Wherever it is written."""
    whole = drawn(
        "@Name('n') @Priority(1) @Action('a', to='b') insert into T select a.x as v from pattern [every-distinct(a.k, 2 sec) [2] a=A(x)"
        " -> [1:2] B until C where timer:withinmax(5 sec, 3) -> timer:interval(1 sec)"
        " -> timer:at(*, *, *, *, *) -> (A while (y))]#time(3 sec) where v group by k having v"
        " output every 2 events order by v limit 3;"
    )
    places = list(lines_in(whole))
    assert len(places) > 20
    for place in range(len(places)):
        changed = copy.deepcopy(whole)
        fields, name = list(lines_in(changed))[place]
        fields[name] = line
        if name in NAMED:  # any text is a name, which is then written in quotes
            kept = draw_statement(statement_of(changed))
            assert list(lines_in(kept))[place][0][name] == line
            continue
        with pytest.raises(UsageError):
            statement_of(changed)


NAMED = ("TYPE", "TAG", "AS", "INTO", "NAME")


def lines_in(block: Any) -> Iterator[tuple[dict[str, Any], str]]:
    if isinstance(block, dict):
        for name, part in block.items():
            if name == "fields":
                yield from ((part, field) for field in part)
            else:
                yield from lines_in(part)


@pytest.mark.parametrize(
    "source",
    [
        block("every"),
        block("event", {"TYPE": ""}),
        block("all_of", PARTS=block("event", {"TYPE": "A"})),
        block("until", CHILD=block("event", {"TYPE": "A"})),
        block("while", CHILD=block("event", {"TYPE": "A"})),
        block("where"),
        block("nothing"),
        block("event", {"TYPE": ["A"]}),
        {"type": "every", "inputs": {"CHILD": {"block": {"fields": {}}}}},
        {"type": "every", "inputs": []},
        {"type": 7},
    ],
)
def test_what_is_missing_is_told(source: Any) -> None:
    with pytest.raises(UsageError):
        statement_of(around(source))


def test_blocks_without_end_are_refused() -> None:
    deep: Block = block("event", {"TYPE": "A"})
    for _ in range(100_000):
        deep = {"type": "every", "inputs": {"CHILD": {"block": deep}}}
    with pytest.raises(UsageError, match="more blocks"):
        statement_of(around(deep))
    while deep["type"] == "every":  # taken apart, as Python would do it by calls
        deep = deep.pop("inputs")["CHILD"]["block"]


def test_a_clause_stands_once() -> None:
    twice = drawn("select x from A group by x;")
    clause = twice["inputs"]["CLAUSES"]["block"]
    twice["inputs"]["CLAUSES"]["block"] = {**clause, "next": {"block": copy.deepcopy(clause)}}
    with pytest.raises(UsageError, match="one 'group by'"):
        statement_of(twice)


NAMED_AND_ACTING = """\
@Name('Big') @Priority(2) @Action('mail', to='a@b.example') @Action('post')
insert into Big select * from A;
"""


def test_names_and_actions_are_blocks_and_other_notes_a_line() -> None:
    found = drawn(NAMED_AND_ACTING)
    assert found["fields"] == {"INTO": "Big", "NAME": "Big", "NOTES": "@Priority(2)"}
    first = found["inputs"]["ACTIONS"]["block"]
    assert first["fields"] == {"NAME": "mail", "WITH": "to='a@b.example'"}
    assert first["next"]["block"]["fields"] == {"NAME": "post", "WITH": ""}
    assert statement_of(found) == statement(NAMED_AND_ACTING)
    for wrong in ("to='x') @Priority(3", "to=", "'x' /* y */"):
        first["fields"]["WITH"] = wrong
        with pytest.raises(UsageError):
            statement_of(found)
    first["fields"] = {"NAME": "", "WITH": ""}
    with pytest.raises(UsageError, match="needs a name"):
        statement_of(found)


@pytest.mark.parametrize(
    "notes",
    [
        "@Action('a') @Name('n')",
        "@name('n')",
        "@Name('')",
        "@Name(' n')",
        "@Action(to='x')",
        "@Action",
    ],
)
def test_notes_that_blocks_have_no_place_for_stay_notes(notes: str) -> None:
    tree = statement(f"{notes} select * from A;")
    found = draw_statement(tree)
    assert found["fields"]["NAME"] in ("", "n")
    assert statement_of(found) == tree


def test_contexts_are_blocks() -> None:
    text = "@Description('d') create context Each partition by id and x from A, id from B"
    (found,) = draw_program(f"{text};", EPL)
    assert found.block["type"] == "partition"
    first = found.block["inputs"]["KEYS"]["block"]
    assert first["fields"] == {"ATTRIBUTES": "id and x", "TYPE": "A"}
    first["fields"]["ATTRIBUTES"] = "id"
    after = apply(f"{text};", change(f"{text};", EPL, found.key, found.block))
    assert after == f"{text};".replace("id and x", "id")
    for wrong in ("", "id from B, x", "id //", "id and"):
        first["fields"]["ATTRIBUTES"] = wrong
        with pytest.raises(UsageError):
            declaration_of(found.block)
    with pytest.raises(UsageError, match="needs a key"):
        declaration_of(block("partition", {"NAME": "Each"}))


def test_parts_of_a_statement_have_places() -> None:
    text = PROGRAM.splitlines()
    (pair,) = (each for each in draw_program(PROGRAM, EPL) if each.title == "Pair")

    def said(span: Span) -> str:
        assert span.line == span.end_line
        return text[span.line - 1][span.column - 1 : span.end_column - 1]

    places = {path: said(span) for path, span in pair.places}
    second = ("SOURCE", "next", "CHILD")
    assert places["SOURCE",] == "every a=A"
    assert places["SOURCE", "CHILD"] == "a=A"
    assert places["SOURCE", "next"] == "b=B(b.id = a.id) where timer:within(10 seconds)"
    assert places[second] == "b=B(b.id = a.id)"
    assert places[*second, "CONDITION"] == "b.id = a.id"
    assert places["SELECT", "next", "EXPR"] == "a.x"


# Programs.


def test_statements_are_blocks_and_the_rest_is_text() -> None:
    found = draw_program(PROGRAM, EPL)
    assert [(each.title, each.block["type"]) for each in found] == [
        ("A", "text"),
        ("B", "text"),
        ("Pair", "statement"),
        ("Big", "statement"),
    ]
    assert found[0].block["fields"]["TEXT"] == "create schema A (id string, x int)"
    assert found[3].span.line == 9


def test_other_languages_are_blocks_of_text() -> None:
    text = "atomicEvent a(p: int)\n\ncomplexEvent c(p: int) { as a(p) }\n"
    found = draw_program(text, VEPL)
    assert {each.block["type"] for each in found} == {"text"}
    assert found[1].block["fields"]["TEXT"] == "complexEvent c(p: int) { as a(p) }"
    with pytest.raises(UsageError):
        add(text, VEPL, drawn("select * from A;"))


def test_a_statement_that_cannot_be_read_keeps_its_last_blocks() -> None:
    before = draw_program(PROGRAM, EPL)
    broken = PROGRAM.replace("where timer:within(10 seconds)", "where")
    now = draw_program(broken, EPL, before)
    assert [(each.title, each.is_old) for each in now] == [
        ("A", False),
        ("B", False),
        ("Pair", True),
        ("Big", False),
    ]
    assert now[2].block == before[2].block
    assert draw_program(broken, EPL, now) == now
    with pytest.raises(UsageError, match="not in the text"):
        change(broken, EPL, now[2].key, now[2].block)
    assert draw_program(PROGRAM, EPL, now) == before


def test_a_statement_that_is_gone_is_gone() -> None:
    before = draw_program(PROGRAM, EPL)
    assert len(draw_program("create schema A (id string);", EPL, before)) == 1


def test_other_statements_are_drawn_while_one_cannot_be_read() -> None:
    broken = PROGRAM.replace("where timer:within(10 seconds)", "where")
    big = draw_program(broken, EPL)[-1]
    big.block["fields"]["INTO"] = "Huge"
    after = apply(broken, change(broken, EPL, big.key, big.block))
    assert after == broken.replace("insert into Big", "insert into Huge")


def test_a_change_touches_its_place_only() -> None:
    text = PROGRAM.replace("every a=A", "every /* each */ a=A  // first\n  ")
    pair = draw_program(text, EPL)[2]
    within = pair.block["inputs"]["SOURCE"]["block"]["next"]["block"]
    within["fields"]["PERIOD"] = "20 seconds"
    after = apply(text, change(text, EPL, pair.key, pair.block))
    assert after == text.replace("10 seconds", "20 seconds")


def test_statements_come_and_go() -> None:
    more = apply(PROGRAM, add(PROGRAM, EPL, drawn("insert into N select * from A;")))
    assert more.startswith(PROGRAM.rstrip("\n"))
    added = draw_program(more, EPL)[-1]
    assert added.title == "N"
    less = apply(more, remove(more, EPL, added.key))
    assert EPL.parse(less, None).tree == EPL.parse(PROGRAM, None).tree
    with pytest.raises(UsageError):
        remove(less, EPL, added.key)


def test_blocks_of_text_change_their_declaration_only() -> None:
    schema = draw_program(PROGRAM, EPL)[0]

    def changed(text: str) -> str:
        return apply(PROGRAM, change(PROGRAM, EPL, schema.key, block("text", {"TEXT": text})))

    new = "create schema A (id string, /* new */ x long)"
    assert changed(new) == PROGRAM.replace("create schema A (id string, x int)", new)
    for wrong in ("create schema A (", "", f"{new}; {new}", "create schema A () // "):
        with pytest.raises(UsageError):
            changed(wrong)


def test_statements_with_too_much_in_them_are_text() -> None:
    columns = ", ".join(f"x as c{n}" for n in range(300))
    (found,) = draw_program(f"select {columns} from A;", EPL)
    assert found.block["type"] == "text"


@examples(50)
@given(statements(), statements())
def test_titles_tell_statements_of_one_name_apart(one: Statement, other: Statement) -> None:
    assume(one.insert_into == other.insert_into)
    found = draw_program(EPL.print_program(ProgramTree((one, other))), EPL)
    assert len({each.key for each in found}) == 2


# In the studio.


def test_a_page_draws(page: Page) -> None:
    text = PROGRAM.replace("\n", "\r\n")
    told = page.ask("blocks", file="p.epl", text=text)["declarations"]
    big = told[3]
    assert (big["title"], big["place"]["line"], big["old"]) == ("Big", 9, False)
    big["block"]["fields"]["INTO"] = "Huge"
    given = {"file": "p.epl", "text": text, "key": big["key"]}
    (edit,) = page.ask("draw-blocks", **given, block=big["block"])["edits"]
    assert (edit["line"], edit["replacement"]) == (10, "Huge")
    with pytest.raises(Refused, match="block around"):
        page.ask("draw-blocks", **given, block={})
    with pytest.raises(Refused, match="object"):
        page.ask("draw-blocks", **given, block=[])
    assert len(page.ask("draw-blocks", **given)["edits"]) == 1
    taken = page.ask("unfold", text="a.x>1 and b.y")["block"]
    assert taken["type"] == "logic"
    assert page.ask("fold", block=taken) == {"text": "a.x > 1 and b.y"}
    for wrong in (None, {"type": "compare"}, {"type": "item"}):
        with pytest.raises(Refused):
            page.ask("fold", block=wrong)
    shapes = page.ask("block-palette")["shapes"]
    assert {shape["type"] for shape in shapes} == set(KNOWN)


def test_what_was_last_good_is_that_of_its_file(page: Page) -> None:
    page.ask("blocks", file="p.epl", text=PROGRAM)
    broken = PROGRAM.replace("where timer", "where")
    again = page.ask("blocks", file="p.epl", text=broken)["declarations"]
    assert [each["old"] for each in again] == [False, False, True, False]
    assert len(page.ask("blocks", file="other.epl", text=broken)["declarations"]) == 3
