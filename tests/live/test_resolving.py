"""Names and types of queries, looked up in a metamodel: all that is wrong, each once."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid.errors import ProgramError, UsageError
from cepheid.live import check_queries, load_queries, parse_queries
from tests.live.plants import PLANT

OTHERS = """
pattern runs(h : Host, a : Application) { Host.runs(h, a); }
pattern link(a : Host, b : Host) { Host.next(a, b); }
pattern loaded(h : Host, n) { Host.load(h, n); }
"""


def problems_of(text: str) -> list[str]:
    _, problems = check_queries(f"{text}{OTHERS}", PLANT)
    found = [str(problem).removeprefix("<text>:") for problem in problems]
    return [
        p.replace(": error[", " ").replace(": warning[", " ").replace("]:", ":", 1) for p in found
    ]


BODIES = {
    "Hos(h);": "1:23 unknown-class: no class 'Hos' (did you mean 'Host'?)",
    "runs(h);": "1:23 unknown-class: no class 'runs' ('runs' is a pattern: write find runs(...))",
    "Host.lod(h, 1);": "1:23 unknown-feature: no feature 'lod' in Host (did you mean 'load'?)",
    "Host.twin.lod(h, 1);": "1:23 unknown-feature: no feature 'lod' in Host (did you mean 'load'?)",
    "Host.load.id(h, 1);": "1:23 unknown-feature: 'Host.load' is an attribute: no feature 'id' follows",
    "find rns(h, _);": "1:23 unknown-query: no pattern 'rns' (did you mean 'runs'?)",
    "find runs(h);": "1:23 wrong-arguments: 'runs' takes 2 arguments, not 1 (usage: find runs(h, a))",
    "find runs(_, h);": "1:23 type-mismatch: 'h' cannot be Host and Application",
    "find runs+(h, _);": None,
    "find loaded+(h, _);": "1:23 wrong-arguments: 'loaded' is no step from an object to an object, so"
    " '+' makes no sense (a pattern with two parameters that are objects can be found transitively)",
    "Application(h);": "1:23 type-mismatch: 'h' cannot be Host and Application",
    "Host.load(h, x); Application(x);": "1:40 type-mismatch: 'x' cannot be double and Application",
    "Host.load(h, x); Host.id(h, x);": "1:40 type-mismatch: 'x' cannot be double and string",
    "Host.load(h, 'a');": "1:23 type-mismatch: 'a' is string, where double is needed",
    "Host.state(h, 'upp');": "1:37 type-mismatch: 'Host.state' is never 'upp' (did you mean 'up'?)",
    "Host.load(h, x); x == 'a';": "1:40 type-mismatch: 'x' cannot be double and string",
    "Application(x); h != x;": "1:39 type-mismatch: 'h' is Host and 'x' is Application: they are never"
    " equal",
    "Host.load(h, x);": "1:36 single-variable: variable 'x' is used only here (write '_x', or '_', if"
    " any value will do)",
    "Host.load(h, _x); Host.id(h, _);": None,
    "neg find runs(h, x);": "1:40 unbound-variable: nothing binds the variable 'x' (write '_x' if any"
    " will do)",
    "neg find runs(h, _x);": None,
    "x != y; x == y;": "1:23 unbound-variable: nothing binds the variable 'x' (a class, a feature, a"
    " find, an eval or '==' gives it values)",
    "check(x > 1);": "1:29 unbound-variable: nothing binds the variable 'x' (a class, a feature, a find,"
    " an eval or '==' gives it values)",
    "check(x.load > 1);": "1:29 unbound-variable: nothing binds the variable 'x' (a class, a feature, a"
    " find, an eval or '==' gives it values)",
    "n == count find runs(h, _); check(n > 1);": None,
    "n == count find runs(y, _); check(n > 1);": "1:44 unbound-variable: nothing binds the variable 'y'"
    " (write '_y' if any will do)",
    "x == eval(y + 1); check(x > 1);": "1:33 unbound-variable: nothing binds the variable 'y' (a class,"
    " a feature, a find, an eval or '==' gives it values)",
    "find p(h);": "1:23 recursive-query: pattern 'p' asks for itself (declare one step as a pattern of"
    " its own, and find it transitively: find step+(a, b))",
    "check(h > 1);": "1:29 type-mismatch: 'h' is an object, and expressions take values (name an"
    " attribute (h.feature), or compare objects with '==' outside)",
    "check(h.twin = 1);": "1:29 type-mismatch: 'h.twin' is an object, and expressions take values",
    "check(h.lod > 1);": "1:29 unknown-feature: no feature 'lod' in Host (did you mean 'load'?)",
    "check(h.load.x > 1);": "1:29 unknown-feature: 'h.load' is double, not an object",
    "check(h.tags = 'a');": "1:29 type-mismatch: 'Host.tags' has many values (bind one of its values:"
    " Host.tags(x, value))",
    "check(h.twin.load > 'a');": "1:29 type-mismatch: '>' cannot compare double with string",
    "check(h.load);": "1:29 type-mismatch: a condition must be boolean, not double",
    "check(avg(h.load) > 1);": "1:29 misplaced-aggregate: avg is an aggregate and not allowed in a"
    " pattern",
    "check(current_timestamp > 1);": "1:29 unsupported: current_timestamp has no meaning in a pattern"
    " (models have no clock)",
    "check(moving_avg(h.load) > 1);": "1:29 wrong-arguments: moving_avg takes an attribute of an object"
    " and a number of values (usage: moving_avg(x.attribute, n))",
    "check(moving_avg(h.id, 3) > 1);": "1:29 wrong-arguments: 'h.id' is no number"
    " (usage: moving_avg(x.attribute, n))",
    "check(moving_avg(h.load, 0) > 1);": "1:29 wrong-arguments: moving_avg takes 1 to 10,000 values, not"
    " 0 (usage: moving_avg(x.attribute, n))",
    "check(h.load[1] > 1);": "1:29 type-mismatch: variables and features take no index",
    "x == eval(h.load + 'a'); check(x > 1);": "1:33 type-mismatch: '+' takes numbers, not string (join"
    " strings with ||)",
}


@pytest.mark.parametrize("body", BODIES)
def test_a_mistake_is_reported_once(body: str) -> None:
    wanted = BODIES[body]
    assert problems_of(f"pattern p(h : Host) {{ {body} }}") == ([] if wanted is None else [wanted])


def test_a_closure_of_steps_between_different_classes_makes_sense_if_a_class_could_be_both() -> (
    None
):
    assert problems_of("pattern p(h : Host) { find link+(h, _); }") == []


QUERIES = {
    "pattern p(h : Hos) {}": "1:11 unknown-class: no class 'Hos' (did you mean 'Host'?)",
    "pattern p(n : int) {}": "1:20 unbound-variable: nothing binds the parameter 'n' (a class, a"
    " feature, a find, an eval or '==' gives it values)",
    "pattern p(n : int) { n == 'a'; }": "1:22 type-mismatch: 'n' cannot be int and string",
    "@Constraint(key = {x}, message = 'm') pattern p(h : Host) {}": "1:1 bad-annotation: the key 'x' is"
    " no parameter of 'p' (parameters: h)",
    "@Constraint(key = {h}, message = '$x.id$') pattern p(h : Host) {}": "1:1 bad-annotation: the"
    " message has '$x.id$', but 'x' is no parameter (parameters: h)",
    "@Constraint(key = {h}, message = '$h.idd$') pattern p(h : Host) {}": "1:1 bad-annotation: the"
    " message has '$h.idd$', but Host has no 'idd' (did you mean 'id'?)",
    "@Constraint(key = {h}, message = '$h.id.x$') pattern p(h : Host) {}": "1:1 bad-annotation: the"
    " message has '$h.id.x$', but 'x' is asked of a value",
}


@pytest.mark.parametrize("text", QUERIES)
def test_a_mistake_in_the_head_of_a_query_is_reported_once(text: str) -> None:
    assert problems_of(text)[:1] == [QUERIES[text]]


def test_a_circle_over_several_queries_is_reported_where_they_ask() -> None:
    found = problems_of("pattern p(h : Host) { find q(h); } pattern q(h : Host) { neg find p(h); }")
    assert [p.partition(" (")[0] for p in found] == [
        "1:23 recursive-query: pattern 'p' asks for itself through 'q'",
        "1:62 recursive-query: pattern 'q' asks for itself through 'p'",
    ]


def test_a_text_with_syntax_errors_has_no_findings_that_follow_from_them() -> None:
    found = problems_of("pattern p(h : Host) { Host.load(h x); check(x > 1); Hots(h); }")
    assert [p.split(":")[1].split()[1] for p in found] == ["syntax", "unknown-class"]


def test_types_of_parameters_are_found_where_they_are_not_said() -> None:
    queries = parse_queries("pattern p(h, n) { find loaded(h, n); }" + OTHERS, PLANT)
    assert list(map(str, queries.by_name["p"].types)) == ["Host", "double"]


def test_a_file_is_named_in_what_is_wrong_with_it(tmp_path: Path) -> None:
    file = tmp_path / "a.vql"
    file.write_text("pattern p(h : Hos) {}")
    with pytest.raises(ProgramError, match=r"a\.vql:1:11"):
        load_queries(file, PLANT)
    with pytest.raises(UsageError, match="no file"):
        load_queries(tmp_path / "b.vql", PLANT)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="it is not UTF-8"):
        load_queries(file, PLANT)
