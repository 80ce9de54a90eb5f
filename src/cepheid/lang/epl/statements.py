"""Parses declarations: schemas, contexts and statements, clause by clause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast, get_args

from cepheid.core.time import Period
from cepheid.core.types import Attribute
from cepheid.errors import Span
from cepheid.expr.tree import Ref
from cepheid.lang.common.annotations import annotation_list
from cepheid.lang.common.cursor import Cursor
from cepheid.lang.common.expressions import (
    data_type,
    expression,
    expressions,
    filter_of,
    name_text,
)
from cepheid.lang.common.habits import INSTEAD_OF
from cepheid.lang.common.lexer import Kind, Token
from cepheid.lang.common.names import Role
from cepheid.lang.common.periods import at_period, period
from cepheid.lang.epl import lower
from cepheid.lang.epl.lower import Mode
from cepheid.lang.epl.named import named
from cepheid.lang.epl.patterns import pattern, schedule
from cepheid.pattern.schedule import Schedule
from cepheid.program.tree import (
    Annotation,
    Context,
    ContextKey,
    Declaration,
    Limit,
    OrderItem,
    OutputRate,
    PatternSource,
    Representation,
    Schema,
    SelectAll,
    SelectExpr,
    SelectItem,
    Source,
    Statement,
    Stream,
    StreamSource,
    Window,
)

STARTERS = ("create", "context", "insert", "select")
_STREAMS = ("istream", "rstream", "irstream")
_MODES = ("first", "last", "all", "snapshot")
_REPRESENTATIONS = get_args(Representation)
_OTHER_STATEMENTS = frozenset(
    ("on", "update", "expression", "module", "import", "uses", "merge", "delete", "start", "with")
)
_OTHER_CREATIONS = frozenset(
    (
        *("window", "table", "view", "variable", "index", "expression", "dataflow", "constant"),
        *("class", "avro", "xml", "variant"),
    )
)
# Words after a source that would otherwise be taken for its alias.
_JOINS = ("unidirectional", "inner", "left", "right", "full", "outer", "join", "retain")
_NOT_AN_ALIAS = frozenset(
    (*STARTERS, *_JOINS, "group", "output", "order", "limit", "match_recognize", "on", "for")
)


def declaration(cursor: Cursor) -> Declaration:
    """One declaration, up to the `;` or the end that must follow it."""
    start = cursor.token
    notes = annotation_list(cursor)
    token = cursor.token
    if token.is_word("create"):
        return _creation(cursor, start, notes)
    if token.is_word("context", "insert", "select"):
        return _statement(cursor, start, notes)
    if token.is_word(*_OTHER_STATEMENTS):
        hint = INSTEAD_OF.get(str(token.value))
        cursor.unsupported(f"'{token.text}' is", token.span, hint)
    found = "a declaration ('create schema', 'create context', 'insert into' or 'select')"
    return cursor.unexpected(found if not notes else f"{found} after its annotations", STARTERS)


# Schemas and contexts.


def _creation(cursor: Cursor, start: Token, notes: tuple[Annotation, ...]) -> Declaration:
    cursor.starts["create"] = cursor.advance().span
    token = cursor.token
    kind = cursor.take_word(*_REPRESENTATIONS) if cursor.next.is_word("schema") else None
    if cursor.take_word("schema"):
        return _schema(cursor, start, notes, cast("Representation | None", kind and kind.value))
    if cursor.take_word("context"):
        return _context(cursor, start, notes)
    if token.is_word(*_OTHER_CREATIONS):
        hint = INSTEAD_OF.get(f"create {token.value}")
        cursor.unsupported(f"'create {token.text}' is", token.span, hint)
    return cursor.unexpected("'schema' or 'context' after 'create'", ("schema", "context"))


def _schema(
    cursor: Cursor, start: Token, notes: tuple[Annotation, ...], kind: Representation | None
) -> Schema:
    name = cursor.name("the name of the schema", Role.NEW_TYPE)
    cursor.take_word("as")
    attributes: list[Attribute] = []
    places: list[Span] = []
    opened = cursor.take_symbol("(")
    if opened is None and not cursor.token.is_word("inherits"):
        cursor.unexpected("'(' and the attributes of the schema", ("inherits",))
    if opened and not cursor.token.is_symbol(")"):
        attributes.append(_attribute(cursor, places))
        while cursor.take_symbol(","):
            attributes.append(_attribute(cursor, places))
    if opened:
        cursor.starts["close"] = cursor.close(")", opened, "list of attributes", ()).span
    parents = _parents(cursor, places) if cursor.take_word("inherits") else ()
    return Schema(
        name=name_text(name),
        attributes=tuple(attributes),
        inherits=parents,
        annotations=notes,
        representation=kind,
        places=tuple(places),
        span=cursor.span_from(start),
    )


def _attribute(cursor: Cursor, places: list[Span]) -> Attribute:
    cursor.starts[f"item {len(places)}"] = cursor.token.span
    name = cursor.name("the name of an attribute", Role.NEW_ATTRIBUTE)
    places.append(name.span)
    return Attribute(name_text(name), data_type(cursor))


def _parents(cursor: Cursor, places: list[Span]) -> tuple[str, ...]:
    found = [cursor.name("the schema to inherit from", Role.TYPE)]
    while cursor.take_symbol(","):
        found.append(cursor.name("the schema to inherit from", Role.TYPE))
    places += [name.span for name in found]
    return tuple(map(name_text, found))


def _context(cursor: Cursor, start: Token, notes: tuple[Annotation, ...]) -> Context:
    name = cursor.name("the name of the context", Role.NEW_CONTEXT)
    if cursor.token.is_word("start", "initiated", "coalesce", "group", "as"):
        hint = "contexts partition by attributes: partition by id from Type"
        cursor.unsupported("this kind of context is", cursor.token.span, hint)
    cursor.expect_word("partition", " after the name of the context")
    cursor.take_word("by")
    keys = [_context_key(cursor)]
    while cursor.take_symbol(","):
        keys.append(_context_key(cursor))
    return Context(
        name=name_text(name), keys=tuple(keys), annotations=notes, span=cursor.span_from(start)
    )


def _context_key(cursor: Cursor) -> ContextKey:
    start = cursor.token
    attributes = [cursor.name("an attribute to partition by", Role.ATTRIBUTE)]
    while cursor.take_word("and"):
        attributes.append(cursor.name("an attribute to partition by", Role.ATTRIBUTE))
    cursor.expect_word("from", " after the attributes to partition by")
    event_type = cursor.name("an event type", Role.TYPE)
    if cursor.token.is_symbol("("):
        cursor.unsupported("a filter in a context is", cursor.token.span)
    names = tuple(name_text(a) for a in attributes)
    return ContextKey(name_text(event_type), names, span=cursor.span_from(start))


# Statements.


def _statement(cursor: Cursor, start: Token, notes: tuple[Annotation, ...]) -> Statement:
    parts: dict[str, Any] = {"annotations": notes}
    if cursor.token.is_word("context"):
        cursor.starts["context"] = cursor.advance().span
        parts["context"] = name_text(cursor.name("the name of a context", Role.CONTEXT))
    columns = _insert(cursor, parts) if cursor.token.is_word("insert") else None
    _select(cursor, parts, columns)
    cursor.starts["from"] = cursor.expect_word("from", " after the select list").span
    parts["source"], parts["window"] = _source(cursor)
    for keyword, field, clause in _CLAUSES:
        if cursor.token.is_word(keyword):
            cursor.starts[field] = cursor.advance().span
            parts[field] = clause(cursor)
    _refuse_late_clause(cursor)
    return Statement(**parts, span=cursor.span_from(start))


def _refuse_late_clause(cursor: Cursor) -> None:
    order = [keyword for keyword, _, _ in _CLAUSES]
    if cursor.token.is_word(*order):
        hint = "their order is " + ", ".join(_WRITTEN.get(k, k) for k in order)
        message = f"'{cursor.token.text}' comes too late or twice among the clauses"
        cursor.refuse(message, cursor.token.span, hint)


def _insert(cursor: Cursor, parts: dict[str, Any]) -> list[Token] | None:
    """Into which type, which rows; the columns where they are listed."""
    cursor.starts["insert"] = cursor.advance().span
    stream = cursor.take_word(*_STREAMS)
    if stream:
        parts["insert_stream"] = cast("Stream", stream.value)
    cursor.expect_word("into", " after 'insert'")
    target = cursor.name("the event type to insert into", Role.TARGET)
    parts["insert_into"] = name_text(target)
    columns = None
    opened = cursor.take_symbol("(")
    if opened:
        columns = [cursor.name("a column to insert", Role.COLUMN)]
        while cursor.take_symbol(","):
            columns.append(cursor.name("a column to insert", Role.COLUMN))
        cursor.close(")", opened, "list of columns")
    if not cursor.token.is_word("select"):
        hint = "an insert needs a select clause, for example 'select *'"
        cursor.unexpected(f"'select' after 'insert into {target.text}'", hint=hint)
    return columns


def _select(cursor: Cursor, parts: dict[str, Any], columns: list[Token] | None) -> None:
    start = cursor.expect_word("select")
    cursor.starts["select"] = start.span
    # `istream()` is a function; `istream (a + b)` is a stream and its first column.
    is_function = cursor.next.is_symbol("(") and cursor.after_next.is_symbol(")")
    if cursor.token.is_word(*_STREAMS) and not is_function:
        parts["stream"] = cast("Stream", cursor.advance().value)
    parts["distinct"] = cursor.take_word("distinct") is not None
    items = [_item(cursor, columns)]
    while cursor.take_symbol(","):
        items.append(_item(cursor, columns))
    parts["select"] = _renamed(cursor, items, columns) if columns else tuple(items)


def _renamed(
    cursor: Cursor, items: list[SelectItem], columns: list[Token]
) -> tuple[SelectItem, ...]:
    """Listed columns are the names of the select list."""
    if len(items) != len(columns):
        message = f"{len(columns)} columns to insert, but {len(items)} in the select list"
        cursor.refuse(message, columns[0].span.to(columns[-1].span))
    named_items = []
    for item, column in zip(items, columns, strict=True):
        if isinstance(item, SelectAll):
            cursor.refuse(f"'*' cannot be the column '{column.text}'", column.span)
        named_items.append(replace(item, alias=name_text(column)))
    return tuple(named_items)


def _item(cursor: Cursor, columns: list[Token] | None) -> SelectItem:
    start = cursor.token
    if cursor.take_symbol("*"):
        return SelectAll(span=start.span)
    tag = _all_of_tag(cursor)
    if tag:
        return SelectAll(name_text(tag), span=cursor.span_from(start))
    found = expression(cursor)
    last = cursor.previous
    alias = _alias(cursor, Role.COLUMN)
    is_called_so = alias is None and columns is None and isinstance(found, Ref)
    if is_called_so and last is not None and last.kind in (Kind.WORD, Kind.QUOTED):
        cursor.note(last, Role.IMPLIED)
    return SelectExpr(found, alias, span=cursor.span_from(start))


def _all_of_tag(cursor: Cursor) -> Token | None:
    """`a.*`; an expression can only look like it up to the dot."""
    if not (cursor.at_name() and cursor.next.is_symbol(".")):
        return None
    if not cursor.after_next.is_symbol("*"):
        return None
    tag = cursor.name("a tag", Role.START)
    cursor.advance()
    cursor.advance()
    return tag


def _alias(cursor: Cursor, role: Role) -> str | None:
    if cursor.take_word("as"):
        return name_text(cursor.name("a name after 'as'", role))
    token = cursor.token
    is_clause = token.kind is Kind.WORD and token.value in _NOT_AN_ALIAS
    return name_text(cursor.name("a name", role)) if cursor.at_name() and not is_clause else None


# Sources and data windows.


def _source(cursor: Cursor) -> tuple[Source, Window | None]:
    start = cursor.token
    source: Source
    if start.is_word("pattern") and cursor.next.is_symbol("[", "@"):
        source = _pattern_source(cursor)
        window = _windows(cursor)
        # Rows of a pattern are reached through its tags; the name of the whole has no use.
        _alias(cursor, Role.OTHER)
    else:
        event_type, test = _stream(cursor)
        span = cursor.span_from(start)
        window = _windows(cursor)
        source = StreamSource(event_type, test, _alias(cursor, Role.ALIAS), span=span)
    _refuse_more_sources(cursor)
    return source, window


def _pattern_source(cursor: Cursor) -> PatternSource:
    start = cursor.advance()
    while cursor.token.is_symbol("@"):
        at = cursor.advance()
        name = cursor.advance()
        message = f"'@{name.text}' on a pattern is not supported"
        cursor.report("unsupported", message, cursor.span_from(at))
    opened = cursor.expect_symbol("[", " after 'pattern'")
    cursor.starts["pattern"] = cursor.token.span
    found = pattern(cursor)
    cursor.starts["close"] = cursor.close("]", opened, "pattern").span
    return PatternSource(found, span=cursor.span_from(start))


def _stream(cursor: Cursor) -> tuple[str, Any]:
    if cursor.token.is_symbol("(") and cursor.next.is_word("select"):
        cursor.unsupported("subqueries are", cursor.token.span, INSTEAD_OF["subquery"])
    name = cursor.name("an event type or 'pattern ['", Role.TYPE)
    if cursor.token.is_symbol(":"):
        cursor.unsupported(f"the source '{name.text}:' is", name.span)
    opened = cursor.take_symbol("(")
    return name_text(name), filter_of(cursor, name, opened) if opened else None


def _windows(cursor: Cursor) -> Window | None:
    """`.win:time(3 sec)` or `#time(3 sec)`; only one of them."""
    found: Window | None = None
    start = cursor.token
    count = 0
    while cursor.token.is_symbol("#", "."):
        found = _window(cursor) or found
        count += 1
    if count > 1:
        cursor.report("unsupported", "several data windows are not supported", start.span)
    return found


def _window(cursor: Cursor) -> Window | None:
    cursor.advance()
    name = cursor.name("the name of a data window", Role.WINDOW)
    namespace = "win"
    if cursor.take_symbol(":"):
        namespace, name = (
            str(name.value).lower(),
            cursor.name("the name of a data window", Role.WINDOW),
        )
    text = str(name.value).lower()
    known = text in lower.WINDOWS and namespace == "win"
    if not known:
        cursor.skip_group()  # its arguments follow rules of their own
        label = text if namespace == "win" or text not in lower.WINDOWS else f"{namespace}:{text}"
        return cursor.lowered(lower.window, lower.Named(label, (), name.span))
    return cursor.lowered(lower.window, named(cursor, text, name))


def _refuse_more_sources(cursor: Cursor) -> None:
    token = cursor.token
    if token.is_symbol(",") or token.is_word(*_JOINS):
        cursor.unsupported("joins of several sources are", token.span, INSTEAD_OF["join"])
    if token.is_word("match_recognize"):
        cursor.unsupported("'match_recognize' is", token.span, INSTEAD_OF["match_recognize"])
    cursor.refuse_window()


# The clauses after the source.


def _grouping(cursor: Cursor) -> Any:
    cursor.expect_word("by", " after 'group'")
    several = cursor.token.is_word("rollup", "cube") and cursor.next.is_symbol("(")
    if several or (cursor.token.is_word("grouping") and cursor.next.is_word("sets")):
        hint = INSTEAD_OF[str(cursor.token.value)]
        cursor.unsupported(f"'{cursor.token.text}' is", cursor.token.span, hint)
    return expressions(cursor)


def _output(cursor: Cursor) -> OutputRate | None:
    start = cursor.previous or cursor.token
    after = _amount(cursor, "after") if cursor.take_word("after") else None
    mode = cursor.take_word(*_MODES)
    every: int | Period | Schedule | None = None
    when = None
    if cursor.take_word("every"):
        every = _amount(cursor, "every")
    elif cursor.take_word("when"):
        when = expression(cursor)
    elif at := cursor.take_word("at"):
        every = schedule(cursor, at, "output at")
    elif mode or after is None:
        cursor.unexpected("'every' in the output clause", ("every", "at", "after", "when", *_MODES))
    if cursor.token.is_word("then", "and"):
        cursor.unsupported(f"'{cursor.token.text}' in an output clause is", cursor.token.span)
    return cursor.lowered(
        lower.output_rate,
        mode=cast("Mode | None", mode and mode.value),
        after=after,
        every=every,
        when=when,
        span=cursor.span_from(start),
    )


def _amount(cursor: Cursor, word: str) -> int | Period:
    """A number of events, or a time period."""
    if cursor.token.kind is Kind.NUMBER and cursor.next.is_word("event", "events", "rows"):
        count = cursor.whole_number(f"a whole number of events after '{word}'")
        cursor.advance()
        return count
    is_bare = cursor.token.kind is Kind.NUMBER and cursor.next.kind is not Kind.WORD
    if is_bare and not at_period(cursor):
        cursor.advance()
        cursor.unexpected(f"'events' or a time unit after the number in 'output {word}'")
    return period(cursor)


def _ordering(cursor: Cursor) -> tuple[OrderItem, ...]:
    cursor.expect_word("by", " after 'order'")
    items = [_order_item(cursor)]
    while cursor.take_symbol(","):
        items.append(_order_item(cursor))
    return tuple(items)


def _order_item(cursor: Cursor) -> OrderItem:
    start = cursor.token
    found = expression(cursor)
    direction = cursor.take_word("asc", "desc")
    descending = direction is not None and direction.value == "desc"
    return OrderItem(found, descending, span=cursor.span_from(start))


def _limit(cursor: Cursor) -> Limit:
    start = cursor.previous or cursor.token
    count = _row_count(cursor, "limit")
    offset = _row_count(cursor, "offset") if cursor.take_word("offset") else 0
    return Limit(count, offset, span=cursor.span_from(start))


def _row_count(cursor: Cursor, word: str) -> int:
    start = cursor.token
    count = cursor.whole_number(f"a whole number of rows after '{word}'")
    if count < 0:
        cursor.report("bad-number", f"'{word}' cannot be negative", cursor.span_from(start))
    return max(count, 0)


# In the order in which they must be written: keyword, field of the statement, parser.
_CLAUSES: tuple[tuple[str, str, Callable[[Cursor], Any]], ...] = (
    ("where", "where", expression),
    ("group", "group_by", _grouping),
    ("having", "having", expression),
    ("output", "output", _output),
    ("order", "order_by", _ordering),
    ("limit", "limit", _limit),
)
_WRITTEN = {"group": "group by", "order": "order by"}
