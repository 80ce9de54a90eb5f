"""A statement of EPL as blocks: patterns and lists as stacks, conditions and windows as lines of text.

What is stacked inside of a block that holds one pattern happens one after the other; so a block for `->` is
only needed inside of another chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from cepheid.errors import Span
from cepheid.expr.printing import print_expr, print_list, print_name
from cepheid.expr.tree import Expr
from cepheid.lang.common.printing import print_annotation
from cepheid.lang.epl.print_patterns import print_pattern, print_schedule
from cepheid.lang.epl.printer import print_window
from cepheid.pattern.tree import (
    Absent,
    AllOf,
    AnyOf,
    At,
    Atom,
    Every,
    EveryDistinct,
    FollowedBy,
    Interval,
    IntervalOf,
    Pattern,
    Repeat,
    While,
    Within,
    WithinOf,
)
from cepheid.program.tree import (
    Annotation,
    Context,
    ContextKey,
    KeepAll,
    LengthBatch,
    LengthWindow,
    PatternSource,
    SelectAll,
    SelectItem,
    Statement,
    StreamSource,
    TimeBatch,
    TimeWindow,
    Window,
)
from cepheid.studio.blocks.block import EXPRESSION, Block, at, block, stack, take_places
from cepheid.studio.blocks.lines import LINES, line_of


def draw_statement(statement: Statement) -> Block:
    """The block of a whole statement."""
    drawn = draw_with_places(statement)
    list(take_places(drawn))
    return drawn


def draw_with_places(statement: Statement) -> Block:
    """With where each part stands in the text; `take_places` takes it out."""
    name, notes, actions = _told(statement.annotations)
    return block(
        "statement",
        {"INTO": statement.insert_into or "", "NAME": name, "NOTES": notes},
        SELECT=stack([_item(item) for item in statement.select]),
        SOURCE=_source(statement),
        WINDOW=_window(statement.window),
        CLAUSES=stack(list(_clauses(statement))),
        ACTIONS=stack(list(map(_action, actions))),
    )


def _told(all: Sequence[Annotation]) -> tuple[str, str, Sequence[Annotation]]:
    """The name that comes first, the actions that come last, and what is between them as a text."""
    name = all[0].value() if all and all[0].name == "Name" else None
    is_plain = isinstance(name, str) and all[0] == Annotation("Name", ((None, name),))
    is_shown = is_plain and is_line(str(name))
    rest = all[1:] if is_shown else all
    last = len(rest)
    while last and _is_action(rest[last - 1]):
        last -= 1
    return str(name) if is_shown else "", print_notes(rest[:last]), rest[last:]


def print_notes(annotations: Sequence[Annotation]) -> str:
    return " ".join(map(print_annotation, annotations))


def _is_action(annotation: Annotation) -> bool:
    (first, name), *_ = annotation.arguments or (("", None),)
    is_short = is_line(name) and print_annotation(annotation).isprintable()
    return annotation.name == "Action" and first is None and is_short


def is_line(value: object) -> bool:
    """Whether a field of a block can hold it."""
    return isinstance(value, str) and value.isprintable() and bool(value) and value == value.strip()


def _action(annotation: Annotation) -> Block:
    """Its class, and its arguments as they are written."""
    (_, name), *others = annotation.arguments
    written = print_annotation(Annotation("Action", tuple(others))).removeprefix("@Action")
    return at(annotation.span, block("action", {"NAME": name, "WITH": written[1:-1]}))


def expression(expr: Expr | None) -> Block:
    if expr is None:
        return block(EXPRESSION, {"TEXT": ""})
    return at(expr.span, block(EXPRESSION, {"TEXT": print_expr(expr)}))


def _item(item: SelectItem) -> Block:
    if isinstance(item, SelectAll):
        return at(item.span, block("all", {"TAG": item.tag or ""}))
    return at(item.span, block("item", {"AS": item.alias or ""}, EXPR=expression(item.expr)))


def _clauses(statement: Statement) -> Iterator[Block]:
    if statement.where is not None:
        yield block("where", CONDITION=expression(statement.where))
    if statement.having is not None:
        yield block("having", CONDITION=expression(statement.having))
    if statement.context is not None:
        yield block("context", {"TEXT": statement.context})
    if statement.insert_stream != "istream":
        yield block("inserts", {"STREAM": statement.insert_stream})
    if statement.stream != "istream":
        yield block("reports", {"STREAM": statement.stream})
    if statement.distinct:
        yield block("distinct")
    for line in LINES:
        if (text := line_of(statement, line)) is not None:
            yield at(_whole(getattr(statement, line.name)), block(line.name, {"TEXT": text}))


def _whole(said: Any) -> Span | None:
    """From the first to the last of what a clause lists."""
    parts = said if isinstance(said, tuple) else (said,)
    first: Span | None = parts[0].span
    last: Span | None = parts[-1].span
    if first is None or last is None:
        return None
    return replace(first, end_line=last.end_line, end_column=last.end_column)


def _window(window: Window | None) -> Block | None:
    if window is None:
        return None
    kind = _WINDOWS[type(window)]
    fields = {} if isinstance(window, KeepAll) else {"TEXT": _window_text(window)}
    return at(window.span, block(kind, fields))


_WINDOWS: dict[type[Window], str] = {
    TimeWindow: "time_window",
    TimeBatch: "time_batch",
    LengthWindow: "length_window",
    LengthBatch: "length_batch",
    KeepAll: "keep_all",
}


def _window_text(window: Window) -> str:
    """What stands between the parentheses of a window."""
    text = print_window(window)
    return text[text.index("(") + 1 : -1]


def _source(statement: Statement) -> Block | None:
    source = statement.source
    if isinstance(source, StreamSource):
        fields = {"TYPE": source.event_type, "AS": source.alias or ""}
        return at(source.span, block("stream", fields, CONDITION=expression(source.condition)))
    assert isinstance(source, PatternSource)
    return _sequence(source.pattern)


def draw_context(context: Context) -> Block:
    """With places, as those of statements."""
    fields = {"NAME": context.name, "NOTES": print_notes(context.annotations)}
    return block("partition", fields, KEYS=stack([_key(key) for key in context.keys]))


def _key(key: ContextKey) -> Block:
    attributes = " and ".join(map(print_name, key.attributes))
    return at(key.span, block("key", {"ATTRIBUTES": attributes, "TYPE": key.event_type}))


# Patterns.


def _sequence(pattern: Pattern) -> Block | None:
    """What stands where one pattern is wanted: the parts of `->` without a block around them."""
    parts = pattern.parts if isinstance(pattern, FollowedBy) else (pattern,)
    return stack([draw_pattern(part) for part in parts])


def draw_pattern(pattern: Pattern) -> Block:
    return at(pattern.span, _PATTERNS[type(pattern)](pattern))


def _atom(atom: Atom) -> Block:
    fields = {"TYPE": atom.event_type, "TAG": atom.tag or ""}
    return block("event", fields, CONDITION=expression(atom.condition))


def _chain(type: str) -> Callable[[Any], Block]:
    return lambda pattern: block(type, PARTS=stack([draw_pattern(p) for p in pattern.parts]))


def _every_distinct(pattern: EveryDistinct) -> Block:
    expiry = "" if pattern.expiry is None else str(pattern.expiry)
    fields = {"KEYS": print_list(pattern.keys), "EXPIRY": expiry}
    return block("every_distinct", fields, CHILD=_sequence(pattern.child))


def _repeat(pattern: Repeat) -> Block:
    child = _sequence(pattern.child)
    until = None if pattern.until is None else _sequence(pattern.until)
    if pattern.is_exact and until is None:
        return block("repeat", {"COUNT": str(pattern.low)}, CHILD=child)
    low, high = ("" if n is None else str(n) for n in (pattern.low, pattern.high))
    if not low and not high:
        return block("until", CHILD=child, UNTIL=until)
    return block("range", {"LOW": low, "HIGH": high}, CHILD=child, UNTIL=until)


def _within(pattern: Within | WithinOf) -> Block:
    """The period as it is written in the guard of any other pattern."""
    text = print_pattern(replace(pattern, child=Atom("X"), most=None))
    period = text[text.index("(") + 1 : -1]
    fields = {"PERIOD": period}
    if pattern.most is None:
        return block("within", fields, CHILD=_sequence(pattern.child))
    fields["MOST"] = str(pattern.most)
    return block("within_most", fields, CHILD=_sequence(pattern.child))


def _interval(pattern: Interval | IntervalOf) -> Block:
    text = print_pattern(pattern)
    return block("interval", {"PERIOD": text[text.index("(") + 1 : -1]})


_PATTERNS: dict[type[Pattern], Callable[[Any], Block]] = {
    Atom: _atom,
    FollowedBy: _chain("followed_by"),
    AllOf: _chain("all_of"),
    AnyOf: _chain("any_of"),
    Every: lambda pattern: block("every", CHILD=_sequence(pattern.child)),
    Absent: lambda pattern: block("absent", CHILD=_sequence(pattern.child)),
    EveryDistinct: _every_distinct,
    Repeat: _repeat,
    Within: _within,
    WithinOf: _within,
    While: lambda pattern: block(
        "while", CHILD=_sequence(pattern.child), CONDITION=expression(pattern.condition)
    ),
    Interval: _interval,
    IntervalOf: _interval,
    At: lambda pattern: block("schedule", {"TIMES": print_schedule(pattern.schedule)}),
}
