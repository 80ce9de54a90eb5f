"""Walks a wrapper over pages, from left to right, and collects what its markers find.

An action on several nodes forks the walk: what stands to its right is done for each of them, one after
the other. So does a star for every number of times that its path can be walked. Branches are walked in
depth and given up when they are done, so that thousands of pages need the room of a few.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, takewhile
from time import monotonic
from typing import TypeAlias, cast

from cepheid.core.words import counted
from cepheid.errors import Diagnostic, RunError, error, warning
from cepheid.web.evaluation import Candidate, Given, Scope, evaluate, extracts, take_step
from cepheid.web.nodes import Node
from cepheid.web.printer import bounds_text, print_part
from cepheid.web.records import Collector, Emission, Record
from cepheid.web.settings import Settings
from cepheid.web.site import Site, View
from cepheid.web.tree import (
    DESCENDANTS,
    Action,
    Part,
    Path,
    Predicate,
    Star,
    Step,
    Wrapper,
    all_parts,
)
from cepheid.web.values import to_text

Found: TypeAlias = list[tuple[Node, Record | None]]


@dataclass(frozen=True, slots=True)
class Place:
    """How far a branch has come: nodes of a page, each with the record it belongs to."""

    view: View
    found: Found


@dataclass(slots=True)
class Reached:
    """What came of a part of the wrapper, over all branches."""

    part: Part
    is_below: bool  # whether `//` stands before it
    nodes: int = 0
    visits: int = 0  # how often there was something to go on from
    last: View | None = None  # where it found nothing, as long as it has never found anything

    @property
    def label(self) -> str:
        """The part as people write it, without what it extracts."""
        part = self.part
        if isinstance(part, Star):
            return f"(...)*{bounds_text(part)}"
        if isinstance(part, Step):
            kept = (q for q in part.qualifiers if not (isinstance(q, Predicate) and extracts(q)))
            part = replace(part, qualifiers=tuple(kept))
        text = print_part(part)
        return f"//{text.removeprefix('descendant::')}" if self.is_below else text


@dataclass(slots=True)
class Walk:
    """One run of a wrapper; `is_single`: an action may have one node only."""

    site: Site
    given: Given
    settings: Settings
    is_single: bool = False
    collector: Collector = field(default_factory=Collector)
    reached: dict[int, Reached] = field(default_factory=dict)  # by the identity of the part
    problems: list[Diagnostic] = field(default_factory=list)
    view: View | None = None  # the last page that was looked at
    clock: Callable[[], float] = monotonic
    _stars: int = 0  # in how many the walk is
    _needed: list[View] = field(default_factory=list)  # from which stars go on later

    def run(self, wrapper: Wrapper, address: str) -> None:
        """Errors leave the view on which they happened."""
        parts = _parts_of(wrapper.path)
        self.reached = {id(part): Reached(part, is_below) for part, is_below in parts}
        for _ in self._walk(self._start(address), wrapper.path.parts):
            pass

    def _start(self, address: str) -> Place:
        self.view = self.site.open(address)
        return Place(self.view, [(self.view.page.root, None)])

    def _walk(self, place: Place, parts: Sequence[Part]) -> Iterator[Place]:
        """All places that the parts lead to from here."""
        steps, rest = _split(parts)
        if steps:
            place = self._steps(place, steps)
        if not place.found:
            return
        # A generator that waits holds what its names stand for: whatever is behind has none any more, so
        # that a long way needs no more room than a short one.
        if not rest:
            arrived = deque([place])
            del place
            yield arrived.popleft()
            return
        branches = self._branches(place, rest[0])
        del place
        yield from chain.from_iterable(map(partial(self._walk, parts=rest[1:]), branches))

    def _branches(self, place: Place, part: Part) -> Iterator[Place]:
        match part:
            case Action():
                return self._act(place, part)
            case Star():
                return self._star(place, part)
        raise TypeError(f"{type(part).__name__} does not fork")

    # Steps.

    def _steps(self, place: Place, steps: Sequence[Step]) -> Place:
        """What steps find on a page; where it is nothing, scripts get some time to bring it."""
        until = self.clock() + self.settings.patience
        while True:
            found, emissions, counts = self._attempt(place, steps)
            if found or emissions or self._stars:
                break
            nodes = [node for node, _ in place.found]
            changed = self.site.refresh(place.view, nodes, until - self.clock())
            if changed is None:
                break
            records = [record for _, record in place.found]
            place = Place(changed[0], [*zip(changed[1], records, strict=True)])
            self.view = place.view
        self.collector.take(emissions)
        for step, count in zip(steps, counts, strict=False):
            self._note(step, count, place.view)
        return Place(place.view, found)

    def _attempt(
        self, place: Place, steps: Sequence[Step]
    ) -> tuple[Found, list[Emission], list[int]]:
        """Nodes, what markers found on the way, and how many nodes each step found."""
        emissions: list[Emission] = []
        counts: list[int] = []
        found = place.found
        for step in steps:
            reached = take_step([Candidate(*each) for each in found], step, self.given)
            emissions.extend(chain.from_iterable(each.found for each in reached))
            found = [(each.node, each.record) for each in reached]
            counts.append(len(found))
            if not found:
                break
        return found, emissions, counts

    def _note(self, part: Part, count: int, view: View) -> None:
        reached = self.reached[id(part)]
        reached.visits += 1
        reached.nodes += count
        reached.last = None if reached.nodes else view

    # Actions.

    def _act(self, place: Place, action: Action) -> Iterator[Place]:
        """What comes of the action on each node, one after the other."""
        todo = _tasks(place)
        self._note(action, len(todo), place.view)
        del place  # for the same reason
        if self.is_single and len(todo) > 1:
            fact = f"an action on {len(todo)} nodes, where one is meant"
            hint = "make the step before it exact"
            raise RunError(error("several-nodes", fact, action.span, hint))
        while todo:
            yield self._done(action, *todo.popleft(), is_last=not todo)

    def _done(
        self,
        action: Action,
        view: View,
        node: Node,
        owners: list[Record | None],
        *,
        is_last: bool,
    ) -> Place:
        """Where an action on one node leads; the view can be acted on again, unless it is the last."""
        self.view = view
        is_free = is_last and not any(view is each for each in self._needed)
        after, arrived = self.site.act(
            view, node, action, self._text(action, node), is_last=is_free
        )
        self.view = after
        if action.is_absolute:
            arrived = after.page.root
        elif arrived is None:
            fact = f"after {print_part(action)}, the node is not there any more"
            form = print_part(replace(action, is_absolute=True))
            raise RunError(error("step-failed", fact, action.span, f"go on at the root: {form}"))
        return Place(after, [(arrived, owner) for owner in owners])

    def _text(self, action: Action, node: Node) -> str | None:
        return (
            None if action.text is None else to_text(evaluate(action.text, Scope(node, self.given)))
        )

    # Stars.

    def _star(self, place: Place, star: Star) -> Iterator[Place]:
        self._note(star, len(place.found), place.view)
        if any(isinstance(part, Action) for part in all_parts(star)):
            return self._paging(place, star)
        return iter([self._closure(place, star)])

    def _paging(self, place: Place, star: Star) -> Iterator[Place]:
        """Each place before the next one is looked for; a page that was there ends the way."""
        seen = {_state(place)}
        levels: list[Iterator[Place]] = []
        here: Place | None = place
        del place
        while here is not None:
            goes_on = len(levels) != star.most
            onward = self._walk(here, star.path.parts) if goes_on else iter(())
            if goes_on:
                self._needed.append(here.view)
            if len(levels) >= star.least:
                yield here
            if goes_on:
                self._needed.pop()
            levels.append(onward)
            here = None
            while levels and here is None:
                here = self._onward(levels[-1], star, seen)
                if here is None:
                    levels.pop()
            self._limit(len(levels), star)

    def _onward(self, branch: Iterator[Place], star: Star, seen: set[int]) -> Place | None:
        self._stars += 1
        try:
            for place in branch:
                state = _state(place)
                if state not in seen:
                    seen.add(state)
                    return place
                fact = f"{place.view.page.url} was read before: the star ends there"
                self.problems.append(warning("endless-star", fact, star.span))
        finally:
            self._stars -= 1
        return None

    def _limit(self, count: int, star: Star) -> None:
        if star.most is None and count > self.settings.repeats:
            fact = f"a star that was repeated {self.settings.repeats:,} times, and goes on"
            raise RunError(error("endless-star", fact, star.span, "bound it: (...)*{0,20}"))

    def _closure(self, place: Place, star: Star) -> Place:
        """Without actions: all that is reached on this page, each node once."""
        found: dict[tuple[Node, int], tuple[Node, Record | None]] = {}
        here, count = place, 0
        while here.found and (star.most is None or count <= star.most):
            new = [each for each in here.found if _key(each) not in found]
            if count >= star.least:
                found.update((_key(each), each) for each in new)
            if not new:
                break
            count += 1
            self._stars += 1
            here = next(self._walk(Place(place.view, new), star.path.parts), Place(place.view, []))
            self._stars -= 1
        return Place(place.view, list(found.values()))

    # Reports.

    def lost(self) -> list[Diagnostic]:
        """Parts that had something to go on from, and never found anything."""
        found: list[Diagnostic] = []
        before: Reached | None = None
        for reached in self.reached.values():
            if reached.part == DESCENDANTS:
                continue
            if reached.last is not None:
                fact = f"{reached.label} found nothing on {reached.last.page.url}"
                times = counted(reached.visits, "time")
                hint = f"looked for {times}, from what {before.label} found" if before else None
                found.append(warning("step-failed", fact, reached.part.span, hint))
            before = reached
        return found


def _tasks(place: Place) -> deque[tuple[View, Node, list[Record | None]]]:
    """The nodes of a place, each once, with the records it belongs to."""
    owners: dict[Node, list[Record | None]] = {}
    for node, record in place.found:
        owners.setdefault(node, []).append(record)
    return deque((place.view, node, own) for node, own in owners.items())


def _key(found: tuple[Node, Record | None]) -> tuple[Node, int]:
    return found[0], id(found[1])


def _state(place: Place) -> int:
    """Equal for places where the same nodes are looked at on pages that say the same."""
    return hash((place.view.page.fingerprint, tuple(node.order for node, _ in place.found)))


def _split(parts: Sequence[Part]) -> tuple[list[Step], Sequence[Part]]:
    """The steps up to the next action or star, and the rest."""
    steps = list(takewhile(lambda part: isinstance(part, Step), parts))
    return cast("list[Step]", steps), parts[len(steps) :]


def _parts_of(path: Path) -> Iterator[tuple[Part, bool]]:
    """All parts, those of stars included, and whether `//` stands before each."""
    before: Part | None = None
    for part in path.parts:
        is_joined = isinstance(part, Step) and part.axis == "descendant"
        yield part, is_joined or before == DESCENDANTS
        if isinstance(part, Star):
            yield from _parts_of(part.path)
        before = part
