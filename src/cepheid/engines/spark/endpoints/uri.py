"""Where a stream comes from and where its rows go, as people write it.

    files:DIR?format=csv&maxFilesPerTrigger=10        rate:100
    kafka://host:9092/topic?startingOffsets=earliest  console
    mqtt://host:1883/plant/+/speed?qos=1              https://host/hook

Nothing here opens anything: texts become frozen data, or a UsageError that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar, get_args
from urllib.parse import parse_qsl, unquote, urlsplit

from cepheid.engines.spark.endpoints.credentials import taken_apart, without_credentials
from cepheid.errors import UsageError, error, suggest

FileFormat: TypeAlias = Literal["jsonl", "csv", "parquet"]
RowFormat: TypeAlias = Literal["jsonl", "parquet"]
Quality: TypeAlias = Literal[0, 1, 2]

KAFKA_PORT = 9092
MQTT_PORT = 1883
MQTT_TLS_PORT = 8883
MOST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Broker:
    """An MQTT broker and how to get in."""

    host: str
    port: int
    user: str | None = None
    password: str | None = None
    is_secure: bool = False


@dataclass(frozen=True, slots=True)
class FileSource:
    folder: str
    format: FileFormat = "jsonl"
    max_files: int | None = None  # in one micro-batch


@dataclass(frozen=True, slots=True)
class KafkaSource:
    servers: str
    topics: tuple[str, ...]
    starting_offsets: str = "latest"
    max_offsets: int | None = None  # in one micro-batch, over all partitions
    settings: tuple[tuple[str, str], ...] = ()  # for the client library, under its names


@dataclass(frozen=True, slots=True)
class MqttSource:
    broker: Broker
    topic: str
    qos: Quality = 1
    client_id: str | None = None
    max_messages: int | None = None  # in one micro-batch


@dataclass(frozen=True, slots=True)
class RateSource:
    rows_per_second: int


@dataclass(frozen=True, slots=True)
class FileSink:
    folder: str
    format: RowFormat = "jsonl"


@dataclass(frozen=True, slots=True)
class ConsoleSink:
    pass


@dataclass(frozen=True, slots=True)
class KafkaSink:
    servers: str
    topic: str
    key: str | None = None  # the attribute whose value is the key of a message
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class MqttSink:
    broker: Broker
    topic: str
    qos: Quality = 1


@dataclass(frozen=True, slots=True)
class WebHook:
    url: str  # without credentials
    authorization: str | None = field(default=None, repr=False)  # the header that they become


SourceUri: TypeAlias = FileSource | KafkaSource | MqttSource | RateSource
Sink: TypeAlias = FileSink | ConsoleSink | KafkaSink | MqttSink | WebHook
Endpoint = TypeVar("Endpoint")


def parse_source(text: str) -> SourceUri:
    return _parse(text, _SOURCES, "source")


def parse_sink(text: str) -> Sink:
    return _parse(text, _SINKS, "sink")


@dataclass(frozen=True, slots=True)
class _Parts:
    """A text taken apart: `scheme:rest?name=value`."""

    text: str
    scheme: str
    rest: str
    options: Mapping[str, str]

    def refuse(self, fact: str, hint: str | None = None) -> UsageError:
        return UsageError(error("usage", f"'{without_credentials(self.text)}': {fact}", hint=hint))

    def allow(self, *names: str, prefix: str | None = None) -> None:
        for name in self.options:
            if name not in names and not (prefix and name.startswith(prefix)):
                known = [*names, *([f"{prefix}..."] if prefix else [])]
                raise self.refuse(f"no option '{name}'", suggest(name, known, "options"))

    def count(self, name: str) -> int | None:
        """A whole number of at least one."""
        text = self.options.get(name)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit() and int(text)):
            raise self.refuse(f"{name} is a whole number of at least 1, not '{text}'")
        return int(text)

    def quality(self) -> Quality:
        text = self.options.get("qos", "1")
        for known in get_args(Quality):
            if text == str(known):
                quality: Quality = known
                return quality
        raise self.refuse(f"qos is 0, 1 or 2, not '{text}'")

    def settings(self, prefix: str) -> tuple[tuple[str, str], ...]:
        """The options under a prefix, without it."""
        return tuple(
            (name.removeprefix(prefix), value)
            for name, value in self.options.items()
            if name.startswith(prefix)
        )

    def place(self) -> tuple[str, str]:
        """The authority and the path of `//authority/path`."""
        authority, _, path = self.rest.removeprefix("//").partition("/")
        if not self.rest.startswith("//") or not authority:
            raise self.refuse("no host", f"write {self.scheme}://host:port/topic")
        if not path:
            raise self.refuse("no topic", f"write {self.scheme}://host:port/topic")
        return authority, unquote(path)


def _parse(text: str, parsers: Mapping[str, Callable[[_Parts], Endpoint]], what: str) -> Endpoint:
    scheme, _, rest = text.partition(":")
    if scheme not in parsers:
        hint = suggest(scheme, parsers, f"{what}s")
        fact = f"no {what} '{without_credentials(text)}'"
        raise UsageError(error("usage", fact, hint=hint))
    rest, mark, query = rest.partition("?")
    if parsers[scheme] is _hook:  # what stands behind its '?' belongs to the hook
        return parsers[scheme](_Parts(text, scheme, rest + mark + query, {}))
    pairs = parse_qsl(query, keep_blank_values=True)
    parts = _Parts(text, scheme, rest, dict(pairs))
    for name, value in pairs:
        if not value:
            raise parts.refuse(f"option '{name}' has no value")
    return parsers[scheme](parts)


def _chosen(parts: _Parts, known: Sequence[str]) -> str:
    name = parts.options.get("format", "jsonl")
    if name not in known:
        raise parts.refuse(f"no format '{name}'", suggest(name, known, "formats"))
    return name


def _folder(parts: _Parts) -> str:
    folder = parts.rest.removeprefix("//") if parts.rest.startswith("///") else parts.rest
    if not folder:
        raise parts.refuse("no folder", "write files:DIR")
    return folder


def _files_in(parts: _Parts) -> FileSource:
    parts.allow("format", "maxFilesPerTrigger")
    format = _chosen(parts, get_args(FileFormat))
    return FileSource(_folder(parts), format, parts.count("maxFilesPerTrigger"))  # type: ignore[arg-type]


def _files_out(parts: _Parts) -> FileSink:
    parts.allow("format")
    return FileSink(_folder(parts), _chosen(parts, get_args(RowFormat)))  # type: ignore[arg-type]


def _servers(parts: _Parts, authority: str) -> str:
    """`a:9092,b` with the usual port where there is none."""
    return ",".join(
        f"{host}:{port}"
        for host, port in (_host(parts, part, KAFKA_PORT) for part in authority.split(","))
    )


def _host(parts: _Parts, authority: str, default_port: int) -> tuple[str, int]:
    try:
        split = urlsplit(f"//{authority}")
        host, port = split.hostname, split.port
    except ValueError:
        raise parts.refuse(f"'{authority}' is no host and port") from None
    if not host or port == 0:
        raise parts.refuse(f"'{authority}' is no host and port")
    return f"[{host}]" if ":" in host else host, port or default_port


def _kafka_in(parts: _Parts) -> KafkaSource:
    parts.allow("startingOffsets", "maxOffsetsPerTrigger", prefix=_KAFKA)
    authority, path = parts.place()
    return KafkaSource(
        _servers(parts, authority),
        tuple(path.split(",")),
        parts.options.get("startingOffsets", "latest"),
        parts.count("maxOffsetsPerTrigger"),
        parts.settings(_KAFKA),
    )


def _kafka_out(parts: _Parts) -> KafkaSink:
    parts.allow("key", prefix=_KAFKA)
    authority, path = parts.place()
    servers = _servers(parts, authority)
    return KafkaSink(servers, path, parts.options.get("key"), parts.settings(_KAFKA))


_KAFKA = "kafka."


def _broker(parts: _Parts, authority: str) -> Broker:
    is_secure = parts.scheme == "mqtts"
    login, _, address = authority.rpartition("@")
    host, port = _host(parts, address, MQTT_TLS_PORT if is_secure else MQTT_PORT)
    user, _, password = login.partition(":")
    return Broker(
        host.strip("[]"),
        port,
        unquote(user) or None,
        unquote(password) or None,
        is_secure,
    )


def _mqtt_in(parts: _Parts) -> MqttSource:
    parts.allow("qos", "clientId", "maxMessagesPerTrigger")
    authority, topic = parts.place()
    levels = topic.split("/")
    if "#" in topic and (levels[-1] != "#" or "#" in "".join(levels[:-1])):
        raise parts.refuse("'#' stands alone at the end of a topic")
    if any("+" in level and level != "+" for level in levels):
        raise parts.refuse("'+' stands alone between two '/' of a topic")
    return MqttSource(
        _broker(parts, authority),
        topic,
        parts.quality(),
        parts.options.get("clientId"),
        parts.count("maxMessagesPerTrigger"),
    )


def _mqtt_out(parts: _Parts) -> MqttSink:
    parts.allow("qos")
    authority, topic = parts.place()
    if "+" in topic or "#" in topic:
        raise parts.refuse("rows go to one topic, without '+' and '#'")
    return MqttSink(_broker(parts, authority), topic, parts.quality())


def _rate(parts: _Parts) -> RateSource:
    parts.allow()
    if not (parts.rest.isascii() and parts.rest.isdigit() and int(parts.rest)):
        raise parts.refuse("a rate is a whole number of events per second", "write rate:100")
    return RateSource(int(parts.rest))


def _console(parts: _Parts) -> ConsoleSink:
    parts.allow()
    if parts.rest:
        raise parts.refuse("the console takes nothing behind its name", "write console")
    return ConsoleSink()


def _hook(parts: _Parts) -> WebHook:
    try:
        split = urlsplit(parts.text)
        is_good = bool(split.hostname) and split.port != 0
    except ValueError:
        is_good = False
    if not is_good:
        raise parts.refuse("no host", f"write {parts.scheme}://host/path")
    return WebHook(*taken_apart(parts.text))


_SOURCES: dict[str, Callable[[_Parts], SourceUri]] = {
    "files": _files_in,
    "kafka": _kafka_in,
    "mqtt": _mqtt_in,
    "mqtts": _mqtt_in,
    "rate": _rate,
}
_SINKS: dict[str, Callable[[_Parts], Sink]] = {
    "files": _files_out,
    "console": _console,
    "kafka": _kafka_out,
    "mqtt": _mqtt_out,
    "mqtts": _mqtt_out,
    "http": _hook,
    "https": _hook,
}
