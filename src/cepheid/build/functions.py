"""Function calls, aggregates and `case` in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from cepheid.build.checks import refuse
from cepheid.build.expressions import Expression, Operand, column, lift
from cepheid.core.types import SCALARS, DataType, Scalar, is_open
from cepheid.core.values import shown
from cepheid.errors import UsageError, error, suggest
from cepheid.expr.functions import AGGREGATES, FUNCTIONS, AggregateFunction, Function
from cepheid.expr.python import PythonFunction
from cepheid.expr.tree import Aggregate, Call, Case, Expr
from cepheid.io.type_arguments import data_type
from cepheid.lang import DEFAULT
from cepheid.program.tree import SelectExpr


class UnknownName(UsageError, AttributeError):
    """A name that a namespace of the builder does not have."""


def call(function: str | PythonFunction, *arguments: Operand) -> Expression:
    """A function of single values by its name, or one of Python that `function` made.

    >>> print(cep.call("coalesce", cep.col("x"), 0))
    coalesce(x, 0)
    """
    if isinstance(function, PythonFunction):
        return Expression(Call(function.name, tuple(map(lift, arguments))))
    known = FUNCTIONS.get(function.lower())
    if known is None:
        refuse("unknown-function", f"no function '{function}'", _hint(function))
    if not known.accepts_count(len(arguments)):
        fact = f"{function} does not take {len(arguments)} arguments"
        hint = f"write {known.usage}"
        if function.lower() in AGGREGATES:
            hint += f", or cep.agg.{function.lower()}(column) for the rows of a window"
        refuse("wrong-arguments", fact, hint)
    return Expression(Call(function.lower(), tuple(map(lift, arguments))))


def function(
    name: str,
    apply: Callable[..., object],
    arguments: Sequence[str] = (),
    returns: str = "double",
    *,
    version: str | int = 1,
) -> PythonFunction:
    """A function of Python that programs call by name, with the types of its arguments and result.

    A null argument gives null without a call; None is null. Equal arguments must give equal results.
    Change `version` when these change: saved state belongs to one version.

    >>> risk = cep.function("risk", lambda amount: amount / 100, ["double"], "double")
    >>> program = cep.parse(
    ...     "create schema Payment (amount double);"
    ...     "insert into Alert select risk(amount) as risk from Payment(risk(amount) > 1);",
    ...     functions=[risk],
    ... )
    >>> for alert in cep.run(program, [{"@type": "Payment", "@time": 0, "amount": 250}]):
    ...     print(alert["risk"])
    2.5
    """
    called = _function_name(name)
    if not callable(apply):
        refuse("usage", f"'{name}' needs something to call, not {shown(apply)}")
    if isinstance(arguments, str):
        refuse("usage", f"the arguments of '{name}' are a list", f"write [{arguments!r}]")
    if not isinstance(version, str | int):
        refuse("usage", f"the version of '{name}' is a text or a number, not {shown(version)}")
    types = [_scalar_type(name, given) for given in (*arguments, returns)]
    return PythonFunction(called, tuple(types[:-1]), types[-1], str(version), apply=apply)


def _function_name(name: object) -> str:
    """The name as calls have it; what stands for something else is refused."""
    found = name.lower() if isinstance(name, str) else ""
    if found in FUNCTIONS or found in AGGREGATES:
        refuse("duplicate-name", f"there is a function '{found}' already", "choose another name")
    parsed = DEFAULT.parse(f"select {found}() as x from T;", "<text>")
    items = [item for s in parsed.tree.statements for item in s.select]
    if not any(isinstance(i, SelectExpr) and i.expr == Call(found, ()) for i in items):
        refuse("bad-name", f"{shown(name)} cannot be the name of a function", "such as 'risk'")
    return found


def _scalar_type(name: str, given: object) -> DataType:
    found = data_type(given) if isinstance(given, str | DataType) else None
    if not isinstance(found, Scalar) or is_open(found):
        hint = f"types: {', '.join(SCALARS)}"
        refuse("usage", f"{shown(given)} is no type that '{name}' can have", hint)
    return found


def _hint(function: str) -> str | None:
    if function.lower() in AGGREGATES:
        return f"it is an aggregate: cep.agg.{function.lower()}"
    return suggest(function, FUNCTIONS, "functions")


def _aggregate(function: str, *arguments: Operand, distinct: bool = False) -> Expression:
    """An aggregate; a text names its column."""
    counts_rows = function == "count" and not arguments and not distinct
    index = None
    if function == "nth" and len(arguments) == 2 and isinstance(arguments[1], int):
        index, arguments = arguments[1], arguments[:1]
    if len(arguments) != 1 and not counts_rows:
        fact = f"{function} takes one argument, not {len(arguments)}"
        refuse("wrong-arguments", fact, f"write cep.agg.{function}('x')")
    argument = column(arguments[0]) if arguments else None
    return Expression(Aggregate(function, argument, distinct, index))


@dataclass(frozen=True, slots=True)
class _Namespace:
    """Functions as attributes; what does not exist is found when it is asked for."""

    kind: str
    known: Mapping[str, Function | AggregateFunction]
    make: Callable[..., Expression]

    def __getattr__(self, name: str) -> Callable[..., Expression]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.known:
            hint = suggest(name, self.known, f"{self.kind}s")
            raise UnknownName(error("unknown-function", f"no {self.kind} '{name}'", hint=hint))

        def build(*arguments: Operand, **options: bool) -> Expression:
            return self.make(name, *arguments, **options)

        build.__name__, build.__doc__ = name, self.known[name].doc
        return build

    def __dir__(self) -> list[str]:
        return sorted(self.known)


fn = _Namespace("function", FUNCTIONS, call)
agg = _Namespace("aggregate", AGGREGATES, _aggregate)


@dataclass(frozen=True, slots=True)
class _CaseStart:
    operand: Expr | None

    def when(self, test: Operand, then: Operand) -> CaseExpression:
        return CaseExpression(Case(self.operand, ((lift(test), lift(then)),), None))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CaseExpression(Expression):
    """A `case` that may go on; without `otherwise` it is null where no branch fits."""

    tree: Case

    def when(self, test: Operand, then: Operand) -> CaseExpression:
        branch = (lift(test), lift(then))
        return CaseExpression(replace(self.tree, branches=(*self.tree.branches, branch)))

    def otherwise(self, value: Operand) -> Expression:
        return Expression(replace(self.tree, otherwise=lift(value)))


def case(*operand: Operand) -> _CaseStart:
    """The value of the first branch whose condition holds, or that equals the operand.

    >>> print(cep.case().when(cep.col("x") > 5, "high").otherwise("low"))
    case when x > 5 then 'high' else 'low' end
    >>> print(cep.case(cep.col("x")).when(1, "one").when(2, "two"))
    case x when 1 then 'one' when 2 then 'two' end
    """
    if len(operand) > 1:
        refuse("usage", "case takes one operand or none")
    return _CaseStart(lift(operand[0]) if operand else None)
