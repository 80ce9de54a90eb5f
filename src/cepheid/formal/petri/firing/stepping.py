"""Stepping through the net of a program by commands, as text in and text out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from cepheid.core.event import Event
from cepheid.core.time import Instant, format_instant
from cepheid.errors import UsageError, error, suggest
from cepheid.formal.petri.firing.simulation import BindingElement, Simulation, Stop
from cepheid.formal.petri.nets.invariants import Bounded, Conserved
from cepheid.formal.petri.nets.multiset import Colour
from cepheid.formal.petri.nets.net import Net
from cepheid.formal.petri.translate import translate
from cepheid.program.resolved import ResolvedProgram

_SHOWN = 20  # tokens of a place in a table
HELP = """\
step [N]            fire once, or N times
run                 fire until a breakpoint comes or nothing is enabled
back [N]            undo the last firing, or the last N
break TRANSITION    stop before a transition fires; without a name, list the breakpoints
clear [TRANSITION]  forget a breakpoint, or all
enabled             what may fire now; the first one is next
fire N              fire the Nth of what is enabled
marking [PLACE]     the tokens of all places that have any, or those of one
fired [N]           the last N firings (10)
rows                what the program has derived so far
bound PLACE N       check from now on that a place has at most N tokens
invariants          what is checked after each firing
reset               back to the start
quit                the end""".splitlines()


def kept_by_all(net: Net) -> list[Conserved]:
    """A place that no transition changes the number of tokens of keeps it for ever."""
    kept = []
    for place in net.places:
        changes = (
            sum(arc.count for arc in t.outputs if arc.place == place.name)
            - sum(arc.count for arc in t.inputs if arc.place == place.name)
            for t in net.transitions
        )
        if not any(changes):
            kept.append(Conserved(((place.name, 1),)))
    return kept


class Stepping:
    """A net that commands move."""

    def __init__(
        self, program: ResolvedProgram, events: Sequence[Event], start: Instant, end: Instant
    ) -> None:
        self.translation = translate(program)
        net = self.translation.net
        marking = self.translation.marking(events, start, end)
        self.simulation = Simulation(net, marking, kept_by_all(net))
        self.breakpoints: dict[str, None] = {}
        self.commands: dict[str, Callable[[str], Iterator[str]]] = {
            "step": self.step,
            "run": self.run,
            "back": self.back,
            "break": self.break_at,
            "clear": self.clear,
            "enabled": self.enabled,
            "fire": self.fire,
            "marking": self.marking,
            "fired": self.fired,
            "rows": self.rows,
            "bound": self.bound,
            "invariants": self.invariants,
            "reset": self.reset,
            "help": lambda _: iter(HELP),
        }

    def execute(self, line: str) -> Iterator[str]:
        """The answer to a command; UsageError if it is none. An empty line is one step."""
        name, _, argument = line.strip().partition(" ")
        if name.startswith("#"):
            return iter(())
        if (name or "step") not in self.commands:
            raise UsageError(
                error(
                    "usage", f"no command '{name}'", hint=suggest(name, self.commands, "commands")
                )
            )
        return self.commands[name or "step"](argument.strip())

    # Moving.

    def step(self, argument: str) -> Iterator[str]:
        for _ in range(_number(argument, 1)):
            element = self.simulation.step()
            if element is None:
                yield Stop.DEAD.value
                return
            yield self.told(len(self.simulation.fired_rules), element)

    def run(self, _: str) -> Iterator[str]:
        before = len(self.simulation.fired_rules)
        stop = self.simulation.run(breakpoints=self.breakpoints)
        yield f"{len(self.simulation.fired_rules) - before} firings: {stop.value}"
        following = self.simulation.next()
        if stop is Stop.BREAKPOINT and following is not None:
            yield f"next: {following[3].transition.name}"

    def back(self, argument: str) -> Iterator[str]:
        self.simulation.back(_number(argument, 1))
        yield f"after {len(self.simulation.fired_rules)} firings"

    def reset(self, _: str) -> Iterator[str]:
        self.simulation.reset()
        yield "after 0 firings"

    def fire(self, argument: str) -> Iterator[str]:
        found, number = self.choices(), _number(argument, 1)
        if number > len(found):
            fact = f"only {len(found)} may fire now"
            raise UsageError(error("usage", fact, hint="`enabled` lists them"))
        self.simulation.fire(found[number - 1])
        yield self.told(len(self.simulation.fired_rules), found[number - 1])

    # Breakpoints.

    def break_at(self, argument: str) -> Iterator[str]:
        if argument:
            self.add_breakpoint(argument)
        yield f"breakpoints: {', '.join(self.breakpoints) or 'none'}"

    def add_breakpoint(self, name: str) -> None:
        self.simulation.rule(name)
        self.breakpoints[name] = None

    def clear(self, argument: str) -> Iterator[str]:
        if not argument:
            self.breakpoints.clear()
        elif self.breakpoints.pop(argument, self) is self:
            fact = f"no breakpoint at '{argument}'"
            raise UsageError(error("usage", fact, hint=suggest(argument, self.breakpoints, "set")))
        yield from self.break_at("")

    # Looking.

    def choices(self) -> list[BindingElement]:
        """All that may fire, what a run would take first."""
        following, found = self.simulation.next(), self.simulation.enabled()
        if following is None:
            return []
        values = tuple(zip(following[3].variables, following[4], strict=True))
        first = BindingElement(following[3].transition.name, values)
        return [first, *(element for element in found if element != first)]

    def enabled(self, _: str) -> Iterator[str]:
        found = self.choices()
        for number, element in enumerate(found, start=1):
            yield self.told(number, element)
        if not found:
            yield Stop.DEAD.value

    def fired(self, argument: str) -> Iterator[str]:
        fired = self.simulation.fired
        last = _number(argument, 10)
        for number, element in islice(enumerate(fired, start=1), max(len(fired) - last, 0), None):
            yield self.told(number, element)

    def marking(self, argument: str) -> Iterator[str]:
        if argument:
            self.check_place(argument)
        names = [place.name for place in self.simulation.net.places]
        marking = self.simulation.marking
        shown = [argument] if argument else [name for name in names if marking[name]]
        width = max(map(len, shown), default=0)
        yield f"{'place':{width}}  count  tokens"
        for name in shown:
            tokens = marking[name]
            most = None if argument else _SHOWN
            texts = [show(token) for token in islice(tokens.elements(), most)]
            more = tokens.size - len(texts)
            texts += [f"and {more} more"] if more else []
            yield f"{name:{width}}  {tokens.size:5}  {texts[0] if texts else ''}".rstrip()
            yield from (f"{'':{width}}         {text}" for text in texts[1:])

    def rows(self, _: str) -> Iterator[str]:
        for row in self.translation.rows(self.simulation.marking):
            yield show(row)

    def bound(self, argument: str) -> Iterator[str]:
        place, _, most = argument.rpartition(" ")
        self.check_place(place)
        limit = Bounded(place, _number(most, 1))
        self.simulation.invariants = (*self.simulation.invariants, limit)
        yield str(limit)

    def check_place(self, name: str) -> None:
        names = [place.name for place in self.simulation.net.places]
        if name not in names:
            hint = suggest(name, names, "places")
            raise UsageError(error("usage", f"no place '{name}'", hint=hint))

    def invariants(self, _: str) -> Iterator[str]:
        yield from map(str, self.simulation.invariants)

    def told(self, number: int, element: BindingElement) -> str:
        binding = ", ".join(f"{name} = {show(value)}" for name, value in element.binding)
        return f"{number}: {element.transition} ({binding})"


def show(token: Colour) -> str:
    """A token for people: an event is its type, its time and its attributes."""
    if isinstance(token, Event):
        if not token.type:
            return "nothing"
        values = "".join(f", {name}={value}" for name, value in token.items())
        return f"{token.type}({format_instant(token.instant)}{values})"
    if isinstance(token, tuple):
        return f"({', '.join(map(show, token))})"
    return str(token)


def _number(text: str, otherwise: int) -> int:
    if not text:
        return otherwise
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(error("usage", f"'{text}' is no number of times", hint="1, 2, ..."))
    return int(text)
