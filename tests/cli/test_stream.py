"""`cepheid stream` without Spark: what its options mean and what it says of a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from cepheid.cli.spark_options import are_small, spark_session
from cepheid.cli.stream import period
from cepheid.cli.terminal.stream_monitor import Status
from cepheid.core.time import SECOND, Period, format_instant, parse_instant
from cepheid.engines.spark.session import spark_session as spark_sessions
from cepheid.engines.spark.session.failures import failure_of
from cepheid.engines.spark.stream.job import COUNTS, LATE, REJECTS, ROWS
from cepheid.engines.spark.stream.watermarks import Watermarks
from cepheid.errors import UsageError
from tests.cli.conftest import Run

PLAIN = ("stream", "p.epl", "--checkpoint", "state", "--source", "rate:1")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--source", "kafak://a/t"), "no source 'kafak://a/t'"),
        (("--sink", "consle"), "no sink 'consle'"),
        (("--watermark", "soon"), "--watermark: 'soon' is not a time period"),
        (("--trigger", "1 month"), "--trigger: '1 month': months are not all of one length"),
        (("--output", "@late"), "'@late' is no value of --output"),
        (("--outbox", "box"), "streams of statements have no --outbox"),
        (("--conf", "spark.x"), "--conf 'spark.x' is no NAME=VALUE"),
    ],
)
def test_options_that_make_no_sense_are_told_before_spark_starts(
    cepheid: Run, folder: Path, args: tuple[str, ...], message: str
) -> None:
    outcome = cepheid(*PLAIN, *args)
    assert outcome.code == 2
    assert message in outcome.err


def test_a_program_that_is_wrong_does_not_run(cepheid: Run, folder: Path) -> None:
    (folder / "p.epl").write_text("create schema A (x int); select y from A;")
    outcome = cepheid(*PLAIN)
    assert outcome.code == 1
    assert "error[unknown-attribute]" in outcome.err


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("10s", 10 * SECOND),
        ("500ms", SECOND // 2),
        ("1.5m", 90 * SECOND),
        ("2h", 7_200 * SECOND),
        ("1 min 30 sec", 90 * SECOND),
    ],
)
def test_periods_may_be_short(text: str, microseconds: int) -> None:
    assert period(text, "--watermark") == Period(microseconds)


def test_a_period_has_a_unit() -> None:
    with pytest.raises(UsageError, match="is not a time period"):
        period("10", "--watermark")


# What is said of a stream ---------------------------------------------------------------------


def report(second: int, **more: Any) -> dict[str, Any]:
    """A report that Spark makes at a second past noon."""
    return {"timestamp": f"2026-01-01T12:00:{second:02}.000Z", "numInputRows": 0, **more}


MARKS = Watermarks(10_000)


def moment(time: str) -> str:
    """What Spark says of a time of the day: it counts from long ago."""
    return format_instant(MARKS.moment(parse_instant(f"2026-01-01T{time}Z")))


def times(watermark: str | None, newest: str | None = None) -> dict[str, Any]:
    held = {} if newest is None else {"max": moment(newest)}
    mark = "1970-01-01T00:00:00.000Z" if watermark is None else moment(watermark)
    return {"eventTime": {"watermark": mark, **held}}


def test_nothing_is_known_before_the_first_report() -> None:
    status = Status(MARKS)
    assert not status.take([])
    assert status.facts() == {
        "events": "0",
        "events/s": "0",
        "rows found": "0",
        "watermark": "none yet",
        "held back": "nothing",
        "state": "0 rows, 0 B",
    }


def test_reports_are_added_up_once() -> None:
    status = Status(MARKS)
    metrics = {COUNTS: {ROWS: 2, LATE: 3, REJECTS: 1}}
    first = report(1, numInputRows=1_500, processedRowsPerSecond=99.6, observedMetrics=metrics)
    assert status.take([first])
    assert not status.take([first])
    assert status.take([first, report(2), report(3, observedMetrics=metrics)])
    facts = status.facts()
    assert (facts["events"], facts["rows found"], facts["rejected"]) == ("1,500", "4", "2")
    assert (facts["late"], facts["events/s"]) == ("6", "100")


def test_events_wait_for_the_first_watermark() -> None:
    status = Status(MARKS)
    status.take([report(1, **times(None, "10:00:00"))])
    assert status.facts()["watermark"] == "none yet"
    assert status.facts()["held back"] == (
        "all events, up to 2026-01-01T10:00:00Z; the watermark comes with the next micro-batch"
    )


def test_the_watermark_is_that_of_the_program_and_stands_for_a_reason() -> None:
    status = Status(MARKS)
    status.take([report(1, **times("09:59:40", "10:00:00"))])
    held = "events after the watermark, up to 2026-01-01T10:00:00Z; it "
    assert status.facts()["held back"] == f"{held}goes on with the next micro-batch"
    status.take([report(2, **times("09:59:50"))])
    status.take([report(3, **times("09:59:50"))])
    assert status.facts()["watermark"] == "2026-01-01T09:59:50Z"
    assert status.facts()["held back"] == (
        f"{held}stands since 2026-01-01T12:00:02Z, as no event after 2026-01-01T10:00:00Z has come"
    )
    status.take([report(4, **times("10:00:00"))])
    assert status.facts()["held back"] == "nothing"


def test_moments_beyond_the_calendar_are_read() -> None:
    status = Status(MARKS)
    status.take([report(1, eventTime={"watermark": "11968-12-30T23:59:50.000Z"})])
    assert status.facts()["watermark"].startswith("9999-")


@pytest.mark.parametrize(
    ("count", "text"), [(999, "999 B"), (57_400, "57 kB"), (4_200_000, "4.2 MB")]
)
def test_state_is_told_in_rows_and_bytes(count: int, text: str) -> None:
    status = Status(MARKS)
    operators = [
        {"numRowsTotal": 1, "memoryUsedBytes": count},
        {"numRowsTotal": 3, "memoryUsedBytes": 0},
    ]
    status.take([report(1, stateOperators=operators)])
    assert status.facts()["state"] == f"4 rows, {text}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[X] Job aborted\n  File x\ncepheid.errors.RunError: error[bad-file]: cannot write\nmore",
            "error[bad-file]: cannot write",
        ),
        ("\n[X] Job aborted.\n\tat java", "error[bad-stream]: Spark gave up: Job aborted"),
        ("", "error[bad-stream]: Spark gave up: Exception"),
    ],
)
def test_what_ended_a_stream_is_told_on_one_line(text: str, message: str) -> None:
    assert str(failure_of(Exception(text))) == message


JAVA_OPTIONS = "spark.driver.extraJavaOptions"
BRIEF = {JAVA_OPTIONS: "-XX:TieredStopAtLevel=1"}


@pytest.mark.parametrize(
    ("options", "conf"),
    [
        ({}, {}),
        ({"is_brief": True}, BRIEF),
        ({"is_brief": True, "conf": ["a=b"]}, {**BRIEF, "a": "b"}),
        ({"is_brief": True, "conf": [f"{JAVA_OPTIONS}=-Da=b"]}, {JAVA_OPTIONS: "-Da=b"}),
        ({"is_brief": True, "remote": "sc://server"}, {}),
    ],
)
def test_java_compiles_once_where_there_is_little_to_do(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], conf: dict[str, str]
) -> None:
    started = Mock()
    monkeypatch.setattr(spark_sessions, "session", started)
    monkeypatch.setattr(spark_sessions, "running_session", lambda: None)
    with spark_session(**options):
        assert started.call_args.kwargs["conf"] == conf


def test_small_are_files_that_are_there_and_not_large_together(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    for file in files:
        with file.open("wb") as stream:
            stream.truncate(6_000_000)
    assert are_small([])
    assert are_small(files[:1])
    assert not are_small(files)
    assert not are_small([tmp_path])
    assert not are_small(["-"])
