"""Live models: objects of the classes of a metamodel, changed in transactions only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from cepheid.errors import UsageError, error, suggest
from cepheid.live.changes import Commit, Held
from cepheid.live.metamodel import Feature, Kind, Metamodel

if TYPE_CHECKING:
    from cepheid.live.transaction import Transaction

Listener: TypeAlias = Callable[[Commit], None]


class Object:
    """An object of a model. Its identity is a number that no other object of the model ever has.

    `values` has what is set, by feature: a value, an object, or for features of many values a
    dictionary of them, each with a number that grows in the order in which they were added.
    Only transactions change any of it.
    """

    __slots__ = ("container", "container_feature", "former", "id", "incoming", "kind", "values")

    def __init__(self, id: int, kind: Kind) -> None:
        self.id = id
        self.kind = kind
        self.values: dict[Feature, Held | dict[Held, int]] = {}
        self.container: Object | None = None
        self.container_feature: Feature | None = None
        # Sources of references that have no other way back, made when the first one comes.
        self.incoming: dict[Feature, dict[Object, None]] | None = None
        self.former: dict[Feature, Held | dict[Held, int]] | None = None  # of a deleted object

    @property
    def type(self) -> str:
        return self.kind.name

    @property
    def name(self) -> str:
        """What it is called in events: its class and its number."""
        return f"{self.kind.name}#{self.id}"

    @property
    def is_alive(self) -> bool:
        return self.former is None

    def __getitem__(self, name: str) -> Held | tuple[Held, ...]:
        """The value of a feature, or all of them in their order; of a deleted object the last."""
        feature = feature_of(self, name)
        values = self.values if self.former is None else self.former
        found = values.get(feature)
        if not feature.is_many:
            return found  # type: ignore[return-value]
        return tuple(found) if isinstance(found, dict) else ()

    def __repr__(self) -> str:
        return self.name


def feature_of(object: Object, name: str) -> Feature:
    """A feature by its name; UsageError where the class has none."""
    found = object.kind.features.get(name) if isinstance(name, str) else None
    if found is None:
        name = str(name)
        hint = suggest(name, object.kind.features, "features")
        raise UsageError(
            error("unknown-feature", f"no feature '{name}' in {object.type}", hint=hint)
        )
    return found


def arrange(object: Object, feature: Feature, values: Sequence[Held]) -> None:
    """The values of a feature in another order; for those who read whole models."""
    held = object.values.get(feature)
    if isinstance(held, dict) and held.keys() == set(values):
        ranks = sorted(held.values())
        object.values[feature] = dict(zip(dict.fromkeys(values), ranks, strict=True))


class Model:
    """All objects, by class and by identity."""

    def __init__(self, metamodel: Metamodel) -> None:
        self.metamodel = metamodel
        self.schema = metamodel.schema
        self.extents: dict[str, dict[Object, None]] = {
            kind.name: {} for kind in self.schema.kinds.values() if not kind.is_abstract
        }
        self.listeners: list[Listener] = []
        # Attributes that are read like sensors: that one is set counts, also to the same value.
        self.sampled: set[Feature] = set()
        self.commits = 0
        self.state = 0  # a number for what the model is: that of a commit, or of one before it
        self._by_id: dict[int, Object] = {}
        self._next_id = 1
        self._next_rank = 0
        self._open: Transaction | None = None
        self._is_telling = False

    def __len__(self) -> int:
        return len(self._by_id)

    def __getitem__(self, id: int) -> Object:
        try:
            return self._by_id[id]
        except KeyError:
            fact = f"no object #{id} in the model"
            raise UsageError(error("unknown-object", fact, hint="it may be deleted")) from None

    def named(self, name: str) -> Object | None:
        """The object that events call so (`Host#3`, or only `#3`), if there is one."""
        kind, mark, number = name.rpartition("#")
        found = self._by_id.get(int(number)) if mark and number.isdecimal() else None
        return found if found is not None and kind in ("", found.type) else None

    def kind(self, name: str) -> Kind:
        """A class by its name; UsageError where the metamodel has none."""
        found = self.schema.kinds.get(name) if isinstance(name, str) else None
        if found is None:
            hint = self.schema.suggest(str(name))
            fact = f"no class '{name}' in {self.metamodel.name}"
            raise UsageError(error("unknown-class", fact, hint=hint))
        return found

    def objects(self, type: str | None = None) -> Iterator[Object]:
        """The objects of a class and its subclasses, or all, by identity."""
        names = self.extents if type is None else self.kind(type).subclasses
        yield from sorted((o for n in names for o in self.extents[n]), key=lambda o: o.id)

    def roots(self) -> Iterator[Object]:
        """The objects that no other one contains."""
        return (o for o in self.objects() if o.container is None)

    def transaction(self) -> Transaction:
        """Used with `with`: what its body does is done as a whole, or not at all."""
        from cepheid.live.transaction import Transaction

        return Transaction(self)

    def revert(self, commit: Commit) -> Commit:
        """Undoes what was committed, exactly, deleted objects with their identity included.

        That is a transaction like any other, told to all, whose commit is returned; to undo that
        is to do it again. Commits are undone the last one first: UsageError where the model is not
        as this one has left it.
        """
        from cepheid.live.rollback import roll_back

        self.need_quiet("nothing can be undone")
        if self.state != commit.after:
            hint = "undo the commits after it first"
            raise UsageError(
                error("usage", "the model is not as this commit has left it", hint=hint)
            )
        changes, ranks = roll_back(self, commit.changes, commit.ranks)
        undone = Commit(self.commits, tuple(changes), (), commit.after, commit.before, ranks)
        return self.tell(undone)

    def tell(self, commit: Commit) -> Commit:
        """What is done is done; listeners are told, and change nothing meanwhile.

        All are told, also after one that raises; what the first of these raised is raised then.
        """
        self.commits += 1
        self.state = commit.after
        self._is_telling = True
        raised: list[Exception] = []
        try:
            for listener in list(self.listeners):
                try:
                    listener(commit)
                except Exception as problem:
                    raised.append(problem)
        finally:
            self._is_telling = False
        if raised:
            raise raised[0]
        return commit

    def need_quiet(self, what: str) -> None:
        if self._open is not None or self._is_telling:
            doing = "another transaction is open" if self._open else "others are told of one"
            hint = "end that one first; a model has one transaction at a time"
            raise UsageError(error("usage", f"{what} while {doing}", hint=hint))
