"""One body of a query: its variables with their types, its constraints as atoms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from cepheid.core.types import LONG
from cepheid.errors import Diagnostic, Span, error, suggest, warning
from cepheid.expr.tree import Literal
from cepheid.live.metamodel import Feature, Kind, Schema
from cepheid.live.queries.expressions import resolve_expression
from cepheid.live.queries.resolved import (
    Absence,
    Atom,
    Call,
    Computed,
    Condition,
    Constant,
    Different,
    Extent,
    ObjectType,
    ResolvedBody,
    ResolvedQuery,
    Same,
    Step,
    Tally,
    VariableType,
)
from cepheid.live.queries.scope import Variables, bound_by, given_by
from cepheid.query.tree import (
    ANYTHING,
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
    Query,
    Term,
    Variable,
    found_by,
    terms,
)


def resolve_body(
    query: Query,
    body: Body,
    declared: Sequence[VariableType | None],
    schema: Schema,
    known: Mapping[str, ResolvedQuery],
    trees: Mapping[str, Query],
    problems: list[Diagnostic],
    is_whole: bool,
) -> tuple[ResolvedBody, tuple[VariableType | None, ...]]:
    """The body, and the types that its parameters have in it.

    Of one that was not read as a whole it is not known how often its variables are used.
    """
    resolver = _Body(query, body, schema, known, trees, problems)
    resolver.parameters(declared)
    resolver.constraints()
    if is_whole:
        resolver.check_bound()
        resolver.check_single()
    variables = resolver.variables
    outputs = tuple(variables.named(p.name) for p in query.parameters)
    types = tuple(variables.types[v] for v in outputs)
    return ResolvedBody(tuple(variables.names), tuple(resolver.atoms), outputs), types


class _Body:
    def __init__(
        self,
        query: Query,
        body: Body,
        schema: Schema,
        known: Mapping[str, ResolvedQuery],
        trees: Mapping[str, Query],
        problems: list[Diagnostic],
    ) -> None:
        self.query = query
        self.body = body
        self.schema = schema
        self.known = known
        self.trees = trees
        self.problems = problems
        self.atoms: list[Atom] = []
        self.variables = Variables(schema, problems)
        parameters = Counter(p.name for p in query.parameters)
        self.uses = parameters + Counter(
            t.name for c in body.constraints for t in terms(c) if isinstance(t, Variable)
        )

    def parameters(self, declared: Sequence[VariableType | None]) -> None:
        for parameter, type in zip(self.query.parameters, declared, strict=True):
            variable = self.variables.named(parameter.name)
            if isinstance(type, ObjectType):
                (name,) = type.classes
                self.atoms.append(Extent(self.schema.kinds[name], variable))
            if type is not None:
                self.variables.note(variable, type, parameter.span)

    def constraints(self) -> None:
        """Expressions last: by then it is known what the variables in them are."""
        expressions: list[Check | Eval] = []
        for constraint in self.body.constraints:
            if isinstance(constraint, Check | Eval):
                expressions.append(constraint)
            else:
                self.constraint(constraint)
        self.equalities()
        while expressions:
            ready = [e for e in expressions if self.is_typed(e)] or expressions
            self.expression(ready[0])
            expressions.remove(ready[0])
            self.equalities()

    def is_typed(self, constraint: Check | Eval) -> bool:
        names = [t.name for t in terms(constraint) if isinstance(t, Variable)]
        if isinstance(constraint, Eval) and isinstance(constraint.result, Variable):
            names.remove(constraint.result.name)
        return all(self.variables.types[self.variables.named(n)] is not None for n in names)

    def equalities(self) -> None:
        """What is equal has one type."""
        pairs = [atom for atom in self.atoms if isinstance(atom, Same)]
        for _ in pairs:
            for atom in pairs:
                self.variables.unify(atom.left, atom.right)

    def constraint(self, constraint: Constraint) -> None:
        match constraint:
            case IsA():
                kind = self.kind(constraint.type, constraint.span)
                variable = self.term(constraint.term)
                if kind is not None:
                    self.extent(kind, variable, constraint.span)
            case Edge():
                self.edge(constraint)
            case Equality():
                pair = self.term(constraint.left), self.term(constraint.right)
                if constraint.negated:
                    self.variables.check_comparable(*pair, constraint.span)
                    self.atoms.append(Different(*pair))
                else:
                    self.variables.places[pair] = constraint.span
                    self.atoms.append(Same(*pair))
            case Find() | Negation() | Count():
                self.call(constraint)

    def expression(self, constraint: Check | Eval) -> None:
        if isinstance(constraint, Check):
            resolved = resolve_expression(
                constraint.condition, self.variables, self.atoms, self.problems, is_condition=True
            )
            self.atoms.append(Condition(resolved, self.variables.inputs(resolved)))
            return
        result = self.term(constraint.result)
        resolved = resolve_expression(
            constraint.expr, self.variables, self.atoms, self.problems, is_condition=False
        )
        self.variables.note(result, resolved.type, constraint.span)
        self.atoms.append(Computed(resolved, self.variables.inputs(resolved), result))

    # Terms.

    def term(self, term: Term) -> int:
        if isinstance(term, Literal):
            return self.constant(term)
        if term.name == ANYTHING:
            return self.variables.fresh(ANYTHING)
        return self.variables.named(term.name, term.span)

    def constant(self, literal: Literal) -> int:
        variable = self.variables.fresh(str(literal.value))
        self.variables.note(variable, literal.type, literal.span)
        self.variables.literals[variable] = literal
        self.atoms.append(Constant(variable, literal.value))
        return variable

    def distinct(self, variables: Sequence[int]) -> tuple[int, ...]:
        """The same variables, each once; where one stands again there is another that is the same."""
        found: list[int] = []
        for variable in variables:
            one = variable
            if variable in found:
                one = self.variables.fresh(self.variables.names[variable])
                self.atoms.append(Same(one, variable))
            found.append(one)
        return tuple(found)

    # Classes and features.

    def kind(self, name: str, span: Span | None) -> Kind | None:
        found = self.schema.kinds.get(name)
        if found is None:
            hint = self.schema.suggest(name)
            if name in self.trees:
                hint = f"'{name}' is a pattern: write find {name}(...)"
            self.problems.append(error("unknown-class", f"no class '{name}'", span, hint))
        return found

    def extent(self, kind: Kind, variable: int, span: Span | None) -> None:
        self.variables.note(variable, ObjectType(frozenset({kind.name})), span)
        self.atoms.append(Extent(kind, variable))

    def edge(self, edge: Edge) -> None:
        kind = self.kind(edge.type, edge.span)
        source, target = self.term(edge.source), self.term(edge.target)
        for position, name in enumerate(edge.features):
            if kind is None:
                self.variables.forgive(source, target)
                return
            feature = self.feature(kind, name, edge.span)
            if feature is None:
                self.variables.forgive(source, target)
                return
            is_last = position == len(edge.features) - 1
            end = target if is_last else self.variables.fresh(f"{edge.type}.{name}")
            self.step(kind, feature, source, end, edge.span)
            source, kind = end, self.schema.kinds.get(feature.target)
            if kind is None and not is_last:
                fact = f"'{feature}' is an attribute: no feature '{edge.features[position + 1]}' follows"
                self.problems.append(error("unknown-feature", fact, edge.span))
                self.variables.forgive(target)
                return

    def feature(self, kind: Kind, name: str, span: Span | None) -> Feature | None:
        found = kind.features.get(name)
        if found is None:
            hint = suggest(name, kind.features, "features")
            fact = f"no feature '{name}' in {kind.name}"
            self.problems.append(error("unknown-feature", fact, span, hint))
        return found

    def step(
        self, kind: Kind, feature: Feature, source: int, target: int, span: Span | None
    ) -> None:
        self.variables.note(source, ObjectType(frozenset({kind.name})), span)
        if feature.owner != kind.name:  # the feature says less than the class that is named
            self.atoms.append(Extent(kind, source))
        held = feature.type or ObjectType(frozenset({feature.target}))
        self.variables.note(target, held, span)
        self.check_literal(feature, target, span)
        source, target = self.distinct((source, target))
        self.atoms.append(Step(feature, source, target))

    def check_literal(self, feature: Feature, target: int, span: Span | None) -> None:
        literal = self.variables.literals.get(target)
        if literal is not None and feature.literals and literal.value not in feature.literals:
            hint = suggest(str(literal.value), feature.literals, "its values")
            fact = f"'{feature}' is never {literal.value!r}"
            self.problems.append(error("type-mismatch", fact, literal.span or span, hint))

    # Other queries.

    def call(self, constraint: Find | Negation | Count) -> None:
        find = found_by(constraint)
        assert find is not None
        # What is only asked about in a negation or a count may be anything.
        is_open = [not isinstance(constraint, Find) and self.is_any(t) for t in find.arguments]
        arguments = [
            -1 if is_free else self.term(t)
            for t, is_free in zip(find.arguments, is_open, strict=True)
        ]
        result = self.term(constraint.result) if isinstance(constraint, Count) else None
        if result is not None:
            self.variables.note(result, LONG, constraint.span)
        if not self.check_call(find, arguments):
            self.variables.forgive(*(a for a in arguments if a >= 0))
            return
        columns = tuple(i for i, is_free in enumerate(is_open) if not is_free)
        bound = self.distinct([arguments[i] for i in columns])
        match constraint:
            case Find():
                self.atoms.append(Call(find.query, find.transitive, bound))
            case Negation():
                self.atoms.append(Absence(find.query, find.transitive, columns, bound))
            case Count():
                assert result is not None
                self.tally(find, columns, bound, result)

    def tally(
        self, find: Find, columns: tuple[int, ...], bound: tuple[int, ...], result: int
    ) -> None:
        *_, own = self.distinct((*bound, result))
        self.atoms.append(Tally(find.query, find.transitive, columns, bound, own))

    def is_any(self, term: Term) -> bool:
        if not isinstance(term, Variable):
            return False
        once = term.may_stand_alone and self.uses[term.name] == 1
        return term.name == ANYTHING or once

    def check_call(self, find: Find, arguments: Sequence[int]) -> bool:
        tree = self.trees.get(find.query)
        if tree is None:
            hint = suggest(find.query, self.trees, "patterns")
            fact = f"no pattern '{find.query}'"
            self.problems.append(error("unknown-query", fact, find.span, hint))
            return False
        wanted = [p.name for p in tree.parameters]
        usage = f"usage: find {find.query}({', '.join(wanted)})"
        if len(arguments) != len(wanted):
            fact = f"'{find.query}' takes {_count(len(wanted))}, not {len(arguments)}"
            self.problems.append(error("wrong-arguments", fact, find.span, usage))
            return False
        callee = self.known.get(find.query)
        if callee is None:  # a circle, which is reported
            return False
        if find.transitive and not self.check_transitive(find, callee):
            return False
        for variable, type in zip(arguments, callee.types, strict=True):
            if variable >= 0:
                self.variables.note(variable, type, find.span)
        return True

    def check_transitive(self, find: Find, callee: ResolvedQuery) -> bool:
        types = callee.types
        if len(types) != 2 or not all(isinstance(type, ObjectType) for type in types):
            fact = f"'{find.query}' is no step from an object to an object, so '+' makes no sense"
            hint = "a pattern with two parameters that are objects can be found transitively"
            self.problems.append(error("wrong-arguments", fact, find.span, hint))
            return False
        return True

    # Variables.

    def check_bound(self) -> None:
        """Reports what nothing binds; not what only lacks values because of that."""
        bound = bound_by(self.atoms, self.variables.forgiven)
        given = given_by(self.atoms)
        everything = range(len(self.variables.names))
        while unbound := [v for v in everything if v not in bound]:
            written = [v for v in unbound if self.variables.is_written(v)] or unbound
            variable = next((v for v in written if v not in given), written[0])
            self.report_unbound(variable)
            bound = bound_by(self.atoms, bound | {variable})

    def report_unbound(self, variable: int) -> None:
        name = self.variables.names[variable]
        is_parameter = any(p.name == name for p in self.query.parameters)
        what = "parameter" if is_parameter else "variable"
        hint = "a class, a feature, a find, an eval or '==' gives it values"
        if name in self.only_negated():
            hint = f"write '_{name}' if any will do"
        span = self.variables.spans.get(variable) or self.body.span
        fact = f"nothing binds the {what} '{name}'"
        self.problems.append(error("unbound-variable", fact, span, hint))

    def only_negated(self) -> set[str]:
        inside = {
            t.name
            for c in self.body.constraints
            if isinstance(c, Negation | Count)
            for t in c.find.arguments
            if isinstance(t, Variable)
        }
        return {name for name in inside if self.uses[name] == 1}

    def check_single(self) -> None:
        parameters = {p.name for p in self.query.parameters}
        told = {d.span for d in self.problems if d.code == "unbound-variable"}
        for name, count in self.uses.items():
            variable = self.variables.find(name)
            if count > 1 or variable is None or name in parameters or name.startswith("_"):
                continue
            span = self.variables.spans.get(variable)
            if span in told:
                continue
            hint = f"write '_{name}', or '_', if any value will do"
            fact = f"variable '{name}' is used only here"
            self.problems.append(warning("single-variable", fact, span, hint))


def _count(number: int) -> str:
    return "1 argument" if number == 1 else f"{number} arguments"
