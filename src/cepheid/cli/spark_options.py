"""The Spark session of a command, and the options that shape it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cepheid.errors import UsageError, error

if TYPE_CHECKING:
    from cepheid.engines.spark.stream.job import Spark

Master: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Where Spark runs.", show_default="this machine"),
]
Conf: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A setting of Spark.", show_default=False),
]
Remote: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="URL", help="A Spark Connect server.", show_default=False),
]
Verbose: TypeAlias = Annotated[bool, typer.Option("--verbose", help="Let Spark log what it does.")]

_SMALL = 10 * 2**20  # bytes of files
# Java compiles what is run often a second time, with more care. Work that takes seconds is over before
# that pays, and meanwhile it takes a third of all that the processors do.
_BRIEF = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}


@contextmanager
def spark_session(
    *,
    master: str | None = None,
    conf: Sequence[str] | None = None,
    remote: str | None = None,
    verbose: bool = False,
    is_brief: bool = False,
) -> Iterator[Spark]:
    """A session that ends with the command, or the one that is running already.

    A brief one has little to do, such as a small file.
    """
    from cepheid.engines.spark.session.spark_session import running_session, session

    settings = dict(_setting(text) for text in conf or ())
    is_ours = running_session() is None
    is_elsewhere = bool(remote or os.environ.get("SPARK_REMOTE"))
    if is_brief and is_ours and not is_elsewhere:
        settings = {**_BRIEF, **settings}
    with _ending_java_ourselves():
        spark = session(master=master, conf=settings, remote=remote, verbose=verbose)
    try:
        yield spark
    finally:
        if is_ours:
            spark.stop()


def are_small(files: Iterable[str | os.PathLike[str]]) -> bool:
    """Whether all are files that together are small."""
    known = list(files)
    return all(map(os.path.isfile, known)) and sum(map(os.path.getsize, known)) <= _SMALL


@contextmanager
def _ending_java_ourselves() -> Iterator[None]:
    """A polite kill of a whole group of processes reaches Java as well, in the middle of a micro-batch.

    A Java that starts in here does not listen to it; it ends when this process ends it, or is gone.
    """
    _forks_ignore_kills.append(True)
    try:
        yield
    finally:
        _forks_ignore_kills.pop()


_forks_ignore_kills: list[bool] = []


def _after_fork() -> None:
    if _forks_ignore_kills:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)


def _setting(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark:
        raise UsageError(error("usage", f"--conf '{text}' is no NAME=VALUE"))
    return name, value
