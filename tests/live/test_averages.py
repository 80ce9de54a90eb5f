"""Moving averages: the last values of an attribute, read once in a transaction."""

from __future__ import annotations

from cepheid.live import Matcher, Model, Object, parse_queries
from tests.live.plants import PLANT, interrupted

MEAN = "pattern mean(h : Host, m) { m == eval(moving_avg(h.load, 3)); }"


def started(*loads: float | None) -> tuple[Model, Matcher, Object]:
    model = Model(PLANT)
    matcher = Matcher(model, parse_queries(MEAN, PLANT))
    with model.transaction() as change:
        host = change.create("Host")
    for load in loads:
        with model.transaction() as change:
            change.set(host, "load", load)
    return model, matcher, host


def mean(matcher: Matcher) -> object:
    found = [match.row[1] for match in matcher.matches("mean")]
    return found[0] if found else None


def test_it_is_the_mean_of_the_last_values() -> None:
    assert mean(started(1, 2, 3, 4)[1]) == 3.0


def test_of_fewer_values_it_is_the_mean_of_those() -> None:
    assert mean(started(1, 2)[1]) == 1.5
    assert mean(started()[1]) is None


def test_a_value_that_is_said_again_counts() -> None:
    assert mean(started(1, 4, 4, 4)[1]) == 4.0


def test_null_is_no_value() -> None:
    assert mean(started(1, None, 3)[1]) == 2.0


def test_a_transaction_reads_once_at_its_end() -> None:
    model, matcher, host = started(1)
    with model.transaction() as change:
        for load in (7, 8, 9, 3):
            change.set(host, "load", load)
    assert mean(matcher) == 2.0


def test_a_transaction_about_something_else_reads_nothing() -> None:
    model, matcher, host = started(1, 3)
    with model.transaction() as change:
        change.set(host, "id", "h")
    assert mean(matcher) == 2.0


def test_a_transaction_that_is_rolled_back_reads_nothing() -> None:
    model, matcher, host = started(1, 3)
    with interrupted(model) as change:
        change.set(host, "load", 9)
    assert mean(matcher) == 2.0


def test_what_is_there_when_a_matcher_starts_is_the_first_value() -> None:
    model, _, host = started(1, 3)
    late = Matcher(model, parse_queries(MEAN, PLANT))
    with model.transaction() as change:
        change.set(host, "load", 5)
    assert mean(late) == 4.0


def test_a_deleted_object_has_no_average() -> None:
    model, matcher, host = started(1, 3)
    with model.transaction() as change:
        change.delete(host)
    assert matcher.matches("mean") == ()


def test_windows_of_several_lengths_are_kept_side_by_side() -> None:
    model = Model(PLANT)
    text = "pattern rising(h : Host) { check(moving_avg(h.load, 1) > moving_avg(h.load, 4)); }"
    matcher = Matcher(model, parse_queries(text, PLANT))
    with model.transaction() as change:
        host = change.create("Host", load=1)
    assert not matcher.matches("rising")
    for load, rises in ((2, True), (2, True), (2, True), (2, False), (1, False)):
        with model.transaction() as change:
            change.set(host, "load", load)
        assert bool(matcher.matches("rising")) is rises


def test_infinite_and_huge_values_have_a_mean() -> None:
    assert mean(started(float("inf"), 1)[1]) == float("inf")
    assert mean(started(1e308, 1e308)[1]) == float("inf")
    assert str(mean(started(float("inf"), float("-inf"))[1])) == "nan"
