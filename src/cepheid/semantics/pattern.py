"""What each pattern operator means.

A pattern is a tree of nodes. Starting a node with a binding gives a live instance that listens from
the next event on. An instance tells its parent that it is *true* with a binding, and whether it is
finished with that, or that it has *failed* for good. Each class below is one operator: `start`
begins it, `child_true` and `child_failed` are what it makes of its children's news, `quit` ends it
from above. A binding maps tags to events (to lists of them under repeats) and is never changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product, takewhile
from typing import ClassVar, Protocol, TypeAlias, cast

from cepheid.core.event import Event, Value
from cepheid.core.time import Instant, Period
from cepheid.expr.evaluate import Frame, compile_condition, compile_expr, group_key
from cepheid.pattern import tree
from cepheid.semantics.durations import end_of
from cepheid.semantics.timers import Timer, TimerStage

Binding: TypeAlias = "dict[str, Event | list[Event]]"


class Host(Protocol):
    """What live patterns need from the statement that runs them."""

    @property
    def now(self) -> Instant: ...
    def listen(self, atom: Atom) -> None: ...
    def unlisten(self, atom: Atom) -> None: ...
    def arm(self, timer: Timer, due: Instant) -> None: ...
    def disarm(self, timer: Timer) -> None: ...
    def matched(self, binding: Binding) -> None: ...
    def timed_out(self, binding: Binding) -> None: ...
    def reached(self, node: Node) -> None: ...


@dataclass(slots=True, eq=False)
class Node:
    """The part of an operator that never changes: its tree, its children, its compiled conditions."""

    tree: tree.Pattern
    live: type[Live]
    children: tuple[Node, ...]
    condition: Callable[[Frame], bool]
    keys: tuple[Callable[[Frame], object], ...]  # or the amounts of a period
    tags: tuple[str, ...]  # every tag that is bound somewhere inside
    forbidden: int  # how many `not`s of an `and` it is in

    def instance(self, parent: Parent, binding: Binding) -> Live:
        """A fresh instance, not yet begun: its parent records it before it can report."""
        return self.live(self, parent, binding)

    def walk(self) -> Iterator[Node]:
        """The node and everything below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


def compile_pattern(pattern: tree.Pattern, forbidden: int = 0) -> Node:
    """The nodes of a resolved pattern."""
    condition = getattr(pattern, "condition", None)
    keys = getattr(pattern, "keys", ()) or getattr(pattern, "amounts", ())
    tags = (a.tag for a in tree.atoms(pattern) if a.tag is not None)
    return Node(
        pattern,
        LIVE[type(pattern)],
        tuple(
            compile_pattern(child, forbidden + tree.forbids(pattern, child))
            for child in tree.children(pattern)
        ),
        compile_condition(condition),
        tuple(compile_expr(key) for key in keys),
        tuple(dict.fromkeys(tags)),
        forbidden,
    )


class Live(ABC):
    """A live instance of some operator."""

    __slots__ = ("alive", "begin", "host", "node", "parent")
    is_absence: ClassVar[bool] = False

    def __init__(self, node: Node, parent: Parent, begin: Binding) -> None:
        self.node = node
        self.parent = parent
        self.host: Host = parent.host
        self.begin = begin
        self.alive = True

    @abstractmethod
    def start(self) -> None:
        """Begins to listen."""

    @abstractmethod
    def quit(self) -> None:
        """Ends this instance and everything below it, without a word to the parent."""

    def partial(self) -> list[Binding]:
        """How far the instance has come: the bindings its live parts have reached."""
        return [self.begin]

    def report(self, binding: Binding, *, finished: bool) -> None:
        self.host.reached(self.node)
        self.parent.child_true(self, binding, finished)

    def fail(self) -> None:
        self.quit()
        self.parent.child_failed(self)


class Parent(Live):
    """A live instance that makes something of its children's news."""

    __slots__ = ()

    @abstractmethod
    def child_true(self, child: Live, binding: Binding, finished: bool) -> None: ...

    @abstractmethod
    def child_failed(self, child: Live) -> None: ...

    @abstractmethod
    def live_children(self) -> Iterator[Live]: ...

    def quit(self) -> None:
        self.alive = False
        for child in self.live_children():
            child.quit()

    def partial(self) -> list[Binding]:
        reached = [b for child in self.live_children() for b in child.partial()]
        return reached or [self.begin]


class Root(Parent):
    """The whole pattern: its truths are the matches.

    What is true before anything has happened (`not A` alone, `timer:interval(0)`) is no match.
    """

    __slots__ = ("child", "starting")

    def __init__(self, node: Node, host: Host) -> None:
        self.node = node
        self.host = host
        self.begin = {}
        self.alive = True
        self.starting = False
        self.child: Live | None = None

    def start(self) -> None:
        self.starting = True
        self.child = self.node.instance(self, {})
        self.child.start()
        self.starting = False

    def child_true(self, child: Live, binding: Binding, finished: bool) -> None:
        if finished:
            self.child = None
        if not self.starting:
            self.host.matched(binding)

    def child_failed(self, child: Live) -> None:
        self.child = None

    def live_children(self) -> Iterator[Live]:
        return iter((self.child,) if self.child else ())


class Atom(Live):
    """`a=A(condition)`: true and finished on the first event that fits."""

    __slots__ = ("order",)

    def start(self) -> None:
        self.order = 0
        self.host.listen(self)

    @property
    def event_type(self) -> str:
        assert isinstance(self.node.tree, tree.Atom)
        return self.node.tree.event_type

    @property
    def starts_runs(self) -> bool:
        """Whether it is the `a=A` of `every a=A -> ...`."""
        return isinstance(self.parent, Every) and not self.begin

    @property
    def turn(self) -> tuple[int, bool, int]:
        """When it hears an event: what an `and` forbids comes first, then what starts runs.

        Those that start runs are armed anew with each run; if that moved them among the others, the
        order of a run's rows would depend on events that start other runs.
        """
        return -self.node.forbidden, not self.starts_runs, self.order

    def offer(self, event: Event, frame: Frame) -> None:
        frame.event = event
        frame.tags = self.begin
        if not self.node.condition(frame):
            return
        self.quit()
        tag = self.node.tags[0] if self.node.tags else None
        self.report({**self.begin, tag: event} if tag else self.begin, finished=True)

    def quit(self) -> None:
        if self.alive:
            self.alive = False
            self.host.unlisten(self)


class Every(Parent):
    """`every P`: whenever P is true or fails, a fresh P is started; never finished itself.

    A child that is true already while it starts would repeat for ever at one instant: it is ended.
    """

    __slots__ = ("children", "spawning", "true_at_once")

    def start(self) -> None:
        self.children: dict[Live, None] = {}
        self.spawning = False
        self.spawn()

    def spawn(self) -> Live | None:
        self.spawning, self.true_at_once = True, False
        child = self.node.children[0].instance(self, self.begin)
        child.start()
        self.spawning = False
        if self.true_at_once or not child.alive:
            child.quit()
            return None
        self.children[child] = None
        return child

    def child_true(self, child: Live, binding: Binding, finished: bool) -> None:
        if self.spawning:
            self.true_at_once = True
            return
        if finished:
            del self.children[child]
        self.spawn()
        self.report(binding, finished=False)

    def child_failed(self, child: Live) -> None:
        if self.spawning:
            return
        del self.children[child]
        self.spawn()

    def live_children(self) -> Iterator[Live]:
        return iter(tuple(self.children))


class EveryDistinct(Every):
    """`every-distinct(keys, expiry) P`: like every, but a key seen before gives no match.

    Each child inherits the keys that the one it replaces has seen; a failure forgets them. A key
    counts from the match that brought it, and is free again exactly when its expiry has passed.
    """

    __slots__ = ("seen",)

    def start(self) -> None:
        self.seen: dict[Live, dict[object, Instant | None]] = {}
        super().start()

    def child_true(self, child: Live, binding: Binding, finished: bool) -> None:
        if self.spawning:
            self.true_at_once = True
            return
        seen = self.seen.setdefault(child, {})
        is_new = self.record(seen, binding)
        if finished:
            del self.children[child], self.seen[child]
        fresh = self.spawn()
        if fresh:
            self.seen[fresh] = seen if finished else dict(seen)
        if is_new:
            self.report(binding, finished=False)

    def record(self, seen: dict[object, Instant | None], binding: Binding) -> bool:
        now = self.host.now
        self.forget(seen, now)
        frame = Frame(tags=binding, now=now)
        key = tuple(group_key(evaluate(frame)) for evaluate in self.node.keys)  # type: ignore[arg-type]
        if key in seen and not _has_passed(seen[key], now):
            return False
        seen.pop(key, None)
        expiry: Period | None = self.node.tree.expiry  # type: ignore[attr-defined]
        seen[key] = expiry.after(now) if expiry else None
        return True

    @staticmethod
    def forget(seen: dict[object, Instant | None], now: Instant) -> None:
        """Expired keys go, the oldest first."""
        for key, _ in tuple(takewhile(lambda entry: _has_passed(entry[1], now), seen.items())):
            del seen[key]

    def child_failed(self, child: Live) -> None:
        if not self.spawning:
            self.seen.pop(child, None)
        super().child_failed(child)


def _has_passed(due: Instant | None, now: Instant) -> bool:
    return due is not None and due <= now


class FollowedBy(Parent):
    """`P -> Q -> ...`: each truth of one part starts the next with that binding."""

    __slots__ = ("places",)

    def start(self) -> None:
        self.places: dict[Live, int] = {}
        self.begin_part(0, self.begin)

    def begin_part(self, place: int, binding: Binding) -> None:
        child = self.node.children[place].instance(self, binding)
        self.places[child] = place
        child.start()

    def child_true(self, child: Live, binding: Binding, finished: bool) -> None:
        place = self.places[child]
        if finished:
            del self.places[child]
        if place + 1 < len(self.node.children):
            self.begin_part(place + 1, binding)
            return
        is_over = not self.places
        if is_over:
            self.alive = False
        self.report(binding, finished=is_over)

    def child_failed(self, child: Live) -> None:
        del self.places[child]
        if not self.places:
            self.fail()

    def live_children(self) -> Iterator[Live]:
        return iter(tuple(self.places))


class AllOf(Parent):
    """`P and Q`: keeps the truths of every side; each new truth is combined with all the others'.

    A `not` among the sides hears an event before the others do: what it forbids ends the whole.
    """

    __slots__ = ("sides", "truths")

    def start(self) -> None:
        self.sides: dict[Live, int] = {}
        self.truths: list[list[Binding]] = [[] for _ in self.node.children]
        for place, node in enumerate(self.node.children):
            if self.alive:
                side = node.instance(self, self.begin)
                self.sides[side] = place
                side.start()

    def child_true(self, child: Live, binding: Binding, finished: bool) -> None:
        place = self.sides[child]
        if finished:
            del self.sides[child]
        combinations = self.combine(place, binding)
        if combinations and not self.can_come_true(besides=place):
            self.truths[place].clear()  # no other side can meet them any more
        self.truths[place].append(binding)
        if combinations:
            self.report_all(combinations)

    def can_come_true(self, besides: int | None = None) -> bool:
        """Whether news may come from a side; an absence has none but its failure."""
        return any(p != besides and not side.is_absence for side, p in self.sides.items())

    def report_all(self, combinations: list[Binding]) -> None:
        is_over = not self.can_come_true()
        if is_over:
            for side in self.live_children():
                side.quit()
        *others, last = combinations
        for combination in others:
            if self.alive:  # a truth may make a parent end this instance
                self.report(combination, finished=False)
        if self.alive:
            self.alive = not is_over
            self.report(last, finished=is_over)

    def combine(self, place: int, binding: Binding) -> list[Binding]:
        choices = [[binding] if i == place else truths for i, truths in enumerate(self.truths)]
        return [
            {tag: event for part in parts for tag, event in part.items()}
            for parts in product(*choices)
        ]

    def child_failed(self, child: Live) -> None:
        self.fail()

    def live_children(self) -> Iterator[Live]:
        return iter(tuple(self.sides))

    def partial(self) -> list[Binding]:
        merged = dict(self.begin)
        for truths in self.truths:
            merged.update(truths[-1] if truths else {})
        for side in self.live_children():
            merged.update(side.partial()[0])
        return [merged]


class AnyOf(Parent):
    """`P or Q`: true whenever a side is; the first side to finish finishes the whole.

    Sides start from the last to the first: of two that one event makes true, the later one speaks.
    """

    __slots__ = ("sides", "starting")

    def start(self) -> None:
        self.sides: dict[Live, None] = {}
        self.starting = True
        for node in reversed(self.node.children):
            if self.alive:
                side = node.instance(self, self.begin)
                self.sides[side] = None
                side.start()
        self.starting = False
        if self.alive and not self.sides:
            self.fail()

    def child_true(self, child: Live, binding: Binding, finished: bool) -> None:
        if finished:
            del self.sides[child]
            self.quit()
        self.report(binding, finished=finished)

    def child_failed(self, child: Live) -> None:
        del self.sides[child]
        if not self.sides and not self.starting:
            self.fail()

    def live_children(self) -> Iterator[Live]:
        return iter(tuple(reversed(self.sides)))

    def partial(self) -> list[Binding]:
        further = [b for b in super().partial() if b != self.begin]
        return further or [self.begin]


class Absent(Parent):
    """`not P`: true from the start, fails when P is true."""

    __slots__ = ("child",)
    is_absence: ClassVar[bool] = True

    def start(self) -> None:
        self.child: Live | None = self.node.children[0].instance(self, self.begin)
        self.child.start()
        if self.alive:
            self.report(self.begin, finished=False)

    def child_true(self, child: Live, binding: Binding, finished: bool) -> None:
        if finished:
            self.child = None
        self.fail()

    def child_failed(self, child: Live) -> None:
        self.child = None  # what must not happen cannot happen any more

    def live_children(self) -> Iterator[Live]:
        return iter((self.child,) if self.child else ())

    def partial(self) -> list[Binding]:
        return [self.begin]


class Repeat(Parent):
    """`[low:high] P until Q`: collects the events of each truth of P.

    An exact count is true at its last P; otherwise Q decides: true with what was collected, at most
    `high` times P, failed if there were fewer than `low`. Q hears each event before P does.
    """

    __slots__ = ("body", "collected", "count", "end", "starting")

    def start(self) -> None:
        self.count = 0
        self.collected: dict[str, list[Event]] = {}
        self.body: Live | None = None
        self.starting = False
        self.end: Live | None = None
        if len(self.node.children) > 1:
            self.end = self.node.children[1].instance(self, self.begin)
            self.end.start()
        if self.alive:
            self.start_body()

    def start_body(self) -> None:
        """Starts P; again, up to `high` times, while it is true and finished as it starts."""
        _, high = self.bounds
        self.starting = True
        while self.alive and self.body is None and (high is None or self.count < high):
            self.body = self.node.children[0].instance(self, self.begin)
            self.body.start()
            if high is None:
                break  # without bound it would repeat for ever at one instant
        self.starting = False

    @property
    def bounds(self) -> tuple[int | None, int | None]:
        repeat = self.node.tree
        assert isinstance(repeat, tree.Repeat)
        return repeat.low, repeat.high

    def child_true(self, child: Live, binding: Binding, finished: bool) -> None:
        if child is self.end:
            self.ended(binding, finished)
        else:
            self.repeated(binding, finished)

    def repeated(self, binding: Binding, finished: bool) -> None:
        self.count += 1
        for tag in self.node.children[0].tags:
            if tag in binding:
                self.collected.setdefault(tag, []).extend(_events(binding[tag]))
        if finished:
            self.body = None
        low, high = self.bounds
        if low is not None and low == high == self.count:
            self.quit()
            self.report({**binding, **self.collected}, finished=True)
        elif high is not None and self.count >= high:
            if self.body is not None:
                self.body.quit()
                self.body = None
        elif self.body is None and not self.starting:
            self.start_body()

    def ended(self, binding: Binding, finished: bool) -> None:
        if finished:
            self.end = None
        low, _ = self.bounds
        if low is not None and self.count < low:
            self.fail()
            return
        self.quit()
        self.report({**binding, **self.collected}, finished=True)

    def child_failed(self, child: Live) -> None:
        if child is self.end:
            self.end = None
        else:
            self.body = None
        self.fail()

    def live_children(self) -> Iterator[Live]:
        return iter([child for child in (self.end, self.body) if child is not None])

    def partial(self) -> list[Binding]:
        bodies = self.body.partial() if self.body is not None else [self.begin]
        return [{**self.begin, **self.collected, **self.collected_with(body)} for body in bodies]

    def collected_with(self, body: Binding) -> Binding:
        """What would have been collected if the body had come no further than this."""
        tags = (tag for tag in self.node.children[0].tags if tag in body)
        return {tag: [*self.collected.get(tag, ()), *_events(body[tag])] for tag in tags}


def _events(bound: Event | list[Event]) -> list[Event]:
    return [bound] if isinstance(bound, Event) else bound


class Guard(Parent):
    """Passes its child's truths on until it ends it."""

    __slots__ = ("child",)

    def start(self) -> None:
        self.child: Live | None = self.node.children[0].instance(self, self.begin)
        self.child.start()

    def child_true(self, child: Live, binding: Binding, finished: bool) -> None:
        if not self.passes(binding):
            self.fail()
            return
        if finished:
            self.child = None
            self.quit()
        self.report(binding, finished=finished)

    @abstractmethod
    def passes(self, binding: Binding) -> bool:
        """Whether a truth of the child is passed on; if not, the guard ends it."""

    def child_failed(self, child: Live) -> None:
        self.child = None
        self.fail()

    def live_children(self) -> Iterator[Live]:
        return iter((self.child,) if self.child else ())


class While(Guard):
    """`P while (condition)`: ends P at the first truth for which the condition does not hold."""

    __slots__ = ()

    def passes(self, binding: Binding) -> bool:
        return self.node.condition(Frame(tags=binding, now=self.host.now))


class Within(Guard):
    """`P where timer:within(p)`: ends P when the period is over, before events of that instant.

    With a largest number of matches (`timer:withinmax`) also at the match after that number.
    """

    __slots__ = ("count", "order")
    stage: ClassVar[TimerStage] = TimerStage.PATTERN

    def start(self) -> None:
        self.count = 0
        self.order = 0
        self.child = None
        due = self.due()
        if due == self.host.now:
            self.fire()
            return
        if due is not None:
            self.host.arm(self, due)
        super().start()

    def due(self) -> Instant | None:
        """When the period is over; None if never."""
        assert isinstance(self.node.tree, tree.Within)
        return self.node.tree.period.after(self.host.now)

    def passes(self, binding: Binding) -> bool:
        assert isinstance(self.node.tree, tree.Within | tree.WithinOf)
        most = self.node.tree.most
        self.count += 1
        return most is None or self.count <= most

    def fire(self) -> None:
        for binding in self.partial():
            if binding and not self.is_under_absence():
                self.host.timed_out(binding)
        self.fail()

    def is_under_absence(self) -> bool:
        ancestor: Live = self
        while not isinstance(ancestor, Root):
            if ancestor.is_absence:
                return True
            ancestor = ancestor.parent
        return False

    def quit(self) -> None:
        self.host.disarm(self)
        super().quit()


class WithinOf(Within):
    """The same with a period that what is bound tells when it starts."""

    __slots__ = ()

    def due(self) -> Instant | None:
        return _told_end(self)


def _told_end(live: Live) -> Instant | None:
    """When a period is over that what is bound tells now; None if never."""
    assert isinstance(live.node.tree, tree.WithinOf | tree.IntervalOf)
    frame = Frame(tags=live.begin, now=live.host.now)
    amounts = [cast("Value", evaluate(frame)) for evaluate in live.node.keys]
    return end_of(amounts, live.node.tree.units, live.host.now)


class TimerLive(Live):
    """True and finished at an instant that is known when it starts."""

    __slots__ = ("order",)
    stage: ClassVar[TimerStage] = TimerStage.PATTERN

    @abstractmethod
    def due(self) -> Instant | None:
        """When it is true; None if never."""

    def start(self) -> None:
        self.order = 0
        due = self.due()
        if due is None:
            return  # a schedule that never comes
        if due == self.host.now:
            self.fire()
        else:
            self.host.arm(self, due)

    def fire(self) -> None:
        self.alive = False
        self.report(self.begin, finished=True)

    def quit(self) -> None:
        if self.alive:
            self.alive = False
            self.host.disarm(self)


class Interval(TimerLive):
    """`timer:interval(p)`: after the period; at once if it is zero."""

    __slots__ = ()

    def due(self) -> Instant | None:
        assert isinstance(self.node.tree, tree.Interval)
        return self.node.tree.period.after(self.host.now)


class IntervalOf(TimerLive):
    """The same with a period that what is bound tells when it starts."""

    __slots__ = ()

    def due(self) -> Instant | None:
        return _told_end(self)


class At(TimerLive):
    """`timer:at(...)`: at the next instant of the schedule."""

    __slots__ = ()

    def due(self) -> Instant | None:
        assert isinstance(self.node.tree, tree.At)
        return self.node.tree.schedule.after(self.host.now)


LIVE: dict[type[tree.Pattern], type[Live]] = {
    tree.Atom: Atom,
    tree.Every: Every,
    tree.EveryDistinct: EveryDistinct,
    tree.FollowedBy: FollowedBy,
    tree.AllOf: AllOf,
    tree.AnyOf: AnyOf,
    tree.Absent: Absent,
    tree.Repeat: Repeat,
    tree.Within: Within,
    tree.WithinOf: WithinOf,
    tree.While: While,
    tree.Interval: Interval,
    tree.IntervalOf: IntervalOf,
    tree.At: At,
}
