"""Statements in Python: a source, and clause by clause what becomes of its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, get_args

from cepheid.build.checks import name, period, refuse, refusing, whole
from cepheid.build.declarations import Declaration
from cepheid.build.expressions import Aliased, Descending, Operand, checked, column, conjunction
from cepheid.build.patterns import Pattern, node
from cepheid.core.time import Period
from cepheid.core.values import shown
from cepheid.errors import suggest
from cepheid.expr.tree import Expr
from cepheid.lang import DEFAULT
from cepheid.pattern.tree import At
from cepheid.program.tree import (
    Limit,
    OrderItem,
    OutputRate,
    PatternSource,
    SelectAll,
    SelectExpr,
    SelectItem,
    Statement,
    Stream,
    StreamSource,
    Window,
)

_MODES = ("first", "last", "all", "snapshot")


@dataclass(frozen=True, slots=True, repr=False)
class Query(Declaration):
    """A statement. Conditions given again are added with `and`; other clauses are said anew.

    >>> print(
    ...     cep.stream("Reading", cep.col("v") > 30, alias="r")
    ...     .window(cep.window.time("10 minutes"))
    ...     .group_by("r.sensor")
    ...     .select("r.sensor", n=cep.agg.count(), mean=cep.agg.avg("r.v"))
    ...     .named("Hot")
    ...     .insert_into("Hot")
    ... )
    @Name('Hot')
    insert into Hot
    select r.sensor, count(*) as n, avg(r.v) as mean
    from Reading(v > 30)#time(10 minutes) as r
    group by r.sensor;
    """

    tree: Statement

    # What comes out.

    def select(self, /, *items: Operand | Aliased, **named: Operand) -> Query:
        """The select list: names of columns, `"*"`, `"a.*"`, expressions; keywords name them.

        >>> print(cep.stream("A").select("x", cep.col("y").alias("b"), c=cep.col("z") + 1))
        select x, y as b, z + 1 as c
        from A;
        """
        found = [_item(item) for item in items]
        found += [
            SelectExpr(column(item), name(alias, "an alias")) for alias, item in named.items()
        ]
        if not found:
            refuse("usage", "a select list needs an item", "write .select('*') for everything")
        return self._with(select=tuple(found))

    def distinct(self) -> Query:
        """Rows that are the same come out once."""
        return self._with(distinct=True)

    def irstream(self) -> Query:
        """Reports rows that enter and rows that leave."""
        return self._with(stream="irstream")

    def rstream(self) -> Query:
        """Reports rows that leave."""
        return self._with(stream="rstream")

    def insert_into(self, type: str, stream: Stream = "istream") -> Query:
        """Rows become events of a type: those that enter, that leave, or both."""
        streams = get_args(Stream)
        if stream not in streams:
            refuse("usage", f"no stream {shown(stream)}", f"streams: {', '.join(streams)}")
        return self._with(insert_into=name(type, "an event type"), insert_stream=stream)

    # Which rows.

    def window(self, window: Window) -> Query:
        """Which rows still count: `cep.window.time("10 minutes")`."""
        return self._with(window=_window(window))

    def where(self, *conditions: Operand) -> Query:
        return self._with(where=_added(self.tree.where, conditions))

    def group_by(self, *keys: Operand) -> Query:
        return self._with(group_by=tuple(map(column, keys)))

    def having(self, *conditions: Operand) -> Query:
        return self._with(having=_added(self.tree.having, conditions))

    # When, and in which order.

    def output(
        self,
        mode: str | None = None,
        *,
        every: int | str | timedelta | None = None,
        after: int | str | timedelta | None = None,
        when: Operand = None,
        at: Pattern | None = None,
    ) -> Query:
        """When rows come out; a whole number counts events, anything else is a time.

        `mode` is one of first, last, all, snapshot; `at` is a schedule, `cep.at(minutes=0, hours=6)`.

        >>> print(cep.stream("A").output("last", every="10 seconds", after=3))
        select *
        from A
        output after 3 events last every 10 seconds;
        """
        if mode is not None and mode not in _MODES:
            refuse("bad-output", f"no output mode {shown(mode)}", suggest(mode, _MODES, "modes"))
        if at is not None:
            if every is not None or when is not None or not isinstance(at.tree, At):
                refuse("bad-output", "'at' is a schedule, and goes without 'every' and 'when'")
            planned: Any = {"mode": mode, "every": at.tree.schedule, "after": _amount(after)}
            return self._with(output=OutputRate(**planned))
        if every is None and after is None and when is None:
            hint = "write for example .output(every='10 seconds')"
            refuse("bad-output", "an output rate needs 'every', 'after' or 'when'", hint)
        if when is not None and (mode is not None or after is not None):
            refuse("unsupported", "'when' goes with nothing else in an output rate")
        condition = None if when is None else conjunction([when])
        with refusing("bad-output"):
            rate: Any = {"mode": mode, "every": _amount(every), "after": _amount(after)}
            return self._with(output=OutputRate(**rate, when=condition))

    def order_by(self, *items: Operand | Descending) -> Query:
        """`.order_by("x", cep.col("y").desc())`"""
        return self._with(order_by=tuple(_order_item(item) for item in items))

    def limit(self, count: int, offset: int = 0) -> Query:
        """At most so many rows of each output, after leaving out the first ones."""
        return self._with(limit=Limit(whole(count, "a limit"), whole(offset, "an offset")))

    # What the statement is.

    def in_context(self, context: str) -> Query:
        """One instance of the statement for each key of the context."""
        return self._with(context=name(context, "a context"))

    def named(self, text: str) -> Query:
        """With `@Name`."""
        return self._noted("Name", name(text, "a name"))

    def priority(self, number: int) -> Query:
        """With `@Priority`: at one event, statements of higher priority go first."""
        return self._noted("Priority", whole(number, "a priority", least=-(2**31)))

    def _with(self, **changes: Any) -> Query:
        return Query(replace(self.tree, **changes))


def stream(type: str, *conditions: Operand, alias: str | None = None) -> Query:
    """A statement over the events of a type that fulfil all conditions; selects `*` at first.

    >>> print(cep.stream("Reading", cep.col("v") > 30, alias="r"))
    select *
    from Reading(v > 30) as r;
    """
    known_as = None if alias is None else name(alias, "an alias")
    source = StreamSource(name(type, "an event type"), conjunction(conditions), known_as)
    return Query(Statement(select=(SelectAll(),), source=source))


def match(pattern: Pattern) -> Query:
    """A statement over the matches of a pattern; selects `*` at first.

    >>> print(cep.match(cep.every(cep.event("a", "A"))).select("a.x"))
    select a.x
    from pattern [every a=A];
    """
    root = node(pattern)
    fact = DEFAULT.excess(root)
    if fact:
        refuse("too-deep", fact)
    return Query(Statement(select=(SelectAll(),), source=PatternSource(root)))


def _item(item: Operand | Aliased) -> SelectItem:
    if isinstance(item, Aliased):
        return SelectExpr(checked(item.tree), item.alias)
    if isinstance(item, str) and (item == "*" or item.endswith(".*")):
        return SelectAll(None if item == "*" else _tag(item.removesuffix(".*")))
    return SelectExpr(column(item))


def _tag(text: str) -> str:
    is_quoted = len(text) > 2 and text[0] == text[-1] == "`"
    return name(text[1:-1] if is_quoted else text, "a tag")


def _window(window: object) -> Window:
    if not isinstance(window, Window):
        hint = "write for example cep.window.length(5)"
        refuse("usage", f"{shown(window)} is not a data window", hint)
    return window


def _added(before: Expr | None, conditions: tuple[Operand, ...]) -> Expr | None:
    if not conditions:
        refuse("usage", "no condition", "write for example cep.col('x') > 5")
    return conjunction(conditions if before is None else (before, *conditions))


def _amount(value: int | str | timedelta | None) -> int | Period | None:
    if isinstance(value, str | timedelta):
        return period(value)
    return None if value is None else whole(value, "a number of events", "bad-output")


def _order_item(item: Operand | Descending) -> OrderItem:
    if isinstance(item, Descending):
        return OrderItem(checked(item.tree), descending=True)
    return OrderItem(column(item))
