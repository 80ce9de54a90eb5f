"""Rules and fixes over live models in Python. Their steps are written as in VEPL."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.build.checks import name, refuse
from cepheid.build.declarations import Declaration
from cepheid.build.forms import Form
from cepheid.core.values import shown
from cepheid.errors import ProgramError, Severity
from cepheid.lang import OF_FORMS
from cepheid.pattern.algebra import EventCall
from cepheid.program.actions import Action
from cepheid.program.tree import Annotation, QuickFix, ReactiveRule, Trigger


@dataclass(frozen=True, slots=True, repr=False)
class Rule(Declaration):
    """What is done whenever events happen."""

    tree: ReactiveRule

    def with_priority(self, priority: int) -> Rule:
        """Rules of a higher priority are done before others that wait.

        >>> print(cep.rule("mend", cep.occurs("invalid", "h"), do="delete h").with_priority(2))
        @Priority(2)
        rule mend on invalid(h) {
            delete h
        }
        """
        return self._noted("Priority", priority)

    def __str__(self) -> str:
        return OF_FORMS.print_declaration(self.tree)


@dataclass(frozen=True, slots=True, repr=False)
class Fix(Declaration):
    """What may be done to a match of a query."""

    tree: QuickFix

    def __str__(self) -> str:
        return OF_FORMS.print_declaration(self.tree)


def rule(rule: str, /, *events: Form, do: str) -> Rule:
    """Declares what is done when one of some events happens; the steps are those of VEPL.

    >>> invalid = cep.query_event("invalid", "tooMuchFree", host="Host")
    >>> print(cep.rule("mend", invalid("h"), do="set h.free = h.total"))
    rule mend on invalid(h) {
        set h.free = h.total
    }
    """
    if not events:
        refuse("usage", "a rule waits for events", "cep.rule('mend', invalid('h'), do='...')")
    triggers = tuple(map(_trigger, events))
    return Rule(ReactiveRule(name=name(rule, "a rule"), triggers=triggers, body=_steps(do)))


def fix(fix: str, query: str, /, *arguments: str, do: str, cost: float = 1) -> Fix:
    """Declares what may be done to the matches of a query, which mends them at a cost.

    >>> print(cep.fix("lower", "tooMuchFree", "h", do="set h.free = h.total", cost=2))
    @Cost(2)
    fix lower on tooMuchFree(h) {
        set h.free = h.total
    }
    """
    notes = () if cost == 1 else (Annotation("Cost", ((None, cost),)),)
    given = tuple(None if each == "_" else name(each, "an argument") for each in arguments)
    return Fix(
        QuickFix(
            name=name(fix, "a fix"),
            query=name(query, "a query"),
            arguments=given or None,
            body=_steps(do),
            annotations=notes,
        )
    )


def _trigger(event: object) -> Trigger:
    tree = event.tree if isinstance(event, Form) else None
    if not isinstance(tree, EventCall):
        fact = f"a rule waits for single events, not for {shown(event)}"
        refuse("usage", fact, "a complex event says which events belong together")
    return Trigger(tree.atom.event_type, tree.arguments)


def _steps(text: object) -> tuple[Action, ...]:
    """The steps of a text; ProgramError with what is wrong with it."""
    if not isinstance(text, str):
        refuse("usage", f"the steps of a rule are a text, not {shown(text)}")
    parsed = OF_FORMS.parse(f"rule r on e {{ {text}\n}}", None)
    errors = [p for p in parsed.problems if p.severity is Severity.ERROR]
    if errors:
        raise ProgramError(*errors)
    [rule, *others] = parsed.tree.rules
    if others or len(parsed.tree.declarations) > 1:
        refuse("syntax", "a closing bracket ends the steps too early")
    return rule.body
