"""From a statement to its part of the net: where its rows come from, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable

from cepheid.core.event import Event
from cepheid.expr.evaluate import group_key
from cepheid.formal.petri.agenda import NUMBER, Agenda, E, T
from cepheid.formal.petri.clauses import Clauses
from cepheid.formal.petri.functions import APPEND, MEMBER, Binding
from cepheid.formal.petri.inscriptions import Row
from cepheid.formal.petri.instances import ID, KEY, Instances, M, X
from cepheid.formal.petri.net import INT, Arc, Simple, Transition
from cepheid.formal.petri.operators import DRAWS, STATES
from cepheid.formal.petri.patterns import draw_pattern, is_plain, tags_of
from cepheid.formal.petri.sheet import Effect, Sheet, reading
from cepheid.formal.petri.terms import Const, Function, Term, Var, call, negation, plus, product
from cepheid.formal.petri.windows import is_simple, results_of
from cepheid.pattern import tree
from cepheid.program.resolved import ResolvedStatement

_KEYS, _PART = Var("keys"), Var("part")
KEYS = Simple("KEYS", tuple)


def translate_source(sheet: Sheet, statement: ResolvedStatement) -> None:
    """Draws a whole statement."""
    pattern, has_context = statement.pattern, statement.context is not None
    if pattern is None:
        _draw_stream(sheet, statement)
    elif is_plain(pattern) and not has_context:
        tags = tags_of(pattern)
        row = Row(T, None, tags)
        found = Function("binding", _binder(tuple(tag for tag, _ in tags)))
        values = call(found, *(variable for _, variable in tags))
        draw_pattern(sheet, statement, pattern, lambda: _results(sheet, statement, row, values))
    else:
        _draw_instances(sheet, statement, pattern)


def _binder(tags: tuple[str, ...]) -> Callable[..., Binding]:
    return lambda *events: tuple(zip(tags, events, strict=True))


def _results(sheet: Sheet, statement: ResolvedStatement, row: Row, found: Term) -> Effect:
    """What becomes of a row of a statement without a context."""
    if is_simple(statement):
        return results_of(sheet, statement, row)
    clauses = Clauses(sheet, statement)
    clauses.begin()
    return clauses.draw(Const(1), found)


def _draw_stream(sheet: Sheet, statement: ResolvedStatement) -> None:
    """A stream is a pattern that takes every event, and calls none by a name."""
    assert statement.event_type is not None
    pattern = tree.Every(tree.Atom(statement.event_type, None, statement.condition))
    if statement.context is None:
        row = Row(T, E)
        draw_pattern(sheet, statement, pattern, lambda: _results(sheet, statement, row, E))
        return
    clauses, key_of = Clauses(sheet, statement), key_function(sheet, statement)
    partitions = sheet.place(f"{statement.name}.partitions", KEY, INT)
    belongs = Arc(partitions, product(call(key_of, E), _PART))
    effect = reading(belongs) + clauses.draw(_PART, E)
    draw_pattern(sheet, statement, pattern, lambda: effect)
    agenda = Agenda(sheet, statement)
    ids = sheet.place(f"{statement.name}.ids", INT, start=0)
    begin = Effect(
        (Arc(ids, M), agenda.old_now),
        (
            Arc(ids, plus(M, 1)),
            Arc(agenda.now, product(T, NUMBER, NUMBER)),
            Arc(partitions, product(call(key_of, E), plus(M, 1))),
            *clauses.begin_partition(plus(M, 1)),
        ),
    )
    _draw_partition(sheet, statement, key_of, begin)


def _draw_instances(sheet: Sheet, statement: ResolvedStatement, pattern: tree.Pattern) -> None:
    has_context = statement.context is not None
    key_of = key_function(sheet, statement) if has_context else None
    net = Instances(sheet, statement, DRAWS, STATES, key_of)
    root = net.parts(pattern)
    clauses: Clauses | None = None
    if is_simple(statement):
        effect = results_of(sheet, statement, Row(T, None, binding=X))
    else:
        clauses = Clauses(sheet, statement)
        effect = clauses.draw(ID if has_context else Const(1), X)
    net.draw(root, effect)
    if key_of is None:
        net.begin(root)
        if clauses is not None:
            clauses.begin()
        return
    assert clauses is not None
    begin = net.begin_partition(root, call(key_of, E))
    begin += Effect(outputs=clauses.begin_partition(plus(M, 1)))
    _draw_partition(sheet, statement, key_of, begin)


def key_function(sheet: Sheet, statement: ResolvedStatement) -> Function:
    """The key of the context partition that an event belongs to."""
    types = sheet.program.types

    def key(event: Event) -> object:
        for name in statement.inputs:
            if name == event.type or name in types[event.type].ancestors:
                attributes = statement.key_of(name)
                if attributes is not None:
                    return tuple(group_key(event.values_.get(a)) for a in attributes)
        return ()

    return Function("key", key)


def _draw_partition(
    sheet: Sheet, statement: ResolvedStatement, key_of: Function, begin: Effect
) -> None:
    """The first event of a key starts a partition."""
    place = sheet.place(f"{statement.name}.keys", KEYS, start=())
    key = call(key_of, E)
    title = f"{statement.name}.new_partition"
    types = dict.fromkeys(t for name in statement.inputs for t in sheet.counted_as(name))
    for name in types:
        taken = Arc("Ev", product(NUMBER, Const(name), T, E))
        sheet.add(
            Transition(
                title if len(types) == 1 else f"{title} {name}",
                (Arc(place, _KEYS), taken, *begin.inputs),
                (Arc(place, call(APPEND, _KEYS, key)), taken, *begin.outputs),
                negation(call(MEMBER, key, _KEYS)),
                sheet.partition_level(statement),
            )
        )
