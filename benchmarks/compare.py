"""Two commits beside each other: each in processes of its own, from a worktree of its own.

The benchmarks are those of the tree that compares; what differs is the Cepheid that they import. Worktrees
stay in `.worktrees`, with the code that was compiled for them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from benchmarks.measure import Sizes
from benchmarks.pairs import paired
from benchmarks.report import Figure, Goal

ROOT = Path(__file__).parents[1]
WORKTREES = ROOT / ".worktrees"
COMPARED = (
    "oracle",
    "whole",
    "whole_spark",
    "files",
    "push",
    "startup",
    "floor",
    "streaming",
    "simulate",
    "checks",
)
ALIKE = Goal("at most", 1.1)  # for the upper end of an interval


def compare(old: str, new: str, name: str, sizes: Sizes) -> Iterator[Figure]:
    """The times of the new commit, relative to those of the old one."""
    with _side(tree_of(old), name, sizes) as before, _side(tree_of(new), name, sizes) as after:
        for measure in after.measures:
            if measure not in before.measures:
                yield Figure(name=measure, ratio=None, note=f"{old} has no such measure")
                continue
            found = paired(partial(after.measure, measure), partial(before.measure, measure))
            yield Figure.of_pairs(measure, found, ALIKE, names=("new", "old"), is_strict=True)


def tree_of(commit: str) -> Path:
    """A folder with the sources of a commit: itself, if it names one, else a worktree."""
    if (Path(commit) / "src" / "cepheid").is_dir():
        return Path(commit).resolve()
    digest = _git("rev-parse", "--verify", f"{commit}^{{commit}}")
    folder = WORKTREES / digest[:12]
    if not folder.exists():
        _git("worktree", "prune")
        _git("worktree", "add", "--detach", str(folder), digest)
    return folder


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


@dataclass(frozen=True, slots=True)
class _Side:
    """A process that measures when it is asked to."""

    process: subprocess.Popen[str]
    measures: Sequence[str]

    def measure(self, name: str) -> float:
        assert self.process.stdin is not None
        print(name, file=self.process.stdin, flush=True)
        return float(_answer(self.process))


@contextmanager
def _side(tree: Path, name: str, sizes: Sizes) -> Iterator[_Side]:
    path = os.pathsep.join([str(tree / "src"), str(ROOT)])
    command = [sys.executable, "-m", "benchmarks.worker", name, json.dumps(asdict(sizes))]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield _Side(process, json.loads(_answer(process)))
        finally:
            assert process.stdin is not None
            process.stdin.close()


def _answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"a side ended with {process.wait()} before it had answered")
    return line
