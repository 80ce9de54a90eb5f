"""What `cepheid run` says on standard error beside its rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cepheid.cli.terminal.console import counted, err
from cepheid.cli.terminal.diagnostics import one_line, show
from cepheid.cli.terminal.tables import print_steps
from cepheid.errors import Diagnostic
from cepheid.result import Step

if TYPE_CHECKING:
    from cepheid.verbs.rounds import RoundsResult

SHOWN = 5  # of the problems that were skipped


def remark(text: str) -> None:
    sys.stdout.flush()  # so that remarks stand behind the rows
    console = err()
    console.print(text, soft_wrap=not console.is_terminal)


def on_engine(name: str, *, is_asked_for: bool) -> None:
    """Which engine ran; unasked, only people at a terminal hear of the usual one."""
    if is_asked_for or err().is_terminal:
        remark(f"engine: {name}")


def on_order(moved: int) -> None:
    if moved:
        verb = "was" if moved == 1 else "were"
        remark(f"{counted(moved, 'event')} {verb} out of order; the input was sorted by time")


def on_notes(notes: Sequence[Diagnostic]) -> None:
    """What there is to say of the input as a whole."""
    sys.stdout.flush()
    show(notes, err())


def on_skipped(count: int, problems: Sequence[Diagnostic] = ()) -> None:
    """How many records were skipped; the first of the problems where they were not shown yet."""
    if count:
        sys.stdout.flush()
        show(problems[:SHOWN], err())
        note = f"; the first {SHOWN} are above" if count > SHOWN else ""
        remark(f"skipped {counted(count, 'record')} that cannot be read{note}")


def on_dropped(count: int) -> None:
    if count:
        remark(f"dropped {counted(count, 'late event')}")


def on_types(counts: Mapping[str, int], types: Iterable[str], taken: int) -> None:
    """How many rows each type has, also those that are not printed; one type needs no remark."""
    if len(counts) > 1:
        found = ", ".join(f"{counts[type]:,} {one_line(type)}" for type in types if type in counts)
        remark(f"derived {found} from {counted(taken, 'event')}")


def on_nothing(taken: int, steps: Sequence[Step]) -> None:
    remark(f"nothing found in {counted(taken, 'event')}")
    if steps:
        print_steps(steps, err())


def on_rounds(result: RoundsResult, *, are_rows: bool) -> None:
    """That there were none, why nothing came of them, or what did not count in them."""
    if result.taken and next(iter(result.outcome.rounds), None) is None:
        remark("there were no rounds: look at the start, the end and the outages")
    elif not result.derived and not are_rows:
        remark("no class has statements; --type shows what became known of one")
    on_refused(result.refused)


def on_refused(refused: Mapping[str, Mapping[str, int]]) -> None:
    """What was detected of events of classes, and does not count."""
    for name, reasons in refused.items():
        for reason, count in reasons.items():
            remark(f"refused {counted(count, 'detection')} of {one_line(name)}: {reason}")
