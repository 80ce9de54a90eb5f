"""A replay as people see it: what is known now, what waits, and what is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.layout import Layout
from rich.panel import Panel
from rich.text import Text

from cepheid.bitemporal.detections import Detection
from cepheid.bitemporal.outcome import Change
from cepheid.bitemporal.repository import Row
from cepheid.bitemporal.rows import shown
from cepheid.cli.terminal.console import counted
from cepheid.cli.terminal.diagnostics import one_line
from cepheid.cli.terminal.player import MAX, Player
from cepheid.cli.terminal.tables import plain
from cepheid.core.event import Event, Value
from cepheid.core.time import Instant, to_datetime
from cepheid.program.classes import EventClass
from cepheid.verbs.replay import KnownEvent, Replay

KEYS = "space pause  n step  b back  + faster  - slower  q quit"
_MARKS = {"announcement": ("+", "green"), "change": ("~", "yellow"), "cancellation": ("-", "red")}
_FIRED = "*"


@dataclass(frozen=True, slots=True)
class ReplayScreen:
    """All of the screen, as high as the terminal."""

    player: Player

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        height = options.height or console.size.height
        done = max(5, height // 4)
        root = Layout()
        root.split_column(
            Layout(self._head(options.max_width), size=2),
            Layout(name="body"),
            Layout(self._actions(done - 2), size=done),
            Layout(self._foot(), size=1),
        )
        room = height - 2 - done - 1 - 2
        known, waiting = Layout(self._known(room), ratio=3), Layout(self._waiting(room), ratio=2)
        root["body"].split_row(known, waiting)
        yield root

    # -- rooms --

    def _head(self, width: int) -> Group:
        player, replay = self.player, self.player.replay
        moment = to_datetime(replay.time if replay.time >= replay.begin else replay.begin)
        state = _state(player)
        line = Text.assemble((f" {moment:%a %Y-%m-%d %H:%M:%S} UTC", "bold"), "   ", state)
        if player.stopped_at:
            line.append(f"   stopped at {one_line(player.stopped_at)}", "magenta")
        return Group(line, _bar(replay, width))

    def _known(self, room: int) -> Panel:
        replay = self.player.replay
        marks = _marks(self.player)
        known = replay.known()
        by_class: dict[str, list[KnownEvent]] = {name: [] for name in replay.classes}
        for each in known:
            by_class[each.cls].append(each)
        gone = [c for m in self.player.latest for c in m.changes if c.kind == "cancellation"]
        blocks = []
        for name, events in by_class.items():
            declared = replay.classes[name]
            there = {each.key for each in events}
            lines = [
                _line(c.row, declared, replay.time, "cancellation")
                for c in gone
                if c.cls == name and c.key not in there
            ]
            for each in sorted(events, key=lambda e: (-e.since, e.key)):
                mark = marks.get((name, each.key))
                lines.append(_line(each.row, declared, replay.time, mark, fired=each.fired))
            blocks.append((Text(f"{name} ({len(events)})", "bold"), lines))
        title = f"known now: {counted(len(known), 'event')}"
        return _panel(title, _shared(blocks, room), "+ new  ~ changed  - gone  * has fired")

    def _waiting(self, room: int) -> Panel:
        replay = self.player.replay
        waiting = replay.waiting()
        lines = [line for each in waiting[: room // 2] for line in self._detection(each)]
        return _panel(f"waiting: {len(waiting):,}", lines)

    def _detection(self, detection: Detection) -> tuple[Text, Text]:
        """When it is detected and of which class; of which event, and what is learnt of it."""
        replay = self.player.replay
        declared = replay.classes[detection.cls]
        first = Text(_clock(detection.known, replay.time), "cyan").append(
            f" {detection.cls}", "default"
        )
        second = Text(f"   {_key(declared, detection.key)} ", "bold")
        if detection.occ is None or detection.values is None:
            return first, second.append("retracted", "red")
        return first, second.append(f"at {_clock(detection.occ, replay.time)}", "not bold cyan")

    def _actions(self, room: int) -> Panel:
        replay = self.player.replay
        rows = replay.rows()
        latest = {id(row) for moment in self.player.latest for row in moment.rows}
        lines = [_action(row, replay, is_new=id(row) in latest) for row in rows[-room:]]
        return _panel(f"done: {counted(len(rows), 'action')}", lines)

    def _foot(self) -> Text:
        return Text(f" {KEYS}", "dim", no_wrap=True)


def _state(player: Player) -> Text:
    speed = "max" if player.speed == MAX else f"{player.speed:g}x"
    if player.replay.is_over:
        return Text("the end", "yellow")
    return (
        Text(f"paused, {speed}", "yellow") if player.is_paused else Text(f"plays {speed}", "green")
    )


def _bar(replay: Replay, width: int) -> Text:
    """How much of the time has passed."""
    first = replay.rounds.instant(replay.rounds.first)
    share = (replay.time - first) / max(replay.end - first, 1)
    cells = max(0, min(width - 2, round(share * (width - 2))))
    return Text.assemble(" ", ("━" * cells, "cyan"), ("━" * (width - 2 - cells), "bright_black"))


# -- lines --


def _marks(player: Player) -> Mapping[tuple[str, object], str]:
    """What happened last to which event."""
    changes: Iterator[Change] = (c for moment in player.latest for c in moment.changes)
    return {(change.cls, change.key): change.kind for change in changes}


def _line(
    row: Row, declared: EventClass, now: Instant, mark: str | None, *, fired: bool = False
) -> Text:
    sign, style = _MARKS.get(mark or "", (" ", ""))
    names = [attribute.name for attribute in declared.attributes]
    values = dict(zip(names, row.values, strict=True))
    key = _key(declared, tuple(values[name] for name in declared.key))
    types = {attribute.name: attribute.type for attribute in declared.attributes}
    others = (
        plain(shown(value, types[name]))
        for name, value in values.items()
        if name not in declared.key and value is not None
    )
    line = Text(f" {sign} ", style)
    line.append(_clock(row.occ, now), f"{style} strike" if mark == "cancellation" else "cyan")
    line.append(_FIRED if fired else " ", "magenta")
    line.append(f" {key}", style or "default")
    return line.append(f"  {', '.join(others)}", "dim")


def _action(row: Event, replay: Replay, *, is_new: bool) -> Text:
    cause = row.values_.get("@cause")
    arguments = ", ".join(plain(value) for name, value in row.items() if name != "@cause")
    line = Text(_clock(row.instant, replay.time), "cyan")
    line.append(f" {one_line(row.type)}", "bold" if is_new else "")
    line.append(f"({arguments})", "" if is_new else "dim")
    if isinstance(cause, dict):
        key = " ".join(plain(value) for name, value in cause.items() if name != "@type")
        line.append(f"  {cause['@type']} {key}", "dim")
    return line


def _key(declared: EventClass, key: Sequence[Value]) -> str:
    types = {attribute.name: attribute.type for attribute in declared.attributes}
    parts = zip(declared.key, key, strict=True)
    return " ".join(plain(shown(value, types[name])) for name, value in parts)


def _clock(instant: Instant, now: Instant) -> str:
    """A time without what it has in common with now."""
    moment, today = to_datetime(instant), to_datetime(now)
    clock = f"{moment:%H:%M}" if moment.second == 0 else f"{moment:%H:%M:%S}"
    if moment.date() == today.date():
        return clock
    return f"{moment:%m-%d} {clock}" if moment.year == today.year else f"{moment:%Y-%m-%d} {clock}"


# -- rooms --


def _panel(title: str, lines: Sequence[Text], legend: str | None = None) -> Panel:
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Panel(
        Group(*lines),
        title=title,
        title_align="left",
        subtitle=legend,
        subtitle_align="right",
        border_style="bright_black",
    )


def _shared(blocks: Sequence[tuple[Text, Sequence[Text]]], room: int) -> list[Text]:
    """Each block has its heading and a fair share of the lines; what one does not need others have."""
    rest, found = room - len(blocks), dict[int, int]()
    smallest_first = sorted(range(len(blocks)), key=lambda n: len(blocks[n][1]))
    for rank, n in enumerate(smallest_first):
        share = -(-max(0, rest) // (len(blocks) - rank))
        found[n] = min(len(blocks[n][1]), share)
        rest -= found[n]
    lines = []
    for n, (heading, own) in enumerate(blocks):
        is_part = 0 < found[n] < len(own)
        lines.append(heading.append(f"  the last {found[n]}", "dim") if is_part else heading)
        lines += own[: found[n]]
    return lines
