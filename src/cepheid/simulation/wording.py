"""A verdict in sentences: what was found, how sure it is, and why the runs suffice."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.program.properties import ALWAYS, EVENTUALLY, NEVER
from cepheid.simulation.verify import Verdict

_ENDS = {
    NEVER: ("it never happened, as it should be", "it should never happen"),
    EVENTUALLY: ("it happened in every run, as it should", "it should happen in every run"),
    ALWAYS: ("it held in every run, as it should", "it should always hold"),
}
_METHODS = {"exact": "Clopper-Pearson", "wilson": "Wilson"}


def answer(found: Verdict) -> str:
    """The answer in one sentence."""
    happened = "was broken" if found.kind == ALWAYS else "happened"
    number = f"{found.name} {happened} in {found.hits:,} of {found.runs:,} runs"
    return f"{number}, {_percent(found.estimate)}: {_conclusion(found)}."


def _conclusion(found: Verdict) -> str:
    if found.bound:
        share = f"{_percent(found.bound)} of all runs"
        if found.holds is None:
            return f"whether it is broken in at most {share} is still open"
        return f"it is broken in {'at most' if found.holds else 'more than'} {share}"
    kept, broken = _ENDS[found.kind]
    return kept if found.holds else broken


def reasons(found: Verdict, *, is_planned: bool) -> Iterator[str]:
    """How sure that is, and why there were so many runs."""
    low, high = _percent(found.interval.low), _percent(found.interval.high)
    sure = f"{100 * found.confidence:g} percent"
    yield f"Its probability lies between {low} and {high} ({sure}, {_METHODS[found.method]})."
    is_early = found.holds is not None if found.bound else not found.holds
    if found.is_sequential and is_early:
        yield f"{found.runs:,} runs made it clear; at most {_most(found, is_planned=is_planned)}."
    elif is_planned:
        precision = f"±{found.plan.precision:g}"
        yield f"{found.plan.runs:,} runs suffice for {precision} at {sure}: {found.plan.reason}."
    else:
        needed = f"{found.plan.runs:,} suffice for ±{found.plan.precision:g} at {sure}"
        yield f"{found.runs:,} runs were asked for; {needed}."


def _most(found: Verdict, *, is_planned: bool) -> str:
    return f"{found.plan.runs:,} were planned" if is_planned else "as many as asked for"


def comparison(found: Verdict) -> str:
    """The two scenarios beside each other."""
    gap, other = found.difference, found.against
    assert gap is not None
    assert other is not None
    reach = f"{_points(gap.low)} to {_points(gap.high)} at {100 * found.confidence:g} percent"
    first = (
        f"The other scenario: {other.hits:,} of {other.runs:,} runs, {_percent(other.estimate)}."
    )
    return f"{first} Difference {_points(gap.estimate)}, {reach} (p = {gap.p_value:.3g})."


def _percent(share: float) -> str:
    return f"{100 * share:.4g} percent"


def _points(share: float) -> str:
    return f"{100 * share:+.3g} points"
