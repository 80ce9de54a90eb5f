"""Sinks against the real thing on this machine: a folder, Kafka, MQTT, a web server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import cepheid as cep
from cepheid.core.event import Event
from cepheid.engines.spark.codec.rows import decode_rows
from cepheid.engines.spark.endpoints.sinks import open_sink, webhook
from cepheid.engines.spark.endpoints.sinks.delivery import Line, lines_in
from cepheid.engines.spark.endpoints.sinks.files import FileWriter, Part
from cepheid.engines.spark.endpoints.uri import (
    Broker,
    ConsoleSink,
    FileSink,
    KafkaSink,
    MqttSink,
    RowFormat,
    Sink,
    WebHook,
)
from cepheid.engines.spark.session.tasks import StreamTaskId
from cepheid.errors import RunError
from tests.spark.brokers import Hook, Kafka, Mqtt, kafka_cluster, mqtt_broker, wait_for, web_hook

PROGRAM = cep.parse("""
    create schema A (id string, x int, y double);
    insert into Big select id, x, y from A;
""").resolve()
SCHEMA = "id string, x int, y double, `@time` timestamp, `@kind` string"


@dataclass(slots=True)
class Stream:
    """Rows as a program gives them: each call of `run` is a micro-batch of a query."""

    spark: SparkSession
    folder: Path

    def run(self, sink: Sink, *rows: dict[str, Any], show: Callable[[list[Event]], None]) -> None:
        inbox = self.folder / "in"
        inbox.mkdir(exist_ok=True)
        count = len(list(inbox.iterdir()))
        text = "".join(json.dumps({"@kind": "match", **row}) + "\n" for row in rows)
        (inbox / f"{count}.json").write_text(text)
        frame: DataFrame = self.spark.readStream.schema(SCHEMA).json(str(inbox))
        writer = open_sink(frame, PROGRAM, sink, "Big", show, {}).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(self.folder / "checkpoint")).start()
        query.awaitTermination()

    def forget_commit(self, batch: int) -> None:
        """As if the process had been killed after the sink was done and before Spark noted it."""
        for name in (f"{batch}", f".{batch}.crc"):
            (self.folder / "checkpoint" / "commits" / name).unlink()


def no_console(rows: list[Event]) -> None:
    raise AssertionError(rows)


ROWS: list[dict[str, Any]] = [
    {"@time": "2026-01-01T00:00:01.500Z", "id": "k", "x": 1},
    {"@time": "2026-01-01T00:00:02Z", "id": "l", "x": 2, "y": 0.5, "@kind": "old"},
    {"@time": "2026-01-01T00:00:03Z", "id": None, "x": 3, "@kind": "timeout"},
]
LINES = [
    {"@type": "Big", "@time": "2026-01-01T00:00:01.5Z", "id": "k", "x": 1, "y": None},
    {"@type": "Big", "@time": "2026-01-01T00:00:02Z", "@old": True, "id": "l", "x": 2, "y": 0.5},
    {
        "@type": "Big",
        "@time": "2026-01-01T00:00:03Z",
        "@timeout": True,
        "id": None,
        "x": 3,
        "y": None,
    },
]


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path)


# Rows -----------------------------------------------------------------------------------------


def test_rows_of_several_types_are_told_apart_and_nested_events_are_events() -> None:
    program = cep.parse("""
        create schema A (x int);
        insert into P select a from pattern [every a=A];
        insert into Q select irstream x + 0.5 as n from A#length(1);
    """).resolve()
    moment = pa.scalar(1_500_000, pa.timestamp("us", "UTC")).as_py()
    nested = {"@type": "A", "@time": moment, "x": 1}
    table = pa.Table.from_pylist(
        [
            {"@type": "P", "@time": moment, "@kind": "match", "P": {"a": nested}, "Q": None},
            {"@type": "Q", "@time": moment, "@kind": "old", "P": None, "Q": {"n": 1.5}},
        ]
    )
    assert list(decode_rows(table, program)) == [
        Event("P", 1_500_000, {"a": Event("A", 1_500_000, {"x": 1})}),
        Event("Q", 1_500_000, {"n": 1.5}, is_old=True),
    ]


def lines_of(*values: str, task: StreamTaskId) -> list[Line]:
    columns: dict[str, Any] = {"key": pa.nulls(len(values), pa.string()), "value": list(values)}
    return list(lines_in(iter([pa.RecordBatch.from_pydict(columns)]), task))


def test_the_names_of_rows_survive_another_order_and_tell_equal_rows_apart() -> None:
    task = StreamTaskId("q", 3, 0)
    first = {line.id for line in lines_of("a", "b", "a", task=task)}
    assert len(first) == 3
    assert {line.id for line in lines_of("b", "a", "a", task=task)} == first
    assert not first & {line.id for line in lines_of("a", "b", "a", task=StreamTaskId("q", 4, 0))}


# Console --------------------------------------------------------------------------------------


def test_the_console_shows_rows_as_events(stream: Stream) -> None:
    shown: list[Event] = []
    stream.run(ConsoleSink(), *ROWS, show=shown.extend)
    assert [(row.type, row["x"], row.is_old, row.is_timeout) for row in shown] == [
        ("Big", 1, False, False),
        ("Big", 2, True, False),
        ("Big", 3, False, True),
    ]


# Files ----------------------------------------------------------------------------------------


def rows_in(folder: Path, format: RowFormat) -> list[Any]:
    """All that any reader of the folder sees."""
    files = sorted(folder.glob(f"*.{format}"))
    if format == "jsonl":
        return [json.loads(text) for file in files for text in file.read_text().splitlines()]
    return [row for file in files for row in pq.read_table(file).to_pylist()]


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_a_micro_batch_that_is_run_again_replaces_its_file(
    stream: Stream, tmp_path: Path, format: RowFormat
) -> None:
    out = tmp_path / "out"
    sink = FileSink(str(out), format)
    stream.run(sink, *ROWS[:2], show=no_console)
    stream.run(sink, show=no_console)  # nothing found: no file
    stream.run(sink, ROWS[2], show=no_console)
    before = rows_in(out, format)
    assert [row["x"] for row in before] == [1, 2, 3]
    if format == "jsonl":
        assert before == LINES
    stream.forget_commit(2)
    stream.run(sink, {**ROWS[0], "x": 4}, show=no_console)
    assert [row["x"] for row in rows_in(out, format)] == [1, 2, 3, 4]
    files = sorted(out.glob(f"*.{format}"))
    assert [path.name[:10] for path in files] == [f"{n:010}" for n in (0, 2, 3)]
    assert not list((out / ".parts").iterdir())


def test_another_query_replaces_no_file_of_the_first(spark: SparkSession, tmp_path: Path) -> None:
    sink = FileSink(str(tmp_path / "out"))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        Stream(spark, tmp_path / name).run(sink, ROWS[0], show=no_console)
    assert rows_in(tmp_path / "out", "jsonl") == [LINES[0], LINES[0]]


def test_parts_of_a_failed_micro_batch_are_removed(tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.touch()
    FileWriter(tmp_path, "jsonl").abort([Part(str(part), "q"), None, Part("", "q")], 0)
    assert not part.exists()


def test_a_folder_that_cannot_be_written_is_told(stream: Stream, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(StreamingQueryException, match=r"bad-file.*cannot write into .*/out'"):
        stream.run(FileSink(str(tmp_path / "out")), ROWS[0], show=no_console)


# Kafka ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with kafka_cluster() as cluster:
        yield cluster


def test_messages_have_keys_and_names_that_stay(stream: Stream, kafka: Kafka) -> None:
    sink = KafkaSink(kafka.servers, "rows", "id")
    stream.run(sink, *ROWS, show=no_console)
    stream.forget_commit(0)
    stream.run(sink, {**ROWS[0], "x": 9}, show=no_console)
    found = kafka.messages("rows", 7)
    copies: dict[str, list[Any]] = {}
    for message in found:
        copies.setdefault(dict(message.headers())["cepheid-id"], []).append(message)
    assert sorted(map(len, copies.values())) == [1, 2, 2, 2]  # at least once, by the same name
    rows = [json.loads(same[0].value()) for same in copies.values()]
    assert sorted(rows, key=lambda row: row["x"]) == [*LINES, {**LINES[0], "x": 9}]
    assert {(m.key(), json.loads(m.value())["id"]) for m in found} == {
        (b"k", "k"),
        (b"l", "l"),
        (None, None),
    }


def test_a_cluster_that_is_away_is_told(stream: Stream) -> None:
    settings = (("message.timeout.ms", "500"), ("log_level", "0"))
    sink = KafkaSink("127.0.0.1:1", "rows", settings=settings)
    with pytest.raises(StreamingQueryException, match=r"topic 'rows' does not take rows"):
        stream.run(sink, ROWS[0], show=no_console)


# MQTT -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mqtt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mqtt]:
    with mqtt_broker(tmp_path_factory.mktemp("mosquitto")) as broker:
        yield broker


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_reach_those_who_listen(stream: Stream, mqtt: Mqtt, qos: int) -> None:
    topic = f"rows/{qos}"
    found = mqtt.listen(topic)
    sink = MqttSink(Broker("127.0.0.1", mqtt.port), topic, qos)  # type: ignore[arg-type]
    stream.run(sink, *ROWS, show=no_console)
    wait_for(lambda: len(found) >= 3, "three rows")
    assert [json.loads(text) for _, text in found] == LINES


# Web hooks ------------------------------------------------------------------------------------


@pytest.fixture
def hook() -> Iterator[Hook]:
    with web_hook() as server:
        yield server


def test_each_row_is_posted_and_a_busy_server_is_asked_again(stream: Stream, hook: Hook) -> None:
    hook.answers = [503]
    stream.run(WebHook(hook.url), *ROWS, show=no_console)
    assert [json.loads(body) for _, body in hook.posts] == [LINES[0], *LINES]
    assert hook.posts[0][0] == hook.posts[1][0]
    assert len({key for key, _ in hook.posts}) == 3


def test_rows_that_are_posted_again_keep_their_key(stream: Stream, hook: Hook) -> None:
    stream.run(WebHook(hook.url), ROWS[0], show=no_console)
    stream.forget_commit(0)
    stream.run(WebHook(hook.url), {**ROWS[0], "x": 2}, show=no_console)
    assert [json.loads(body)["x"] for _, body in hook.posts] == [1, 1, 2]
    assert hook.posts[0][0] == hook.posts[1][0] != hook.posts[2][0]


@pytest.mark.parametrize(("answers", "tries"), [([404], 1), ([500] * 4, 4), ([429, 408], 3)])
def test_tries_are_bounded(
    hook: Hook, monkeypatch: pytest.MonkeyPatch, answers: list[int], tries: int
) -> None:
    monkeypatch.setattr(webhook, "PAUSES", (0, 0, 0))
    hook.answers = [*answers]
    is_taken = tries > len(answers)
    if is_taken:
        webhook.post(hook.url, Line("id", None, "{}"))
    else:
        with pytest.raises(RunError, match=f"does not take a row: status {answers[-1]}"):
            webhook.post(hook.url, Line("id", None, "{}"))
    assert len(hook.posts) == tries


def test_a_server_that_is_away_is_told_without_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "PAUSES", ())
    with pytest.raises(RunError, match=r"the web hook at 127.0.0.1 does not take a row") as refused:
        webhook.post("http://127.0.0.1:1/secret", Line("id", None, "{}"))
    assert "secret" not in str(refused.value)
