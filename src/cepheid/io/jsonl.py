"""JSON Lines, and JSON files that are one array, as records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cepheid.core.values import NotJson, parse_json, read_json, shown, skip_space
from cepheid.errors import Diagnostic, Span, error
from cepheid.io.records import Record, record_from
from cepheid.io.source import NOWHERE, Placement

OnProblem = Callable[[Diagnostic], None]

BYTE_ORDER_MARK = "\ufeff"


def line_records(
    lines: Iterable[bytes | str],
    name: str,
    on_problem: OnProblem,
    placement: Placement = NOWHERE,
) -> Iterator[Record]:
    """One record per line, each as soon as its line is there."""
    for number, raw in enumerate(lines, 1):
        text = line_text(raw, number, name, on_problem)
        if text is None or not text.strip():
            continue
        span = Span(number, 1, number, len(text) + 1, name)
        try:
            yield _record(parse_json(text), span, placement)
        except ValueError as problem:
            on_problem(_bad_line(problem, span))


def line_text(raw: bytes | str, number: int, name: str, on_problem: OnProblem) -> str | None:
    """The line without its end, or None where its bytes are no UTF-8."""
    try:
        text = raw.decode() if isinstance(raw, bytes) else raw
    except UnicodeDecodeError as problem:
        column = len(problem.object[: problem.start].decode()) + 1
        span = Span(number, column, number, column + 1, name)
        fact = f"byte {problem.object[problem.start]:#04x} is not UTF-8"
        on_problem(error("bad-line", fact, span))
        return None
    if number == 1:
        text = text.removeprefix(BYTE_ORDER_MARK)
    return text.rstrip("\r\n")


def array_records(
    text: str, name: str, on_problem: OnProblem, placement: Placement = NOWHERE
) -> Iterator[Record]:
    """One record per element of the array that the text is.

    Where an element is broken, nothing tells where the next one starts, and reading ends.
    """
    place = _Place(text, name)
    position = skip_space(text, text.index("[") + 1)
    is_first = True
    while not text.startswith("]", position):
        try:
            if not is_first:
                position = _after_comma(text, position)
            span = place.span(position)
            value, position = read_json(text, position)
        except ValueError as problem:
            at = problem.position if isinstance(problem, NotJson) else position
            on_problem(error("bad-line", _fact(problem), place.span(at)))
            return
        try:
            yield _record(value, span, placement)
        except ValueError as problem:
            on_problem(_bad_line(problem, span))
        is_first = False
    end = skip_space(text, position + 1)
    if end != len(text):
        on_problem(error("bad-line", "text after the end of the array", place.span(end)))


def _after_comma(text: str, position: int) -> int:
    if not text.startswith(",", position):
        raise NotJson("',' is missing", text, position)
    return skip_space(text, position + 1)


class _Place:
    """Lines and columns of rising positions in a text, counted on from the last one."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._position = 0
        self._line = 1

    def span(self, position: int) -> Span:
        self._line += self._text.count("\n", self._position, position)
        self._position = max(position, self._position)
        column = position - self._text.rfind("\n", 0, position)
        return Span(self._line, column, self._line, column + 1, self._name)


def _record(value: object, span: Span, placement: Placement) -> Record:
    if not isinstance(value, dict):
        what = "null" if value is None else shown(value)
        raise ValueError(f"an event is an object, not {what}")
    return record_from(value, span, placement=placement)


def _bad_line(problem: ValueError, span: Span) -> Diagnostic:
    if isinstance(problem, NotJson):
        column = problem.position + 1
        span = Span(span.line, column, span.line, column + 1, span.file)
    return error("bad-line", _fact(problem), span)


def _fact(problem: ValueError) -> str:
    return problem.fact if isinstance(problem, NotJson) else str(problem)
