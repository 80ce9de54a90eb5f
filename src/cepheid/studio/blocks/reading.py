"""Blocks of a statement as EPL: what is stacked becomes `->`, lines are taken as they stand.

Each line is read by itself first, so that none can say more than its block; then the whole is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cepheid.lang.common.printing import print_annotation
from cepheid.pattern.tree import (
    At,
    EveryDistinct,
    Interval,
    IntervalOf,
    Within,
    WithinOf,
)
from cepheid.program.tree import Annotation, Context, Declaration, Statement
from cepheid.studio.blocks import lines
from cepheid.studio.blocks.block import (
    DEEPEST,
    Block,
    depth,
    field,
    inner,
    refuse,
    stacked,
)
from cepheid.studio.blocks.expressions import condition, expression_of


def declaration_of(block: Block) -> Declaration:
    """UsageError with what is missing, or is not as it should be."""
    return context_of(block) if block.get("type") == "partition" else statement_of(block)


def statement_of(block: Block) -> Statement:
    if depth(block) > DEEPEST:
        refuse("these are more blocks than can be read")
    if block.get("type") != "statement":
        refuse("a statement has a block around it")
    return lines.read_statement(_statement(block), "the statement")


def _statement(block: Block) -> str:
    clauses = _clauses(block)
    said = [*_notes(block), clauses.get("context", "")]
    if target := field(block, "INTO"):
        said.append(
            f"insert{clauses.get('inserts', '')} into {lines.name(target, 'the statement')}"
        )
    elif "inserts" in clauses:
        refuse("'inserts' needs a type that is inserted into")
    head = f"select{clauses.get('reports', '')}{clauses.get('distinct', '')} "
    said += [head + _select(block), f"from {_source(block)}"]
    said += [clauses[name] for name in _ORDER if name in clauses]
    return "\n".join(part for part in said if part)


def _notes(block: Block) -> Iterator[str]:
    if name := field(block, "NAME"):
        yield print_annotation(Annotation("Name", ((None, name),)))
    yield lines.notes(field(block, "NOTES"))
    for each in stacked(block, "ACTIONS"):
        if each["type"] != "action":
            refuse(f"'{each['type']}' is no action")
        yield lines.action(field(each, "NAME"), field(each, "WITH"))


# Contexts.


def context_of(block: Block) -> Context:
    if depth(block) > DEEPEST:
        refuse("these are more blocks than can be read")
    keys = [_key(each) for each in stacked(block, "KEYS")]
    if not keys:
        refuse("a context needs a key", "draw what tells events apart into it")
    name = lines.name(field(block, "NAME"), "a context")
    notes = lines.notes(field(block, "NOTES"))
    return _read_context(
        f"{notes}\ncreate context {name} partition by {', '.join(keys)}", len(keys)
    )


def _key(block: Block) -> str:
    """`a and b from Type`, which is one key."""
    if block["type"] != "key":
        refuse(f"'{block['type']}' is no key of a context")
    attributes = field(block, "ATTRIBUTES")
    text = f"{attributes}\nfrom {lines.name(field(block, 'TYPE'), 'a key')}"
    _read_context(f"create context X partition by {text}", 1)
    return text


def _read_context(text: str, keys: int) -> Context:
    found = lines.read_declaration(text, "a context")
    if not isinstance(found, Context) or len(found.keys) != keys:
        refuse("a context: this is more than belongs here")
    return found


# Clauses.

_ORDER = ("where", "group_by", "having", "output", "order_by", "limit")


def _clauses(block: Block) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in stacked(block, "CLAUSES"):
        name = each["type"]
        if name not in _CLAUSES:
            refuse(f"'{name}' is no clause of a statement")
        if name in found:
            refuse(f"a statement has one '{name.replace('_', ' ')}'")
        found[name] = _CLAUSES[name](each)
    return found


def _condition_of(name: str) -> Callable[[Block], str]:
    return lambda block: f"{name} {_needed(block, name)}"


def _needed(block: Block, what: str) -> str:
    text = condition(block, what)
    if not text:
        refuse(f"{what} needs a condition")
    return text


def _line(line: lines.Line) -> Callable[[Block], str]:
    def read(block: Block) -> str:
        text = f"{line.words} {field(block, 'TEXT')}"
        lines.clause(line.name, text, line.words)
        return text

    return read


def _stream(block: Block) -> str:
    stream = field(block, "STREAM")
    if stream not in ("istream", "rstream", "irstream"):
        refuse(f"'{stream}' says no rows: istream, rstream or irstream")
    return f" {stream}"


_CLAUSES: dict[str, Callable[[Block], str]] = {
    "where": _condition_of("where"),
    "having": _condition_of("having"),
    "context": lambda block: f"context {lines.name(field(block, 'TEXT'), 'a context')}",
    "inserts": _stream,
    "reports": _stream,
    "distinct": lambda _: " distinct",
    **{line.name: _line(line) for line in lines.LINES},
}


# What is selected, and from where.


def _select(block: Block) -> str:
    items = ", ".join(map(_item, stacked(block, "SELECT")))
    return items or refuse(
        "a statement selects something", "draw a column, or all columns, into it"
    )


def _item(block: Block) -> str:
    if block["type"] == "all":
        tag = field(block, "TAG")
        return f"{lines.name(tag, 'a tag')}.*" if tag else "*"
    if block["type"] != "item":
        refuse(f"'{block['type']}' is no column")
    found = inner(block, "EXPR")
    text = "" if found is None else expression_of(found, "a column")
    if not text:
        refuse("a column needs an expression")
    alias = field(block, "AS")
    return f"{text} as {lines.name(alias, 'a column')}" if alias else text


def _source(block: Block) -> str:
    parts = list(stacked(block, "SOURCE"))
    windows = "".join(map(_window, stacked(block, "WINDOW")))
    if len(parts) == 1 and parts[0]["type"] == "stream":
        return _type_of(parts[0]) + windows + _alias(parts[0])
    return f"pattern [{_sequence(parts, 'a statement')}]{windows}"


def _alias(block: Block) -> str:
    alias = field(block, "AS")
    return f" as {lines.name(alias, 'a stream')}" if alias else ""


def _type_of(block: Block) -> str:
    """A type with its condition."""
    text = condition(block, "the condition of an event")
    return lines.name(field(block, "TYPE"), "an event") + (f"({text})" if text else "")


def _window(block: Block) -> str:
    kind = block["type"]
    if kind == "keep_all":
        return "#keepall"
    if kind not in _WINDOWS:
        refuse(f"'{kind}' is no window")
    return lines.window(f"#{_WINDOWS[kind]}({field(block, 'TEXT')})", "a window")


_WINDOWS = {
    "time_window": "time",
    "time_batch": "time_batch",
    "length_window": "length",
    "length_batch": "length_batch",
}


# Patterns.


def _sequence(parts: Sequence[Block], what: str) -> str:
    if not parts:
        refuse(f"{what} needs an event or a timer in it")
    if len(parts) == 1:
        return _pattern(parts[0])
    return " -> ".join(map(_enclosed, parts))


def _pattern(block: Block) -> str:
    if block["type"] not in _PATTERNS:
        refuse(f"'{block['type']}' is no part of a pattern")
    return _PATTERNS[block["type"]](block)


def _enclosed(block: Block) -> str:
    """A pattern as a part of another one."""
    text = _pattern(block)
    return text if block["type"] in _LEAVES else f"({text})"


def _child(block: Block, what: str, name: str = "CHILD") -> str:
    parts = list(stacked(block, name))
    text = _sequence(parts, what)
    return text if len(parts) == 1 and parts[0]["type"] in _LEAVES else f"({text})"


def _event(block: Block) -> str:
    tag = field(block, "TAG")
    return (f"{lines.name(tag, 'a tag')}=" if tag else "") + _type_of(block)


def _chain(operator: str) -> Callable[[Block], str]:
    def read(block: Block) -> str:
        parts = list(stacked(block, "PARTS"))
        if len(parts) < 2:
            refuse(f"'{operator}' needs two patterns in it")
        return f" {operator} ".join(map(_enclosed, parts))

    return read


def _every_distinct(block: Block) -> str:
    keys = lines.keys(field(block, "KEYS"), "every distinct")
    expiry = field(block, "EXPIRY")
    head = f"every-distinct({keys}{f', {expiry}' if expiry else ''})"
    lines.leaf(f"{head} X", (EveryDistinct,), "every distinct")
    return f"{head} {_child(block, 'every distinct')}"


def _repeat(block: Block) -> str:
    return f"[{lines.count(field(block, 'COUNT'), 'repeat')}] {_child(block, 'repeat')}"


def _range(block: Block) -> str:
    bounds = (field(block, name) for name in ("LOW", "HIGH"))
    low, high = (lines.count(text, "range") if text else "" for text in bounds)
    return f"[{low}:{high}] {_until(block)}"


def _until(block: Block) -> str:
    return f"{_child(block, 'until')} until {_child(block, 'until', 'UNTIL')}"


def _within(block: Block) -> str:
    guard = f"where timer:within({field(block, 'PERIOD')}\n)"
    lines.leaf(f"X {guard}", (Within, WithinOf), "within")
    return f"{_child(block, 'within')} {guard}"


def _within_most(block: Block) -> str:
    most = lines.count(field(block, "MOST"), "within")
    period = field(block, "PERIOD")
    lines.leaf(f"X where timer:within({period}\n)", (Within, WithinOf), "within")
    return f"{_child(block, 'within')} where timer:withinmax({period}, {most})"


def _while(block: Block) -> str:
    return f"{_child(block, 'while')} while ({_needed(block, 'while')})"


def _interval(block: Block) -> str:
    text = f"timer:interval({field(block, 'PERIOD')})"
    return lines.leaf(text, (Interval, IntervalOf), "a timer")


def _schedule(block: Block) -> str:
    return lines.leaf(f"timer:at({field(block, 'TIMES')})", (At,), "a timer")


def _absent(block: Block) -> str:
    return f"not {_child(block, 'not')}"


_LEAVES = {"event", "interval", "schedule"}
_PATTERNS: dict[str, Callable[[Block], str]] = {
    "event": _event,
    "followed_by": _chain("->"),
    "all_of": _chain("and"),
    "any_of": _chain("or"),
    "every": lambda block: f"every {_child(block, 'every')}",
    "absent": _absent,
    "every_distinct": _every_distinct,
    "repeat": _repeat,
    "range": _range,
    "until": _until,
    "within": _within,
    "within_most": _within_most,
    "while": _while,
    "interval": _interval,
    "schedule": _schedule,
}
