"""Windows that are probably of the wrong kind.

- A sliding or length window over single rows changes nothing where only new rows are shown: there
  is nothing that sees a row leave it.
- A threshold on what a batch adds up misses what lies on both sides of the end of a period; an
  alarm wants a window that slides. Averages and extremes add nothing up, and who asks for days or
  longer wants a report.
- A count per batch gives one row per period, where a window that slides tells every change. Both
  make sense, so this is a note, and none for a report.

What is seen: the window, the aggregates and the conditions of a statement, and conditions of other
statements on what it counts. What is not seen: what the author wants.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.core.time import MICROSECONDS
from cepheid.errors import Diagnostic, note, warning
from cepheid.expr.tree import Binary, Column, Expr, InRange, Literal, walk
from cepheid.expr.typing import aggregates_in
from cepheid.pattern.tree import Atom
from cepheid.pattern.tree import walk as walk_pattern
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedStatement, Shape
from cepheid.program.tree import LengthWindow, TimeBatch, TimeWindow


def find(graph: Graph) -> Iterator[Diagnostic]:
    for number, statement in enumerate(graph.statements):
        window = statement.tree.window
        span = window.span if window and window.span else statement.tree.span
        if isinstance(window, TimeWindow | LengthWindow) and _shows_new_rows_only(statement):
            fact = f"the window of '{statement.name}' has no effect: only new rows are shown"
            hint = "add an aggregate, or leave the window out"
            yield warning("window-kind", fact, span, hint)
        elif isinstance(window, TimeBatch) and _is_report(window):
            continue
        elif isinstance(window, TimeBatch) and _has_threshold(graph, number):
            fact = (
                f"'{statement.name}' tests what each period of {window.period} adds up to: events on"
                " both sides of its end never count together"
            )
            hint = f"a window that slides counts them: #time({window.period})"
            yield warning("window-kind", fact, span, hint)
        elif isinstance(window, TimeBatch) and _counts(statement):
            fact = f"'{statement.name}' counts once per {window.period}, at its end"
            hint = f"#time({window.period}) would tell every change of the count"
            yield note("window-kind", fact, span, hint)


def _is_report(window: TimeBatch) -> bool:
    """Whether its periods are days or longer."""
    return bool(window.period.months) or window.period.microseconds >= MICROSECONDS["days"]


def _shows_new_rows_only(statement: ResolvedStatement) -> bool:
    tree = statement.tree
    streams = {tree.stream, tree.insert_stream}
    return statement.shape is Shape.ROW and streams == {"istream"} and tree.output is None


def _counts(statement: ResolvedStatement) -> bool:
    return statement.shape is Shape.TOTAL and any(
        getattr(e, "function", None) == "count" for c in statement.columns for e in walk(c.expr)
    )


def _has_threshold(graph: Graph, number: int) -> bool:
    """Whether an aggregate of the statement is compared with a number, here or where it is taken."""
    statement = graph.statements[number]
    if statement.having is not None and _compares(statement.having, None):
        return True
    columns = {c.name for c in statement.columns if _adds_up(c.expr)}
    takers = [graph.statements[taker] for maker, taker in graph.pairs if maker == number]
    return any(_compares(e, columns) for taker in takers for e in _filters(taker))


def _adds_up(expr: Expr) -> bool:
    return any(aggregate.function in ("count", "sum") for aggregate in aggregates_in(expr))


def _filters(statement: ResolvedStatement) -> Iterator[Expr]:
    parts = walk_pattern(statement.pattern) if statement.pattern is not None else ()
    conditions = [part.condition for part in parts if isinstance(part, Atom)]
    conditions += [statement.condition, statement.where]
    yield from (condition for condition in conditions if condition is not None)


def _compares(condition: Expr, columns: set[str] | None) -> bool:
    """Whether an order between a number and an aggregate, or one of some columns, is tested."""
    for part in walk(condition):
        if isinstance(part, InRange) or (
            isinstance(part, Binary) and part.operator in ("<", "<=", ">", ">=")
        ):
            inside = list(walk(part))
            names = {e.path[-1].name for e in inside if isinstance(e, Column) and e.path}
            is_meant = _adds_up(part) if columns is None else bool(names & columns)
            if is_meant and any(isinstance(e, Literal) for e in inside):
                return True
    return False
