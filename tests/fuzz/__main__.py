"""`python -m tests.fuzz KIND`: mutants of a kind in a process that may neither grow nor hang.

Prints each kind of fault once: an exception that is not ours, more than five seconds, or more than a
gigabyte. The same seed gives the same mutants; `--only` looks at one of them again.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from types import FrameType

from cepheid.errors import CepheidError
from tests.fuzz.targets import TARGETS

SECONDS = 5  # of the processor: a busy machine is no fault
_STUCK = 120  # of the clock, when nothing in Python can say that it hangs
_GIGABYTE = 2**30


class Hang(BaseException):
    """A mutant takes too long; no handler of errors takes this for one of its own."""


def _hang(number: int, frame: FrameType | None) -> None:
    raise Hang(f"more than {SECONDS} seconds")


def fault_of(take: Callable[[], None]) -> str | None:
    """What is wrong with how a mutant is taken, or None."""
    faulthandler.dump_traceback_later(_STUCK, exit=True)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        take()
    except CepheidError:
        return None
    except (Exception, Hang) as fault:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        return _described(fault)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        faulthandler.cancel_dump_traceback_later()
    return None


def _described(fault: BaseException) -> str:
    """The exception and the last lines of ours that it came through."""
    frames = traceback.extract_tb(fault.__traceback__)
    ours = [f"{_short(f.filename)}:{f.lineno}" for f in frames if "cepheid" in f.filename]
    said = str(fault).partition("\n")[0][:200]
    return f"{type(fault).__name__}: {said!r} at {' < '.join(reversed(ours[-3:]))}"


def _short(file: str) -> str:
    return file.rpartition("cepheid/")[2]


def _numbers(options: argparse.Namespace) -> Iterator[int]:
    if options.only is not None:
        yield options.only
        return
    begin = time.monotonic()
    for number in count():
        if number >= options.count and time.monotonic() - begin >= options.seconds:
            print(f"{options.kind}: {number} mutants", file=sys.stderr)
            return
        yield number


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + _GIGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("kind", choices=sorted(TARGETS))
    parser.add_argument("--count", type=int, default=0, help="so many mutants at least")
    parser.add_argument("--seconds", type=float, default=0, help="for so long at least")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--only", type=int, help="this mutant alone, with its whole traceback")
    parser.add_argument("--keep", type=Path, help="a file for the mutant at hand")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        return _try(options)


def _try(options: argparse.Namespace) -> int:
    target = TARGETS[options.kind]()
    signal.signal(signal.SIGVTALRM, _hang)
    faulthandler.enable()
    for seed in target.seeds[:3]:  # what is loaded once must not count
        try:
            target.take(seed, Random(0))
        except CepheidError as refused:
            print(f"a seed of {options.kind} is refused: {refused}")
            return 1
    _limit_memory()
    known: dict[str, int] = {}
    for number in _numbers(options):
        mutant = target.make(random := Random(f"{options.seed}/{number}"))
        if options.keep:
            options.keep.write_bytes(mutant if isinstance(mutant, bytes) else repr(mutant).encode())
        take = partial(target.take, mutant, random)
        if options.only is not None:
            take()
            continue
        fault = fault_of(take)
        if fault is not None and known.setdefault(fault, number) == number:
            print(f"{options.kind} {number}: {fault}", flush=True)
    return 1 if known else 0


if __name__ == "__main__":
    sys.exit(main())
