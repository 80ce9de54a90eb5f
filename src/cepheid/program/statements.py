"""Resolving one statement: its source, its columns, its clauses, and what its rows stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from cepheid.core.types import (
    ANY,
    LONG,
    Attribute,
    DataType,
    EventRef,
    EventType,
    bad_name,
    fits,
    is_numeric,
    is_open,
)
from cepheid.errors import Diagnostic, Span, error, suggest, warning
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Aggregate, Cast, Column, Expr, Literal, Part, Ref, children
from cepheid.expr.typing import Scope, is_aggregated, resolve, resolve_condition
from cepheid.pattern.algebra import Form, Occurrence
from cepheid.pattern.tree import Pattern, atoms
from cepheid.program.occurrences import OccurrenceResolver, ResolvedOccurrence
from cepheid.program.resolved import OutputColumn, ResolvedStatement, Shape
from cepheid.program.scopes import resolve_pattern
from cepheid.program.tree import (
    Context,
    OrderItem,
    PatternSource,
    SelectAll,
    SelectExpr,
    SelectItem,
    Statement,
    StreamSource,
)

# The names that `output when` may use.
OUTPUT_COUNTERS = (
    "count_insert",
    "count_insert_total",
    "count_remove",
    "count_remove_total",
    "last_output_timestamp",
)


def statement_names(statements: Iterable[Statement]) -> list[str]:
    """`@Name`, else the position: `statement_3`."""
    names = []
    for number, statement in enumerate(statements, start=1):
        annotation = statement.annotation("Name")
        value = annotation.value() if annotation else None
        names.append(value if isinstance(value, str) else name_at(number))
    return names


def name_at(number: int) -> str:
    """What a statement without a name of its own is called."""
    return f"statement_{number}"


def target_of(name: str, statement: Statement) -> str:
    return statement.insert_into or name


def source_types(statement: Statement) -> tuple[str, ...]:
    source = statement.source
    if isinstance(source, StreamSource):
        return (source.event_type,)
    return tuple(dict.fromkeys(atom.event_type for atom in atoms(source.pattern)))


def span_of_type(statement: Statement, name: str) -> Span | None:
    """Where a statement names a type that it consumes; noise has no place in it."""
    source = statement.source
    if isinstance(source, StreamSource):
        return source.span
    return next((a.span for a in atoms(source.pattern) if a.event_type == name), None)


@dataclass(frozen=True, slots=True)
class StatementResolver:
    types: Mapping[str, EventType]
    contexts: Mapping[str, Context]
    problems: list[Diagnostic]
    forms: Mapping[str, Form] = field(default_factory=dict)  # of complex events
    checks: Mapping[str, Expr] = field(default_factory=dict)
    disturbing: tuple[str, ...] = ()

    def columns_only(self, statement: Statement) -> tuple[OutputColumn, ...]:
        _, _, scope = self._source(statement)
        return self._columns(statement, scope)

    def resolve(self, name: str, statement: Statement) -> ResolvedStatement:
        pattern, condition, scope = self._source(statement)
        columns = self._columns(statement, scope)
        in_where = replace(scope, no_aggregates="in where", aggregates_in="having")
        where = self._condition(statement.where, in_where)
        grouping = replace(scope, no_aggregates="in group by")
        group_by = tuple(resolve(e, grouping, self.problems) for e in statement.group_by)
        having = self._condition(statement.having, scope)
        order_by = self._order_by(statement, columns, scope)
        event_type = None
        if isinstance(statement.source, StreamSource):
            event_type = statement.source.event_type
        return ResolvedStatement(
            tree=statement,
            name=name,
            target=target_of(name, statement),
            pattern=pattern,
            event_type=event_type,
            condition=condition,
            tags=scope.tags,
            columns=columns,
            where=where,
            group_by=group_by,
            having=having,
            order_by=order_by,
            output_when=self._output_when(statement),
            shape=_shape(columns, group_by, having, order_by),
            context=self._context(statement),
        )

    def _source(self, statement: Statement) -> tuple[Pattern | None, Expr | None, Scope]:
        """The resolved source, and the scope of everything after it."""
        source = statement.source
        if isinstance(source, PatternSource) and isinstance(source.pattern, Occurrence):
            occurrence = self._occurrence(statement, source)
            return occurrence.pattern, None, Scope(types=self.types, tags=occurrence.parameters)
        if isinstance(source, PatternSource):
            resolved = resolve_pattern(source.pattern, self.types, self.problems)
            all_tags = frozenset(a.tag for a in atoms(source.pattern) if a.tag)
            later = all_tags - resolved.tags.keys()
            scope = Scope(types=self.types, tags=resolved.tags, later_tags=later)
            return resolved.pattern, None, scope
        scope = Scope(
            types=self.types,
            tags={},
            current=EventRef(source.event_type),
            current_names=frozenset({source.alias or source.event_type, source.event_type}),
        )
        in_filter = replace(scope, no_aggregates="in a filter", aggregates_in="having")
        return None, self._condition(source.condition, in_filter), scope

    def _occurrence(self, statement: Statement, source: PatternSource) -> ResolvedOccurrence:
        resolver = OccurrenceResolver(
            self.types, self.forms, self.checks, self.disturbing, self.problems
        )
        return resolver.resolve(source, statement.insert_into or "")

    def _condition(self, expr: Expr | None, scope: Scope) -> Expr | None:
        return None if expr is None else resolve_condition(expr, scope, self.problems)

    def _columns(self, statement: Statement, scope: Scope) -> tuple[OutputColumn, ...]:
        columns: dict[str, OutputColumn] = {}
        for item in statement.select:
            span = item.span or statement.span
            for column in self._item(item, scope):
                if column.name in columns:
                    fact = f"two columns are named '{column.name}'"
                    is_named = isinstance(item, SelectExpr) and item.alias is not None
                    hint = "give this one another name" if is_named else "name one with `as`"
                    self.problems.append(error("duplicate-name", fact, span, hint))
                if problem := bad_name(column.name, "a column", span):
                    self.problems.append(problem)
                columns[column.name] = column
        return tuple(columns.values())

    def _item(self, item: SelectItem, scope: Scope) -> list[OutputColumn]:
        if isinstance(item, SelectAll):
            return self._all(item, scope)
        expr = resolve(item.expr, scope, self.problems)
        return [OutputColumn(item.alias or _column_name(item.expr), expr)]

    def _all(self, item: SelectAll, scope: Scope) -> list[OutputColumn]:
        """`*` is every attribute, over a pattern every tag; `a.*` is every attribute of a."""
        if item.tag is None and scope.current is None:
            return [
                OutputColumn(tag, Column(tag, (), type=type, span=item.span), is_named=False)
                for tag, type in scope.tags.items()
            ]
        whole: Expr
        if item.tag is None or item.tag in scope.current_names:
            whole = Column(None, (), type=scope.current or ANY, span=item.span)
        else:
            whole = resolve(Ref((Part(item.tag),), span=item.span), scope, self.problems)
        if not isinstance(whole, Column) or not isinstance(whole.type, EventRef):
            if isinstance(whole, Column) and whole.type != ANY:
                fact = f"'{item.tag}' is bound to several events"
                hint = f"select {item.tag}, or {item.tag}[0].x"
                self.problems.append(error("type-mismatch", fact, item.span, hint))
            return []
        event_type = self.types[whole.type.name]
        return [
            OutputColumn(
                a.name,
                Column(whole.tag, (Part(a.name),), whole.index, type=a.type, span=item.span),
                is_named=False,
            )
            for a in event_type.attributes
        ]

    def _order_by(
        self, statement: Statement, columns: tuple[OutputColumn, ...], scope: Scope
    ) -> tuple[OrderItem, ...]:
        """Order by may name a column of the select clause."""
        aliases = {c.name: c.expr for c in columns}
        items = []
        for item in statement.order_by:
            expr = aliases.get(_plain_name(item.expr)) or resolve(item.expr, scope, self.problems)
            items.append(replace(item, expr=expr))
        return tuple(items)

    def _output_when(self, statement: Statement) -> Expr | None:
        if statement.output is None or statement.output.when is None:
            return None
        counters = EventType("output", tuple(Attribute(name, LONG) for name in OUTPUT_COUNTERS))
        scope = Scope(
            types={"output": counters},
            tags={},
            current=EventRef("output"),
            no_aggregates="in output when",
        )
        return resolve_condition(statement.output.when, scope, self.problems)

    def _context(self, statement: Statement) -> Context | None:
        if statement.context is None:
            return None
        context = self.contexts.get(statement.context)
        if context is None:
            hint = suggest(statement.context, self.contexts, "contexts")
            keys = ", ".join(f"k from {name}" for name in source_types(statement)) or "k from T"
            hint = hint or f"create context {statement.context} partition by {keys}"
            fact = f"no context '{statement.context}'"
            self.problems.append(error("unknown-context", fact, statement.span, hint))
            return None
        keyed = {key.event_type for key in context.keys}
        for name in source_types(statement):
            if name not in keyed:
                fact = f"context '{context.name}' names no key for {name}"
                named = {key.event_type: key.attributes for key in context.keys}
                named[name] = context.keys[0].attributes
                by = ", ".join(f"{' and '.join(key)} from {type}" for type, key in named.items())
                hint = f"create context {context.name} partition by {by}"
                span = span_of_type(statement, name) or statement.span
                self.problems.append(error("bad-context", fact, span, hint))
        return context


def _plain_name(expr: Expr) -> str:
    """The name that an expression consists of; empty where it is anything else."""
    if isinstance(expr, Ref) and len(expr.parts) == 1 and expr.parts[0].index is None:
        return expr.parts[0].name
    return ""


def _column_name(expr: Expr) -> str:
    """The last part of a name; the text of anything else."""
    if isinstance(expr, Ref) and expr.parts[-1].index is None:
        return expr.parts[-1].name
    return print_expr(expr)


def _shape(
    columns: tuple[OutputColumn, ...],
    group_by: tuple[Expr, ...],
    having: Expr | None,
    order_by: tuple[OrderItem, ...],
) -> Shape:
    exprs = [c.expr for c in columns] + [i.expr for i in order_by] + ([having] if having else [])
    reads_rows = any(_reads_row(e, group_by) for e in exprs)
    if group_by:
        return Shape.ROW_WITH_GROUP if reads_rows else Shape.GROUP
    if not any(map(is_aggregated, exprs)):
        return Shape.ROW
    return Shape.ROW_WITH_TOTAL if reads_rows else Shape.TOTAL


def _reads_row(expr: Expr, group_by: tuple[Expr, ...]) -> bool:
    """Whether the value depends on a single row, beyond its group and the aggregates."""
    if expr in group_by or isinstance(expr, Aggregate):
        return False
    if isinstance(expr, Column):
        return True
    return any(_reads_row(child, group_by) for child in children(expr))


def conform(
    statement: ResolvedStatement,
    types: Mapping[str, EventType],
    is_declared: bool,
    problems: list[Diagnostic],
) -> ResolvedStatement:
    """The statement with exactly the columns of the type that it derives."""
    target = types[statement.target]
    _check_time(statement, target, problems)
    own = {c.name: c for c in statement.columns}
    span = statement.tree.span
    missing = [a.name for a in target.attributes if a.name not in own]
    if missing and not is_declared:
        fact = f"another statement inserts '{missing[0]}' into {target.name}, this one does not"
        advice = f"select the same columns, or declare them: create schema {target.name} (...)"
        problems.append(error("schema-conflict", fact, span, advice))
    for name, column in own.items():
        expected = target.find(name)
        if expected is None:
            hint = suggest(name, (a.name for a in target.attributes), "attributes")
            fact = f"no attribute '{name}' in {target.name}"
            problems.append(error("unknown-attribute", fact, column.expr.span or span, hint))
        elif not fits(column.expr.type, expected, types):
            fact = f"'{name}' of {target.name} is {expected}, not {column.expr.type}"
            is_narrower = is_numeric(expected) and is_numeric(column.expr.type)
            hint = f"write cast(..., {expected})" if is_narrower else None
            problems.append(error("schema-conflict", fact, column.expr.span or span, hint))
    columns = tuple(
        replace(own[a.name], expr=_cast(own[a.name].expr, a.type))
        if a.name in own
        else OutputColumn(a.name, _null(a.type))
        for a in target.attributes
    )
    # A column that the type does not have was reported above.
    return replace(statement, columns=columns)


def _check_time(
    statement: ResolvedStatement, target: EventType, problems: list[Diagnostic]
) -> None:
    if target.time is not None:
        fact = (
            f"an event that is inserted into {target.name} has the time of its cause,"
            f" whatever its '{target.time.attribute}' says"
        )
        hint = "leave @EventTime to types that come from outside"
        problems.append(warning("bad-annotation", fact, statement.tree.span, hint))


def _cast(expr: Expr, type: DataType) -> Expr:
    if isinstance(expr, Literal) and expr.value is None:
        return replace(expr, type=type)
    is_widened = is_numeric(type) and expr.type != type and not is_open(expr.type)
    if is_widened and fits(expr.type, type):
        return Cast(expr, type, type=type, span=expr.span)
    return expr  # it has the type, is null or an event of a subtype, or was reported above


def _null(type: DataType) -> Expr:
    return Literal(None, type=type)
