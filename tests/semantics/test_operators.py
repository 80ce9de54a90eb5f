"""Each operator in the corners that the golden scenarios leave out.

Rows are written as in the golden files: time in milliseconds, then what is not null.
"""

from __future__ import annotations

from datetime import datetime

import pytest

import cepheid as cep
from cepheid.core.time import to_instant
from cepheid.pattern.tree import At
from cepheid.program.tree import PatternSource
from tests.conformance.scenarios import outcome

JANUARY_31 = 30 * 86_400_000  # 1970, in milliseconds
FEBRUARY_1 = 31 * 86_400_000
DAY = 86_400_000


def rows(pattern: str, events: str) -> list[str]:
    return outcome(f"select * from pattern [{pattern}]", events)


# Repeats.


def test_tags_of_nested_repeats_are_one_list() -> None:
    events = "A1@1000 A2@2000 A3@3000 A4@4000 A5@5000"
    assert rows("[2] ([2] a=A)", events) == ["4000 a=[A1,A2,A3,A4]"]


def test_a_repeat_of_choices_lists_each_tag_apart() -> None:
    events = "A1@1000 B1@2000 A2@3000"
    assert rows("[3] (a=A or b=B)", events) == ["3000 a=[A1,A2] b=[B1]"]


def test_a_repeat_may_collect_every_truth_of_an_unending_part() -> None:
    assert rows("[2] every a=A", "A1@1000 A2@2000 A3@3000") == ["2000 a=[A1,A2]"]


def test_the_end_of_a_repeat_hears_an_event_before_its_body() -> None:
    assert rows("a=A until b=A", "A1@1000") == ["1000 b=A1"]
    assert rows("[1:] a=A until b=A(v=2)", "A1@1000{v=2} A2@2000{v=1} A3@3000{v=2}") == []


def test_a_repeat_whose_body_fails_fails() -> None:
    events = "A1@1000 A2@4000 A3@5000"
    assert rows("[2] a=A where timer:within(2 sec)", events) == []
    assert rows("every [2] a=A where timer:within(2 sec)", events) == ["5000 a=[A2,A3]"]


def test_many_bodies_that_are_true_at_once_need_no_stack() -> None:
    assert rows("a=A -> [20000] timer:interval(0 sec)", "A1@1000") == ["1000 a=A1"]


# Or.


def test_of_two_sides_that_one_event_makes_true_the_later_speaks_alone() -> None:
    assert rows("every (a=A or b=A)", "A1@1000 A2@2000") == ["1000 b=A1", "2000 b=A2"]


def test_a_side_that_is_true_at_once_ends_sides_that_have_not_begun() -> None:
    assert rows("b=B -> (a=A or timer:interval(0 sec))", "B1@1000 A1@2000") == ["1000 b=B1"]
    assert rows("b=B -> (timer:interval(0 sec) or a=A)", "B1@1000 A1@2000") == ["1000 b=B1"]


def test_a_choice_fails_only_when_all_sides_have() -> None:
    failing = "a=A where timer:within(0 sec)"
    assert rows(f"every b=B -> (({failing}) or c=C)", "B1@1000 A1@2000 C1@3000") == [
        "3000 b=B1 c=C1"
    ]
    assert rows(f"every (({failing}) or (c=C where timer:within(1 sec)))", "C1@3000") == [
        "3000 c=C1"
    ]


# And.


def test_a_side_that_fails_at_once_ends_sides_that_have_not_begun() -> None:
    assert rows("b=B -> ((not timer:interval(0 sec)) and a=A)", "B1@1000 A1@2000") == []


def test_a_side_with_many_truths_gives_each_of_them_when_the_other_ends_the_whole() -> None:
    events = "B1@1000 B2@2000 A1@3000 C1@4000 B3@5000 A2@6000"
    pattern = "((a=A or every b=B) and c=C)"
    found = ["4000 b=B1 c=C1", "4000 b=B2 c=C1", "4000 a=A1 c=C1"]
    assert rows(pattern, events) == found
    assert rows(f"every {pattern}", events) == found
    assert rows(f"{pattern} -> d=A", events) == [
        "6000 b=B1 c=C1 d=A2",
        "6000 b=B2 c=C1 d=A2",
        "6000 a=A1 c=C1 d=A2",
    ]


def test_a_match_may_end_the_instance_that_is_still_reporting() -> None:
    events = "B1@1000{v=1} B2@2000{v=5} B3@2500{v=1} C1@4000"
    assert rows("((every b=B) and c=C) while (b.v < 3)", events) == ["4000 b=B1 c=C1"]


def test_three_sides_combine() -> None:
    events = "A1@1000 B1@2000 A2@3000 C1@4000"
    assert rows("every a=A and b=B and c=C", events) == [
        "4000 a=A1 b=B1 c=C1",
        "4000 a=A2 b=B1 c=C1",
    ]


# Not.


def test_not_not_is_true_from_the_start_and_fails_when_its_child_does_not_happen() -> None:
    assert rows("a=A and not (b=B and not c=C)", "C1@1000 B1@2000 A1@3000") == ["3000 a=A1"]
    assert rows("a=A and not (b=B and not c=C)", "B1@2000 A1@3000") == []


def test_what_can_not_happen_any_more_stays_absent() -> None:
    pattern = "a=A and not (b=B where timer:within(2 sec))"
    assert rows(pattern, "B1@1000 A1@3000") == []
    assert rows(pattern, "B1@2000 A1@3000") == ["3000 a=A1"]


# Every-distinct.


def test_null_is_a_key_like_any_other() -> None:
    events = 'A1@1000 A2@2000{k="x"} A3@3000 A4@4000{k="x"}'
    assert rows("every-distinct(a.k) a=A", events) == ["1000 a=A1", "2000 a=A2"]


def test_a_key_may_have_several_parts() -> None:
    events = 'A1@1000{k="x",v=1} A2@2000{k="x",v=2} A3@3000{k="x",v=1}'
    assert rows("every-distinct(a.k, a.v) a=A", events) == ["1000 a=A1", "2000 a=A2"]


def test_a_failure_forgets_the_keys() -> None:
    events = 'A1@1000{k="x"} A2@2000{k="x"} A3@5000{k="x"}'
    pattern = "every-distinct(a.k) (a=A where timer:within(2 sec))"
    assert rows(pattern, events) == ["1000 a=A1", "5000 a=A3"]


def test_instances_that_live_side_by_side_have_keys_of_their_own() -> None:
    events = 'A1@1000{k="x"} A2@2000{k="y"} A3@3000{k="y"}'
    pattern = "every-distinct(a.k) (every a=A)"
    assert rows(pattern, events) == ["1000 a=A1", "2000 a=A2", "2000 a=A2"]


def test_keys_expire_in_months_each_by_itself() -> None:
    # The 31st at noon and the 30th at one o'clock both come again on 28 February, in that order.
    first, second = JANUARY_31 - DAY + 13 * 3_600_000, JANUARY_31 + 12 * 3_600_000
    third = 58 * DAY + 12 * 3_600_000 + 1000
    events = f'A1@{first}{{k="x"}} A2@{second}{{k="y"}} A3@{third}{{k="y"}} A4@{third}{{k="x"}}'
    assert [r.split()[1] for r in rows("every-distinct(a.k, 1 month) a=A", events)] == [
        "a=A1",
        "a=A2",
        "a=A3",
    ]


# Timers.


def test_an_interval_of_no_time_is_true_at_once_but_not_for_ever() -> None:
    assert rows("every timer:interval(0 sec)", "A1@1000") == []
    assert rows("every (a=A -> timer:interval(0 sec))", "A1@1000 A2@1000") == [
        "1000 a=A1",
        "1000 a=A2",
    ]
    assert rows("a=A -> timer:interval(0 sec) -> timer:interval(1 sec)", "A1@1000 @2000") == [
        "2000 a=A1"
    ]


def test_a_guard_of_no_time_lets_nothing_through() -> None:
    assert rows("every a=A where timer:within(0 sec)", "A1@0 A2@1000") == []
    derived = """
        insert into S select a.id as id from pattern [every a=A];
        select * from pattern [every a=A -> s=S where timer:within(0 sec)]
    """
    assert [r for r in outcome(derived, "A1@1000 A2@1000") if "statement_2" in r] == []


@pytest.mark.parametrize(
    ("schedule", "due"),
    [
        ("*, *, *, *, *", 60_000),
        ("30, 8, *, *, *, 15", (8 * 3600 + 30 * 60 + 15) * 1000),
        ("0, 0, 1, 2, *", FEBRUARY_1),
        ("0, 12, *, *, 0", 3 * DAY + DAY // 2),  # the first Sunday; the epoch is a Thursday
        ("0, 0, 3, *, 6", 2 * DAY),  # the third of a month or a Saturday, here both
        ("0, 0, 29, 2, *", 789 * DAY),  # 1972
        ("*, *, *, *, *, *", 1000),
        ("*, *, *, *, *, */20", 20_000),
        ("1:2, *, *, *, *", 60_000),
        ("[5, 3], *, *, *, *", 180_000),
    ],
)
def test_a_schedule_comes_at_its_first_instant(schedule: str, due: int) -> None:
    events = f"@{due - 1} @{due} @{due + 1000}"
    assert rows(f"a=A or timer:at({schedule})", events) == [f"{due:g}"]


@pytest.mark.parametrize(
    ("fields", "start", "due"),
    [
        ("0, 9, last, *, *", "2024-02-10T00:00", "2024-02-29T09:00"),
        ("0, 9, lastweekday, *, *", "2024-03-01T00:00", "2024-03-29T09:00"),  # the 31st is a Sunday
        ("0, 9, 15 weekday, *, *", "2024-06-01T00:00", "2024-06-14T09:00"),  # a Saturday
        ("0, 9, 1 weekday, *, *", "2024-06-01T00:00", "2024-06-03T09:00"),  # not in May
        ("0, 9, 31 weekday, *, *", "2024-06-01T00:00", "2024-06-28T09:00"),  # not in July
        ("0, 9, *, *, 1 last", "2024-06-01T00:00", "2024-06-24T09:00"),
        ("0, 9, *, *, last", "2024-06-02T00:00", "2024-06-08T09:00"),
        ("0, 9, [3, last], *, *", "2024-06-03T10:00", "2024-06-30T09:00"),
        ("0, 9, last, *, 0 last", "2024-06-27T10:00", "2024-06-30T09:00"),
        ("0, 9, *, *, *, 0, 'Europe/Zurich'", "2024-01-10T00:00", "2024-01-10T08:00"),
        ("0, 9, *, *, *, 0, 'Europe/Zurich'", "2024-06-10T00:00", "2024-06-10T07:00"),
        ("0, 9, 1, 7, *, 0, 'Europe/Zurich'", "2024-01-10T00:00", "2024-07-01T07:00"),
        # Clocks leave out an hour, so that its half never comes, and repeat one, which counts twice.
        ("30, 2, *, *, *, 0, 'Europe/Zurich'", "2024-03-30T12:00", "2024-04-01T00:30"),
        ("30, 2, *, *, *, 0, 'Europe/Zurich'", "2024-10-26T12:00", "2024-10-27T00:30"),
        ("30, 2, *, *, *, 0, 'Europe/Zurich'", "2024-10-27T00:30", "2024-10-27T01:30"),
        ("0, 0, 1, *, *, 0, 0, 0, 'GMT-5'", "2024-06-01T05:00", "2024-07-01T05:00"),
    ],
)
def test_a_schedule_knows_the_calendar_and_zones(fields: str, start: str, due: str) -> None:
    text = f"select * from pattern [timer:at({fields})]"
    source = cep.parse(text).tree.statements[0].source
    assert isinstance(source, PatternSource)
    assert isinstance(source.pattern, At)
    instants = [to_instant(datetime.fromisoformat(moment)) for moment in (start, due)]
    assert source.pattern.schedule.after(instants[0]) == instants[1]


def test_a_schedule_that_never_comes_waits_for_ever() -> None:
    assert rows("every timer:at(0, 0, 31, 2, *)", f"@{20 * 366 * DAY}") == []


def test_a_schedule_is_after_the_instant_at_which_it_starts() -> None:
    assert rows("every timer:at(*, *, *, *, *, 5)", "A1@5000 @65000") == ["5000", "65000"]
    assert rows("a=A -> timer:at(*, *, *, *, *, 5)", "A1@5000 @65000") == ["65000 a=A1"]


# Months.


def test_a_month_after_the_last_day_is_the_last_day_of_the_next_month() -> None:
    found = outcome("select irstream id from A#time(1 month)", f"A1@{JANUARY_31} @{70 * DAY}")
    assert found == [f'{JANUARY_31:g} id="A1"', f'{58 * DAY:g} old id="A1"']


def test_months_can_turn_round_the_order_in_which_rows_leave_a_window() -> None:
    first, second = JANUARY_31 - DAY + 13 * 3_600_000, JANUARY_31 + 12 * 3_600_000
    found = outcome("select rstream id from A#time(1 month)", f"A1@{first} A2@{second} @{70 * DAY}")
    sooner, later = 58 * DAY + 12 * 3_600_000, 58 * DAY + 13 * 3_600_000
    assert found == [f'{sooner:g} id="A2"', f'{later:g} id="A1"']


def test_batches_of_a_month_follow_the_calendar() -> None:
    found = outcome(
        "select count(*) as n from A#time_batch(1 month)", f"A1@0 A2@{40 * DAY} @{100 * DAY}"
    )
    assert found == [f"{31 * DAY:g} n=1", f"{59 * DAY:g} n=1", f"{90 * DAY:g} n=0"]


def test_batches_of_a_month_count_from_their_reference_in_both_directions() -> None:
    reference = 365 * DAY  # 1 January 1971
    text = f"select count(*) as n from A#time_batch(1 month, {reference}L)"
    assert outcome(text, f"A1@{40 * DAY} @{59 * DAY}") == [f"{59 * DAY:g} n=1"]


def test_a_period_beyond_the_calendar_never_ends() -> None:
    assert rows("a=A -> timer:interval(9000 years)", f"A1@1000 @{10**12}") == []
    assert outcome("select count(*) as n from A#time(9000 years)", "A1@1000") == ["1000 n=1"]


# Windows, where and having.


def test_a_row_is_judged_by_the_clock_at_which_it_enters() -> None:
    text = "select count(*) as n from A#time(2 sec) where current_timestamp() < 2500"
    assert outcome(text, "A1@1000 A2@2000 A3@3500 @9000") == [
        "1000 n=1",
        "2000 n=2",
        "3000 n=1",
        "4000 n=0",
    ]


def test_distinct_keeps_the_first_of_equal_rows_in_their_order() -> None:
    events = 'A1@1000{k="x"} A2@2000{k="y"} A3@3000{k="x"} A4@4000{k="z"}'
    assert outcome("select distinct k from A#length_batch(4)", events) == [
        '4000 k="x"',
        '4000 k="y"',
        '4000 k="z"',
    ]


def test_order_and_limit_apply_to_new_and_old_rows_apart() -> None:
    events = "A1@1000{v=3} A2@2000{v=1} A3@3000{v=2} A4@4000{v=5} A5@5000 A6@6000{v=4}"
    text = "select irstream id from A#length_batch(3) order by v desc limit 2"
    assert outcome(text, events) == [
        '3000 id="A1"',
        '3000 id="A3"',
        '6000 id="A4"',
        '6000 id="A6"',
        '6000 old id="A1"',
        '6000 old id="A3"',
    ]


def test_nulls_come_first_in_order_and_last_in_descending_order() -> None:
    events = "A1@1000{v=3} A2@2000 A3@3000{v=1}"
    for direction, wanted in (("asc", ["A2", "A3", "A1"]), ("desc", ["A1", "A3", "A2"])):
        text = f"select id from A#length_batch(3) order by v {direction}"
        assert outcome(text, events) == [f'3000 id="{id}"' for id in wanted]


def test_distinct_comes_before_order_and_limit() -> None:
    events = "A1@1000{v=2} A2@2000{v=2} A3@3000{v=1}"
    text = "select distinct v from A#length_batch(3) order by v desc limit 2"
    assert outcome(text, events) == ["3000 v=2", "3000 v=1"]


def test_having_decides_before_first_does() -> None:
    events = "A1@1000{v=1} A2@2000{v=5} A3@3000{v=6} @4500 A4@7000{v=7}"
    text = "select v from A having v > 4 output first every 3 seconds"
    assert outcome(text, events) == ["2000 v=5", "7000 v=7"]
