"""Files that arrive in a folder as a stream, by Spark's own file source.

A file must be whole when it appears: write it elsewhere and move it. Spark remembers which files it
has read, so a restart reads none of them twice and leaves none out.
"""

from __future__ import annotations

import io
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from cepheid.engines.spark.codec.text import (
    SEQUENCE_FIELD,
    TextBatch,
    numbered,
    read_events,
    read_lines,
)
from cepheid.engines.spark.endpoints.checks import folder_of
from cepheid.engines.spark.endpoints.uri import FileSource
from cepheid.errors import Diagnostic, InputError, UsageError, error
from cepheid.io.columns.exact import NeedsRecords
from cepheid.io.columns.reading import read_text
from cepheid.io.csv_records import cell_records
from cepheid.program.resolved import ResolvedProgram

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

_WHOLE_FILES = "path string, modificationTime timestamp, length long, content binary"


def read_files(spark: SparkSession, source: FileSource, program: ResolvedProgram) -> DataFrame:
    """The events of all files with the suffix of the format."""
    folder, reader = folder_of(source), _reader(spark, source)
    if source.format == "jsonl":
        return read_lines(reader.text(folder), program)
    if source.format == "csv":
        files = reader.format("binaryFile").schema(_WHOLE_FILES).load(folder)
        return read_events(files.select("path", "content"), program, take_csv)
    return _in_order(_read_parquet(spark, reader, folder))


def _in_order(frame: DataFrame) -> DataFrame:
    """The rows with the order in which they came."""
    from pyspark.sql.types import LongType, StructField, StructType

    if SEQUENCE_FIELD.name in frame.columns:
        return frame
    fields = [*frame.schema.fields, StructField(SEQUENCE_FIELD.name, LongType())]
    return frame.mapInArrow(numbered, StructType(fields))


def read_plain_files(spark: SparkSession, source: FileSource) -> DataFrame:
    """Lines of text as they are, or rows of Parquet; cells have no types and are refused."""
    folder, reader = folder_of(source), _reader(spark, source)
    if source.format == "jsonl":
        return reader.text(folder)
    if source.format == "csv":
        fact = "a history as a stream is JSON Lines or Parquet, not CSV"
        raise UsageError(error("unsupported", fact, hint="`format=parquet`"))
    return _read_parquet(spark, reader, folder)


def _reader(spark: SparkSession, source: FileSource) -> DataStreamReader:
    reader = spark.readStream.option("pathGlobFilter", f"*.{source.format}")
    if source.max_files is not None:
        reader = reader.option("maxFilesPerTrigger", source.max_files)
    return reader


def take_csv(intake: TextBatch, batch: pa.RecordBatch) -> None:
    for file in batch.to_pylist():
        path, content = file["path"], file["content"]
        type = PurePosixPath(unquote(path)).stem
        try:
            intake.take_columns(list(read_text(content, type, intake.columns.types)))
        except NeedsRecords:
            take_cells(intake, path, type, content)


def take_cells(intake: TextBatch, path: str, type: str, content: bytes) -> None:
    """The rows of one file, one by one; where its header is none, the whole file is rejected."""
    lines = content.splitlines()

    def line_of(number: int) -> str:
        return lines[number - 1].decode("utf-8", "backslashreplace")

    def on_problem(problem: Diagnostic) -> None:
        assert problem.span is not None
        intake.refuse(line_of(problem.span.line), problem)

    try:
        for record in cell_records(io.BytesIO(content), path, type, on_problem):
            assert record.span is not None
            intake.take(record, partial(line_of, record.span.line))
    except InputError as refused:
        intake.refuse(content.decode("utf-8", "backslashreplace"), *refused.diagnostics)


def _read_parquet(spark: SparkSession, reader: DataStreamReader, folder: str) -> DataFrame:
    """With the columns of the files that are there; without `@type` the file's name is the type."""
    from pyspark.errors import AnalysisException
    from pyspark.sql.functions import regexp_extract

    try:
        schema = spark.read.option("pathGlobFilter", "*.parquet").parquet(folder).schema
    except AnalysisException:
        fact = f"no Parquet file in '{folder}' yet, whose columns say what the stream holds"
        raise UsageError(error("bad-file", fact, hint="put a first file there")) from None
    frame = reader.schema(schema).parquet(folder)
    if "@type" in schema.names:
        return frame
    stem = regexp_extract("_metadata.file_name", r"^(.*)\.parquet$", 1)
    return frame.withColumn("@type", stem)
