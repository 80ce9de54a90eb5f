"""Plans in few words, for tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from cepheid.analysis.keys import Path
from cepheid.analysis.plan import StatementPlan
from cepheid.core.time import Period

Key: TypeAlias = Mapping[str, tuple[Path, ...]] | None


def key_words(by: Key) -> str:
    if by is None:
        return "nothing: one part sees all events"
    if not by:
        return "anything"
    return _per_type({name: ", ".join(".".join(p) for p in paths) for name, paths in by.items()})


def _per_type(facts: Mapping[str, str]) -> str:
    """What holds for each type; said once where it is the same for all."""
    if len(set(facts.values())) < 2:
        return next(iter(facts.values()), "")
    return "\n".join(f"{name}: {fact}" for name, fact in facts.items())


def span_words(plan: StatementPlan) -> str:
    """For how long the events of a statement matter."""
    return _per_type({name: _span(span) for name, span in plan.retention.spans.items()})


def _span(microseconds: int | None) -> str:
    if microseconds is None:
        return "ever"
    return str(Period(microseconds)) if microseconds else "its instant"


def state_words(plan: StatementPlan) -> str:
    kept = plan.retention
    if kept.grows is not None:
        return f"unbounded: {kept.grows}"
    return f"bounded, one for each {kept.one_per}" if kept.one_per else "bounded"
