"""What is wrong with a graph's file is said before anything runs, all at once, and where."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import CepheidError, InputError, Severity, UsageError
from cepheid.realtime import reading
from cepheid.realtime.graph import Consumer, Operator, Supplier
from cepheid.realtime.payload import Payload
from cepheid.realtime.reading import Bench
from tests.effort import examples

MS = 1_000_000
GRAPH = """\
processors = 2
programs = ["warning.epl"]
[suppliers.radar]
rate = 100
jitter = "1ms"
validity = "20ms"
payload = "float64[4]"
[suppliers.speed]
period = "10ms"
validity = "20ms"
fields = ["v"]
signal = "sine"
[operators.range]
kind = "ekf"
inputs = ["radar"]
r = 0.5
steps = 2
[operators.near]
kind = "python"
function = "functions.py:nearest"
output = "float64"
inputs = "range"
isolate = "process"
timeout = "50ms"
[operators.pair]
kind = "join"
inputs = ["near", "speed"]
within = "2ms"
fields = ["distance", "v"]
[consumers.brake]
input = "Warning"
priority = "high"
deadline = "5ms"
late = "shed"
[consumers.log]
input = "range"
priority = 3
to = "udp://127.0.0.1:9000"
[bench]
copies = ["log"]
without = ["sharing"]
loads = [0.5, 0.9]
seconds = 1
"""
WARNING = """\
insert into Warning select distance / v as seconds from pair where v > 0;
insert into Slow select distance from pair where v < 1;
"""
Said = tuple[int, str]  # the line, and a part of fact and hint


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


FILES = {
    "warning.epl": WARNING,
    "functions.py": "def nearest(values): return values.min()\n",
    "syntax.epl": "insert into Warning select\n  distance from from pair;",
    "attribute.epl": "insert into Warning\nselect distanze as d from pair;\n"
    "insert into Slow select w from pair;",
    "common.epl": "insert into Mid select distanze as d from pair;\n"
    "insert into Warning select d from Mid;\ninsert into Slow select d from Mid;",
    "slip.epl": "insert into Warning\n select value as v\n from sped;",
    "source.epl": "insert into Warning\n select value as v\n from weather;",
    "clash.epl": "insert into Warning select v from pair;\ninsert into speed select v from pair;",
    "schema.epl": "create schema pair(distance double);\n"
    "create schema speed(w double, v boolean);\n"
    "insert into Warning select x.w as w from pattern [x=speed or y=pair];",
    "array.epl": "insert into Warning select values as vs from spectrum;",
    "second.epl": "insert into Pair select distance as d, v from pair;",
    "first.epl": "insert into Warning select d / v as seconds from Pair;",
    "rounds.bicepl": "CREATE MUTABLE SUBSCRIBED EVENT CLASS Warning(k INTEGER) ID (k) "
    "FREEZING TIME (1h);",
}


def said(text: str) -> list[tuple[str, int, str, str]]:
    """Of each finding the file, the line, the code, and the words."""
    Path("g.toml").write_text(text)
    found, problems = reading.read("g.toml")
    is_wrong = any(problem.severity is Severity.ERROR for problem in problems)
    assert is_wrong == (found is None), problems
    places = [(p.span.file or "", p.span.line) if p.span else ("", 0) for p in problems]
    words = [(p.code, f"{p.message} | {p.hint}") for p in problems]
    return [(*place, *each) for place, each in zip(places, words, strict=True)]


def expect(text: str, *expected: Said, file: str = "g.toml", code: str = "bad-graph") -> None:
    found = said(text)
    assert [each[:3] for each in found] == [(file, line, code) for line, _ in expected], found
    for (*_, words), (_, part) in zip(found, expected, strict=True):
        assert part in words, words


def with_change(old: str, new: str) -> str:
    assert GRAPH.count(old) == 1, old
    return GRAPH.replace(old, new)


# What is right ----------------------------------------------------------------------------------


def test_a_graph_is_read_as_it_is_written() -> None:
    assert said(GRAPH) == []
    found = reading.load("g.toml")
    assert (found.file, found.processors) == ("g.toml", 2)
    assert found.bench == Bench(1, ("log",), ("sharing",), (0.5, 0.9), 1.0)
    radar, speed = found.graph.suppliers
    assert radar == Supplier(
        name="radar",
        period=10 * MS,
        validity=20 * MS,
        jitter=MS,
        payload=Payload("float64", 4),
    )
    assert speed.payload == Payload("float64", 1, ("v",))
    ekf, near, pair, warning = found.graph.operators
    assert ekf == Operator(
        name="range", kind="ekf", inputs=("radar",), parameters={"r": 0.5}, steps=2
    )
    assert (near.inputs, near.isolate, near.timeout) == (("range",), "process", 50 * MS)
    assert (pair.within, pair.fields) == (2 * MS, ("distance", "v"))
    assert (warning.name, warning.inputs, warning.ready_on) == ("Warning", ("pair",), "any")
    assert found.graph.consumers[0] == Consumer(
        name="brake", input="Warning", priority=1, deadline=5 * MS, late="shed"
    )
    assert found.graph.levels["radar"] == 1


def test_files_lie_beside_the_graph_wherever_it_is_read_from(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "g.toml").write_text(GRAPH)
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    found, problems = reading.read("../g.toml")
    assert found is not None
    assert not problems
    assert found[1].payloads["Warning"] == Payload("float64", 1, ("seconds",))


@pytest.mark.parametrize("files", ['["first.epl", "second.epl"]', '["second.epl", "first.epl"]'])
def test_programs_read_what_others_derive(files: str) -> None:
    assert said(with_change('["warning.epl"]', files)) == []
    graph = reading.load("g.toml").graph
    assert [each.name for each in graph.operators] == ["range", "near", "pair", "Warning"]


def test_what_statements_never_match_is_told_as_it_is_of_programs() -> None:
    Path("warning.epl").write_text("insert into Warning select * from pair(v > 2, v < 1);")
    assert [(file, code) for file, _, code, _ in said(GRAPH)] == [("warning.epl", "never-matches")]
    assert reading.load("g.toml").graph  # it can run all the same


@pytest.mark.parametrize("name", ["front radar", "my-radar", "select", "a.b", "радар", "1"])
def test_sources_of_any_name_are_types(name: str) -> None:
    Path("warning.epl").write_text(f"insert into Warning select v from `{name}`;")
    text = with_change("[suppliers.speed]", f'[suppliers."{name}"]')
    found = said(text.replace('["near", "speed"]', f'["near", "{name}"]'))
    assert {code for *_, code, _ in found} == {"unused-node"}


# What is wrong ----------------------------------------------------------------------------------

CHANGES: dict[str, tuple[str, str, list[Said]]] = {
    # the whole file
    "an unknown table": (
        "[bench]",
        "[benches]",
        [(39, "benches: no such setting | did you mean 'bench'?")],
    ),
    "tables of an unknown kind": (
        "[consumers.brake]",
        "[consumer.brake]",
        [(30, "consumer: no such setting | did you mean 'consumers'?")],
    ),
    "an unknown setting": ("processors", "procesors", [(1, "did you mean 'processors'?")]),
    "processors, a text": ("= 2\np", '= "2"\np', [(1, "a whole number from 1 on, not '2'")]),
    "no processors": ("processors = 2", "processors = 0", [(1, "from 1 on, not 0")]),
    # suppliers
    "no rate": (
        "rate = 100\n",
        "",
        [(3, "a rate or a period, and this one has none | rate = 100")],
    ),
    "a rate and a period": (
        "rate = 100",
        'rate = 9\nperiod = "1s"',
        [(3, "a rate or a period, not both")],
    ),
    "more events than there are microseconds": (
        "rate = 100",
        "rate = 1_000_001",
        [(4, "how many events come in a second, up to a million")],
    ),
    "two origins": (
        'signal = "sine"',
        'signal = "sine"\nfrom = "udp://127.0.0.1:9"',
        [(13, "its events come from one place, not from signal and from")],
    ),
    "zero rate": (
        "rate = 100",
        "rate = 0",
        [(4, "suppliers.radar.rate: this is a number above 0")],
    ),
    "a rate that is no number": ("rate = 100", "rate = nan", [(4, "a number above 0, not nan")]),
    "an endless rate": ("rate = 100", "rate = inf", [(4, "a number above 0, not inf")]),
    "hardly a rate": ("rate = 100", "rate = 1e-300", [(4, "how many events come in a second")]),
    "too high a rate": ("rate = 100", f"rate = 1{'0' * 400}", [(4, "a number of 401 digits")]),
    "a rate, a text": ("rate = 100", 'rate = "fast"', [(4, "a number above 0, not 'fast'")]),
    "a rate, a truth": ("rate = 100", "rate = true", [(4, "a number above 0, not true")]),
    "a period, a number": ('"10ms"', "10", [(9, 'this is a time such as "10ms", not 10')]),
    "no period": ('"10ms"', '"0ms"', [(9, "speed: its events come again after more than no time")]),
    "an endless period": ('"10ms"', f'"{"9" * 400}d"', [(9, "a time is at most a year")]),
    "a vast period": ('"10ms"', f'"{"9" * 400}.5d"', [(9, "longer than the calendar")]),
    "a period of months": ('"10ms"', '"1 month"', [(9, "months are not all of one length")]),
    "a period without a unit": ('"10ms"', '"10"', [(9, "is not a time period")]),
    "no validity": (
        'validity = "20ms"\npay',
        "pay",
        [(3, "how long its events are valid | validity")],
    ),
    "negative validity": ('"20ms"\npay', '"-20ms"\npay', [(6, "a time is not below 0")]),
    "zero validity": ('"20ms"\npay', '"0s"\npay', [(6, "radar: its events are valid for more")]),
    "jitter as long as the period": ('"1ms"', '"10ms"', [(5, "between 0 and the period")]),
    "a payload, no type": ("float64[4]", "flaot64[4]", [(7, "did you mean 'float64'?")]),
    "an empty payload": ("float64[4]", "float64[0]", [(7, "a payload has 1 to 16777216 elements")]),
    "a payload, a number": ('"float64[4]"', "4", [(7, "this is a text, not 4")]),
    "fields of another size": (
        '"float64[4]"',
        '"float64[4]"\nfields = ["x"]',
        [(8, "radar: it has 4 elements, and 1 names for them")],
    ),
    "fields twice": (
        'fields = ["v"]',
        'fields = ["v", "v"]',
        [(11, "speed: elements have names of their own")],
    ),
    "fields without names": ('fields = ["v"]', 'fields = [""]', [(11, "'' is no text")]),
    "fields, numbers": ('fields = ["v"]', "fields = [1]", [(11, "a list of names, not a list")]),
    "an unknown signal": ("sine", "sinus", [(12, "speed: there is no signal 'sinus' | did you")]),
    "an unknown setting of a supplier": ("jitter", "jiter", [(5, "did you mean 'jitter'?")]),
    "no address": (
        'signal = "sine"',
        'from = "http://x"',
        [(12, "begins with mqtt://, mqtts://, udp:// or shm://")],
    ),
    "a trace, a number": ('signal = "sine"', "trace = 3", [(12, "this is a text, not 3")]),
    "a trace that is nowhere": (
        'signal = "sine"',
        f'trace = "{"x" * 300}"',
        [(12, "suppliers.")],
    ),
    # operators
    "an unknown operator": (
        '"ekf"',
        '"ekv"',
        [(14, "there is no operator 'ekv' | did you mean 'ekf'")],
    ),
    "a kind, a number": ('"ekf"', "1", [(14, "operators.range.kind: this is a text, not 1")]),
    "a statement by hand": ('"ekf"', '"statement"', [(14, 'programs = ["warning.epl"]')]),
    "no kind": ('kind = "ekf"\n', "", [(13, "range: 'kind' is missing")]),
    "no inputs": ('inputs = ["radar"]\n', "", [(13, "range: 'inputs' is missing")]),
    "an unknown input": (
        'inputs = ["radar"]',
        'inputs = ["rader"]',
        [(15, "range: it reads 'rader', which is no supplier and no operator")],
    ),
    "an unknown input, with a hint": (
        'inputs = ["radar"]',
        'inputs = ["rader"]',
        [(15, "did you mean 'radar'?")],
    ),
    "a consumer as input": ('["near", "speed"]', '["near", "log"]', [(27, "it reads 'log'")]),
    "itself as input": ('inputs = ["radar"]', 'inputs = ["range"]', [(15, "range -> range")]),
    "a circle": (
        'inputs = ["radar"]',
        'inputs = ["near"]',
        [(15, "range: its events come back to it: range -> near -> range")],
    ),
    "a circle through a statement": (
        'inputs = ["radar"]',
        'inputs = ["Warning"]',
        [(15, "range -> near -> pair -> Warning -> range")],
    ),
    "too few inputs": (
        '["near", "speed"]',
        '["near"]',
        [(27, "'join' takes at least 2 inputs, not 1")],
    ),
    "no input at all": (
        'inputs = ["radar"]',
        "inputs = []",
        [(15, "'ekf' takes at least 1 input, not 0")],
    ),
    "too many inputs": (
        '"ekf"\ninputs = ["radar"]\nr = 0.5',
        '"fft"\ninputs = ["radar", "speed"]',
        [(15, "'fft' takes 1 input, not 2")],
    ),
    "inputs of two sizes": (
        'inputs = ["radar"]',
        'inputs = ["radar", "speed"]',
        [(13, "float64[4] and float64")],
    ),
    "inputs, a number": ('inputs = ["radar"]', "inputs = 3", [(15, "a list of names, not 3")]),
    "an unknown parameter": (
        "r = 0.5",
        "rr = 0.5",
        [(16, "'ekf' has no parameter 'rr' | did you mean 'r'?")],
    ),
    "a parameter, a text": ("r = 0.5", 'r = "0.5"', [(16, "range: 'r' is a number")]),
    "a parameter, a truth": ("r = 0.5", "r = true", [(16, "'r' is a number")]),
    "a parameter, no number": ("r = 0.5", "r = nan", [(16, "'r' is a finite number")]),
    "a parameter, too large": ("r = 0.5", f"r = 1{'0' * 400}", [(16, "'r' is a finite number")]),
    "a parameter, not above 0": ("r = 0.5", "r = 0", [(16, "r is above 0")]),
    "a parameter, below 0": ("r = 0.5", "q = -1", [(16, "q is not below 0")]),
    "several parameters": (
        "r = 0.5",
        "rr = 1\nq = []\ndt = {}",
        [(16, "no parameter 'rr'"), (17, "'q' is a number"), (18, "'dt' is a number")],
    ),
    "a missing parameter": (
        'function = "functions.py:nearest"\n',
        "",
        [(18, "'python' needs the parameter 'function'")],
    ),
    "no steps": ("steps = 2", "steps = 0", [(17, "a whole number from 1 on, not 0")]),
    "steps, a fraction": ("steps = 2", "steps = 1.5", [(17, "not 1.5")]),
    "steps of what has none": (
        'within = "2ms"',
        'within = "2ms"\nsteps = 2',
        [(29, "pair: this 'join' does not work in steps")],
    ),
    "steps of a function that is no generator": (
        'isolate = "process"',
        "steps = 2",
        [(23, "this 'python' does not work in steps | a generator does")],
    ),
    "steps in a process": ("steps = 2", 'steps = 2\nisolate = "process"', [(17, "nobody waits")]),
    "isolate, another word": ('"process"', '"thread"', [(23, '"no" or "process", not \'thread\'')]),
    "a timeout, a number": ('"50ms"', "50", [(24, "operators.near.timeout: this is a time")]),
    "join without within": ('within = "2ms"\n', "", [(25, 'it needs a within | within = "2ms"')]),
    "negative within": ('"2ms"', '"-2ms"', [(28, "a time is not below 0")]),
    "fields of another size than what is made": (
        '["distance", "v"]',
        '["distance"]',
        [(29, "pair: it has 2 elements, and 1 names for them")],
    ),
    "a function that is not there": (
        "functions.py:nearest",
        "functions.py:nerest",
        [(20, "near: 'function' names a function, and 'functions.py' has no 'nerest'")],
    ),
    "a file that is not there": ("functions.py", "function.py", [(20, "FileNotFoundError")]),
    "an output that is none": ('output = "float64"', "output = 1", [(21, "'output' is a text")]),
    # consumers
    "no input of a consumer": ('input = "range"\n', "", [(35, "log: 'input' is missing")]),
    "a consumer of nothing": (
        'input = "Warning"',
        'input = "Warming"',
        [(31, "and no statement derives it | did you mean 'Warning'?")],
    ),
    "a consumer of what is derived, nearly": (
        '"Warning"',
        '"slow"',
        [(31, "did you mean 'Slow'?")],
    ),
    "no priority": ('priority = "high"\n', "", [(30, "brake: 'priority' is missing")]),
    "priority zero": ('"high"', "0", [(32, "a number from 1, the highest, on")]),
    "priority, another word": ('"high"', '"higher"', [(32, '"high", "middle", "low", not')]),
    "priority, a truth": ('"high"', "true", [(32, "not true")]),
    "a deadline of no time": ('"5ms"', '"0ms"', [(33, "brake: the deadline is after more than")]),
    "late, another word": ('"shed"', '"drop"', [(34, '"mark" or "shed", not \'drop\'')]),
    "late, a list": ('"shed"', "[]", [(34, '"mark" or "shed", not a list')]),
    "no port": ("127.0.0.1:9000", "127.0.0.1", [(38, "is not a host and a port")]),
    # bench
    "bench of an unknown consumer": ('["log"]', '["lock"]', [(40, "there is no consumer 'lock'")]),
    "bench of an unknown feature": ('["sharing"]', '["shares"]', [(41, "did you mean 'sharing'?")]),
    "no loads": ("[0.5, 0.9]", "[]", [(42, "numbers such as 0.9")]),
    "a load that is none": ("[0.5, 0.9]", "[0.5, -1]", [(42, "a number above 0, not -1")]),
    "no seconds": ("seconds = 1", "seconds = 0", [(43, "bench.seconds")]),
    "a setting that bench has not": ("seconds = 1", "scale = 1", [(43, "bench.scale: no such")]),
    # programs
    "programs, a number": ('["warning.epl"]', "3", [(2, "a list of names, not 3")]),
    "programs that cannot be seen": ('["warning.epl"]', '["\\u0000"]', [(2, "is no text")]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_mistake_is_found_where_it_is(name: str) -> None:
    old, new, expected = CHANGES[name]
    expect(with_change(old, new), *expected)


PROGRAMS: dict[str, tuple[str, str, str, list[Said]]] = {
    "no file": ("no.epl", "g.toml", "missing-file", [(2, "cannot read 'no.epl'")]),
    "an unknown language": ("functions.py", "g.toml", "usage", [(2, "functions.py")]),
    "bad syntax": ("syntax.epl", "syntax.epl", "syntax", [(2, "")]),
    "unknown attributes": (
        "attribute.epl",
        "attribute.epl",
        "unknown-attribute",
        [(2, "did you mean 'distance'?")],
    ),
    "a slip in a source": ("slip.epl", "slip.epl", "unknown-type", [(3, "did you mean 'speed'?")]),
    "an unknown source": (
        "source.epl",
        "source.epl",
        "bad-graph",
        [
            (
                3,
                "a statement reads 'weather', which is no supplier and no operator | sources: near, pair",
            )
        ],
    ),
    "a type that is a source": (
        "clash.epl",
        "clash.epl",
        "bad-graph",
        [(2, "a statement derives 'speed', which is a source of the graph")],
    ),
    "a schema that contradicts": (
        "schema.epl",
        "schema.epl",
        "bad-graph",
        [
            (2, "'speed' has no 'w' in the graph | create schema speed (v double)"),
            (2, "'v' of 'speed' is double in the graph"),
        ],
    ),
    "classes, which go in rounds": ("rounds.bicepl", "g.toml", "bad-graph", [(31, "'Warning'")]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_mistake_in_a_program_is_found_there(name: str) -> None:
    program, file, code, expected = PROGRAMS[name]
    expect(with_change("warning.epl", program), *expected, file=file, code=code)


def test_a_mistake_behind_two_types_is_told_once() -> None:
    text = with_change("warning.epl", "common.epl").replace('input = "range"', 'input = "Slow"')
    expect(text, (1, "did you mean 'distance'?"), file="common.epl", code="unknown-attribute")


def test_statements_lack_complex_numbers() -> None:
    spectrum = '[operators.spectrum]\nkind = "fft"\ninputs = ["radar"]\n[operators.pair]'
    text = with_change("[operators.pair]", spectrum).replace("warning.epl", "array.epl")
    expect(
        text, (2, "Warning: statements take real numbers, and the events of 'spectrum' are complex")
    )


def test_all_mistakes_are_told_at_once() -> None:
    text = GRAPH
    for old, new in (
        ("processors = 2", "processors = -2"),
        ("rate = 100", "rate = 0"),
        ('"10ms"', '"0ms"'),
        ("steps = 2", "steps = 2\nstep = 3"),
        ('["near", "speed"]', '["neer", "speed"]'),
        ('"shed"', '"never"'),
        ('input = "range"', 'input = "ranges"'),
        ('["log"]', '["lock"]'),
    ):
        text = text.replace(old, new)
    lines = [1, 4, 9, 28, 35, 37, 41]  # and not that 'range' lacks a step: what it takes is unknown
    assert [line for _, line, *_ in said(text)] == lines


def test_what_hangs_on_a_mistake_is_not_one() -> None:
    for old, new in (
        ("[suppliers.radar]\n", "[suppliers]\nradar = 3\n[suppliers.radio]\n"),
        ('kind = "ekf"', 'kind = "eckf"'),
        ('payload = "float64[4]"', 'payload = "float"'),
        ('programs = ["warning.epl"]', 'programs = ["no.epl"]'),
    ):
        assert len(said(with_change(old, new))) == 1, new


WHOLE: dict[str, tuple[str, list[Said]]] = {
    "empty": ("", [(1, "a graph has suppliers"), (1, "a graph has consumers")]),
    "suppliers, a number": ("suppliers = 3", [(1, "'suppliers' are tables: [suppliers.NAME]")]),
    "consumers, a list": ("[[consumers]]\nx = 1", [(1, "'consumers' are tables")]),
    "bench without consumers": (
        'consumers = "a"\n[bench]\ncopies = ["a"]',
        [(1, "'consumers' are tables")],
    ),
    "bench, a number": ("bench = 3", [(1, "[bench], not 3"), (1, "suppliers"), (1, "consumers")]),
    "a node, a number": ("[operators]\nx = 1", [(2, "this is a table, [operators.x], not 1")]),
    "a node without a name": ('[suppliers.""]\nrate = 1', [(1, "'' is no text")]),
    "a node that cannot be seen": ('[suppliers."\\u0000"]\nrate = 1', [(1, "is no text")]),
    "one name": (
        '[suppliers.a]\nrate = 1\nvalidity = "1s"\n'
        '[operators.a]\nkind = "fft"\ninputs = "a"\n[consumers.a]\ninput = "a"\npriority = 1',
        [
            (1, "names of their own"),
            (4, "names of their own"),
            (6, "a -> a"),
            (7, "names of their own"),
        ],
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_is_refused_that_is(name: str) -> None:
    text, expected = WHOLE[name]
    expect(text, *expected)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("x = ", "bad-graph", 1),
        ("\n[suppliers", "bad-graph", 2),
        ("a = 1\na = 2", "bad-graph", 2),
        (f"a = {'9' * 5000}", "bad-graph", 1),
        (f"a = {'[' * 5000}", "too-deep", None),
    ],
)
def test_what_is_not_toml_is_refused(text: str, code: str, line: int | None) -> None:
    Path("g.toml").write_text(text)
    with pytest.raises(InputError) as refused:
        reading.read("g.toml")
    (problem,) = refused.value.diagnostics
    assert problem.code == code
    assert (problem.span.line if problem.span else None) == line


def test_files_that_cannot_be_read_are_refused(here: Path) -> None:
    (here / "bytes.toml").write_bytes(b"\xff\xfe")
    for file, code in (("no.toml", "missing-file"), (".", "bad-file"), ("bytes.toml", "bad-file")):
        with pytest.raises(UsageError) as refused:
            reading.read(file)
        assert [each.code for each in refused.value.diagnostics] == [code]
    (here / "wrong.toml").write_text("processors = 0")
    with pytest.raises(InputError) as wrong:
        reading.load("wrong.toml")
    assert len(wrong.value.diagnostics) == 3


# Anything at all --------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        *(
            "",
            "radar",
            "range",
            "near",
            "Warning",
            "10ms",
            "-1s",
            "0s",
            "1 month",
            "shed",
            "process",
        ),
        *(
            "ekf",
            "fft",
            "cat",
            "join",
            "aes",
            "average",
            "resample",
            "threshold",
            "python",
            "numba",
        ),
        *("statement", "float64[4]", "complex64", "bool", "uint8[999999999999]", "shm://x", "$X"),
        *("functions.py:nearest", "math:sqrt", "math:", ":", "x.epl", "warning.epl", "\x00", "é"),
        *("udp://:0", "mqtt://[", "00", "noise", "high", "[suppliers.x]", 'a"b', "a\nb", "\u2028"),
    ]
)
NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 10**9, 10**30, 10**400, float("nan"), float("inf"), 1e-300, 1e308]),
    st.integers(-3, 40),
    st.floats(-5, 5),
)
VALUES = st.recursive(
    st.one_of(WORDS, NUMBERS, st.booleans()),
    lambda each: st.one_of(st.lists(each, max_size=3), st.dictionaries(WORDS, each, max_size=2)),
    max_leaves=4,
)
SETTINGS = st.sampled_from(
    [
        *(
            "kind",
            "inputs",
            "steps",
            "window",
            "size",
            "every",
            "above",
            "below",
            "key",
            "salt",
            "r",
        ),
        *(
            "function",
            "state",
            "output",
            "fields",
            "within",
            "timeout",
            "isolate",
            "rate",
            "period",
        ),
        *(
            "payload",
            "signal",
            "trace",
            "from",
            "to",
            "late",
            "input",
            "priority",
            "copies",
            "type",
        ),
    ]
)


def written(value: Any) -> str:
    """A value as TOML has it, on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(c):08x}" if not c.isalnum() else c for c in value) + '"'
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, dict):
        pairs = (f"{written(name)} = {written(each)}" for name, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    return repr(value)


def tables_of(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield data
    for each in data.values():
        if isinstance(each, dict):
            yield from tables_of(each)


def text_of(data: dict[str, Any]) -> str:
    """With tables where the settings of nodes can be, so that places are found."""
    lines = [f"{written(k)} = {written(v)}" for k, v in data.items() if not isinstance(v, dict)]
    for kind, nodes in data.items():
        if isinstance(nodes, dict):
            own = {k: v for k, v in nodes.items() if not isinstance(v, dict)}
            lines += [
                f"[{written(kind)}]",
                *(f"{written(k)} = {written(v)}" for k, v in own.items()),
            ]
            for name, node in nodes.items():
                if isinstance(node, dict):
                    lines.append(f"[{written(kind)}.{written(name)}]")
                    lines += (f"{written(k)} = {written(v)}" for k, v in node.items())
    return "\n".join(lines)


@examples(150)
@given(st.data())
def test_nothing_but_findings_comes_of_any_change(data: st.DataObject) -> None:
    graph = copy.deepcopy(tomllib.loads(GRAPH))
    for _ in range(data.draw(st.integers(1, 4))):
        table = data.draw(st.sampled_from(list(tables_of(graph))))
        name = data.draw(st.one_of(st.sampled_from([*table, "x"]), SETTINGS))
        if data.draw(st.booleans()):
            table[name] = data.draw(VALUES)
        else:
            table.pop(name, None)
    text = text_of(graph)
    assert tomllib.loads(text).keys() == graph.keys()
    Path("f.toml").write_text(text)
    try:
        found, problems = reading.read("f.toml")
    except CepheidError:
        return
    assert (found is None) == any(each.severity is Severity.ERROR for each in problems)
    for each in problems:
        assert each.span is not None
        assert each.message.isprintable()
