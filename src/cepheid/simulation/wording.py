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
        if found.is_close:
            return (
                f"no verdict, as it is broken in {_band(found)} of all runs, too close to the bound"
            )
        if found.holds is None:
            return f"whether it is broken in at most {share} is still open"
        return f"it is broken in {'at most' if found.holds else 'more than'} {share}"
    kept, broken = _ENDS[found.kind]
    return kept if found.holds else broken


def reasons(found: Verdict, *, is_planned: bool) -> Iterator[str]:
    """How sure that is, and why there were so many runs."""
    low, high = _percent(found.interval.low), _percent(found.interval.high)
    sure = f"{100 * found.confidence:g} percent"
    how = _METHODS[found.method] + (", as for a fixed number of runs" * found.is_sequential)
    yield f"Its probability lies between {low} and {high} ({sure}, {how})."
    if found.is_sequential and found.bound:
        yield from _of_the_test(found, is_planned=is_planned)
    elif found.is_sequential and not found.holds:
        most = f"{found.plan.runs:,} were planned" if is_planned else "as many as asked for"
        yield f"{found.runs:,} runs made it clear; at most {most}."
    elif is_planned:
        precision = f"±{found.plan.precision:g}"
        yield f"{found.plan.runs:,} runs suffice for {precision} at {sure}: {found.plan.reason}."
    else:
        needed = f"{found.plan.runs:,} suffice for ±{found.plan.precision:g} at {sure}"
        yield f"{found.runs:,} runs were asked for; {needed}."


def _of_the_test(found: Verdict, *, is_planned: bool) -> Iterator[str]:
    is_over = found.holds is not None or found.is_close
    limit = "all that were planned" if is_planned else "as many as asked for"
    took = "made it clear" if is_over else f"did not make it clear, and are {limit}"
    yield f"{found.runs:,} runs {took}."
    wrong = f"{100 * (1 - found.confidence):.3g} percent"
    yield (
        f"The test is of {_percent(found.bound)} ±{found.plan.precision:g}: what it says is wrong in at"
        f" most {wrong} of such tests, and in {_band(found)} it may say nothing."
    )


def _band(found: Verdict) -> str:
    low, high = found.bound - found.plan.precision, found.bound + found.plan.precision
    return f"{100 * low:.4g} to {_percent(high)}"


def left_out(found: Verdict) -> str:
    """What a trace does not show of its run; nothing where it shows all."""
    if found.trace is None or not found.trace.left_out:
        return ""
    others = (
        "1 other event" if found.trace.left_out == 1 else f"{found.trace.left_out:,} other events"
    )
    return f"Left out: {others} that the scenario brings in this run until then."


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
