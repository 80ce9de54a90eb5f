"""What can be said of sources and sinks before Spark starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from glob import escape, glob
from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.engines.spark.endpoints.uri import (
    FileSource,
    KafkaSink,
    KafkaSource,
    MqttSink,
    MqttSource,
    Sink,
    SourceUri,
)
from cepheid.engines.spark.session.libraries import require_library
from cepheid.errors import UsageError, error

if TYPE_CHECKING:
    from cepheid.program.resolved import ResolvedProgram


def check_source(source: SourceUri, program: ResolvedProgram) -> None:
    """Refuses a source that cannot work here, or that has no such events."""
    check_place(source)
    if not (isinstance(source, FileSource) and source.format == "parquet"):
        check_schemas(program)


def check_place(source: SourceUri) -> None:
    """Refuses a source that cannot work here, whatever the program."""
    if isinstance(source, FileSource):
        folder_of(source)
    if isinstance(source, KafkaSource):
        require_library("confluent_kafka", "kafka")
    if isinstance(source, MqttSource):
        require_library("paho", "mqtt")


def check_sink(sink: Sink) -> None:
    """Refuses a sink that cannot work here."""
    if isinstance(sink, KafkaSink):
        require_library("confluent_kafka", "kafka")
    if isinstance(sink, MqttSink):
        require_library("paho", "mqtt")


def check_folders(read: SourceUri | str, written: Mapping[str, str | None]) -> None:
    """Refuses to write where a stream reads: it would take its own rows and state for events.

    `written` has folders by the options that name them.
    """
    if isinstance(read, FileSource):
        read = read.folder
    place = _here(read) if isinstance(read, str) else None
    for option, folder in written.items():
        own = None if folder is None else _here(folder)
        if place is not None and own is not None and own.is_relative_to(place):
            fact = f"{option}: '{folder}' is in the folder that the stream reads"
            raise UsageError(error("usage", fact, hint="name a folder beside it"))


def _here(folder: str) -> Path | None:
    """A folder of this machine."""
    return None if "://" in folder else Path(folder.removeprefix("file:")).resolve()


def folder_of(source: FileSource) -> str:
    """Where Spark finds it: Java may have started in another folder than this process is in."""
    if "://" in source.folder:
        return source.folder
    if not os.path.isdir(source.folder):
        raise UsageError(error("missing-file", f"no folder '{source.folder}'"))
    return os.path.abspath(source.folder)


def files_in(source: FileSource) -> list[str]:
    """The files that are there; a folder elsewhere is not looked into, and stands for itself."""
    folder = folder_of(source)
    if "://" in folder:
        return [folder]
    return glob(os.path.join(escape(folder), f"*.{source.format}"))


def check_schemas(program: ResolvedProgram) -> None:
    """Refuses types that texts cannot be read as: those of which nothing is known."""
    for name in program.input_types:
        if program.types[name].is_open:
            fact = f"type '{name}' has no schema, which a stream needs"
            raise UsageError(error("no-schema", fact, hint=f"create schema {name} (...)"))
