"""The commands of `cepheid debug`: lines in, what they show out.

A command that cannot be done says why, and the next one is taken. A line that begins with `#` is left out,
so that scripts can be explained.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from cepheid.cli.run import time_of
from cepheid.cli.terminal.console import err, visible
from cepheid.cli.terminal.diagnostics import show
from cepheid.core.event import Event, Value
from cepheid.core.time import format_instant
from cepheid.debugging.breakpoints import Breakpoint
from cepheid.debugging.debugger import STRIDES, Debugger, Stride
from cepheid.errors import CepheidError, UsageError, error, suggest
from cepheid.io.encode import encode_value, to_json
from cepheid.semantics.inspection.description import (
    Bound,
    PartialMatch,
    StatementState,
    WindowRow,
    event_json,
)

PROMPT = "(debug) "
_SHOWN = 10  # rows and events, unless more are asked for

Lines = Iterator[str]


@dataclass(frozen=True, slots=True)
class Command:
    usage: str
    help: str
    run: Callable[[Debugger, str], Lines]  # with the rest of the line


class Commands:
    """Takes commands one by one, and prints what they show."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger

    def follow(self, lines: TextIO) -> bool:
        """All commands up to `quit` or the end; whether each could be done."""
        is_asked = lines.isatty() and sys.stdout.isatty()
        is_good = True
        self._print(_where(self._debugger, ""))
        while True:
            if is_asked:
                print(PROMPT, end="", flush=True)
            line = lines.readline()
            if not line or _split(line)[0] in ("quit", "q"):
                return is_good
            is_good = self.done(line) and is_good

    def done(self, line: str) -> bool:
        """Does what a line says; whether that could be done."""
        word, rest = _split(line)
        if not word or word.startswith("#"):
            return True
        try:
            self._print(_command(word).run(self._debugger, rest))
        except CepheidError as refused:
            sys.stdout.flush()
            show(refused.diagnostics, err())
            return False
        return True

    def _print(self, lines: Iterable[str]) -> None:
        for line in lines:
            print(visible(line))


def _command(word: str) -> Command:
    name = _SHORT.get(word, word)
    if name not in COMMANDS:
        hint = suggest(word, COMMANDS, "commands")
        raise UsageError(error("usage", f"no command '{word}'", hint=hint))
    return COMMANDS[name]


# Moving ---------------------------------------------------------------------------------------


def _where(debugger: Debugger, rest: str) -> Lines:
    _no_more(rest)
    position = debugger.position
    yield str(position)
    if position.event is not None and position.kind in ("event", "derived"):
        yield f"  {_event(position.event)}"
    yield from (f"  row {_event(row)}" for row in position.rows)


def _step(debugger: Debugger, rest: str) -> Lines:
    debugger.step(_stride(rest))
    return _where(debugger, "")


def _next(debugger: Debugger, rest: str) -> Lines:
    _no_more(rest)
    debugger.step("event")
    return _where(debugger, "")


def _back(debugger: Debugger, rest: str) -> Lines:
    debugger.back(_stride(rest))
    return _where(debugger, "")


def _continue(debugger: Debugger, rest: str) -> Lines:
    _no_more(rest)
    return _stopped(debugger, debugger.resume())


def _rewind(debugger: Debugger, rest: str) -> Lines:
    _no_more(rest)
    return _stopped(debugger, debugger.rewind())


def _until(debugger: Debugger, rest: str) -> Lines:
    return _stopped(debugger, debugger.run_to(time_of(_one(rest, "a time"), "until")))


def _goto(debugger: Debugger, rest: str) -> Lines:
    events, _, step = _one(rest, "a place such as 17 or 17+2").partition("+")
    debugger.go(_number(events), _number(step or "0"))
    return _where(debugger, "")


def _stopped(debugger: Debugger, stopping: Sequence[Breakpoint]) -> Lines:
    yield from (f"breakpoint {each}" for each in stopping)
    yield from _where(debugger, "")


def _stride(rest: str) -> Stride:
    for stride in STRIDES:
        if rest in ("", stride):
            return stride
    raise UsageError(
        error("usage", f"no step by '{rest}'", hint=f"choose from {', '.join(STRIDES)}")
    )


# Breakpoints ----------------------------------------------------------------------------------


def _break(debugger: Debugger, rest: str) -> Lines:
    kind, about = _split(rest)
    name, more = _split(about)
    word, condition = _split(more)
    if kind in ("type", "statement") and name and (not more or (word == "where" and condition)):
        made = debugger.stop_at(**{kind: name}, where=condition or None)
    elif kind == "age" and about:
        age, _, statement = about.partition(" of ")
        made = debugger.stop_at(age=age.strip(), statement=statement.strip() or None)
    else:
        raise UsageError(error("usage", "what is to stop it?", hint=COMMANDS["break"].usage))
    yield f"breakpoint {made}"


def _breaks(debugger: Debugger, rest: str) -> Lines:
    _no_more(rest)
    yield from map(str, debugger.breakpoints)


def _clear(debugger: Debugger, rest: str) -> Lines:
    debugger.clear(_number(rest) if rest else None)
    yield from ()


# Looking --------------------------------------------------------------------------------------


def _partial(debugger: Debugger, rest: str) -> Lines:
    for state in _states(debugger, rest):
        for match in state.partial:
            if match.since is not None:
                yield from _match(_name(state), match)


def _match(name: str, match: PartialMatch) -> Lines:
    since = "" if match.since is None else f", since {format_instant(match.since)}"
    ends = "" if match.ends is None else f", ends {format_instant(match.ends)}"
    yield f"{name}{since}{ends}"
    yield from (f"  {line}" for line in _bound(match.bound))
    yield from (f"  used {_event(event)}" for event in match.events)
    ways = match.parts or (match,)  # of a complex event
    yield from (f"  {_values(way.values)}" for way in ways if way.values)
    for awaited in match.awaits:
        is_time = awaited.type is None
        due = f" at {format_instant(awaited.due)}" if awaited.due is not None else ""
        yield f"  awaits {awaited.place.text}{due if is_time else ''}"
    yield from (f"  forbids {forbidden.place.text}" for forbidden in match.forbids)


def _windows(debugger: Debugger, rest: str) -> Lines:
    for state in _states(debugger, rest):
        window = state.window
        if window is not None:
            waiting = f", {len(window.gathered)} waiting" if window.gathered else ""
            yield f"{_name(state)} {window.text}: {len(window.rows)} rows{waiting}"
            yield from (_window_row("row", row) for row in window.rows)
            yield from (_window_row("waiting", row) for row in window.gathered)


def _window_row(kind: str, row: WindowRow) -> str:
    leaves = "" if row.leaves is None else f" until {format_instant(row.leaves)}"
    found = [_event(row.event)] if row.event is not None else [*_bound(row.bound or {})]
    found += [_values(row.values)] if row.values else []
    return f"  {kind}{leaves} {', '.join(found)}"


def _timers(debugger: Debugger, rest: str) -> Lines:
    _no_more(rest)
    for timer in debugger.inspect().timers:
        place = "" if timer.place is None else f" {timer.place.text}"
        yield f"{format_instant(timer.due)} {timer.statement}, {timer.kind}{place}"


def _queue(debugger: Debugger, rest: str) -> Lines:
    _no_more(rest)
    yield from map(_event, debugger.inspect().queue)


def _rows(debugger: Debugger, rest: str) -> Lines:
    rows = debugger.rows
    yield from map(_event, rows[max(len(rows) - _count(rest), 0) :])


def _events(debugger: Debugger, rest: str) -> Lines:
    here, count = debugger.position.events, _count(rest)
    begin = max(here - count // 2, 0)
    for place, event in enumerate(debugger.events[begin : begin + count], start=begin):
        yield f"{'>' if place == here else ' '} {place} {_event(event)}"


def _inspect(debugger: Debugger, rest: str) -> Lines:
    _no_more(rest)
    yield to_json(debugger.inspect().to_json())


def _states(debugger: Debugger, name: str) -> tuple[StatementState, ...]:
    """What the statements keep, or the one that is named."""
    kept = debugger.inspect()
    if not name:
        return kept.statements
    if name not in debugger.statements:
        hint = suggest(name, debugger.statements, "statements")
        raise UsageError(error("usage", f"no statement '{name}'", hint=hint))
    return kept.of(name)


def _name(state: StatementState) -> str:
    return f"{state.statement}{list(state.key) if state.key else ''}"


def _bound(bound: Bound) -> Lines:
    yield from (f"{tag} = {_event(event)}" for tag, events in bound.items() for event in events)


def _values(values: Mapping[str, Value]) -> str:
    return ", ".join(f"{name} = {to_json(encode_value(v))}" for name, v in values.items())


def _event(event: Event) -> str:
    return to_json(event_json(event))


# Other events ---------------------------------------------------------------------------------


def _insert(debugger: Debugger, rest: str) -> Lines:
    debugger.insert(_object(rest))
    return _where(debugger, "")


def _change(debugger: Debugger, rest: str) -> Lines:
    number, event = _split(rest)
    debugger.change(_number(number), _object(event))
    return _where(debugger, "")


def _remove(debugger: Debugger, rest: str) -> Lines:
    debugger.remove(_number(rest))
    return _where(debugger, "")


def _object(text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        hint = '{"@type": "A", "@time": 3, "v": 1}'
        raise UsageError(error("usage", f"'{text}' is no event", hint=hint))
    return found


# Words ----------------------------------------------------------------------------------------


def _split(line: str) -> tuple[str, str]:
    """The first word, and the rest as it is written."""
    word, *rest = line.split(maxsplit=1) or [""]
    return word, "".join(rest).strip()


def _no_more(rest: str) -> None:
    if rest:
        raise UsageError(error("usage", f"'{rest}' is too much"))


def _one(rest: str, what: str) -> str:
    if not rest:
        raise UsageError(error("usage", f"{what} is needed"))
    return rest


def _number(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) <= 12):
        raise UsageError(error("usage", f"'{word}' is no number"))
    return int(word)


def _count(rest: str) -> int:
    return _number(rest) if rest else _SHOWN


def _help(_: Debugger, rest: str) -> Lines:
    _no_more(rest)
    width = max(len(command.usage) for command in COMMANDS.values())
    yield from (f"{command.usage:{width}}  {command.help}" for command in COMMANDS.values())


_STRIDES = "|".join(STRIDES)
COMMANDS = {
    "where": Command("where", "where it stands, and what happened last", _where),
    "step": Command(f"step [{_STRIDES}]", "on, to the next end of one", _step),
    "back": Command("back [...]", "back, to the last end of one", _back),
    "next": Command("next", "on to the end of the next event", _next),
    "continue": Command("continue", "on to the next breakpoint, or to the end", _continue),
    "rewind": Command("rewind", "back to the last breakpoint, or to the beginning", _rewind),
    "until": Command("until TIME", "to where all up to a time has happened", _until),
    "goto": Command("goto EVENTS[+STEP]", "to a place", _goto),
    "break": Command(
        "break type NAME [where CONDITION] | statement NAME [where CONDITION] | age PERIOD [of STATEMENT]",
        "set a breakpoint",
        _break,
    ),
    "breaks": Command("breaks", "all breakpoints", _breaks),
    "clear": Command("clear [NUMBER]", "remove a breakpoint, or all", _clear),
    "partial": Command("partial [STATEMENT]", "partial matches", _partial),
    "windows": Command("windows [STATEMENT]", "rows in windows", _windows),
    "timers": Command("timers", "timers, in the order in which they fire", _timers),
    "queue": Command("queue", "derived events that wait", _queue),
    "rows": Command("rows [COUNT]", "the last rows", _rows),
    "events": Command("events [COUNT]", "the input around here", _events),
    "inspect": Command("inspect", "all that the program keeps, as JSON", _inspect),
    "insert": Command("insert JSON", "an event happens, too", _insert),
    "change": Command("change NUMBER JSON", "an event gets other attributes", _change),
    "remove": Command("remove NUMBER", "an event does not happen", _remove),
    "help": Command("help", "this list", _help),
    "quit": Command("quit", "end", _help),
}
_SHORT = {
    "s": "step",
    "b": "back",
    "n": "next",
    "c": "continue",
    "w": "where",
    "p": "partial",
    "h": "help",
    "?": "help",
}
