"""From a statement to its part of the net: where its rows come from, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from cepheid.formal.petri.functions.lists import APPEND, BIND, MEMBER
from cepheid.formal.petri.nets.net import INT, Arc, Simple, Transition
from cepheid.formal.petri.nets.terms import Const, Term, Var, call, negation, plus, product
from cepheid.formal.petri.translation.clauses import Clauses
from cepheid.formal.petri.translation.ending_patterns import ID, KEY, Instances, M, X
from cepheid.formal.petri.translation.inscriptions import KeyOf, Row
from cepheid.formal.petri.translation.net_builder import Effect, NetBuilder, reading
from cepheid.formal.petri.translation.operators import DRAWS, STATES
from cepheid.formal.petri.translation.plain_patterns import (
    draw_pattern,
    draw_stream,
    is_plain,
    tags_of,
)
from cepheid.formal.petri.translation.timers import NUMBER, Agenda, E, T
from cepheid.formal.petri.translation.windows import is_simple, results_of
from cepheid.pattern import tree
from cepheid.program.resolved import ResolvedStatement

_KEYS, _PART = Var("keys"), Var("part")
KEYS = Simple("KEYS", tuple)
Keys: TypeAlias = Mapping[str, Term]


def translate_source(builder: NetBuilder, statement: ResolvedStatement) -> None:
    """Draws a whole statement."""
    pattern, has_context = statement.pattern, statement.context is not None
    if pattern is None:
        _draw_stream(builder, statement)
    elif is_plain(pattern) and not has_context:
        tags = tags_of(pattern)
        row = Row(T, None, tags)
        values: Term = Const(())
        for tag, variable in tags:
            values = call(BIND, values, Const(tag), variable)
        draw_pattern(builder, statement, pattern, lambda: _results(builder, statement, row, values))
    else:
        _draw_instances(builder, statement, pattern)


def _results(builder: NetBuilder, statement: ResolvedStatement, row: Row, found: Term) -> Effect:
    """What becomes of a row of a statement without a context."""
    if is_simple(statement):
        return results_of(builder, statement, row)
    clauses = Clauses(builder, statement)
    clauses.begin()
    return clauses.draw(Const(1), found)


def _draw_stream(builder: NetBuilder, statement: ResolvedStatement) -> None:
    """A stream is a pattern that takes every event, and calls none by a name."""
    assert statement.event_type is not None
    pattern = tree.Every(atom := tree.Atom(statement.event_type, None, statement.condition))
    if statement.context is None:
        row = Row(T, E)
        draw_pattern(builder, statement, pattern, lambda: _results(builder, statement, row, E))
        return
    clauses, keys = Clauses(builder, statement), _keys(builder, statement)
    partitions = builder.place(f"{statement.name}.partitions", KEY, INT)
    found = clauses.draw(_PART, E)

    def belonging(event_type: str) -> Effect:
        return reading(Arc(partitions, product(keys[event_type], _PART))) + found

    draw_stream(builder, statement, atom, belonging)
    agenda = Agenda(builder, statement)
    ids = builder.place(f"{statement.name}.ids", INT, start=0)

    def begin(key: Term) -> Effect:
        return Effect(
            (Arc(ids, M), agenda.old_now),
            (
                Arc(ids, plus(M, 1)),
                Arc(agenda.now, product(T, NUMBER, NUMBER)),
                Arc(partitions, product(key, plus(M, 1))),
                *clauses.begin_partition(plus(M, 1)),
            ),
        )

    _draw_partitions(builder, statement, keys, begin)


def _draw_instances(
    builder: NetBuilder, statement: ResolvedStatement, pattern: tree.Pattern
) -> None:
    has_context = statement.context is not None
    keys = _keys(builder, statement) if has_context else None
    net = Instances(builder, statement, DRAWS, STATES, keys)
    root = net.parts(pattern)
    clauses: Clauses | None = None
    if is_simple(statement):
        effect = results_of(builder, statement, Row(T, None, binding=X))
    else:
        clauses = Clauses(builder, statement)
        effect = clauses.draw(ID if has_context else Const(1), X)
    net.draw(root, effect)
    if keys is None:
        net.begin(root)
        if clauses is not None:
            clauses.begin()
        return
    assert clauses is not None
    windows = Effect(outputs=clauses.begin_partition(plus(M, 1)))
    _draw_partitions(builder, statement, keys, lambda key: net.begin_partition(root, key) + windows)


def _keys(builder: NetBuilder, statement: ResolvedStatement) -> Keys:
    """For each type that a statement takes: the key of the partition that an event belongs to."""

    def attributes(event_type: str) -> tuple[str, ...]:
        ancestors = {event_type, *builder.program.types[event_type].ancestors}
        found = (statement.key_of(name) for name in statement.inputs if name in ancestors)
        return next((key for key in found if key is not None), ())

    taken = dict.fromkeys(t for name in statement.inputs for t in builder.counted_as(name))
    return {name: KeyOf(E, attributes(name)) for name in taken}


def _draw_partitions(
    builder: NetBuilder, statement: ResolvedStatement, keys: Keys, start: Callable[[Term], Effect]
) -> None:
    """The first event of a key starts a partition."""
    place = builder.place(f"{statement.name}.keys", KEYS, start=())
    title = f"{statement.name}.new_partition"
    for name, key in keys.items():
        begin = start(key)
        taken = Arc("Ev", product(NUMBER, Const(name), T, E))
        builder.add(
            Transition(
                title if len(keys) == 1 else f"{title} {name}",
                (Arc(place, _KEYS), taken, *begin.inputs),
                (Arc(place, call(APPEND, _KEYS, key)), taken, *begin.outputs),
                negation(call(MEMBER, key, _KEYS)),
                builder.partition_level(statement),
            )
        )
