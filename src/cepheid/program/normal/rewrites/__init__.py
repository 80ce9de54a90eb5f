"""The rewrites, one a file, each with the reason why it changes no row.

They are applied in the order of `REWRITES`, each to every node of a pattern, parts before the whole.
"""

from __future__ import annotations

from typing import Any

from cepheid.program.normal.rewrites.absence import AWAIT_ABSENCE
from cepheid.program.normal.rewrites.choices import FLATTEN_CHOICES
from cepheid.program.normal.rewrites.conditions import SPLIT_CONDITIONS
from cepheid.program.normal.rewrites.deadline import SET_DEADLINES
from cepheid.program.normal.rewrites.lines import JOIN_LINES
from cepheid.program.normal.rewrites.rewrite import Rewrite
from cepheid.program.normal.rewrites.sequences import FLATTEN_SEQUENCES

REWRITES: tuple[Rewrite[Any], ...] = (
    FLATTEN_SEQUENCES,
    FLATTEN_CHOICES,
    SET_DEADLINES,
    AWAIT_ABSENCE,
    SPLIT_CONDITIONS,
    JOIN_LINES,  # last: waits and flat sequences are known
)
