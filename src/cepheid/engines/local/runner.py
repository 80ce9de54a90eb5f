"""The compiled machine as a runner: it takes tables by columns wherever that is possible."""

from __future__ import annotations

from cepheid.core.time import Instant
from cepheid.engines.common.judging import only_input
from cepheid.engines.common.request import Outcome, RunRequest
from cepheid.engines.common.runners import send_records
from cepheid.engines.registry import Offer, either, engines_that
from cepheid.errors import UsageError, error
from cepheid.io.sources import tables_of
from cepheid.matcher.machine.push import Matcher
from cepheid.semantics.inspection.description import Inspection


class LocalRunner(Matcher):
    """A running program that takes single events, and tables."""

    def send_sources(self, request: RunRequest, number: int) -> Outcome:
        outcome = self._by_columns(request, number)
        return send_records(self, request, number) if outcome is None else outcome

    def inspect(self) -> Inspection:
        raise not_shown()

    def _by_columns(self, request: RunRequest, number: int) -> Outcome | None:
        """None where it takes records: for what has no columns, and for what is to be said of an event."""
        default = only_input(request.program)
        tables = tables_of(request.sources, request.placement, default)
        if not tables:
            return None
        from cepheid.engines.local import columns

        intake = columns.take_in_sent(request.program, tables, request.rules, number)
        if intake is None or _is_late(intake.first, self.clock):
            return None
        return Outcome(
            program=intake.program,
            rows=columns.send_columns(self, intake),
            taken=intake.events.num_rows,
            moved=intake.moved,
            notes=intake.notes,
        )


def not_shown() -> UsageError:
    fact = "the compiled matcher does not show what it keeps"
    hint = f"open the program with the engine {either(engines_that(Offer.INSPECT))}"
    return UsageError(error("usage", fact, hint=hint))


def _is_late(first: Instant | None, clock: Instant | None) -> bool:
    return first is not None and clock is not None and first < clock
