"""What happens in a live run, line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import typer
from rich.text import Text

from cepheid.cli.terminal.console import counted, err, out
from cepheid.cli.terminal.diagnostics import show
from cepheid.cli.terminal.text_table import Column, TextTable
from cepheid.core.time import format_instant
from cepheid.core.values import shown
from cepheid.errors import Diagnostic
from cepheid.io.encode import encode, encode_value, to_json
from cepheid.live import (
    Change,
    Changed,
    ChangeKind,
    Entry,
    Fired,
    Happened,
    Matched,
    Object,
    Outcome,
    Ran,
    Run,
)

_MOST = 8  # changes of one transaction that are shown
_STYLES = {
    "change": "dim",
    "found": "yellow",
    "lost": "green",
    "updated": "yellow",
    "event": "cyan",
    "rule": "bold",
    "call": "bold",
}
_WIDTH = max(map(len, _STYLES))


class LiveLog:
    """Shows entries as they come; without causes they have no numbers."""

    def __init__(self, *, as_json: bool, with_causes: bool) -> None:
        self._as_json = as_json
        self._with_causes = with_causes
        self._time: int | None = None
        self._counts: Counter[str] = Counter()

    def show(self, entry: Entry) -> None:
        kind = _kind(entry)
        self._counts[kind] += 1
        if isinstance(entry, Fired):
            self._counts[entry.outcome.value] += 1
        if self._as_json:
            typer.echo(to_json(_data(entry, kind)))
            return
        if entry.instant != self._time:
            self._time = entry.instant
            out().print(Text(format_instant(entry.instant), "bold"))
        for place, line in enumerate(_lines(entry)):
            text = Text(f"  {kind if place == 0 else '':<{_WIDTH}}  ", _STYLES[kind])
            text.append(line)
            if self._with_causes and place == 0:
                text = Text(f"{f'#{entry.number}':>6}").append(text)
                causes = ", ".join(f"#{cause.number}" for cause in entry.causes)
                text.append(f"  <- {causes}" if causes else "", "dim")
            elif self._with_causes:
                text = Text(" " * 6).append(text)
            out().print(text, soft_wrap=True)

    def skip(self, problem: Diagnostic) -> None:
        self._counts["skipped"] += 1
        show([problem], err())

    def end(self, run: Run, transactions: int) -> None:
        """What it came to, and what is still wrong with the model."""
        if self._as_json:
            return
        parts = [
            counted(transactions, "transaction"),
            counted(self._counts["event"], "event"),
            counted(self._counts["done"] - self._counts["undone"], "rule") + " done",
        ]
        if self._counts["skipped"]:
            parts.append(f"{self._counts['skipped']} skipped")
        err().print(", ".join(parts))
        violations = run.violations()
        if violations:
            table = TextTable([Column("still wrong"), Column("severity"), Column("match")])
            for violation in violations:
                table.add(violation.message, str(violation.severity), repr(violation.match))
            err().print(table)


def _kind(entry: Entry) -> str:
    match entry:
        case Changed():
            return "change"
        case Matched(change=change):
            return change
        case Fired():
            return "rule"
        case Ran():
            return "call"
    return "event"


def _lines(entry: Entry) -> Iterator[str]:
    match entry:
        case Changed(commit=commit):
            if not commit.changes:
                yield "readings as before"
            yield from map(_change, commit.changes[:_MOST])
            if len(commit.changes) > _MOST:
                yield f"... and {len(commit.changes) - _MOST:,} more"
        case Matched(change=change, match=match, violation=violation):
            is_wrong = violation is not None and change != "lost"
            yield f"{match!r}: {violation.message}" if is_wrong and violation else repr(match)
        case Happened(event=event):
            values = ", ".join(f"{name} = {shown(value)}" for name, value in event.items())
            yield f"{event.type}({values})"
        case Fired(rule=rule, event=event, outcome=outcome, problems=problems):
            is_done = outcome is Outcome.DONE
            yield f"{rule} on {event.type}" + ("" if is_done else f": {outcome.value}")
            yield from (problem.message for problem in problems)
        case Ran(function=function, arguments=arguments):
            yield f"{function}({', '.join(map(_value, arguments))})"


def _change(change: Change) -> str:
    one, feature = change.object, change.feature
    if feature is None:
        return f"{'+' if change.kind is ChangeKind.CREATE else '-'} {one}"
    place = f"{one}.{feature.name}"
    match change.kind:
        case ChangeKind.ADD:
            return f"{place} += {_value(change.new)}"
        case ChangeKind.REMOVE:
            return f"{place} -= {_value(change.old)}"
    return f"{place}: {_value(change.old)} -> {_value(change.new)}"


def _value(value: object) -> str:
    if value is None:
        return "null"
    return repr(value) if isinstance(value, Object) else shown(value)


def _data(entry: Entry, kind: str) -> dict[str, object]:
    """An entry for other programs."""
    data: dict[str, object] = {
        "@time": format_instant(entry.instant),
        "entry": entry.number,
        "kind": kind,
        "causes": [cause.number for cause in entry.causes],
    }
    match entry:
        case Changed(commit=commit):
            data["changes"] = [_change_data(change) for change in commit.changes]
        case Matched(match=match, violation=violation):
            data |= {"query": match.query, "match": [_plain(value) for value in match.row]}
            if violation is not None:
                data |= {"message": violation.message, "severity": str(violation.severity)}
        case Happened(event=event):
            data["event"] = encode(event)
        case Fired(rule=rule, outcome=outcome, problems=problems):
            data |= {"rule": rule, "outcome": outcome.value}
            if problems:
                data["problems"] = [problem.to_json() for problem in problems]
        case Ran(function=function, arguments=arguments):
            data |= {"function": function, "arguments": [_plain(value) for value in arguments]}
    return data


def _change_data(change: Change) -> dict[str, object]:
    data: dict[str, object] = {"change": change.kind.value, "object": change.object.name}
    if change.feature is not None:
        data |= {
            "feature": change.feature.name,
            "old": _plain(change.old),
            "new": _plain(change.new),
        }
    return data


def _plain(value: object) -> object:
    return value.name if isinstance(value, Object) else encode_value(value)  # type: ignore[arg-type]
