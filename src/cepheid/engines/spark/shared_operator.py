"""One operator of the matcher for all that a worker does with a program."""

from __future__ import annotations

from cepheid.matcher.operator import Operator, open_operator
from cepheid.program.resolved import ResolvedProgram


class SharedOperator:
    """An operator that buckets use one after the other, as opening one takes longer than a step."""

    def __init__(
        self,
        program: ResolvedProgram,
        *,
        timed_out: bool = False,
        why: bool = False,
        is_fed: bool = False,
    ) -> None:
        self._operator = open_operator(program, timed_out=timed_out, why=why, is_fed=is_fed)
        self._blank = self._operator.save()

    def operator(self, saved: bytes | None) -> Operator:
        """The operator as it was saved, or as if it were new; whoever had it before is done."""
        self._operator.load(self._blank if saved is None else saved)
        return self._operator
