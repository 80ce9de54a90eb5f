"""Rows of statements become actions: `@Action('mail', to='...')` says which, and with what.

The arguments are the columns of the row in their order, p1, p2, ..., and then those of the annotation,
whose texts have places for values: `subject='Fire in {cause.room}'`. The cause is the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from cepheid.actions.action import (
    Action,
    Repeats,
    action_of_row,
    digest_of,
    key_of,
    reaction_key,
)
from cepheid.actions.outbox import Outbox
from cepheid.core.event import Event
from cepheid.core.templates import UnknownPlace, template
from cepheid.core.time import Instant, format_instant
from cepheid.errors import RunError, error
from cepheid.io.encode import encode

if TYPE_CHECKING:
    from cepheid.program.action_annotations import DeclaredAction
    from cepheid.program.tree import ProgramTree


class HasTree(Protocol):
    @property
    def tree(self) -> ProgramTree: ...


class RowActions:
    """The actions of rows that come in the order of a run."""

    def __init__(self, program: HasTree) -> None:
        from cepheid.program.action_annotations import declared_actions

        self._declared = declared_actions(program.tree.statements)
        self._repeats = Repeats()

    def of(self, row: Event) -> Iterator[Action]:
        """Those of a row; marked ones, which are no events, have none."""
        if "@cause" in row:  # the row of a reaction is an action as it is
            yield action_of_row({**encode(row), **_reaction_key(row)}, self._repeats)
            return
        declared = self._declared.get(row.statement or "", ())
        if not declared or row.is_old or row.is_timeout:
            return
        cause = encode(row)
        time = cause.pop("@time")
        content = digest_of([row.statement, cause])
        number = self._repeats.number(row.instant, content)
        for place, each in enumerate(declared):
            key = key_of(row.statement, time, content, number, place)
            yield _action(each, row.instant, key, cause)


def _reaction_key(row: Event) -> dict[str, object]:
    from cepheid.program.classes import reaction_place

    cause = row["@cause"]
    if row.statement is None or not isinstance(cause, Mapping):  # read from a file, say
        return {}
    key = [value for name, value in cause.items() if name != "@type"]
    number = reaction_place(row.statement)
    return {"@key": reaction_key(row.instant, str(cause["@type"]), key, number)}


def actions_of(program: HasTree, rows: Iterable[Event]) -> Iterator[Action]:
    """The actions that the rows of a run lead to, in the order of the rows."""
    made = RowActions(program)
    for row in rows:
        yield from made.of(row)


def _action(
    declared: DeclaredAction, instant: Instant, key: str, cause: Mapping[str, object]
) -> Action:
    columns = [value for name, value in cause.items() if name != "@type"]
    arguments = {f"p{number}": value for number, value in enumerate(columns, 1)}
    names = Action(declared.name, instant, key, cause, arguments).names
    try:
        own = {name: _filled(value, names) for name, value in declared.arguments}
    except UnknownPlace as problem:
        raise RunError(error("bad-action", f"@Action('{declared.name}'): {problem}")) from None
    return Action(declared.name, instant, key, cause, {**arguments, **own})


def _filled(value: object, names: Mapping[str, object]) -> object:
    if isinstance(value, str):
        return template(value).text(names)
    if isinstance(value, tuple):
        return [_filled(item, names) for item in value]
    return value


class Caller:
    """A function for rules of a live run: `call notify(x)` puts the action `notify` into an outbox.

    What is put in stays in, also where the rule is undone later because another function raises.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    def __call__(self, run: Any, *arguments: object) -> None:
        ran = run.entries[-1]  # the call itself
        rule = next((cause.rule for cause in ran.causes), None)
        row = {
            "@type": ran.function,
            "@time": format_instant(ran.instant),
            "@cause": {"@type": rule, "entry": ran.number},
            **{f"p{number}": _plain(value) for number, value in enumerate(arguments, 1)},
        }
        self._outbox.put([action_of_row(row)])


def caller(outbox: Outbox) -> Caller:
    """What `live.open(functions={"notify": caller(outbox)})` needs to put actions into an outbox."""
    return Caller(outbox)


def _plain(value: object) -> object:
    """An object of a model is its name."""
    is_value = value is None or isinstance(value, str | bool | int | float | list | dict)
    return value if is_value else str(value)
