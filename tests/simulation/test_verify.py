"""Properties: what the runs say of them, and the fewest events that break one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import cepheid as cep
from cepheid.core.time import BEGIN
from cepheid.errors import UsageError
from cepheid.simulation.runs import RowCounter
from cepheid.simulation.scenario import scenario_of
from cepheid.simulation.simulate import job_of
from cepheid.simulation.statistics import proportion
from cepheid.simulation.wording import answer, comparison, left_out, reasons

TEXT = """
create schema A (k string, v int);
@Name('Hot') insert into Hot select a.k as k from pattern [every a=A(v > 90)];
@Property(kind='never') @Name('Twice') insert into Twice
select h1.k as k from pattern [every h1=Hot -> h2=Hot(h2.k = h1.k) where timer:within(10 seconds)];
@Property(kind='eventually') @Name('Warm') insert into Warm select a.k as k from pattern [every a=A(v > 60)];
@Property(kind='always') @Name('Positive') insert into Positive
select a.k as k from pattern [every a=A(v >= 5)];
@Property(kind='never') @Name('Silence') insert into Silence
select current_timestamp() as t from pattern [every (timer:interval(20 seconds) and not A(v > 80))];
@Name('Count') insert into Count select count(*) as n from A#length(5);
"""
PROGRAM = cep.parse(TEXT)
SCENARIO: dict[str, Any] = {
    "factory": [
        {
            "type": "A",
            "count": 2,
            "every": {"distribution": "exponential", "mean": 2},
            "attributes": {
                "k": {"each": ["x", "y"]},
                "v": {"distribution": "uniform", "min": 0, "max": 100},
            },
        }
    ]
}
SMALL: dict[str, Any] = {"runs": 60, "until": "1 minute"}
CALM: dict[str, Any] = {"factory": [{**SCENARIO["factory"][0], "attributes": {"k": "x", "v": 50}}]}


def rows_of(trace: list[dict[str, Any]], program: cep.Program = PROGRAM) -> list[str]:
    return [row.type for row in cep.run(program, trace, engine="reference")]


def test_what_should_never_happen() -> None:
    found = cep.verify(PROGRAM, SCENARIO, "Twice", **SMALL)
    assert found.holds is False
    assert found.runs == 60
    wanted = proportion(found.hits, 60, 0.95)
    data = found.to_json()
    assert set(data) >= {"estimate", "low", "high", "runs", "holds", "trace"}
    assert (data["low"], data["estimate"], data["high"]) == (
        wanted.low,
        found.hits / 60,
        wanted.high,
    )
    trace: Any = data["trace"]
    assert len(trace) == 2
    assert "Twice" in rows_of(trace)
    for place in range(2):
        assert "Twice" not in rows_of(trace[:place] + trace[place + 1 :])
    calm = PROGRAM.verify(CALM, "Twice", **SMALL)
    assert (calm.holds, calm.hits, calm.trace) == (True, 0, None)


def test_what_should_happen_in_every_run() -> None:
    found = cep.verify(PROGRAM, SCENARIO, "Warm", **{**SMALL, "until": 4})
    assert 0 < found.hits < 60
    assert found.holds is False
    assert found.trace is not None
    assert "Warm" not in rows_of(found.trace.records())
    assert cep.verify(PROGRAM, SCENARIO, "Warm", **SMALL).holds is True


def test_what_should_always_be_so() -> None:
    found = cep.verify(PROGRAM, SCENARIO, "Positive", **SMALL)
    assert found.holds is False
    assert found.estimate > 0.8
    assert found.trace is not None
    assert [event["v"] < 5 for event in found.trace.events] == [True]  # type: ignore[operator]
    assert cep.verify(PROGRAM, CALM, "Positive", **SMALL).holds is True


def test_a_trace_of_what_time_brings_keeps_its_time() -> None:
    found = cep.verify(PROGRAM, CALM, "Silence", **SMALL)
    assert found.trace is not None
    assert found.trace.events == ()
    assert rows_of(found.trace.records()) == ["Silence"]


def test_a_trace_keeps_what_kept_earlier_rows_away_and_says_what_it_left_out() -> None:
    """Without the events that break the silence, there would be a silence that never was."""
    found = cep.verify(PROGRAM, SCENARIO, "Silence", **SMALL)
    assert found.trace is not None
    trace = found.trace
    rows = [row for row in cep.run(PROGRAM, trace.records()) if row.type == "Silence"]
    assert [row.instant for row in rows] == [trace.end]
    assert rows[0].instant > BEGIN + 20_000_000  # not the first silence that could be
    assert trace.events
    assert all(int(str(event["v"])) > 80 for event in trace.events)
    assert trace.left_out > 0
    assert found.to_json()["left_out"] == trace.left_out
    brought = f"{trace.left_out} other events that the scenario brings in this run until then."
    assert left_out(found) == f"Left out: {brought}"


def test_names_and_kinds_are_checked() -> None:
    for name, fact in (
        ("Twize", "did you mean 'Twice'?"),
        ("Hot", "'Hot' is a pattern without @Property"),
        ("Count", "'Count' is a statement, and no pattern"),
        ("A", "'A' is an event type, and no pattern"),
        (None, "the program has several properties"),
    ):
        with pytest.raises(UsageError) as refused:
            cep.verify(PROGRAM, SCENARIO, name, **SMALL)
        assert fact in str(refused.value)
    with pytest.raises(UsageError, match="has no property"):
        cep.verify(cep.parse("create schema A (v int); select v from A;"), SCENARIO, **SMALL)
    only = cep.parse(
        TEXT.replace("@Property(kind='always')", "").replace("@Property(kind='never')", "")
    )
    assert cep.verify(only, SCENARIO, **SMALL).name == "Warm"
    with pytest.raises(cep.ProgramError, match="@Property needs a kind"):
        cep.verify(cep.parse(TEXT.replace("kind='eventually'", "kind='soon'")), SCENARIO, "Warm")
    for options, fact in (
        ({"z": "rough"}, "no quantile 'rough'"),
        ({"interval": "wide"}, "no interval 'wide'"),
        ({"bound": 2}, "the bound lies between 0 and 1"),
        ({"bound": 0.01, "sequential": True}, "no precision of 0.03 around a bound of 0.01"),
        ({"against": CALM, "sequential": True}, "as many runs of both"),
    ):
        with pytest.raises(UsageError, match=fact):
            cep.verify(PROGRAM, SCENARIO, "Twice", **{**SMALL, **options})


@pytest.mark.parametrize("bound", [0.0, 0.2, 0.95])
def test_a_sequential_answer_is_that_of_all_runs(bound: float) -> None:
    early = cep.verify(PROGRAM, SCENARIO, "Twice", until="1 minute", bound=bound, sequential=True)
    whole = cep.verify(PROGRAM, SCENARIO, "Twice", until="1 minute", bound=bound, precision=0.06)
    assert early.holds is whole.holds is (bound == 0.95)
    assert early.runs < 1_068 / 2
    if bound:
        share = f"in {'at most 95' if early.holds else 'more than 20'} percent of all runs"
        assert share in answer(early)


def test_a_sequential_verdict_is_of_the_bound_and_its_precision() -> None:
    """A program that is broken in a known share of its runs; many seeds are tried on coins alone."""
    program = cep.parse(
        "create schema A (v boolean); @Property(kind='never') @Name('One') "
        "select a.v as v from pattern [every a=A(v)];"
    )
    told: dict[str, cep.Verdict] = {}
    for share in (0.1, 0.35, 0.45, 0.7):  # of a bound of 0.4 and a precision of 0.15
        coin = {"distribution": "bernoulli", "p": share}
        factory = {"type": "A", "every": 1, "attributes": {"v": coin}}
        scenario = {"until": 1.5, "factory": [factory]}
        for seed in range(3):
            options: dict[str, Any] = {"bound": 0.4, "precision": 0.15, "seed": seed}
            found = cep.verify(program, scenario, sequential=True, **options)
            assert found.holds in (None, share < 0.4)
            assert found.holds is not None or 0.25 < share < 0.55
            told[found.word] = found
    assert set(told) == {"holds", "broken", "within-precision"}
    close = told["within-precision"]
    assert close.holds is None
    assert answer(close).endswith(
        "percent: no verdict, as it is broken in 25 to 55 percent of all runs, too close to the bound."
    )
    for found in told.values():
        _, clear, honest = reasons(found, is_planned=True)
        assert clear == f"{found.runs:,} runs made it clear."
        assert honest == (
            "The test is of 40 percent ±0.15: what it says is wrong in at most 5 percent of such "
            "tests, and in 25 to 55 percent it may say nothing."
        )


def test_a_sequential_test_that_runs_out_of_runs_gives_no_verdict() -> None:
    found = cep.verify(
        PROGRAM, SCENARIO, "Twice", until="1 minute", bound=0.7, runs=5, sequential=True
    )
    assert (found.holds, found.is_close, found.to_json()["verdict"]) == (None, False, "open")
    assert "5 runs did not make it clear, and are as many as asked for." in [
        *reasons(found, is_planned=False)
    ]


def test_runs_without_a_counterexample_make_nothing_clear_before_their_end() -> None:
    found = cep.verify(PROGRAM, CALM, "Twice", until=20, precision=0.1, sequential=True)
    _, why = reasons(found, is_planned=True)
    assert why.startswith("97 runs suffice for ±0.1")


def test_runs_may_leave_a_bound_open() -> None:
    found = cep.verify(PROGRAM, SCENARIO, "Twice", until="1 minute", runs=8, bound=0.7)
    assert found.holds is None
    assert "still open" in answer(found)


def test_an_interval_around_the_bound_leaves_what_should_happen_open() -> None:
    asked = {**SMALL, "until": 4}
    found = cep.verify(PROGRAM, SCENARIO, "Warm", **asked)
    assert cep.verify(PROGRAM, SCENARIO, "Warm", **asked, bound=1 - found.estimate).holds is None


def test_an_interval_gives_no_verdict_where_a_sequential_test_has_none() -> None:
    asked: dict[str, Any] = {**SMALL, "bound": 0.3, "precision": 0.001}
    assert cep.verify(PROGRAM, SCENARIO, "Twice", **asked).holds is False
    assert cep.verify(PROGRAM, SCENARIO, "Twice", **asked, sequential=True).holds is None


def test_two_scenarios_are_compared() -> None:
    found = cep.verify(PROGRAM, SCENARIO, "Twice", against=CALM, **SMALL)
    assert found.against is not None
    assert found.difference is not None
    assert found.against.hits == 0
    assert found.difference.low > 0.3
    assert found.difference.p_value < 0.001
    assert found.to_json()["difference"]
    assert "The other scenario: 0 of 60 runs, 0 percent." in comparison(found)


def test_the_answer_is_a_sentence_and_says_why() -> None:
    found = cep.verify(PROGRAM, CALM, "Twice", until=20)
    assert (
        answer(found)
        == "Twice happened in 0 of 1,068 runs, 0 percent: it never happened, as it should be."
    )
    sure, why = reasons(found, is_planned=True)
    assert (
        sure
        == "Its probability lies between 0 percent and 0.3448 percent (95 percent, Clopper-Pearson)."
    )
    assert "1,068 runs suffice for ±0.03 at 95 percent" in why
    assert "the exact quantile, rounded up" in why


def test_a_ghost_rider_is_as_probable_as_it_should_be() -> None:
    """A fault of one in 10,000 in n independent readings: 1 - (1 - p)^n, for many seeds."""
    program = cep.parse(
        """
        create schema Motorbike (speed int, seat boolean);
        @Name('GhostRider')
        select e.speed as speed from pattern [every e = Motorbike(seat = false and speed > 0)];
        """
    )
    readings = 1_500
    seat = {"speed": 50, "seat": {"value": True, "flip": 0.0001}}
    scenario = {"factory": [{"type": "Motorbike", "every": 20, "attributes": seat}]}
    truth = 1 - (1 - 0.0001) ** readings
    job = job_of(program.resolve(), scenario_of(scenario), until=20 * readings, events=None, seed=0)
    counter, inside, hits = RowCounter(job), 0, 0
    for seed in range(400):
        counter.job = replace(job, seed=seed)
        counts = counter.table(range(8))
        assert set(counts[:, 0]) == {readings}
        found = int((counts[:, 1] > 0).sum())
        inside += truth in proportion(found, 8, 0.95)
        hits += found
    assert inside >= 372
    assert truth in proportion(hits, 400 * 8, 0.95)  # all together they are much more exact
