"""What a statement does at instants that it knows before: parts of its pattern, its window, its rate.

`agenda` has it in order. When the time has come, `wake` takes the first entry from there into
`woken`, as news; what it leads to goes before the next entry. `now` has the time, the origin of what
is armed (the number of the event that led to it), and the number of the last event that a part which
starts does not hear any more.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.formal.petri.functions.lists import ARM, DISARM, INSTANCE, IS_DUE, NODE, ORIGIN, TAIL
from cepheid.formal.petri.nets.net import INT, STRING, Arc, Simple, Transition
from cepheid.formal.petri.nets.terms import Const, Term, Var, call, product
from cepheid.formal.petri.translation.net_builder import Effect, NetBuilder, since
from cepheid.program.resolved import ResolvedStatement

NUMBER, T, E, AGENDA = map(Var, ("i", "t", "e", "agenda"))
ORIGIN_ = Var("origin")
NOW = product(T, ORIGIN_, Var("since"))
ENTRIES = Simple("AGENDA", tuple)


@dataclass(slots=True)
class Agenda:
    """The places of a statement that has to do with time."""

    builder: NetBuilder
    statement: ResolvedStatement

    def own(self, name: str) -> str:
        return f"{self.statement.name}.{name}"

    @property
    def stack(self) -> str:
        return self.builder.place(self.own("stack"), INT, start=0)

    @property
    def now(self) -> str:
        return self.builder.place(self.own("now"), INT, INT, INT, start=(since(0), 0, 0))

    @property
    def old_now(self) -> Arc:
        return Arc(self.now, product(Var("t0"), Var("origin0"), Var("since0")))

    @property
    def entries(self) -> str:
        return self.builder.place(self.own("agenda"), ENTRIES, start=())

    @property
    def woken(self) -> str:
        return self.builder.place(self.own("woken"), INT, STRING, INT)

    def armed(
        self, name: str, instance: Term, due: Term, origin: Term = ORIGIN_, stage: int = 0
    ) -> Effect:
        """Puts something on the agenda, in the place of what it had there."""
        entry = product(due, Const(stage), origin, Const(name), instance)
        others = call(DISARM, AGENDA, Const(name), instance)
        after = Arc(self.entries, call(ARM, others, entry))
        return Effect((Arc(self.entries, AGENDA),), (after,))

    def disarmed(self, name: str, instance: Term) -> Effect:
        """Takes something from the agenda."""
        without = call(DISARM, AGENDA, Const(name), instance)
        return Effect((Arc(self.entries, AGENDA),), (Arc(self.entries, without),))

    def draw(self) -> None:
        """Time has come for the first entry."""
        if any(t.name == self.own("wake") for t in self.builder.transitions):
            return
        taken, time = Arc("Ev", product(NUMBER, Var("type"), Var("t1"), E)), Arc("time", T)
        woken = product(Const(1), call(NODE, AGENDA), call(INSTANCE, AGENDA))
        self.builder.add(
            Transition(
                self.own("wake"),
                (Arc(self.entries, AGENDA), time, Arc(self.stack, Const(0)), self.old_now, taken),
                (
                    Arc(self.entries, call(TAIL, AGENDA)),
                    time,
                    Arc(self.stack, Const(1)),
                    Arc(self.now, product(T, call(ORIGIN, AGENDA), NUMBER)),
                    taken,
                    Arc(self.woken, woken),
                ),
                call(IS_DUE, AGENDA, T),
                self.builder.timer_level(self.statement),
            )
        )
