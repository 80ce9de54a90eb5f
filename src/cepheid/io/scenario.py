"""The scenario notation of EPL tools as records.

    t=t.plus(1 min)
    Patient={id='Alice', contrDuration=10} Patient={id='Barbara', contrDuration=20}

The clock starts at the epoch; `t=t.plus(period)` moves it, `t='2026-01-01T00:00:00Z'` sets it.
A line holds any number of statements; what follows `//` is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cepheid.core.numbers import NOT_FINITE
from cepheid.core.time import Instant, clock_after, parse_instant, parse_period, to_datetime
from cepheid.core.values import DEEPEST, number_from
from cepheid.errors import Span, error
from cepheid.io.jsonl import OnProblem, line_text
from cepheid.io.records import Record

_SPACE = re.compile(r"(?:[\s;]|//.*)*")
_PLUS = re.compile(r"t\s*=\s*t\s*\.\s*plus\s*\(([^)]*)\)")
_SET = re.compile(r"t\s*=\s*(?=['\"])")
_NAME = re.compile(r"[^\W\d][\w$]*")
_STRING = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_NUMBER = re.compile(r"([+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d+)?)[lLfFdD]?(?!\w)")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None, **NOT_FINITE}


def scenario_records(
    lines: Iterable[bytes | str], name: str, on_problem: OnProblem
) -> Iterator[Record]:
    """The events of each line; a broken line gives none and leaves the clock where it was."""
    clock = 0
    for number, raw in enumerate(lines, 1):
        text = line_text(raw, number, name, on_problem)
        if text is None:
            continue
        scanner = _Scanner(text, number, name)
        try:
            records, clock = scanner.statements(clock)
        except (ValueError, OverflowError) as problem:
            on_problem(error("bad-line", str(problem), scanner.span()))
            continue
        yield from records


class _Scanner:
    """One line, read from left to right; after a failure `span` is where it went wrong."""

    def __init__(self, text: str, line: int, name: str) -> None:
        self._text = text
        self._line = line
        self._name = name
        self._position = 0
        self._depth = 0

    def span(self) -> Span:
        column = self._position + 1
        return Span(self._line, column, self._line, column + 1, self._name)

    def statements(self, clock: Instant) -> tuple[list[Record], Instant]:
        records = []
        self._skip()
        while self._position < len(self._text):
            span = self.span()
            moved = self._clock(clock)
            if moved is not None:
                clock = moved
                records.append(Record(None, to_datetime(clock), {}, span))
            else:
                type, values = self._event()
                records.append(Record(type, to_datetime(clock), values, span))
            self._skip()
        return records, clock

    def _clock(self, clock: Instant) -> Instant | None:
        if plus := _PLUS.match(self._text, self._position):
            moved = clock_after(clock, parse_period(plus[1]))
            self._position = plus.end()
            return moved
        if given := _SET.match(self._text, self._position):
            self._position = given.end()
            return parse_instant(self._string())
        return None

    def _event(self) -> tuple[str, dict[str, object]]:
        name = self._take(_NAME, "an event such as Patient={id='Alice'}")[0]
        self._expect("=")
        if not self._at("{"):
            raise ValueError("expected '{'")
        return name, self._object()

    def _value(self) -> object:
        if self._at("{"):
            return self._object()
        if self._at("["):
            return self._array()
        if self._at("'") or self._at('"'):
            return self._string()
        if number := _NUMBER.match(self._text, self._position):
            value = number_from(number[1])
            self._position = number.end()
            return value
        word = _NAME.match(self._text, self._position)
        if word is None or word[0] not in _WORDS:
            raise ValueError("expected a number, a text in quotes, true, false, null, { or [")
        self._position = word.end()
        return _WORDS[word[0]]

    def _object(self) -> dict[str, object]:
        self._open("{")
        values: dict[str, object] = {}
        while not self._at("}"):
            if values:
                self._expect(",")
            name = self._take(_NAME, "the name of an attribute")[0]
            if name in values:
                raise ValueError(f"the attribute {name!r} appears twice")
            self._expect("=")
            values[name] = self._value()
            self._skip()
        self._close("}")
        return values

    def _array(self) -> list[object]:
        self._open("[")
        values: list[object] = []
        while not self._at("]"):
            if values:
                self._expect(",")
            values.append(self._value())
            self._skip()
        self._close("]")
        return values

    def _string(self) -> str:
        match = self._take(_STRING, "the end of the text in quotes")
        text = match[1] if match[1] is not None else match[2]
        return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), text)

    def _open(self, bracket: str) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError(f"nested deeper than {DEEPEST} levels")
        self._expect(bracket)

    def _close(self, bracket: str) -> None:
        self._expect(bracket)
        self._depth -= 1

    def _at(self, character: str) -> bool:
        return self._text.startswith(character, self._position)

    def _expect(self, character: str) -> None:
        self._skip()
        if not self._at(character):
            raise ValueError(f"expected '{character}'")
        self._position += 1
        self._skip()

    def _take(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        match = pattern.match(self._text, self._position)
        if match is None:
            raise ValueError(f"expected {what}")
        self._position = match.end()
        return match

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._position)
        self._position = match.end() if match else self._position
