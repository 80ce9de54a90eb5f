"""How long the searches for counterexamples go on.

`make test` always tries the same examples, so that it never fails by chance; `make quick` a
tenth as many; `make sweep` tries new ones, and many times as many.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import HealthCheck, settings

T = TypeVar("T")

EFFORT = int(os.environ.get("EFFORT", "1"))
IS_QUICK = "QUICK" in os.environ


def some(cases: Sequence[T], *, every: int) -> Sequence[T]:
    """All cases of a table; `make quick` takes every so manieth."""
    return cases[::every] if IS_QUICK else cases


def examples(count: int, *, are_rare: bool = False) -> settings:
    """Settings of a test that tries so many examples, times the effort; rare ones are looked for in many."""
    ignored = [HealthCheck.too_slow, HealthCheck.data_too_large]
    if are_rare or IS_QUICK:  # few examples say little about how many are left out
        ignored.append(HealthCheck.filter_too_much)
    return settings(
        max_examples=max(count // 10, 1) if IS_QUICK else count * EFFORT,
        deadline=None,  # a busy machine must not fail a test
        derandomize=EFFORT == 1,
        suppress_health_check=ignored,
    )
