"""The latest rows of a stream, in a small file that is replaced as a whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from cepheid.core.whole_file import whole_file

LATEST = 20  # rows that are kept
_LONGEST = 10_000  # characters of a row; of a longer one, type and time are kept


def keep_latest(file: Path, rows: Sequence[str]) -> None:
    """Adds rows, each a JSON object in one line, and forgets the oldest. OSError where that fails."""
    if not rows:
        return
    kept = [*latest_rows(file), *map(_within_bounds, rows[-LATEST:])][-LATEST:]
    with whole_file(file) as draft:
        draft.write_text("".join(f"{row}\n" for row in kept), encoding="utf-8", newline="\n")


def latest_rows(file: Path) -> list[str]:
    """The rows that were kept, the oldest first; what is no row of ours is left out."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [line for line in text.split("\n")[-LATEST - 1 :] if _is_row(line)]


def _within_bounds(row: str) -> str:
    row = row.replace("\n", " ")
    if len(row) <= _LONGEST:
        return row
    try:
        found = json.loads(row)
    except (ValueError, RecursionError):
        found = {}
    marks = {name: found[name] for name in ("@type", "@time") if name in found}
    return json.dumps({**marks, "@characters": len(row)}, ensure_ascii=False)


def _is_row(line: str) -> bool:
    if len(line) > 2 * _LONGEST:
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
