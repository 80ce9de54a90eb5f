"""Forms of complex events in Python; the words are those of patterns, and so is their structure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from cepheid.build.checks import PeriodLike, name, period, refuse, refusing, whole
from cepheid.build.declarations import Declaration
from cepheid.core.values import shown
from cepheid.lang import OF_FORMS
from cepheid.pattern import algebra
from cepheid.pattern.tree import Atom

Joined: TypeAlias = type[algebra.Follows | algebra.Both | algebra.Either]


@dataclass(frozen=True, slots=True, repr=False)
class Form:
    """What a complex event consists of; its methods give larger ones.

    A multiplicity or a window holds for everything before it:

    >>> a, b = cep.occurs("A", "x"), cep.occurs("B", "x")
    >>> print(a.then(b).within("3 seconds"), "|", a.then(b.times(2)))
    (A(x) -> B(x))[within 3 seconds] | A(x) -> B(x){2}
    """

    tree: algebra.Form

    def then(self, following: Form) -> Form:
        """`->`: this, and then the other. A chain of them is one sequence.

        >>> a, b, c = (cep.occurs(name) for name in "ABC")
        >>> print(a.then(b).then(c), "|", a.then(b.then(c)))
        A -> B -> C | A -> (B -> C)
        """
        return _extend(algebra.Follows, self, following)

    def and_(self, other: Form) -> Form:
        """Both, on events of their own, in any order."""
        return _extend(algebra.Both, self, other)

    def or_(self, other: Form) -> Form:
        """One of them."""
        return _extend(algebra.Either, self, other)

    def times(self, *counts: int | None) -> Form:
        """Again and again: exactly n times, or between two counts; None is any number.

        >>> a = cep.occurs("A")
        >>> print(a.times(3), a.times(2, 5), a.times(2, None), a.times(1, None))
        A{3} A{2:5} A{2:*} A{+}
        """
        if len(counts) not in (1, 2):
            refuse("usage", "times takes a count, or a least and a most", "write a.times(3)")
        low = whole(counts[0], "a count", "impossible-repeat")
        high = None if counts[-1] is None else whole(counts[-1], "a count", "impossible-repeat")
        if isinstance(self.tree, algebra.EventCall) and low == high == 1:
            refuse("impossible-repeat", "an event occurs once anyway", "leave it out")
        with refusing("impossible-repeat"):
            return Form(algebra.Times(self.tree, low, high))

    def within(self, time: PeriodLike) -> Form:
        """The last of its events comes at most that long after the first."""
        return _timed(self.tree, time, "within")

    def holds_for(self, time: PeriodLike) -> Form:
        """The last of its events comes at least that long after the first."""
        return _timed(self.tree, time, "holdsFor")

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a form is neither true nor false: write .and_(), .or_() and cep.not_()"
            " instead of and, or, not"
        )

    def __str__(self) -> str:
        """As a text says it."""
        return OF_FORMS.print_pattern(self.tree)

    def __repr__(self) -> str:
        return f"<Form: {self}>"


def occurs(type: str, *parameters: str) -> Form:
    """An event of a type, its attributes under the names of parameters; `"_"` is any value.

    Wherever a parameter stands in a form, it stands for the same value. Without parameters nothing
    is bound.

    >>> print(cep.occurs("invalid", "host", "_").then(cep.occurs("valid", "host")))
    invalid(host, _) -> valid(host)
    """
    event_type = name(type, "an event type")
    arguments = tuple(_argument(parameter) for parameter in parameters)
    return Form(algebra.EventCall(Atom(event_type), arguments or None))


def _argument(parameter: object) -> str | None:
    found = name(parameter, "a parameter")
    return None if found == "_" else found


def never(form: Form) -> Form:
    return Form(algebra.Never(form.tree))


def joined(chain: Joined, forms: Iterable[object]) -> Form:
    """The forms as one node; chains among them stay whole."""
    nodes = tuple(node(form) for form in forms)
    return Form(nodes[0] if len(nodes) == 1 else chain(nodes))


def node(form: object) -> algebra.Form:
    """The tree of a form."""
    if not isinstance(form, Form):
        hint = "write for example cep.occurs('A', 'x')"
        if isinstance(form, Declaration):
            hint = "call the event, with a name or '_' for each parameter"
        refuse("usage", f"{shown(form)} is not a form of complex events", hint)
    return form.tree


def _extend(chain: Joined, left: Form, right: Form) -> Form:
    """`a.then(b).then(c)` is one node of three parts, as a text without brackets gives it."""
    before = left.tree.parts if isinstance(left.tree, chain) else (left.tree,)
    return Form(chain((*before, node(right))))


def _timed(part: algebra.Form, time: PeriodLike, kind: algebra.WindowKind) -> Form:
    if isinstance(part, algebra.EventCall):
        hint = "a single event takes no time: give it a multiplicity, a.times(3)"
        refuse("bad-window", "a window on one event", hint)
    with refusing("bad-period"):
        return Form(algebra.Timed(part, period(time), kind))
