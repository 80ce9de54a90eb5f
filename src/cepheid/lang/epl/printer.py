"""Program trees into canonical EPL: one clause per line, keywords in lower case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cepheid.core.time import Period
from cepheid.errors import Span, UsageError, error
from cepheid.expr.notation import AND, NOT
from cepheid.expr.printing import print_expr, print_name, print_string, print_type
from cepheid.expr.tree import And, Expr, Or
from cepheid.lang.common.printing import print_annotation
from cepheid.lang.epl.layout import Clause, Piece, render
from cepheid.lang.epl.print_patterns import chain_parts, print_pattern, print_schedule
from cepheid.pattern.schedule import Schedule
from cepheid.program.classes import ComplexClass, SubscribedClass
from cepheid.program.tree import (
    Context,
    Declaration,
    KeepAll,
    LengthBatch,
    LengthWindow,
    OutputRate,
    PatternSource,
    ProgramTree,
    QuickFix,
    ReactiveRule,
    Schema,
    SelectAll,
    SelectItem,
    Statement,
    StreamSource,
    TimeBatch,
    TimeWindow,
    Window,
)
from cepheid.query.tree import Query

__all__ = ["layout", "print_declaration", "print_expr", "print_pattern", "print_program"]

Starts = Mapping[str, Span]


def print_program(tree: ProgramTree) -> str:
    return "\n\n".join(map(print_declaration, tree.declarations)) + "\n" * bool(tree.declarations)


def print_declaration(declaration: Declaration) -> str:
    """The declaration with its `;`."""
    return render(layout(declaration))


def layout(declaration: Declaration, starts: Starts | None = None) -> list[Clause]:
    """The clauses in their order; `starts` are the places the parser found them at."""
    if isinstance(declaration, Query | ReactiveRule | QuickFix):
        fact = f"EPL has no words for {declaration.name!r}, which is about a live model"
        raise UsageError(error("unsupported", fact))
    if isinstance(declaration, SubscribedClass | ComplexClass):
        fact = f"EPL has no words for {declaration.name!r}, whose events may change"
        raise UsageError(error("unsupported", fact))
    notes = [(Piece(print_annotation(a), a.span),) for a in declaration.annotations]
    return [*notes, *_LAYOUTS[type(declaration)](declaration, starts or {})]


# Schemas and contexts.


def _schema(schema: Schema, starts: Starts) -> Iterator[Clause]:
    kind = f"{schema.representation} " if schema.representation else ""
    head = f"create {kind}schema {print_name(schema.name)} ("
    tail = f") inherits {', '.join(map(print_name, schema.inherits))}" if schema.inherits else ")"
    attributes = [f"{print_name(a.name)} {print_type(a.type)}" for a in schema.attributes]
    items = [
        Piece(text, starts.get(f"item {position}"))
        for position, text in enumerate(_with_commas(attributes))
    ]
    yield (
        Piece(head, starts.get("create")),
        *items,
        Piece(tail, starts.get("close"), closes=True),
    )


def _context(context: Context, starts: Starts) -> Iterator[Clause]:
    keys = [
        f"{' and '.join(map(print_name, key.attributes))} from {print_name(key.event_type)}"
        for key in context.keys
    ]
    head = f"create context {print_name(context.name)} partition by"
    yield _listed(head, starts.get("create"), keys, [key.span for key in context.keys])


def _with_commas(texts: Sequence[str]) -> list[str]:
    return [*(f"{text}," for text in texts[:-1]), *texts[-1:]]


def _listed(
    head: str, start: Span | None, texts: Sequence[str], spans: Sequence[Span | None]
) -> Clause:
    """A keyword and its list; a list of one has no line of its own."""
    if len(texts) == 1:
        return (Piece(f"{head} {texts[0]}", start),)
    items = [Piece(t, span) for t, span in zip(_with_commas(texts), spans, strict=True)]
    return (Piece(head, start), *items)


# Statements.


def _statement(statement: Statement, starts: Starts) -> Iterator[Clause]:
    if statement.context is not None:
        yield (Piece(f"context {print_name(statement.context)}", starts.get("context")),)
    if statement.insert_into is not None:
        stream = "" if statement.insert_stream == "istream" else f" {statement.insert_stream}"
        text = f"insert{stream} into {print_name(statement.insert_into)}"
        yield (Piece(text, starts.get("insert")),)
    yield _select(statement, starts)
    yield _from(statement, starts)
    for write in (_where, _group_by, _having, _output, _order_by, _limit):
        yield from write(statement, starts)


def _select(statement: Statement, starts: Starts) -> Clause:
    head = "select"
    if statement.stream != "istream":
        head += f" {statement.stream}"
    if statement.distinct:
        head += " distinct"
    items = statement.select
    return _listed(head, starts.get("select"), [_item(i) for i in items], [i.span for i in items])


def _item(item: SelectItem) -> str:
    if isinstance(item, SelectAll):
        return "*" if item.tag is None else f"{print_name(item.tag)}.*"
    alias = "" if item.alias is None else f" as {print_name(item.alias)}"
    return print_expr(item.expr) + alias


def _from(statement: Statement, starts: Starts) -> Clause:
    source, window = statement.source, print_window(statement.window)
    if isinstance(source, StreamSource):
        return (Piece(f"from {_stream(source, window)}", starts.get("from")),)
    return (
        Piece("from pattern [", starts.get("from")),
        *_pattern_pieces(source),
        Piece(f"]{window}", starts.get("close"), closes=True),
    )


def _pattern_pieces(source: PatternSource) -> Iterator[Piece]:
    for position, (part, text) in enumerate(chain_parts(source.pattern)):
        yield Piece(text, part.span, led=position > 0)


def _stream(source: StreamSource, window: str) -> str:
    condition = "" if source.condition is None else f"({print_expr(source.condition)})"
    alias = "" if source.alias is None else f" as {print_name(source.alias)}"
    return f"{print_name(source.event_type)}{condition}{window}{alias}"


def print_window(window: Window | None) -> str:
    return "" if window is None else f"#{_WINDOWS[type(window)](window)}"


def _time_batch(window: TimeBatch) -> str:
    arguments = [str(window.period)]
    if window.reference is not None:
        arguments.append(f"{window.reference}L")
    flags = [
        *(["FORCE_UPDATE"] if window.force_update else []),
        *(["START_EAGER"] if window.start_eager else []),
    ]
    if flags:
        arguments.append(print_string(", ".join(flags)))
    return f"time_batch({', '.join(arguments)})"


def _where(statement: Statement, starts: Starts) -> Iterator[Clause]:
    if statement.where is not None:
        yield _condition("where", starts.get("where"), statement.where)


def _having(statement: Statement, starts: Starts) -> Iterator[Clause]:
    if statement.having is not None:
        yield _condition("having", starts.get("having"), statement.having)


def _condition(keyword: str, start: Span | None, condition: Expr) -> Clause:
    """Each operand of the outermost `and` or `or` may have a line of its own."""
    if not isinstance(condition, And | Or):
        return (Piece(f"{keyword} {print_expr(condition)}", start),)
    operator, floor = ("and", NOT) if isinstance(condition, And) else ("or", AND)
    first, *rest = condition.operands
    led = [Piece(f"{operator} {print_expr(e, floor)}", e.span, led=True) for e in rest]
    return (Piece(f"{keyword} {print_expr(first, floor)}", start), *led)


def _group_by(statement: Statement, starts: Starts) -> Iterator[Clause]:
    if statement.group_by:
        keys = statement.group_by
        texts, spans = [print_expr(e) for e in keys], [e.span for e in keys]
        yield _listed("group by", starts.get("group_by"), texts, spans)


def _output(statement: Statement, starts: Starts) -> Iterator[Clause]:
    if statement.output is not None:
        yield (Piece(_output_rate(statement.output), starts.get("output")),)


def _output_rate(rate: OutputRate) -> str:
    words = ["output"]
    if rate.after is not None:
        words += ["after", _amount(rate.after)]
    if rate.mode is not None:
        words.append(rate.mode)
    if isinstance(rate.every, Schedule):
        words.append(f"at ({print_schedule(rate.every)})")
    elif rate.every is not None:
        words += ["every", _amount(rate.every)]
    if rate.when is not None:
        words += ["when", print_expr(rate.when)]
    return " ".join(words)


def _amount(amount: int | Period) -> str:
    return f"{amount} events" if isinstance(amount, int) else str(amount)


def _order_by(statement: Statement, starts: Starts) -> Iterator[Clause]:
    if statement.order_by:
        items = statement.order_by
        texts = [print_expr(i.expr) + (" desc" if i.descending else "") for i in items]
        yield _listed("order by", starts.get("order_by"), texts, [i.span for i in items])


def _limit(statement: Statement, starts: Starts) -> Iterator[Clause]:
    limit = statement.limit
    if limit is not None:
        offset = f" offset {limit.offset}" if limit.offset else ""
        yield (Piece(f"limit {limit.count}{offset}", starts.get("limit")),)


_WINDOWS: dict[type[Window], Callable[[Any], str]] = {
    TimeWindow: lambda window: f"time({window.period})",
    TimeBatch: _time_batch,
    LengthWindow: lambda window: f"length({window.size})",
    LengthBatch: lambda window: f"length_batch({window.size})",
    KeepAll: lambda _: "keepall",
}
_LAYOUTS: dict[type[Declaration], Callable[[Any, Starts], Iterator[Clause]]] = {
    Schema: _schema,
    Context: _context,
    Statement: _statement,
}
