"""What executors do to the world: files, tables, commands, functions, a web server and a mail server."""

from __future__ import annotations

import csv
import json
import logging
import sqlite3
import sys
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cepheid import actions
from cepheid.actions import Action, DeliveryFailed
from tests.actions.receivers import Answer, mails, web

CAUSE = {"@type": "Flight", "flightNo": "LH 1"}
ACTION = Action(
    "post", 60_000_000, "1970-01-01T00:01:00Z/Flight/LH1/0", CAUSE, {"p1": "late", "p2": 2}
)
NOW = 1_000_000.0
SENDER: dict[str, Any] = {"from": "a@b.c"}


def executor(environment: dict[str, str] | None = None, **settings: object) -> actions.Executor:
    return actions.deliveries({"post": settings}, environment=environment or {})["post"].executor


def failure(made: actions.Executor, action: Action = ACTION) -> DeliveryFailed:
    with pytest.raises(DeliveryFailed) as failed:
        made.deliver(action, NOW)
    return failed.value


# -- log, file, table --


def test_a_log_has_the_row_or_a_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "cepheid.actions"):
        executor(kind="log").deliver(ACTION, NOW)
        made = executor(kind="log", level="error", text="{cause.flightNo} {p1} {p2} {time} {{")
        made.deliver(ACTION, NOW)
    row, text = caplog.records
    assert (row.levelname, json.loads(row.getMessage())) == ("INFO", ACTION.row())
    assert (text.levelname, text.getMessage()) == ("ERROR", "LH 1 late 2 1970-01-01T00:01:00Z {")
    assert made.describe(ACTION) == "log LH 1 late 2 1970-01-01T00:01:00Z {"


def test_a_file_gets_each_row_once_even_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "new" / "done.jsonl"
    made = executor(kind="file", path=str(path))
    made.deliver(ACTION, NOW)
    whole = path.read_bytes()
    assert json.loads(whole) == ACTION.row()
    made.deliver(ACTION, NOW)  # done, but not marked so
    assert path.read_bytes() == whole
    for cut in range(1, len(whole)):
        for before in (b"", b"other\n"):
            path.write_bytes(before + whole[:-cut])
            made.deliver(ACTION, NOW)
            assert path.read_bytes() == before + whole
    path.write_bytes(b"no end of line")
    made.deliver(ACTION, NOW)
    assert path.read_bytes() == b"no end of line\n" + whole
    assert str(path) in made.describe(ACTION)


def test_a_csv_table_has_a_header_and_a_row_for_each_action(tmp_path: Path) -> None:
    path = tmp_path / "done.csv"
    made = executor(kind="table", path=str(path))
    made.deliver(ACTION, NOW)
    made.deliver(ACTION, NOW)
    made.deliver(Action("post", 0, "k", {}, {"p1": 'a,\n"b'}), NOW)
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["key", "time", "action", "cause", "arguments"],
        [ACTION.key, "1970-01-01T00:01:00Z", "post", json.dumps(CAUSE), '{"p1": "late", "p2": 2}'],
        ["k", "1970-01-01T00:00:00Z", "post", "{}", '{"p1": "a,\\n\\"b"}'],
    ]
    assert made.describe(ACTION).startswith(f"row of '{path}': {ACTION.key},")


def test_a_csv_table_that_was_torn_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "done.csv"
    made = executor(kind="table", path=str(path), columns={"flight": "{cause.flightNo}"})
    made.deliver(ACTION, NOW)
    whole = path.read_bytes()
    assert whole.splitlines()[0] == b"key,time,flight"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        made.deliver(ACTION, NOW)
        assert path.read_bytes() == whole


def test_a_database_has_each_key_once_and_values_keep_their_types(tmp_path: Path) -> None:
    path = tmp_path / "new" / "done.sqlite"
    columns = {"flight": "{cause.flightNo}", "gate": "{p2}", "said": "it is {p1}", "c": "{cause}"}
    made = executor(kind="table", path=str(path), table='my "table"', columns=columns)
    made.deliver(ACTION, NOW)
    made.deliver(ACTION, NOW)
    made.deliver(Action("post", 0, "k", {"flightNo": None}, {"p1": 1.5, "p2": True}), NOW)
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute('SELECT * FROM "my ""table""" ORDER BY time').fetchall()
    assert rows == [
        ("k", "1970-01-01T00:00:00Z", None, 1, "it is 1.5", '{"flightNo": null}'),
        (ACTION.key, "1970-01-01T00:01:00Z", "LH 1", 2, "it is late", json.dumps(CAUSE)),
    ]


def test_a_database_that_is_none_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "done.db"
    path.write_text("no database, but more than enough letters to be looked at by SQLite" * 20)
    assert (
        "SQLite: file is not a database" in failure(executor(kind="table", path=str(path))).reason
    )


# -- command, function --

SCRIPT = "import sys; open(sys.argv[1], 'w').write(repr(sys.argv[2:]) + sys.stdin.read())"


def test_a_command_gets_values_as_arguments_and_the_row_on_standard_input(tmp_path: Path) -> None:
    out = tmp_path / "out"
    line = [sys.executable, "-c", SCRIPT, str(out), "{p1}", "-{p2}-{cause.flightNo}"]
    made = executor(kind="command", command=line)
    made.deliver(Action("post", 0, "k", CAUSE, {"p1": "$(rm -r /); `x` \"'", "p2": 2}), NOW)
    arguments, _, row = out.read_text().partition("]")
    assert eval(arguments + "]") == ["$(rm -r /); `x` \"'", "-2-LH 1"]
    assert json.loads(row)["@key"] == "k"
    assert "'-2-LH 1'" in made.describe(ACTION)


def test_a_command_that_ends_badly_failed() -> None:
    made = executor(
        kind="command", command=[sys.executable, "-c", "import sys; sys.exit('no {p1}')"]
    )
    failed = failure(made)
    assert not failed.permanent
    assert failed.reason == f"'{sys.executable}' ended with 1: no late"


def test_a_command_that_takes_too_long_failed() -> None:
    line = [
        sys.executable,
        "-c",
        "import threading; threading.Event().wait()",
    ]
    made = executor(kind="command", command=line, timeout="10 ms")
    assert "took longer than 0.01 s" in failure(made).reason


def test_a_null_character_is_no_argument() -> None:
    made = executor(kind="command", command=[sys.executable, "{p1}"])
    assert failure(made, Action("post", 0, "k", {}, {"p1": "\0"})).permanent


def test_a_command_that_is_gone_is_an_error_of_the_system(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    made = executor(kind="command", command=str(program))
    program.unlink()
    with pytest.raises(FileNotFoundError):
        made.deliver(ACTION, NOW)


def record(action: Action) -> None:
    """Found by its name."""
    if action.key == "never":
        raise DeliveryFailed("not this one", permanent=True)
    raise LookupError(action.key)


def test_a_function_gets_the_action_and_what_it_raises_is_a_failure() -> None:
    made = executor(kind="function", function=f"{__name__}:record")
    failed = failure(made)
    assert (failed.reason, failed.permanent) == (f"LookupError: {ACTION.key}", False)
    assert failure(made, Action("post", 0, "never")).permanent
    leaves = executor(kind="function", function="sys:exit")
    assert failure(leaves).reason.startswith("SystemExit: ")
    assert "record" in made.describe(ACTION)
    taken: list[Action] = []
    actions.deliveries({"post": taken.append})["post"].executor.deliver(ACTION, NOW)
    assert taken == [ACTION]


# -- web hook --


def test_a_web_hook_gets_the_row_and_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with web() as receiver:
        made = executor(
            {"TOKEN": "s3cret", "API": "k3y"},
            kind="webhook",
            url=receiver.url + "/a b/c?d=e".replace(" ", "%20"),
            token_env="TOKEN",
            headers={"X-From": "here"},
            headers_env={"X-Key": "API"},
        )
        made.deliver(ACTION, NOW)
    (request,) = receiver.requests
    assert json.loads(request.body) == ACTION.row()
    assert request.path == "/a%20b/c?d=e"
    assert request.key == ACTION.key
    expected = {
        "content-type": "application/json",
        "authorization": "Bearer s3cret",
        "x-from": "here",
        "x-key": "k3y",
    }
    assert expected.items() <= request.headers.items()
    assert "s3cret" not in repr(made) + made.describe(ACTION)


def test_who_calls_a_web_hook_is_told_in_a_header_and_nowhere_else() -> None:
    with web() as receiver:
        url = receiver.url.replace("://", "://us%40er:s3cret@") + "/hook"
        made = executor({"URL": url}, kind="webhook", url_env="URL")
        made.deliver(ACTION, NOW)
    (request,) = receiver.requests
    assert request.path == "/hook"
    assert request.headers["authorization"] == f"Basic {b64encode(b'us@er:s3cret').decode()}"
    assert "s3cret" not in repr(made) + made.describe(ACTION)


def test_the_body_of_a_web_hook_can_be_said_and_the_url_be_secret() -> None:
    with web() as receiver:
        body = {"status": "{cause.flightNo} is {p1}", "gate": "{p2}"}
        made = executor({"URL": receiver.url}, kind="webhook", url_env="URL", body=body)
        made.deliver(Action("post", 0, "ключ/1", CAUSE, ACTION.arguments), NOW)
    (request,) = receiver.requests
    assert json.loads(request.body) == {"status": "LH 1 is late", "gate": 2}
    assert request.key == "%D0%BA%D0%BB%D1%8E%D1%87/1"
    assert request.path == "/"
    assert receiver.url not in repr(made) + made.describe(ACTION)


@pytest.mark.parametrize(
    ("status", "is_permanent"),
    [
        *((status, False) for status in (408, 409, 425, 429, 500, 502, 503, 599)),
        *((status, True) for status in (301, 307, 400, 401, 403, 404, 410, 422)),
    ],
)
def test_an_answer_says_whether_another_try_makes_sense(status: int, is_permanent: bool) -> None:
    with web(lambda _: Answer(status, body=b"because\nof that")) as receiver:
        failed = failure(executor(kind="webhook", url=receiver.url))
    assert failed.permanent == is_permanent
    assert failed.reason.startswith(f"HTTP {status}")
    assert failed.reason.endswith(": because\nof that")
    assert failed.after is None


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_answers_that_are_good(status: int) -> None:
    with web(lambda _: Answer(status)) as receiver:
        executor(kind="webhook", url=receiver.url).deliver(ACTION, NOW)
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("120", 120.0),
        ("-5", 0.0),
        ("Mon, 12 Jan 1970 13:48:00 GMT", 80.0),
        ("Mon, 12 Jan 1970 13:00:00 GMT", 0.0),
        ("soon", None),
        ("9" * 400, None),
    ],
)
def test_a_server_says_when_to_return(said: str, seconds: float | None) -> None:
    with web(lambda _: Answer(503, (("Retry-After", said),))) as receiver:
        assert failure(executor(kind="webhook", url=receiver.url)).after == seconds


def test_no_answer_is_tried_again() -> None:
    with web(lambda _: None) as receiver:
        made = executor(kind="webhook", url=receiver.url)
        failed = failure(made)
    assert not failed.permanent
    assert failed.reason.startswith("no answer: ")
    assert failure(made).reason == "no answer: connection refused"


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert (
            failure(executor(kind="webhook", url=url, timeout="20 ms")).reason
            == "no answer: timed out"
        )


def test_a_place_without_a_value_is_found_when_it_is_needed(tmp_path: Path) -> None:
    hooks = {"post": {"kind": "webhook", "url": "http://127.0.0.1:1", "body": {"x": "{p9}"}}}
    given = actions.deliveries(hooks)
    actions.enqueue([ACTION], tmp_path / "box")
    planned, _ = actions.rehearse(tmp_path / "box", given)
    assert planned[0][1].startswith("cannot be done: nothing for {p9}; there are: action,")
    assert actions.drain(tmp_path / "box", given).tallies["post"].dead == 1
    (letter,) = actions.dead_letters(tmp_path / "box", "post")
    assert str(letter["reason"]).startswith("nothing for {p9}")


# -- mail --


def mail(port: int, environment: dict[str, str] | None = None, **more: object) -> actions.Executor:
    usual = {"kind": "mail", "host": "127.0.0.1", "port": port, "from": "Cep <cep@example.org>"}
    return executor(environment, **{**usual, "to": ["a@example.org", "b@example.org"], **more})


def test_a_mail_is_sent_with_an_id_that_is_made_of_the_key() -> None:
    with mails() as received:
        made = mail(received.port, subject="{cause.flightNo} is {p1}", text="Grüße von {p2}\n")
        made.deliver(ACTION, NOW)
        made.deliver(ACTION, NOW + 1)
        made.deliver(Action("post", 0, "other", CAUSE, ACTION.arguments), NOW)
    first, again, other = received.messages
    assert received.recipients[0] == ["a@example.org", "b@example.org"]
    assert (first["From"], first["To"]) == ("Cep <cep@example.org>", "a@example.org, b@example.org")
    assert first["Subject"] == "LH 1 is late"
    assert first.get_content().replace("\r\n", "\n") == "Grüße von 2\n"
    assert first["Date"] == "Mon, 12 Jan 1970 13:46:40 -0000"
    assert first["Message-ID"] == again["Message-ID"] != other["Message-ID"]
    assert first["Message-ID"].endswith("@example.org>")
    assert first.get_content() == again.get_content()
    assert made.describe(ACTION) == "mail to a@example.org, b@example.org: LH 1 is late"


def test_the_arguments_of_an_action_go_before_the_settings() -> None:
    own = {"to": ["c@example.org"], "subject": "Fire", "text": "Run!"}
    with mails() as received:
        made = mail(received.port, subject="usual", text="usual")
        made.deliver(Action("post", 0, "k", {}, own), NOW)
        made.deliver(Action("post", 0, "k", {}, {**own, "to": "d@example.org"}), NOW)
        mail(received.port).deliver(ACTION, NOW)
    assert received.recipients == [
        ["c@example.org"],
        ["d@example.org"],
        ["a@example.org", "b@example.org"],
    ]
    assert received.messages[0]["Subject"] == "Fire"
    assert received.messages[0].get_content().strip() == "Run!"
    assert received.messages[2]["Subject"] == "post"
    assert json.loads(received.messages[2].get_content()) == ACTION.row()


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
def test_a_server_may_want_a_password() -> None:
    with mails(password="s3cret") as received:
        made = mail(received.port, {"PASSWORD": "s3cret"}, user="me", password_env="PASSWORD")
        made.deliver(ACTION, NOW)
        assert "s3cret" not in repr(made)
        wrong = mail(received.port, {"PASSWORD": "wrong"}, user="me", password_env="PASSWORD")
        failed = failure(wrong)
        assert failed.reason.startswith("the server refuses the login: SMTP 535")
        assert not failed.permanent  # a password may be set right
        assert failure(mail(received.port)).reason.startswith("SMTP 530")
    assert len(received.messages) == 1


def test_recipients_that_are_refused() -> None:
    with mails() as received:
        one = failure(mail(received.port, to="refuse@example.org"))
        assert (one.permanent, one.reason) == (
            True,
            "refused for refuse@example.org (550 nobody of that name)",
        )
        some = failure(mail(received.port, to=["a@example.org", "refuse@example.org"]))
        assert some.permanent
        assert some.reason.startswith("sent to the others, refused for refuse@example.org")
        received.refusal = "450 later"
        assert not failure(mail(received.port, to="refuse@example.org")).permanent
    assert received.recipients == [["a@example.org"]]


@pytest.mark.parametrize(
    ("answer", "is_permanent"), [("554 this is spam", True), ("451 later", False)]
)
def test_a_mail_that_is_refused(answer: str, is_permanent: bool) -> None:
    with mails() as received:
        received.answer = answer
        failed = failure(mail(received.port))
    assert (failed.reason, failed.permanent) == (f"SMTP {answer}", is_permanent)


def test_a_mail_that_was_taken_is_sent_whatever_the_server_says_at_the_end() -> None:
    with mails() as received:
        received.farewell = "554 no good-bye"
        made = executor(kind="mail", host="127.0.0.1", port=received.port, to="d@e.f", **SENDER)
        made.deliver(ACTION, NOW)
    assert len(received.messages) == 1


def test_a_text_that_no_mail_can_hold_is_a_permanent_failure() -> None:
    made = executor(kind="mail", host="127.0.0.1", to="d@e.f", **SENDER)
    odd = Action("post", 0, "k", {}, {"text": "\ud800"})
    assert failure(made, odd).permanent


def test_a_server_without_what_is_asked_for_is_a_permanent_failure() -> None:
    with mails() as received:
        failed = failure(mail(received.port, security="starttls"))
    assert failed.permanent
    assert "STARTTLS" in failed.reason


@pytest.mark.parametrize(
    "own",
    [
        {"subject": "a\r\nBcc: x@example.org"},
        {"to": "a@example.org\nBcc: x@example.org"},
        {"to": []},
    ],
)
def test_a_value_cannot_add_a_header(own: dict[str, object]) -> None:
    with mails() as received:
        assert failure(mail(received.port), Action("post", 0, "k", {}, own)).permanent
    assert not received.messages


def test_a_mail_server_that_is_down_is_tried_again_and_the_rest_goes_on(tmp_path: Path) -> None:
    from tests.actions.clocks import Hand

    with mails() as gone:
        port = gone.port
    posted: list[Action] = []
    given = actions.deliveries(
        {
            "mail": {
                "kind": "mail",
                "host": "127.0.0.1",
                "port": port,
                "from": "a@b.c",
                "tries": 3,
            },
            "post": posted.append,
        }
    )
    letters = [Action("mail", n, f"m{n}", {}, {"to": "x@y.z"}) for n in range(2)]
    actions.enqueue([*letters, ACTION], tmp_path)
    clock = Hand()
    done = actions.drain(tmp_path, given, clock=clock)
    assert done.tallies["mail"] == actions.Tally(retried=4, dead=2)
    assert posted == [ACTION]
    assert clock.slept == [1.0, 2.0, 1.0, 2.0]
    reasons = [letter["reason"] for letter in actions.dead_letters(tmp_path, "mail")]
    assert reasons == ["connection refused"] * 2
