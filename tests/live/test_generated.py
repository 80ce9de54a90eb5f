"""The matcher beside the reference, over generated metamodels, models, queries and changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import Severity
from cepheid.lang.queries.parser import parse
from cepheid.lang.queries.printer import print_queries
from cepheid.live.changes import ChangeKind, Commit
from cepheid.live.matching.matcher import Delta, Matcher
from cepheid.live.metamodel import Feature
from cepheid.live.model import Model, Object
from cepheid.live.queries.resolve import resolve_queries
from cepheid.live.queries.resolved import Queries
from cepheid.live.reference import Row, from_scratch
from cepheid.query.tree import (
    Check,
    Constraint,
    Count,
    Edge,
    Equality,
    Eval,
    Find,
    IsA,
    Negation,
    QueryTree,
)
from tests.effort import examples
from tests.live.worlds import change_model, metamodel, query_tree

# A number for each world: to choose every choice in it by itself takes ten times as long.
RANDOMS = st.integers(0, 10**9).map(Random)


class History:
    """All readings of all attributes: what moving averages are taken of."""

    def __init__(self, model: Model) -> None:
        self.readings: dict[tuple[Object, Feature], list[object]] = {}
        for one in model.objects():
            for feature in one.kind.features.values():
                self._read(one, feature)

    def take(self, commit: Commit) -> None:
        told: dict[tuple[Object, Feature], None] = dict.fromkeys(commit.samples)
        for change in commit.changes:
            if change.kind is ChangeKind.CREATE:
                told |= {(change.object, f): None for f in change.object.kind.features.values()}
            elif change.feature is not None:
                told[change.object, change.feature] = None
        for one, feature in told:
            self._read(one, feature)
        gone = {c.object for c in commit.changes if not c.object.is_alive}
        for key in [key for key in self.readings if key[0] in gone]:
            del self.readings[key]  # also if a revert brings the object back

    def _read(self, one: Object, feature: Feature) -> None:
        value = one.values.get(feature)
        if value is not None and one.is_alive:
            self.readings.setdefault((one, feature), []).append(value)

    def average(self, one: Object, feature: Feature, size: int) -> float | None:
        last = self.readings.get((one, feature), [])[-size:]
        return sum(last) / len(last) if last else None  # type: ignore[arg-type]


def resolved(rng: Random) -> Queries:
    known = metamodel(rng)
    queries, problems = resolve_queries(query_tree(rng, known), known)
    errors = [p for p in problems if p.severity is Severity.ERROR]
    # Joined by chance, two variables may have types that never fit.
    assert {p.code for p in errors} <= {"type-mismatch"}
    return queries if not errors else resolved(rng)


def rows(queries: Queries, model: Model, history: History) -> dict[str, set[Row]]:
    return {
        query.name: from_scratch(query.name, queries, model, history.average)
        for query in queries.queries
    }


def lines(delta: Delta, name: str) -> list[tuple[str, Row]]:
    return [(m.query, m.row) for m in getattr(delta, name)]


def is_same(one: set[Row], other: set[Row]) -> bool:
    return Counter(map(repr, one)) == Counter(map(repr, other))


@examples(400)
@given(RANDOMS)
def test_matches_and_deltas_are_those_of_the_reference(rng: Random) -> None:
    queries = resolved(rng)
    model = Model(queries.metamodel)
    change_model(rng, model, 12)
    matcher, history = Matcher(model, queries), History(model)
    model.listeners.insert(0, history.take)
    before = rows(queries, model, history)
    for _ in range(rng.randint(1, 6)):
        delta = matcher.delta
        state = snapshot(model)
        change_model(rng, model, rng.randint(1, 6))
        after = rows(queries, model, history)
        for query in queries.queries:
            assert is_same({m.row for m in matcher.matches(query.name)}, after[query.name]), (
                print_queries(queries_tree(queries))
            )
        if matcher.delta is delta:  # the transaction was rolled back
            assert snapshot(model) == state
            assert before == after
        else:
            assert matcher.delta is not None
            check_delta(queries, matcher.delta, before, after)
            if rng.random() < 0.3:
                model.revert(matcher.delta.commit)
                assert snapshot(model) == state
                back = rows(queries, model, history)
                for query in queries.queries:
                    found = {m.row for m in matcher.matches(query.name)}
                    assert is_same(found, back[query.name])
                check_delta(queries, matcher.delta, after, back)
                after = back
        before = after


def queries_tree(queries: Queries) -> QueryTree:
    return QueryTree(tuple(q.tree for q in queries.queries))


def snapshot(model: Model) -> list[object]:
    """All that can be seen of a model."""
    return [
        (one, one.container, *(repr(one[name]) for name in one.kind.features))
        for one in model.objects()
    ]


def check_delta(
    queries: Queries, delta: Delta, before: dict[str, set[Row]], after: dict[str, set[Row]]
) -> None:
    public = [query.name for query in queries.queries if not query.tree.is_private]
    changed = set(really_changed(delta.commit))
    for name in public:
        shown = {kind: {m.row for m in getattr(delta, kind) if m.query == name} for kind in KINDS}
        stay = {row for row in after[name] if repr(row) in set(map(repr, before[name]))}
        updated = {row for row in stay if changed & {x for x in row if isinstance(x, Object)}}
        assert is_same(shown["found"], after[name] - stay)
        assert is_same(shown["lost"] | stay, before[name])
        assert is_same(shown["updated"], updated)
    for kind in KINDS:
        told = getattr(delta, kind)
        order = [
            (public.index(m.query), *(x.id for x in m.row if isinstance(x, Object))) for m in told
        ]
        assert order == sorted(order)
        assert len({repr(m) for m in told}) == len(told)


KINDS = ("found", "lost", "updated")


def really_changed(commit: Commit) -> Iterator[Object]:
    """By undoing the changes on paper: the objects that end otherwise than they began."""
    now: dict[tuple[Object, Feature], object] = {}
    for change in commit.changes:
        if change.feature is not None:
            one, feature = change.object, change.feature
            held = one.values.get(feature)
            now[one, feature] = frozenset(held) if isinstance(held, dict) else held
            if feature.is_many and held is None:
                now[one, feature] = frozenset()
    old = dict(now)
    for change in reversed(commit.changes):
        if change.feature is None:
            continue
        place = change.object, change.feature
        if change.kind is ChangeKind.SET:
            old[place] = change.old
        elif change.kind is ChangeKind.ADD:
            old[place] = old[place] - {change.new}  # type: ignore[operator]
        else:
            old[place] = old[place] | {change.old}  # type: ignore[operator]
    yield from (place[0] for place in now if repr(now[place]) != repr(old[place]))


@examples(200)
@given(RANDOMS)
def test_generated_queries_read_back_as_printed(rng: Random) -> None:
    tree = query_tree(rng, metamodel(rng))
    parsed = parse(print_queries(tree))
    assert not parsed.problems
    assert parsed.tree == tree


REACHED = (IsA, Edge, Equality, Find, Negation, Count, Check, Eval)


def test_the_generator_reaches_every_kind_of_constraint() -> None:
    found: Counter[str] = Counter()
    for seed in range(300):
        rng = Random(seed)
        for query in resolved(rng).queries:
            found["or"] += len(query.tree.bodies) > 1
            for body in query.tree.bodies:
                for constraint in body.constraints:
                    found[type(constraint).__name__] += 1
                    found["closure"] += isinstance(constraint, Find) and constraint.transitive
                    found["unequal"] += isinstance(constraint, Equality) and constraint.negated
                    found["average"] += "moving_avg" in repr(constraint)
    kinds = {kind.__name__ for kind in REACHED} | {"or", "closure", "unequal", "average"}
    assert kinds <= {c.__name__ for c in Constraint.__subclasses__()} | kinds
    assert not [kind for kind in kinds if found[kind] < 10], found


def test_the_generator_reaches_found_lost_and_updated_matches() -> None:
    found: Counter[str] = Counter()
    for seed in range(150):
        rng = Random(seed)
        queries = resolved(rng)
        model = Model(queries.metamodel)
        change_model(rng, model, 12)
        matcher = Matcher(model, queries)
        for _ in range(5):
            change_model(rng, model, 5)
            if matcher.delta is not None:
                found.update({kind: len(getattr(matcher.delta, kind)) for kind in KINDS})
    assert all(found[kind] > 100 for kind in KINDS), found


@pytest.mark.parametrize("kind", [k.__name__ for k in Constraint.__subclasses__()])
def test_no_kind_of_constraint_is_forgotten_here(kind: str) -> None:
    assert kind in {k.__name__ for k in REACHED}
