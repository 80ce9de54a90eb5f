"""The page of a report: one file without a script, which needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from cepheid import __version__
from cepheid.core.event import Event, Value
from cepheid.core.html import Html, element, joined, void
from cepheid.core.words import counted, visible
from cepheid.drawing.graph import to_svg
from cepheid.errors import Diagnostic, excerpt_in
from cepheid.lang.highlighting import highlighted
from cepheid.reports.content import Content
from cepheid.reports.texts import file_name, name_of, shown, time_html, value_html
from cepheid.reports.timeline import timeline
from cepheid.reports.why import why

# Nothing of the page may run or be fetched, whatever stands in names and values.
_AT_ONCE = 20  # matches of a type that are seen before one asks
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(content: Content) -> Html:
    """All of it; ids are numbers of ours, never names."""
    rows = [row for of in content.rows.values() for row in of]
    numbers = {id(row): number for number, row in enumerate(rows, start=1)}
    sections = {
        "summary": ("In short", _summary(content)),
        "timeline": ("What happened when", timeline(content, numbers)),
        "matches": ("What was found, and why", _matches(content, numbers)),
        "program": ("The program", _program(content)),
        "findings": ("What can be said of the program", _findings(content)),
        "input": ("What can be said of the events", _input(content)),
    }
    title = shown(content.title)
    head = element(
        "head",
        void("meta", charset="utf-8"),
        void("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        void("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html((files("cepheid.reports") / "page.css").read_text(encoding="utf-8"))),
    )
    body = element(
        "body",
        element("a", "To what was found", class_="skip", href="#matches"),
        element("header", element("h1", title), _contents(sections)),
        element("main", *(_section(key, *section) for key, section in sections.items())),
        element("footer", f"Made by Cepheid {__version__}.", class_="muted"),
    )
    return Html(f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n")


def _contents(sections: Mapping[str, tuple[str, Html]]) -> Html:
    links = (
        element("li", element("a", heading, href=f"#{key}"))
        for key, (heading, _) in sections.items()
    )
    return element("nav", element("ul", *links), aria_label="contents")


def _section(key: str, heading: str, content: Html) -> Html:
    title = element("h2", heading, id=f"{key}-heading")
    return element("section", title, content, id=key, aria_labelledby=f"{key}-heading")


def _summary(content: Content) -> Html:
    taken, total = content.result.taken, len(content.result)
    origin = ", ".join(map(shown, content.sources))
    sentence = f"{counted(taken, 'event')} from {origin} gave {counted(total, 'match', 'matches')}."
    return joined(
        (
            element("p", sentence),
            element(
                "div",
                _counts("events that came in", {n: len(i) for n, i in content.instants.items()}),
                _counts("what was found", content.found),
                class_="beside",
            ),
        )
    )


def _counts(caption: str, counts: Mapping[str, int]) -> Html:
    rows = (
        element(
            "tr",
            element("th", shown(name), scope="row"),
            element("td", f"{count:,}", class_="number"),
        )
        for name, count in counts.items()
    )
    head = element("tr", element("th", "type", scope="col"), element("th", "count", scope="col"))
    return _table(caption, head, rows)


def _table(caption: str, head: Html, rows: Iterator[Html]) -> Html:
    table = element(
        "table",
        element("caption", caption),
        element("thead", head),
        element("tbody", *rows),
    )
    return element("div", table, class_="scroll", tabindex=0, role="region", aria_label=caption)


# Matches ----------------------------------------------------------------------------------------------


def _matches(content: Content, numbers: Mapping[int, int]) -> Html:
    if not content.rows:
        return joined((element("p", "Nothing was found."), _steps(content)))
    return joined(
        _of_type(name, rows, content, numbers, is_open=place == 0 or len(rows) <= _AT_ONCE)
        for place, (name, rows) in enumerate(content.rows.items())
    )


def _of_type(
    name: str,
    rows: Sequence[Event],
    content: Content,
    numbers: Mapping[int, int],
    *,
    is_open: bool,
) -> Html:
    count = content.found[name]
    heading = element("h3", shown(name), " ", element("span", f"{count:,}", class_="muted"))
    names = list(dict.fromkeys(attribute for row in rows for attribute in row))
    kinds = {name: _kind([row.values_.get(name) for row in rows]) for name in names}
    titles = [("match", "number"), ("time", ""), *((shown(name), kinds[name]) for name in names)]
    head = element("tr", *(element("th", text, scope="col", class_=kind) for text, kind in titles))
    lines = (_row(row, kinds, numbers[id(row)], content) for row in rows)
    caption = f"matches of {shown(name)}"
    table = _table(caption, head, lines)
    first = f"Listed: the first {len(rows):,} of {count:,}."
    parts = [element("p", first, class_="muted"), table] if count > len(rows) else [table]
    state = "open" if is_open else None
    return element("details", element("summary", heading), *parts, open=state, class_="type")


def _kind(values: Sequence[Value]) -> str:
    """Numbers stand under each other."""
    told = [value for value in values if value is not None]
    are_numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in told)
    return "number" if told and are_numbers else ""


def _row(row: Event, kinds: Mapping[str, str], number: int, content: Content) -> Html:
    """A row, and under it why it is there."""
    limits = content.limits
    mark = name_of(row).removeprefix(shown(row.type))
    cells = (
        element("td", value_html(row[name], limits.characters), class_=kind)
        if name in row
        else element("td")
        for name, kind in kinds.items()
    )
    leads = element(
        "a", f"{number}", href=f"#dot-{number}", aria_label=f"match {number} on the timeline"
    )
    first = element(
        "tr",
        element("td", leads, mark, class_="number"),
        element("td", time_html(row.instant)),
        *cells,
        id=f"row-{number}",
    )
    second = element("td", why(row, limits), colspan=len(kinds) + 2)
    return joined((first, element("tr", second, class_="why")))


def _steps(content: Content) -> Html:
    """How far the patterns got that found nothing."""
    rows = [
        element(
            "tr",
            element("td", shown(step.statement)),
            element("td", element("code", shown(step.step))),
            element("td", f"{step.count:,}", class_="number"),
        )
        for step in content.result.steps
    ]
    if not rows:
        return joined(())
    titles = ("statement", "step", "times")
    head = element("tr", *(element("th", title, scope="col") for title in titles))
    return _table("how often each step was reached", head, iter(rows))


# The program ------------------------------------------------------------------------------------------


def _program(content: Content) -> Html:
    graph = content.program.graph()
    drawn = element(
        "figure",
        element(
            "div",
            Html(to_svg(graph)),
            class_="scroll drawing",
            tabindex=0,
            role="img",
            aria_label="which statement takes what: " + "; ".join(_dependencies(content)),
        ),
        element("figcaption", "Which statement takes what others give: from left to right."),
    )
    return joined((drawn, *(_text(*each) for each in content.program.sources.items())))


def _dependencies(content: Content) -> Iterator[str]:
    """The graph in words, for those who cannot see it."""
    for statement in content.program.resolve().statements:
        taken = ", ".join(map(shown, statement.inputs)) or "nothing"
        yield f"{shown(statement.name)} takes {taken}"


def _text(file: str, text: str) -> Html:
    parts = (
        element("span", visible(part), class_=f"code-{kind}") if kind else visible(part)
        for part, kind in ((part, kind) for kind, part in highlighted(text))
    )
    return joined(
        (
            element("h3", file_name(file)),
            element(
                "pre",
                element("code", *parts),
                tabindex=0,
                role="region",
                aria_label=f"text of {file_name(file)}",
            ),
        )
    )


# Findings ---------------------------------------------------------------------------------------------


def _findings(content: Content) -> Html:
    return _diagnostics(content.findings, content, "The check found nothing to complain about.")


def _input(content: Content) -> Html:
    result = content.result
    moved = f"{counted(result.moved, 'event')} came out of order, and the input was sorted by time."
    skipped = f"Left out: {counted(len(result.skipped), 'record')} that cannot be read."
    told = [
        *([element("p", moved)] if result.moved else []),
        *([element("p", skipped)] if result.skipped else []),
    ]
    nothing = "" if told else "All events could be read, in the order of their times."
    return joined((*told, _diagnostics([*result.notes, *result.skipped], content, nothing)))


def _diagnostics(found: Sequence[Diagnostic], content: Content, nothing: str) -> Html:
    if not found:
        return element("p", nothing) if nothing else joined(())
    listed = found[: content.limits.findings]
    rest = len(found) - len(listed)
    note = element("p", f"{counted(rest, 'more finding')} had no room here.", class_="muted")
    items = (_diagnostic(each, content.program.sources) for each in listed)
    return joined((element("ul", *items, class_="findings"), *([note] if rest else [])))


def _diagnostic(finding: Diagnostic, sources: Mapping[str, str]) -> Html:
    kind = element(
        "b", f"{finding.severity}[{finding.code}]", class_=f"severity-{finding.severity}"
    )
    span = finding.span
    place = f"{file_name(span.file or 'text')}:{span.line}:{span.column}: " if span else ""
    parts = [element("p", element("code", place), kind, f": {shown(finding.message)}")]
    if found := excerpt_in(finding.span, sources):
        parts.append(element("pre", "\n".join(map(visible, found))))
    if finding.hint:
        parts.append(element("p", f"Hint: {shown(finding.hint)}", class_="muted"))
    return element("li", *parts)
