"""Transactions: the only way to change a model.

Types, containers and opposites hold after every step, bounds when the transaction ends: a step that
does not fit is refused and ends it. Then, as when the body of the `with` raises anything else, the
model is as it was before, down to the order of values and the identity of the next object.
"""

from __future__ import annotations

from types import TracebackType
from typing import NoReturn

from cepheid.core.values import shown
from cepheid.errors import InputError, UsageError, error, suggest
from cepheid.live.changes import Change, ChangeKind, Commit, Held
from cepheid.live.edges import arrive, contents, depart, holds
from cepheid.live.metamodel import Feature, one_nan
from cepheid.live.model import Model, Object, feature_of
from cepheid.live.rollback import roll_back

_CREATE, _DELETE, _SET = ChangeKind.CREATE, ChangeKind.DELETE, ChangeKind.SET
_ADD, _REMOVE = ChangeKind.ADD, ChangeKind.REMOVE


class Transaction:
    def __init__(self, model: Model) -> None:
        self._model = model
        self._log: list[Change] = []
        self._ranks: dict[int, int] = {}  # of values that were removed, by their place in the log
        self._samples: dict[tuple[Object, Feature], None] = {}
        self._bounded: dict[tuple[Object, Feature], None] = {}
        self._first = (model._next_id, model._next_rank)
        self._is_open = self._was_open = False
        self._failure: InputError | None = None
        self.commit: Commit | None = None  # once it is done

    @property
    def changes(self) -> tuple[Change, ...]:
        """What was done, up to now."""
        return tuple(self._log)

    def __enter__(self) -> Transaction:
        model = self._model
        model.need_quiet("no transaction can begin")
        if self._was_open:
            raise UsageError(error("usage", "this transaction has ended", hint="begin a new one"))
        model._open, self._is_open, self._was_open = self, True, True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        try:
            if raised is None:
                self._check_end()
        except InputError:
            self._roll_back()
            raise
        finally:
            self._model._open, self._is_open = None, False
        if raised is not None:
            self._roll_back()
        else:
            self._commit()

    # Steps.

    def create(self, type: str, /, **values: object) -> Object:
        """A new object; values of many are given as a list."""
        self._need_open()
        model = self._model
        kind = model.kind(type)
        if kind.is_abstract:
            hint = (
                f"its subclasses: {', '.join(sorted(kind.subclasses))}" if kind.subclasses else None
            )
            self._fail("bad-change", f"'{type}' is abstract and has no objects", hint)
        for name in values:
            if name not in kind.features:
                feature_of(Object(0, kind), name)
        made = Object(model._next_id, kind)
        model._next_id += 1
        for feature in kind.features.values():
            if feature.initial is not None:
                made.values[feature] = feature.initial
            if feature.is_bounded:
                self._bounded[made, feature] = None
        model.extents[type][made] = None
        model._by_id[made.id] = made
        self._log.append(Change(_CREATE, made, None, None, None))
        for name, value in values.items():
            if feature_of(made, name).is_many:
                for item in value if isinstance(value, list | tuple) else (value,):
                    self.add(made, name, item)
            else:
                self.set(made, name, value)
        return made

    def delete(self, object: Object) -> None:
        """The object and all that it contains; nothing refers to them any more."""
        self._need_open()
        self._need_alive(object)
        for part in [*contents(object)][::-1]:
            self._delete_alone(part)

    def set(self, object: Object, name: str, value: object) -> None:
        """A feature of one value; None unsets it."""
        if type(object) is not Object:
            self._refuse_object(object)
        if type(name) is not str:
            feature_of(object, name)
        feature = object.kind.features.get(name) or feature_of(object, name)
        if (
            self._failure is not None
            or not self._is_open
            or self._model._by_id.get(object.id) is not object
            or feature.is_many
        ):
            self._refuse_set(object, feature)
        values = object.values
        old = values.get(feature)
        if not feature.is_attribute:
            self._set_reference(object, feature, old, value)
            return
        new = self._coerced(object, feature, value)
        if new is old or new == old:
            if feature in self._model.sampled:
                self._samples[object, feature] = None
            return
        if new is None:
            del values[feature]
        else:
            values[feature] = new
        if feature.is_bounded:
            self._bounded[object, feature] = None
        self._log.append(Change(_SET, object, feature, old, new))  # type: ignore[arg-type]

    def add(self, object: Object, name: str, value: object) -> None:
        """One more value of a feature of many; one that it has already stays where it is."""
        feature = self._many(object, name)
        if feature.is_attribute:
            new = self._coerced(object, feature, value)
            if new is None:
                fact = f"null cannot be one of several values of {_place(object, feature)}"
                self._fail("bad-change", fact, "remove values to have fewer")
            self._link(object, feature, new)
        else:
            self._connect(object, feature, self._target(object, feature, value))

    def remove(self, object: Object, name: str, value: object) -> None:
        """One value less of a feature of many."""
        feature = self._many(object, name)
        held = object.values.get(feature, {})
        new = self._coerced(object, feature, value) if feature.is_attribute else value
        if not isinstance(held, dict) or new not in held:
            fact = f"{_shown(value)} is not among {_place(object, feature)}"
            self._fail("bad-change", fact)
        if isinstance(new, Object):
            self._disconnect(object, feature, new)
        else:
            self._unlink(object, feature, new)

    def move(self, object: Object, container: Object, name: str) -> None:
        """Into a containment of another object, out of the one that it is in."""
        self._need_alive(object)
        self._need_alive(container)
        feature = feature_of(container, name)
        if not feature.is_containment:
            hint = suggest(
                "", [f.name for f in container.kind.features.values() if f.is_containment]
            )
            fact = f"{_place(container, feature)} contains nothing: it is no containment"
            self._fail("bad-change", fact, hint)
        if feature.is_many:
            self.add(container, name, object)
        else:
            self.set(container, name, object)

    # References: both directions, one container, no cycles.

    def _set_reference(self, object: Object, feature: Feature, old: object, value: object) -> None:
        if value is None:
            if old is not None:
                self._disconnect(object, feature, old)  # type: ignore[arg-type]
        elif value is not old:
            self._connect(object, feature, self._target(object, feature, value))

    def _connect(self, source: Object, feature: Feature, target: Object) -> None:
        if feature.is_container:
            assert feature.opposite is not None
            source, feature, target = target, feature.opposite, source
        if holds(source, feature, target):
            return
        if feature.is_containment:
            self._leave_container(source, feature, target)
        opposite = feature.opposite
        for one, way in ((source, feature), (target, opposite)):
            if way is not None and not way.is_many and one.values.get(way) is not None:
                self._disconnect(one, way, one.values[way])  # type: ignore[arg-type]
        self._link(source, feature, target)
        if opposite is not None and opposite is not feature:
            self._link(target, opposite, source)
        elif opposite is feature and source is not target:
            self._link(target, feature, source)

    def _leave_container(self, source: Object, feature: Feature, target: Object) -> None:
        contains_something = any(held.is_containment for held in target.values)
        above: Object | None = source if contains_something or source is target else None
        while above is not None:
            if above is target:
                fact = f"{target} cannot be in {_place(source, feature)}: it would contain itself"
                self._fail("bad-change", fact)
            above = above.container
        if target.container is not None and target.container_feature is not None:
            self._disconnect(target.container, target.container_feature, target)

    def _disconnect(self, source: Object, feature: Feature, target: Object) -> None:
        self._unlink(source, feature, target)
        opposite = feature.opposite
        if opposite is not None and holds(target, opposite, source):
            self._unlink(target, opposite, source)

    def _delete_alone(self, object: Object) -> None:
        """What refers to it, what it refers to, then itself."""
        incoming = [(s, f) for f, sources in (object.incoming or {}).items() for s in sources]
        for source, feature in sorted(incoming, key=lambda one: (one[0].id, one[1].name)):
            self._disconnect(source, feature, object)
        if object.container is not None and object.container_feature is not None:
            self._disconnect(object.container, object.container_feature, object)
        for feature in object.kind.features.values():
            held = object.values.get(feature)
            if held is not None and not feature.is_attribute:
                for target in list(held) if isinstance(held, dict) else (held,):
                    self._disconnect(object, feature, target)  # type: ignore[arg-type]
        object.former, object.values = object.values, {}
        del self._model.extents[object.type][object]
        del self._model._by_id[object.id]
        self._log.append(Change(_DELETE, object, None, None, None))

    # One direction of an edge, or a value: done, and written down.

    def _link(self, source: Object, feature: Feature, target: Held) -> None:
        if feature.is_many:
            held = source.values.setdefault(feature, {})
            assert isinstance(held, dict)
            if target in held:
                return
            held[target] = self._model._next_rank
            self._model._next_rank += 1
            self._log.append(Change(_ADD, source, feature, None, target))
        else:
            source.values[feature] = target
            self._log.append(Change(_SET, source, feature, None, target))
        if feature.is_bounded:
            self._bounded[source, feature] = None
        if isinstance(target, Object):
            arrive(source, feature, target)

    def _unlink(self, source: Object, feature: Feature, target: Held) -> None:
        if feature.is_many:
            held = source.values[feature]
            assert isinstance(held, dict)
            self._ranks[len(self._log)] = held.pop(target)
            self._log.append(Change(_REMOVE, source, feature, target, None))
        else:
            del source.values[feature]
            self._log.append(Change(_SET, source, feature, target, None))
        if feature.is_bounded:
            self._bounded[source, feature] = None
        if isinstance(target, Object):
            depart(source, feature, target)

    # The end.

    def _check_end(self) -> None:
        if self._failure is not None:  # which the body has caught
            raise self._failure
        problems = []
        for object, feature in self._bounded:
            if not object.is_alive:
                continue
            fact = broken_bounds(object, feature)
            if fact:
                problems.append(
                    error("bad-change", fact, hint="bounds hold when a transaction ends")
                )
        if problems:
            raise InputError(*problems)

    def _commit(self) -> None:
        model = self._model
        number = model.commits
        log, samples = tuple(self._log), tuple(self._samples)
        self.commit = Commit(number, log, samples, model.state, number + 1, self._ranks)
        model.tell(self.commit)

    def _roll_back(self) -> None:
        roll_back(self._model, self._log, self._ranks)
        self._model._next_id, self._model._next_rank = self._first
        self._log.clear()

    # What does not fit.

    def _fail(self, code: str, fact: str, hint: str | None = None) -> NoReturn:
        """A step that does not fit ends the transaction, whoever catches this."""
        self._failure = InputError(error(code, fact, hint=hint))
        raise self._failure from None

    def _need_open(self) -> None:
        if self._failure is not None:
            raise self._failure
        if not self._is_open:
            hint = "with model.transaction() as change: ..."
            raise UsageError(error("usage", "a model changes in open transactions only", hint=hint))

    def _refuse_object(self, given: object) -> NoReturn:
        hint = "model.named('Host#3') finds the object of a name"
        raise UsageError(error("usage", f"an object is needed, not {_shown(given)}", hint=hint))

    def _need_alive(self, object: Object) -> None:
        if type(object) is not Object:
            self._refuse_object(object)
        if not object.is_alive:
            self._fail("bad-change", f"{object} is deleted")
        if self._model._by_id.get(object.id) is not object:
            raise UsageError(error("usage", f"{object} belongs to another model"))

    def _refuse_set(self, object: Object, feature: Feature) -> NoReturn:
        self._need_open()
        self._need_alive(object)
        hint = "use add and remove"
        fact = f"{_place(object, feature)} has many values and cannot be set to one"
        self._fail("bad-change", fact, hint)

    def _many(self, object: Object, name: str) -> Feature:
        self._need_open()
        self._need_alive(object)
        feature = feature_of(object, name)
        if not feature.is_many:
            fact = f"{_place(object, feature)} has one value: nothing is added to it or removed"
            self._fail("bad-change", fact, "use set")
        return feature

    def _target(self, object: Object, feature: Feature, value: object) -> Object:
        self._need_alive(object)
        if not isinstance(value, Object):
            fact = f"{_place(object, feature)} leads to {feature.target} objects, not to {shown(value)}"
            self._fail("bad-change", fact)
        self._need_alive(value)
        if feature.target not in value.kind.ancestors:
            fact = f"{_place(object, feature)} leads to {feature.target} objects, not to {value}"
            self._fail("bad-change", fact)
        return value

    def _coerced(self, object: Object, feature: Feature, value: object) -> Held:
        try:
            new = feature.coerce(value)
        except ValueError as problem:
            fact = f"{_place(object, feature)}: {problem}"
            self._fail("bad-value", fact, f"its type is {feature.type}")
        if feature.literals and new is not None and new not in feature.literals:
            hint = suggest(str(new), feature.literals, "its values")
            fact = f"{_place(object, feature)} cannot be {shown(new)}"
            self._fail("bad-value", fact, hint)
        held: Held = one_nan(new)
        return held


def broken_bounds(object: Object, feature: Feature) -> str | None:
    """That an object has more or fewer values of a feature than it may have."""
    held, declared = object.values.get(feature), feature.declared
    count = len(held) if isinstance(held, dict) else int(held is not None)
    if declared.lower <= count and (declared.upper is None or count <= declared.upper):
        return None
    upper = "*" if declared.upper is None else declared.upper
    return f"{_place(object, feature)} has {count} of {declared.lower}..{upper} values"


def _place(object: Object, feature: Feature) -> str:
    return f"'{feature.name}' of {object}"


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, Object) else shown(value)
