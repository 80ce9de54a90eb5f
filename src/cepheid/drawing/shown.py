"""Programs, findings, graphs and plans as notebooks show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from cepheid.analysis.plan import StatementPlan
from cepheid.analysis.plan_words import key_words, span_words, state_words
from cepheid.core.html import Html, code, coloured, element, mono, table, together
from cepheid.drawing.graph import to_svg
from cepheid.errors import Diagnostic, Severity, excerpt_in, told
from cepheid.lang.highlighting import highlighted
from cepheid.program.graph import Graph

_COLOURS = {
    "keyword": "#8250df",
    "string": "#2e8540",
    "number": "#b35900",
    "comment": "#7d8590",
    "annotation": "#0b7285",
}
_SEVERITIES = {
    Severity.ERROR: "#d1242f",
    Severity.WARNING: "#b35900",
    Severity.NOTE: "#0b7285",
}


def program_html(texts: Iterable[str]) -> Html:
    """Texts of a program in colours."""
    return together(
        code(
            *(coloured(part, _COLOURS[kind]) if kind else part for kind, part in highlighted(text))
        )
        for text in texts
    )


def findings_html(findings: Sequence[Diagnostic], sources: Mapping[str, str]) -> Html:
    """Each finding with its line and a caret under the place."""
    if not findings:
        return element("p", "nothing to complain about")
    return together(_finding(finding, sources) for finding in findings)


def _finding(finding: Diagnostic, sources: Mapping[str, str]) -> Html:
    colour = _SEVERITIES[finding.severity]
    kind = coloured(f"{finding.severity}[{finding.code}]", colour)
    place = f"{finding.span}: " if finding.span else ""
    parts = [mono(place, element("b", kind), f": {finding.message}")]
    if found := excerpt_in(finding.span, sources):
        line, caret = found
        parts.append(code(f"    {line}\n    ", coloured(caret, colour)))
    if finding.hint:
        parts.append(mono("hint: ", finding.hint))
    return element("div", *parts, style="margin-bottom:6px")


class Findings(list[Diagnostic]):
    """What is said of a program: a list that shows places in its texts."""

    def __init__(self, findings: Iterable[Diagnostic], sources: Mapping[str, str]) -> None:
        super().__init__(findings)
        self.sources = sources

    def __repr__(self) -> str:
        return told(self, self.sources) or "nothing to complain about"

    def _repr_html_(self) -> str:
        return findings_html(self, self.sources)


@dataclass(frozen=True, slots=True, repr=False)
class DrawnGraph(Graph):
    """A graph that notebooks draw."""

    @classmethod
    def of(cls, graph: Graph) -> DrawnGraph:
        return cls(*(getattr(graph, field.name) for field in fields(graph)))

    def __repr__(self) -> str:
        by_level: dict[int, list[str]] = {}
        for statement, level in zip(self.statements, self.levels, strict=True):
            by_level.setdefault(level, []).append(statement.name)
        lines = (f"level {level}: {', '.join(by_level[level])}" for level in sorted(by_level))
        return "\n".join(lines) or "no statements"

    def _repr_svg_(self) -> str:
        return to_svg(self)


class Plan(tuple[StatementPlan, ...]):
    """By what the events of each statement can be split, how long they matter, and what runs it."""

    graph: Graph

    @classmethod
    def of(cls, graph: Graph, plans: Iterable[StatementPlan]) -> Plan:
        plan = cls(plans)
        plan.graph = graph
        return plan

    def __repr__(self) -> str:
        head, *rows = (_PLAN_HEAD, *map(_plan_words, self))
        widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
        lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in (head, *rows))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The graph, in whose boxes stand the keys, and the reasons below."""
        notes = {
            plan.statement.name: (
                f"split by {_key(plan)}",
                f"kept for {_one_line(span_words(plan))}",
            )
            for plan in self
        }
        rows = [(*_plan_words(plan), plan.key_reason) for plan in self]
        drawn = Html(to_svg(self.graph, notes))
        return together((drawn, table("plan", (*_PLAN_HEAD, "because"), rows)))


_PLAN_HEAD = ("statement", "splits by", "its events matter for", "state", "runs on")


def _plan_words(plan: StatementPlan) -> tuple[str, ...]:
    words = (_key(plan), span_words(plan), state_words(plan))
    return (plan.statement.name, *map(_one_line, words), plan.runs_on)


def _key(plan: StatementPlan) -> str:
    return "nothing" if plan.split.by is None else _one_line(key_words(plan.split.by))


def _one_line(text: str) -> str:
    return text.replace("\n", "; ")
