"""No mutant of any input breaks anything: no foreign exception, no hang, no gigabyte."""

from __future__ import annotations

import secrets
import subprocess
import sys

import pytest

from tests.effort import EFFORT, IS_QUICK
from tests.fuzz.targets import ROOT, TARGETS

FEW = 10 if IS_QUICK else 60
HOUR = 3600


@pytest.mark.parametrize("kind", sorted(TARGETS))
def test_no_mutant_breaks_it(kind: str) -> None:
    asked = ["--count", str(FEW)]
    if EFFORT > 1:  # `make sweep` takes an hour for all kinds, and new mutants
        asked = ["--seconds", str(HOUR / len(TARGETS)), "--seed", secrets.token_hex(4)]
    command = [sys.executable, "-m", "tests.fuzz", kind, *asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command[1:])}\n{done.stdout}{done.stderr[-4000:]}"
