"""Recorded rows: what EPL's own engine gave for small programs, timers at their exact times.

Here the reference is the one that is tested. The other engines run the same programs as golden cases,
where they must give what the reference gives; that none is missing there is checked here, too. Rows of
one instant may come in any order. What Cepheid does otherwise is in one list, with reasons: a program
of it that comes to give the recorded rows fails a test, so that the list stays true.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conformance.scenarios import FOLDER, Case, Scenarios, outcome, read

RECORDED = Path(__file__).parent / "recorded"
FILES = sorted(RECORDED.glob("*.txt"))
ENGINES = ("reference", "local", "automaton")  # those that take events one at a time
UNSUPPORTED = ["=> error unsupported"]


@dataclass(frozen=True, slots=True)
class Deviation:
    """Cases of files that give other rows, or are refused, and why."""

    why: str
    files: tuple[str, ...]
    cases: tuple[int, ...]
    is_refused: bool = True

    @property
    def names(self) -> list[tuple[str, str]]:
        return [(file, f"{number:03}") for file in self.files for number in self.cases]


DEVIATIONS = (
    Deviation(
        "windows that one of the five, `group by`, `last(...)` or a statement per window can say",
        ("window", "window_agg", "window_groupby"),
        (*range(8, 12), *range(13, 26)),
    ),
    Deviation(
        "`@consume` lets one part of a pattern keep events from others", ("consume",), (1, 2, 3)
    ),
    Deviation(
        "`@SuppressOverlappingMatches` and `@DiscardPartialsOnMatch`; `every-distinct` or a context",
        ("consuming_pattern",),
        tuple(range(1, 16)),
    ),
    Deviation("`-[n]>` bounds the number of partial matches", ("sequence3",), (15, 16)),
    Deviation(
        "matches that a timer ends have lists of their own, where recorded ones share one",
        ("match_until",),
        (20, 21),
        is_refused=False,
    ),
    Deviation(
        "`@Drop` has no effect, and a warning says so", ("priority",), (7,), is_refused=False
    ),
)
DEVIATING = {name: deviation for deviation in DEVIATIONS for name in deviation.names}


def cases(file: Path) -> Iterator[tuple[Scenarios, Case]]:
    scenarios = read(file)
    return ((scenarios, case) for case in scenarios.cases)


def rows(scenarios: Scenarios, case: Case, engine: str) -> list[str]:
    """In the form of the files: columns by name, and all wrong programs alike."""
    found = outcome(case.text, scenarios.sequences[case.events], engine=engine)
    if case.expected == ["=> error"] and found and found[0].startswith("=> error"):
        return ["=> error"]
    return sorted(map(_by_name, found))


def _by_name(row: str) -> str:
    """No value of these cases has a blank in it."""
    parts = row.split(" ")
    columns = sorted(part for part in parts if "=" in part)
    return " ".join([*(part for part in parts if "=" not in part), *columns])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("engine", ENGINES)
def test_recorded_programs_give_their_rows_but_for_listed_ones(engine: str, file: Path) -> None:
    for scenarios, case in cases(file):
        deviation = DEVIATING.get((file.stem, case.name))
        found = rows(scenarios, case, engine)
        if deviation is None:
            assert found == case.expected, (file.stem, case.name, case.text)
        else:
            assert found != case.expected, f"{file.stem} {case.name} deviates no longer"
            refused = sorted(map(_by_name, UNSUPPORTED))
            assert (found == refused) == deviation.is_refused, (file.stem, case.name, found)


def test_every_recorded_program_that_runs_is_a_golden_case_on_all_engines() -> None:
    golden = {
        (case.text, scenarios.sequences[case.events])
        for file in FOLDER.glob("*.txt")
        for scenarios, case in cases(file)
    }
    recorded = {
        (case.text, scenarios.sequences[case.events])
        for file in FILES
        for scenarios, case in cases(file)
        if case.expected != ["=> error"]
    }
    assert len(recorded) > 400
    assert recorded <= golden


def test_the_list_of_deviations_names_recorded_programs() -> None:
    known = {(file.stem, case.name) for file in FILES for _, case in cases(file)}
    assert DEVIATING.keys() <= known
