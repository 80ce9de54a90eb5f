"""Sources and sinks as people write them."""

from __future__ import annotations

import pytest

from cepheid.engines.spark.endpoints.uri import (
    Broker,
    ConsoleSink,
    FileSink,
    FileSource,
    KafkaSink,
    KafkaSource,
    MqttSink,
    MqttSource,
    RateSource,
    Sink,
    SourceUri,
    WebHook,
    parse_sink,
    parse_source,
)
from cepheid.errors import UsageError

LOCAL = Broker("localhost", 1883)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("files:data", FileSource("data")),
        ("files:/var/my data?format=csv", FileSource("/var/my data", "csv")),
        ("files:///var/in", FileSource("/var/in")),
        ("files:data?maxFilesPerTrigger=7", FileSource("data", "jsonl", 7)),
        ("kafka://a/t", KafkaSource("a:9092", ("t",))),
        ("kafka://a:1,b/t,u", KafkaSource("a:1,b:9092", ("t", "u"))),
        ("kafka://[::1]:1/t", KafkaSource("[::1]:1", ("t",))),
        (
            "kafka://a/t?startingOffsets=earliest&maxOffsetsPerTrigger=9",
            KafkaSource("a:9092", ("t",), "earliest", 9),
        ),
        (
            "kafka://a/t?kafka.security.protocol=SSL",
            KafkaSource("a:9092", ("t",), settings=(("security.protocol", "SSL"),)),
        ),
        ("mqtt://localhost/plant/+/speed", MqttSource(LOCAL, "plant/+/speed")),
        ("mqtt://localhost/plant/#?qos=0", MqttSource(LOCAL, "plant/#", 0)),
        ("mqtt://localhost/#", MqttSource(LOCAL, "#")),
        (
            "mqtts://me:p%40ss@host/t?clientId=c&maxMessagesPerTrigger=5",
            MqttSource(Broker("host", 8883, "me", "p@ss", True), "t", 1, "c", 5),
        ),
        ("rate:100", RateSource(100)),
    ],
)
def test_a_source_is_what_its_text_says(text: str, source: SourceUri) -> None:
    assert parse_source(text) == source


@pytest.mark.parametrize(
    ("text", "sink"),
    [
        ("console", ConsoleSink()),
        ("files:out", FileSink("out")),
        ("files:out?format=parquet", FileSink("out", "parquet")),
        ("kafka://a/t?key=id", KafkaSink("a:9092", "t", "id")),
        ("mqtt://localhost:1884/alarms?qos=2", MqttSink(Broker("localhost", 1884), "alarms", 2)),
        ("https://host/hook?token=a#b", WebHook("https://host/hook?token=a#b")),
        ("http://host:8080", WebHook("http://host:8080")),
        ("http://me:p%40ss@host:1/x", WebHook("http://host:1/x", "Basic bWU6cEBzcw==")),
    ],
)
def test_a_sink_is_what_its_text_says(text: str, sink: Sink) -> None:
    assert parse_sink(text) == sink


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("data", "no source 'data'", "sources: files, kafka, mqtt, mqtts, rate"),
        ("kafk://a/t", "no source 'kafk://a/t'", "did you mean 'kafka'?"),
        ("console", "no source 'console'", "sources: files, kafka, mqtt, mqtts, rate"),
        ("files:", "'files:': no folder", "write files:DIR"),
        ("files:d?format=cvs", "'files:d?format=cvs': no format 'cvs'", "did you mean 'csv'?"),
        (
            "files:d?fromat=csv",
            "'files:d?fromat=csv': no option 'fromat'",
            "did you mean 'format'?",
        ),
        ("files:d?format=", "'files:d?format=': option 'format' has no value", None),
        (
            "files:d?maxFilesPerTrigger=0",
            "'files:d?maxFilesPerTrigger=0': maxFilesPerTrigger is a whole number of at least 1,"
            " not '0'",
            None,
        ),
        ("kafka:topic", "'kafka:topic': no host", "write kafka://host:port/topic"),
        ("kafka://host", "'kafka://host': no topic", "write kafka://host:port/topic"),
        ("kafka://h:x/t", "'kafka://h:x/t': 'h:x' is no host and port", None),
        ("mqtt://h/t?qos=3", "'mqtt://h/t?qos=3': qos is 0, 1 or 2, not '3'", None),
        ("mqtt://h/#/a", "'mqtt://h/#/a': '#' stands alone at the end of a topic", None),
        ("mqtt://h/a+", "'mqtt://h/a+': '+' stands alone between two '/' of a topic", None),
        (
            "rate:many",
            "'rate:many': a rate is a whole number of events per second",
            "write rate:100",
        ),
    ],
)
def test_a_wrong_source_is_told_what_is_wrong(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as refused:
        parse_source(text)
    (problem,) = refused.value.diagnostics
    assert (problem.code, problem.message, problem.hint) == ("usage", message, hint)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("consol", "no sink 'consol'"),
        ("console:x", "'console:x': the console takes nothing behind its name"),
        ("rate:5", "no sink 'rate:5'"),
        ("files:out?format=csv", "'files:out?format=csv': no format 'csv'"),
        ("mqtt://h/a/+", "'mqtt://h/a/+': rows go to one topic, without '+' and '#'"),
        ("https:///hook", "'https:///hook': no host"),
        ("https://me:secret@/hook", "'https:///hook': no host"),
        ("htps://me:secret@host/hook", "no sink 'htps://host/hook'"),
        ("http://h:99999/", "'http://h:99999/': no host"),
    ],
)
def test_a_wrong_sink_is_told_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_sink(text)
    assert refused.value.diagnostics[0].message == message
