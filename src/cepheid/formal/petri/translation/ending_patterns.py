"""Patterns whose parts may end each other, as nets.

Every part of such a pattern that is alive is a token in the place of that part: (id, parent, key,
binding, ...), the id of the instance, that of the instance that started it, the key of the context,
what was bound when it started, and what the operator has to remember. Parts tell each other *news*:
they `start`, are `true` with a binding (and perhaps finished with that), or have `failed`. News have
numbers, and `stack` has that of the last one, which is the next to be heard: what follows from it
goes first. News for an instance that is no more are dropped. A token in a `quit` place ends all
children of an instance at once, and theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cepheid.formal.petri.nets.net import BOOL, INT, Arc, ColourSet, Simple, Transition
from cepheid.formal.petri.nets.terms import Apply, Const, Product, Term, Var, plus, product
from cepheid.formal.petri.translation.inscriptions import BINDING, BINDINGS
from cepheid.formal.petri.translation.net_builder import NOTHING, Effect, Level, NetBuilder, reading
from cepheid.formal.petri.translation.timers import NOW, NUMBER, Agenda, E, T
from cepheid.pattern import tree
from cepheid.program.resolved import ResolvedStatement

N, ID, PARENT, P, B, X, CHILD, FINISHED = map(
    Var, ("n", "id", "parent", "p", "b", "x", "child", "finished")
)
M = Var("m")
KEY = Simple("KEY", tuple)
YES, NO = Const(value=True), Const(value=False)
EMPTY_LIST = Const(())
_ALL = Const(0)  # children from this id on
State = tuple[tuple[Var, ColourSet], ...]


@dataclass(slots=True, eq=False)
class Part:
    """A part of a pattern, with the name of its place."""

    pattern: tree.Pattern
    name: str
    parent: Part | None
    place: int  # among the children of its parent
    state: State = ()
    children: list[Part] = field(default_factory=list)

    @property
    def variables(self) -> tuple[Var, ...]:
        return tuple(variable for variable, _ in self.state)

    @property
    def forbidden(self) -> int:
        """How many `not`s of an `and` it is in: the more there are, the earlier it hears an event."""
        if self.parent is None:
            return 0
        return self.parent.forbidden + tree.forbids(self.parent.pattern, self.pattern)

    @property
    def is_timed(self) -> bool:
        return isinstance(self.pattern, tree.Within | tree.Interval | tree.At)

    def news(self, what: str) -> str:
        """The place where it tells its parent something."""
        assert self.parent is not None
        number = self.place + 1 if len(self.parent.children) > 1 else ""
        return f"{self.parent.name}.{what}_news{number}"

    def walk(self) -> Iterator[Part]:
        yield self
        for child in self.children:
            yield from child.walk()


# What a transition tells, in the order in which it is to be heard.


@dataclass(frozen=True, slots=True)
class Start:
    child: Part
    binding: Term = B


@dataclass(frozen=True, slots=True)
class Tell:
    """The parent hears that the part is true."""

    binding: Term
    finished: Term


@dataclass(frozen=True, slots=True)
class Fail:
    """The parent hears that the part has failed."""


@dataclass(frozen=True, slots=True)
class Later:
    """The part itself goes on after the news before."""

    what: str
    terms: tuple[Term, ...] = ()


News = Start | Tell | Fail | Later
_COLOURS: dict[str, tuple[ColourSet, ...]] = {
    "to_start": (INT, INT, INT, KEY, BINDING),
    "true_news": (INT, INT, INT, BINDING, BOOL),
    "failed_news": (INT, INT, INT),
    "to_quit": (INT, INT),
}
_LATER: dict[str, tuple[ColourSet, ...]] = {"spawned": (INT,), "reports": (BINDINGS, BOOL)}


@dataclass(slots=True)
class Instances:
    """Draws the parts of one pattern."""

    builder: NetBuilder
    statement: ResolvedStatement
    draws: dict[type[tree.Pattern], Callable[[Instances, Part], None]]
    states: dict[type[tree.Pattern], State]
    keys: Mapping[str, Term] | None = None  # of each type: the key of its events' context
    agenda: Agenda = field(init=False)

    def __post_init__(self) -> None:
        self.agenda = Agenda(self.builder, self.statement)

    def own(self, name: str) -> str:
        return f"{self.statement.name}.{name}"

    # Places.

    def parts(self, pattern: tree.Pattern) -> Part:
        """The parts of a pattern, below one that stands for the whole."""
        root = Part(pattern, self.own("pattern"), None, 0, ((Var("starting"), BOOL),))
        taken: set[str] = set()
        root.children.append(self.part(pattern, root, 0, taken))
        return root

    def part(self, pattern: tree.Pattern, parent: Part, place: int, taken: set[str]) -> Part:
        name = self.own(_title(pattern))
        number = 2
        while name in taken:
            name = f"{self.own(_title(pattern))}_{number}"
            number += 1
        taken.add(name)
        part = Part(pattern, name, parent, place, self.states[type(pattern)])
        for number, child in enumerate(tree.children(pattern)):
            part.children.append(self.part(child, part, number, taken))
        return part

    def live(self, part: Part, state: Sequence[Term], identity: Term = ID) -> Arc:
        colours = (INT, INT, KEY, BINDING, *(colour for _, colour in part.state))
        place = self.builder.place(part.name, *colours)
        return Arc(place, product(identity, PARENT, P, B, *state))

    def news(self, place: str, *terms: Term) -> Arc:
        kind = place.rpartition(".")[2].rstrip("0123456789")
        return Arc(self.builder.place(place, *_COLOURS[kind]), product(*terms))

    def later(self, part: Part, what: str, *terms: Term) -> Arc:
        place = self.builder.place(f"{part.name}.then_{what}", INT, INT, *_LATER.get(what, ()))
        return Arc(place, product(*terms))

    @property
    def stack(self) -> str:
        return self.agenda.stack

    @property
    def now(self) -> str:
        return self.agenda.now

    @property
    def ids(self) -> str:
        return self.builder.place(self.own("ids"), INT, start=0)

    # The whole.

    def draw(self, root: Part, matched: Effect) -> None:
        """Draws a pattern; `matched` takes a match further."""
        self.draw_root(root, matched)
        if any(part.is_timed for part in root.children[0].walk()):
            self.agenda.draw()
        for part in root.children[0].walk():
            self.draws[type(part.pattern)](self, part)
            self.draw_quit(part)

    def begin(self, root: Part) -> None:
        """The tokens of a pattern that starts with the program."""
        child = root.children[0]
        self.live(root, root.variables)
        start = self.news(f"{child.name}.to_start").place
        started = self.later(root, "started").place
        self.builder.tokens |= {
            self.stack: [2],
            self.ids: [2],
            root.name: [(1, 0, (), (), True)],
            start: [(2, 2, 1, (), ())],
            started: [(1, 1)],
        }

    def begin_partition(self, root: Part, key: Term) -> Effect:
        """Starts a pattern for the first event of a key; that event is heard."""
        child, identity = root.children[0], plus(M, 1)
        started = product(identity, Const(0), key, EMPTY_LIST, YES)
        self.live(root, root.variables)
        return Effect(
            (Arc(self.stack, Const(0)), Arc(self.ids, M), self.agenda.old_now),
            (
                Arc(self.stack, Const(2)),
                Arc(self.ids, plus(M, 2)),
                Arc(self.now, product(T, NUMBER, plus(NUMBER, -1))),
                Arc(root.name, started),
                self.news(
                    f"{child.name}.to_start", Const(2), plus(M, 2), identity, key, EMPTY_LIST
                ),
                self.later(root, "started", Const(1), identity),
            ),
        )

    def draw_root(self, root: Part, matched: Effect) -> None:
        child = root.children[0]
        heard = (child.news("true"), ID, CHILD, X, FINISHED)
        self.on(root, "not_yet", heard, (YES,), (YES,))
        taken = Arc("Ev", product(NUMBER, Var("type"), Var("t1"), E))
        matched += reading(self.live(root, (NO,)), taken) + self.reading_now
        self.builder.add(
            Transition(
                self.builder.unused(matched.title or f"{root.name}.true"),
                (self.news(heard[0], N, *heard[1:]), Arc(self.stack, N), *matched.inputs),
                (Arc(self.stack, plus(N, -1)), *matched.outputs),
                None,
                Level.NEWS,
            )
        )
        self.on(root, "over", (child.news("failed"), ID, CHILD), root.variables, root.variables)
        self.on(root, "started", ("started", ID), (YES,), (NO,))

    # Transitions.

    def on(
        self,
        part: Part,
        title: str,
        heard: tuple[str, *tuple[Term, ...]],
        before: Sequence[Term] | None,
        after: Sequence[Term] | None,
        *news: News,
        guard: Term | None = None,
        quits: Sequence[Part] = (),
        also: Effect = NOTHING,
        quits_from: Term = _ALL,
    ) -> None:
        """Draws what a part does when it hears something.

        `before` is its state, None if it starts just now; `after` its state then, None if it is no
        more; `news` is what it tells; the children in `quits` end.
        """
        place, *terms = heard
        arc = self.hearing(part, place, N, *terms)
        all_inputs = [arc, Arc(self.stack, N), *also.inputs]
        all_outputs = [Arc(self.stack, plus(N, len(news) - 1)), *also.outputs]
        if before is not None:
            all_inputs.append(self.live(part, before))
        if after is not None:
            all_outputs.append(self.live(part, after))
        starts = sum(isinstance(item, Start) for item in news)
        if starts:
            all_inputs.append(Arc(self.ids, M))
            all_outputs.append(Arc(self.ids, plus(M, starts)))
        identity = 0
        for number, item in enumerate(news):
            identity += isinstance(item, Start)
            number_of_news = plus(N, len(news) - 1 - number)
            all_outputs.append(self.telling(part, item, number_of_news, plus(M, identity)))
        all_outputs += [self.news(f"{child.name}.to_quit", ID, quits_from) for child in quits]
        self.builder.add(
            Transition(
                self.builder.unused(f"{part.name}.{title}"),
                tuple(all_inputs),
                tuple(all_outputs),
                guard,
                Level.NEWS,
            )
        )
        if before is not None:
            self.draw_unheard(arc)

    def hearing(self, part: Part, place: str, *terms: Term) -> Arc:
        if place == "woken":
            return Arc(self.agenda.woken, product(terms[0], Const(part.name), *terms[1:]))
        if "." not in place:
            return self.later(part, place, *terms)
        return self.news(place, *terms)

    def telling(self, part: Part, item: News, number: Term, identity: Term) -> Arc:
        if isinstance(item, Start):
            return self.news(f"{item.child.name}.to_start", number, identity, ID, P, item.binding)
        if isinstance(item, Tell):
            return self.news(part.news("true"), number, PARENT, ID, item.binding, item.finished)
        if isinstance(item, Fail):
            return self.news(part.news("failed"), number, PARENT, ID)
        return self.later(part, item.what, number, ID, *item.terms)

    def draw_unheard(self, arc: Arc) -> None:
        """News for an instance that is no more; every place of news needs that once."""
        title = f"{arc.place}.unheard"
        if any(t.name == title for t in self.builder.transitions):
            return
        assert isinstance(arc.term, Product)
        blank = product(N, *(Var(f"x{n}") for n, _ in enumerate(arc.term.parts[1:])))
        self.builder.add(
            Transition(
                title,
                (Arc(arc.place, blank), Arc(self.stack, N)),
                (Arc(self.stack, plus(N, -1)),),
                None,
                Level.UNHEARD,
            )
        )

    def starting(self, part: Part) -> tuple[str, *tuple[Term, ...]]:
        return f"{part.name}.to_start", ID, PARENT, P, B

    def while_parent_lives(self, part: Part) -> Effect:
        """The arc by which a part that starts sees that its parent is still there."""
        parent = part.parent
        assert parent is not None
        if not isinstance(parent.pattern, tree.AllOf | tree.AnyOf | tree.Repeat):
            return NOTHING
        if parent.parent is None:
            return NOTHING
        others = (Var("u"), Var("up"), Var("ub"), *(Var(f"u_{v.name}") for v in parent.variables))
        self.live(parent, parent.variables)
        return reading(Arc(parent.name, product(PARENT, *others)))

    def start(
        self,
        part: Part,
        title: str,
        after: Sequence[Term] | None,
        *news: News,
        guard: Term | None = None,
        also: Effect = NOTHING,
    ) -> None:
        """Draws how a part begins."""
        seen = self.while_parent_lives(part)
        heard = self.starting(part)
        self.on(
            part,
            title,
            heard,
            None,
            after,
            *news,
            guard=guard,
            also=also + seen,
        )
        if seen.inputs:
            self.draw_unheard(self.news(heard[0], N, *heard[1:]))

    def draw_quit(self, part: Part, place: str | None = None) -> None:
        """A parent ends its children; `place` is another one that has tokens for each of them."""
        state = part.variables
        live = self.live(part, state) if place is None else Arc(place, product(ID, PARENT, X))
        name = place or part.name
        first = Var("first")
        order = self.news(f"{name}.to_quit", PARENT, first)
        children = part.children if place is None else []
        below = tuple(self.news(f"{child.name}.to_quit", ID, Const(0)) for child in children)
        more = (f"{part.name}.seen",) if isinstance(part.pattern, tree.EveryDistinct) else ()
        below += tuple(self.news(f"{seen}.to_quit", ID, Const(0)) for seen in more if place is None)
        also = self.disarmed(part) if part.is_timed else NOTHING
        self.builder.add(
            Transition(
                f"{name}.quit_one",
                (order, live, *also.inputs),
                (order, *below, *also.outputs),
                Apply(">=", ID, first),
                Level.HIGH,
            )
        )
        self.builder.add(Transition(f"{name}.all_quit", (order,), (), None, Level.ENDED))

    # Time.

    def armed(self, part: Part, due: Term) -> Effect:
        return self.agenda.armed(part.name, ID, due) + self.reading_now

    def disarmed(self, part: Part) -> Effect:
        return self.agenda.disarmed(part.name, ID)

    @property
    def reading_now(self) -> Effect:
        return reading(Arc(self.now, NOW))


_TITLES: dict[type[tree.Pattern], str] = {
    tree.Every: "every",
    tree.EveryDistinct: "every_distinct",
    tree.FollowedBy: "followed_by",
    tree.AllOf: "and",
    tree.AnyOf: "or",
    tree.Absent: "not",
    tree.Repeat: "repeat",
    tree.Within: "within",
    tree.While: "while",
    tree.Interval: "interval",
    tree.At: "at",
}


def _title(pattern: tree.Pattern) -> str:
    if isinstance(pattern, tree.Atom):
        return f"control_{pattern.tag or pattern.event_type}"
    return _TITLES[type(pattern)]
