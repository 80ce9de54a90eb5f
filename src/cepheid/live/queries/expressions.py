"""Names in the expressions of `check` and `eval`.

A name is a variable that stands for a value. `x.feature` is an attribute of the object that x
stands for; on the way there may be references that have one target. `moving_avg(x.feature, n)` is
the mean of the last n values of an attribute, which `live.matching.averages` keeps. What such a
name stands for becomes a variable of its own, found by an atom of its own.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.core.types import ANY, DOUBLE, Attribute, DataType, EventRef, EventType, is_numeric
from cepheid.errors import Diagnostic, Span, error, suggest
from cepheid.expr.functions import FUNCTIONS
from cepheid.expr.printing import print_expr
from cepheid.expr.tree import Call, Expr, Literal, Part, Ref, mapped
from cepheid.expr.typing import Scope, resolve, resolve_condition
from cepheid.live.metamodel import Feature
from cepheid.live.queries.resolved import Atom, Mean, ObjectType, Step
from cepheid.live.queries.scope import Variables

MOVING_AVERAGE = "moving_avg"
LARGEST_WINDOW = 10_000
_PATTERN = "the pattern"


def resolve_expression(
    expr: Expr,
    variables: Variables,
    atoms: list[Atom],
    problems: list[Diagnostic],
    *,
    is_condition: bool,
) -> Expr:
    """The expression over variables; atoms that it needs, and problems, are appended."""
    names = _Names(variables, atoms, problems)
    over_variables = names.replaced(expr)
    known = tuple(Attribute(n, names.type_of(n)) for n in variables.written())
    scope = Scope(
        types={_PATTERN: EventType(_PATTERN, known)},
        tags={},
        current=EventRef(_PATTERN),
        no_aggregates="in a pattern",
    )
    return (resolve_condition if is_condition else resolve)(over_variables, scope, problems)


class _Names:
    def __init__(self, variables: Variables, atoms: list[Atom], problems: list[Diagnostic]) -> None:
        self.variables = variables
        self.atoms = atoms
        self.problems = problems

    def type_of(self, name: str) -> DataType:
        variable = self.variables.find(name)
        type = None if variable is None else self.variables.types[variable]
        return ANY if type is None or isinstance(type, ObjectType) else type

    def replaced(self, expr: Expr) -> Expr:
        if isinstance(expr, Ref):
            return self.reference(expr)
        if isinstance(expr, Call) and expr.function == MOVING_AVERAGE:
            return self.average(expr)
        if isinstance(expr, Call) and getattr(FUNCTIONS.get(expr.function), "of_frame", False):
            fact = f"{expr.function} has no meaning in a pattern"
            return self.failed(expr, "unsupported", fact, "models have no clock")
        return mapped(expr, self.replaced)

    def reference(self, ref: Ref) -> Expr:
        head, *path = ref.parts
        variable = self.variables.named(head.name, ref.span)
        type = self.variables.types[variable]
        if any(part.index is not None for part in ref.parts):
            return self.failed(ref, "type-mismatch", "variables and features take no index")
        if not path:
            if isinstance(type, ObjectType):
                fact = f"'{head.name}' is an object, and expressions take values"
                hint = (
                    f"name an attribute ({head.name}.feature), or compare objects with '==' outside"
                )
                return self.failed(ref, "type-mismatch", fact, hint)
            return ref
        found = self.follow(variable, ref.parts, ref.span)
        if found is None:
            return replace(Literal(None, type=ANY), span=ref.span)
        source, feature = found
        if not feature.is_attribute:
            fact = f"'{print_expr(ref)}' is an object, and expressions take values"
            return self.failed(ref, "type-mismatch", fact)
        name = print_expr(ref)
        if self.variables.find(name) is None:
            target = self.variables.hidden(name)
            assert feature.type is not None
            self.variables.note(target, feature.type, ref.span)
            self.atoms.append(Step(feature, source, target, with_nulls=True))
        return Ref((Part(name),), span=ref.span)

    def follow(
        self, variable: int, parts: tuple[Part, ...], span: Span | None
    ) -> tuple[int, Feature] | None:
        """The object that has the last feature of a path, and that feature."""
        for position, part in enumerate(parts[1:], start=1):
            feature = self.feature(variable, part.name, span)
            if feature is None or position == len(parts) - 1:
                return None if feature is None else (variable, feature)
            name = ".".join(p.name for p in parts[: position + 1]) + "."
            if self.variables.find(name) is None:
                target = self.variables.hidden(name)
                self.atoms.append(Step(feature, variable, target))
                if not feature.is_attribute:
                    self.variables.note(target, ObjectType(frozenset({feature.target})), span)
                elif feature.type is not None:
                    self.variables.note(target, feature.type, span)
            variable = self.variables.named(name)
        return None

    def feature(self, variable: int, name: str, span: Span | None) -> Feature | None:
        type = self.variables.types[variable]
        if variable in self.variables.forgiven:
            return None
        if not isinstance(type, ObjectType):
            if type is not None:
                fact = f"'{self.variables.names[variable].rstrip('.')}' is {type}, not an object"
                self.report("unknown-feature", fact, span)
            return None
        known: dict[str, Feature] = {}
        for kind in type.classes:
            known |= self.variables.schema.kinds[kind].features
        found = known.get(name)
        if found is None:
            self.report(
                "unknown-feature",
                f"no feature '{name}' in {type}",
                span,
                suggest(name, known, "features"),
            )
        elif found.is_many:
            hint = f"bind one of its values: {found.owner}.{name}(x, value)"
            self.report("type-mismatch", f"'{found}' has many values", span, hint)
            return None
        return found

    def average(self, call: Call) -> Expr:
        usage = f"usage: {MOVING_AVERAGE}(x.attribute, n)"
        match call.arguments:
            case (Ref(parts=(_, _, *_)) as ref, Literal(value=int(size))) if type(size) is int:
                pass
            case _:
                fact = f"{MOVING_AVERAGE} takes an attribute of an object and a number of values"
                return self.failed(call, "wrong-arguments", fact, usage)
        if not 1 <= size <= LARGEST_WINDOW:
            fact = f"{MOVING_AVERAGE} takes 1 to {LARGEST_WINDOW:,} values, not {size}"
            return self.failed(call, "wrong-arguments", fact, usage)
        variable = self.variables.named(ref.parts[0].name, ref.span)
        found = self.follow(variable, ref.parts, ref.span)
        if found is None:
            return replace(Literal(None, type=ANY), span=call.span)
        source, feature = found
        if feature.type is None or not is_numeric(feature.type):
            fact = f"'{print_expr(ref)}' is no number"
            return self.failed(call, "wrong-arguments", fact, usage)
        name = print_expr(call)
        if self.variables.find(name) is None:
            target = self.variables.hidden(name)
            self.variables.note(target, DOUBLE, call.span)
            self.atoms.append(Mean(feature, size, source, target))
        return Ref((Part(name),), span=call.span)

    def failed(self, expr: Expr, code: str, fact: str, hint: str | None = None) -> Expr:
        """What stands for an expression with a mistake, so that it is reported once."""
        self.report(code, fact, expr.span, hint)
        return Literal(None, type=ANY, span=expr.span)

    def report(self, code: str, fact: str, span: Span | None, hint: str | None = None) -> None:
        self.problems.append(error(code, fact, span, hint))
