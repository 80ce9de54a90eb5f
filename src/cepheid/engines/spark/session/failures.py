"""What ended a job or a stream, out of what Spark says of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cepheid.errors import CATALOGUE, CepheidError, InputError, RunError, Span, error

# An error of ours that a worker raised stands in the middle of Spark's text, with its traceback; one that
# a column raised stands at its beginning.
# A place in the program may stand before it, a hint and the row of a frame after it.
_OURS = re.compile(
    r"(?:cepheid\.errors\.\w+: |\[USER_RAISED_EXCEPTION\] )(?:(?P<file>\S+):(?P<line>\d+):(?P<column>\d+): )?"
    r"error\[(?P<code>[\w-]+)\]: (?P<fact>.*?)(?: \((?!the frame\b)(?P<hint>[^()]*)\))?"
    r"(?P<row> \(the frame\b.*?: \{.*\}\))?(?: SQLSTATE: \w+)?$",
    re.MULTILINE,
)
# What is wrong with rows, which are input.
_OF_ROWS = frozenset(
    ("missing-type", "unknown-type", "missing-time", "bad-time", "bad-value", "null-key")
)


@dataclass(frozen=True, slots=True)
class _Cause:
    """What happens to everyone one day, and the sign of it in Spark's text.

    What the sign captures, a path or a reason, stands in the fact as {0}.
    """

    sign: str
    code: str
    fact: str
    hint: str


_NOTHING_IS_LOST = "a stream that is started again with its checkpoint loses nothing"
_SHIPPED = "install Cepheid there, or start the session with `conf=cep.spark.pack().conf`"
_CAUSES = (
    _Cause(
        "No space left on device",
        "bad-file",
        "no space is left for the checkpoint, or for the files that Spark keeps while it runs",
        f"make room; {_NOTHING_IS_LOST}",
    ),
    _Cause(
        r"(/\S*)/[^/\n]* \((?:Read-only file system|Permission denied|Not a directory)\)"
        r"|Parent path is not a directory: (?:file:)?(\S+)",
        "bad-file",
        "Spark cannot write into '{0}'",
        "the folder of a checkpoint must be one that can be written",
    ),
    _Cause(
        r"STATEFUL_OPERATOR_NOT_MATCH|sources in the checkpoint offsets and now there are",
        "bad-state",
        "this state was saved by another program or another version",
        "start afresh, or use the program that saved it",
    ),
    _Cause(
        r"Incomplete log file|next on empty iterator|[Ll]og file was malformed|MALFORMED_LOG|rror reading stream metadata"
        r"|Checksum error: file|batch \d+ doesn't exist|fasterxml\.jackson\.\S+Exception"
        r"|CANNOT_LOAD_STATE_STORE",
        "bad-state",
        "the state in the checkpoint is damaged, or parts of it are gone",
        "start afresh, with a new checkpoint",
    ),
    _Cause(
        r"ModuleNotFoundError: No module named '(cepheid|pyarrow|numpy|numba|pandas)[.\w]*'",
        "bad-workers",
        "the Python of Spark's workers has no '{0}'",
        _SHIPPED,
    ),
    _Cause(
        r"Python in worker has different version: (\S+) than that in driver: ([\d.]+\d)",
        "bad-workers",
        "Spark's workers run Python {0}, this process {1}",
        "let spark.pyspark.python name a Python of the same version there",
    ),
    _Cause(
        r'Cannot run program "([^"]+)"',
        "bad-workers",
        "the machines of Spark's workers have no '{0}'",
        "let spark.pyspark.python name the Python that they have",
    ),
    _Cause(
        r"Python worker exited unexpectedly|Python worker \S+ crashed",
        "bad-workers",
        "a Python worker of Spark died in the middle of its work",
        f"it may have run out of memory; {_NOTHING_IS_LOST}",
    ),
)


def failure_of(problem: Exception) -> CepheidError:
    """Our own words where they are, else what is known of a cause, else the first ones of Spark."""
    if isinstance(problem, CepheidError):
        return problem
    # Spark tells causes only in the trace of Java, which it keeps to itself.
    text = f"{problem}\n{getattr(problem, '_stackTrace', '')}"
    ours = _OURS.search(text)
    if ours and ours["code"] in CATALOGUE:
        fact = ours["fact"] + (ours["row"] or "")
        kind = InputError if ours["code"] in _OF_ROWS else RunError
        return kind(error(ours["code"], fact, _place(ours), ours["hint"]))
    for cause in _CAUSES:
        found = re.search(cause.sign, text)
        if found:
            fact = cause.fact.format(*filter(None, found.groups()))
            return RunError(error(cause.code, fact, hint=cause.hint))
    return RunError(error("bad-stream", f"Spark gave up: {fact_of(problem)}"))


def _place(ours: re.Match[str]) -> Span | None:
    """Where it begins; where it ends, the text does not say."""
    if ours["file"] is None:
        return None
    line, column = int(ours["line"]), int(ours["column"])
    return Span(line, column, line, column, ours["file"])


_WRAPPING = re.compile(
    r"^(?:[\w.$]+(?:Exception|Error): |\[[\w.]+\] |Query \[.*?\] terminated with exception: )+"
)


def fact_of(problem: Exception) -> str:
    """What Spark says is wrong, on one line and without Java's names in front."""
    cause = getattr(problem, "java_exception", None)
    text = str(cause.toString() if cause is not None else problem).strip()
    first = _WRAPPING.sub("", text.partition("\n")[0])
    return re.sub(r"(?: SQLSTATE: \w+)+$", "", first).rstrip(".") or type(problem).__name__
