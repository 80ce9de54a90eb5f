"""A program with every name resolved and every expression typed: what all engines start from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

from cepheid.core.types import (
    ANY,
    LONG,
    Attribute,
    DataType,
    EventRef,
    EventType,
    fits,
    wider,
)
from cepheid.errors import Diagnostic, Span, error, note, suggest
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Aggregate, Cast, Column, Expr, Literal, Part, Ref, children, walk
from cepheid.expr.typing import Scope, resolve, resolve_condition
from cepheid.pattern.tree import Pattern, atoms
from cepheid.program.schemas import declared_types
from cepheid.program.scopes import resolve_pattern
from cepheid.program.tree import (
    Context,
    OrderItem,
    PatternSource,
    ProgramTree,
    SelectAll,
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


class Shape(Enum):
    """What one row of a statement stands for."""

    ROW = "each row of the source"  # no aggregates
    TOTAL = "all rows together"  # aggregates only
    ROW_WITH_TOTAL = "each row, beside aggregates over all"
    GROUP = "each group"
    ROW_WITH_GROUP = "each row, beside aggregates over its group"

    @property
    def is_grouped(self) -> bool:
        return self in (Shape.GROUP, Shape.ROW_WITH_GROUP)


@dataclass(frozen=True, slots=True)
class OutputColumn:
    name: str
    expr: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedStatement:
    """A statement whose expressions are resolved; what needs no resolving stays in `tree`."""

    tree: Statement
    name: str
    target: str  # the type it derives
    pattern: Pattern | None  # the source is a pattern, or
    event_type: str | None  # the events of a type that satisfy
    condition: Expr | None  # a condition
    tags: Mapping[str, DataType]
    columns: tuple[OutputColumn, ...]
    where: Expr | None
    group_by: tuple[Expr, ...]
    having: Expr | None
    order_by: tuple[OrderItem, ...]
    output_when: Expr | None
    shape: Shape
    context: Context | None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The types it consumes, in the order of the text."""
        if self.pattern is None:
            assert self.event_type is not None
            return (self.event_type,)
        return tuple(dict.fromkeys(atom.event_type for atom in atoms(self.pattern)))

    def key_of(self, event_type: str) -> tuple[str, ...] | None:
        """The attributes that make the key of that type's events, in a context."""
        for key in self.context.keys if self.context else ():
            if key.event_type == event_type:
                return key.attributes
        return None


@dataclass(frozen=True, slots=True)
class ResolvedProgram:
    """Everything the engines need to know; it can run if no problem is an error."""

    tree: ProgramTree
    types: Mapping[str, EventType]
    statements: tuple[ResolvedStatement, ...]
    problems: tuple[Diagnostic, ...]
    given: Mapping[str, EventType]  # known from files or frames

    @property
    def input_types(self) -> tuple[str, ...]:
        """The types that come from outside: consumed and not derived, or declared."""
        derived = {s.target for s in self.statements}
        used = [name for s in self.statements for name in s.inputs]
        declared = [schema.name for schema in self.tree.schemas]
        return tuple(dict.fromkeys(n for n in (*declared, *used) if n not in derived))


def statement_names(statements: Iterable[Statement]) -> list[str]:
    """`@Name`, else the position: `statement_3`."""
    names = []
    for number, statement in enumerate(statements, start=1):
        annotation = statement.annotation("Name")
        value = annotation.value() if annotation else None
        names.append(value if isinstance(value, str) else f"statement_{number}")
    return names


def resolve_program(
    tree: ProgramTree, given: Mapping[str, EventType] = MappingProxyType({})
) -> ResolvedProgram:
    """Resolves a program; `given` are the types known from files or frames."""
    problems: list[Diagnostic] = []
    named = list(zip(statement_names(tree.statements), tree.statements, strict=True))
    declared = declared_types(tree.schemas, given, problems)
    _check_names(named, declared, problems)
    types = _all_types(named, {**given, **declared}, problems)
    contexts = _contexts(tree.contexts, types, problems)
    statements = tuple(
        _StatementResolver(types, contexts, problems).resolve(name, statement)
        for name, statement in named
    )
    fixed = {*given, *declared}
    conformed = tuple(_conform(s, types, s.target in fixed, problems) for s in statements)
    return ResolvedProgram(tree, types, conformed, tuple(dict.fromkeys(problems)), given)


def target_of(name: str, statement: Statement) -> str:
    return statement.insert_into or name


def source_types(statement: Statement) -> tuple[str, ...]:
    source = statement.source
    if isinstance(source, StreamSource):
        return (source.event_type,)
    return tuple(dict.fromkeys(atom.event_type for atom in atoms(source.pattern)))


def _check_names(
    named: list[tuple[str, Statement]],
    declared: Mapping[str, EventType],
    problems: list[Diagnostic],
) -> None:
    seen: set[str] = set()
    targets = {s.insert_into for _, s in named if s.insert_into}
    for name, statement in named:
        if name in seen:
            problems.append(
                error("duplicate-name", f"two statements are named '{name}'", statement.span)
            )
        elif statement.insert_into is None and (name in declared or name in targets):
            fact = f"statement '{name}' would derive the type '{name}', which exists"
            hint = f"write `insert into {name}`, or give the statement another @Name"
            problems.append(error("duplicate-name", fact, statement.span, hint))
        seen.add(name)


# Types: declared ones, given ones, and those that statements derive from them.


def _all_types(
    named: list[tuple[str, Statement]],
    known: dict[str, EventType],
    problems: list[Diagnostic],
) -> dict[str, EventType]:
    """Derives the types of all statements, producers before consumers.

    A cycle of statements none of which has a producer outside it leaves its types open.
    """
    types = dict(known)
    fixed = frozenset(known)
    targets = {target_of(name, statement) for name, statement in named}
    _open_undeclared(named, types, targets, problems)
    pending = list(named)
    while pending:
        ready = [p for p in pending if all(t in types for t in source_types(p[1]))]
        if not ready:
            for name, statement in pending:
                target = target_of(name, statement)
                types.setdefault(target, EventType(target, (), is_open=True))
            continue
        for name, statement in ready:
            _derive_type(name, statement, types, fixed)
        pending = [p for p in pending if p not in ready]
    return types


def _open_undeclared(
    named: list[tuple[str, Statement]],
    types: dict[str, EventType],
    targets: set[str],
    problems: list[Diagnostic],
) -> None:
    """A type that nothing declares takes its schema from its events, unless it is a slip."""
    for _, statement in named:
        for name in source_types(statement):
            if name in types or name in targets:
                continue
            names = {*types, *targets}
            hint = suggest(name, names, "known types")
            span = _span_of_type(statement, name)
            if hint and hint.startswith("did you mean"):
                problems.append(error("unknown-type", f"no event type '{name}'", span, hint))
            else:
                fact = f"type '{name}' has no schema; its attributes are checked with its events"
                problems.append(note("no-schema", fact, span, f"create schema {name} (...)"))
            types[name] = EventType(name, (), is_open=True)


def _span_of_type(statement: Statement, name: str) -> Span | None:
    source = statement.source
    if isinstance(source, PatternSource):
        return next(a.span for a in atoms(source.pattern) if a.event_type == name)
    return source.span


def _derive_type(
    name: str, statement: Statement, types: dict[str, EventType], fixed: frozenset[str]
) -> None:
    target = target_of(name, statement)
    if target in fixed:
        return
    columns = _StatementResolver(types, {}, []).columns_only(statement)
    existing = types.get(target)
    attributes = {a.name: a.type for a in existing.attributes} if existing else {}
    for column in columns:
        before = attributes.get(column.name, column.expr.type)
        attributes[column.name] = wider(before, column.expr.type) or before
    types[target] = EventType(target, tuple(Attribute(n, t) for n, t in attributes.items()))


def _contexts(
    contexts: Iterable[Context], types: Mapping[str, EventType], problems: list[Diagnostic]
) -> dict[str, Context]:
    found: dict[str, Context] = {}
    for context in contexts:
        if context.name in found:
            fact = f"context '{context.name}' is declared twice"
            problems.append(error("duplicate-name", fact, context.span))
        found[context.name] = context
        _check_context(context, types, problems)
    return found


def _check_context(
    context: Context, types: Mapping[str, EventType], problems: list[Diagnostic]
) -> None:
    widths = {len(key.attributes) for key in context.keys}
    if len(widths) > 1:
        fact = f"the keys of context '{context.name}' have different numbers of attributes"
        problems.append(error("bad-context", fact, context.span))
    seen: set[str] = set()
    for key in context.keys:
        span = key.span or context.span
        if key.event_type in seen:
            fact = f"context '{context.name}' names a key for {key.event_type} twice"
            problems.append(error("duplicate-name", fact, span))
        seen.add(key.event_type)
        event_type = types.get(key.event_type)
        if event_type is None:
            hint = suggest(key.event_type, types, "known types")
            problems.append(error("unknown-type", f"no event type '{key.event_type}'", span, hint))
            continue
        for attribute in key.attributes:
            if event_type.find(attribute) is None:
                hint = suggest(attribute, (a.name for a in event_type.attributes), "attributes")
                fact = f"no attribute '{attribute}' in {key.event_type}"
                problems.append(error("unknown-attribute", fact, span, hint))


# Statements.


@dataclass(frozen=True, slots=True)
class _StatementResolver:
    types: Mapping[str, EventType]
    contexts: Mapping[str, Context]
    problems: list[Diagnostic]

    def columns_only(self, statement: Statement) -> tuple[OutputColumn, ...]:
        _, _, scope = self._source(statement)
        return self._columns(statement, scope)

    def resolve(self, name: str, statement: Statement) -> ResolvedStatement:
        pattern, condition, scope = self._source(statement)
        columns = self._columns(statement, scope)
        no_aggregates = replace(scope, no_aggregates="in where")
        where = self._condition(statement.where, no_aggregates)
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
        in_filter = replace(scope, no_aggregates="in a filter")
        return None, self._condition(source.condition, in_filter), scope

    def _condition(self, expr: Expr | None, scope: Scope) -> Expr | None:
        return None if expr is None else resolve_condition(expr, scope, self.problems)

    def _columns(self, statement: Statement, scope: Scope) -> tuple[OutputColumn, ...]:
        columns: dict[str, OutputColumn] = {}
        for item in statement.select:
            for column in self._item(item, scope):
                if column.name in columns:
                    fact = f"two columns are named '{column.name}'"
                    hint = "name one with `as`"
                    span = item.span or statement.span
                    self.problems.append(error("duplicate-name", fact, span, hint))
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
                OutputColumn(tag, Column(tag, (), type=type, span=item.span))
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
                a.name, Column(whole.tag, (Part(a.name),), whole.index, type=a.type, span=item.span)
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
            fact = f"no context '{statement.context}'"
            self.problems.append(error("unknown-context", fact, statement.span, hint))
            return None
        keyed = {key.event_type for key in context.keys}
        for name in source_types(statement):
            if name not in keyed:
                fact = f"context '{context.name}' names no key for {name}"
                hint = f"add `... from {name}` to the context"
                self.problems.append(error("bad-context", fact, statement.span, hint))
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
    is_aggregated = any(isinstance(node, Aggregate) for e in exprs for node in walk(e))
    reads_rows = any(_reads_row(e, group_by) for e in exprs)
    if group_by:
        return Shape.ROW_WITH_GROUP if reads_rows else Shape.GROUP
    if not is_aggregated:
        return Shape.ROW
    return Shape.ROW_WITH_TOTAL if reads_rows else Shape.TOTAL


def _reads_row(expr: Expr, group_by: tuple[Expr, ...]) -> bool:
    """Whether the value depends on a single row, beyond its group and the aggregates."""
    if expr in group_by or isinstance(expr, Aggregate):
        return False
    if isinstance(expr, Column):
        return True
    return any(_reads_row(child, group_by) for child in children(expr))


def _conform(
    statement: ResolvedStatement,
    types: Mapping[str, EventType],
    is_declared: bool,
    problems: list[Diagnostic],
) -> ResolvedStatement:
    """The statement with exactly the columns of the type that it derives."""
    target = types[statement.target]
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
        elif not fits(column.expr.type, expected):
            fact = f"'{name}' of {target.name} is {expected}, not {column.expr.type}"
            problems.append(error("schema-conflict", fact, column.expr.span or span))
    columns = tuple(
        OutputColumn(a.name, _cast(own[a.name].expr, a.type) if a.name in own else _null(a.type))
        for a in target.attributes
    )
    # A column that the type does not have was reported above.
    return replace(statement, columns=columns)


def _cast(expr: Expr, type: DataType) -> Expr:
    if expr.type == type or not fits(expr.type, type) or ANY in (expr.type, type):
        return expr
    if isinstance(expr, Literal) and expr.value is None:
        return replace(expr, type=type)
    return Cast(expr, type, type=type, span=expr.span)


def _null(type: DataType) -> Expr:
    return Literal(None, type=type)
