"""What can go wrong, as data: diagnostics, their catalogue, and the exceptions that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from unicodedata import combining, east_asian_width


class Severity(StrEnum):
    """How bad a finding is: notes are harmless, programs with errors cannot run."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text; lines and columns count from one, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    file: str | None = None

    def __str__(self) -> str:
        return f"{self.file or '<text>'}:{self.line}:{self.column}"

    @property
    def start(self) -> Span:
        """The place without length at which it begins."""
        return Span(self.line, self.column, self.line, self.column, self.file)

    @property
    def end(self) -> Span:
        """The place without length at which it ends."""
        return Span(self.end_line, self.end_column, self.end_line, self.end_column, self.file)

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of the other."""
        return Span(self.line, self.column, other.end_line, other.end_column, self.file)


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of a text, and what is to stand in its place; a part without length is a place to insert at."""

    span: Span
    replacement: str

    def to_json(self) -> dict[str, object]:
        span = self.span
        return {
            "file": span.file,
            "line": span.line,
            "column": span.column,
            "end_line": span.end_line,
            "end_column": span.end_column,
            "replacement": self.replacement,
        }


@dataclass(frozen=True, slots=True)
class Fix:
    """What one may do about a finding: edits that belong together, and what they do."""

    title: str
    edits: tuple[Edit, ...]

    @classmethod
    def writing(cls, replacement: str, span: Span) -> Fix:
        """Something else in the place of what stands there."""
        return cls(f"write {replacement}", (Edit(span, replacement),))

    def to_json(self) -> dict[str, object]:
        return {"title": self.title, "edits": [edit.to_json() for edit in self.edits]}


_WIDEST = 96  # of a line; of longer ones, the part around the place is shown
_BEFORE = 40  # of it, what stands before the place


def excerpt(line: str, span: Span) -> tuple[str, str] | None:
    """The line of a place as far as it is worth showing, and the carets under it."""
    line = "".join(c if c.isprintable() else " " for c in line.rstrip("\r\n"))
    if span.column > len(line) + 1:
        return None
    at = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    start = max(0, at - _BEFORE) if len(line) > _WIDEST else 0
    stop = start + _WIDEST
    before, under = line[start:at], line[at : min(end, stop)]
    left, right = "…" if start else "", "…" if stop < len(line) else ""
    caret = " " * _cells(left + before) + "^" * max(1, _cells(under))
    return f"{left}{line[start:stop]}{right}".rstrip(), caret


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(2 if east_asian_width(c) in "WF" else 0 if combining(c) else 1 for c in text)


def excerpt_in(span: Span | None, sources: Mapping[str, str]) -> tuple[str, str] | None:
    """The same of a place in one of several texts; None where that text is not known."""
    text = sources.get(span.file or "<text>") if span else None
    lines = text.split("\n") if text else ()
    return excerpt(lines[span.line - 1], span) if span and span.line <= len(lines) else None


# One line per code: what the finding means. `cepheid explain --code` and the reference print it.
CATALOGUE: dict[str, str] = {
    "syntax": "the text does not follow the grammar",
    "too-deep": "an expression, a pattern or a value is nested deeper than Cepheid accepts",
    "bad-number": "a number does not fit its type",
    "bad-period": "a time period that makes no sense",
    "bad-schedule": "a schedule field outside its range",
    "unknown-type": "an event type that nothing declares or derives",
    "no-schema": "a type whose attributes are known only when its events are read",
    "unknown-attribute": "an attribute that the type does not have",
    "unknown-name": "a name that is neither a tag nor an attribute here",
    "unknown-function": "a function that does not exist",
    "unknown-context": "a context that nothing declares",
    "unknown-window": "a data window that does not exist",
    "unbound-tag": "a tag used where nothing has bound it yet",
    "duplicate-name": "a name declared twice",
    "bad-name": "a name that has another meaning",
    "type-mismatch": "an operator or function applied to values of the wrong type",
    "wrong-arguments": "a function or an event called with the wrong number or kind of arguments",
    "misplaced-aggregate": "an aggregate where no group of rows exists",
    "nested-aggregate": "an aggregate inside an aggregate",
    "impossible-repeat": "a repeat that can never be satisfied or never ends",
    "misplaced-not": "an absence that has no beginning or no end",
    "mixed-operators": "operators without precedence beside each other, read from left to right",
    "misplaced-window": "a data window on something that has no rows to keep",
    "bad-window": "a window with impossible parameters, or where none can stand",
    "bad-output": "an output clause that makes no sense here",
    "bad-context": "a context that does not fit its statement",
    "bad-annotation": "an annotation with the wrong arguments or in the wrong place",
    "unused-allow": "an @Allow that silences no finding",
    "inheritance-cycle": "a type that inherits from itself",
    "schema-conflict": "statements that insert different attributes into one type",
    "unsupported": "a construct that Cepheid does not have",
    "endless-cycle": "statements that derive each other's events without end",
    "cycle": "statements that depend on what they derive themselves",
    "no-priority": "dependent statements whose order nothing but the text decides",
    "race": "rows that depend on the order of the statements, with events that show it",
    "never-matches": "a statement whose conditions no events can satisfy",
    "always-true": "a condition that every event satisfies",
    "implied": "a statement whose matches are all matches of another one",
    "duplicate-statement": "a statement that says what another one says",
    "check-limit": "a part of a program that is too large to be checked in full",
    "unbounded-state": "a statement that keeps more and more, or longer than it can use it",
    "stuck": "a pattern that waits for ever for what can no longer come",
    "retention": "how long the events of a type matter, and to which statement",
    "window-kind": "a window that is probably of the wrong kind",
    "true-at-once": "a `not` in a pattern that is true before anything could happen",
    "guard-start": "a guard whose time does not begin with the event that one would expect",
    "single-rows": "distinct, limit or order by of rows that come one by one",
    "index-beyond": "an index beyond the events that a repetition collects",
    "across-keys": "a sequence of events that have a key, with no condition on it",
    "never-derived": "a statement whose events nothing can produce",
    "unused-type": "a declared type that no statement takes",
    "unused-result": "a result that nothing takes, in a program that says what to do with others",
    "too-large": "state, rows or a text of a statement that would outgrow memory, or a limit",
    "runaway": "one event caused more derived events than any sensible program",
    "late-event": "an event before the clock",
    "bad-line": "a line of input that cannot be read",
    "bad-value": "a value that does not fit its attribute",
    "bad-time": "an event time that cannot be read",
    "missing-attribute": "an attribute that a statement uses and that no event of its type has",
    "null-key": "an event whose key in a context is null",
    "unfed-type": "a type that statements take and of which the input has no events",
    "missing-time": "an event without a time",
    "missing-type": "an event without a type",
    "missing-file": "a file that is not there",
    "bad-file": "a file that cannot be read or written",
    "bad-stream": "a source or a sink of a stream that fails",
    "bad-state": "saved state that does not belong to this program",
    "no-spark": "Spark, or the Java that it needs, does not start",
    "bad-workers": "Spark's Python workers lack this Cepheid, or die",
    "no-key": "statements whose events no key splits, so that one task takes them all",
    "ties": "events of one time that nothing orders",
    "zone": "times that name no zone, where another than UTC may be meant",
    "skew": "a key that has a very large share of the events",
    "bad-scenario": "a scenario that makes no sense",
    "unknown-property": "a property that the program does not have",
    "no-plots": "the library that draws plots is not installed",
    "no-studio": "the libraries that serve the studio are not installed",
    "not-compiled": "a construct that the compiled matcher leaves to the reference semantics",
    "not-explained": "a kind of statement whose missing rows are not explained",
    "not-in-net": "a construct that is not translated into Petri nets",
    "not-in-automaton": "a complex event whose automaton would be too large",
    "not-in-maude": "a construct that has no counterpart in Maude",
    "no-maude": "Maude is not installed",
    "maude-failed": "Maude ended, or did not understand a specification",
    "search-limit": "a search that was stopped before it had seen everything",
    "bad-environment": "an environment that does not fit its program",
    "not-in-cpn": "a part of a Petri net that is not written as CPN ML",
    "broken-invariant": "a Petri net that does not keep what it should",
    "bad-metamodel": "a metamodel that makes no sense",
    "bad-model": "a file that is no model of its metamodel",
    "no-metamodel": "graph queries whose classes and features nothing declares",
    "no-ecore": "the library that reads and writes models is not installed",
    "unknown-class": "a class that the program or the metamodel does not have",
    "unknown-feature": "an attribute or a reference that a class does not have",
    "unknown-object": "an object that the model does not have",
    "bad-change": "a change of a model that its metamodel does not allow",
    "unknown-query": "a graph query that nothing declares",
    "unbound-variable": "a variable of a graph query or a wrapper that nothing gives a value",
    "single-variable": "a variable of a graph query that is used once",
    "recursive-class": "a class that derives its events from its own",
    "recursive-query": "a graph query that asks for itself",
    "missing-key": "an event of a class without its key, or without an occurrence time",
    "ambiguous-key": "two events of a class that have one key at the same time",
    "rule-failed": "a function that a rule calls and that raises",
    "never-settles": "rules that lead to each other without end",
    "null-comparison": "a comparison with NULL, which is never true",
    "not-monotone": "a class that can lose events when others are learnt, or forgotten",
    "open-key": "a class whose key does not say which events one of its events is made of",
    "observation-span": "a query that can put events together which lie further apart than the span",
    "open-negation": "an event that must be missing, at a time that the observation span does not bound",
    "mixed-arguments": "an action that statements call with arguments of types that do not fit",
    "missing-version": "an argument of a version of the event that is never there when its statement fires",
    "never-fires": "a statement whose condition no event can satisfy",
    "both-fire": "statements of a class that both fire on one change",
    "every-round": "a condition without an edge, which may hold in round after round",
    "late-appearance": "an event that may be late only because a window forgot what held it back",
    "early-occurrence": "an event that occurs before what it is made of, so that it may be learnt too late",
    "outlives-window": "a condition that may hold when a sliding window has forgotten the event",
    "toggle-stays": "a class whose events count as on time or late for good, even if they are cancelled or postponed",
    "unsupported-sql": "SQL that the engines do not have, or would not all compute equally",
    "too-many-changes": "a query that runs once per change, of which there are too many",
    "ambiguous-name": "a name that stands for several columns",
    "missing-column": "an attribute of a class that its query does not select",
    "not-grouped": "a column that has several values in a group of rows",
    "misplaced-now": "NOW outside of a comparison of two times",
    "misplaced-primitive": "a timing primitive outside of a condition",
    "bad-format": "a format with a mark that does not exist",
    "sql-failed": "SQL that fails on values: a division by zero, an overflow, a cast",
    "bad-action": "a row that is no action, or a key that would stand for two actions",
    "bad-outbox": "a folder that is no outbox, is damaged, or in use by another process",
    "bad-executor": "settings of an executor that make no sense",
    "no-executor": "actions that wait, since no executor has their name",
    "dead-letter": "an action that could not be done",
    "bad-pipeline": "settings of a pipeline that make no sense",
    "bad-graph": "an operator graph that makes no sense",
    "no-edge": "an address of an operator graph where nothing answers",
    "unused-node": "a part of an operator graph that no consumer gets anything of",
    "uneven-rates": "an operator that waits for a slow source and leaves out events of a fast one",
    "shared-work": "operators that do the same, so that one of them runs",
    "function-failed": "a Python function that raises, or returns what it should not",
    "operator-failed": "an operator of a graph that raises on an event",
    "reused-nonce": "operators that encrypt different events with one key and equal nonces",
    "missed-deadline": "a consumer that may get events too late",
    "saturated": "an operator graph with more work than its processors can do",
    "unknown-source": "a source or a program that a pipeline does not have",
    "unfed-class": "a class or a type that nothing in a pipeline feeds",
    "pipeline-cycle": "programs of a pipeline that read each other",
    "bad-job": "a job that does not exist, runs already, cannot begin or end, or whose record is damaged",
    "misplaced-marker": "a marker of a wrapper in no record, or a wrapper without records",
    "endless-star": "a star of a wrapper that does not come to an end, or comes back to where it was",
    "several-nodes": "an action on several nodes, or several times, in a wrapper that acts once",
    "step-failed": "a step of a wrapper that finds nothing, or an action that cannot be done",
    "row-left-out": "a part of a page that looked like a record, or an attribute, and was left out",
    "page-failed": "a page that does not load, or is none",
    "refused-address": "a page that may not be visited, or something that a page may not do",
    "no-browser": "the libraries or the browser that wrappers need are not installed",
    "needs-browser": "a wrapper that needs a browser, where pages are read without one",
    "usage": "a command or call that makes no sense",
}


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: a stable code, how bad it is, a fact, and where possible a place and a hint."""

    code: str
    severity: Severity
    message: str
    span: Span | None = None
    hint: str | None = None
    combined: bool = False  # appears only because several files form one program
    witness: tuple[str, ...] = ()  # the lines of an events file that shows it
    fixes: tuple[Fix, ...] = ()  # the likeliest first

    def __post_init__(self) -> None:
        if self.code not in CATALOGUE:
            raise ValueError(f"no diagnostic code {self.code!r}")

    def to_json(self) -> dict[str, object]:
        span = self.span
        found: dict[str, object] = {
            "code": self.code,
            "severity": str(self.severity),
            "message": self.message,
            "file": span.file if span else None,
            "line": span.line if span else None,
            "column": span.column if span else None,
            "end_line": span.end_line if span else None,
            "end_column": span.end_column if span else None,
            "hint": self.hint,
            "combined": self.combined,
        }
        if self.witness:
            found["witness"] = list(self.witness)
        if self.fixes:
            found["fixes"] = [fix.to_json() for fix in self.fixes]
        return found

    def __str__(self) -> str:
        place = f"{self.span}: " if self.span else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.severity}[{self.code}]: {self.message}{hint}"


def error(
    code: str,
    message: str,
    span: Span | None = None,
    hint: str | None = None,
    fixes: tuple[Fix, ...] = (),
) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, message, span, hint, fixes=fixes)


def warning(
    code: str,
    message: str,
    span: Span | None = None,
    hint: str | None = None,
    fixes: tuple[Fix, ...] = (),
) -> Diagnostic:
    return Diagnostic(code, Severity.WARNING, message, span, hint, fixes=fixes)


def note(code: str, message: str, span: Span | None = None, hint: str | None = None) -> Diagnostic:
    return Diagnostic(code, Severity.NOTE, message, span, hint)


def reason_of(problem: OSError) -> str:
    """Why a file cannot be used, in the words of the system, on one line."""
    return (problem.strerror or str(problem)).partition("\n")[0].lower()


def declared_twice(what: str, span: Span | None, first: Span | None) -> Diagnostic:
    """A name that stands for two things, with the place of the first."""
    hint = f"the first is at {first}" if first else None
    return error("duplicate-name", f"{what} is declared twice", span, hint)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name that one may have meant, if there is one that is similar enough."""
    names = {each.lower(): each for each in sorted(set(known), reverse=True)}
    close = get_close_matches(name.lower(), sorted(names), n=1, cutoff=0.6)
    return names[close[0]] if close else None


class Slip(str):
    """A hint that a name was meant to be another one.

    Where the text is known, that makes a fix: see `editing.fixing`.
    """

    __slots__ = ("meant", "name")
    name: str
    meant: str

    @classmethod
    def of(cls, name: str, meant: str) -> Slip:
        found = cls(f"did you mean {meant!r}?")
        found.name, found.meant = name, meant
        return found


def suggest(name: str, known: Iterable[str], label: str = "known names") -> str | None:
    """A hint that lists the names that exist, the likeliest first."""
    names = sorted(set(known))
    close = nearest(name, names)
    if close is not None:
        return Slip.of(name, close)
    if not names:
        return None
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"{label}: {shown}"


def is_slip(diagnostic: Diagnostic) -> bool:
    """Whether a name looks like another one that exists."""
    return isinstance(diagnostic.hint, Slip)


def told(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> str:
    """Findings one after the other, each with its line and a caret where the text is known."""
    lines: list[str] = []
    for diagnostic in diagnostics:
        lines.append(str(diagnostic))
        lines += [f"    {line}" for line in excerpt_in(diagnostic.span, sources) or ()]
    return "\n".join(lines)


class CepheidError(Exception):
    """The root of everything that Cepheid raises on purpose."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*diagnostics)
        self.diagnostics = diagnostics
        self.sources: Mapping[str, str] = {}  # the texts that the diagnostics are about, if known

    def __str__(self) -> str:
        return told(self.diagnostics, self.sources)

    def __reduce__(self) -> tuple[type[CepheidError], tuple[Diagnostic, ...], dict[str, object]]:
        return type(self), self.diagnostics, {"sources": self.sources}


class ProgramError(CepheidError):
    """A program that cannot run: syntax, names, types."""


class InputError(CepheidError):
    """Events that cannot be taken."""


class LateEvent(InputError):
    """An event, or a clock advance, before the clock."""


class RunError(CepheidError):
    """A run that had to end: a runaway cycle, a limit, foreign state."""


class UsageError(CepheidError):
    """A call or command that makes no sense."""


class CepheidWarning(UserWarning):
    """A finding about a run that goes on nevertheless."""
