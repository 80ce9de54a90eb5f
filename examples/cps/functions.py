"""What rules of this example call: quick fixes are offered, and the first one is taken."""

from __future__ import annotations

from cepheid.live import Object, Run


def offerFixes(run: Run, host: Object) -> None:  # noqa: N802 (as the rule calls it)
    found = run.fixes()
    print(f"quick fixes for {host['id']}:")
    for number, solution in enumerate(found.solutions, start=1):
        names = ", ".join(step.fix for step in solution.steps)
        print(f"  {number}. {names} (cost {solution.cost:g}): {'; '.join(solution.diff())}")
    if found.solutions:
        print(f"the first one is taken, of {found.states} states")
        found.solutions[0].apply(run)
