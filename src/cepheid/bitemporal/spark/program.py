"""All steps of a program: from detections to versions, actions, changes and toggles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cepheid.bitemporal.repository import AfterFreeze
from cepheid.bitemporal.rounds import Rounds
from cepheid.bitemporal.spark.chronons import Chronons
from cepheid.bitemporal.spark.derived import Derived
from cepheid.bitemporal.spark.intervals import Unrewritable
from cepheid.bitemporal.spark.reactions import Reacting
from cepheid.bitemporal.spark.steps import Plan, Step
from cepheid.bitemporal.spark.subscribed import Subscribed
from cepheid.errors import UsageError, error
from cepheid.program.classes import SubscribedClass
from cepheid.program.resolved import ResolvedClass


def plan_of(
    classes: Sequence[ResolvedClass],
    rounds: Rounds,
    given: Mapping[str, Iterable[str]],
    after_freeze: AfterFreeze = "refuse",
) -> Plan:
    """The steps of classes, each after those that it reads; inputs of subscribed ones have columns."""
    chronons, plan = Chronons(rounds), Plan()
    for each in classes:
        declared = each.declared
        if isinstance(declared, SubscribedClass):
            columns = frozenset(given[declared.name])
            plan.add(Subscribed(declared, chronons, columns, after_freeze).steps())
        else:
            plan.add(_derived(each, chronons))
        plan.add(Reacting(each, chronons).steps())
    return plan


def _derived(resolved: ResolvedClass, chronons: Chronons) -> list[Step]:
    try:
        return list(Derived(resolved, chronons).steps())
    except Unrewritable as reason:
        declared = resolved.declared
        fact = f"the query of {declared.name} cannot run on Spark: {reason}"
        hint = "the local engine runs it"
        raise UsageError(error("unsupported-sql", fact, declared.span, hint)) from None
