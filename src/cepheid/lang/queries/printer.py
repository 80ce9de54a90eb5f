"""Queries as text; what is parsed again is equal."""

from __future__ import annotations

from cepheid.errors import Severity
from cepheid.expr.printing import print_expr, print_name, print_string
from cepheid.query.tree import (
    Body,
    Check,
    Constraint,
    Count,
    Edge,
    Equality,
    Eval,
    Find,
    IsA,
    Negation,
    Parameter,
    Query,
    QueryTree,
    Rule,
    Term,
    Variable,
)

# Names that start a constraint of another kind where they stand first.
_KEYWORDS = frozenset({"find", "neg", "check", "count", "eval"})
_SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "info"}


def print_queries(tree: QueryTree) -> str:
    return "\n".join(map(print_query, tree.queries))


def print_query(query: Query) -> str:
    rule = "" if query.rule is None else _rule(query.rule)
    private = "private " if query.is_private else ""
    parameters = ", ".join(map(_parameter, query.parameters))
    bodies = " or ".join(map(_body, query.bodies))
    return f"{rule}{private}pattern {_name(query.name)}({parameters}) {bodies}\n"


def print_constraint(constraint: Constraint) -> str:
    match constraint:
        case IsA(type=type, term=term):
            return f"{_name(type)}({_term(term)})"
        case Edge(type=type, features=features, source=source, target=target):
            path = ".".join(map(_name, (type, *features)))
            return f"{path}({_term(source)}, {_term(target)})"
        case Equality(left=left, right=right, negated=negated):
            return f"{_term(left)} {'!=' if negated else '=='} {_term(right)}"
        case Find(query=query, arguments=arguments, transitive=transitive):
            plus = "+" if transitive else ""
            return f"find {_name(query)}{plus}({', '.join(map(_term, arguments))})"
        case Negation(find=find):
            return f"neg {print_constraint(find)}"
        case Count(result=result, find=find):
            return f"{_term(result)} == count {print_constraint(find)}"
        case Check(condition=condition):
            return f"check({print_expr(condition)})"
        case Eval(result=result, expr=expr):
            return f"{_term(result)} == eval({print_expr(expr)})"
    raise TypeError(f"{constraint!r} is not a constraint")


def _body(body: Body) -> str:
    return "{\n" + "".join(f"    {print_constraint(c)};\n" for c in body.constraints) + "}"


def _parameter(parameter: Parameter) -> str:
    type = "" if parameter.type is None else f" : {_name(parameter.type)}"
    return f"{_name(parameter.name)}{type}"


def _term(term: Term) -> str:
    return _name(term.name) if isinstance(term, Variable) else print_expr(term)


def _name(name: str) -> str:
    return f"`{name}`" if name in _KEYWORDS else print_name(name)


def _rule(rule: Rule) -> str:
    key = ", ".join(map(_name, rule.key))
    message, severity = print_string(rule.message), print_string(_SEVERITIES[rule.severity])
    return f"@Constraint(key = {{{key}}}, message = {message}, severity = {severity})\n"
