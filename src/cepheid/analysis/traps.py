"""What is right by the rules, and hardly what was meant.

- `-> not X` is true at once: it asks that X is missing at an instant, not for a time.
- A guard around `every` ends all of it for good; one around the sequence in `every` counts from the
  moment at which `every` starts it, not from the first event.
- A guard of no time, a date that no calendar has, a count that no window reaches: never true.
- `distinct`, `limit` and `order by` of rows that come one by one do nothing.
- An index beyond what a repetition collects is always null; one that collects millions never ends.
- A sequence of events that have a key, and no condition on it, takes those of different keys.
- Groups that nothing ends stay for ever, and ever-new ones grow without bound.

What is seen: the form of a statement. What is taken for a key: an attribute by which the program
groups, splits or compares elsewhere, one whose name says so, or the first text of a type. What is
not seen: what the author wants; `or` and `not` between conditions on keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cepheid.core.time import Period
from cepheid.core.types import STRING, EventType, is_integral
from cepheid.errors import Diagnostic, note, warning
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Aggregate, Binary, Call, Column, Expr, Literal, conjuncts, walk
from cepheid.expr.typing import aggregates_in
from cepheid.pattern.algebra import Occurrence
from cepheid.pattern.tree import (
    Absent,
    AllOf,
    AnyOf,
    At,
    Atom,
    Every,
    EveryDistinct,
    FollowedBy,
    Pattern,
    Repeat,
    Within,
    atoms,
    children,
)
from cepheid.pattern.tree import walk as walk_pattern
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedStatement
from cepheid.program.tree import LengthBatch, LengthWindow

_MANY = 1_000_000  # events that one match collects
_KEY_NAMES = ("id", "key")


def find(graph: Graph) -> Iterator[Diagnostic]:
    keys = _keys_of_program(graph)
    for statement in graph.statements:
        pattern = statement.pattern
        if pattern is not None and not isinstance(pattern, Occurrence):
            yield from _true_at_once(statement, pattern)
            yield from _guards(statement, pattern)
            yield from _impossible_times(statement, pattern)
            yield from _indices(statement, pattern)
            yield from _across_keys(statement, pattern, graph.program.types, keys)
        yield from _single_rows(statement)
        yield from _unreached_counts(statement)
        yield from _groups(statement, graph.program.types)


# Patterns.


def has_true_at_once(pattern: Pattern) -> bool:
    """Whether a `not` in it is true before anything could happen."""
    return any(True for _ in _absences(pattern))


def _true_at_once(statement: ResolvedStatement, pattern: Pattern) -> Iterator[Diagnostic]:
    for absent, following in _absences(pattern):
        missing = next(atoms(absent), None)
        name = missing.event_type if missing is not None else "..."
        if isinstance(following, Atom):
            tag = f"{following.tag}=" if following.tag else ""
            test = "(...)" if following.condition is not None else ""
            wanted = f"({tag}{following.event_type}{test} and not {name})"
            hint = f"`{wanted}` takes one of {following.event_type} with none of {name} before it"
        else:
            guard = absent.child.period if isinstance(absent.child, Within) else Period(10_000_000)
            wanted = f"(timer:interval({guard}) and not {name})"
            hint = f"`{wanted}` is true when that time is over and none of {name} came"
        fact = f"`not {name}` in '{statement.name}' is true at once, whatever comes after it"
        yield warning("true-at-once", fact, absent.span or statement.tree.span, hint)


def _absences(
    pattern: Pattern, following: Pattern | None = None
) -> Iterator[tuple[Absent, Pattern | None]]:
    """Absences that stand alone, each with what comes after it."""
    match pattern:
        case Absent():
            yield pattern, following
        case FollowedBy(parts):
            for part, after in zip(parts, [*parts[1:], None], strict=True):
                yield from _absences(part, after)
        case AllOf(parts):
            is_alone = all(isinstance(part, Absent) for part in parts)
            for part in parts:
                if is_alone or not isinstance(part, Absent):
                    yield from _absences(part)
        case _:
            for child in children(pattern):
                yield from _absences(child, following)


def _guards(statement: ResolvedStatement, pattern: Pattern) -> Iterator[Diagnostic]:
    span = pattern.span or statement.tree.source.span or statement.tree.span
    match pattern:
        case Within(child, period, None) if any(isinstance(p, Every) for p in walk_pattern(child)):
            fact = f"'{statement.name}' ends for good {period} after it starts: the guard is around `every`"
            hint = (
                f"`every a=A -> (... where timer:within({period}))` gives each match its own time"
            )
            yield warning("guard-start", fact, span, hint)
        case Every(Within(FollowedBy(parts), period, None)) if isinstance(parts[0], Atom):
            first = parts[0].event_type
            fact = (
                f"the {period} of '{statement.name}' count from the moment at which `every` starts, not"
                f" from its {first}: matches that take less time may be missed"
            )
            tag = f"{parts[0].tag}=" if parts[0].tag else ""
            hint = f"`every {tag}{first} -> (... where timer:within({period}))` counts from {first}"
            yield warning("guard-start", fact, span, hint)


def _impossible_times(statement: ResolvedStatement, pattern: Pattern) -> Iterator[Diagnostic]:
    for part in walk_pattern(pattern):
        span = part.span or statement.tree.source.span or statement.tree.span
        if isinstance(part, Within) and part.period.is_zero:
            fact = (
                f"'{statement.name}' can never match: `timer:within(0)` leaves its events no time"
            )
            yield warning("never-matches", fact, span)
        elif isinstance(part, At) and part.schedule.after(0) is None:
            fact = f"'{statement.name}' can never match: the calendar has no such date"
            yield warning("never-matches", fact, span)


def _indices(statement: ResolvedStatement, pattern: Pattern) -> Iterator[Diagnostic]:
    """Of repetitions with an end."""
    most: dict[str | None, int] = {}
    for part in walk_pattern(pattern):
        if isinstance(part, Repeat) and any(atom.tag for atom in atoms(part.child)):
            if part.low is not None and part.low > _MANY:
                fact = f"each match of '{statement.name}' collects {part.low:,} events before it is one"
                span = part.span or statement.tree.span
                yield warning("unbounded-state", fact, span, "count them in a window instead")
            if part.high is not None:
                most |= {atom.tag: part.high for atom in atoms(part.child)}
    for _, whole in statement.expressions:
        for expr in walk(whole):
            if isinstance(expr, Column) and (expr.index or 0) >= most.get(expr.tag, _MANY):
                yield _beyond(statement, expr, most[expr.tag])


def _beyond(statement: ResolvedStatement, expr: Column, most: int) -> Diagnostic:
    events = "has 1 event" if most == 1 else f"has at most {most} events"
    fact = f"`{print_expr(expr)}` is always null: `{expr.tag}` {events}"
    hint = f"they count from 0: the last is {expr.tag}[{most - 1}]"
    return warning("index-beyond", fact, expr.span or statement.tree.span, hint)


# Keys.


def _keys_of_program(graph: Graph) -> set[str]:
    """The names of attributes by which the program groups, splits or compares."""
    found: set[str] = set()
    for context in graph.program.tree.contexts:
        found |= {name for key in context.keys for name in key.attributes}
    for statement in graph.statements:
        found |= {e.path[0].name for e in statement.group_by if isinstance(e, Column) and e.path}
        found |= {name for _, expr in statement.expressions for name in _compared(expr)}
    return found


def _compared(condition: Expr) -> Iterator[str]:
    """The attributes that two events must have in common."""
    for expr in walk(condition):
        if isinstance(expr, Binary) and expr.operator in ("=", "is"):
            left, right = expr.left, expr.right
            if isinstance(left, Column) and isinstance(right, Column) and left.tag != right.tag:
                yield from (side.path[0].name for side in (left, right) if side.path)


def _across_keys(
    statement: ResolvedStatement, pattern: Pattern, types: Mapping[str, EventType], keys: set[str]
) -> Iterator[Diagnostic]:
    taken = list(_taken(pattern))
    if len(taken) < 2 or statement.context is not None:
        return
    if any(True for _, expr in statement.expressions for _ in _compared(expr)):
        return
    if any(isinstance(part, EveryDistinct) for part in walk_pattern(pattern)):
        return
    key = _key_of([types[atom.event_type] for atom in taken], keys)
    if key is None:
        return
    first, second = taken[0], taken[1]
    fact = (
        f"'{statement.name}' puts together events that differ in `{key}`: no condition compares it"
    )
    hint = f"if that is not meant, `{second.event_type}({key} = {first.tag or 'a'}.{key})`"
    yield note("across-keys", fact, statement.tree.source.span or statement.tree.span, hint)


def _taken(pattern: Pattern) -> Iterator[Atom]:
    """The events that every match has, each once."""
    if isinstance(pattern, Atom):
        yield pattern
    elif not isinstance(pattern, Absent | AnyOf | Repeat):
        for child in children(pattern):
            yield from _taken(child)


def _key_of(types: list[EventType], keys: set[str]) -> str | None:
    """The attribute that all have and that is most likely a key."""
    shared = [
        attribute
        for attribute in types[0].attributes
        if all(type.find(attribute.name) == attribute.type for type in types)
        and (attribute.type == STRING or is_integral(attribute.type))
    ]
    texts = [attribute.name for attribute in shared if attribute.type == STRING]
    likely = [a.name for a in shared if a.name in keys]
    likely += [a.name for a in shared if a.name.lower().endswith(_KEY_NAMES)]
    return next(iter([*likely, *texts]), None)


# Rows.


def _single_rows(statement: ResolvedStatement) -> Iterator[Diagnostic]:
    tree = statement.tree
    is_batched = tree.output is not None and tree.output.after is None
    if tree.window is not None or is_batched:
        return
    hint = "#time_batch(1 minute), or `output every 1 minute`, gives several rows at a time"
    if tree.distinct:
        fact = f"`distinct` in '{statement.name}' has no effect: its rows come one by one"
        yield warning(
            "single-rows",
            fact,
            tree.span,
            f"{hint}; `from pattern [every-distinct(a.x) a=A]` leaves out repetitions",
        )
    if tree.order_by:
        fact = f"`order by` in '{statement.name}' has no effect: its rows come one by one"
        yield warning("single-rows", fact, tree.order_by[0].span or tree.span, hint)
    if tree.limit is not None and (tree.limit.offset or tree.limit.count):
        effect = "shows no row at all" if tree.limit.offset else "has no effect"
        fact = f"`limit` in '{statement.name}' {effect}: its rows come one by one"
        yield warning("single-rows", fact, tree.limit.span or tree.span, hint)


def _unreached_counts(statement: ResolvedStatement) -> Iterator[Diagnostic]:
    window = statement.tree.window
    if not isinstance(window, LengthWindow | LengthBatch):
        return
    for part in conjuncts(statement.having):
        if (least := _least_count(part)) is not None and least > window.size:
            rows = "1 row" if window.size == 1 else f"{window.size} rows"
            fact = f"'{statement.name}' can never match: its window holds {rows}, `{print_expr(part)}` needs {least}"
            yield warning("never-matches", fact, part.span or statement.tree.span)


def _least_count(condition: Expr) -> int | None:
    """How many rows a condition on a count needs."""
    if not isinstance(condition, Binary):
        return None
    operator, left, right = condition.operator, condition.left, condition.right
    if isinstance(right, Aggregate):
        left, right, operator = right, left, _MIRRORED.get(operator, operator)  # type: ignore[assignment]
    is_count = isinstance(left, Aggregate) and left.function == "count"
    if not is_count or not isinstance(right, Literal) or not isinstance(right.value, int):
        return None
    return {">": right.value + 1, ">=": right.value, "=": right.value}.get(operator)


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _groups(statement: ResolvedStatement, types: Mapping[str, EventType]) -> Iterator[Diagnostic]:
    counts = any(True for column in statement.columns for _ in aggregates_in(column.expr))
    if statement.tree.window is not None or not statement.group_by or not counts:
        return
    shown = ", ".join(f"`{print_expr(expr)}`" for expr in statement.group_by)
    span = statement.group_by[0].span or statement.tree.span
    hint = "a window such as #time(1 day) lets groups go that get no more events"
    if any(_is_ever_new(expr, statement, types) for expr in statement.group_by):
        fact = f"the state of '{statement.name}' grows without bound: {shown} makes new groups all the time"
        yield warning("unbounded-state", fact, span, hint)
    else:
        fact = f"'{statement.name}' keeps a group for each {shown} that ever came"
        yield note("unbounded-state", fact, span, hint)


def _is_ever_new(expr: Expr, statement: ResolvedStatement, types: Mapping[str, EventType]) -> bool:
    """Whether its values go on with time."""
    rules = [types[name].time for name in statement.inputs]
    times = {rule.attribute for rule in rules if rule is not None}
    if any(isinstance(e, Call) and e.function == "current_timestamp" for e in walk(expr)):
        return True
    return isinstance(expr, Column) and bool(expr.path) and expr.path[-1].name in times
