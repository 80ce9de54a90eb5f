"""Runs of one case on several engines, and what is compared of them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import cepheid as cep
from cepheid.bitemporal.outcome import Outcome
from cepheid.errors import CepheidError, Diagnostic
from tests.bitemporal.generator import Case


def outcome_of(case: Case, engine: str, **options: Any) -> dict[str, Any] | str:
    """All that a run gives, or the code of what ends it."""
    program = parsed(case.text)
    settings = {"chronon": case.chronon, "outages": case.outages, **options}
    try:
        result = cep.run(program, case.records, engine=engine, **settings)
    except CepheidError as problem:
        return first_of(problem).code
    return compared(result.outcome)  # type: ignore[attr-defined]


@lru_cache(maxsize=1)
def parsed(text: str) -> cep.Program:
    """The program of a case, which several engines run one after the other."""
    return cep.parse(text, "bicepl")


def first_of(problem: CepheidError) -> Diagnostic:
    return problem.diagnostics[0]


def compared(outcome: Outcome) -> dict[str, Any]:
    """Without what only engines need."""
    return {
        "firings": list(outcome.firings),
        "versions": [
            (v.cls, v.key, v.row.values, v.row.occ, v.row.det, v.known_from, v.known_to)
            for v in outcome.versions
        ],
        "changes": [
            (c.round, c.cls, c.key, c.kind, c.row.values, c.row.occ, c.row.det, c.fired)
            for c in outcome.changes
        ],
        "toggles": list(outcome.toggles),
        "refused": dict(outcome.refused),
    }
