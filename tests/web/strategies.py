"""Random pages, expressions and wrappers."""

from __future__ import annotations

from hypothesis import strategies as st

from cepheid.core.time import Period
from cepheid.web.notation import FUNCTIONS, KEYS, Type
from cepheid.web.tree import (
    AXES,
    DESCENDANTS,
    OPERATORS,
    Action,
    ActionKind,
    AttributeMarker,
    Binary,
    Call,
    Expr,
    Filtered,
    Literal,
    Negate,
    Number,
    Part,
    Path,
    Predicate,
    Qualifier,
    RecordMarker,
    Star,
    Step,
    Test,
    TestKind,
    Variable,
    Wrapper,
)

# Elements that a parser of HTML nests as they are written.
NAMES = ("div", "span", "section", "em")
TEXTS = ("x", "12", " 7 ", "-3.5", "x y", "a-b")
names = st.sampled_from(NAMES)
texts = st.sampled_from(TEXTS)


# Pages.


@st.composite
def elements(draw: st.DrawFn, depth: int = 0) -> str:
    name = draw(names)
    attributes = draw(st.dictionaries(st.sampled_from(("id", "class", "lang")), texts, max_size=2))
    written = "".join(f' {key}="{value}"' for key, value in attributes.items())
    inner = st.one_of(texts, texts.map(lambda text: f"<!--{text}-->"))
    if depth < 4:
        inner = st.one_of(elements(depth + 1), inner)
    return f"<{name}{written}>{''.join(draw(st.lists(inner, max_size=4)))}</{name}>"


@st.composite
def pages(draw: st.DrawFn) -> str:
    body = "".join(draw(st.lists(elements(), min_size=1, max_size=3)))
    return f"<html><head><title>t</title></head><body>{body}</body></html>"


# Expressions of XPath 1.0, with the types that their places ask for.

PLAIN_AXES = tuple(axis for axis in AXES if axis not in ("style", "namespace"))


@st.composite
def plain_tests(draw: st.DrawFn, axis: str) -> Test:
    if axis == "attribute":
        return Test(name=draw(st.sampled_from((None, "id", "class"))))
    kind = draw(st.sampled_from((TestKind.NAME, TestKind.NAME, TestKind.NODE, TestKind.TEXT)))
    named = kind is TestKind.NAME
    return Test(kind, draw(st.one_of(st.none(), names)) if named else None)


@st.composite
def plain_steps(draw: st.DrawFn, depth: int) -> Step:
    axis = draw(st.sampled_from(PLAIN_AXES))
    conditions = draw(st.lists(typed(Type.ANY, depth - 1), max_size=2)) if depth > 0 else []
    return Step(axis, draw(plain_tests(axis)), tuple(map(Predicate, conditions)))


@st.composite
def plain_paths(draw: st.DrawFn, depth: int) -> Path:
    parts: list[Part] = []
    for step in draw(st.lists(plain_steps(depth), min_size=1, max_size=3)):
        if draw(st.booleans()):
            parts.append(DESCENDANTS)
        parts.append(step)
    return Path(draw(st.booleans()), tuple(parts))


def typed(type: Type, depth: int) -> st.SearchStrategy[Expr]:
    """Expressions that may stand where this type is needed."""
    if type is Type.NODES:
        return _nodes(depth)
    numbers = st.integers(0, 4).map(lambda n: Number(float(n)))
    leaves: st.SearchStrategy[Expr] = st.one_of(numbers, texts.map(Literal))
    if depth <= 0:
        return leaves
    return st.one_of(leaves, _nodes(depth), _binaries(depth), _calls(depth), _negated(depth))


@st.composite
def _nodes(draw: st.DrawFn, depth: int) -> Expr:
    path = draw(plain_paths(depth))
    match draw(st.integers(0, 5)):
        case 0:
            return Binary("|", path, draw(plain_paths(depth)))
        case 1:
            return Filtered(path, (Predicate(draw(typed(Type.ANY, depth - 1))),))
        case 2:
            return Path(
                False, (draw(plain_steps(depth)),), Filtered(path, (Predicate(Number(1.0)),))
            )
    return path


@st.composite
def _binaries(draw: st.DrawFn, depth: int) -> Expr:
    operator = draw(st.sampled_from([each for level in OPERATORS for each in level]))
    side = typed(Type.ANY, depth - 1)
    return Binary(operator, draw(side), draw(side))


@st.composite
def _negated(draw: st.DrawFn, depth: int) -> Expr:
    return Negate(draw(typed(Type.ANY, depth - 1)))


# Functions that lxml has; names and ids of nodes are compared elsewhere.
CORE = tuple(name for name in FUNCTIONS if name not in ("trim", "toUnixTime", "id", "lang"))


@st.composite
def _calls(draw: st.DrawFn, depth: int) -> Expr:
    name = draw(st.sampled_from(CORE))
    function = FUNCTIONS[name]
    count = draw(st.integers(function.least, len(function.takes)))
    kinds = function.takes[:count]
    return Call(name, tuple(draw(typed(kind, depth - 1)) for kind in kinds))


# Wrappers: everything that can be written.

_words = st.from_regex(r"[a-z][a-z0-9_-]{0,4}", fullmatch=True)
_any_text = st.text(st.characters(codec="utf-8", exclude_characters="\"'\n"), max_size=5)
literals = st.one_of(
    _any_text.map(Literal), _any_text.map(lambda t: Literal(t + '"')), st.just(Literal("it's"))
)
variables = _words.map(Variable)
_numbers = st.floats(0, 1e9).map(Number)


@st.composite
def _tests(draw: st.DrawFn, axis: str) -> Test:
    if axis == "style":
        return Test(name="color")
    kind = draw(st.sampled_from(TestKind))
    is_element = kind in (TestKind.NAME, TestKind.FIELD)
    name = None
    if kind is TestKind.NAME:
        name = draw(st.one_of(st.none(), _words))
    elif kind is TestKind.INSTRUCTION:
        name = draw(st.one_of(st.none(), st.just("it")))
    id = draw(st.one_of(st.none(), _words)) if is_element else None
    classes = tuple(draw(st.lists(_words, max_size=2))) if is_element else ()
    return Test(kind, name, id, classes)


@st.composite
def _qualifiers(draw: st.DrawFn, depth: int) -> Qualifier:
    inner = expressions(depth - 1)
    match draw(st.integers(0, 2)):
        case 0:
            return Predicate(draw(inner), draw(st.booleans()))
        case 1:
            return RecordMarker(draw(_words))
    return AttributeMarker(draw(_words), draw(inner))


@st.composite
def _steps(draw: st.DrawFn, depth: int) -> Step:
    axis = draw(st.sampled_from(AXES))
    qualifiers = draw(st.lists(_qualifiers(depth), max_size=2)) if depth > 0 else []
    return Step(axis, draw(_tests(axis)), tuple(qualifiers))


@st.composite
def actions(draw: st.DrawFn) -> Action:
    kind = draw(st.sampled_from(ActionKind))
    text = draw(st.one_of(literals, variables))
    is_filled = kind is ActionKind.FILL or (kind is ActionKind.SELECT and draw(st.booleans()))
    return Action(
        kind,
        draw(st.booleans()),
        text if is_filled else None,
        draw(st.sampled_from(sorted(KEYS.values()))) if kind is ActionKind.PRESS else None,
        Period(draw(st.integers(1, 10**9))) if kind is ActionKind.WAIT else None,
    )


@st.composite
def _stars(draw: st.DrawFn, depth: int) -> Star:
    least = draw(st.integers(0, 3))
    most = draw(st.one_of(st.none(), st.integers(max(least, 1), 9)))
    return Star(draw(_paths(depth - 1, is_main=True)), least, most)


@st.composite
def _paths(draw: st.DrawFn, depth: int, *, is_main: bool) -> Path:
    kinds: list[st.SearchStrategy[Part]] = [_steps(depth), _steps(depth), st.just(DESCENDANTS)]
    if is_main:
        kinds.append(actions())
    if is_main and depth > 0:
        kinds.append(_stars(depth))
    parts = tuple(draw(st.lists(st.one_of(kinds), min_size=1, max_size=4)))
    start = None if is_main or draw(st.booleans()) else draw(expressions(depth - 1))
    return Path(start is None and draw(st.booleans()), parts, start)


def expressions(depth: int = 2) -> st.SearchStrategy[Expr]:
    leaves: st.SearchStrategy[Expr] = st.one_of(literals, variables, _numbers)
    if depth <= 0:
        return leaves
    inner = expressions(depth - 1)
    return st.one_of(
        leaves,
        _paths(depth, is_main=False),
        st.builds(Negate, inner),
        st.builds(Binary, st.sampled_from(["|", "or", "=", "<", "-", "*", "div"]), inner, inner),
        st.builds(Call, _words.map(lambda w: f"f-{w}"), st.lists(inner, max_size=3).map(tuple)),
        st.builds(Filtered, inner, st.lists(st.builds(Predicate, inner), min_size=1).map(tuple)),
    )


@st.composite
def wrappers(draw: st.DrawFn) -> Wrapper:
    path = draw(_paths(2, is_main=True))
    address = draw(st.one_of(st.none(), literals, variables))
    return Wrapper(Path(True, path.parts), address)
