"""Priorities of the statements of an EPL text."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.errors import Edit
from cepheid.lang.common.priorities import priority_edits
from cepheid.lang.epl.parser import parse


def with_priorities(text: str, file: str | None, priorities: Sequence[int]) -> tuple[Edit, ...]:
    """What gives each of the statements of a text its priority, in their order."""
    return priority_edits(text, parse(text, file).tree.statements, priorities)
