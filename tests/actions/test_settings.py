"""Executors in a file: what may stand there, and what is said about the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid import actions
from cepheid.actions import Rate, Retry
from cepheid.errors import InputError, UsageError

FILE = """\
title = "others may read this file, too"

[executors.post]
kind = "webhook"
url = "https://example.org/post"
token_env = "TOKEN"
tries = 3
wait = "500 ms"
longest_wait = 60
rate = "10 per minute"

[executors."a b"]
kind = "log"
"""


def problems(
    environment: dict[str, str] | None = None, **settings: object
) -> list[tuple[str, str | None]]:
    with pytest.raises(InputError) as refused:
        actions.deliveries({"x": settings}, environment=environment or {})
    found = refused.value.diagnostics
    assert {problem.code for problem in found} == {"bad-executor"}
    return [(problem.message, problem.hint) for problem in found]


def test_a_file_says_who_delivers_what_and_how(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(FILE)
    found = actions.read_deliveries(path, environment={"TOKEN": "s3cret"})
    assert list(found) == ["post", "a b"]
    assert found["post"].retry == Retry(3, 0.5, 60.0)
    assert found["post"].rate == Rate(10, 60.0)
    assert found["post"].secrets == ("s3cret",)
    assert found["a b"].retry == Retry()
    assert found["a b"].rate is None
    assert "s3cret" not in repr(found)


def test_a_missing_variable_is_named_with_its_place_unless_nothing_is_delivered(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.toml"
    path.write_text(FILE)
    with pytest.raises(InputError) as refused:
        actions.read_deliveries(path, environment={})
    (problem,) = refused.value.diagnostics
    assert problem.message == "executors.post.token_env: the environment has no variable TOKEN"
    assert str(problem.span) == f"{path}:3:1"
    assert set(actions.read_deliveries(path, environment={}, with_secrets=False)) == {"post", "a b"}


def test_a_file_without_executors_and_no_file_at_all(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    for text in ("", "executors = 5", "[executors]"):
        path.write_text(text)
        with pytest.raises(InputError, match="has no executors"):
            actions.read_deliveries(path)
    path.write_text("[executors.x\n")
    with pytest.raises(InputError, match=r"x\.toml:1.*bad-executor.*not TOML"):
        actions.read_deliveries(path)
    with pytest.raises(UsageError, match="missing-file"):
        actions.read_deliveries(tmp_path / "none.toml")
    path.write_text("executors.x = 5")
    with pytest.raises(InputError, match=r"executors\.x: this is a table, not 5"):
        actions.read_deliveries(path)


def test_all_that_is_wrong_is_said_at_once() -> None:
    found = problems(
        kind="webhook", urll="http://x", tries=0, wait="long", rate="often", timeout=-1
    )
    assert found == [
        ("executors.x: 'url' is missing", None),
        ("executors.x.timeout: this is a period, such as '10 sec', not -1", None),
        ("executors.x.tries: this is a whole number above zero, not 0", None),
        ("executors.x.wait: this is a period, such as '10 sec', not 'long'", None),
        ("executors.x.rate: this is no rate: 'often'", "write '10 per minute'"),
        ("executors.x: no setting 'urll'", "did you mean 'url'?"),
    ]


def test_a_kind_must_exist() -> None:
    assert problems(kind="webhok") == [
        ("executors.x.kind: no kind 'webhok'", "did you mean 'webhook'?")
    ]
    assert problems(url="x") == [("executors.x: 'kind' is missing", None)]


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ("1 per second", Rate(1, 1.0)),
        ("20 per 5 minutes", Rate(20, 300.0)),
        ("7 per 2h", Rate(7, 7200.0)),
    ],
)
def test_rates(rate: str, expected: Rate) -> None:
    assert actions.deliveries({"x": {"kind": "log", "rate": rate}})["x"].rate == expected


@pytest.mark.parametrize(
    "rate", ["0 per minute", "1 per fortnight", "1 per 0 seconds", "x per minute", "1 per month"]
)
def test_what_is_no_rate(rate: str) -> None:
    assert problems(kind="log", rate=rate)[0][0].startswith("executors.x.rate: this is no rate")


@pytest.mark.parametrize("name", ["token", "password"])
def test_secrets_do_not_stand_in_files(name: str) -> None:
    kind = {"token": {"kind": "webhook", "url": "http://x"}}.get(
        name, {"kind": "mail", "host": "h", "from": "a@b.c", "user": "u", "password_env": "P"}
    )
    ((fact, hint),) = problems({"P": "x"}, **kind, **{name: "s3cret"})
    assert fact == f"executors.x.{name}: secrets do not stand in files"
    assert f"{name}_env" in str(hint)


@pytest.mark.parametrize(
    ("url", "fact"),
    [
        ("ftp://example.org", "no URL of http"),
        ("example.org", "no URL of http"),
        ("http://", "no URL of http"),
        ("http://h:99999", "no URL of http"),
        ("http://h/ä", "no URL of http"),
        ("http://h/a b", "no URL of http"),
        ("http://u:p@h/", "no place for secrets"),
    ],
)
def test_urls_that_make_no_sense(url: str, fact: str) -> None:
    ((found, _),) = problems(kind="webhook", url=url)
    assert fact in found
    assert "u:p" not in found


@pytest.mark.parametrize(
    ("settings", "fact"),
    [
        ({"kind": "webhook", "url": "http://h", "headers": {"X": "a\nb"}}, "cannot have this name"),
        (
            {"kind": "webhook", "url": "http://h", "headers": {"X": "\u20ac"}},
            "cannot have this name",
        ),
        ({"kind": "webhook", "url": "http://h", "headers": {"a:b": "x"}}, "cannot have this name"),
        ({"kind": "webhook", "url": "http://h", "headers": {"": "x"}}, "cannot have this name"),
        ({"kind": "webhook", "url": "http://h", "headers": ["X"]}, "this is a table of texts"),
        ({"kind": "webhook", "url": "http://h", "body": {"x": "{"}}, "stands alone"),
        ({"kind": "webhook", "url": "http://h", "headers_env": {"X": "NO"}}, "no variable NO"),
        ({"kind": "log", "level": "loud"}, "no 'loud'"),
        ({"kind": "log", "text": "{}"}, "stands alone"),
        ({"kind": "log", "text": "{a..b}"}, "names nothing"),
        ({"kind": "log", "text": ""}, "this is a text"),
        ({"kind": "command", "command": ["no-such-command-anywhere"]}, "no command 'no-such"),
        ({"kind": "command", "command": []}, "this is a list of texts"),
        ({"kind": "command", "command": [1]}, "this is a list of texts"),
        ({"kind": "command"}, "'command' is missing"),
        ({"kind": "function", "function": "no_such_module:f"}, "no function 'no_such_module:f'"),
        ({"kind": "function", "function": "json:lod"}, "no function 'json:lod'"),
        ({"kind": "function", "function": "json"}, "no function 'json'"),
        ({"kind": "function", "function": "json:__name__"}, "is no function"),
        ({"kind": "table", "path": "x.xls"}, "known suffixes: .csv, .sqlite, .sqlite3, .db"),
        ({"kind": "table", "path": "x.csv", "columns": {"Key": "{p1}"}}, "has a column 'key'"),
        ({"kind": "table", "path": "x.csv", "table": "t"}, "no setting 'table'"),
        ({"kind": "file"}, "'path' is missing"),
        ({"kind": "mail", "from": "a@b.c"}, "'host' is missing"),
        ({"kind": "mail", "host": "h", "from": "a@b.c", "user": "u"}, "'password_env' is missing"),
        ({"kind": "mail", "host": "h", "from": "a@b.c", "password_env": "P"}, "needs a user"),
        ({"kind": "mail", "host": "h", "from": "a@b.c", "security": "ssl"}, "no 'ssl'"),
        ({"kind": "mail", "host": "h", "from": "a@b.c", "port": "25"}, "this is a whole number"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, object], fact: str) -> None:
    ((found, _),) = problems({"P": "x"}, **settings)
    assert fact in found


def test_a_table_with_other_columns_is_not_mixed_with_ours(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("name,age\nx,7\n")
    ((fact, _),) = problems(kind="table", path=str(path))
    assert fact.endswith("has the columns name, age, not key, time, action, cause, arguments")


@pytest.mark.parametrize(("security", "port"), [("none", 25), ("starttls", 587), ("tls", 465)])
def test_the_usual_port_of_a_mail_server(security: str, port: int) -> None:
    settings = {"kind": "mail", "host": "h", "from": "a@b.c", "security": security}
    assert f"port={port}," in repr(actions.deliveries({"x": settings})["x"].executor)
