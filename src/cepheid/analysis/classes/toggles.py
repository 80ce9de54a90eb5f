"""Toggles that nothing clears.

An event that was on time or late is not late again, and its changes are retroactive: its toggle says so. CANCELLATION
and POSTPONE clear it, where a statement of the class asks for them. In a class without both, an event that is cancelled
and announced again, or postponed, is as if its time had come already. ONTIME alone sets toggles that nothing asks for.

What is not seen: that a source never does that. Classes whose events cannot change are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.errors import Diagnostic, note
from cepheid.program.classes import SubscribedClass
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedClass
from cepheid.sql.places import Places

_SET = {"ONTIME", "LATE", "LATE()"}
_ASKED = {"LATE", "LATE()", "RETROACTIVECHANGE"}
_CLEARED = {"CANCELLATION", "POSTPONE"}


def find(graph: Graph) -> Iterator[Diagnostic]:
    changing: dict[str, bool] = {}
    for resolved in graph.program.classes:
        changing[resolved.name] = _may_change(resolved, changing)
        used = {name for reaction in resolved.reactions for name in reaction.condition.primitives}
        is_asked = bool(used & _SET) and bool(used & _ASKED)
        if changing[resolved.name] and is_asked and not used & _CLEARED:
            first = next(r for r in resolved.reactions if r.condition.primitives & _ASKED)
            fact = (
                f"nothing clears the toggles of '{resolved.name}': what was on time or late, and is then"
                " cancelled or postponed, is dealt with for good"
            )
            hint = "a statement ON CANCELLATION or ON POSTPONE clears them"
            yield note("toggle-stays", fact, Places(first.declared.condition).whole, hint)


def _may_change(resolved: ResolvedClass, changing: dict[str, bool]) -> bool:
    if isinstance(resolved.declared, SubscribedClass):
        return resolved.declared.is_mutable
    return any(changing[name] for name in resolved.reads)
