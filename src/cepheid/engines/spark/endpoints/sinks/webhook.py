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

from cepheid.engines.spark.endpoints.sinks.delivery import Line, lines_in
from cepheid.engines.spark.session.tasks import current_task
from cepheid.errors import RunError, error

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

SECRET = "token"  # Spark hides options of this name in all that it shows
PATIENCE = 10.0  # seconds for an answer
PAUSES = (0.1, 0.5, 2.0)  # seconds before each further try
_BUSY = frozenset({408, 425, 429})  # and all from 500: worth another try


class WebHookSink(DataSource):
    """Options: `url`, without credentials, and what authorizes as `SECRET`."""

    @classmethod
    def name(cls) -> str:
        return "cepheid-webhook"

    def streamWriter(self, schema: StructType, overwrite: bool) -> WebHookWriter:  # noqa: N802
        return WebHookWriter(self.options["url"], self.options.get(SECRET))


class WebHookWriter(DataSourceStreamArrowWriter):
    def __init__(self, url: str, authorization: str | None = None) -> None:
        self._url = url
        self._authorization = authorization

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        for line in lines_in(iterator, current_task()):
            post(self._url, line, self._authorization)
        return WriterCommitMessage()


def post(url: str, line: Line, authorization: str | None = None) -> None:
    """Delivers a row, or raises RunError after the last try."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": line.id}
    if authorization is not None:
        headers["Authorization"] = authorization
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
