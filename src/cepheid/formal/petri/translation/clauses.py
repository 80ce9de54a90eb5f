"""From matches to results where rows do not stand for themselves: groups, batches, rates, contexts.

Rows wait in `match`; the window turns them into a `delta`, the rows that now begin to count and those
that cease to: `enter` and `slide` for each row, `release` for a batch, `clear_DW_Ev` when time is
over. `select` applies a delta to the `aggregates`, `output` hands the results over (an output rate
may hold them until `let_out`), and `pattern_NAME` gives them one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cepheid.core.event import Event
from cepheid.core.time import Instant, Period
from cepheid.formal.petri.functions.lists import (
    APPEND,
    BIND,
    FIRST_DUE,
    HEAD,
    INSERT,
    LEAVING,
    LENGTH,
    NEVER,
    STAYING,
    TAIL,
    after,
    boundary,
)
from cepheid.formal.petri.functions.selecting import Remembered, Result, Rows, Selecting
from cepheid.formal.petri.nets.multiset import Colour
from cepheid.formal.petri.nets.net import BOOL, INT, Arc, ColourSet, ProductOf, Simple, Transition
from cepheid.formal.petri.nets.terms import (
    Apply,
    Const,
    Function,
    If,
    Term,
    Var,
    both,
    call,
    negation,
    plus,
    product,
)
from cepheid.formal.petri.translation.grouping import Grouping, is_listed
from cepheid.formal.petri.translation.inscriptions import BINDING, BINDINGS, EVENT, STREAM, Emitted
from cepheid.formal.petri.translation.net_builder import (
    NOTHING,
    AtStart,
    Effect,
    Level,
    NetBuilder,
    reading,
    succ,
)
from cepheid.formal.petri.translation.timers import NOW, Agenda
from cepheid.program.resolved import ResolvedStatement
from cepheid.program.tree import KeepAll, LengthBatch, LengthWindow, TimeBatch, TimeWindow
from cepheid.semantics.windows import Row as SourceRow

_I, _T, _K, _Q, _N, _PART, _ROW, _HELD = map(Var, ("i", "t", "k", "q", "n", "part", "r", "held"))
_NEW, _OLD, _DUE, _KNOWN, _RESULTS = map(Var, ("new", "old", "due", "known", "results"))
_RELEASED, _ANCHOR, _ARMED = map(Var, ("released", "anchor", "is_armed"))
ROWS, REMEMBERED, RESULTS = (
    Simple("ROWS", tuple),
    Simple("REMEMBERED", Remembered),
    Simple("RESULTS", tuple),
)
NEVER_SET = -(1 << 62)  # no instant: the periods of a batch have not begun
HELDS, TIMEDS, GROUPS, OUTPUTS = (
    Simple(name, tuple) for name in ("HELDS", "TIMEDS", "GROUPS", "OUTPUTS")
)
_EMPTY, _NEVER = Const(()), Const(NEVER)
_YES, _NO = Const(value=True), Const(value=False)


@dataclass(slots=True)
class Clauses:
    """Draws the clauses of one statement; every partition of its context has tokens of its own."""

    builder: NetBuilder
    statement: ResolvedStatement
    agenda: Agenda = field(init=False)
    selecting: Selecting = field(init=False)
    grouping: Grouping | None = field(init=False)  # where results go out at once

    def __post_init__(self) -> None:
        self.agenda = Agenda(self.builder, self.statement)
        self.selecting = Selecting(self.builder.program, self.statement)
        self.grouping = Grouping(self.statement) if is_listed(self.statement) else None

    def own(self, name: str) -> str:
        return f"{self.statement.name}.{name}"

    def draw(self, part: Term, found: Term) -> Effect:
        """Draws everything, and gives what the transition does that finds a row of a partition."""
        of_row = EVENT if self.statement.pattern is None else BINDING
        if self.grouping is not None and of_row is EVENT:
            of_row, found = BINDING, call(BIND, _EMPTY, Const(STREAM), found)
        match = self.place("match", INT, INT, INT, of_row)
        self.draw_window(Arc(match, product(_I, _T, _PART, _ROW)))
        self.draw_select()
        self.draw_results()
        if self.has_timers:
            self.agenda.draw()
        return Effect(outputs=(Arc(match, product(_I, _T, part, found)),))

    def place(self, name: str, *colours: ColourSet) -> str:
        return self.builder.place(self.own(name), *colours)

    def add(self, name: str, effect: Effect, guard: Term | None = None) -> None:
        name = self.builder.unused(name if name.startswith("pattern_") else self.own(name))
        self.builder.add(Transition(name, effect.inputs, effect.outputs, guard, Level.HIGH))

    # The beginning.

    def begin(self) -> None:
        """The tokens of a statement that starts with the program."""
        for place, colour in self.beginnings():
            self.builder.tokens[place] = [colour]

    def beginnings(self) -> list[tuple[str, Colour]]:
        start = AtStart(self.selecting.begin) if self.grouping is None else ()
        begun: list[tuple[str, Colour]] = [(self.aggregates, (1, start))]
        for place, terms in self.first_rows():
            begun.append((place, (1, *(t.value for t in terms)) if terms else 1))
        return begun

    def begin_partition(self, part: Term) -> tuple[Arc, ...]:
        """The arcs that give a new partition its tokens."""
        begin: Term = _EMPTY
        if self.grouping is None:
            begin = call(Function("begin", self.selecting.begin), _T)
        firsts = [Arc(place, product(part, *terms)) for place, terms in self.first_rows()]
        return (Arc(self.aggregates, product(part, begin)), *firsts)

    def first_rows(self) -> list[tuple[str, tuple[Const, ...]]]:
        """What a window has at its beginning."""
        window = self.statement.tree.window
        firsts: list[tuple[str, tuple[Const, ...]]] = []
        if self.keeps_rows:
            firsts.append((self.held, (_EMPTY,)))
        if isinstance(window, LengthBatch | TimeBatch):
            firsts.append((self.released, (_EMPTY,)))
        if isinstance(window, TimeBatch):
            anchor = NEVER_SET if window.reference is None else window.reference * 1000
            firsts.append((self.periods, (Const(anchor), _NO)))
            if window.start_eager:
                firsts.append((self.place("eager", INT), ()))
        return firsts

    @property
    def aggregates(self) -> str:
        return self.place("aggregates", INT, GROUPS if self.grouping else REMEMBERED)

    @property
    def held(self) -> str:
        if self.grouping is None:
            return self.place("DW_Ev", INT, ROWS)
        window = self.statement.tree.window
        is_batch = isinstance(window, LengthBatch | TimeBatch)
        is_timed = isinstance(window, TimeWindow)
        return self.place("DW_Ev", INT, BINDINGS if is_batch else TIMEDS if is_timed else HELDS)

    @property
    def of_rows(self) -> Simple:
        return ROWS if self.grouping is None else HELDS

    @property
    def released(self) -> str:
        return self.place("released", INT, self.of_rows)

    @property
    def periods(self) -> str:
        return self.place("periods", INT, INT, BOOL)

    @property
    def keeps_rows(self) -> bool:
        return self.statement.tree.window is not None

    @property
    def has_timers(self) -> bool:
        output = self.statement.tree.output
        has_rate = output is not None and isinstance(output.every, Period)
        return has_rate or isinstance(self.statement.tree.window, TimeWindow | TimeBatch)

    # Windows.

    def draw_window(self, match: Arc) -> None:
        window = self.statement.tree.window
        if isinstance(window, TimeBatch):
            self.draw_time_batch(match, window)
        elif isinstance(window, LengthBatch):
            self.draw_length_batch(match, window.size)
        elif isinstance(window, TimeWindow):
            self.draw_time_window(match, window.period)
        elif isinstance(window, LengthWindow):
            self.draw_length_window(match, window.size)
        elif isinstance(window, KeepAll):
            row = self.examined()
            kept = Arc(self.held, product(_PART, call(APPEND, _HELD, row)))
            self.enter(match, row, Effect((self.holding,), (kept,)))
        elif window is None:
            self.enter(match, self.examined(), NOTHING)
        else:
            raise TypeError(f"a gap: {window}")

    @property
    def holding(self) -> Arc:
        return Arc(self.held, product(_PART, _HELD))

    def examined(self) -> Term:
        row = Function("row", self.selecting.row)
        return call(row if self.grouping is None else self.grouping.examine(), _ROW, _T)

    def examined_all(self, rows: Term) -> Term:
        several = Function("rows", self.selecting.rows)
        return call(several if self.grouping is None else self.grouping.examine_all(), rows, _T)

    def delta(self, new: Term, old: Term) -> Arc:
        place = self.place("delta", INT, INT, INT, self.of_rows, self.of_rows)
        return Arc(place, product(_I, _T, _PART, new, old))

    def enter(self, match: Arc, row: Term, effect: Effect) -> None:
        one = call(APPEND, _EMPTY, row)
        self.add("enter", Effect((match,), (self.delta(one, _EMPTY),)) + effect)

    def draw_length_window(self, match: Arc, size: int) -> None:
        row = self.examined()
        full = Apply(">=", call(LENGTH, _HELD), Const(size))
        grown = call(APPEND, _HELD, row)
        kept = Arc(self.held, product(_PART, grown))
        new = call(APPEND, _EMPTY, row)
        entering = Effect((match, self.holding), (kept, self.delta(new, _EMPTY)))
        self.add("enter", entering, negation(full))
        slid = Arc(self.held, product(_PART, call(TAIL, grown)))
        oldest = call(APPEND, _EMPTY, call(HEAD, _HELD))
        self.add("slide", Effect((match, self.holding), (slid, self.delta(new, oldest))), full)

    def draw_length_batch(self, match: Arc, size: int) -> None:
        full = Apply("=", succ(call(LENGTH, _HELD)), Const(size))
        gathered = call(APPEND, _HELD, _ROW)
        kept = Arc(self.held, product(_PART, gathered))
        self.add("gather", Effect((match, self.holding), (kept,)), negation(full))
        rows = self.examined_all(gathered)
        released = Arc(self.released, product(_PART, _RELEASED))
        self.add(
            "release",
            Effect(
                (match, self.holding, released),
                (
                    Arc(self.held, product(_PART, _EMPTY)),
                    Arc(self.released, product(_PART, rows)),
                    self.delta(rows, _RELEASED),
                ),
            ),
            full,
        )

    def woken(self, name: str) -> Effect:
        """Time has come for something of this name."""
        number = Arc("Ev", product(_I, Var("type"), Var("t1"), Var("e")))
        now = Arc(self.agenda.now, NOW)
        woken = Arc(self.agenda.woken, product(_N, Const(self.own(name)), _PART))
        return Effect(
            (woken, Arc(self.agenda.stack, _N), number, now),
            (Arc(self.agenda.stack, plus(_N, -1)), number, now),
        )

    def armed(self, name: str, due: Term, stage: int = 1) -> Effect:
        return self.agenda.armed(self.own(name), _PART, due, _PART, stage)

    def draw_time_window(self, match: Arc, period: Period) -> None:
        due, row = after(period, _T), self.examined()
        grown = call(INSERT, _HELD, due, row)
        kept = Arc(self.held, product(_PART, grown))
        entering = Effect((self.holding,), (kept,)) + self.armed("DW_Ev", call(FIRST_DUE, grown))
        self.enter(match, row, entering)
        leaving = call(LEAVING, _HELD, _T)
        staying = call(STAYING, _HELD, _T)
        cleared = self.woken("DW_Ev") + Effect(
            (self.holding,),
            (Arc(self.held, product(_PART, staying)), self.delta(_EMPTY, leaving)),
        )
        left = _is_empty(staying)
        self.add("clear_DW_Ev", cleared, left)
        self.add(
            "clear_DW_Ev", cleared + self.armed("DW_Ev", call(FIRST_DUE, staying)), negation(left)
        )

    def draw_time_batch(self, match: Arc, window: TimeBatch) -> None:
        """`periods` has since when they follow each other, and whether the end of one is awaited."""
        anchor = If(Apply("=", _ANCHOR, Const(NEVER_SET)), _T, _ANCHOR)
        ends = self.armed("DW_Ev", boundary(window.period, anchor, _T))
        running = Arc(self.periods, product(_PART, anchor, _YES))
        idle = Arc(self.periods, product(_PART, _ANCHOR, _NO))
        kept = Arc(self.held, product(_PART, call(APPEND, _HELD, _ROW)))
        gathering = Effect((match, self.holding), (kept,))
        self.add("gather", gathering + Effect((idle,), (running,)) + ends)
        awaited = Arc(self.periods, product(_PART, _ANCHOR, _YES))
        self.add("gather", gathering + reading(awaited))
        rows = self.examined_all(_HELD)
        released = Arc(self.released, product(_PART, _RELEASED))
        release = self.woken("DW_Ev") + Effect(
            (self.holding, released, awaited),
            (
                Arc(self.held, product(_PART, _EMPTY)),
                Arc(self.released, product(_PART, rows)),
                self.delta(rows, _RELEASED),
            ),
        )
        is_empty = _NO if window.force_update else _is_empty(_HELD)
        again = Effect(outputs=(awaited,)) + self.armed(
            "DW_Ev", boundary(window.period, _ANCHOR, _T)
        )
        self.add("release", release + again, negation(is_empty))
        self.add("release_nothing", release + Effect(outputs=(idle,)), is_empty)
        if window.start_eager:
            eager = Arc(self.place("eager", INT), product(_PART))
            now = Arc(self.agenda.now, NOW)
            begin = Effect((eager, idle, now), (running, now))
            self.add("begin_batch", begin + ends)

    # Results.

    @property
    def contents(self) -> tuple[Effect, Term]:
        """The rows that count now, if somebody asks for them."""
        output, window = self.statement.tree.output, self.statement.tree.window
        if output is None or output.mode != "snapshot" or window is None:
            return NOTHING, _EMPTY
        place = self.released if isinstance(window, LengthBatch | TimeBatch) else self.held
        rows = Var("rows")
        arc = Arc(place, product(_PART, rows))
        is_timed = isinstance(window, TimeWindow)
        counted = call(Function("rowsOf", _rows_of), rows) if is_timed else rows
        return reading(arc), counted

    def selected(self, step: Term) -> Arc:
        colours = ProductOf((REMEMBERED, RESULTS, INT))
        place = self.place("selected", INT, INT, INT, colours)
        return Arc(place, product(_I, _T, _PART, step))

    def draw_select(self) -> None:
        known = Arc(self.aggregates, product(_PART, _KNOWN))
        if self.grouping is not None:
            groups = call(self.grouping.groups_after(), _KNOWN, _NEW, _OLD)
            outputs = call(self.grouping.outputs(), _KNOWN, _NEW, _OLD, _T)
            after = Arc(self.aggregates, product(_PART, groups))
            self.add(
                "select", Effect((self.delta(_NEW, _OLD), known), (after, self.results(outputs)))
            )
            return
        looking, contents = self.contents
        take = Function("select", self.selecting.take)
        taken = Var("t1")
        step = call(take, _KNOWN, _NEW, _OLD, _T, contents, taken)
        taking = Effect((self.delta(_NEW, _OLD), known), (self.selected(step),))
        last_event = reading(Arc("Ev", product(_I, Var("type"), taken, Var("e"))))
        self.add("select", taking + looking + last_event)
        done = self.selected(product(_KNOWN, _RESULTS, _DUE))
        given = Effect((done,), (known, self.results(_RESULTS)))
        never = Apply("=", _DUE, _NEVER)
        self.add("output", given, never)
        output = self.statement.tree.output
        if output is not None and isinstance(output.every, Period):
            self.add("output", given + self.armed("rate", _DUE, stage=2), negation(never))
            let_out = Function("letOut", self.selecting.let_out)
            step = call(let_out, _KNOWN, _T, contents)
            letting = self.woken("rate") + Effect((known,), (self.selected(step),))
            self.add("let_out", letting + looking)

    def results(self, rows: Term) -> Arc:
        return Arc(
            self.place("results", INT, INT, OUTPUTS if self.grouping else RESULTS),
            product(_I, _T, rows),
        )

    def draw_results(self) -> None:
        some = Apply(">", call(LENGTH, _RESULTS), Const(0))
        self.add("no_more", Effect((self.results(_RESULTS),)), negation(some))
        rest = self.results(call(TAIL, _RESULTS))
        one = Effect((self.results(_RESULTS),), (rest,))
        tree = self.statement.tree
        is_old = call(Function("isOld", lambda results: results[0].is_old), _RESULTS)
        both_streams = all(self.selecting.speaks.values())
        for stream, old in (("istream", False), ("rstream", True)):
            if not self.selecting.speaks[stream]:
                continue
            emitted = self.emit(
                is_old=old and tree.stream == "irstream",
                is_reported=tree.stream in (stream, "irstream"),
                is_inserted=tree.insert_stream in (stream, "irstream"),
            )
            right = (is_old if old else negation(is_old)) if both_streams else None
            self.add(f"pattern_{self.statement.name}", one + emitted, both(some, right))

    def emit(self, *, is_old: bool, is_reported: bool, is_inserted: bool) -> Effect:
        target, number = self.statement.target, succ(_K)
        seqn = self.builder.place(f"{target}.out_seqn", INT, start=0)
        place = self.builder.place(self.builder.result_place(target), INT, INT, EVENT)
        effect = Effect((Arc(seqn, _K),), (Arc(seqn, number),))
        arguments = (_RESULTS, _I, _T, number)
        event: Term
        shown: Term
        if self.grouping is not None:
            event = shown = Emitted(self.statement, *arguments)
        else:
            shown = call(Function(target, self.derive(is_old=is_old)), *arguments)
            event = call(Function(target, self.derive(is_old=False)), *arguments)
        if is_reported:
            effect += Effect(outputs=(Arc(place, product(number, _T, shown)),))
        if is_inserted and self.builder.is_consumed(target):
            waiting = product(succ(_Q), Const(target), _T, event)
            effect += Effect((Arc("queued", _Q),), (Arc("queued", succ(_Q)), Arc("queue", waiting)))
        return effect

    def derive(self, *, is_old: bool) -> Callable[..., Event]:
        statement = self.statement
        names = [column.name for column in statement.columns]

        def derived(results: tuple[Result, ...], taken: int, now: Instant, number: int) -> Event:
            values = dict(zip(names, results[0].values, strict=True))
            key = (now, taken, statement.rank, number)
            return Event(
                statement.target, now, values, number, statement.name, is_old=is_old, key=key
            )

        return derived


def _is_empty(rows: Term) -> Term:
    return Apply("=", call(LENGTH, rows), Const(0))


def _rows_of(held: tuple[tuple[Instant, SourceRow], ...]) -> Rows:
    return tuple(row for _, row in held)
