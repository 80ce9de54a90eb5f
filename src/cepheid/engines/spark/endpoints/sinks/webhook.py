"""Rows as web requests, one POST of a JSON object for each, at least once.

A task that is run again posts its rows again, with the same `Idempotency-Key`, by which a receiver
can leave out what it has. A receiver that is busy or away is asked again, a few times.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from cepheid.engines.spark.endpoints.sinks.delivery import Line, current_task, lines_in
from cepheid.errors import RunError, error

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

PATIENCE = 10.0  # seconds for an answer
PAUSES = (0.1, 0.5, 2.0)  # seconds before each further try
_BUSY = frozenset({408, 425, 429})  # and all from 500: worth another try


class WebHookSink(DataSource):
    """Option: `url`."""

    @classmethod
    def name(cls) -> str:
        return "cepheid-webhook"

    def streamWriter(self, schema: StructType, overwrite: bool) -> WebHookWriter:  # noqa: N802
        return WebHookWriter(self.options["url"])


class WebHookWriter(DataSourceStreamArrowWriter):
    def __init__(self, url: str) -> None:
        self._url = url

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        for line in lines_in(iterator, current_task()):
            post(self._url, line)
        return WriterCommitMessage()


def post(url: str, line: Line) -> None:
    """Delivers a row, or raises RunError after the last try."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": line.id}
    request = Request(url, line.value.encode(), headers, method="POST")
    reason = ""
    for pause in (*PAUSES, None):
        try:
            with urlopen(request, timeout=PATIENCE):
                return
        except HTTPError as answer:
            reason = f"status {answer.code}"
            if answer.code < 500 and answer.code not in _BUSY:
                break
        except URLError as problem:
            reason = str(problem.reason).lower()
        except (OSError, HTTPException) as problem:
            reason = str(problem).lower() or type(problem).__name__
        if pause is not None:
            time.sleep(pause)
    host = urlsplit(url).hostname  # the rest of a hook's address is often a secret
    raise RunError(error("bad-stream", f"the web hook at {host} does not take a row: {reason}"))
