"""Changes of a model as JSON Lines: a transaction a line, and events and times between them.

    {"@time": 1, "changes": [{"create": "Host", "as": "h1", "in": "s.hosts", "values": {"cpu": 8}}]}
    {"@time": 2, "changes": [{"set": "h1", "feature": "cpu", "value": 9}, {"delete": "Host#3"}]}
    {"@time": 3, "@type": "restarted", "host": "h1"}
    {"@time": 9}

An object goes by a name that the file gave it, by its number (`Host#3`), or by the value of one of its
attributes (`{"type": "Host", "id": "web"}`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NoReturn

from cepheid.core.values import shown
from cepheid.errors import CepheidError, InputError, LateEvent, Span, error, suggest
from cepheid.io import Record, records_of
from cepheid.live.model import Model, Object, feature_of
from cepheid.live.run import Run
from cepheid.live.transaction import Transaction

_CHANGES = "changes"


def replay(run: Run, *sources: object) -> None:
    """Lets the changes of files, or of dictionaries with the same keys, happen to the model of a run.

    A line that is wrong raises InputError with its place; what came before it has happened.
    """
    reader = ChangeReader(run)
    for source in sources:
        for record in records_of(source):
            reader.feed(record)


class ChangeReader:
    """Hands the lines of a file to a run.

    A line that is wrong raises InputError, and does nothing but let time pass.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.names: dict[str, Object] = {}
        self.transactions = 0

    def feed(self, record: Record) -> None:
        """A transaction, an event, or time that passes."""
        if record.type is not None:
            self._event(record)
        elif _CHANGES in record.values:
            self._transaction(record)
        else:
            self._time(record)

    def _event(self, record: Record) -> None:
        assert record.type is not None
        objects = self.run.program.objects.get(record.type, {})
        with _placed(record.span):
            values = {
                name: self._named(value) if name in objects and value is not None else value
                for name, value in record.values.items()
            }
        with _placed(record.span, InputError):
            self.run.send(record.type, values, record.time)  # type: ignore[arg-type]

    def _time(self, record: Record) -> None:
        for name in record.values:
            hint = suggest(name, (_CHANGES, "@type", "@time"), "keys of a line")
            fact = f"a line without '@type' has no {shown(name)}"
            raise InputError(error("bad-line", fact, record.span, hint))
        with _placed(record.span, InputError):
            self.run.advance(record.time)  # type: ignore[arg-type]

    def _transaction(self, record: Record) -> None:
        steps = record.values[_CHANGES]
        with _placed(record.span):
            for name in record.values.keys() - {_CHANGES}:
                _refuse(f"a transaction has no {shown(name)}", f"'@time' and '{_CHANGES}'")
            if not isinstance(steps, list):
                _refuse(f"'{_CHANGES}' is a list of changes, not {shown(steps)}")
        before = dict(self.names)
        try:
            with (
                _placed(record.span, InputError),
                self.run.transaction(at=record.time) as change,  # type: ignore[arg-type]
                _placed(record.span),
            ):
                for step in steps:
                    self._do(change, step)
        except InputError:  # which rules that fail afterwards do not raise
            self.names = before
            raise
        self.transactions += 1

    def _do(self, change: Transaction, step: object) -> None:
        if not isinstance(step, dict):
            _refuse(f"a change is an object, not {shown(step)}")
        verbs = [verb for verb in _VERBS if verb in step]
        if len(verbs) != 1:
            hint = suggest(next(iter(step), ""), _VERBS, "changes")
            what = " and ".join(verbs) or ", ".join(map(shown, step)) or "nothing"
            _refuse(f"a change is one of {', '.join(_VERBS)}, and this is {what}", hint)
        verb = _VERBS[verbs[0]]
        for key in step:
            if key not in (verbs[0], *verb.needed, *verb.optional):
                hint = suggest(str(key), (*verb.needed, *verb.optional), "keys")
                _refuse(f"'{verbs[0]}' has no {shown(key)}", hint)
        for key in verb.needed:
            if key not in step:
                _refuse(f"'{verbs[0]}' needs '{key}'", f"{verbs[0]}: {', '.join(verb.needed)}")
        verb.do(self, change, step)

    # The changes.

    def _create(self, change: Transaction, step: Mapping[str, object]) -> None:
        made = change.create(_text(step["create"], "a class"))
        values = step.get("values") or {}
        if not isinstance(values, dict):
            _refuse(f"'values' is an object, not {shown(values)}")
        for name, value in values.items():
            given = value if isinstance(value, list) else [value]
            for one in given if feature_of(made, name).is_many else [value]:
                self._give(change, made, name, one)
        place = step.get("in")
        if place is not None:
            owner, _, feature = _text(place, "'in'").rpartition(".")
            change.move(made, self._named(owner), feature)
        name = step.get("as")
        if name is not None:
            if "#" in _text(name, "a name"):
                _refuse(f"{shown(name)} looks like a number", "names have no '#'")
            if name in self.names:
                _refuse(f"{shown(name)} is the name of {self.names[str(name)]} already")
            self.names[str(name)] = made

    def _give(self, change: Transaction, one: Object, name: str, value: object) -> None:
        way = change.add if feature_of(one, name).is_many else change.set
        way(one, name, self._value(one, name, value))

    def _value(self, one: Object, name: str, value: object) -> object:
        """Values are as they are; references are given by names."""
        is_value = feature_of(one, name).is_attribute or value is None
        return value if is_value else self._named(value)

    def _delete(self, change: Transaction, step: Mapping[str, object]) -> None:
        change.delete(self._named(step["delete"]))

    def _set(self, change: Transaction, step: Mapping[str, object]) -> None:
        one, name = self._named(step["set"]), _text(step["feature"], "a feature")
        change.set(one, name, self._value(one, name, step["value"]))

    def _add(self, change: Transaction, step: Mapping[str, object]) -> None:
        one, name = self._named(step["add"]), _text(step["feature"], "a feature")
        change.add(one, name, self._value(one, name, step["value"]))

    def _remove(self, change: Transaction, step: Mapping[str, object]) -> None:
        one, name = self._named(step["remove"]), _text(step["feature"], "a feature")
        change.remove(one, name, self._value(one, name, step["value"]))

    def _move(self, change: Transaction, step: Mapping[str, object]) -> None:
        into, name = self._named(step["to"]), _text(step["feature"], "a feature")
        change.move(self._named(step["move"]), into, name)

    # Objects.

    def _named(self, name: object) -> Object:
        if isinstance(name, Mapping):
            return _selected(self.run.model, name)
        text = _text(name, "an object")
        found = self.names.get(text) or self.run.model.named(text)
        if found is None or not found.is_alive:
            is_gone = found is not None
            fact = f"object {shown(text)} {'is deleted' if is_gone else 'is not known'}"
            hint = suggest(text, self.names, "names") or "objects go by numbers, such as Host#3"
            raise InputError(error("unknown-object", fact, hint=hint))
        return found


def _selected(model: Model, wanted: Mapping[str, object]) -> Object:
    """The one object of a class that has such values."""
    kind = _text(wanted.get("type"), "'type'")
    values = {name: value for name, value in wanted.items() if name != "type"}
    found = [
        one
        for one in model.objects(kind)
        if all(one[name] == value for name, value in values.items())
    ]
    if len(found) != 1:
        wanted_values = ", ".join(f"{name} = {shown(value)}" for name, value in values.items())
        fact = f"{len(found) or 'no'} objects of {kind} have {wanted_values}"
        raise InputError(error("unknown-object", fact, hint="exactly one should be"))
    return found[0]


@dataclass(frozen=True, slots=True)
class _Verb:
    do: Callable[[ChangeReader, Transaction, Mapping[str, object]], None]
    needed: Collection[str] = ()
    optional: Collection[str] = ()


_VERBS: Mapping[str, _Verb] = {
    "create": _Verb(ChangeReader._create, (), ("as", "in", "values")),
    "delete": _Verb(ChangeReader._delete),
    "set": _Verb(ChangeReader._set, ("feature", "value")),
    "add": _Verb(ChangeReader._add, ("feature", "value")),
    "remove": _Verb(ChangeReader._remove, ("feature", "value")),
    "move": _Verb(ChangeReader._move, ("to", "feature")),
}


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        _refuse(f"{what} is given by its name, not by {shown(value)}")
    return value


def _refuse(fact: str, hint: str | None = None) -> NoReturn:
    raise InputError(error("bad-line", fact, hint=hint))


@contextmanager
def _placed(span: Span | None, kind: type[CepheidError] = CepheidError) -> Iterator[None]:
    """Whatever is wrong with a line is told with its place, as a mistake of the input."""
    try:
        yield
    except kind as wrong:
        told = LateEvent if isinstance(wrong, LateEvent) else InputError
        raise told(*(replace(p, span=p.span or span) for p in wrong.diagnostics)) from None
