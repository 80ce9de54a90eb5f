"""What is wrong with a pipeline's file is said before anything runs, all at once, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid import pipelines
from cepheid.errors import InputError, UsageError

FIRST = """\
CREATE MUTABLE SUBSCRIBED EVENT CLASS A(k INTEGER, x NUMBER) ID (k) FREEZING TIME (1h)
ON ANNOUNCEMENT DO seen(NEW.k);
CREATE COMPLEX EVENT CLASS D(k INTEGER, x NUMBER) ID (k) OBSERVATION SPAN (1h)
AS SELECT a.k, a.x FROM A a OCCURRING AT a;
"""
SECOND = """\
CREATE MUTABLE SUBSCRIBED EVENT CLASS D(k INTEGER, x NUMBER) ID (k) FREEZING TIME (10d)
ON CHANGE DO changed(NEW.x);
"""
PIPELINE = """\
chronon = "1m"
[sources.s]
events = "h.jsonl"
class = "A"
[programs.p]
files = ["first.bicepl"]
reads = ["s"]
[programs.q]
files = ["second.bicepl"]
reads = ["p.D"]
"""
Said = tuple[str, str, str]  # where, the code, and a part of fact and hint


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first.bicepl").write_text(FIRST)
    (tmp_path / "second.bicepl").write_text(SECOND)
    (tmp_path / "h.jsonl").write_text('{"@type": "A", "@time": 60, "k": 1}\n')
    (tmp_path / "bad.jsonl").write_text('{"from": 1, "too": 2}\n')
    (tmp_path / "back.jsonl").write_text('{"from": 5, "to": 2}\n')
    (tmp_path / "sum.epl").write_text("@Name('Sum') select sum(x) as x from D#keepall;")
    (tmp_path / "wrong.bicepl").write_text("CREATE SOMETHING;")
    return tmp_path


def found(text: str) -> list[tuple[str, str, str]]:
    Path("t.toml").write_text(text)
    _, problems = pipelines.check("t.toml")
    return [(str(p.span), p.code, f"{p.message} | {p.hint}") for p in problems]


def expect(text: str, *expected: Said) -> None:
    said = found(text)
    assert [each[:2] for each in said] == [each[:2] for each in expected], said
    for (_, _, words), (_, _, part) in zip(said, expected, strict=True):
        assert part in words


def test_a_good_one_has_no_problems() -> None:
    assert found(PIPELINE) == []
    assert list(pipelines.load("t.toml").stages) == ["p", "q"]


CHANGES: dict[str, tuple[str, str, list[Said]]] = {
    # settings of rounds
    "chronon, no length": (
        '"1m"',
        '"1 x"',
        [("t.toml:1:1", "bad-pipeline", "is not a time period")],
    ),
    "chronon, a number": ("1m", "", [("t.toml:1:1", "bad-pipeline", 'chronon = "1m"')]),
    "no chronon": (
        'chronon = "1m"',
        "",
        [("t.toml:1:1", "bad-pipeline", "'p' goes in rounds, and nothing says how often")],
    ),
    "no chronon, and more": (
        'chronon = "1m"',
        'window = "slide"',
        [
            ("t.toml:1:1", "bad-pipeline", "nothing says how often"),
            ("t.toml:1:1", "bad-pipeline", "did you mean 'sliding'"),
        ],
    ),
    "all settings at once": (
        'chronon = "1m"',
        'chronon = "1m"\nstart = "now"\nend = true\nwindow = "x"\nafter_freeze = "end"\noutages = 3',
        [
            ("t.toml:2:1", "bad-time", "'now' is not an ISO 8601 time | write ISO 8601"),
            ("t.toml:3:1", "bad-pipeline", "end: this is a time, not true | write ISO 8601"),
            ("t.toml:6:1", "bad-pipeline", "outages: this is a text, not 3"),
            ("t.toml:4:1", "bad-pipeline", "choices: buffering, sliding, sliding-actions"),
            ("t.toml:5:1", "bad-pipeline", "choices: refuse, take"),
        ],
    ),
    "end before start": (
        'chronon = "1m"',
        'chronon = "1m"\nstart = 2026-01-02T00:00:00Z\nend = "2026-01-01T00:00:00Z"',
        [
            (
                "t.toml:3:1",
                "bad-pipeline",
                "the end, 2026-01-01T00:00:00Z, is before the start, 2026-01-02T",
            )
        ],
    ),
    "no file of outages": (
        'chronon = "1m"',
        'chronon = "1m"\noutages = "bid.jsonl"',
        [("t.toml:2:1", "missing-file", "did you mean 'bad.jsonl'")],
    ),
    "wrong outages": (
        'chronon = "1m"',
        'chronon = "1m"\noutages = "bad.jsonl"',
        [("bad.jsonl:1:1", "bad-line", "an outage has a 'from' and a 'to'")],
    ),
    "outages that end before they begin": (
        'chronon = "1m"',
        'chronon = "1m"\noutages = "back.jsonl"',
        [("back.jsonl:1:1", "bad-time", "an outage ends before it begins")],
    ),
    # tables
    "an unknown setting": (
        'chronon = "1m"',
        'chronon = "1m"\nchronos = 1',
        [("t.toml:2:1", "bad-pipeline", "chronos: no such setting | did you mean 'chronon'")],
    ),
    "an unknown setting of a source": (
        "class =",
        "clas =",
        [("t.toml:4:1", "bad-pipeline", "sources.s.clas: no such setting | did you mean 'class'")],
    ),
    "class and classes": (
        'class = "A"',
        'class = "A"\nclasses = ["A"]',
        [("t.toml:5:1", "bad-pipeline", "'class' and 'classes' say the same")],
    ),
    "no events": (
        'events = "h.jsonl"',
        "",
        [("t.toml:2:1", "bad-pipeline", "sources.s: 'events' is missing | events = ")],
    ),
    "no files": (
        '["first.bicepl"]',
        "[]",
        [("t.toml:5:1", "bad-pipeline", "programs.p: 'files' is missing | files = ")],
    ),
    "files that are none": (
        '["first.bicepl"]',
        "[3]",
        [("t.toml:6:1", "bad-pipeline", "programs.p.files: this is a text or a list of texts")],
    ),
    "a table that is none": (
        "[sources.s]",
        "[sources]\nx = 3\n[sources.s]",
        [("t.toml:3:1", "bad-pipeline", "this is a table, [sources.x], not 3")],
    ),
    "an outbox that is none": (
        'chronon = "1m"',
        'chronon = "1m"\noutbox = 1\nexecutors = 2',
        [
            ("t.toml:3:1", "bad-pipeline", "executors: this is a file, or tables"),
            ("t.toml:2:1", "bad-pipeline", "outbox: this is a folder, not 1"),
        ],
    ),
    # programs
    "a missing program": (
        "first.bicepl",
        "none.bicepl",
        [("t.toml:6:1", "missing-file", "cannot read 'none.bicepl'")],
    ),
    "no program at all": (
        "first.bicepl",
        "h.jsonl",
        [("t.toml:6:1", "usage", "programs end with .epl")],
    ),
    "two wrong programs": (
        '["first.bicepl"]',
        '["wrong.bicepl"]\nread = 1',
        [
            ("t.toml:7:1", "bad-pipeline", "programs.p.read: no such setting"),
            ("wrong.bicepl:1:8", "syntax", ""),
        ],
    ),
    # connections
    "an unknown source": (
        '"s"',
        '"t"',
        [("t.toml:7:10", "unknown-source", "no source 't' | there are: p, q, s")],
    ),
    "a source with a class": (
        '"s"',
        '"s.A"',
        [("t.toml:7:10", "unknown-source", "'s' is a source, not a program | read all of it: 's'")],
    ),
    "a program without a class": (
        '"p.D"',
        '"p"',
        [("t.toml:10:10", "unknown-source", "'p' is a program, not a source | name a class of it")],
    ),
    "an unknown program": (
        '"p.D"',
        '"r.D"',
        [("t.toml:10:10", "unknown-source", "no program 'r' | programs: p, q")],
    ),
    "an unknown class": (
        '"p.D"',
        '"p.E"',
        [("t.toml:10:10", "unknown-class", "program 'p' has no class 'E' | classes of 'p': A, D")],
    ),
    "a class that is not taken": (
        '"p.D"',
        '"p.D", "p.A"',
        [("t.toml:10:17", "unknown-class", "'q' does not subscribe to 'A' | it takes: D")],
    ),
    "a source of which nothing is taken": (
        '"p.D"',
        '"p.D", "s"',
        [("t.toml:10:17", "unknown-class", "'s' detects 'A', and 'q' takes none")],
    ),
    "the same twice": (
        '"p.D"',
        '"p.D", "p.D"',
        [("t.toml:10:10", "bad-pipeline", "'q' reads 'p.D' twice")],
    ),
    "an unfed class": (
        'reads = ["p.D"]',
        "",
        [("t.toml:8:1", "unfed-class", "nothing feeds 'D' of 'q' | add to reads: p.D")],
    ),
    "a class that no source has": (
        'class = "A"\n[programs.p]\nfiles = ["first.bicepl"]\nreads = ["s"]',
        'class = "B"\n[programs.p]\nfiles = ["first.bicepl"]',
        [("t.toml:5:1", "unfed-class", "nothing feeds 'A' of 'p' | no source detects it")],
    ),
    "several at once": (
        '"s"]',
        '"t", "u"]',
        [("t.toml:7:10", "unknown-source", "'t'"), ("t.toml:7:15", "unknown-source", "'u'")],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_mistake_is_told_at_its_place(name: str) -> None:
    before, after, expected = CHANGES[name]
    assert before in PIPELINE
    expect(PIPELINE.replace(before, after, 1), *expected)
    with pytest.raises(InputError) as caught:
        pipelines.load("t.toml")
    assert [p.code for p in caught.value.diagnostics] == [code for _, code, _ in expected]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("D(k INTEGER, x TEXT) ID (k)", "is (k long, x double) by (k), not (k long, x string)"),
        ("D(k INTEGER, x NUMBER) ID (k, x)", "by (k), not (k long, x double) by (k, x)"),
        ("D(k INTEGER) ID (k)", "not (k long) by (k)"),
    ],
)
def test_a_class_of_another_form_does_not_fit(declared: str, words: str) -> None:
    text = f"CREATE MUTABLE SUBSCRIBED EVENT CLASS {declared} FREEZING TIME (1h);"
    Path("second.bicepl").write_text(text)
    expect(PIPELINE, ("second.bicepl:1:1", "schema-conflict", words))


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("select 1 as k, 2.5 as x from B", None),
        ("select 1 as k from B", None),
        ("select 1 as k, 'a' as x from B", "'x' of 'D' is string, to 'q' double"),
        ("select 1 as k, 1 as y from B", "'D' of 'e' has 'y', that of 'q' has not"),
        ("select 1 as k, 5L as occ from B", "'D' of 'e' has 'occ', that of 'q' has not"),
        ("select 1.5 as x from B", "'k' is in the key of 'D', and 'e' gives none"),
    ],
)
def test_what_a_statement_derives_must_fit_the_class(statement: str, words: str | None) -> None:
    Path("e.epl").write_text(f"create schema B (z int); @Name('e') insert into D {statement};")
    text = PIPELINE.replace('"p.D"', '"e.D"').replace('class = "A"', 'classes = ["A", "B"]')
    expected = [] if words is None else [("t.toml:10:10", "schema-conflict", words)]
    expect(text + '[programs.e]\nfiles = "e.epl"\nreads = "s"\n', *expected)


def test_a_class_must_fit_the_schema_of_statements() -> None:
    reads = '[programs.r]\nfiles = "sum.epl"\nreads = "p.D"\n'
    assert found(PIPELINE + reads) == []
    Path("sum.epl").write_text("create schema D (k long, x double); @Name('S') select x from D;")
    places = [("t.toml:13:9", "schema-conflict", f"has '{n}'") for n in ("occ", "det", "kind")]
    expect(PIPELINE + reads, *places)


def test_programs_that_read_each_other_are_told_once() -> None:
    both = (
        FIRST.replace("CLASS A", "CLASS E")
        .replace("FROM A", "FROM E")
        .replace("CLASS D", "CLASS F")
    )
    Path("first.bicepl").write_text(both.replace("CLASS F", "CLASS A"))
    Path("second.bicepl").write_text(FIRST.replace("CLASS D", "CLASS E"))
    text = PIPELINE.replace('["s"]', '["q.E"]').replace('"p.D"', '"p.A"')
    words = "programs read each other: p reads q reads p | put what depends on itself into one"
    expect(text, ("t.toml:7:10", "pipeline-cycle", words))


def test_every_action_needs_an_executor() -> None:
    executors = '[executors.sean]\nkind = "log"\n'
    expect(
        PIPELINE + executors,
        ("first.bicepl:2:1", "no-executor", "'seen' of program 'p' | did you mean 'sean'"),
        ("second.bicepl:2:1", "no-executor", "no executor does 'changed' of program 'q'"),
    )
    every = '[executors.seen]\nkind = "log"\n[executors.changed]\nkind = "lag"\n'
    expect(PIPELINE + every, ("t.toml:13:1", "bad-executor", "did you mean 'log'"))
    assert found(PIPELINE + every.replace("lag", "log")) == []
    assert pipelines.load("t.toml").executors == "t.toml"


def test_executors_may_lie_in_a_file_of_their_own() -> None:
    text = f'executors = "x.toml"\n{PIPELINE}'
    expect(text, ("t.toml:1:1", "missing-file", "cannot read 'x.toml'"))
    Path("x.toml").write_text("")
    expect(text, ("x.toml:1:1", "bad-executor", "'x.toml' has no executors | [executors.NAME]"))
    Path("x.toml").write_text('[executors.seen]\nkind = "log"\n[executors.changed]\nkind = "log"\n')
    assert found(text) == []


def test_a_pipeline_without_programs_or_rounds_says_so() -> None:
    expect("", ("t.toml:1:1", "bad-pipeline", "a pipeline has programs | [programs.NAME]"))
    expect(
        "sources = 3\nprograms = 4\n",
        ("t.toml:1:1", "bad-pipeline", "[sources.NAME]"),
        ("t.toml:2:1", "bad-pipeline", "[programs.NAME]"),
    )
    text = '[sources.s]\nevents = "h.jsonl"\n[programs.p]\nfiles = "sum.epl"\nreads = "s"\n'
    assert found(text) == []
    expect(f'chronon = "1m"\n{text}', ("t.toml:1:1", "bad-pipeline", "no program has classes"))


def test_a_file_that_is_no_pipeline_is_told() -> None:
    for text, words in (("chronon =\n", "not TOML"), ("[programs\n", "not TOML")):
        Path("t.toml").write_text(text)
        with pytest.raises(InputError, match=words) as caught:
            pipelines.load("t.toml")
        assert caught.value.diagnostics[0].code == "bad-pipeline"
        assert caught.value.diagnostics[0].span is not None
    with pytest.raises(UsageError, match=r"cannot read 'none.toml'"):
        pipelines.load("none.toml")


def test_a_missing_file_of_events_is_told_at_its_source() -> None:
    Path("t.toml").write_text(PIPELINE.replace("h.jsonl", "none.jsonl"))
    pipeline = pipelines.load("t.toml")
    with pytest.raises(InputError, match=r"no file 'none.jsonl'") as caught:
        pipelines.run(pipeline)
    assert str(caught.value.diagnostics[0].span) == "t.toml:2:1"
