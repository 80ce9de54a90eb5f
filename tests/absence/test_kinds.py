"""What each kind of part says when it stood in the way."""

from __future__ import annotations

from typing import Any

import pytest

import cepheid as cep

SCHEMAS = "create schema A (k int, v int); create schema B (k int, v int);"
AS: list[dict[str, Any]] = [{"@type": "A", "@time": n, "k": n % 2, "v": n} for n in range(6)]
EVENTS = [*AS, {"@type": "B", "@time": 6, "k": 0, "v": 1}]
Told = list[list[tuple[str, str]]]


def told(program: cep.Program, events: list[dict[str, Any]], **asked: Any) -> Told:
    """Without what only says that an event is missing."""
    answer = cep.explain_absence(program, events, "S", **asked)
    found = [[(str(h.kind), h.fact) for h in o.hindrances] for o in answer.obstacles]
    return [each for each in found if not any(kind == "missing" for kind, _ in each)]


CASES = {
    "from A(v > 9)": [[("condition", "v = 5")]],
    "from A where v > 9 and k = 1": [[("where", "v = 5")]],
    "from A#length(3) having sum(v) > 90": [[("having", "sum(v) = 12")]],
    "from A#length_batch(9)": [[("window", "the batch was not full: it lets out 9 rows together")]],
    "from A output every 9 events": [[("output", "the row was not let out then")]],
    "from A limit 0": [[("limit", "other rows came before it")]],
    "from pattern [every-distinct(a.k) a=A]": [
        [("distinct", "a match with this key had been there before")]
    ],
    "from pattern [every a=A while (a.v < 2)]": [[("while", "a.v = 5")]],
    "from pattern [(every a=A) where timer:withinmax(1 min, 2)]": [
        [("count", "so many matches had been there before")],
        [("once", "it is made once, and had been; the last row came at 1970-01-01T00:00:01Z")],
    ],
    "from pattern [a=A]": [
        [("once", "it is made once, and had been; the last row came at 1970-01-01T00:00:00Z")]
    ],
}


@pytest.mark.parametrize("source", CASES)
def test_a_part_of_a_statement_says_what_was_so_instead(source: str) -> None:
    select = "sum(v)" if "having" in source else "1"
    program = cep.parse(f"{SCHEMAS} @Name('S') select {select} as x {source};")
    assert told(program, AS, at=5) == CASES[source]


def test_a_key_tells_its_values() -> None:
    context = "create context C partition by k from A, k from B;"
    pattern = "every a=A(v = 5) -> b=B"
    text = f"{SCHEMAS}{context} @Name('S') context C select 1 as x from pattern [{pattern}];"
    found = told(cep.parse(text), EVENTS)
    assert found == [[("condition", "a.v = 4")], [("key", "a.k = 1, b.k = 0")]]


def test_rows_that_only_leave_say_so() -> None:
    text = f"{SCHEMAS} @Name('S') select rstream v from A#length(9);"
    assert told(cep.parse(text), AS) == [[("stream", "no row left, rows only came")]]


def test_what_must_not_come_is_named() -> None:
    text = (
        f"{SCHEMAS} @Name('S') select 1 as x from pattern [a=A(v = 2) -> (b=B and not A(v = 4))];"
    )
    nearest = told(cep.parse(text), EVENTS, event=7)[0]
    assert nearest == [("not", "A came at 1970-01-01T00:00:04Z")]


COMPLEX = """
atomicEvent a(h: int, v: int) {{ check v > 0 }}
atomicEvent b(h: int, v: int)
complexEvent S(h: int) {{ as {form} context {context} }}
"""
CALLS: list[dict[str, Any]] = [
    {"@type": "a", "@time": 1, "h": 1, "v": 1},
    {"@type": "b", "@time": 2, "h": 2, "v": 1},
    {"@type": "a", "@time": 3, "h": 1, "v": 0},
    {"@type": "b", "@time": 9, "h": 1, "v": 1},
    {"@type": "b", "@time": 10, "h": 1, "v": 1},
]


def complex_event(form: str, context: str = "chronicle") -> cep.Program:
    return cep.parse(COMPLEX.format(form=form, context=context), language="vepl")


def test_a_window_of_a_form_tells_how_far_events_are_apart() -> None:
    found = told(complex_event("(a(h, _) -> b(h, _))[within 4 seconds]"), CALLS, event=4)
    assert found == [[("timer", "the events are 8 seconds apart, and may be 4 seconds at most")]]


def test_a_check_and_an_event_that_belongs_to_another_match_are_told() -> None:
    assert told(complex_event("a(h, _) -> b(h, _)"), CALLS, event=5) == [
        [("condition", "v = 0")],
        [("taken", "a at 1970-01-01T00:00:01Z belongs to the match at 1970-01-01T00:00:09Z")],
    ]


def test_a_parameter_tells_its_values() -> None:
    found = told(complex_event("a(h, _) -> b(h, _)"), CALLS, event=2)
    assert found == [[("same", "h is 1 in a, 2 in b")]]


def test_noise_is_named() -> None:
    found = told(complex_event("a(h, _) -> b(h, _)", "immediate global"), CALLS, event=4)
    assert [("noise", "b came in between at 1970-01-01T00:00:02Z, and 1 more")] in found


def test_the_answer_is_data_that_never_changes() -> None:
    answer = cep.explain_absence(complex_event("a(h, _) -> b(h, _)"), CALLS, "S", event=2)
    with pytest.raises(AttributeError):
        answer.rows = ()  # type: ignore[misc]
    told = answer.to_json()
    assert (told["statement"], told["asked"]) == ("S", "with b at 1970-01-01T00:00:02Z")
