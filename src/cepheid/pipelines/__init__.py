"""Pipelines: sources, programs that read them and each other, and executors of what they want done.

A file, `cepheid.toml`, names them all. It is read and checked as a whole before anything runs; then
each program runs after those whose classes it reads, all of them in the same rounds.
"""

from cepheid.pipelines.model import Pipeline as Pipeline
from cepheid.pipelines.model import Source as Source
from cepheid.pipelines.model import Stage as Stage
from cepheid.pipelines.reading import check as check
from cepheid.pipelines.reading import load as load
from cepheid.pipelines.running import PipelineResult as PipelineResult
from cepheid.pipelines.running import run as run

FILE = "cepheid.toml"  # what commands look for
