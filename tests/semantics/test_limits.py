"""What would grow for ever ends with a limit that names its statement, whatever engine runs it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import cepheid as cep
from cepheid.core import memory
from cepheid.expr import functions
from cepheid.semantics import limits

ENGINES = ["reference", "local"]
A = "create schema A (x int, s string);\n"


def ended(text: str, engine: str, *events: dict[str, object]) -> str:
    with pytest.raises(cep.RunError) as end:
        cep.run(cep.parse(A + text), list(events), engine=engine)
    [problem] = end.value.diagnostics
    assert problem.span is not None
    assert problem.span.line == 2
    return f"{problem.code}: {problem.message} | {problem.hint}"


def test_a_run_that_would_give_rows_for_ever_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_INSTANTS", 1000)  # compiled code has its own
    text = "@Name('Tick') select 1 as n from pattern [every timer:interval(1 msec)];"
    ends: list[dict[str, object]] = [
        {"@type": "A", "@time": 0},
        {"@type": "A", "@time": "9000-01-01T00:00:00Z"},
    ]
    found = ended(text, "reference", *ends)
    assert found.startswith("too-large: timers gave rows at more than 1,000 instants")
    assert "'Tick' at 1970-01-01T00:00:01.001Z" in found


def test_a_window_that_gives_all_its_rows_at_one_instant_is_none_of_these(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MOST_INSTANTS", 10)
    program = cep.parse(A + "@Name('S') select x from A#time_batch(1 day);")
    events = [{"@type": "A", "@time": 0, "x": x} for x in range(100)]
    ends = {"@type": "A", "@time": 7 * 86400}
    assert len(cep.run(program, [*events, ends], engine="reference")) == 100


@pytest.mark.parametrize("engine", ENGINES)
def test_firings_between_two_events_need_no_memory(engine: str) -> None:
    """In the compiled machine tables would grow; in the reference, lists."""
    text = A + (
        "@Name('Tick') insert into Tick select rstream 1 as n from pattern [every timer:interval(1 msec)];"
        "@Name('Last') insert into Last select count(*) as n from Tick#length(3) output last every 1 hour;"
    )
    session = cep.open(cep.parse(text), start=0, engine=engine)
    sizes = []
    for second in range(5, 30, 5):
        session.advance(second)
        sizes.append(len(session.save()))
    assert max(sizes[1:]) < 1.1 * min(sizes[1:])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("made", ["s || s", "concat(s, s)", "replace(s, 'a', 'aa')"])
def test_texts_that_double_without_end(engine: str, made: str) -> None:
    text = (
        f"@Name('Twice') insert into B select {made} as s from B;"
        "@Name('First') insert into B select s from A;"
    )
    found = ended(text, engine, {"@type": "A", "@time": 0, "s": "a"})
    wanted = f"too-large: 'Twice': a text would have {2 * functions.MOST_TEXT:,} characters"
    assert found.startswith(wanted)


@pytest.mark.parametrize("engine", ENGINES)
def test_state_that_outgrows_the_memory_ends_with_the_statement_that_keeps_the_most(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TURNS", 100)
    monkeypatch.setattr("cepheid.semantics.machine.is_short", lambda: True)
    monkeypatch.setattr("cepheid.matcher.machine.operator.is_short", lambda _: True)
    text = (
        "@Name('All') select a.x as n from pattern [every a=A -> b=A(x = -1)];"
        "@Name('One') select last(x) as x from A#length(1) output last every 1 year;"
    )
    events = [{"@type": "A", "@time": n, "x": n} for n in range(20_000)]
    found = ended(text, engine, *events)
    assert found.startswith("too-large: 'All' keeps more than the memory of this process can hold")


LIMITED = """
import resource
import cepheid as cep
from cepheid.core import memory
program = cep.parse("create schema A (x int); @Name('All') select sum(x) as n from A#length(1000000000) output last every 1 year")
session = cep.open(program, engine="ENGINE")
session.send("A", {"x": 1}, 0)
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + (64 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    for n in range(1_000_000):
        session.send("A", {"x": n}, n)
except cep.RunError as end:
    print(end)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_process_that_may_not_grow_ends_with_a_message(engine: str) -> None:
    code = LIMITED.replace("ENGINE", engine)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert re.search(r"error\[too-large\]: 'All' keeps more than the memory", done.stdout), done


def test_values_that_nothing_keeps_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.matcher.machine.operator.MANY_VALUES", 100)
    session = cep.open(cep.parse(A + "@Name('S') select s || '!' as s from A;"))
    for n in range(3000):
        [row] = session.send("A", {"s": f"text {n}"}, n)
        assert row["s"] == f"text {n}!"
    assert session.runner._pool.in_use < 500  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("filled", "more", "short"), [(75, 0, False), (75, 1, True), (76, 0, True)]
)
def test_memory_is_short_beyond_what_a_process_may_fill(
    filled: int, more: int, short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_taken", lambda: (0, filled))
    monkeypatch.setattr(memory, "_granted", lambda: sys.maxsize)
    monkeypatch.setattr(memory, "allowed", lambda: 75)
    assert memory.is_short(more) is short


@pytest.mark.parametrize(("text", "bytes"), [("1000\n", 750), ("max\n", None), (None, None)])
def test_the_limit_of_a_container_counts_where_there_is_one(
    text: str | None, bytes: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = tmp_path / "memory.max"
    if text is not None:
        limit.write_text(text)
    monkeypatch.setattr(memory, "_CONTAINER", ())
    machine = memory.allowed.__wrapped__()
    monkeypatch.setattr(memory, "_CONTAINER", (str(limit),))
    assert memory.allowed.__wrapped__() == (machine if bytes is None else bytes)
