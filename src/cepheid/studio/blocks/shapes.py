"""What blocks look like: the words and slots of each, in the form in which Blockly defines them.

What a slot takes is its `check`: only what is of that kind fits there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from cepheid.studio.blocks.block import EXPRESSION
from cepheid.studio.blocks.expressions import AGGREGATES, ARITHMETIC, COMPARISONS

Slot: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    type: str
    rows: tuple[tuple[str, tuple[Slot, ...]], ...]  # words with %1, %2 ... for slots
    about: str  # what it is for
    style: str
    above: str | None = None  # what it can be stacked below; None: nothing
    stacks: bool = True  # whether more of that kind can follow
    gives: str | None = None  # the kind of value, for what is put into a slot

    def definition(self) -> dict[str, Any]:
        made: dict[str, Any] = {"type": self.type, "tooltip": self.about, "style": self.style}
        for number, (words, slots) in enumerate(self.rows):
            made[f"message{number}"] = words
            made[f"args{number}"] = list(slots)
        if self.above:
            made["previousStatement"] = self.above
            if self.stacks:
                made["nextStatement"] = self.above
        if self.gives:
            made["output"] = None if self.gives == "any" else self.gives
        made["inputsInline"] = True
        return made


def text(name: str, start: str = "") -> Slot:
    return {"type": "field_input", "name": name, "text": start, "spellcheck": False}


def choice(name: str, *values: str) -> Slot:
    return {"type": "field_dropdown", "name": name, "options": [[v, v] for v in values]}


def inside(name: str, *check: str) -> Slot:
    return {"type": "input_statement", "name": name, "check": list(check)}


def value(name: str, *check: str) -> Slot:
    return {"type": "input_value", "name": name, "check": list(check)}


CHILD = inside("CHILD", "pattern")
CONDITION = value("CONDITION", "truth")
ROW = {"type": "input_end_row", "name": "ROW"}  # what follows stands below
PICTURE = {
    "type": "field_label",
    "name": "PICTURE",
    "text": "",
}  # of the type; no part of the statement
ANY_VALUE = ("number", "text", "truth")  # kinds of values; what is of none fits everywhere


def _row(words: str, *slots: Slot) -> tuple[str, tuple[Slot, ...]]:
    return words, slots


def _pattern(type: str, about: str, *rows: tuple[str, tuple[Slot, ...]], style: str) -> Shape:
    return Shape(type, rows, about, style, above="pattern")


def _clause(type: str, about: str, words: str, *slots: Slot) -> Shape:
    return Shape(type, (_row(words, *slots),), about, "clauses", above="clause")


def _window(type: str, about: str, words: str, *slots: Slot) -> Shape:
    return Shape(type, (_row(words, *slots),), about, "windows", above="window", stacks=False)


def _expression(type: str, about: str, gives: str, style: str, words: str, *slots: Slot) -> Shape:
    return Shape(type, (_row(words, *slots),), about, style, gives=gives)


_STREAMS = choice("STREAM", "rstream", "irstream", "istream")

SHAPES = (
    Shape(
        "statement",
        (
            _row("make %1 called %2 %3", text("INTO", "NewEvent"), text("NAME"), text("NOTES")),
            _row("with %1", inside("SELECT", "column")),
            _row("whenever %1", inside("SOURCE", "pattern", "source")),
            _row("in %1", inside("WINDOW", "window")),
            _row("and %1", inside("CLAUSES", "clause")),
            _row("then %1", inside("ACTIONS", "action")),
        ),
        "A complex event: its type, the name of the statement, notes such as @Priority(1), its properties, the pattern"
        " that makes it, and what is done then.",
        "complex",
    ),
    # What is selected.
    Shape(
        "item",
        (_row("%1 as %2", value("EXPR", *ANY_VALUE), text("AS")),),
        "A property of the complex event: what it is, and what it is called.",
        "complex",
        above="column",
    ),
    Shape(
        "all",
        (_row("everything of %1", text("TAG")),),
        "All properties of the event with a tag; without a tag, of all of them.",
        "complex",
        above="column",
    ),
    # Sources.
    Shape(
        "stream",
        (_row("%1 each %2 as %3 %4 where %5", PICTURE, text("TYPE"), text("AS"), ROW, CONDITION),),
        "Every event of a type, as rows for a window.",
        "events",
        above="source",
        stacks=False,
    ),
    _pattern(
        "event",
        "An event of this type: its tag, by which others name it, and what must hold for it.",
        _row("%1 %2 : %3 %4 where %5", PICTURE, text("TAG"), text("TYPE"), ROW, CONDITION),
        style="events",
    ),
    # Timers.
    _pattern(
        "interval",
        "Waits for a time, such as '10 seconds' or '2 min 30 sec'.",
        _row("wait %1", text("PERIOD", "10 seconds")),
        style="timers",
    ),
    _pattern(
        "schedule",
        "Waits for the next time: minutes, hours, days of the month, months, days of the week, seconds.",
        _row("at %1", text("TIMES", "0, 8, *, *, *")),
        style="timers",
    ),
    _pattern(
        "within",
        "What is inside must happen within this time.",
        _row("within %1 %2", text("PERIOD", "10 seconds"), CHILD),
        style="timers",
    ),
    _pattern(
        "within_most",
        "What is inside must happen within this time, and counts so many times at most.",
        _row(
            "within %1 at most %2 times %3", text("PERIOD", "10 seconds"), text("MOST", "1"), CHILD
        ),
        style="timers",
    ),
    # Pattern operators.
    _pattern(
        "every",
        "Begins anew each time what is inside has happened.",
        _row("every %1", CHILD),
        style="operators",
    ),
    _pattern(
        "every_distinct",
        "Like every, but for each value of an expression once, or once in a time.",
        _row("every with a new %1 for %2 %3", text("KEYS", "a.id"), text("EXPIRY"), CHILD),
        style="operators",
    ),
    _pattern(
        "followed_by",
        "One after the other, as a part of something else: what is stacked is that already.",
        _row("one after the other %1", inside("PARTS", "pattern")),
        style="operators",
    ),
    _pattern(
        "repeat",
        "So many times, one after the other.",
        _row("%1 times %2", text("COUNT", "2"), CHILD),
        style="operators",
    ),
    _pattern(
        "range",
        "At least and at most so many times, until something else happens.",
        _row("%1 to %2 times %3", text("LOW", "1"), text("HIGH", "3"), CHILD),
        _row("until %1", inside("UNTIL", "pattern")),
        style="operators",
    ),
    _pattern(
        "until",
        "Any number of times, until something else happens.",
        _row("again and again %1", CHILD),
        _row("until %1", inside("UNTIL", "pattern")),
        style="operators",
    ),
    _pattern(
        "while",
        "Goes on for as long as a condition holds for what happened.",
        _row("while %1 %2", CONDITION, CHILD),
        style="operators",
    ),
    # Logic.
    _pattern(
        "all_of",
        "All of them, in any order.",
        _row("all of %1", inside("PARTS", "pattern")),
        style="logic",
    ),
    _pattern(
        "any_of",
        "Any one of them.",
        _row("any of %1", inside("PARTS", "pattern")),
        style="logic",
    ),
    _pattern(
        "absent",
        "What is inside has not happened: stands in 'all of', beside what ends the wait.",
        _row("not %1", CHILD),
        style="logic",
    ),
    _expression(
        "logic",
        "Both conditions, or at least one.",
        "truth",
        "logic",
        "%1 %2 %3",
        value("A", "truth"),
        choice("OP", "and", "or"),
        value("B", "truth"),
    ),
    _expression(
        "negation",
        "True where the condition is false.",
        "truth",
        "logic",
        "not %1",
        value("A", "truth"),
    ),
    # Expressions.
    _expression(
        EXPRESSION, "An expression, as it is written.", "any", "values", "%1", text("TEXT")
    ),
    _expression(
        "value",
        "A number, a text in quotes, true or false.",
        "any",
        "values",
        "%1",
        text("TEXT", "1"),
    ),
    _expression(
        "property",
        "A property of an event: tag.property.",
        "any",
        "properties",
        "%1",
        text("TEXT", "a.id"),
    ),
    _expression(
        "compare",
        "Compares two values.",
        "truth",
        "comparison",
        "%1 %2 %3",
        value("A", *ANY_VALUE),
        choice("OP", *COMPARISONS),
        value("B", *ANY_VALUE),
    ),
    _expression(
        "arithmetic",
        "Computes with two numbers.",
        "number",
        "arithmetic",
        "%1 %2 %3",
        value("A", "number"),
        choice("OP", *ARITHMETIC),
        value("B", "number"),
    ),
    _expression(
        "aggregate",
        "One value of all rows of the window, or of a group.",
        "number",
        "aggregation",
        "%1 of %2",
        choice("FUNCTION", *AGGREGATES),
        value("A", *ANY_VALUE),
    ),
    # Windows.
    _window(
        "time_window",
        "A sliding window: the rows of the last time.",
        "the last %1",
        text("TEXT", "10 minutes"),
    ),
    _window(
        "time_batch",
        "A tumbling window: rows of one time after the other.",
        "each %1",
        text("TEXT", "10 minutes"),
    ),
    _window(
        "length_window",
        "A sliding window: so many of the last rows.",
        "the last %1 rows",
        text("TEXT", "10"),
    ),
    _window(
        "length_batch",
        "A tumbling window: so many rows at a time.",
        "each %1 rows",
        text("TEXT", "10"),
    ),
    _window("keep_all", "Rows never leave.", "all rows"),
    # Clauses.
    _clause("where", "Only rows for which this holds.", "where %1", CONDITION),
    _clause(
        "group_by", "Rows are taken together by the values of these.", "group by %1", text("TEXT")
    ),
    _clause(
        "having", "Only results for which this holds; it may aggregate.", "having %1", CONDITION
    ),
    _clause(
        "output",
        "When results are told: 'every 10 seconds', 'last every 5 events'.",
        "output %1",
        text("TEXT", "every 10 seconds"),
    ),
    _clause("order_by", "The order of results that come together.", "order by %1", text("TEXT")),
    _clause(
        "limit",
        "So many results at most of those that come together.",
        "limit %1",
        text("TEXT", "10"),
    ),
    Shape(
        "context",
        (_row("for each %1", text("TEXT")),),
        "Once for each key of a context.",
        "contexts",
        above="clause",
    ),
    _clause(
        "reports", "Which rows are told: those that leave the window, or both.", "tell %1", _STREAMS
    ),
    _clause("inserts", "Which of them go into the type.", "insert %1", _STREAMS),
    _clause("distinct", "Results that come together are all different.", "all different"),
    # Actions.
    Shape(
        "action",
        (_row("do %1 with %2", text("NAME", "mail"), text("WITH")),),
        "What is done with each complex event, by the executors of the run: its class, and its arguments. Texts may"
        " name properties: {cause.id}.",
        "actions",
        above="action",
    ),
    # Contexts.
    Shape(
        "partition",
        (
            _row("keep apart, called %1 %2", text("NAME", "Each"), text("NOTES")),
            _row("by %1", inside("KEYS", "key")),
        ),
        "A context: statements that are 'for each' of it work on the events of each key by themselves.",
        "contexts",
    ),
    Shape(
        "key",
        (_row("%1 of each %2", text("ATTRIBUTES", "id"), text("TYPE")),),
        "What tells the events of a type apart: a property, or several with 'and' between them.",
        "contexts",
        above="key",
    ),
)
