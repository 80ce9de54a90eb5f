"""`debug` begins a run that is stepped through, `debug-move` moves in it, `debug-break` says where it is to stop.

Each answers where it stands then, and what the program keeps there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from cepheid.debugging.breakpoints import Breakpoint
from cepheid.debugging.debugger import Debugger
from cepheid.errors import UsageError, error, suggest
from cepheid.pattern.algebra import Occurrence
from cepheid.studio.handlers.run import sources_of
from cepheid.studio.programs import program_to_run
from cepheid.studio.room import Given, Room, Verb
from cepheid.studio.sessions import keep_session, session_of, state_json
from cepheid.verbs.debugging import debug as debug_program

Move: TypeAlias = Callable[[Debugger, Given], Sequence[Breakpoint]]  # gives those that stop it


def debug(room: Room, given: Given) -> object:
    """Over events as `run` takes them."""
    program = program_to_run(room, given)
    sources = sources_of(room, given, program)

    def begin(engine: str) -> Debugger:
        return debug_program(program, *sources, engine=engine, progress=room.progress)

    session = keep_session(room, program, begin)
    return {
        **state_json(session),
        "statements": session.debugger.statements,
        "automata": any(isinstance(s.pattern, Occurrence) for s in program.resolve().statements),
        "types": sorted(program.resolve().types),
    }


def move(room: Room, given: Given) -> object:
    session, name = session_of(room, given), given.text("move")
    if name not in _MOVES:
        hint = suggest(name, _MOVES, "moves")
        raise UsageError(error("usage", f"no move '{name[:40]}'", hint=hint))
    return state_json(session, _MOVES[name](session.debugger, given))


def _step(debugger: Debugger, _: Given) -> Sequence[Breakpoint]:
    debugger.step()
    return ()


def _back(debugger: Debugger, _: Given) -> Sequence[Breakpoint]:
    debugger.back()
    return ()


def _event(debugger: Debugger, _: Given) -> Sequence[Breakpoint]:
    debugger.step("event")
    return ()


def _event_back(debugger: Debugger, _: Given) -> Sequence[Breakpoint]:
    debugger.back("event")
    return ()


def _go(debugger: Debugger, given: Given) -> Sequence[Breakpoint]:
    debugger.go(given.whole("events"))
    return ()


_MOVES: Mapping[str, Move] = {
    "step": _step,
    "back": _back,
    "event": _event,
    "event-back": _event_back,
    "continue": lambda debugger, _: debugger.resume(),
    "rewind": lambda debugger, _: debugger.rewind(),
    "go": _go,
}


def set_break(room: Room, given: Given) -> object:
    """On a `type`, a `statement` or an `age`, perhaps `where` something holds; or `clear`s one."""
    session = session_of(room, given)
    if given.values.get("clear") is not None:
        session.debugger.clear(given.whole("clear"))
    else:
        session.debugger.stop_at(
            type=given.text_if_any("type"),
            statement=given.text_if_any("statement"),
            where=given.text_if_any("where"),
            age=given.text_if_any("age"),
        )
    return state_json(session)


DEBUG_VERBS = (
    Verb("debug", debug, "debug"),
    Verb("debug-move", move, "debug"),
    Verb("debug-break", set_break, "debug"),
)
