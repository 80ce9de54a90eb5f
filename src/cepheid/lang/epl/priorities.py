"""Priorities of the statements of an EPL text."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.lang.common.priorities import write_priorities
from cepheid.lang.epl.parser import parse


def with_priorities(text: str, priorities: Sequence[int]) -> str:
    """The text with a priority for each of its statements, in their order."""
    return write_priorities(text, parse(text, None).tree.statements, priorities)
