"""What the parameters of a form are bound to on the way, and what they must not be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from cepheid.core.event import Value
from cepheid.core.values import is_null
from cepheid.expr.values import group_key

Pairs: TypeAlias = tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Env:
    """The values of parameters, and the combinations of values that are forbidden from now on."""

    bound: Pairs = ()
    vetoes: tuple[Pairs, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Env) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        parts = (self.bound, *self.vetoes)
        return tuple(tuple((name, group_key(value)) for name, value in pairs) for pairs in parts)

    def forgetting(self, names: frozenset[str]) -> Env | None:
        """The same without what was bound to these names; None where they were never bound and any
        value is forbidden, or what is left of a combination has come."""
        if not names:
            return self
        bound = dict(self.bound)
        kept = tuple(pair for pair in self.bound if pair[0] not in names)
        found: Env | None = Env(kept, tuple(v for v in self.vetoes if names.isdisjoint(dict(v))))
        for pairs in (v for v in self.vetoes if not names.isdisjoint(dict(v))):
            own = [pair for pair in pairs if pair[0] in names]
            if found is not None and all(n not in bound or _unify(bound[n], v) for n, v in own):
                found = found.without(tuple(pair for pair in pairs if pair[0] not in names))
        return found

    def with_pairs(self, pairs: Pairs) -> Env | None:
        """The same with more parameters; None where a name would have two values, or a forbidden one."""
        bound = dict(self.bound)
        for name, value in pairs:
            if name in bound and not _unify(bound[name], value):
                return None
            bound.setdefault(name, value)
        found = replace(self, bound=tuple(bound.items()))
        return None if any(map(found.has_all, self.vetoes)) else found

    def has_all(self, pairs: Pairs) -> bool:
        bound = dict(self.bound)
        return all(name in bound and _unify(bound[name], value) for name, value in pairs)

    @property
    def is_allowed(self) -> bool:
        """Whether a match may end like this: a name that was never bound stands for any value, also
        for a forbidden one."""
        bound = dict(self.bound)
        return all(
            any(name in bound and not _unify(bound[name], value) for name, value in pairs)
            for pairs in self.vetoes
        )

    def without(self, pairs: Pairs) -> Env | None:
        """The same where these values must not come together; None where they have."""
        bound = dict(self.bound)
        if any(name in bound and not _unify(bound[name], value) for name, value in pairs):
            return self
        is_missing = any(name not in bound for name, _ in pairs)
        return replace(self, vetoes=(*self.vetoes, pairs)) if is_missing else None


NOTHING = Env()


def _unify(one: Value, other: Value) -> bool:
    """Null is no value that two events could share."""
    return not is_null(one) and not is_null(other) and group_key(one) == group_key(other)
