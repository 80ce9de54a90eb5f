"""A user's own cases: folders with a program, events and the rows that they must give."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

from cepheid.core.time import format_instant, parse_instant
from cepheid.core.whole_file import whole_file
from cepheid.errors import CepheidError, Diagnostic, InputError, UsageError, error, reason_of
from cepheid.io import READERS, encode
from cepheid.io.encode import to_json
from cepheid.lang import is_program
from cepheid.verbs import load, run

EXPECTED = "expected.jsonl"
_CONTEXT = 2  # rows around a difference

Outcome = Literal["passed", "failed", "broken", "written"]


@dataclass(frozen=True, slots=True)
class Case:
    """All program files of a folder form one program, all `events.*` its input."""

    folder: Path
    programs: tuple[Path, ...]
    events: tuple[Path, ...]

    @property
    def expected(self) -> Path:
        return self.folder / EXPECTED


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a case went: `diff` if it failed, `problems` if it could not run at all."""

    case: Case
    outcome: Outcome
    rows: int = 0
    diff: tuple[str, ...] = ()
    problems: tuple[Diagnostic, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {
            "case": str(self.case.folder),
            "outcome": self.outcome,
            "rows": self.rows,
            "diff": list(self.diff),
            "problems": [problem.to_json() for problem in self.problems],
        }


def find_cases(folder: Path) -> Iterator[Case]:
    """The folder if it is a case, else the cases below it, by name."""
    if not os.path.isdir(folder):  # which a name that is too long is not, either
        raise UsageError(error("missing-file", f"no folder '{folder}'"))
    try:
        entries = sorted(e for e in folder.iterdir() if not e.name.startswith("."))
    except OSError as problem:
        fact = f"cannot read '{folder}': {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None
    programs = tuple(e for e in entries if is_program(e))
    events = tuple(e for e in entries if e.stem == "events" and e.suffix.lower() in READERS)
    if programs and (events or any(e.name == EXPECTED for e in entries)):
        yield Case(folder, programs, events)
        return
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():  # a link may lead back up
            yield from find_cases(entry)


def judge(case: Case, *, rewrite: bool) -> Verdict:
    """Runs a case and compares its rows, or with `rewrite` makes them the expected ones."""
    try:
        actual = _actual(case)
        if rewrite:
            return _rewritten(case, actual)
        expected = _expected(case.expected)
    except CepheidError as failure:
        return Verdict(case, "broken", problems=failure.diagnostics)
    diff = tuple(_differences(expected, actual))
    return Verdict(case, "failed" if diff else "passed", len(actual), diff)


def _actual(case: Case) -> list[str]:
    if not case.events:
        fact = f"no events in '{case.folder}'"
        raise UsageError(error("missing-file", fact, hint="add a file such as events.jsonl"))
    result = run(load(*case.programs), *case.events)
    return [to_json(encode(row)) for row in result]


def _expected(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        hint = "--rewrite writes what the program gives now"
        raise UsageError(error("missing-file", f"no file '{path}'", hint=hint)) from None
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(error("bad-file", f"cannot read '{path}': {problem}")) from None
    return [line for line in text.split("\n") if line.strip()]


def _rewritten(case: Case, actual: list[str]) -> Verdict:
    if case.expected.exists() and not any(_differences(_expected(case.expected), actual)):
        return Verdict(case, "passed", len(actual))
    try:
        text = "".join(f"{row}\n" for row in actual)
        with whole_file(case.expected) as draft:
            draft.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise InputError(error("bad-file", f"cannot write '{case.expected}': {problem}")) from None
    return Verdict(case, "written", len(actual))


# Rows are compared by what they say: neither spaces nor the order of attributes count.


def _differences(expected: Sequence[str], actual: Sequence[str]) -> Iterator[str]:
    """The lines of a diff; none where the rows are the same."""
    wanted, given = list(map(_meaning, expected)), list(map(_meaning, actual))
    if wanted == given:
        return
    yield f"--- {EXPECTED}"
    yield "+++ what the program gives"
    matcher = SequenceMatcher(None, wanted, given, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        (_, a, _, c, _), (_, _, b, _, d) = group[0], group[-1]
        yield f"@@ -{a + (b > a)},{b - a} +{c + (d > c)},{d - c} @@"
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from (f" {row}" for row in expected[a:b])
            else:
                yield from (f"-{row}" for row in expected[a:b])
                yield from (f"+{row}" for row in actual[c:d])


def _meaning(row: str) -> str:
    """A text that is the same for all ways to write a row; the row itself if it is not JSON."""
    try:
        value = json.loads(row, parse_float=_number)
    except (ValueError, RecursionError):
        return row
    if isinstance(value, dict) and "@time" in value:
        value["@time"] = _time(value["@time"])
    return json.dumps(value, sort_keys=True)


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


def _time(value: object) -> object:
    try:
        return format_instant(parse_instant(value))
    except (ValueError, OverflowError):
        return value


def shown(folder: Path) -> str:
    """The folder as a person would name it, also where it is the one they are in."""
    return os.path.normpath(folder) if str(folder) != "." else folder.resolve().name
