"""Maude in a process of its own, and how to talk to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from select import select
from types import TracebackType
from typing import Any

from cepheid.errors import RunError, UsageError, error
from cepheid.formal.maude.specify import Specification
from cepheid.semantics.limits import RUNAWAY


class Maude:
    """The real Maude; a context manager, because it is a process."""

    def __init__(self) -> None:
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._heard = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "cepheid.formal.maude.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            encoding="utf-8",
        )
        try:
            hello = self._answer()
            if "missing" in hello:
                fact = f"Maude is not installed: {hello['missing']}"
                raise UsageError(error("no-maude", fact, hint="pip install 'cepheid[maude]'"))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Maude:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._complaints.close()

    def ask(self, do: str, patience: float | None = None, **request: object) -> dict[str, Any]:
        """The answer to a request; RunError where Maude cannot give one.

        TimeoutError if there is none after so many seconds; nothing more can be asked then.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        answer = self._answer(patience)
        if answer.get("problem") == "runaway":
            fact = f"more than {RUNAWAY:,} events were derived from one cause"
            raise RunError(error("runaway", fact, hint="do the statements feed each other?"))
        if "problem" in answer:
            raise RunError(error("maude-failed", str(answer["problem"])))
        return answer

    def _answer(self, patience: float | None = None) -> dict[str, Any]:
        assert self._process.stdout is not None
        if patience is not None and not select([self._process.stdout], [], [], max(patience, 0))[0]:
            raise TimeoutError
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _ended(self) -> RunError:
        code = self._process.wait()
        said = self._new_complaints()
        hint = said[-1] if said else None
        return RunError(error("maude-failed", f"Maude ended with exit code {code}", hint=hint))

    def _new_complaints(self) -> list[str]:
        """What Maude said on standard error since the last time."""
        size = os.fstat(self._complaints.fileno()).st_size
        found = os.pread(self._complaints.fileno(), size - self._heard, self._heard)
        self._heard = size
        return found.decode("utf-8", "replace").strip().splitlines()

    def load(
        self, specification: Specification, *, any_order: bool = False, by_rules: bool = True
    ) -> None:
        """Reads a specification, in place of the one before."""
        prelude, program = specification.parts(any_order=any_order, by_rules=by_rules)
        self.ask("load", prelude=prelude, program=program)
        if said := self._new_complaints():
            raise RunError(error("maude-failed", f"Maude does not understand: {said[0]}"))
