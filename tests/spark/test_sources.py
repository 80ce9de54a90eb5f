"""Sources against the real thing on this machine: files, a Kafka cluster, an MQTT broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import cepheid as cep
from cepheid.engines.spark.codec.text import EventColumns, TextBatch, read_lines
from cepheid.engines.spark.endpoints.checks import check_schemas
from cepheid.engines.spark.endpoints.sources import open_source
from cepheid.engines.spark.endpoints.sources.files import take_cells, take_csv
from cepheid.engines.spark.endpoints.sources.kafka import KafkaReader, limited, read_kafka
from cepheid.engines.spark.endpoints.sources.mqtt import (
    Journal,
    MqttReader,
    broker_options,
    read_mqtt,
)
from cepheid.engines.spark.endpoints.sources.rate import made_up
from cepheid.engines.spark.endpoints.uri import (
    Broker,
    FileFormat,
    FileSource,
    KafkaSource,
    MqttSource,
    RateSource,
)
from cepheid.errors import InputError, UsageError
from cepheid.io import Decoder
from tests.spark.brokers import Kafka, Mqtt, kafka_cluster, mqtt_broker, wait_for

PROGRAM = cep.parse("""
    create schema Place (city string);
    create schema A (id string, x int);
    create schema B (id string, y double, place Place, tags string[]);
    select a.x as x from pattern [every a=A -> B(id = a.id)];
""").resolve()


def line(type: str, time: float, **values: object) -> str:
    return json.dumps({"@type": type, "@time": time, **values})


def drained(frame: DataFrame, folder: Path) -> list[dict[str, Any]]:
    """What is there now and was not read before under this folder, as rows."""
    rows: list[dict[str, Any]] = []

    def take(batch: DataFrame, _id: int) -> None:
        rows.extend(row.asDict(recursive=True) for row in batch.collect())

    writer = frame.writeStream.foreachBatch(take).trigger(availableNow=True)
    writer.option("checkpointLocation", str(folder)).start().awaitTermination()
    return rows


def texts(frame: DataFrame, folder: Path) -> list[str]:
    return [row["value"] for row in drained(frame, folder)]


# Texts into events ----------------------------------------------------------------------------


def test_lines_become_events_and_what_is_none_is_kept(spark: SparkSession) -> None:
    good = [
        line("A", 1.5, id="k", x=1, z=1),  # which no schema has, and is ignored
        line("B", 2, y="NaN", place={"city": "Cadiz"}, tags=["a", None]),
        '{"@time": "1970-01-01T00:00:03Z"}',
        '{"@type": "A", "@time": 4, "@old": true, "x": 1}',
    ]
    bad = [
        "{",
        "[1]",
        line("A", 1, x="one"),
        line("C", 1),
        '{"@type": "A"}',
        line("A", 1, x=2**40),
        "\\xff",
    ]
    ignored = ["", None]
    lines = spark.createDataFrame([(text,) for text in good + bad + ignored], "value string")
    rows = [row.asDict(recursive=True) for row in read_lines(lines, PROGRAM).collect()]
    taken = sorted((r for r in rows if r["@reject"] is None), key=lambda r: r["@time"])
    assert [(r["@type"], r["id"], r["x"], str(r["y"]), r["place"], r["tags"]) for r in taken] == [
        ("A", "k", 1, "None", None, None),
        ("B", None, None, "nan", {"@type": None, "@time": None, "city": "Cadiz"}, ["a", None]),
        (None, None, None, "None", None, None),
        (None, None, None, "None", None, None),
    ]
    assert [r["@time"].replace(tzinfo=UTC).timestamp() for r in taken] == [1.5, 2, 3, 4]
    refused = {r["@reject"]: r["@problem"] for r in rows if r["@reject"] is not None}
    assert set(refused) == set(bad)
    assert refused[line("A", 1, x="one")] == "attribute 'x' of A: 'one' is not an int"
    assert all(r["@time"] is None and r["@type"] is None for r in rows if r["@reject"])


def test_a_derived_type_is_not_read(spark: SparkSession) -> None:
    program = cep.parse("create schema A (x int); insert into Big select x from A;").resolve()
    text = line("Big", 1, x=1)
    (row,) = read_lines(spark.createDataFrame([(text,)], "value string"), program).collect()
    assert (row["@reject"], row["@problem"]) == (text, "events of type 'Big' are derived, not read")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("select * from A;", "no-schema"),
        ("create schema A (x int); create schema B (x string); select * from A;", "type-mismatch"),
    ],
)
def test_a_stream_needs_types_that_columns_can_hold(
    spark: SparkSession, text: str, code: str
) -> None:
    lines, program = spark.createDataFrame([("",)], "value string"), cep.parse(text).resolve()

    def opened() -> None:
        check_schemas(program)
        read_lines(lines, program)

    with pytest.raises(UsageError) as refused:
        opened()
    assert refused.value.diagnostics[0].code == code


# Files ----------------------------------------------------------------------------------------


def write_events(folder: Path, format: FileFormat, name: str, *numbers: int) -> None:
    path = folder / f"{name}.{format}"
    if format == "jsonl":
        path.write_text("".join(f"{line('A', n, id='k', x=n)}\n" for n in numbers))
    elif format == "csv":
        path.write_text("@type,@time,id,x\n" + "".join(f"A,{n},k,{n}\n" for n in numbers))
    else:
        times = pa.array([n * 1_000_000 for n in numbers], pa.timestamp("us", "UTC"))
        columns: dict[str, Any] = {
            "@type": ["A"] * len(numbers),
            "@time": times,
            "x": pa.array(numbers, pa.int32()),
        }
        pq.write_table(pa.table(columns), path)


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_files_are_read_once_each_also_after_a_restart(
    spark: SparkSession, tmp_path: Path, format: FileFormat
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_events(folder, format, "first", 1, 2)
    (folder / "other.txt").write_text("no events")
    source = FileSource(str(folder), format, max_files=1)

    def rows() -> list[tuple[str, int]]:
        frame = open_source(spark, source, PROGRAM, tmp_path)
        return sorted((row["@type"], row["x"]) for row in drained(frame, tmp_path / "checkpoint"))

    assert rows() == [("A", 1), ("A", 2)]
    write_events(folder, format, "second", 3)
    write_events(folder, format, "third", 4)
    assert rows() == [("A", 3), ("A", 4)]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_the_name_of_a_file_is_the_type_where_it_has_no_other(
    spark: SparkSession, tmp_path: Path, format: FileFormat
) -> None:
    folder = tmp_path / "my files"
    folder.mkdir()
    if format == "csv":
        (folder / "A.csv").write_text("@time,id,x\n1,k,7\n")
    else:
        times = pa.array([1_000_000], pa.timestamp("us", "UTC"))
        pq.write_table(pa.table({"@time": times, "x": [7]}), folder / "A.parquet")
    frame = open_source(spark, FileSource(str(folder), format), PROGRAM, tmp_path)
    (row,) = drained(frame, tmp_path / "checkpoint")
    assert (row["@type"], row["x"]) == ("A", 7)


def test_rows_of_csv_that_are_no_events_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "A.csv").write_bytes(b"@time,id,x\n1,k,7\n2,k\n3,\xff,1\n4,k,many\n")
    (folder / "B.csv").write_bytes(b"@time,@time\n1,1\n")
    frame = open_source(spark, FileSource(str(folder), "csv"), PROGRAM, tmp_path)
    rows = drained(frame, tmp_path / "checkpoint")
    assert sorted(row["@reject"] for row in rows if row["@reject"] is not None) == [
        "2,k",
        "3,\\xff,1",
        "4,k,many",
        "@time,@time\n1,1\n",
    ]


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        ("@time,id,x\n1,k,7\n2,,\n", True),
        ("@type,@time,id,x\nA,1,k,7\n,2,,\nA,3,k,8\n", True),
        ("@old,@time,id,x\ntrue,1,k,7\n,2,k,8\n", True),
        ("@time,id,x\n0,k,7\n1,k,8\n", True),
        ("@type,@time,id,x\nP,1,k,7\nA,2,k,8\n", False),
        ('@time,id,x\n1,"k\nl",7\n', False),
    ],
)
def test_a_file_of_csv_gives_the_same_events_in_columns_and_row_by_row(
    text: str, is_plain: bool
) -> None:
    columns = EventColumns.of(PROGRAM)
    quick, slow = (TextBatch(columns, Decoder(columns.types)) for _ in range(2))
    take_csv(quick, pa.RecordBatch.from_pylist([{"path": "in/A.csv", "content": text.encode()}]))
    take_cells(slow, "in/A.csv", "A", text.encode())
    assert (not quick.events) is is_plain
    found, expected = (
        sorted(str(row) for batch in intake.batches() for row in batch.to_pylist())
        for intake in (quick, slow)
    )
    assert found == expected


def test_a_folder_that_is_not_there_is_told(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        open_source(spark, FileSource(str(tmp_path / "no")), PROGRAM, tmp_path)
    with pytest.raises(UsageError, match="no Parquet file in"):
        open_source(spark, FileSource(str(tmp_path), "parquet"), PROGRAM, tmp_path)


# Rate -----------------------------------------------------------------------------------------


def test_made_up_events_take_turns_and_fit_their_types(spark: SparkSession, tmp_path: Path) -> None:
    frame = open_source(spark, RateSource(50), PROGRAM, tmp_path)
    seen: list[Any] = []

    def take(batch: DataFrame, _id: int) -> None:
        seen.extend(batch.collect())

    query = frame.writeStream.foreachBatch(take).start()
    try:
        wait_for(lambda: len(seen) >= 20, "twenty events")
    finally:
        query.stop()
    assert {row["@type"] for row in seen} == {"A", "B", "Place"}
    assert not [row for row in seen if row["@reject"] is not None]


def test_a_made_up_event_is_always_the_same() -> None:
    types = [PROGRAM.types["A"], PROGRAM.types["B"]]
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert [made_up(types, n, moment) for n in range(9)] == [
        made_up(types, n, moment) for n in range(9)
    ]
    assert len({made_up(types, n, moment).values["id"] for n in range(99)}) == 10


# Kafka ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with kafka_cluster() as cluster:
        yield cluster


def source_of(kafka: Kafka, *topics: str, max_offsets: int | None = None) -> KafkaSource:
    return KafkaSource(kafka.servers, topics, "earliest", max_offsets)


def test_messages_come_with_their_place(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    kafka.send("places", "a", "b", partition=0)
    kafka.send("places", b"\xff", None, partition=1)
    rows = drained(read_kafka(spark, source_of(kafka, "places")), tmp_path)
    assert sorted((r["partition"], r["offset"], r["value"], r["topic"]) for r in rows) == [
        (0, 0, "a", "places"),
        (0, 1, "b", "places"),
        (1, 0, "\\xff", "places"),
        (1, 1, None, "places"),
    ]
    assert all(r["timestamp"].year >= 2024 for r in rows)


def test_a_restart_goes_on_where_the_stream_was(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    kafka.send("restarts", "1", "2", "3", "4", "5")
    frame = read_kafka(spark, source_of(kafka, "restarts", max_offsets=2))
    assert texts(frame, tmp_path) == ["1", "2", "3", "4", "5"]
    assert texts(frame, tmp_path) == []
    kafka.send("restarts", "6")
    assert texts(frame, tmp_path) == ["6"]
    offsets = [
        json.loads(p.read_text().splitlines()[-1])
        for p in sorted((tmp_path / "offsets").glob("[0-9]*"), key=lambda p: int(p.name))
    ]
    assert [o["restarts"]["0"] for o in offsets] == [2, 4, 5, 6]


@pytest.mark.parametrize(
    ("starting", "found"),
    [("earliest", ["1", "2", "3"]), ("latest", []), ('{"starts-S": {"0": 2}}', ["3"])],
)
def test_a_stream_starts_where_it_is_told(
    spark: SparkSession, kafka: Kafka, tmp_path: Path, starting: str, found: list[str]
) -> None:
    topic = f"starts-{starting[0]}"
    kafka.send(topic, "1", "2", "3")
    stated = starting.replace("starts-S", topic)
    frame = read_kafka(spark, KafkaSource(kafka.servers, (topic,), stated))
    assert texts(frame, tmp_path) == found


def kafka_reader(kafka: Kafka, topic: str, **options: str) -> KafkaReader:
    return KafkaReader({"bootstrap.servers": kafka.servers, "topics": topic, **options})


def test_brokers_that_do_not_answer_are_told_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cepheid.engines.spark.endpoints.sources.kafka.PATIENCE", 0.5)
    reader = KafkaReader({"bootstrap.servers": "127.0.0.1:1", "topics": "t"})
    with pytest.raises(InputError, match="does not answer"):
        reader.initialOffset()
    reader.stop()
    assert capfd.readouterr().err == ""  # nothing of the library's own


def test_messages_that_are_gone_are_a_loss_that_is_told(kafka: Kafka) -> None:
    kafka.send("gone", "1")
    reader = kafka_reader(kafka, "gone")
    with pytest.raises(InputError, match="has the offsets 0 to 1, not 7"):
        reader.latestOffset({"gone": {"0": 7}}, reader.getDefaultReadLimit())
    reader.stop()


@pytest.mark.parametrize("starting", ["soon", "[]", '{"stated": {"0": "x"}}', '{"stated": 1}'])
def test_starting_offsets_that_make_no_sense_are_refused(kafka: Kafka, starting: str) -> None:
    kafka.send("stated", "1")
    reader = kafka_reader(kafka, "stated", startingOffsets=starting)
    with pytest.raises(UsageError, match="cannot be read"):
        reader.initialOffset()
    reader.stop()


@given(
    st.dictionaries(
        st.sampled_from("abc"), st.tuples(st.integers(0, 9), st.integers(0, 99)), min_size=1
    ),
    st.integers(1, 50),
)
def test_a_limit_takes_as_many_as_it_says(waiting: dict[str, tuple[int, int]], most: int) -> None:
    start = {"t": {p: begin for p, (begin, _) in waiting.items()}}
    latest = {"t": {p: begin + count for p, (begin, count) in waiting.items()}}
    end = limited(start, latest, most)
    taken = [end["t"][p] - start["t"][p] for p in waiting]
    assert sum(taken) == min(most, sum(count for _, count in waiting.values()))
    assert all(0 <= n <= count for n, (_, count) in zip(taken, waiting.values(), strict=True))


# MQTT -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mqtt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mqtt]:
    with mqtt_broker(tmp_path_factory.mktemp("mosquitto")) as broker:
        yield broker


def mqtt_reader(mqtt: Mqtt, topic: str, journal: Path, **options: str) -> MqttReader:
    broker = broker_options(Broker("127.0.0.1", mqtt.port))
    more = {"topic": topic, "qos": "1", "clientId": topic, "journal": str(journal)}
    return MqttReader({**broker, **more, **options})


def taken(
    reader: MqttReader, start: dict[str, int], count: int
) -> tuple[list[str], dict[str, int]]:
    """The messages of a micro-batch that has so many."""
    limit = reader.getDefaultReadLimit()
    goal = start["sequence"] + count
    wait_for(lambda: reader.latestOffset(start, limit)["sequence"] >= goal, f"{count} messages")
    end = reader.latestOffset(start, limit)
    return values_of(reader, start, end), end


def values_of(reader: MqttReader, start: dict[str, int], end: dict[str, int]) -> list[str]:
    return [
        str(value)
        for part in reader.partitions(start, end)
        for batch in reader.read(part)
        for value in batch.column("value").to_pylist()
    ]


def test_messages_sent_while_nobody_listens_are_not_lost(mqtt: Mqtt, tmp_path: Path) -> None:
    """Quality of service 1: the broker keeps the session, the journal what was received."""
    first = mqtt_reader(mqtt, "kept", tmp_path)
    start = first.initialOffset()
    mqtt.send("kept", "1", "2")
    values, end = taken(first, start, 2)
    assert values == ["1", "2"]
    first.stop()  # neither committed nor run
    mqtt.send("kept", "3")
    again = mqtt_reader(mqtt, "kept", tmp_path)
    assert values_of(again, start, end) == ["1", "2"]
    assert taken(again, end, 1) == (["3"], {"sequence": 3})
    again.stop()


def test_what_is_committed_leaves_the_journal(mqtt: Mqtt, tmp_path: Path) -> None:
    reader = mqtt_reader(mqtt, "committed", tmp_path)
    start = reader.initialOffset()
    mqtt.send("committed", "1", "2")
    _, end = taken(reader, start, 2)
    reader.commit(end)
    assert [path.name for path in tmp_path.iterdir()] == [f"{2:020}.jsonl"]
    reader.stop()
    again = mqtt_reader(mqtt, "committed", tmp_path)
    assert again.latestOffset(end, again.getDefaultReadLimit()) == end
    again.stop()


def test_a_limit_holds_messages_back(mqtt: Mqtt, tmp_path: Path) -> None:
    reader = mqtt_reader(mqtt, "limit", tmp_path, maxMessagesPerTrigger="2")
    start = reader.initialOffset()
    mqtt.send("limit", "1", "2", "3")
    assert taken(reader, start, 2) == (["1", "2"], {"sequence": 2})
    assert taken(reader, {"sequence": 2}, 1) == (["3"], {"sequence": 3})
    reader.stop()


def test_messages_reach_spark(spark: SparkSession, mqtt: Mqtt, tmp_path: Path) -> None:
    broker = Broker("127.0.0.1", mqtt.port)
    journal, checkpoint = tmp_path / "journal", tmp_path / "checkpoint"
    source = MqttSource(broker, "plant/+/speed")
    assert texts(read_mqtt(spark, source, journal), checkpoint) == []
    mqtt.send("plant/1/speed", "10", b"\xff")
    mqtt.send("plant/1/heat", "20")
    found: list[Any] = []

    def take(batch: DataFrame, _id: int) -> None:
        found.extend((row["topic"], row["value"]) for row in batch.collect())

    writer = read_mqtt(spark, source, journal).writeStream.foreachBatch(take)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    try:
        wait_for(lambda: len(found) >= 2 or not query.isActive, "two messages")
    finally:
        query.stop()
    assert found == [("plant/1/speed", "10"), ("plant/1/speed", "\\xff")]


def test_a_broker_that_is_away_is_told(spark: SparkSession, tmp_path: Path) -> None:
    source = MqttSource(Broker("127.0.0.1", 1), "t")
    query = read_mqtt(spark, source, tmp_path / "j").writeStream.format("noop").start()
    with pytest.raises(StreamingQueryException, match=r"MQTT broker 127.0.0.1:1 does not answer"):
        query.awaitTermination()


def test_half_a_line_of_a_killed_process_is_cut_off(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append("t", b"1")
    journal.close()
    (file,) = tmp_path.iterdir()
    with file.open("ab") as stream:
        stream.write(b'{"value": "2", "to')
    again = Journal(tmp_path)
    again.append("t", b"3")
    assert [json.loads(text)["value"] for text in again.lines(0, 9)] == ["1", "3"]
    again.close()


def test_a_checkpoint_without_its_journal_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(InputError, match="has messages 0 to 0, not 5"):
        journal.expect(5)
    journal.close()


@given(st.lists(st.sampled_from(["append", "forget", "reopen"]), max_size=40))
def test_a_journal_keeps_what_was_not_forgotten(steps: list[str]) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        journal = Journal(Path(folder))
        count = forgotten = 0
        for step in steps:
            if step == "append":
                journal.append("t", str(count).encode())
                count += 1
            elif step == "forget":
                forgotten = (forgotten + count + 1) // 2
                journal.forget(forgotten)
            else:
                journal.close()
                journal = Journal(Path(folder))
            kept = [json.loads(text)["value"] for text in journal.lines(forgotten, count)]
            assert kept == [str(n) for n in range(forgotten, count)]
            assert journal.sync() == count
        journal.close()
